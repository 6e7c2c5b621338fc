"""The governor in the loop with the simulated machine and its hydraulics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from log_loader_tasks import PAYLOAD

from dyn_nodes.common.share import find_resource
from dyn_nodes.control import load_voltage_profile
from dyn_nodes.governor.predictor import StopPredictor
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.governor.tip_over_governor import TipOverGovernor
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.simulation.plant import Plant

PERIOD = 0.01
EXACT = GovernorSettings(delay=0.0, mass_error=0.0, payload_error=0.0)
"""Settings for an exact model."""
VALVES = ('boom', 'stick', 'swing')


@dataclass
class Outcome:
    overturned: bool
    time: float
    tilt: float
    least_degree: float
    least_load: float
    positions: np.ndarray
    held: set[str]


def drive(machine, levers, duration, payload=PAYLOAD, governed=True, settings=EXACT, stop_at=np.inf):
    """Run a machine under levers (a function of time), with or without the governor."""
    plant = Plant(machine, 'hydraulic', PERIOD, 5e-4, ('zmp',))
    plant.set_parameter('payload_mass', payload)
    plant.reset()
    monitor = StabilityMonitor(machine, ('zmp',))
    monitor.payload = payload
    stops = StopPredictor(machine, range(3), monitor, settings)
    governor = TipOverGovernor(VALVES, stops, settings)
    tilt, degree, load, held = 0.0, np.inf, np.inf, set()
    while plant.time < duration - 1e-9 and not plant.overturned:
        volts = np.asarray(levers(plant.time), dtype=float)
        if governed:
            monitor.joints(plant.time, plant.positions.copy(), plant.velocities.copy())
            if plant.time >= stop_at:
                volts = governor.neutral(PERIOD)
            else:
                verdict = governor.govern(volts, PERIOD)
                volts = verdict.volts
                held.update(verdict.held)
        plant.set_inputs({f'{name}/voltage': value for name, value in zip(VALVES, volts)})
        plant.advance()
        balance = plant.balance()
        tilt = max(tilt, np.degrees(plant.output('tilt')))
        degree = min(degree, balance.margins['zmp'].value)
        load = min(load, float(balance.forces[:, 2].min()))
    return Outcome(plant.overturned, plant.time, tilt, degree, load, plant.positions.copy(), held)


@pytest.fixture(scope='module')
def reach_out():
    """The reference task without recovery."""
    profile = load_voltage_profile(find_resource('config/tasks/pick_and_place_recovery.yaml'), VALVES, recovery=False)
    return lambda time: profile.evaluate(time + 0.5 * PERIOD, VALVES)


def test_the_task_without_recovery_overturns_without_the_governor(machine, reach_out):
    outcome = drive(machine, reach_out, 16.0, governed=False)
    assert outcome.overturned
    assert outcome.time == pytest.approx(13.0, abs=0.2)


def test_the_task_without_recovery_does_not_overturn_with_the_governor(machine, reach_out):
    """No wheel lifts; the least share of the stop at the end of the task is about the reserve, 0.16, and above 0.1."""
    outcome = drive(machine, reach_out, 16.0)
    assert not outcome.overturned
    assert outcome.tilt < 1.5
    assert outcome.least_degree > 0.1
    assert outcome.least_load > 0.0
    assert outcome.held == {'boom', 'stick'}
    assert outcome.positions[1] < np.radians(51.0)  # it extended, from 55 degrees


def test_outputs_of_levers_held_for_long_decrease_to_zero(machine):
    outcome = drive(machine, lambda time: (-5.0 * (time > 1.0), 5.5 * (time > 1.0), 0.0), 14.0)
    assert not outcome.overturned
    assert outcome.tilt < 2.0


@pytest.mark.parametrize('instant', [0.95, 1.3, 1.75, 2.2])
def test_an_emergency_stop_of_a_governed_motion_keeps_all_wheels_down(machine, instant):
    """Extend and slew at full speed: passed commands can be stopped at any time."""
    levers = lambda time: np.array([-6.0, -6.0, 8.0]) * (time > 0.5)  # noqa: E731
    outcome = drive(machine, levers, instant + 2.0, 2500.0, stop_at=instant)
    assert not outcome.overturned
    assert outcome.least_load > 0.0


def test_an_unloaded_machine_is_not_limited(machine):
    levers = lambda time: np.array([-3.0, 3.0, 2.0]) * (1.0 < time < 2.5)  # noqa: E731
    free, governed = (drive(machine, levers, 4.0, 0.0, governed) for governed in (False, True))
    assert governed.held == set()
    # only the rate of the output is limited
    assert governed.positions == pytest.approx(free.positions, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(6))
def test_random_lever_steps_do_not_overturn_it(machine, seed):
    """Steps of all levers at once, up to full, every 1.5 s: two of these six overturn without the governor."""
    rng = np.random.default_rng(seed + 2)
    table = rng.uniform(-8.0, 8.0, (20, 3)) * (rng.random((20, 3)) < 0.7)
    payload = float(rng.choice([1000.0, 3000.0, 5100.0]))
    outcome = drive(machine, lambda time: table[min(int(time / 1.5), 19)], 30.0, payload)
    assert not outcome.overturned
    assert outcome.tilt < 6.0
