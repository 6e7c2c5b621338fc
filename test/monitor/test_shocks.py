"""The ground below a machine whose accelerometer shows no ground reaction for an instant."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.monitor.stability_monitor import StabilityMonitor

PERIOD, GRAVITY = 0.01, 9.81
POSTURE = np.array([0.3, 0.9, -1.7])
PULLED = np.array([-30.0, -13.0, -19.0])
"""Specific force of a base under the shock of a joint stop, m/s2."""
SHAKEN = np.array([3.0, -4.0, 11.5])


def up(roll, pitch):
    """Return the direction against gravity in the axes of a base on a slope."""
    return np.array([-np.sin(pitch), np.sin(roll) * np.cos(pitch), np.cos(roll) * np.cos(pitch)])


class Base:
    """A machine with joints at rest and an IMU on its base."""

    def __init__(self, machine):
        self.monitor = StabilityMonitor(machine, ('zmp',))
        self.monitor.payload = 3000.0
        self.time = 0.0

    def measure(self, force, seconds, turn=(0.0, 0.0, 0.0)):
        """Measure a specific force for a time; return the load shares of the wheels."""
        for _ in range(round(seconds / PERIOD)):
            self.time += PERIOD
            self.monitor.imu(self.time, np.asarray(turn, dtype=float), force)
            self.monitor.joints(self.time, POSTURE, np.zeros(3))
        normal = self.monitor.footing.normal
        return normal / max(normal.sum(), 1e-9)


@pytest.fixture
def base(machine):
    return Base(machine)


def test_an_instant_without_load_does_not_reset_the_ground(base):
    before = base.measure(GRAVITY * up(0.02, 0.03), 1.0)
    base.measure(PULLED, PERIOD)
    assert not base.monitor.footing.pressed
    for _ in range(20):  # the shock that follows shows another ground
        assert base.measure(SHAKEN, PERIOD) == pytest.approx(before, abs=0.02)


def test_the_base_continues_to_turn_while_there_is_no_load(base):
    before = base.measure(GRAVITY * up(0.0, 0.0), 1.0)
    plane = base.monitor.footing.plane.copy()
    base.measure(PULLED, 0.05, turn=(0.0, 0.1, 0.0))
    after = base.measure(GRAVITY * up(0.0, 0.0), PERIOD)
    assert base.monitor.footing.plane[0] - plane[0] == pytest.approx(-0.1 * 0.06, abs=2e-3)
    assert np.abs(after - before).max() > 0.01


def test_after_a_flight_the_ground_is_estimated_again(machine, base):
    base.measure(GRAVITY * up(0.0, 0.0), 1.0)
    base.measure(PULLED, 0.6)
    landed = base.measure(GRAVITY * up(0.06, -0.04), 2 * PERIOD)
    fresh = Base(machine)
    assert landed == pytest.approx(fresh.measure(GRAVITY * up(0.06, -0.04), 1.0), abs=0.03)
