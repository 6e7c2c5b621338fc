"""Details of controllers not covered by other tests: the time since a command, late keys, limits without zero."""

from __future__ import annotations

import numpy as np
import pytest
from test_trajectory_tracking import BOOM, STICK, one_joint

from dyn_nodes.control import JointTrajectory, TrajectoryPoint, TrajectoryTracker
from dyn_nodes.control.hand_levers import FAREWELL, FIRST_PRESS, REPEAT, Keyboard
from dyn_nodes.control.lever_pattern import Lever
from dyn_nodes.control.torque_distribution import InfeasibleDemandError, TorqueDistribution
from dyn_nodes.control.trajectory_tracker import TrackerGains

# -- trajectory tracker ----------------------------------------------------------------------------------------------

GOAL = one_joint(TrajectoryPoint(10.0, [0.9], [0.0], [0.0]))


def commands(start, measured, efforts=None):
    """Return the voltages every 0.5 s of a tracker whose trajectory starts at a time."""
    tracker = TrajectoryTracker([BOOM])
    tracker.set_trajectory(GOAL, start, [0.5])
    return [tracker.voltages(start + 0.5 * k, [position], efforts)[0] for k, position in enumerate(measured)]


@pytest.mark.parametrize('start', [0.25, 100.0])
def test_voltages_depend_on_the_time_since_the_trajectory_was_set(start):
    measured = 0.5 + 0.02 * np.arange(20)
    for efforts in (None, [2.0e5]):
        assert commands(start, measured, efforts) == pytest.approx(commands(0.0, measured, efforts), abs=1e-9)
    assert len(set(np.round(commands(0.0, measured), 3))) > 5


def test_the_integral_unwinds_while_the_valve_is_saturated_against_a_small_error():
    """The feedforward saturates the valve, the joint is a little ahead: the integral falls, and shows at the goal."""
    tracker = TrajectoryTracker([BOOM], TrackerGains(integral=5.0))
    tracker.set_trajectory(one_joint(TrajectoryPoint(1.0, [1.3], [0.0], [0.0])), 0.0, [0.0])
    volts = []
    for time in np.arange(0.05, 1.0, 0.05):
        ahead = tracker.reference(time).position[0] + 0.03
        volts.append(tracker.voltages(time, [ahead])[0])
    assert max(volts) == BOOM.valve.voltage_limit
    assert tracker.voltages(1.5, [1.3 - 0.07])[0] < 0.0


def test_the_integral_is_held_while_the_valve_is_saturated_by_the_error():
    tracker = TrajectoryTracker([BOOM], TrackerGains(integral=50.0))
    tracker.set_trajectory(one_joint(TrajectoryPoint(0.1, [1.0], [0.0], [0.0])), 0.0, [0.0])
    for time in np.arange(0.5, 5.0, 0.5):  # seconds of saturation would wind it up to hundreds
        assert tracker.voltages(time, [0.0])[0] == BOOM.valve.voltage_limit
    assert tracker.voltages(5.5, [1.01])[0] < 0.0


def test_measured_efforts_are_filtered_with_the_time_constant_of_their_joint():
    """After one step as long as the time constant, half of a jump has passed the filter."""
    gains = [TrackerGains(load_filter=0.3), TrackerGains(load_filter=0.1)]
    names, start = ['boom_joint', 'stick_joint'], [0.5, -1.5]
    goal = JointTrajectory.from_points(names, [TrajectoryPoint(5.0, [0.9, -1.0], [0.0] * 2, [0.0] * 2)])
    filtered, direct = TrajectoryTracker([BOOM, STICK], gains), TrajectoryTracker([BOOM, STICK], gains)
    for tracker in (filtered, direct):
        tracker.set_trajectory(goal, 0.0, start)
    filtered.voltages(0.0, start, [0.0, 0.0])
    volts = filtered.voltages(0.3, start, [1.0e5, 1.0e5])
    assert volts == pytest.approx(direct.voltages(0.3, start, [0.5e5, 0.75e5]))  # the first efforts act at once
    assert abs(volts - TrajectoryTracker([BOOM, STICK], gains).voltages(0.3, start)).min() > 0.1


