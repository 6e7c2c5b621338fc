"""Monitor and predicted stops of a planar machine."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.governor.predictor import StopPredictor
from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.monitor.in_space import in_space
from dyn_nodes.monitor.stability_monitor import StabilityMonitor
from dyn_nodes.multibody.inertial_sensor import read_imu
from dyn_nodes.simulation.plant import Plant

PERIOD, RATE = 0.01, 15.0
EXACT = GovernorSettings(delay=0.0, mass_error=0.0, payload_error=0.0)
OUT, IN, STICK = (-5.0, -5.5), (7.0, 4.0), (0.0, -7.0)


class Bench:
    """The planar machine with the monitor of its spatial machine."""

    def __init__(self, machine):
        self.plant = Plant(machine, 'hydraulic', PERIOD, 5e-4, ())
        self.monitor = StabilityMonitor(in_space(machine), ('static', 'zmp', 'load_share'))
        self.stops = StopPredictor(in_space(machine), range(2), self.monitor, EXACT)
        index = self.plant.system.index
        self.inputs = [index('input', f'{actuator.name}/voltage') for actuator in machine.actuators]
        self.wheels = [index('output', f'{wheel.name}/normal_force') for wheel in machine.wheels]

    def restart(self, payload, pitch=0.0):
        self.plant.p[:] = self.plant.system.parameters({'payload_mass': payload}, (0.0, pitch))
        self.plant.reset()
        self.monitor.clear()
        self.monitor.payload = payload
        self.stops.reset()
        self.volts = np.zeros(2)
        self.see()

    @property
    def loads(self):
        return self.plant.outputs()[self.wheels]

    def drive(self, levers, seconds):
        """Advance; return the least share of a wheel on the way."""
        shares = []
        for _ in range(round(seconds / PERIOD)):
            self.volts = self.volts + np.clip(np.asarray(levers) - self.volts, -RATE * PERIOD, RATE * PERIOD)
            self.plant.u[self.inputs] = self.volts
            self.stops.issued(self.volts)
            self.stops.pass_by(PERIOD)
            self.plant.advance()
            self.see()
            shares.append(2.0 * self.loads.min() / self.loads.sum())
        return min(shares)

    def see(self):
        orientation, turn, force = read_imu(self.plant)
        self.monitor.imu(self.plant.time, turn, force, orientation)
        self.monitor.joints(self.plant.time, self.plant.positions.copy(), self.plant.velocities.copy())
        self.stops.see()


@pytest.fixture(scope='module')
def bench(planar):
    return Bench(planar)


@pytest.mark.parametrize('levers', [OUT, IN, STICK])
def test_loads_in_motion_are_those_of_the_simulated_machine(bench, levers):
    bench.restart(2500.0, 0.015)
    bench.drive((0.0, 0.0), 0.5)
    for _ in range(6):
        bench.drive(levers, 0.15)
        halves = bench.monitor.estimated_balance().forces[:, 2].reshape(2, 2)
        assert halves[:, 0] == pytest.approx(halves[:, 1], rel=1e-6)
        assert halves.sum(axis=1) == pytest.approx(bench.loads, abs=0.02 * bench.loads.sum())


@pytest.mark.parametrize(
    ('levers', 'payload', 'seconds'), [(OUT, 1000.0, 0.9), (OUT, 2500.0, 0.7), (IN, 4000.0, 0.8), (STICK, 1000.0, 1.0)]
)
def test_a_stop_out_of_motion_is_foreseen(bench, levers, payload, seconds):
    bench.restart(payload)
    bench.drive((0.0, 0.0), 0.5)
    before = 2.0 * bench.loads.min() / bench.loads.sum()
    bench.drive(levers, seconds)
    stop = bench.stops.stop(bench.volts)
    assert np.abs(bench.monitor.v).max() > 0.1, 'it moves'
    least = bench.drive((0.0, 0.0), 2.0)
    assert least < before - 0.05, 'the stop has an effect'
    assert max(stop.least, 0.0) == pytest.approx(least, abs=0.1)
