"""Attacks in the names of task, lever, parameter and omni files and of bags stay names; errors are lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from attacks import ATTACKS, CONTROL

from dyn_nodes.cli import main
from dyn_nodes.compile import cache_directory
from dyn_nodes.control.lever_pattern import load_lever_pattern
from dyn_nodes.control.voltage_profile import TaskError, load_voltage_profile
from dyn_nodes.middleware import Context, Parameter, init, message
from dyn_nodes.middleware.bags import BagWriter, Topic
from dyn_nodes.model import MachineError
from dyn_nodes.nodes import teleop_node
from dyn_nodes.nodes.controller_node import ControllerNode
from faults import bags
from roslite.runtime.arguments import parse_arguments

ROOT = Path(__file__).resolve().parents[2]
TEXTS = {**ATTACKS, **CONTROL}
each_attack = pytest.mark.parametrize('attack', ATTACKS.values(), ids=ATTACKS)
each_text = pytest.mark.parametrize('attack', TEXTS.values(), ids=TEXTS)


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    """Change to an empty directory, in which a successful attack writes a file MARK."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not list(tmp_path.rglob('MARK'))
    outside = Path('/tmp/x')  # target of the attack by a path
    assert not outside.exists()


def dump(path: str, content: object) -> str:
    Path(path).write_text(yaml.safe_dump(content, allow_unicode=True), encoding='utf-8')
    return path


def is_line(text: object) -> bool:
    return str(text).isprintable() and 0 < len(str(text)) < 2000


def are_lines(error: BaseException) -> bool:
    """Return whether every problem of an error is a line."""
    return all(is_line(line) for line in str(error).split('\n'))


def task(attack: str, actuator: str = 'boom') -> dict:
    segment = {'name': attack, 'start': 0.0, 'end': 1.0, 'ramp': 0.1, 'volts': {actuator: 1.0}}
    return {'name': attack, 'description': attack, 'duration': 2.0, 'segments': [segment]}


# -- tasks and levers ---


@each_attack
def test_names_of_a_task_equal_its_phases(attack):
    profile = load_voltage_profile(dump('task.yaml', task(attack)), ['boom', 'stick', 'swing'], True)
    assert profile.phase(0.5) == attack


def test_names_of_a_task_reach_no_generated_code_of_its_controller(tmp_path, monkeypatch):
    monkeypatch.setenv('DYN_NODES_CACHE', str(tmp_path / 'cache'))  # the shared cache changes during this test
    path = dump('task.yaml', task(ATTACKS['python']))
    context = Context()
    init(args=['controller'], context=context)
    values = {'machine': 'log_loader', 'mode': 'lockstep', 'task': str(Path(path).resolve())}
    node = ControllerNode(context=context, parameter_overrides=[Parameter(k, value=v) for k, v in values.items()])
    node.destroy_node()
    context.try_shutdown()
    generated = [path.read_text() for path in cache_directory().rglob('module.py')]
    assert generated, 'the inertia of the joints'
    assert 'MARK' in ATTACKS['python']
    assert not any('MARK' in text for text in generated)


@each_text
def test_a_task_for_an_actuator_of_such_a_name_is_rejected_in_a_line(attack):
    path = dump('task.yaml', task('plain', attack))
    with pytest.raises(TaskError) as caught:
        load_voltage_profile(path, ['boom'], True)
    assert are_lines(caught.value)


@pytest.mark.parametrize('attack', CONTROL.values(), ids=CONTROL)
def test_a_task_whose_names_can_not_be_printed_is_rejected_in_a_line(attack):
    with pytest.raises(TaskError, match='printable characters') as caught:
        load_voltage_profile(dump('task.yaml', task(attack)), ['boom'], True)
    assert are_lines(caught.value)


@each_text
def test_levers_of_such_names_are_rejected_in_a_line(attack):
    good = yaml.safe_load((ROOT / 'config' / 'teleop.yaml').read_text())
    for key in good:
        for wrong in ({**good, key: attack}, {**good, key: {attack: attack}}, {**good, attack: good[key]}):
            with pytest.raises(MachineError) as caught:
                load_lever_pattern(dump('levers.yaml', wrong), ['boom', 'stick', 'swing'])
            assert are_lines(caught.value)


# -- parameter files ---


@each_text
def test_parameters_of_such_names_and_values_stay_texts(attack):
    content = {
        attack: {'ros__parameters': {attack: attack, 'list': [attack]}},
        '/**': {'ros__parameters': {'b': attack}},
    }
    path = dump('parameters.yaml', content)
    words = ['node', '--ros-args', '--params-file', path]
    assert parse_arguments(words).parameter_overrides('node', '/')['b'] == attack


@each_text
def test_a_node_rejects_such_parameters_in_a_line(attack, capfd):
    for name in ('machine', 'levers'):
        content = {'/**': {'ros__parameters': {'machine': 'log_loader', name: attack}}}
        path = dump('parameters.yaml', content)
        assert teleop_node.main(['teleop_node', '--ros-args', '--params-file', path]) == 1
        lines = capfd.readouterr().err.splitlines()
        assert len(lines) == 1
        assert is_line(lines[0])


