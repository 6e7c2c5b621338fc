from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from draws import reached, reaches
from hypothesis import given
from hypothesis import strategies as st

from dyn_nodes.control import Segment, TaskError, VoltageProfile, load_voltage_profile, trapezoid
from dyn_nodes.studies.abo_shanab_2003.valve_law import ValvePositionLaw

TASK = Path(__file__).resolve().parents[2] / 'config' / 'tasks' / 'pick_and_place_recovery.yaml'
ARMS = ('swing', 'boom', 'stick')


def test_position_law_has_offset_dead_band_and_saturation():
    law = ValvePositionLaw(gain=60.0, dead_band=0.001)
    volts = law.voltage([0.0, 0.001, 0.002, -0.002, 1.0, -1.0], np.zeros(6))
    np.testing.assert_allclose(volts, [0.0, 0.0, 0.62, -0.62, 8.0, -8.0])


@reaches(dead=4, between=4, limit=4)
@given(reference=st.floats(-2, 2), error=st.floats(-4, 4) | st.floats(-0.3, 0.3) | st.floats(-0.003, 0.003))
def test_position_law_is_odd_bounded_and_turns_with_its_direction(reference, error):
    position = reference - error
    law, turned = ValvePositionLaw(25.0, 0.002), ValvePositionLaw(25.0, 0.002, direction=-1.0)
    volts = law.voltage(reference, position)
    reached('dead', 0.0 < abs(error) < 0.002)
    reached('between', 0.0 < abs(volts) < 8.0)
    reached('limit', abs(volts) == 8.0)
    assert abs(volts) <= 8.0
    assert volts == -law.voltage(-reference, -position) == -turned.voltage(reference, position)
    assert volts * (reference - position) >= 0.0
    magnitude = abs(reference - position)
    assert abs(volts) == pytest.approx(min(25.0 * magnitude + law.offset, 8.0) if magnitude > 0.002 else 0.0)


@pytest.mark.parametrize(
    'fault', [{'gain': -1.0}, {'gain': float('nan')}, {'dead_band': -0.1}, {'limit': float('inf')}, {'direction': 0.5}]
)
def test_position_law_rejects_impossible_numbers(fault):
    with pytest.raises(ValueError, match=f'valve law: {next(iter(fault))}: expected'):
        ValvePositionLaw(**{'gain': 1.0, 'dead_band': 0.0, **fault})


def test_trapezoid_has_the_knots_of_its_definition():
    times, volts = trapezoid(5.0, 8.8, -5.0, 0.6)
    np.testing.assert_allclose(times, [5.0, 5.6, 8.2, 8.8])
    np.testing.assert_allclose(volts, [0.0, -5.0, -5.0, 0.0])


@pytest.mark.parametrize('ramp', [0.0, -0.1, 2.0, float('nan')])
def test_trapezoid_rejects_ramps_that_do_not_fit(ramp):
    with pytest.raises(ValueError, match='trapezoid: expected'):
        trapezoid(0.0, 3.0, 1.0, ramp)


def test_pick_and_place_task_is_profile_p3d():
    task = load_voltage_profile(TASK, ARMS)
    assert task.name == 'pick_and_place_recovery'
    assert task.duration == 16.0
    times = [0.0, 5.0, 5.3, 5.6, 7.0, 8.2, 8.5, 8.8, 9.1, 9.4, 11.2, 11.5, 11.8, 16.0]
    expected = np.array(
        [
            [0, 0, -2.5, -5, -5, -5, -2.5, 0, 2.25, 4.5, 4.5, 2.25, 0, 0],
            [0, 0, -2.75, -5.5, -5.5, -5.5, -2.75, 0, 2, 4, 4, 2, 0, 0],
        ]
    ).T
    volts = task.evaluate(times, ARMS)
    assert volts.shape == (14, 3)
    assert not volts[:, 0].any()
    np.testing.assert_allclose(volts[:, 1:], expected, atol=1e-12)
    np.testing.assert_allclose(task.evaluate(7.0, ('stick', 'boom', 'swing')), [-5.5, -5.0, 0.0])
    np.testing.assert_allclose(task.knot_times, [0, 5, 5.6, 8.2, 8.8, 9.4, 11.2, 11.8, 16])


