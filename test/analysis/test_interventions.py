"""Interventions of the governor in a bag with specified samples."""

from __future__ import annotations

import json

import numpy as np
import pytest
from recorded_run import TYPES, BagOfRun, header

from dyn_nodes.analysis.bag_reading import BagReadingError, read_bag
from dyn_nodes.analysis.interventions import find_interventions
from dyn_nodes.cli import build_parser
from dyn_nodes.commands import CommandError, governor

STEP, SECONDS = 0.05, 20.0
HELD = ((5.0, 6.0, 0.5, 0.08), (12.0, 14.0, 0.25, 0.12))
"""Interventions on the boom: start, end, passed fraction, margin kept."""
WALL = 1.7e9
FIELDS = {'swing': -2.0, 'boom': 4.0}
LAYOUT = TYPES['std_msgs/msg/MultiArrayLayout']
DIMENSION = TYPES['std_msgs/msg/MultiArrayDimension']


def volts(values):
    return {'layout': LAYOUT([DIMENSION(','.join(FIELDS), 2, 2)], 0), 'data': np.array(values, dtype=float)}


def write(path, skip=(), levers='/valve_commands_in', start=0.0):
    """Write commands every 50 ms, s since 1970; the answers to the first ten are neutral."""
    with BagOfRun(path, skip=skip, stamped_log=True) as bag:
        if start:
            bag.write('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', start, header=header(1.0, ''), status=[])
        for k in range(round(SECONDS / STEP)):
            time = start + k * STEP
            part, margin = next(((s, m) for a, b, s, m in HELD if a - 1e-9 <= time - start < b - 1e-6), (1.0, np.nan))
            asked = list(FIELDS.values())
            bag.write(levers, 'std_msgs/msg/Float64MultiArray', time, **volts(asked))
            bag.write('/joint_states', 'sensor_msgs/msg/JointState', time, **joints(time))
            bag.write('/stability/zmp', 'std_msgs/msg/Float64', time, data=0.4 - 0.02 * k * STEP)
            if k < 10:
                bag.write('/valve_commands', 'std_msgs/msg/Float64MultiArray', time, **volts([0.0, 0.0]))
                continue
            passed = [asked[0], part * asked[1]]
            bag.write('/valve_commands', 'std_msgs/msg/Float64MultiArray', time + 0.003, **volts(passed))
            bag.write('/governor/scale', 'std_msgs/msg/Float64', time + 0.004, data=part)
            if np.isfinite(margin):
                bag.write('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', time + 0.004, **status(time, margin))


def test_decisions_between_commands_are_no_further_answers_and_belong_to_the_command_before(tmp_path):
    with BagOfRun(tmp_path / 'bag', stamped_log=True) as bag:
        for k in range(40):
            time, wanted = k * STEP, [-2.0, 4.0 if k < 20 else -1.0]
            bag.write('/valve_commands_in', 'std_msgs/msg/Float64MultiArray', time, **volts(wanted))
            for late in (0.002, 0.022, 0.042):
                passed = [wanted[0], 0.5 * wanted[1]]
                bag.write('/valve_commands', 'std_msgs/msg/Float64MultiArray', time + late, **volts(passed))
                bag.write('/governor/scale', 'std_msgs/msg/Float64', time + late, data=0.5)
    result = find_interventions(read_bag(tmp_path / 'bag'))
    assert (result.answers, result.neutral) == (40, 0)
    assert result.functions['boom'].share == pytest.approx(0.5)
    assert result.functions['swing'].held == 0.0


def joints(time):
    return {
        'header': header(time, ''), 'name': ['boom_joint'], 'position': np.zeros(1), 'velocity': np.zeros(1),
        'effort': np.zeros(1),
    }  # fmt: skip


def status(time, margin):
    pair = TYPES['diagnostic_msgs/msg/KeyValue']
    values = {'held back': 'boom', 'margin kept': f'{margin:.3f}', 'least loaded wheel': 'rear_left'}
    one = TYPES['diagnostic_msgs/msg/DiagnosticStatus'](
        1, 'tip_over_governor_node: governor', 'holding back', '', [pair(*item) for item in values.items()]
    )
    return {'header': header(time, ''), 'status': [one]}


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    path = tmp_path_factory.mktemp('interventions') / 'shadow'
    write(path)
    return path


def command(*words):
    return governor.run(build_parser(['governor']).parse_args(['governor', 'report', *map(str, words)]))


def test_count_time_shares_and_margins_are_those_of_the_bag(bag):
    result = find_interventions(read_bag(bag))
    assert [(one.start, one.end) for one in result.entries] == [
        (pytest.approx(a, abs=0.01), pytest.approx(b, abs=0.01)) for a, b, _, _ in HELD
    ]
    assert [(one.scale, one.margin, one.functions, one.wheel) for one in result.entries] == [
        (0.5, 0.08, ('boom',), 'rear_left'),
        (0.25, 0.12, ('boom',), 'rear_left'),
    ]
    assert result.held == pytest.approx(3.0, abs=0.02)
    answered = SECONDS - 10 * STEP
    boom = result.functions['boom']
    assert boom.held == pytest.approx(3.0, abs=0.01)
    assert boom.share == pytest.approx((0.5 * 1.0 + 0.75 * 2.0) / answered, rel=0.02)
    assert result.functions['swing'].held == result.functions['swing'].share == 0.0
    assert (result.answers, result.neutral) == (390, 10)
    assert result.least == {'stability/zmp': (pytest.approx(0.4 - 0.02 * 19.95), pytest.approx(19.95))}


