from __future__ import annotations

import dataclasses
import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from dyn_nodes.control import JointTrajectory, TrajectoryPoint, TrajectoryTracker, spool_for_speed
from dyn_nodes.control.trajectory_tracker import TrackerGains
from dyn_nodes.elements import actuator_element
from dyn_nodes.elements.hydraulics import cylinder, linkage, motor, spool_rate
from dyn_nodes.model.machine import CylinderActuator, MotorActuator, PinTriangle, Supply, Valve

SUPPLY = Supply(3e-3, 32e6, 35.2e6, 1e-4, 2e-4, 0.2e6, 827.37e6, 0.6 * math.sqrt(2.0 / 850.0))
VALVE = Valve(1.2e-2, 6e-3, 1e-4, 6e-3, 0.5e-3, 0.08, 1e-3, 8.0, 1e-2)
BOOM = CylinderActuator(
    'boom', 'boom_joint', PinTriangle(0.8, 2.2, 0.95, 1.0, 1.3, 1.35), 2.261947e-2, 1.127046e-2, 3e-3, 1.821513e-2, 4e4,
    VALVE, SUPPLY,
)  # fmt: skip
STICK = dataclasses.replace(
    BOOM, name='stick', joint='stick_joint', linkage=PinTriangle(2.1, 0.7, 0.6, -1.0, 1.45, 1.35)
)
SWING = MotorActuator(
    'swing', 'swing_joint', 2.9e-3, 3e-3, 2000.0, dataclasses.replace(VALVE, inlet_gain=2e-2, outlet_gain=2e-2), SUPPLY
)


def one_joint(*points: TrajectoryPoint, **options) -> JointTrajectory:
    return JointTrajectory.from_points(['boom_joint'], points, **options)


@given(
    ends=st.lists(st.floats(-2, 2), min_size=6, max_size=6),
    length=st.floats(0.2, 5.0),
    where=st.floats(0.0, 1.0, exclude_max=True),
)
def test_quintic_segment_is_the_polynomial_through_both_states(ends, length, where):
    p0, v0, a0, p1, v1, a1 = ends
    curve = one_joint(
        TrajectoryPoint(0.0, [p0], [v0], [a0]), TrajectoryPoint(length, [p1], [v1], [a1]), allow_moving_end=True
    )
    start, end = curve.sample(0.0), curve.sample(math.nextafter(length, 0.0))
    np.testing.assert_allclose(np.ravel(start), [p0, v0, a0], atol=1e-12)
    np.testing.assert_allclose(np.ravel(end), [p1, v1, a1], atol=1e-7 / min(length, 1.0) ** 2)
    t, h = where * length, 1e-5 * length
    if h < t < length - h:  # each rate is the derivative of the one before
        low, here, high = (np.ravel(curve.sample(time)) for time in (t - h, t, t + h))
        scale = 200.0 / min(length, 1.0) ** 4
        assert (high[0] - low[0]) / (2 * h) == pytest.approx(here[1], abs=1e-8 * scale)
        assert (high[1] - low[1]) / (2 * h) == pytest.approx(here[2], abs=1e-7 * scale)


def test_a_segment_with_positions_and_velocities_is_cubic():
    curve = one_joint(TrajectoryPoint(0.0, [0.0], [0.0]), TrajectoryPoint(2.0, [1.0], [0.0]))
    middle = curve.sample(1.0)
    np.testing.assert_allclose(np.ravel(middle), [0.5, 0.75, 0.0], atol=1e-12)
    np.testing.assert_allclose(curve.sample(0.0).acceleration, [1.5])


def test_a_segment_with_positions_only_is_linear():
    curve = one_joint(TrajectoryPoint(0.0, [0.0]), TrajectoryPoint(2.0, [1.0]))
    np.testing.assert_allclose(np.ravel(curve.sample(0.5)), [0.25, 0.5, 0.0])


