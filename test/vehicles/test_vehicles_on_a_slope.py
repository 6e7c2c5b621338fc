"""Vehicles on slipping tyres park on a slope, crab, and turn on the spot."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_motion import JointValues, WheelMotion
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation.plant import Plant

PERIOD = 0.002


class Driven:
    """Machine and controller in one process."""

    def __init__(self, name: str, slope: float) -> None:
        machine = machine_of(name, '')
        self.plant = Plant(machine, 'effort', PERIOD, 5e-4, ('static',), slope=(0.0, slope))
        self.motion = WheelMotion(WheelBase.of(machine), PERIOD)
        self._wheels = [self.plant.joints.index(name) for name in self.motion.joints]
        self._driven = [self.plant.joints.index(name) for name in self.motion.commanded]
        self.motion.restart(self.state())

    def state(self) -> JointValues:
        plant = self.plant
        return JointValues(*(values[self._wheels] for values in (plant.positions, plant.velocities, plant.efforts)))

    def pose(self) -> np.ndarray:
        position, q = self.plant.base_pose()
        return np.array([position[0], position[1], 2.0 * math.atan2(q[2], q[3])])

    def twist(self) -> np.ndarray:
        linear, angular = self.plant.base_twist()
        return np.array([linear[0], linear[1], angular[2]])

    def drive(self, twist: tuple[float, float, float], seconds: float) -> None:
        end = self.plant.time + seconds
        while self.plant.time < end - 1e-9:
            command = self.motion.step(np.array(twist), PERIOD, self.state())
            efforts = np.zeros(len(self.plant.joints))
            efforts[self._driven] = command.effort
            self.plant.set_efforts(efforts)
            self.plant.advance()


def test_a_mecanum_vehicle_parks_on_a_slope_and_drives_away():
    vehicle = Driven('agv_mecanum', 0.1)
    vehicle.drive((0.0, 0.0, 0.0), 2.5)
    parked = vehicle.pose()
    vehicle.drive((0.0, 0.0, 0.0), 2.0)
    assert np.abs(vehicle.pose() - parked).max() < 1e-3
    held = vehicle.motion.servo.integral.sum() / 0.1
    assert held == pytest.approx(-45.0 * 9.81 * math.sin(0.1), rel=0.01)  # downhill is ahead
    vehicle.drive((-0.4, 0.2, 0.0), 2.0)
    assert vehicle.twist() == pytest.approx([-0.4, 0.2, 0.0], abs=0.01)
    vehicle.drive((0.0, 0.0, 0.0), 2.0)
    assert np.abs(vehicle.twist()).max() < 5e-3


@pytest.mark.slow
def test_a_platform_of_steered_wheels_drives_crabs_and_turns():
    vehicle = Driven('platform_4x4x4', 0.0)
    for twist, seconds in (((0.6, 0.0, 0.0), 1.5), ((0.4, 0.4, 0.0), 2.0), ((0.0, 0.0, 0.6), 3.0)):
        vehicle.drive(twist, seconds)
        assert vehicle.twist() == pytest.approx(twist, abs=0.02)
    vehicle.drive((0.0, 0.0, 0.0), 1.5)
    assert np.abs(vehicle.twist()).max() < 5e-3
    assert vehicle.motion.odometry.pose == pytest.approx(vehicle.pose(), abs=0.02)
