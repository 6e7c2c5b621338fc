"""Batches of runs in lanes against the same runs alone."""

from __future__ import annotations

import copy
import platform

import numpy as np
import pytest
from log_loader_tasks import P3D_FAST_NO_RECOVERY

from dyn_nodes.compile.lanes import lane_count
from dyn_nodes.simulation import Inputs, Settings, initial_state
from dyn_nodes.simulation.batches import fill_outputs, run_batch, runs, takes_lanes
from dyn_nodes.simulation.batches.plan import course_of
from dyn_nodes.studies.abo_shanab_2003.planar import friction_system

WATCHING = Settings(step=2.5e-3, watch=True)
TURNED = slice(3, 10)
"""Indices of quaternion and joint angles of the log-loader."""
COUNT = 11
"""Number of runs: more than the lanes, and no multiple of them."""


def payloads(system, values):
    return np.array([system.parameters({'payload_mass': float(value)}) for value in values])


@pytest.fixture(scope='module')
def starts(system):
    """Return parameters and states of runs that differ in their payload."""
    p = payloads(system, np.linspace(2500.0, 6000.0, COUNT))
    return p, np.array([initial_state(system, values) for values in p])


@pytest.fixture(scope='module')
def reaching(system, starts):
    """Return runs of the fast reach without recovery as a batch and one by one: some overturn, some lift wheels."""
    p, x = starts
    times = np.linspace(0.0, 12.0, 121)
    together = run_batch(system, x, times, P3D_FAST_NO_RECOVERY, p, WATCHING, threads=1)
    return together, [system.run(x[k], times, P3D_FAST_NO_RECOVERY, p[k], WATCHING) for k in range(COUNT)]


def test_runs_in_lanes_equal_single_runs(reaching):
    together, alone = reaching
    assert {run.status for run in alone} == {'done', 'overturned'}
    for lane, expected in zip(together, alone):
        assert (lane.status, lane.end_time) == (expected.status, expected.end_time)
        np.testing.assert_array_equal(lane.times, expected.times)
        assert np.abs(lane.states - expected.states)[:, TURNED].max() < 1e-5
        assert np.abs(lane.last - expected.last)[TURNED].max() < 1e-5


def test_events_of_a_lane_equal_those_of_a_single_run(reaching):
    together, alone = reaching
    assert any(event.kind == 'lift_off' for run in alone for event in run.events)
    for lane, expected in zip(together, alone):
        assert [(event.kind, event.details.get('wheel')) for event in lane.events] == [
            (event.kind, event.details.get('wheel')) for event in expected.events
        ]
        for event, other in zip(lane.events, expected.events):
            assert event.time == pytest.approx(other.time, abs=1e-5)


def test_a_run_has_the_same_bits_in_every_batch(system, starts, reaching):
    p, x = starts
    times, order = np.linspace(0.0, 12.0, 121), np.random.default_rng(1).permutation(COUNT)[: COUNT - 3]
    mixed = run_batch(system, x[order], times, P3D_FAST_NO_RECOVERY, p[order], WATCHING, threads=2)
    for run, k in zip(mixed, order):
        np.testing.assert_array_equal(run.states, reaching[0][k].states)
        np.testing.assert_array_equal(run.last, reaching[0][k].last)
        assert [event.time for event in run.events] == [event.time for event in reaching[0][k].events]


