"""The state of a monitor after a gap in the joint states, and after a step back in time."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.monitor.stability_monitor import LIFTED_TIME, StabilityMonitor

CLOSE, FAR = np.array([0.0, 0.96, -1.83]), np.array([0.0, 0.1, -0.2])
STEP, LEVEL = 0.005, np.array([0.0, 0.0, 0.0, 1.0])


class Fed:
    """A monitor that receives the measurements of a machine on level ground, every 5 ms.

    Args:
        machine: the machine.
        payload: kg.
        rate: (3,) of the gyroscope, rad/s; None: no IMU.
    """

    def __init__(self, machine, payload, rate=None):
        self.monitor, self.rate = StabilityMonitor(machine, ('force_angle',)), rate
        self.monitor.payload = payload
        self.ticks, self.q = 0, CLOSE.copy()

    @property
    def time(self):
        return STEP * self.ticks

    def live(self, seconds, path=None, turn=0.0, timed_out=False):
        """Follow `path`, positions (3,) by s from now on, or turn the swing, rad/s; `timed_out`: no message arrives."""
        start = self.ticks
        for _ in range(round(seconds / STEP)):
            self.ticks += 1
            before = self.q
            self.q = before + np.array([STEP * turn, 0.0, 0.0])
            if path is not None:
                self.q = path(STEP * (self.ticks - start))
            if timed_out:
                continue
            if self.rate is not None:
                self.monitor.imu(self.time, self.rate, np.array([0.0, 0.0, 9.81]), LEVEL)
            self.monitor.joints(self.time, self.q, (self.q - before) / STEP)

    @property
    def margin(self):
        """Margin relative to its full scale."""
        return self.monitor.balance().margins['force_angle'].value / self.monitor.guard.full_scale['force_angle']


def throw(time):
    """Move the arm out and back within 0.8 s: wheels lift."""
    return CLOSE + 0.5 * (1.0 - np.cos(np.pi * min(time, 0.8) / 0.4)) * (FAR - CLOSE)


@pytest.mark.parametrize('gap', [0.23, 3.0])
def test_a_wheel_that_may_have_lifted_may_have_done_so_after_a_gap_too(machine, gap):
    """Margins were 0.9 of the full scale half a second after the gap."""
    fed = Fed(machine, 3000.0)
    fed.live(1.0)
    assert fed.margin > 0.5
    fed.live(0.82, path=throw)
    assert fed.margin <= 0.0
    fed.live(gap, timed_out=True)
    for _ in range(round(LIFTED_TIME / 0.1) - 1):
        fed.live(0.1)
        assert fed.margin <= 0.0, 'until two seconds after, of which nothing counts that was not seen'
    fed.live(1.5)
    assert fed.margin > 0.5


def test_the_bias_of_a_gyroscope_is_kept_after_a_gap(machine):
    """Estimated again from the load while the swing turned, it gave margins a quarter of the full scale too high."""
    bias = np.array([0.005, 0.0, 0.0])
    exact, seen = Fed(machine, 2000.0, 0.0 * bias), Fed(machine, 2000.0, bias)
    for fed in (exact, seen):
        fed.live(4.0)
        fed.live(1.0, turn=0.1)
    learnt = seen.monitor.ground.bias
    assert learnt == pytest.approx(bias, abs=3e-4)
    exact.live(0.25, turn=0.1)
    seen.live(0.25, turn=0.1, timed_out=True)
    for _ in range(20):
        for fed in (exact, seen):
            fed.live(0.1, turn=0.1)
        assert seen.monitor.ground.bias == pytest.approx(learnt, abs=3e-4)
        if seen.monitor.settled:
            assert seen.margin == pytest.approx(exact.margin, abs=0.03)


def test_an_imu_lost_in_a_gap_leaves_a_machine_that_may_be_tipping(machine):
    fed = Fed(machine, 2000.0, np.zeros(3))
    fed.live(4.0)
    fed.rate = np.array([0.0, 0.15, 0.0])
    fed.live(0.6)
    assert fed.monitor.footing.normal.min() == 0.0
    fed.live(0.3, timed_out=True)
    fed.rate = None
    for _ in range(19):
        fed.live(0.1)
        assert fed.margin <= 0.0


def test_after_a_gap_the_filters_settle_again_and_the_ground_is_that_of_the_present_posture(machine):
    fed, fresh = Fed(machine, 4000.0, np.zeros(3)), Fed(machine, 4000.0, np.zeros(3))
    fed.live(2.0)
    fresh.q = fed.q = CLOSE + np.array([0.25, -0.2, 0.1])
    fed.live(0.3, timed_out=True)
    fed.live(0.4)
    assert not fed.monitor.settled
    fed.live(0.2)
    fresh.live(4.0)
    assert fed.monitor.settled
    assert fed.margin == pytest.approx(fresh.margin, abs=0.01)


def test_a_step_back_in_time_resets_the_monitor(machine):
    fed = Fed(machine, 2000.0, np.array([0.005, 0.0, 0.0]))
    fed.live(3.0)
    assert fed.monitor.has_imu
    assert fed.monitor.ground.bias.any()
    fed.monitor.joints(1.0, CLOSE, np.zeros(3))
    assert not fed.monitor.has_imu
    assert not fed.monitor.ground.bias.any()
    assert not fed.monitor.settled