def test_kind_of_interpolation_is_chosen_segment_by_segment():
    curve = one_joint(
        TrajectoryPoint(0.0, [0.0]), TrajectoryPoint(1.0, [1.0], [0.0]), TrajectoryPoint(2.0, [0.0], [0.0])
    )
    np.testing.assert_allclose(curve.sample(0.5).velocity, [1.0])
    np.testing.assert_allclose(curve.sample(1.5).velocity, [-1.5])


def test_trajectory_rests_before_and_after_its_points():
    curve = one_joint(TrajectoryPoint(1.0, [0.3], [0.2]), TrajectoryPoint(2.0, [1.0], [0.0]))
    np.testing.assert_allclose(np.ravel(curve.sample(0.5)), [0.3, 0.0, 0.0])
    np.testing.assert_allclose(np.ravel(curve.sample(9.0)), [1.0, 0.0, 0.0])


def test_the_greatest_speed_of_a_segment_is_that_of_its_curve():
    """A quintic from rest to rest reaches 15/8 of the mean speed, a cubic 3/2, a line the mean."""
    rest = [0.0, 0.0]
    points = [(0.0, [0, 5], rest, rest), (1.0, [1, 5], rest, rest), (2.0, [2, 4.5], rest), (4.0, [-1, 4.5])]
    trajectory = JointTrajectory.from_points(['a', 'b'], [TrajectoryPoint(*point) for point in points])
    assert trajectory.speeds() == pytest.approx(np.array([[1.875, 0.0], [1.5, 0.75], [1.5, 0.0]]))


def test_trajectory_leaves_the_present_state():
    curve = one_joint(TrajectoryPoint(2.0, [1.0], [0.0])).starting_from([0.2], [0.1])
    np.testing.assert_allclose(np.ravel(curve.sample(0.0))[:2], [0.2, 0.1])
    np.testing.assert_allclose(curve.sample(2.0).position, [1.0])
    assert curve.starting_from([5.0]) is curve


def test_columns_are_put_in_the_order_of_the_joints():
    curve = JointTrajectory.from_points(['a', 'b'], [TrajectoryPoint(1.0, [1.0, 2.0], [0.0, 0.0])])
    assert curve.for_joints(['b', 'a']).positions.tolist() == [[2.0, 1.0]]
    with pytest.raises(ValueError, match=r"joint_names: expected \['a', 'c'\], found \['a', 'b'\]"):
        curve.for_joints(['a', 'c'])


@pytest.mark.parametrize(
    ('points', 'message'),
    [
        ([], r'points: expected at least one'),
        ([TrajectoryPoint(1, [0.0]), TrajectoryPoint(1, [0.0])], r'points\[1\].time_from_start: expected'),
        ([TrajectoryPoint(-1, [0.0])], r'points\[0\].time_from_start'),
        ([TrajectoryPoint(float('nan'), [0.0])], r'points\[0\].time_from_start'),
        ([TrajectoryPoint(1, [0.0, 1.0])], r'points\[0\].positions: expected 1 numbers, found 2'),
        ([TrajectoryPoint(1, [float('nan')])], r'points\[0\].positions: expected finite'),
        ([TrajectoryPoint(1, [])], r'points\[0\].positions: expected 1 numbers, found none'),
        ([TrajectoryPoint(1, [0.0], [0.0, 1.0])], r'points\[0\].velocities: expected 1 numbers'),
        ([TrajectoryPoint(1, [0.0], [0.5])], r'points\[0\].velocities: expected zero at the last point'),
    ],
)
def test_trajectory_faults_name_the_point_and_the_field(points, message):
    with pytest.raises(ValueError, match=message):
        one_joint(*points)


