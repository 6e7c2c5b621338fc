"""A recovery that waits for an event of the machine: its start, its voltages, and missing messages."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dyn_nodes.control import RecoverOn, SupervisedTask, TaskError, load_voltage_profile, recover_on

TASKS = Path(__file__).resolve().parents[2] / 'config' / 'tasks'
ARMS = ('boom', 'stick')
LIFT = 8.343


def profile():
    return load_voltage_profile(TASKS / 'pick_and_place_recovery.yaml')


def supervised(**on) -> SupervisedTask:
    return SupervisedTask(profile(), RecoverOn(**(on or {'event': 'lift_off'})))


def reports(task: SupervisedTask, until: float, value: float = 0.1, since: float = 0.0) -> None:
    for k in range(round((until - since) / 0.02) + 1):
        task.record_measure(task.on.watched, value, since + 0.02 * k)
        task.watch(since + 0.02 * k)


def play(task: SupervisedTask, since: float, until: float) -> None:
    """Send the volts of the task every 0.01 s, like a controller."""
    for k in range(round((until - since) / 0.01) + 1):
        task.watch(since + 0.01 * k)
        task.record_volts(dict(zip(ARMS, task.evaluate(since + 0.01 * k, ARMS).tolist())))


def test_without_a_cause_the_task_plays_without_its_recovery():
    task, plain = supervised(), profile().without_recovery()
    reports(task, 20.0)
    for time in np.arange(0.0, 20.0, 0.05):
        assert task.evaluate(time, ARMS).tolist() == plain.evaluate(time, ARMS).tolist()
        assert task.phase(time) == plain.phase(time)
    assert task.started is None
    assert task.duration == profile().duration


def test_started_at_the_time_of_the_clock_it_equals_the_clock_task():
    task = supervised(event='lift_off', delay=8.8 - LIFT)
    task.record_event('lift_off', LIFT, LIFT + 0.005)
    assert task.started == pytest.approx(8.8)
    for time in np.arange(0.0, 20.0, 0.05):
        assert task.evaluate(time, ARMS) == pytest.approx(profile().evaluate(time, ARMS), abs=1e-9)
    assert [task.phase(time) for time in (1.0, 6.0, 9.0, 13.0)] == ['wait', 'reach', 'recover', 'settle']


def test_the_present_segment_fades_out_while_the_recovery_starts():
    task = supervised()
    task.record_event('lift_off', 7.0, 7.0)  # in the middle of the reach, at -5 and -5.5 V
    assert task.evaluate(7.0, ARMS) == pytest.approx([-5.0, -5.5])
    assert task.evaluate(7.3, ARMS) == pytest.approx([0.5 * (-5.0 + 4.5), 0.5 * (-5.5 + 4.0)])
    assert task.evaluate(7.6, ARMS) == pytest.approx([4.5, 4.0])
    assert task.evaluate(9.4, ARMS) == pytest.approx([4.5, 4.0])
    assert task.evaluate(10.0, ARMS) == pytest.approx([0.0, 0.0])
    steps = np.abs(np.diff([task.evaluate(time, ARMS) for time in np.arange(6.5, 11.0, 0.01)], axis=0))
    assert steps.max() < 0.01 * (5.5 + 4.5) / 0.6 + 1e-9
    grid = task.knot_times
    values = np.array([task.evaluate(time, ARMS) for time in grid])
    for time in np.arange(0.0, 16.0, 0.037):
        interpolated = [np.interp(time, grid, column) for column in values.T]
        assert task.evaluate(time, ARMS) == pytest.approx(interpolated, abs=1e-9)


def test_a_late_event_starts_the_recovery_at_once_and_never_in_the_past():
    task = supervised(event='lift_off', delay=0.2)
    before = task.evaluate(8.9, ARMS)
    task.record_event('lift_off', LIFT, 9.0)
    assert task.started == 9.0
    assert task.evaluate(8.9, ARMS).tolist() == before.tolist()


def test_only_the_first_cause_counts():
    task = supervised(event='lift_off', delay=0.3)
    task.record_event('touch_down', 6.0, 6.0)
    task.record_event('lift_off', LIFT, LIFT)
    task.record_event('lift_off', 8.4, 8.4)
    task.record_measure('load_share', 0.0, 8.5)
    assert task.started == pytest.approx(LIFT + 0.3)
    assert task.cause == 'lift_off at t = 8.343 s'


def test_a_wheel_without_load_replaces_a_lost_event():
    task = supervised(event='lift_off', delay=0.3)
    reports(task, 8.34)
    task.record_measure('load_share', 0.0, 8.36)
    assert task.started == pytest.approx(8.66)
    assert 'load_share 0 at t = 8.360 s' in task.cause


def test_a_measure_below_its_value_is_the_cause():
    task = supervised(measure='zmp', below=0.15, delay=0.1)
    reports(task, 6.2, 0.5)
    task.record_measure('zmp', 0.15, 6.22)
    task.record_event('lift_off', 6.23, 6.23)
    assert task.started is None
    task.record_measure('zmp', 0.149, 6.24)
    assert task.started == pytest.approx(6.34)


def test_nothing_is_a_cause_before_the_first_segment():
    """A wheel that is off the ground at the start, or messages of the run before a reset."""
    task = supervised()
    task.record_measure('load_share', 0.0, 1.0)
    task.record_event('lift_off', 1.0, 1.0)
    task.record_event('lift_off', 1.0, 8.0)
    assert task.started is None


@pytest.mark.parametrize('last', [4.0, 6.5])
def test_without_reports_the_segments_fade_out_and_are_not_resumed(last):
    task = supervised(event='lift_off', timeout=0.5)
    reports(task, last)
    play(task, last, 8.0)
    stopped = max(5.0, last + 0.5)
    assert task.stopped == pytest.approx(stopped, abs=0.011)
    assert task.evaluate(task.stopped, ARMS) == pytest.approx(profile().evaluate(task.stopped, ARMS), abs=0.1)
    assert task.evaluate(task.stopped + 0.6, ARMS) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert np.abs(task.evaluate(task.stopped + 0.3, ARMS)).max() <= 0.5 * 5.5 + 1e-9
    assert task.phase(8.0) == 'stopped'
    reports(task, 8.2, since=8.0)
    assert task.evaluate(8.2, ARMS).tolist() == [0.0, 0.0]
    task.record_event('lift_off', 8.3, 8.3)  # it tips: the recovery still starts
    assert task.evaluate(9.0, ARMS) == pytest.approx([4.5, 4.0])
    assert task.phase(9.0) == 'recover'


def test_a_task_without_reports_does_not_start():
    task = supervised()
    task.watch(5.0)
    assert task.stopped == 5.0
    assert task.evaluate(7.0, ARMS).tolist() == [0.0, 0.0]


def test_a_stopped_task_fades_from_the_last_voltages():
    """Regardless of the voltages of the task meanwhile: at the start of a run, or after a gap in the joint states."""
    for last, volts in (({}, (0.0, 0.0)), ({'stick': -1.0}, (0.0, -1.0)), ({'boom': -5.0, 'stick': 2.0}, (-5.0, 2.0))):
        task = supervised()
        task.record_volts(last)
        task.watch(7.0)
        assert task.evaluate(7.0, ARMS) == pytest.approx(volts)
        assert task.evaluate(7.3, ARMS) == pytest.approx(0.5 * np.array(volts))
        assert task.evaluate(7.6, ARMS[::-1]) == pytest.approx((0.0, 0.0), abs=1e-12)


def test_a_value_that_is_not_finite_is_ignored():
    task = supervised(event='lift_off', timeout=0.1)
    reports(task, 5.0)
    for time in np.arange(5.0, 5.3, 0.01):
        task.record_measure('load_share', math.nan, float(time))
        task.watch(float(time))
    assert task.started is None
    assert task.stopped == pytest.approx(5.11, abs=0.011)


def test_reports_may_end_with_the_segments_and_once_the_recovery_plays():
    late, recovering = supervised(), supervised()
    reports(late, 8.6)
    late.watch(9.5)
    assert late.stopped is None
    reports(recovering, 6.0)
    recovering.record_event('lift_off', 6.0, 6.0)
    recovering.watch(8.0)
    assert recovering.stopped is None


def test_a_restart_resets_the_task():
    task = supervised()
    task.record_event('lift_off', 7.0, 7.0)
    task.watch(6.0)
    task.restart()
    assert (task.started, task.stopped, task.cause) == (None, None, '')


def test_the_supervised_task_of_the_package_waits_for_the_lift_off():
    condition = load_voltage_profile(TASKS / 'pick_and_place_supervised.yaml').recover_on
    assert condition == RecoverOn('lift_off', delay=0.3, timeout=0.5)
    assert profile().recover_on is None


HEAD = 'name: a\nduration: 9\n'
SEGMENTS = """segments:
  - {name: out, start: 1, end: 3, ramp: 0.5, volts: {boom: 1}}
  - {name: back, start: 3, end: 5, ramp: 0.5, volts: {boom: -1}, recovery: true}
