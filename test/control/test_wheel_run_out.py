"""Joints without commands: on wheels by constraint they come to rest together, each with its deceleration."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.wheel_run_out import BRAKING, HARDEST, JOINT_BRAKING, TOGETHER, WheelRunOut
from dyn_nodes.nodes.machines import machine_of

PERIOD = 0.005
RADIUS = 0.1


@pytest.fixture
def run_out():
    return WheelRunOut(machine_of('rm_1', ''), PERIOD)


def led(run_out, velocities, count):
    """Return rates, targets and positions of calls at successive instants; joints follow their rates."""
    positions, target, rates = np.zeros(5), np.full(5, 7.0), np.zeros(5)
    result, targets, speeds = [], [], np.array(velocities, float)
    for tick in range(count):
        run_out.lead(tick, positions, speeds, target, rates)
        result.append(rates.copy())
        targets.append(target.copy())
        speeds = rates.copy()
        positions = positions + PERIOD * speeds
    return np.array(result), np.array(targets), positions


def test_all_joints_of_a_vehicle_slow_down_by_one_factor_with_its_fastest_wheel(run_out):
    start = np.array([6.0, 3.0, -1.5, 0.6, 0.0])
    rates, _, _ = led(run_out, start, 200)
    duration = 6.0 * RADIUS / BRAKING
    factor = np.maximum(0.0, 1.0 - PERIOD * np.arange(1, 201) / duration)
    assert rates == pytest.approx(np.outer(factor, start), abs=1e-12)
    assert not rates[-1].any()


def test_an_arm_on_a_vehicle_at_rest_takes_the_time_of_its_fastest_joint(run_out):
    rates, _, _ = led(run_out, (0.0, 0.0, 4.0, -1.0, 0.0), 200)
    steps = np.diff(rates[:, 2])
    assert steps[:70] == pytest.approx(np.full(70, -JOINT_BRAKING * PERIOD))
    assert not rates[81:].any()


def test_joints_are_held_where_they_come_to_rest_and_resting_ones_at_their_positions(run_out):
    _, targets, positions = led(run_out, (6.0, 3.0, -1.5, 0.0, 0.0), 200)
    assert targets[-1, :3] == pytest.approx(positions[:3], abs=1e-9)
    assert targets[:, 3:] == pytest.approx(np.full((200, 2), 7.0))


def test_after_a_gap_joints_start_from_their_present_speeds(run_out):
    target, rates, positions = np.zeros(5), np.zeros(5), np.zeros(5)
    run_out.lead(3, positions, np.array([6.0, 6.0, 0.0, 0.0, 0.0]), target, rates)
    run_out.lead(9, positions, np.array([2.0, 2.0, 0.0, 0.0, 0.0]), target, rates)
    assert rates[0] == pytest.approx(2.0 - BRAKING * PERIOD / RADIUS)


@pytest.mark.parametrize('speed', [0.5, 3.0, 11.0])
def test_machines_that_hold_one_object_stop_in_one_time_at_any_speed(speed):
    together = WheelRunOut(machine_of('rm_1', ''), PERIOD, together=True)
    rates, _, _ = led(together, (speed, 0.0, 0.0, -0.2, 0.0), 100)
    factor = np.maximum(0.0, 1.0 - PERIOD * np.arange(1, 101) / TOGETHER)
    assert rates[:, 0] == pytest.approx(speed * factor, abs=1e-12)


def test_a_machine_too_fast_for_that_time_takes_longer():
    together = WheelRunOut(machine_of('rm_1', ''), PERIOD, together=True)
    rates, _, _ = led(together, (30.0, 0.0, 0.0, 0.0, 0.0), 300)
    assert np.diff(rates[:, 0])[:100] == pytest.approx(np.full(100, -HARDEST * BRAKING * PERIOD / RADIUS))
    assert not rates[-1].any()


def test_without_rates_targets_do_not_change(run_out):
    target = np.full(5, 7.0)
    run_out.lead(0, np.zeros(5), np.full(5, 6.0), target, None)
    assert target == pytest.approx(np.full(5, 7.0))
