"""Tests of `dyn-nodes rviz`: generated layouts and the start of RViz."""

from __future__ import annotations

import math
import os
import struct
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from dyn_nodes.cli import main
from dyn_nodes.commands.rviz_layout import machine_layout, shape_points, team_layout
from dyn_nodes.model import load_machine
from dyn_nodes.model.named import machine_files
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.teams import load_team
from dyn_nodes.viewer.framing import excursion

ROOT = Path(__file__).resolve().parents[2]
MACHINES = sorted(path.stem for path in (ROOT / 'urdf').glob('*.urdf') if (ROOT / f'config/{path.stem}.yaml').exists())


def classes(displays: list) -> set[str]:
    groups = [display.get('Displays', []) for display in displays]
    return {display['Class'] for display in displays} | {name for group in groups for name in classes(group)}


@pytest.mark.parametrize('name', MACHINES)
def test_the_camera_shows_the_whole_machine(name: str) -> None:
    machine = load_machine(*machine_files(name))
    view = machine_layout(machine)['Visualization Manager']['Views']['Current']
    pitch, yaw = view['Pitch'], view['Yaw']
    away = np.array((math.cos(pitch) * math.cos(yaw), math.cos(pitch) * math.sin(yaw), math.sin(pitch)))
    eye = np.array([view['Focal Point'][axis] for axis in 'XYZ']) + view['Distance'] * away
    reach = excursion(shape_points(machine), eye, -away)
    assert reach.max() < 1.0
    assert reach.max() > 0.3


@pytest.mark.parametrize('name', ['log_loader', 'four_bar', 'planar_arms', 'excavator'])
def test_displays_are_taken_from_the_template(name: str) -> None:
    template = yaml.safe_load((ROOT / 'config/template.rviz').read_text())
    layout = machine_layout(load_machine(*machine_files(name)))
    assert layout.keys() == template.keys()
    both = [document['Visualization Manager'] for document in (layout, template)]
    assert both[0].keys() == both[1].keys()
    assert classes(both[0]['Displays']) <= classes(both[1]['Displays'])


def test_planar_mechanisms_are_shown_along_their_joint_axes() -> None:
    def eye(name: str) -> tuple[float, float]:
        view = machine_layout(load_machine(*machine_files(name)))['Visualization Manager']['Views']['Current']
        return view['Pitch'], view['Yaw']

    assert eye('four_bar') == (0.1, 4.71)
    assert eye('five_bar') == (1.2, 4.71)
    assert eye('bricard') == eye('log_loader') == (0.35, 5.25)


def test_the_camera_does_not_roll_with_a_disc() -> None:
    for name, frame in (('disc', 'odom'), ('cart', 'rod')):
        views = machine_layout(load_machine(*machine_files(name)))['Visualization Manager']['Views']
        assert views['Saved'][0]['Target Frame'] == frame


def rviz(tmp_path: Path, *words: str, installed: bool = True) -> subprocess.CompletedProcess:
    """Run the command with an rviz2 that prints its arguments, or without rviz2."""
    program = tmp_path / 'lib/rviz2/rviz2'
    if installed:
        program.parent.mkdir(parents=True)
        (tmp_path / 'share/ament_index/resource_index/packages').mkdir(parents=True)
        (tmp_path / 'share/ament_index/resource_index/packages/rviz2').touch()
        program.write_text('#!/bin/sh\necho "$@"\n')
        program.chmod(0o755)
    paths = {'AMENT_PREFIX_PATH': str(tmp_path), 'HOME': str(tmp_path), 'PATH': '/usr/bin:/bin'}
    command = [sys.executable, '-m', 'dyn_nodes.cli', 'rviz', *words]
    environment = {**os.environ, **paths, 'PYTHONPATH': str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)


def test_rviz_gets_the_layout_and_the_ros_arguments_of_a_launch(tmp_path: Path) -> None:
    words = ('car', '--config=', '--layout=', '--ros-args', '-r', '__ns:=/left')
    run = rviz(tmp_path, *words)
    file = tmp_path / '.dyn_nodes/rviz/car.rviz'
    assert run.stdout.split() == ['-d', str(file), '--ros-args', '-r', '__ns:=/left'], run.stderr
    assert yaml.safe_load(file.read_text()) == machine_layout(load_machine(*machine_files('car')))


