"""Tests of `dyn-nodes rviz`: generated layouts and the start of RViz."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from dyn_nodes.cli import main
from dyn_nodes.commands.rviz_layout import machine_layout, shape_points, team_layout
from dyn_nodes.model import load_machine
from dyn_nodes.model.named import machine_files
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
