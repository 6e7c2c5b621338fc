"""Outcomes of runs with specified samples: ends that do not occur in runs of other tests."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dyn_nodes.analysis.sweeps.outcomes import OUTCOMES, Observed
from dyn_nodes.simulation.events import Event

TIMES = np.array([0.0, 1.0, 2.0, 3.0])
STANDING = np.ones((4, 3))
NAN = float('nan')


def observed(loads=STANDING, status='done', events=(), margins=None, signals=None):
    """Return a run of four samples on three contacts, with two joints `a` and `b`."""
    signals = {'a_rate': np.zeros(4), 'b_rate': np.zeros(4), 'tilt': np.zeros(4)} | (signals or {})
    joints = [SimpleNamespace(name=name) for name in 'ab']
    system = SimpleNamespace(
        machine=SimpleNamespace(movable_joints=joints),
        state_names=tuple(name for name in signals if name != 'tilt'),
        output_names=('tilt',),
    )
    run = SimpleNamespace(
        times=TIMES, status=status, overturned=status == 'guarded', events=list(events), system=system,
        state=signals.__getitem__, output=signals.__getitem__,
    )  # fmt: skip
    return Observed(run, margins or {}, np.array(loads, dtype=float))


def value(name, seen):
    cells = OUTCOMES[name].values(seen)
    return cells if len(cells) > 1 else cells[0]


def lifted_at(*cells):
    """Return loads (4, 3), 0 in the cells (sample, contact)."""
    loads = STANDING.copy()
    for cell in cells:
        loads[cell] = 0.0
    return loads


def event(kind, time):
    return Event(time, kind)


@pytest.mark.parametrize(
    ('seen', 'recovered'),
    [
        (observed(), False),
        (observed(lifted_at((1, 0))), True),
        (observed(lifted_at((1, 0)), 'guarded'), False),
        (observed(lifted_at((1, 0)), 'diverged'), False),
        (observed(lifted_at((3, 0))), False),
        (observed(lifted_at((1, 1), (3, 2))), False),
        (observed(lifted_at((3, 0), (3, 1))), False),
        (observed(lifted_at((3, 0), (3, 1), (3, 2))), False),
        (observed(events=[event('lift_off', 1.5)]), True),
        (observed(events=[event('touch_down', 1.5)]), False),
    ],
)
def test_a_run_has_recovered_if_a_contact_lifted_and_all_contacts_are_loaded_at_the_end(seen, recovered):
    assert value('recovered', seen) is recovered


@pytest.mark.parametrize(
    ('seen', 'lifted', 'time'),
    [
        (observed(), False, NAN),
        (observed(lifted_at((2, 1), (3, 0))), True, 2.0),
        (observed(lifted_at((0, 2))), True, 0.0),
        (observed(lifted_at((2, 1)), events=[event('lift_off', 1.5), event('lift_off', 1.2)]), True, 1.2),
        (observed(lifted_at((1, 1)), events=[event('lift_off', 2.5)]), True, 1.0),
        (observed(events=[event('touch_down', 0.5), event('lift_off', 2.5)]), True, 2.5),
    ],
)
def test_lift_off_is_the_first_of_a_contact_by_event_or_sample(seen, lifted, time):
    cells = value('lift_off', seen)
    assert cells[0] is lifted
    np.testing.assert_equal(cells[1], time)


@pytest.mark.parametrize(('status', 'overturned'), [('done', False), ('guarded', True), ('diverged', False)])
def test_only_a_run_ended_by_the_guard_has_overturned(status, overturned):
    assert value('overturned', observed(status=status)) is overturned


def test_the_least_margin_of_every_measure_has_its_time_and_a_sample_without_one_is_shown():
    margins = {'zmp': np.array([0.4, 0.1, 0.1, 0.3]), 'static': np.array([0.4, NAN, -1.0, 0.3])}
    np.testing.assert_equal(value('least_margin', observed(margins=margins)), (0.1, 1.0, NAN, 1.0))


def test_the_peak_pressure_is_taken_over_lines_and_pumps_only():
    signals = {
        'boom/head_pressure': np.array([1.0, 2.0, 5.0, 1.0]), 'swing/pressure_b': np.array([6.0, 1.0, 1.0, 1.0]),
        'boom/pressure_gain': np.full(4, 99.0), 'boom/spool': np.full(4, 99.0),
    }  # fmt: skip
    assert value('peak_pressure', observed(signals=signals)) == 6.0
    np.testing.assert_equal(value('peak_pressure', observed()), NAN)


@pytest.mark.parametrize(
    ('rates', 'status', 'time'),
    [
        ({}, 'done', 0.0),
        ({}, 'guarded', NAN),
        ({'a_rate': [0.0, 0.5, 0.01, 0.0]}, 'done', 2.0),
        ({'a_rate': [0.0, 0.5, 0.0, 0.0], 'b_rate': [0.0, 0.0, -0.5, 0.0]}, 'done', 3.0),
        ({'a_rate': [0.5, 0.0, 0.5, 0.0]}, 'done', 3.0),
        ({'a_rate': [0.5, 0.0, 0.0, 0.0]}, 'diverged', NAN),
        ({'b_rate': [0.0, 0.0, 0.0, 0.5]}, 'done', NAN),
    ],
)
def test_a_cycle_ends_when_the_last_joint_comes_to_rest(rates, status, time):
    signals = {name: np.array(values) for name, values in rates.items()}
    np.testing.assert_equal(value('cycle_time', observed(status=status, signals=signals)), time)


def test_the_greatest_tilt_is_taken_over_all_samples():
    assert value('greatest_tilt', observed(signals={'tilt': np.array([0.1, 0.3, 0.2, 0.0])})) == 0.3