def test_without_efforts_the_valves_are_inverted_for_no_load():
    measured = 0.5 + 0.015 * np.arange(20)
    assert commands(0.0, measured) == commands(0.0, measured, [0.0])


def test_a_lasting_error_opens_the_valve_further_with_the_gains_of_the_product():
    tracker = TrajectoryTracker([BOOM])
    tracker.set_trajectory(one_joint(TrajectoryPoint(1.0, [0.5], [0.0], [0.0])), 0.0, [0.5])
    volts = [tracker.voltages(2.0 + 0.5 * k, [0.49])[0] for k in range(6)]
    assert volts[0] > 0.0
    assert np.diff(volts).min() > 0.0


def test_the_first_of_several_broken_measurements_is_named():
    with pytest.raises(ValueError, match=r"positions: .* joint 'boom_joint'"):
        TrajectoryTracker([BOOM, STICK]).voltages(0.0, [np.nan, np.nan])
    with pytest.raises(ValueError, match=r"positions: .* joint 'stick_joint'"):
        TrajectoryTracker([BOOM, STICK]).voltages(0.0, [0.5, np.nan])


def test_reference_and_end_depend_on_the_time_since_the_trajectory_was_set():
    tracker = TrajectoryTracker([BOOM])
    tracker.set_trajectory(GOAL, 3.0, [0.5])
    assert tracker.reference(8.0).position == pytest.approx(GOAL.starting_from([0.5]).sample(5.0).position)
    assert not tracker.finished(12.9)
    assert tracker.finished(13.0)


# -- keyboard --------------------------------------------------------------------------------------------------------

LEVERS = {'boom': Lever(axis=None, sign=1.0, volts=6.0, keys=('k', 'i'), positive='up', negative='down')}


@pytest.mark.parametrize('now', [0.0, 1.0e5])
def test_a_repeated_key_acts_for_the_shorter_time_at_any_clock_time(now):
    keyboard = Keyboard(['boom'], LEVERS)
    keyboard.type_key('k', now)
    keyboard.command(now)  # neutral first
    keyboard.type_key('k', now + 0.5 * FIRST_PRESS)
    released = now + 0.5 * FIRST_PRESS + REPEAT
    assert keyboard.command(released - 0.01) == [3.0]
    assert keyboard.command(released + 0.01) == [0.0]
    assert keyboard.command(now + 0.5 * FIRST_PRESS + FIRST_PRESS + FAREWELL + 0.1) is None


def test_the_throw_of_a_keyboard_is_half_of_the_levers_at_first():
    keyboard = Keyboard(['boom'], LEVERS)
    keyboard.type_key('k', 0.0)
    assert [keyboard.command(0.1), keyboard.command(0.15)] == [[0.0], [3.0]]


# -- torque distribution ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize('wrench', [0.6, 0.2, -1.5])
def test_drives_with_a_least_torque_above_the_demand_give_no_part_of_it(wrench):
    """Both give at least 0.5; a feasible multiple of the wrench above 1 is no part of it."""
    drives = TorqueDistribution([[1.0], [1.0]], 0.5, 1.0, names=['left', 'right'])
    with pytest.raises(InfeasibleDemandError) as error:
        drives([wrench])
    assert error.value.fraction == 0.0
    assert error.value.binding == ('left', 'right')
    assert drives([1.5]) == pytest.approx([0.75, 0.75])


def test_only_drives_at_a_limit_are_named():
    drives = TorqueDistribution(np.eye(3), -1.0, 1.0, names=['left', 'right', 'rear'])
    for wrench, expected in (([2.0, 0.5, -0.5], ('left',)), ([0.5, -2.0, -0.5], ('right',))):
        with pytest.raises(InfeasibleDemandError) as error:
            drives(wrench)
        assert error.value.fraction == pytest.approx(0.5)
        assert error.value.binding == expected