"""


@pytest.mark.parametrize(
    ('entry', 'fault'),
    [
        ('{delay: 1}', 'recover_on, recover_on: expected an event or a measure, found neither'),
        ('{event: lift_off, measure: zmp, below: 1}', 'found both'),
        ('{event: lift_on}', "event: expected lift_off, found 'lift_on'"),
        ('{measure: zpm, below: 1}', 'measure: expected one of static'),
        ('{measure: zmp}', 'recover_on.below: expected a number in the unit of the measure, found nothing'),
        ('{event: lift_off, delay: -1}', 'delay: expected 0 to 60 s, found -1'),
        ('{event: lift_off, timeout: 0}', 'timeout: expected 0.05 to 10 s, found 0'),
        ('{event: lift_off, pause: 1}', 'recover_on.pause: expected a key of this mapping'),
        ('soon', 'recover_on: expected a mapping'),
    ],
)
def test_faults_of_the_key_are_named_with_their_line(tmp_path, entry, fault):
    path = tmp_path / 'task.yaml'
    path.write_text(f'{HEAD}recover_on: {entry}\n{SEGMENTS}')
    with pytest.raises(TaskError) as error:
        load_voltage_profile(path)
    assert str(error.value).startswith(f'{path}:3: ')
    assert fault in str(error.value)


def test_a_key_without_a_recovery_is_a_fault(tmp_path):
    path = tmp_path / 'task.yaml'
    path.write_text(f'{HEAD}recover_on: {{event: lift_off}}\n{SEGMENTS}'.replace(', recovery: true', ''))
    with pytest.raises(TaskError, match='expected a segment with `recovery: true`'):
        load_voltage_profile(path)


def test_a_text_overrides_the_task():
    default = RecoverOn('lift_off', delay=0.3, timeout=2.0)
    assert recover_on('', default) == default
    assert recover_on('', None) is None
    assert recover_on('clock', default) is None
    assert recover_on('', default, 0.7) == RecoverOn('lift_off', delay=0.7, timeout=2.0)
    assert recover_on('lift_off', None, 0.1) == RecoverOn('lift_off', delay=0.1)
    assert recover_on('zmp < 0.15', default) == RecoverOn(measure='zmp', below=0.15, delay=0.3, timeout=2.0)
    assert recover_on('zmp<0.15', None) == RecoverOn(measure='zmp', below=0.15)


@pytest.mark.parametrize('text', ['zmp > 0.1', 'zmp <', 'now', 'zmp < low', 'zpm < 1', 'zmp < nan'])
def test_other_texts_are_rejected(text):
    with pytest.raises(ValueError, match='expected'):
        recover_on(text, None)
