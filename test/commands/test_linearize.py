"""Tests of `dyn-nodes linearize`: output, files and errors."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from dyn_nodes.analysis.bag_reading import BagData, BagReadingError, Table
from dyn_nodes.analysis.recorded_state import recorded_state
from dyn_nodes.cli import main
from dyn_nodes.commands.linearize import _print
from dyn_nodes.simulation.linear import LinearModel


def test_the_model_as_json_npz_and_picture(capsys, tmp_path):
    files = [tmp_path / name for name in ('model.npz', 'model.png')]
    options = ['--bode', 'crank_joint/effort', 'crank_joint', '--frequencies', '0.5', '2', '--json']
    assert main(['linearize', 'four_bar', *options, '--npz', str(files[0]), '--plot', str(files[1])]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result['machine'] == 'four_bar'
    assert result['state_names'] == ['crank_joint', 'crank_joint_rate']
    assert not result['stable']
    assert result['controllability'] == {'rank': 2, 'order': 2, 'rest': []}
    assert result['bode']['hertz'] == [0.5, 2.0]
    denominator = 4 * np.pi**2 * np.array([0.25, 4.0]) + result['A'][1][0]
    assert result['bode']['gain'] == pytest.approx(np.abs(result['B'][1][0] / denominator))
    arrays = np.load(files[0])
    assert arrays['A'].tolist() == result['A']
    assert arrays['x'].shape == arrays['rate'].shape
    assert files[1].read_bytes().startswith(b'\x89PNG')


@pytest.mark.parametrize(
    ('A', 'message', 'counted'),
    [
        ([[0.0, 1.0], [0.0, 0.0]], 'integrator', 'no pole grows, 2 at the origin'),
        ([[-1e-14, 4.0], [-4.0, -1e-14]], 'undamped', 'no pole grows'),
        ([[1.0, 0.0], [0.0, -2.0]], '-1', '1 pole grows'),
    ],
)
def test_poles_without_decay_are_named_instead_of_a_time_constant(A, message, counted, capsys):
    names = ['q', 'q_rate']
    model = LinearModel(np.array(A), np.eye(2), np.eye(2), np.zeros((2, 2)), names, ['a', 'b'], names, np.ones(2))
    _print(SimpleNamespace(machine=SimpleNamespace(name='any')), model, None, [])
    text = capsys.readouterr().out
    assert f'inputs a, b; {counted}\n' in text
    assert f' {message} ' in text


def test_the_table_names_modes_and_reach(capsys):
    assert main(['linearize', 'four_bar', '--posture', 'crank_joint=0.7', '--input', 'crank_joint/effort=0']) == 0
    text = capsys.readouterr().out
    assert 'four_bar: 2 states, inputs crank_joint/effort' in text
    assert 'inputs reach 2 of 2 states' in text
    assert 'crank_joint_rate 50 %' in text


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (['nothing'], 'MACHINE: urdf/nothing.urdf was not found'),
        (['four_bar', '--posture', 'crank=1'], "--posture: 'crank=1': unknown joint; known: crank_joint"),
        (['four_bar', '--at', '3'], '--bag and --at: expected both or neither'),
        (['four_bar', '--bag', 'b', '--at', '3', '--after', '1'], '--bag: expected no --posture and no --after'),
        (['four_bar', '--after', '-1'], '--after: expected 0 to 60 s, found -1'),
        (['four_bar', '--input', 'crank'], '--input: expected NAME=NUMBER, found crank'),
        (['four_bar', '--input', 'crank=nan'], '--input: expected NAME=NUMBER, found crank=nan'),
        (['four_bar', '--input', 'crank=1'], "unknown input 'crank'; known: crank_joint/effort"),
        (['four_bar', '--outputs', 'x'], "unknown output 'x'; known: "),
        (['four_bar', '--bode', 'a', 'b'], "--bode: unknown input 'a'; known: crank_joint/effort"),
        (['four_bar', '--frequencies', '0'], '--frequencies: expected more than 0, found 0'),
        (['four_bar', '--plot', 'x.txt'], '--plot: expected a .png, .svg or .pdf, found x.txt'),
        (['four_bar', '--payload', '3'], "payload: machine 'four_bar' has no payload mount"),
        (['four_bar', '--bag', '/no/bag', '--at', '1'], '/no/bag: expected a bag directory, found nothing'),
        (['four_bar', '--npz', '/no/x.npz'], '/no/x.npz: No such file or directory'),
    ],
)
def test_a_mistake_is_reported_in_one_line(capsys, options, message):
    assert main(['linearize', *options]) != 0
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line


@pytest.fixture
def bag(tmp_path):
    """Return data of joints, base and oil of a machine, sampled at different times."""
    times = np.array([0.0, 1.0, 2.0])
    data = BagData(tmp_path, 'mcap', '')
    columns = {'boom/position': times + 0.5, 'boom/velocity': times + 0.1, 'boom/effort': np.full(3, np.nan)}
    data.tables['joint_states'] = Table(times, columns)
    pose = {name: times + k for k, name in enumerate(('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw', 'vx', 'wz'))}
    data.tables['odom'] = Table(times, pose)
    data.tables['hydraulics/lift/head_pressure'] = Table(times + 0.5, {'pressure': 1e6 * times})
    data.tables['hydraulics/lift/spool'] = Table(times, {'data': 1e-3 * times})
    data.tables['valve_commands'] = Table(times, {'0': 2 * times})
    return data


SYSTEM = SimpleNamespace(
    state_names=(
        'base_x',
        'base_qw',
        'boom',
        'base_wz_rate',
        'boom_rate',
        'lift/head_pressure',
        'lift/spool',
        'wheel/s',
    ),
    input_names=('lift/voltage',),
)


def test_the_state_of_a_bag_uses_the_newest_messages_and_lists_missing_states(bag):
    recorded = recorded_state(SYSTEM, bag, 1.1, np.full(8, 7.0), np.zeros(1))
    assert recorded.x == pytest.approx([1.0, 7.0, 1.5, 9.0, 1.1, 0.5 * 0.0, 1e-3, 7.0])
    assert (recorded.u.tolist(), recorded.time) == ([2.0], 1.0)
    assert recorded.missing == ('wheel/s',)


def test_a_time_beyond_the_bag_is_rejected(bag):
    with pytest.raises(BagReadingError, match='expected a time from 0 to 2 s, found 9 s'):
        recorded_state(SYSTEM, bag, 9.0, np.zeros(8), np.zeros(1))