def test_the_command_lists_the_worst_first_with_its_replay_command(bag, capsys):
    assert command(bag, '--worst', 1) == 0
    text = capsys.readouterr().out
    assert 'interventions: 2, 3.0 s of' in text
    assert 'margin 0.080 (rear_left), 50 % passed, held back: boom' in text
    assert f'bag play {bag} --start-offset 0.0 --playback-duration 11.0' in text
    assert command(bag, '--json') == 0
    assert [one['margin'] for one in json.loads(capsys.readouterr().out)['worst']] == [0.08, 0.12]


def test_levers_of_a_bus_and_stamps_of_the_wall_with_a_simulation_beside_them(tmp_path, capsys):
    write(tmp_path / 'shadow', levers='/can/levers', start=WALL)
    assert command(tmp_path / 'shadow', '--json') == 0
    answer = json.loads(capsys.readouterr().out)
    assert [one['start'] for one in answer['worst']] == pytest.approx([5.0, 12.0], abs=0.01)
    assert answer['origin'] == pytest.approx(WALL, abs=0.01)
    assert command(tmp_path / 'shadow') == 0
    assert '5.00 s, 2023-11-14 22:13:25Z: 1.00 s' in capsys.readouterr().out


def test_a_bag_without_a_governor_is_reported_in_one_line(tmp_path):
    write(tmp_path / 'levers', skip=('/governor/scale',))
    with pytest.raises(BagReadingError, match='expected messages of /governor/scale'):
        find_interventions(read_bag(tmp_path / 'levers'))
    with pytest.raises(BagReadingError, match='expected messages of a governor on /governor/scale'):
        command(tmp_path / 'levers')
    with pytest.raises(CommandError, match='--worst'):
        command(tmp_path / 'levers', '--worst', -1)


def state(number, text, margin):
    pair = TYPES['diagnostic_msgs/msg/KeyValue']
    values = {'overrides': str(number), 'margin kept': f'{margin:.3f}', 'edge nearest to tipping': 'front'}
    pairs = [pair(*item) for item in values.items()]
    return {
        'level': 1, 'name': 'tip_over_governor_node: governor', 'message': text, 'hardware_id': '', 'values': pairs
    }  # fmt: skip


@pytest.mark.parametrize('topic', ['/governor/state', '/diagnostics'])
def test_overrides_are_listed_with_their_time_and_least_margins(tmp_path, capsys, topic):
    write(tmp_path / 'bag')
    with BagOfRun(tmp_path / 'overridden', stamped_log=True) as bag:
        changes = {
            4.0: ('override: 25 %, 3 s left', 0.2),
            5.0: ('override: 25 %, 2 s left', -0.05),
            6.0: ('passing', 0.3),
        }
        changes |= {17.0: ('override: 25 %, 3 s left', 0.1)}
        for k in range(round(SECONDS / STEP)):
            time = k * STEP
            bag.write('/valve_commands_in', 'std_msgs/msg/Float64MultiArray', time, **volts([-2.0, 4.0]))
            bag.write('/joint_states', 'sensor_msgs/msg/JointState', time, **joints(time))
            bag.write('/valve_commands', 'std_msgs/msg/Float64MultiArray', time, **volts([-2.0, 4.0]))
            bag.write('/governor/scale', 'std_msgs/msg/Float64', time, data=1.0)
            bag.write('/stability/zmp', 'std_msgs/msg/Float64', time, data=0.4 - 0.02 * time)
            if round(time, 3) in changes:
                one = state(1 + (time > 10.0), *changes[round(time, 3)])
                if topic == '/diagnostics':
                    one = {'header': header(time, ''), 'status': [TYPES['diagnostic_msgs/msg/DiagnosticStatus'](**one)]}
                bag.write(
                    topic, f'diagnostic_msgs/msg/Diagnostic{"Array" if "status" in one else "Status"}', time, **one
                )
    assert command(tmp_path / 'bag', '--json') == 0
    assert json.loads(capsys.readouterr().out)['overrides'] == []
    assert command(tmp_path / 'overridden', '--json') == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer['interventions'] == 0
    first, second = answer['overrides']
    assert (first['start'], first['end'], first['margin'], first['wheel']) == (4.0, 6.0, -0.05, 'front')
    assert (second['start'], second['end'], second['margin']) == (17.0, pytest.approx(19.95), 0.1)
    assert first['least'] == {'stability/zmp': pytest.approx(0.4 - 0.02 * 6.0)}
    assert command(tmp_path / 'overridden') == 0
    text = capsys.readouterr().out
    assert 'overrides by a held key: 2, ' in text
    assert '4.00 s: 2.00 s, margin -0.050 (front), least stability/zmp 0.28' in text
