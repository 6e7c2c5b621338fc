"""Steps of `rk32`: short at kinks, jumps and changes of discrete states, the longest elsewhere."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dyn_nodes as dn
from dyn_nodes.compile import build_module
from dyn_nodes.compile.integrators import codes_of, run_rk32
from dyn_nodes.simulation import Inputs, Settings

TIMES = 0.01 * np.arange(501)


def controlled(tolerance, **options):
    return Settings('rk32', 0.01, rtol=0.0, atol=tolerance, **options)


def pushed(name, share):
    """Return system, state at rest, parameters and torques that push joints against their stops."""
    m = dn.load(name)
    plant = m.plant(True)
    held = dict(zip(plant.system.input_names, plant.u))
    knots = np.array([0.0, 0.4, 1.1, 2.3, 3.7, 4.4])
    rng = np.random.default_rng(1)
    values = {f'{joint}/effort': held[f'{joint}/effort'] for joint in m.driven}
    drive = {key: value + share * rng.uniform(-1, 1, 6) * max(abs(value), 50.0) for key, value in values.items()}
    others = {key: np.full(6, value) for key, value in held.items() if key not in drive}
    return plant.system, plant.x, plant.p, Inputs(knots, {**others, **drive})


def test_joint_stops_and_wheels_are_more_accurate_than_with_many_times_as_many_equal_steps():
    system, x, p, inputs = pushed('telehandler', 0.1)
    settings = controlled(1e-4), Settings('rk4', 1e-4), controlled(1e-9)
    run, equal, exact = (system.run(x, TIMES, inputs, p, each) for each in settings)
    errors = [np.abs(each.states - exact.states)[:, : system.nq].max() for each in (run, equal)]
    assert sum(run.counts.values()) < 0.05 * 5.0 / 1e-4
    assert errors[0] < 1e-4 < errors[1]


@pytest.mark.parametrize('name', ['forwarder', 'telehandler'])
def test_the_error_falls_with_the_tolerance(name):
    system, x, p, inputs = pushed(name, 0.1)
    exact = system.run(x, TIMES, inputs, p, controlled(1e-10)).states
    runs = [system.run(x, TIMES, inputs, p, controlled(tolerance)) for tolerance in (1e-3, 1e-5, 1e-7)]
    errors = [np.abs(run.states - exact)[:, : system.nq].max() for run in runs]
    assert errors[0] > 10 * errors[1] > 30 * errors[2]
    assert errors[2] < 2e-5


def test_events_are_those_of_short_equal_steps():
    m = dn.load('log_loader')
    system, plant = m.system(), m.plant(payload=2500.0)
    inputs = Inputs([0, 1, 1.5, 4, 4.5], {'boom/voltage': [0, -5, -5, 5, 0], 'stick/voltage': [0, -6, -6, 6, 0]})
    run, equal = (
        system.run(plant.x, TIMES, inputs, plant.p, settings)
        for settings in (controlled(1e-5, watch=True), Settings('rk4', 5e-5, watch=True))
    )
    assert len(run.events) == len(equal.events) > 3
    for event, other in zip(run.events, equal.events):
        assert (event.kind, dict(event.details).keys()) == (other.kind, dict(other.details).keys())
        assert event.time == pytest.approx(other.time, abs=2e-4)


def test_a_run_that_overturns_ends_at_the_same_instant_with_every_tolerance():
    m = dn.load('log_loader')
    plant = m.plant(payload=5100.0)
    plant.x[plant.system.index('state', 'base_wy_rate')] = 3.0
    ends = []
    for tolerance in (1e-3, 1e-6):
        run = plant.system.run(plant.x, TIMES, Inputs.constant(), plant.p, controlled(tolerance))
        assert run.overturned
        ends.append(np.arccos(1.0 - 2.0 * (run.last[3] ** 2 + run.last[4] ** 2)))
    assert ends[0] == pytest.approx(ends[1], abs=1e-5)


def oscillator():
    """Return a mass on a spring whose force is switched on by a discrete state beyond x = 1."""
    x, u, p = ca.SX.sym('x', 3), ca.SX.sym('u', 1), ca.SX.sym('p', 1)
    rhs = ca.vertcat(x[1], 1.0 - p * x[2] * x[0], 0.0)
    flag = ca.if_else(x[0] > 1.0, 1.0, x[2])
    return {
        'rhs': ca.Function('rhs', [x, u, p], [ca.densify(rhs)]),
        'switch': ca.Function('switch', [x, u, p], [ca.vertcat(x[0], x[1], flag)]),
    }, {}


def test_discrete_states_change_within_the_shortest_step():
    codes = codes_of(build_module('switched_test_plant', ['switched'], oscillator))
    table = np.zeros((1, 1))
    ends = []
    for tolerance in (1e-2, 1e-7):
        x, trace = np.zeros(3), np.empty((11, 3))
        inputs = 0.5 * np.arange(11), np.zeros(1), table, np.full(1, 4.0)
        limits = -2.0, 0.0, np.full(3, tolerance), 0.5, 1e-10
        status, reached, accepted, *_ = run_rk32(
            codes, x, *inputs, *limits, trace, np.empty(0, np.bool_), np.empty((0, 4))
        )
        assert (status, reached, x[2]) == (0, 11, 1.0)
        ends.append((trace.copy(), accepted))
    # x = t^2 / 2 up to x = 1 at t = sqrt(2), then an oscillation of 2 rad/s about 1/4
    late = 2.0 * (5.0 - np.sqrt(2.0))
    exact = 0.25 + 0.75 * np.cos(late) + np.sqrt(0.5) * np.sin(late)
    assert ends[1][0][-1, 0] == pytest.approx(exact, abs=1e-5)
    assert ends[0][0][-1, 0] == pytest.approx(exact, abs=2e-2)
    assert ends[0][1] < 100