@pytest.mark.parametrize('speed', [-0.12, -0.03, 0.03, 0.1])
@pytest.mark.parametrize('load', [-2e5, 0.0, 4e5])
def test_valve_inverse_gives_the_spool_of_steady_motion(speed, load):
    spool = spool_for_speed(BOOM, speed, load)
    assert spool * speed > 0.0
    q = 0.3
    lever = float(linkage(BOOM.linkage, q).lever)
    coefficient, opening = SUPPLY.orifice_coefficient, abs(spool) - VALVE.dead_zone
    fed, drained = (BOOM.head_area, BOOM.rod_area) if speed > 0 else (BOOM.rod_area, BOOM.head_area)
    back = 0.2e6 + (drained * abs(speed) / (coefficient * VALVE.outlet_gain * opening)) ** 2
    front = (math.copysign(1, speed) * load + BOOM.viscous * abs(speed) + back * drained) / fed
    pressures = (front, back) if speed > 0 else (back, front)
    terms = cylinder(BOOM, *pressures, spool, q, speed / lever)
    assert terms.force == pytest.approx(load, abs=1.0)
    flows = (terms.head_flow - BOOM.head_area * speed, terms.rod_flow + BOOM.rod_area * speed)
    if front > 0.2e6:
        assert max(map(abs, flows)) < 2e-3 * SUPPLY.flow
    else:  # the outlet holds back an overrunning load: the fed side starts to starve here
        assert front == pytest.approx(0.2e6, abs=1e3)


def test_valve_inverse_is_odd_for_a_motor_and_monotonic():
    spools = [spool_for_speed(SWING, speed) for speed in (-0.5, -0.2, 0.0, 0.2, 0.5)]
    assert spools == sorted(spools)
    assert spools[0] == -spools[4]
    assert spools[2] == 0.0
    assert spools[3] > VALVE.dead_zone
    swept = SWING.displacement * 0.2
    root = swept / (SUPPLY.orifice_coefficient * 2e-2 * (spools[3] - VALVE.dead_zone))
    back = 0.2e6 + root * math.sqrt(root**2 + 1e3)
    steady = motor(SWING, back + SWING.viscous * 0.2 / SWING.displacement, back, spools[3], 0.2)
    assert steady.effort == pytest.approx(0.0, abs=1e-6)
    assert steady.first_flow == pytest.approx(swept, abs=2e-3 * SUPPLY.flow)
    assert steady.second_flow == pytest.approx(-swept, rel=1e-2)


def test_valve_inverse_saturates_where_pump_or_relief_cannot_follow():
    assert spool_for_speed(BOOM, 1.0) == 8e-3
    assert spool_for_speed(BOOM, -1.0) == -8e-3
    assert spool_for_speed(BOOM, 0.05, load=1e7) == 8e-3


def simulate_joint(start: float, goal: float, duration: float, settle: float = 3.0, period: float = 0.01):
    """Return times, positions, references and volts of a boom with a gravity load under the tracker, every 10 ms."""
    inertia, moment = 2.0e5, 4.0e5
    state, volts = ca.SX.sym('x', 5), ca.SX.sym('u')
    terms = cylinder(BOOM, state[0], state[1], state[2], state[3], state[4])
    acceleration = (terms.effort - moment * ca.cos(state[3])) / inertia
    rate = ca.vertcat(*terms[:2], spool_rate(VALVE, state[2], volts), state[4], acceleration)
    function = ca.Function('f', [state, volts], [rate, ca.jacobian(rate, state), terms.effort])
    x = np.array([*actuator_element(BOOM).pressures_at_rest(start, moment * math.cos(start)), 0.0, start, 0.0])
    tracker = TrajectoryTracker([BOOM])
    tracker.set_trajectory(one_joint(TrajectoryPoint(duration, [goal], [0.0], [0.0])), 0.0, [start], [0.0])
    rows = []
    for step in range(round((duration + settle) / period)):
        time = step * period
        command = tracker.voltages(time, [x[3]], [float(function(x, 0.0)[2])])[0]
        run = solve_ivp(
            lambda t, y, u=command: np.array(function(y, u)[0]).ravel(),
            (time, time + period),
            x,
            method='LSODA',
            jac=lambda t, y, u=command: np.array(function(y, u)[1]),
            rtol=1e-5,
            atol=[100, 100, 1e-7, 1e-7, 1e-7],
        )
        x = run.y[:, -1]
        rows.append((time + period, x[3], tracker.reference(time + period).position[0], command))
    assert tracker.finished(duration + settle)
    return np.array(rows).T


