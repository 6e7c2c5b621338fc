"""The part of a lever's travel without motion: against the simulated machine."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.dead_part import beyond, dead_part, resting_load
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation import Inputs, System, initial_state


@pytest.fixture(scope='module')
def system():
    return System(machine_of('log_loader', ''))


def boom_of(system):
    return hydraulic(system.machine.actuator('boom'))


def moved(system, volts: float) -> float:
    """Return the motion of the boom after 1.5 s of a constant voltage, rad."""
    p = system.parameters()
    times = np.linspace(0.0, 1.5, 16)
    inputs = Inputs(np.array([0.0, 1.5]), {'boom/voltage': np.full(2, volts)})
    run = system.run(initial_state(system, p), times, inputs, p)
    still = system.run(initial_state(system, p), times, Inputs(np.array([0.0, 1.5]), {'boom/voltage': np.zeros(2)}), p)
    return float(run.position('boom_joint')[-1] - still.position('boom_joint')[-1])


def test_without_a_load_it_is_the_dead_zone_and_the_flow_of_the_open_centre(system):
    boom = boom_of(system)
    low, high = dead_part(boom)
    zone = boom.valve.dead_zone / boom.valve.gain
    assert -8.0 < low < -zone < 0.0 < zone < high < 8.0


def test_a_load_makes_it_longer_against_and_shorter_with_the_motion(system):
    boom = boom_of(system)
    highs, lows = zip(*((dead_part(boom, load)[1], dead_part(boom, load)[0]) for load in (0.0, 2e5, 4e5)))
    assert highs[0] < highs[1] < highs[2]
    assert lows[0] <= lows[1] <= lows[2] <= -boom.valve.dead_zone / boom.valve.gain + 1e-9


def test_the_boom_of_the_log_loader_moves_beyond_it_and_rests_within(system):
    boom = boom_of(system)
    p = system.parameters()
    state = initial_state(system, p)
    run = system.run(state, np.array([0.0, 0.01]), Inputs(np.array([0.0]), {'boom/voltage': np.zeros(1)}), p)
    lines = [float(run.state(f'boom/{name}')[0]) for name in boom.lines]
    low, high = dead_part(boom, resting_load(boom, *lines))
    assert 2.0 < high < 6.0, 'the 5.1 t have to be lifted'
    assert abs(moved(system, 0.9 * high)) < 0.01
    assert abs(moved(system, 1.15 * high)) > 0.02
    assert abs(moved(system, 0.5 * low)) < 0.005
    assert abs(moved(system, low - 0.5)) > 0.02


@pytest.mark.parametrize(
    ('volts', 'expected'), [(0.0, 0.0), (8.0, 8.0), (-8.0, -8.0), (4.0, 5.5), (-4.0, -4.5), (0.08, 3.05)]
)
def test_a_lever_that_skips_it_starts_at_its_edge(volts, expected):
    assert beyond(volts, (-1.0, 3.0), 8.0) == pytest.approx(expected)


def test_a_lever_starts_at_three_fifths_of_the_limit_at_most():
    dead = (-8.0, 9.0)
    assert (beyond(0.08, dead, 8.0), beyond(-0.08, dead, 8.0)) == pytest.approx((4.832, -4.832))
    assert (beyond(8.0, dead, 8.0), beyond(-8.0, dead, 8.0)) == (8.0, -8.0)
    assert beyond(1.0, (-1.0, 3.0), 0.0) == 0.0


def test_impossible_pressures_give_no_load(system):
    boom = boom_of(system)
    nan, relief = float('nan'), boom.supply.relief_pressure
    assert resting_load(boom, 1e7, 1e6) == pytest.approx(1e7 * boom.areas[0] - 1e6 * boom.areas[1])
    for first, second in ((1.01 * relief, 0.0), (0.0, 1.01 * relief), (nan, 1e6), (1e6, nan), (1e308, -1e308)):
        assert resting_load(boom, first, second) is None
