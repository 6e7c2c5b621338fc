"""Every launch file against the front end of ROS 2 and on the embedded launcher; what its arguments do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from front_end import HUMBLE, JAZZY, problems

from dyn_nodes.middleware.launching import declared_arguments, interpret

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / 'launch').glob('*.launch.xml'))
NAMES = [path.name for path in FILES]
MACHINES = [path for path in FILES if path.name in ('log_loader.launch.xml', 'log_loader_planar.launch.xml')]
PROMISED = {'rviz', 'record', 'viewer', 'payload', 'slope', 'machine', 'use_sim_time', 'namespace'}


def children(path: Path, **arguments: str) -> dict[str, Any]:
    """Return the processes that the embedded launcher would start, by name."""
    return {child.name: child for child in interpret(path, arguments).children}


def parameters(child: Any) -> dict[str, Any]:
    words = list(child.command)
    rules = [words[k + 1] for k, word in enumerate(words) if word == '-p']
    return {name: yaml.safe_load(text) for name, _, text in (rule.partition(':=') for rule in rules)}


@pytest.mark.parametrize('path', FILES, ids=NAMES)
@pytest.mark.parametrize('release', [HUMBLE, JAZZY])
def test_the_front_end_of_ros_takes_the_file(path: Path, release: str) -> None:
    found = problems(path, release)
    if release == HUMBLE and path.name.endswith('_moveit.launch.xml'):
        assert all('file-content' in problem for problem in found), 'which Humble does not have'
        return
    assert found == []


@pytest.mark.parametrize('path', FILES, ids=NAMES)
def test_the_embedded_launcher_takes_the_file(path: Path) -> None:
    assert interpret(path, {}).children


def test_programs_of_the_file_are_installed() -> None:
    from test_nodes_on_strict_rclpy import console_nodes

    started = {
        element.attrib['exec']
        for path in FILES
        for element in ElementTree.parse(path).getroot().iter('node')
        if element.attrib.get('pkg') == 'dyn_nodes'
    }
    assert started <= console_nodes() | {'dyn-nodes'}


@pytest.mark.parametrize(
    ('text', 'problem'),
    [
        ('<launch><nod exec="a"/></launch>', 'unexpected <nod>'),
        ('<launch><node pkg="a"/></launch>', "'exec' is missing"),
        ('<launch><node pkg="a" exec="b" type="c"/></launch>', "unexpected attribute 'type'"),
        ('<launch><node pkg="a" exec="b" sigkill_timeout="9"/></launch>', "unexpected attribute 'sigkill_timeout'"),
        ('<launch><node pkg="a" exec="b"><param name="p"/></node></launch>', 'nested parameters'),
        ('<launch><node pkg="a" exec="b"><param name="p" value="1" type="double"/></node></launch>', "type 'double'"),
        ('<launch><node pkg="a" exec="b"><param name="p" value="x" type="int"/></node></launch>', "'x' is no int"),
        ('<launch><arg name="a" value="1"/></launch>', "unexpected attribute 'value'"),
        ('<launch><let name="a" value="$(arg b)"/></launch>', 'unknown substitution $(arg'),
        ('<launch><let name="a" value="$(equals 1 2)"/></launch>', 'unknown substitution $(equals'),
        ('<launch><let name="a" value="$(var b"/></launch>', 'not closed'),
        ('<launch><group if="true" unless="true"/></launch>', 'exclude'),
        ('<robot/>', 'expected <launch>'),
    ],
)
def test_problems_on_humble_are_detected(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / 'a.launch.xml'
    path.write_text(text)
    assert any(problem in line for line in problems(path)), problems(path)


# -- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('path', FILES, ids=NAMES)
def test_every_argument_is_described(path: Path) -> None:
    for argument in declared_arguments(path):
        assert argument.description, argument.name


@pytest.mark.parametrize('path', FILES, ids=NAMES)
def test_no_argument_needs_an_empty_value_which_ros2_launch_rejects(path: Path) -> None:
    """A file or path that may be absent has the word none; a configuration may be named."""
    for argument in declared_arguments(path):
        if argument.default and argument.name != 'config':
            assert 'empty' not in argument.description, argument.name
        if argument.default and argument.name in ('task', 'path'):
            assert 'none' in argument.description, argument.name
            assert all(child.arguments for child in interpret(path, {argument.name: 'none'}).children)


@pytest.mark.parametrize('path', MACHINES, ids=[path.name for path in MACHINES])
def test_show_args_lists_the_documented_arguments(path: Path) -> None:
    words = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', str(path), '--show-args']
    run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env={**os.environ})
    assert run.returncode == 0, run.stderr
    for argument in declared_arguments(path):
        assert argument.name in run.stdout
    assert {argument.name for argument in declared_arguments(path)} >= PROMISED


def test_ros_follows_every_include_to_show_its_arguments() -> None:
    """`ros2 launch --show-args` performs names of includes without a context, which find packages but no $(dirname)."""
    files = [(path, element.attrib['file']) for path in FILES for element in ElementTree.parse(path).iter('include')]
    assert len(files) > 30
    start = '$(find-pkg-share dyn_nodes)/launch/'
    for path, file in files:
        assert file.startswith(start), path.name
        assert (ROOT / 'launch' / file.removeprefix(start)).is_file(), path.name


def test_a_file_that_includes_another_has_only_the_differences() -> None:
    for path in FILES:
        root = ElementTree.parse(path).getroot()
        include = root.find('include')
        if include is None:
            continue
        base = ElementTree.parse(ROOT / 'launch' / Path(include.attrib['file']).name).getroot()
        defaults = {argument.attrib['name']: argument.attrib['default'] for argument in base.findall('arg')}
        repeated = [
            argument.attrib['name']
            for argument in root.findall('arg')
            if argument.attrib['default'] == defaults.get(argument.attrib['name'])
        ]
        assert repeated == [], path.name


@pytest.mark.parametrize('path', MACHINES, ids=[path.name for path in MACHINES])
@pytest.mark.parametrize(
    ('argument', 'node', 'program'),
    [
        ('rviz', 'rviz2', 'dyn_nodes.cli'),
        ('record', 'recorder_node', 'recorder_node'),
        ('viewer', 'viewer_node', 'viewer_node'),
    ],
)
def test_a_program_is_started_on_request(path: Path, argument: str, node: str, program: str) -> None:
    assert node not in children(path)
    started = children(path, **{argument: 'true'})
    assert node in started
    assert any(program in word for word in started[node].command)
    if argument == 'rviz':
        machine = path.name.partition('.')[0]
        assert list(started[node].command)[3:7] == ['rviz', machine, '--config=', '--layout=']


@pytest.mark.parametrize('path', MACHINES, ids=[path.name for path in MACHINES])
def test_payload_slope_and_machine_reach_the_nodes(path: Path) -> None:
    started = children(path, payload='1500', slope='0.02', cross_slope='-0.01', machine='a.urdf', config='a.yaml')
    values = parameters(started['dynamics_node'])
    assert (values['payload'], values['slope_pitch'], values['slope_roll']) == (1500.0, 0.02, -0.01)
    for node in ('dynamics_node', 'hydraulic_actuator_node', 'controller_node'):
        assert (parameters(started[node])['machine'], parameters(started[node])['config']) == ('a.urdf', 'a.yaml')


@pytest.mark.parametrize('path', MACHINES, ids=[path.name for path in MACHINES])
def test_use_sim_time_reaches_all_but_the_clock(path: Path) -> None:
    for value in (True, False):
        started = children(path, record='true', use_sim_time=str(value).lower())
        for node in ('recorder_node', 'hydraulic_actuator_node', 'controller_node'):
            assert parameters(started[node])['use_sim_time'] is value
        assert 'use_sim_time' not in parameters(started['dynamics_node'])


@pytest.mark.parametrize('path', MACHINES, ids=[path.name for path in MACHINES])
def test_the_namespace_is_that_of_every_node(path: Path) -> None:
    started = children(path, namespace='left', record='true', viewer='true')
    for name, child in started.items():
        words = set(child.command)
        assert words & {'__ns:=/left', '__ns:=left'}, f'{name}: {child.command}'
        assert {'/tf:=tf', '/tf_static:=tf_static', '/clock:=clock'} <= words, f'{name}: {child.command}'


def test_frames_and_clock_of_a_namespace_are_its_own(domain: int) -> None:
    from dyn_nodes.middleware import Context, Node, init

    rules = [word for name in ('tf', 'tf_static', 'clock') for word in ('-r', f'/{name}:={name}')]
    context = Context()
    init(args=['test', '--ros-args', *rules], context=context)
    try:
        left, plain = Node('a', namespace='left', context=context), Node('b', context=context)
        assert [left.resolve_topic_name(name) for name in ('/tf', '/clock')] == ['/left/tf', '/left/clock']
        assert [plain.resolve_topic_name(name) for name in ('/tf', '/clock')] == ['/tf', '/clock']
    finally:
        context.try_shutdown()


def test_a_bad_choice_is_rejected_with_the_choices() -> None:
    words = [sys.executable, '-m', 'dyn_nodes.cli', 'launch', 'log_loader', 'mode:=fast']
    run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode != 0
    assert 'realtime' in run.stderr
    assert 'Traceback' not in run.stderr


@pytest.mark.parametrize('machine', ['log_loader', 'log_loader_planar'])
def test_the_layout_of_rviz_shows_the_wheels_of_its_machine(machine: str) -> None:
    from dyn_nodes.commands.rviz_layout import machine_layout
    from dyn_nodes.nodes.machines import machine_of

    loaded = machine_of(machine, '')
    layout = machine_layout(loaded)

    def displays(entries: list[dict[str, Any]]) -> Any:
        for entry in entries:
            yield entry
            yield from displays(entry.get('Displays', []))

    shown = list(displays(layout['Visualization Manager']['Displays']))
    wrenches = {entry['Topic']['Value'] for entry in shown if entry['Class'].endswith('/Wrench')}
    joints = {f'joint_reactions/{joint}' for joint in loaded.reactions}
    assert wrenches == {f'ground_reactions/{wheel.name}' for wheel in loaded.wheels} | joints
    kinds = {entry['Class'].rpartition('/')[2] for entry in shown}
    assert kinds >= {'RobotModel', 'TF', 'MarkerArray', 'Wrench', 'Polygon'}


@pytest.mark.parametrize(
    ('file', 'arguments', 'managed'),
    [
        ('log_loader', {}, ['hydraulic_actuator_node']),
        (
            'log_loader',
            {'governor': 'true', 'monitor': 'true'},
            ['hydraulic_actuator_node', 'tip_over_governor_node', 'stability_monitor_node'],
        ),
        ('log_loader', {'monolithic': 'true', 'governor': 'true'}, ['tip_over_governor_node']),
        ('log_loader', {'monolithic': 'true'}, []),
        ('arm_a6', {'motors': 'true'}, ['electric_actuator_node']),
        ('arm_a6', {'motors': 'true', 'governor': 'true'}, ['electric_actuator_node', 'tip_over_governor_node']),
        ('agv_omni_motors', {}, ['electric_actuator_node']),
        ('vehicle', {'machine': 'agv_omni', 'motors': 'true'}, ['electric_actuator_node']),
    ],
)
def test_dynamics_brings_up_the_managed_nodes_of_the_file(
    file: str, arguments: dict[str, str], managed: list[str]
) -> None:
    """All that do not start by themselves, and no others: actuators first."""
    started = children(ROOT / 'launch' / f'{file}.launch.xml', compose='false', **arguments)
    values_of = {name: parameters(child) for name, child in started.items()}
    assert [name for name in values_of['dynamics_node']['bring_up'] if name] == managed
    assert {name for name, values in values_of.items() if values.get('autostart') is False} == set(managed)