def test_phases_are_named():
    task = load_voltage_profile(TASK)
    assert [task.phase(t) for t in (0.0, 4.99, 5.0, 8.79, 8.8, 11.7, 11.8, 99.0)] == [
        'wait',
        'wait',
        'reach',
        'reach',
        'recover',
        'recover',
        'settle',
        'settle',
    ]
    gap = VoltageProfile('gap', 9.0, (Segment('a', 1, 2, 0.1, {'x': 1.0}), Segment('b', 3, 4, 0.1, {'x': 1.0})))
    assert gap.phase(2.5) == 'hold'


def test_recovery_can_be_left_out():
    task = load_voltage_profile(TASK, ARMS, recovery=False)
    assert not task.evaluate(np.linspace(8.8, 16.0, 50), ARMS).any()
    assert task.evaluate(7.0, ARMS).tolist() == [0.0, -5.0, -5.5]
    assert task.phase(9.0) == 'settle'
    assert task.duration == 16.0


def test_profile_names_an_actuator_that_the_machine_does_not_have():
    with pytest.raises(ValueError, match=r"drives actuator 'boom' \(did you mean 'boom1'"):
        load_voltage_profile(TASK).evaluate(0.0, ('boom1', 'stick'))


GOOD = """\
name: task
duration: 10.0
segments:
  - name: reach
    start: 1.0
    end: 4.0
    ramp: 0.5
    volts: {boom: 3.0}
"""


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('duration: 10.0\n', '', r'task.yaml:1: duration: expected a number in s, found nothing'),
        ('duration: 10.0', 'duration: long', r"task.yaml:2: duration: expected a finite number in s, found 'long'"),
        ('duration: 10.0', 'duration: .nan', r'task.yaml:2: duration: expected a finite number'),
        ('duration: 10.0', 'duration: 3.0', r'duration: expected at least 4 s .*, found 3 s'),
        ('ramp: 0.5', 'ramp: 2.0', r'task.yaml:4: segments\[0\], trapezoid: expected a ramp .* found 2 s'),
        ('volts: {boom: 3.0}', 'volts: 3', r'task.yaml:8: segments\[0\].volts: expected a mapping of actuator: volts'),
        ('boom: 3.0', 'bom: 3.0', r"task.yaml:8: segments\[0\].volts.bom: .* found 'bom' \(did you mean 'boom'\?\)"),
        ('boom: 3.0', 'boom: fast', r"segments\[0\].volts.boom: expected a finite number in V, found 'fast'"),
        ('    ramp: 0.5', '    slope: 0.5', r'task.yaml:4: segments\[0\].ramp: expected a number in s, found nothing'),
        ('    ramp: 0.5', '    slope: 0.5', r'task.yaml:7: segments\[0\].slope: expected a key of this mapping'),
        ('name: task', 'name: [1]', r'task.yaml:1: name: expected a name, found a list of 1'),
        ('segments:', 'segment:', r"task.yaml:3: segment: .* \(did you mean 'segments'\?\)"),
        ('    start: 1.0', '    recovery: maybe\n    start: 1.0', r'segments\[0\].recovery: expected true or false'),
        ('  - name: reach\n    start', '  - 3\n  - name: reach\n    start', r'segments\[0\]: expected a mapping'),
        ('name: task', 'name: {', r'expected well-formed YAML'),
        ('    start: 1.0', '    start: -1.0', r'expected a start at or after the start of the task, 0 s, found -1 s'),
    ],
)
def test_task_faults_name_file_line_and_key(tmp_path, old, new, message):
    assert old in GOOD
    path = tmp_path / 'task.yaml'
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(TaskError, match=message):
        load_voltage_profile(path, ARMS)


def test_overlapping_segments_are_rejected(tmp_path):
    path = tmp_path / 'task.yaml'
    second = GOOD.split('segments:\n')[1].replace('start: 1.0', 'start: 3.0').replace('end: 4.0', 'end: 6.0')
    path.write_text(GOOD + second)
    with pytest.raises(
        TaskError, match=r"segment 'reach': expected a start at or after the end of 'reach', 4 s, found 3"
    ):
        load_voltage_profile(path)


def test_missing_task_file_is_an_error_with_its_path(tmp_path):
    with pytest.raises(TaskError, match=r'absent.yaml'):
        load_voltage_profile(tmp_path / 'absent.yaml')