@pytest.mark.skipif(platform.machine() not in ('x86_64', 'AMD64'), reason='measured for vectors of 128 to 512 bits')
def test_a_run_has_the_same_bits_in_narrower_vectors(system, starts, reaching, monkeypatch):
    """With wider vectors than the processor has this is not guaranteed: operations are split and fused differently."""
    monkeypatch.setattr(runs, 'lane_count', lambda: lane_count() // 2)
    p, x = starts
    times = np.linspace(0.0, 12.0, 121)
    other = run_batch(system, x[-3:], times, P3D_FAST_NO_RECOVERY, p[-3:], WATCHING, threads=1)
    for run, expected in zip(other, reaching[0][-3:]):
        np.testing.assert_array_equal(run.states, expected.states)


def test_outputs_of_a_batch_equal_those_of_the_kernel(reaching):
    together, _ = reaching
    fill_outputs(together)
    run = together[3]
    for k in (0, 60, len(run.times) - 1):
        expected = run.system.outputs(run.states[k], run.u[k], run.parameters)
        np.testing.assert_allclose(run.all_outputs[k], expected, rtol=1e-9, atol=1e-6)


def test_jumps_kinks_and_dead_times_of_inputs_differ_per_lane(system, starts):
    delayed = copy.copy(system)
    delayed.delays = np.array([0.0137, 0.0, 0.05])
    p, x = starts
    rng = np.random.default_rng(2)
    inputs = []
    for _ in range(COUNT):
        knots = np.sort(np.append(rng.uniform(0.0, 0.6, 4), [0.2, 0.2]))  # a jump at a sample
        columns = {name: rng.uniform(-4.0, 4.0, 6) for name in system.input_names}
        inputs.append(Inputs(knots, columns))
    times = np.array([0.0, 0.1, 0.2, 0.35, 0.6])  # not equally spaced
    settings = Settings(step=6e-4, watch=True)
    for variant in (system, delayed):
        together = run_batch(variant, x, times, inputs, p, settings)
        alone = [variant.run(x[k], times, inputs[k], p[k], settings) for k in range(COUNT)]
        off = [np.abs(run.states - other.states)[:, TURNED].max() for run, other in zip(together, alone)]
        assert np.median(off) < 1e-9
        assert max(off) < 1e-6  # where rounding decides which steps are implicit


def test_explicit_steps_and_a_start_beyond_any_step(system, starts):
    p, x = starts
    settings = Settings(step=5e-4, stiff='explicit')
    wild = x[:3].copy()
    wild[1, 10:16] = 1e9
    times = np.linspace(0.0, 0.1, 3)
    together = run_batch(system, wild, times, None, p[:3], settings)
    for k in range(3):
        alone = system.run(wild[k], times, None, p[k], settings)
        assert (together[k].status, len(together[k].times)) == (alone.status, len(alone.times))
        if alone.status == 'done':
            np.testing.assert_allclose(together[k].states, alone.states, rtol=1e-9, atol=1e-9)
    assert together[1].status == 'step too small'
    assert 'steps of' in together[1].detail


def test_discrete_states_change_in_each_lane():
    system = friction_system('karnopp', 'ground', 'literal')
    assert system.switches
    p = np.array([system.parameters({'payload_mass': mass}) for mass in (0.0, 800.0, 1500.0)])
    x = np.array([initial_state(system, values) for values in p])
    inputs = Inputs([0.0, 0.3, 0.6], {name: [0.0, 4e4, -4e4] for name in system.input_names})
    times, settings = np.linspace(0.0, 1.0, 11), Settings(step=5e-4)
    for k, run in enumerate(run_batch(system, x, times, inputs, p, settings)):
        alone = system.run(x[k], times, inputs, p[k], settings)
        np.testing.assert_allclose(run.states, alone.states, rtol=1e-6, atol=1e-8)


def test_damped_steps_in_lanes_equal_those_of_single_runs(system, starts):
    p, x = starts
    times, settings = np.linspace(4.9, 6.4, 16), Settings('rk3', 5e-3, watch=True)
    assert takes_lanes(system, settings)
    for k, run in enumerate(run_batch(system, x, times, P3D_FAST_NO_RECOVERY, p, settings, threads=1)):
        alone = system.run(x[k], times, P3D_FAST_NO_RECOVERY, p[k], settings)
        assert (run.status, run.end_time) == (alone.status, alone.end_time)
        assert np.abs(run.states - alone.states)[:, TURNED].max() < 1e-8
        other = system.run(x[k], times, P3D_FAST_NO_RECOVERY, p[k], Settings(step=2.5e-3))
        assert 0.0 < np.abs(run.states - other.states)[:, TURNED].max() < 1e-4


def test_other_methods_use_scalar_kernels(system, starts):
    p, x = starts
    adaptive = Settings(method='dopri5', step=1e-3)
    assert takes_lanes(system, Settings())
    assert not takes_lanes(system, adaptive)
    times = np.linspace(0.0, 0.05, 3)
    together = run_batch(system, x[:3], times, None, p[:3], adaptive)
    alone = system.run(x[2], times, None, p[2], adaptive)
    np.testing.assert_array_equal(together[2].states, alone.states)
    assert together[2].counts == alone.counts


def test_one_state_parameters_by_name_and_one_instant(system, starts):
    _, x = starts
    (run,) = run_batch(system, x[0], [0.0], None, {'payload_mass': 2500.0})
    assert run.status == 'done'
    np.testing.assert_array_equal(run.states, x[:1])
    together = run_batch(system, x, [0.0, 0.01], None, {'payload_mass': 2500.0}, WATCHING)
    assert [run.parameters[3] for run in together] == [2500.0] * COUNT


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'x0': 3}, 'states: expected 1 or 11 rows, found 3'),
        ({'inputs': [Inputs.constant()] * 2}, 'inputs: expected 1 or 11, found 2'),
        ({'times': [0.0, 0.0]}, 'rising times'),
    ],
)
def test_arguments_of_other_sizes_are_rejected(system, starts, change, message):
    p, x = starts
    arguments = {'x0': x[: change.get('x0', COUNT)], 'times': change.get('times', [0.0, 0.1])}
    with pytest.raises(ValueError, match=message):
        run_batch(system, arguments['x0'], arguments['times'], change.get('inputs'), p)


def test_a_plan_has_the_steps_of_a_run():
    knots, table = np.array([0.0, 0.1, 0.25, 0.25, 1.0]), np.array([[0.0], [1.0], [2.0], [5.0], [6.0]])
    course = course_of(knots, table, np.array([0.0, 0.2, 0.5]), 0.03)
    np.testing.assert_allclose(course.since, [0.0, 0.1, 0.2, 0.25])
    np.testing.assert_allclose(course.steps * course.step, np.diff([0.0, 0.1, 0.2, 0.25, 0.5]))
    assert (course.step <= 0.03 + 1e-12).all()
    assert course.row.tolist() == [-1, 1, -1, 2]
    np.testing.assert_allclose(course.start.ravel(), [0.0, 1.0, 5.0 / 3.0, 5.0])
    np.testing.assert_allclose(course.end.ravel(), [1.0, 5.0 / 3.0, 2.0, 5.0 + 1.0 / 3.0])
    smooth = course_of(knots[:2], table[:2], np.array([0.0, 0.2, 0.4]), 0.05)
    assert smooth.fresh.tolist() == [True, False, False]
    assert (smooth.offset.tolist(), smooth.base.tolist()) == ([0, 2, 4], [0.0, 0.0, 0.0])


def test_the_lane_count_suits_the_processor():
    assert lane_count() in (4, 8)