def test_rviz_gets_the_layout_of_a_team_or_a_file(tmp_path: Path) -> None:
    run = rviz(tmp_path, '--team=team_bar', '--layout=mine.rviz')
    assert run.stdout.split() == ['-d', 'mine.rviz'], run.stderr
    assert main(['rviz', '--team', 'team_bar', '-o', str(tmp_path / 'made/team.rviz')]) == 0
    assert yaml.safe_load((tmp_path / 'made/team.rviz').read_text()) == team_layout(load_team('team_bar'))


def test_a_launch_continues_without_rviz(tmp_path: Path) -> None:
    run = rviz(tmp_path, 'car', '--ros-args', '-r', '__node:=rviz2', installed=False)
    assert (run.returncode, run.stdout) == (0, '')
    assert 'rviz is skipped: rviz2 is not installed' in run.stderr


def test_a_missing_rviz_or_machine_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    run = rviz(tmp_path, installed=False)
    assert run.returncode == 1
    assert run.stderr.startswith('dyn-nodes: rviz2 is not installed')
    assert main(['rviz', 'log_loadre', '-o', str(tmp_path / 'x.rviz')]) == 1
    assert "did you mean 'log_loader'?" in capsys.readouterr().err
    assert main(['rviz', 'car', '-o', '/proc/none/x.rviz']) == 1
    assert 'expected a writable file for the layout' in capsys.readouterr().err


# -- the picture that a person sees -----------------------------------------------------------------------------------


def read_state(state: str) -> tuple[dict[str, tuple[bool, int]], tuple[int, int]]:
    """Return docks by name, whether visible and of which thickness, px, and the size of the 3-D view, px.

    Reads the format of QMainWindow::saveState (Qt 5 and 6), like the state of rviz_common/default.rviz.
    """
    data, at = bytes.fromhex(state), 0

    def take(form: str) -> tuple:
        nonlocal at
        values = struct.unpack_from(f'>{form}', data, at)
        at += struct.calcsize(f'>{form}')
        return values

    def text() -> str:
        nonlocal at
        (size,) = take('i')
        at += size
        return data[at - size : at].decode('utf-16-be')

    assert take('iiB') == (0xFF, 0, 0xFD)
    docks = {}
    for _ in range(*take('i')):
        number, width, height, marker, _, count = take('iiiBBi')
        assert marker == 0xFC
        for _ in range(count):
            assert take('B') == (0xFB,)
            name = text()
            visible, *_, largest = take('Biiii')
            assert largest == 0xFFFFFF
            docks[name] = bool(visible), width if number < 2 else height
    view = take('ii')
    assert take('4i') == (4, 4, 8, 8)
    assert take('Biii') == (0xFC, 1, 2, 1)
    assert text() == 'Tools'
    take('Biiii')
    assert at == len(data)
    return docks, view


def test_the_reader_of_window_states_reads_a_state_of_rviz() -> None:
    """The docks of rviz_common/default.rviz, shortened to the areas that have one."""
    state = (
        '000000ff00000000fd00000001000000000000013c0000025ffc0200000001fb000000100044006900730070006c006100790073'
        '01000000410000025f000000dd00ffffff000001eb0000025f00000004000000040000000800000008fc0000000100000002'
        '000000010000000a0054006f006f006c00730100000000ffffffff0000000000000000'
    )
    assert read_state(state) == ({'Displays': (True, 316)}, (491, 607))


@pytest.mark.parametrize('name', MACHINES)
def test_the_window_shows_mainly_the_machine(name: str) -> None:
    layout = machine_layout(load_machine(*machine_files(name)))
    window = layout['Window Geometry']
    docks, (width, height) = read_state(window['QMainWindow State'])
    panels = {panel['Name'] for panel in layout['Panels']}
    assert set(docks) == panels
    assert {dock: state for dock, (state, _) in docks.items()} == {'Displays': True, 'Views': False, 'Time': True}
    assert width * height > 0.65 * window['Width'] * window['Height']
    assert docks['Displays'][1] + width == window['Width']