@pytest.mark.parametrize(('start', 'goal'), [(30, 50), (50, 30)])
def test_hydraulic_joint_tracks_a_20_degree_move_within_1_degree(start, goal):
    _, position, reference, volts = simulate_joint(math.radians(start), math.radians(goal), 4.0)
    error = np.degrees(np.abs(position - reference))
    assert np.ptp(np.degrees(reference)) == pytest.approx(20.0, abs=0.1)
    assert error.max() < 1.0
    assert error[-1] < 0.5
    assert np.abs(volts).max() <= VALVE.voltage_limit
    assert np.abs(np.diff(volts[-50:])).max() < 1.0  # no chatter at the goal


def test_tracker_without_trajectory_keeps_the_valves_neutral():
    tracker = TrajectoryTracker([BOOM, STICK, SWING])
    assert tracker.voltages(0.0, [0.1, 0.2, 0.3]).tolist() == [0.0, 0.0, 0.0]
    assert tracker.reference(0.0) is None
    assert tracker.finished(0.0)


def test_tracker_moves_each_joint_towards_its_reference_with_any_lever():
    tracker = TrajectoryTracker([BOOM, STICK, SWING])
    names = ['swing_joint', 'stick_joint', 'boom_joint']  # any order
    goal = JointTrajectory.from_points(names, [TrajectoryPoint(4.0, [1.0, -0.2, 0.8], [0.0] * 3, [0.0] * 3)])
    tracker.set_trajectory(goal, 10.0, [0.4, -0.8, 0.0])
    boom, stick, swing = tracker.voltages(12.0, [0.4, -0.8, 0.0])
    assert boom > 0.0
    assert stick < 0.0  # the stick cylinder retracts to raise its joint
    assert swing > 0.0
    tracker.cancel()
    assert not tracker.voltages(12.1, [0.4, -0.8, 0.0]).any()


@pytest.mark.parametrize('actuator', [BOOM, STICK, SWING], ids=['boom', 'stick', 'swing'])
@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_at_the_voltage_limit_the_integral_is_held_on_either_side_of_any_lever(actuator, side):
    start = 0.4 if actuator is BOOM else -1.0 if actuator is STICK else 0.0
    points = [TrajectoryPoint(0.0, [start]), TrajectoryPoint(10.0, [start + 0.5 * side])]

    def tracker():
        made = TrajectoryTracker([actuator], gains=TrackerGains(position=1e3))
        made.set_trajectory(JointTrajectory.from_points([actuator.joint], points), 0.0, [start])
        return made

    wound, fresh = tracker(), tracker()
    for k in range(1, 100):
        volts = wound.voltages(0.01 * k, [start - 0.05 * side])
    lever = float(actuator_element(actuator).lever(start))
    assert volts[0] == pytest.approx(8.0 * side * np.sign(lever))
    here = fresh.reference(1.0).position
    assert wound.voltages(1.0, here) == pytest.approx(fresh.voltages(1.0, here), rel=1e-3)


def test_tracker_locks_a_joint_at_its_goal():
    tracker = TrajectoryTracker([BOOM])
    tracker.set_trajectory(one_joint(TrajectoryPoint(1.0, [0.5], [0.0], [0.0])), 0.0, [0.5])
    assert tracker.voltages(5.0, [0.501])[0] == 0.0
    assert tracker.voltages(5.1, [0.53])[0] < 0.0


@pytest.mark.parametrize(
    ('positions', 'efforts', 'message'),
    [
        ([0.1, 0.2], None, r'positions: expected 1 numbers, found an array of shape \(2,\)'),
        ([float('nan')], None, r"positions: .* joint 'boom_joint'"),
        ([0.1], [float('inf')], r"efforts: .* joint 'boom_joint'"),
    ],
)
def test_tracker_rejects_broken_measurements(positions, efforts, message):
    tracker = TrajectoryTracker([BOOM])
    with pytest.raises(ValueError, match=message):
        tracker.voltages(0.0, positions, efforts)