# -- omni files ---


def vehicle(attack: str) -> dict:
    content = yaml.safe_load((ROOT / 'config' / 'omni' / 'three_wheels.yaml').read_text())
    wheels = {f'{attack}{k}': wheel for k, wheel in enumerate(content['wheels'].values())}
    return {**content, 'name': attack, 'wheels': wheels}


@each_attack
def test_wheels_of_such_names_are_computed(attack, capsys):
    path = dump('vehicle.yaml', vehicle(attack))
    words = ['omni', 'torques', path, 'circle', '--step', '0.5']
    assert main([*words, '--json']) == 0
    assert set(json.loads(capsys.readouterr().out)['peak_torques']) == {f'{attack}{k}' for k in range(3)}


def test_wheels_of_such_names_are_drawn_and_written(capsys):
    attack = ''.join(ATTACKS.values())
    words = ['omni', 'torques', dump('vehicle.yaml', vehicle(attack)), 'circle', '--step', '0.5']
    assert main([*words, '--plot', 'out.png', '--csv', 'out.csv']) == 0
    assert ''.join(attack.split())[:8] in ''.join(capsys.readouterr().out.split())
    assert {path.name for path in Path().iterdir()} == {'vehicle.yaml', 'out.png', 'out.csv'}


@pytest.mark.parametrize('attack', CONTROL.values(), ids=CONTROL)
def test_wheels_whose_names_can_not_be_printed_are_rejected_in_a_line(attack, capsys):
    path = dump('vehicle.yaml', vehicle(attack))
    assert main(['omni', 'torques', path, 'circle']) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(is_line(line) for line in lines)


# -- bags ---


def attacked(attack: str) -> Path:
    """Write a good bag with the attack in topics, types, frames, joints, texts and the metadata."""
    bag = BagWriter('bag')
    topics: dict[tuple[str, str], int] = {}
    entries = []
    for topic, kind, at, content in bags.good_messages():
        if kind == 'sensor_msgs/msg/JointState':
            content.name = [f'{attack}{k}' for k in range(3)]
        for holder in (getattr(content, 'header', None), content):
            for field in ('frame_id', 'child_frame_id', 'name', 'message', 'data'):
                if isinstance(getattr(holder, field, None), str) and topic != '/robot_description':
                    setattr(holder, field, attack)
        name = f'/ground_reactions/{attack}' if topic.endswith('front_left') else topic
        if (name, kind) not in topics:
            topics[name, kind] = bag.add_topic(Topic(name, kind, attack))
        entries.append((topics[name, kind], at, at, bytes(bags.serialize_message(content))))
    bag.add_topic(Topic(f'/{attack}', attack, attack))
    bag.checkpoint(entries)
    bag.close({attack: attack})
    return bag.directory


@pytest.mark.parametrize('attack', [''.join(ATTACKS.values()), ''.join(CONTROL.values())], ids=['attacks', 'control'])
def test_names_in_a_bag_reach_no_page_path_or_terminal(attack, capsys):
    bag = attacked(attack)
    config = [str(ROOT / 'urdf' / 'log_loader.urdf'), '--config', str(ROOT / 'config' / 'log_loader.yaml')]
    for words, status in (
        (['bag', 'info', str(bag)], 0),
        (['bag', 'compare', str(bag), str(bag)], 0),
        (['report', str(bag), '--out', 'report'], 0),
        (['fit', 'hydraulics', str(bag), '--machine', *config], 1),
    ):
        actual = main(words)
        output = capsys.readouterr()
        assert actual == status, output.err
        assert all(line.isprintable() for line in f'{output.out}{output.err}'.split('\n')), words
        assert 'Traceback' not in output.err
    page = Path('report/report.html').read_text(encoding='utf-8')
    assert '<script>alert' not in page
    assert '<img src=x' not in page
    assert {path.suffix for path in Path('report').iterdir()} <= {'.html', '.png', '.json'}


@each_text
def test_metadata_of_such_names_is_rejected_in_a_line(attack, capsys):
    bag = attacked('plain')
    path = bag / 'metadata.yaml'
    good = yaml.safe_load(path.read_text())['rosbag2_bagfile_information']
    for change in (
        {'relative_file_paths': [attack]},
        {'storage_identifier': attack},
        {'compression_mode': attack},
        {'version': attack},
        {'duration': {attack: attack}},
        {'topics_with_message_count': [{attack: attack}]},
    ):
        dump(str(path), {'rosbag2_bagfile_information': {**good, **change}})
        assert main(['report', str(bag), '--out', 'report']) == 1
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert is_line(lines[0])
    assert not Path('report').exists()


def test_an_invalid_message_type_of_a_bag_is_rejected_by_play(capsys):
    bag = attacked(ATTACKS['python'])
    assert main(['bag', 'play', str(bag)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert is_line(lines[0])
    assert message('std_msgs/msg/Float64')().data == 0.0