def luminance(colour: list[float]) -> float:
    return float(np.dot(np.array(colour) ** 2.2, (0.2126, 0.7152, 0.0722)))


def test_the_text_of_margins_is_readable_on_the_background_of_the_layouts() -> None:
    from dyn_nodes.nodes.markers import TEXT_COLOURS

    template = yaml.safe_load((ROOT / 'config/template.rviz').read_text())
    background = template['Visualization Manager']['Global Options']['Background Color']
    behind = luminance([int(part) / 255 for part in background.split(';')])
    for band, colour in TEXT_COLOURS.items():
        contrast = (behind + 0.05) / (luminance(list(colour[:3])) + 0.05)
        assert contrast > 4.5, (band, contrast)


@pytest.mark.parametrize('name', MACHINES)
def test_the_text_of_margins_is_as_large_as_other_text_on_the_screen(name: str) -> None:
    from dyn_nodes.nodes.markers import SPAN, TEXT_HEIGHT

    machine = load_machine(*machine_files(name))
    layout = machine_layout(machine)
    if not any(display['Name'] == 'Stability' for display in layout['Visualization Manager']['Displays']):
        pytest.skip('no support polygon')
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    feet = [(poses[support.link], np.array(support.position)) for support in machine.supports]
    corners = np.array([(pose[:3, :3] @ position + pose[:3, 3])[:2] for pose, position in feet])
    if not len(corners):
        pytest.skip('rolling wheels')
    span = np.linalg.norm(corners[:, None] - corners[None], axis=2).max()
    view = layout['Visualization Manager']['Views']['Current']
    _, (_, height) = read_state(layout['Window Geometry']['QMainWindow State'])
    size = TEXT_HEIGHT * span / SPAN / (2.0 * view['Distance'] * math.tan(math.radians(22.5))) * height
    assert 9.0 < size < 60.0, size


DARK = 0.3
"""Luminance below which a material looks black in RViz."""


@pytest.mark.parametrize('path', sorted((ROOT / 'urdf').glob('*.urdf')), ids=lambda path: path.stem)
def test_a_machine_has_its_colours_in_rviz(path: Path) -> None:
    """RViz draws all shapes of a link in the material of the first one (RobotLink::createVisualizable)."""
    root = ElementTree.parse(path).getroot()
    colours = {
        material.attrib['name']: [float(part) for part in color.attrib['rgba'].split()]
        for material in root.findall('material')
        if (color := material.find('color')) is not None
    }
    for link in root.findall('link'):
        areas: dict[str, float] = {}
        names = []
        for visual in link.findall('visual'):
            material, shape = visual.find('material'), visual.find('geometry')
            assert shape is not None
            if material is None:
                continue
            names.append(material.attrib['name'])
            if material.find('color') is None:
                assert names[-1] in colours, f'{link.attrib["name"]}: material {names[-1]!r} is not defined'
            areas[names[-1]] = areas.get(names[-1], 0.0) + area(shape[0])
        known = {name: value for name, value in areas.items() if name in colours}
        dark = sum(value for name, value in known.items() if brightness(colours[name]) < DARK)
        bright = [name for name in known if brightness(colours[name]) >= DARK and colours[name][3] == 1.0]
        if len(known) > 1 and bright and dark <= 0.65 * sum(known.values()):
            assert names[0] == max(bright, key=known.__getitem__), link.attrib['name']


def brightness(colour: list[float]) -> float:
    return float(np.dot(colour[:3], (0.2126, 0.7152, 0.0722)))


def area(shape: ElementTree.Element) -> float:
    """Return the surface of a box, cylinder or sphere, m2; 0 for a mesh."""
    if shape.tag == 'box':
        x, y, z = map(float, shape.attrib['size'].split())
        return 2.0 * (x * y + y * z + z * x)
    if shape.tag == 'cylinder':
        radius, length = float(shape.attrib['radius']), float(shape.attrib['length'])
        return 2.0 * math.pi * radius * (radius + length)
    return 4.0 * math.pi * float(shape.attrib['radius']) ** 2 if shape.tag == 'sphere' else 0.0
