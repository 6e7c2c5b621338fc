"""Margins of a monitor whose IMU is lost, and returns."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.monitor.stability_monitor import StabilityMonitor

CLOSE = np.array([0.0, 0.96, -1.83])
STEP, REST = 0.005, np.zeros(3)


class Watched:
    """A monitor with a payload, kg, that receives instants one after the other."""

    def __init__(self, machine, payload):
        self.monitor, self.time = StabilityMonitor(machine, ('zmp',)), 0.0
        self.monitor.payload = payload

    def live(self, seconds, turn=REST, positions=CLOSE, imu=True):
        for _ in range(round(seconds / STEP)):
            self.time += STEP
            if imu:
                self.monitor.imu(self.time, np.asarray(turn, float), np.array([0.0, 0.0, 9.81]))
            self.monitor.joints(self.time, np.asarray(positions, float), REST)

    @property
    def margin(self):
        return self.monitor.balance().margins['zmp'].value


def test_a_machine_that_tips_when_its_imu_is_lost_gets_no_high_margin(machine):
    """It was 0.96 just after both rear wheels had lifted, like at rest on all wheels."""
    watched = Watched(machine, 2000.0)
    watched.live(4.0)
    assert watched.margin > 0.5
    watched.live(0.6, turn=(0.0, 0.15, 0.0))
    assert watched.monitor.footing.normal.min() == 0.0
    for _ in range(18):
        watched.live(0.1, imu=False)
        assert watched.margin <= 0.0, 'until two seconds after'


def test_a_stable_machine_that_loses_its_imu_loses_a_twentieth_of_its_margin_briefly(machine):
    watched = Watched(machine, 2000.0)
    watched.live(4.0)
    before = watched.margin
    watched.live(0.2, imu=False)
    assert watched.margin == pytest.approx(before - 0.05, abs=0.01)
    watched.live(1.0, imu=False)
    assert watched.margin == pytest.approx(before, abs=0.01)


def test_after_a_gap_of_the_imu_the_ground_is_that_of_the_present_posture(machine):
    """The earlier direction would have converged within seconds, with a margin that is 12 % too high."""
    watched, fresh = Watched(machine, 4000.0), Watched(machine, 4000.0)
    moved = CLOSE + np.array([0.25, -0.2, 0.1])
    watched.live(4.0)
    for k in range(600):
        watched.live(STEP, positions=CLOSE + (k + 1) / 600 * (moved - CLOSE), imu=False)
    watched.live(1.2, positions=moved)
    fresh.live(4.0, positions=moved)
    assert watched.margin == pytest.approx(fresh.margin, abs=0.01)
