"""Wheel odometry: exact without slip, with a covariance that covers slip."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from vehicle_layouts import LAYOUTS, agreeing_angles, differential, four_steered, layouts, mecanum, omni, twists, unit

from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_odometry import OdometryNoise, WheelOdometry, arc
from dyn_nodes.multibody.omni_vehicle import OmniVehicle, OmniWheel


def allowed(base: WheelBase, twist: np.ndarray) -> np.ndarray:
    """Return the twist with the sideways part that fixed wheels require."""
    if base.constraint is None:
        return twist
    side = base.constraint[:2]
    result = twist.copy()
    result[:2] -= side * float(base.constraint @ twist)
    return result


def hat(twist: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -twist[2], twist[0]], [twist[2], 0.0, twist[1]], [0.0, 0.0, 0.0]])


@given(layouts, twists)
def test_rolling_wheels_give_the_twist_and_no_slip(base, twist):
    twist = allowed(base, twist)
    angles = agreeing_angles(base, twist)
    odometry = WheelOdometry(base)
    rates = np.zeros(len(angles))
    odometry.step(0.0, rates, base.wheel_speeds(twist, angles, rates), angles, rates)
    assert odometry.twist == pytest.approx(twist, abs=1e-9)
    assert odometry.slip.max() < 1e-9


@given(
    st.sampled_from(['differential', 'axle behind', 'mecanum', 'three omni', 'five omni']), st.lists(twists, max_size=8)
)
def test_constant_twists_are_integrated_exactly(name, path):
    base = LAYOUTS[name]
    n = len(base.wheels)
    odometry, pose, turns, zero, dt = WheelOdometry(base), np.eye(3), np.zeros(n), np.zeros(n), 0.3
    odometry.step(0.0, turns, zero, zero, zero)
    for twist in path:
        twist = allowed(base, twist)
        speeds = base.wheel_speeds(twist, zero, zero)
        turns = turns + speeds * dt
        odometry.step(dt, turns, speeds, zero, zero)
        pose = pose @ expm(hat(twist) * dt)
    assert odometry.pose[:2] == pytest.approx(pose[:2, 2], abs=1e-9)
    yaw = odometry.pose[2]
    assert [math.cos(yaw), math.sin(yaw)] == pytest.approx(pose[:2, 0], abs=1e-9)


@given(twists, st.floats(1e-9, 1e-3))
def test_the_arc_is_continuous_where_it_becomes_straight(twist, yaw):
    twist[2] = yaw
    exact = expm(hat(twist))
    assert arc(twist)[:2] == pytest.approx(exact[:2, 2], abs=1e-13)


def wheels_along(base: WheelBase, twist_at, period: float, duration: float):
    """Integrate wheel and steering angles of a smooth motion with fine steps; return them per period, and the pose."""
    n, fine = len(base.wheels), 20
    times = np.linspace(0.0, duration, round(duration / period) * fine + 1)
    h = times[1] - times[0]
    angles = np.array([agreeing_angles(base, twist_at(t)) for t in times])
    angles = np.unwrap(2 * angles, axis=0) / 2  # either of the two opposite headings
    rates = np.gradient(angles, h, axis=0, edge_order=2)
    speeds = np.array([base.wheel_speeds(twist_at(t), a, r) for t, a, r in zip(times, angles, rates)])
    turns = np.vstack([np.zeros(n), np.cumsum(0.5 * h * (speeds[1:] + speeds[:-1]), axis=0)])
    pose = np.eye(3)
    for t in times[:-1]:
        pose = pose @ expm(hat(twist_at(t + 0.5 * h)) * h)
    return times[::fine], turns[::fine], speeds[::fine], angles[::fine], rates[::fine], pose


@pytest.mark.parametrize('name', ['differential', 'axle behind', 'mecanum', 'three omni', 'four steered', 'car'])
def test_odometry_of_any_path_is_of_second_order_in_the_period(name):
    base = LAYOUTS[name]

    def twist_at(t: float) -> np.ndarray:
        return allowed(base, np.array([0.8 + 0.2 * math.sin(t), 0.3 * math.sin(2 * t), 0.25 * math.cos(1.5 * t)]))

    errors = []
    for period in (0.1, 0.05):
        times, turns, speeds, angles, rates, pose = wheels_along(base, twist_at, period, 2.0)
        odometry = WheelOdometry(base)
        for k in range(len(times)):
            odometry.step(period if k else 0.0, turns[k], speeds[k], angles[k], rates[k])
        yaw = math.atan2(pose[1, 0], pose[0, 0])
        errors.append(float(np.abs(odometry.pose - [pose[0, 2], pose[1, 2], yaw]).max()))
    assert errors[1] < 1e-3
    assert errors[1] < errors[0] / 3.5


def test_encoders_may_wrap_at_a_turn():
    base = differential()
    plain, wrapped = WheelOdometry(base), WheelOdometry(base)
    zero = np.zeros(2)
    for k in range(60):
        speeds = np.array([30.0, 31.0])
        turns = speeds * 0.02 * k
        plain.step(0.02 if k else 0.0, turns, speeds, zero, zero)
        wrapped.step(0.02 if k else 0.0, (turns + math.pi) % (2 * math.pi) - math.pi, speeds, zero, zero)
    assert wrapped.pose == pytest.approx(plain.pose, abs=1e-9)
    # after a long gap the change is taken as it is
    plain.step(30.0, turns, 0.0 * speeds, zero, zero)
    assert plain.pose == pytest.approx(wrapped.pose, abs=1e-9)
    assert plain.distance == pytest.approx(30.5 * 0.1 * 0.02 * 59, rel=1e-9)


@pytest.mark.parametrize(
    ('name', 'spare'),
    [('differential', 0), ('three omni', 0), ('mecanum', 1), ('five omni', 2), ('four steered', 3), ('caster', 2)],
)
def test_slip_is_observable_with_redundant_wheel_speeds(name, spare):
    base = LAYOUTS[name]
    odometry = WheelOdometry(base)
    angles = np.zeros(len(base.wheels))
    # tyres that all point ahead leave one motion
    assert odometry.slip_dimensions(angles) == spare
    speeds = np.zeros(len(base.wheels))
    speeds[-1] = 1.0
    odometry.step(0.0, angles, speeds, angles, angles)
    assert (odometry.slip.max() > 1e-3) == (spare > 0)


def test_two_driven_wheels_determine_the_motion_with_the_constraint_of_their_axle():
    assert WheelOdometry(differential()).determines_motion()
    odometry = WheelOdometry(differential())
    zero = np.zeros(2)
    odometry.step(0.0, zero, np.array([1.0, -1.0]), zero, zero)
    assert odometry.twist == pytest.approx([0.0, 0.0, -0.4])


def test_slip_of_one_spinning_wheel_is_in_metres_per_second():
    base = mecanum()
    odometry, zero = WheelOdometry(base), np.zeros(4)
    speeds = base.wheel_speeds(np.array([0.5, 0.0, 0.0]), zero, zero)
    speeds[0] += 4.0  # 0.4 m/s at the rim, 0.4 cos(45 deg) along the roller
    odometry.step(0.0, zero, speeds, zero, zero)
    # the redundant combination is (1, 1, -1, -1) / 2 in wheel speeds: each wheel gets a quarter
    assert odometry.slip == pytest.approx(np.full(4, 0.25 * 0.4 * math.sqrt(0.5)), rel=1e-9)


def test_the_covariance_grows_with_the_way_and_with_the_slip():
    base = mecanum()
    zero = np.zeros(4)

    def after(metres: float, slip: float) -> WheelOdometry:
        odometry = WheelOdometry(base)
        speeds = base.wheel_speeds(np.array([0.5, 0.0, 0.0]), zero, zero)
        speeds[0] += slip
        for k in range(round(metres / 0.5 / 0.02) + 1):
            odometry.step(0.02 if k else 0.0, 0.02 * k * speeds, speeds, zero, zero)
        return odometry

    near, far, slipping = after(1.0, 0.0), after(4.0, 0.0), after(1.0, 2.0)
    assert far.pose_covariance[0, 0] == pytest.approx(4.0 * near.pose_covariance[0, 0], rel=1e-6)
    assert far.pose_covariance[1, 1] > 4.0 * near.pose_covariance[1, 1]  # heading errors accumulate
    assert slipping.pose_covariance[0, 0] > 1.5 * near.pose_covariance[0, 0]
    for odometry in (near, far, slipping):
        assert np.linalg.eigvalsh(odometry.pose_covariance).min() > 0.0
    still = after(0.0, 0.0)
    assert not still.pose_covariance.any()


def test_the_covariance_covers_wheels_with_the_modelled_noise():
    base, zero, rng = mecanum(), np.zeros(4), np.random.default_rng(4)
    noise = OdometryNoise(rolling=0.02)
    ends, reported = [], None
    for _ in range(150):
        odometry, turns = WheelOdometry(base, noise), np.zeros(4)
        speeds = base.wheel_speeds(np.array([0.5, 0.1, 0.3]), zero, zero)
        rows = base.rolling_rows(zero)[0]
        way = np.abs(rows @ [0.5, 0.1, 0.3]) * 0.1
        odometry.step(0.0, turns, speeds, zero, zero)
        for _ in range(40):
            turns = turns + speeds * 0.1 + 0.02 * np.sqrt(way) * rng.standard_normal(4) / base.reach
            odometry.step(0.1, turns, speeds, zero, zero)
        ends.append(odometry.pose)
        reported = odometry.pose_covariance
    sampled = np.cov(np.array(ends).T)
    ratio = np.linalg.eigvals(np.linalg.solve(reported, sampled)).real
    # observed slip adds to the noise: reported is not less than sampled, and not three times it
    assert ratio.min() > 0.3
    assert ratio.max() < 1.3


@pytest.mark.parametrize('count', [3, 4, 6])
def test_wheel_speeds_are_those_of_saha_1991(count):
    rng = np.random.default_rng(count)
    alpha = rng.uniform(0.5, 2.6, count)
    beta, delta, distance = (rng.uniform(0.1, 6.0, count) for _ in range(3))
    wheels = [OmniWheel(a, b, d, 0.1 * far, 0.1, 0.01) for a, b, d, far in zip(alpha, beta, delta, distance)]
    vehicle = OmniVehicle(wheels, 20.0, 1.0)
    base = WheelBase(
        tuple(
            unit(
                f'wheel_{k}', w.distance * math.cos(w.direction), w.distance * math.sin(w.direction),
                heading=w.hub - math.pi / 2, roller_angle=w.roller - math.pi / 2,
            )
            for k, w in enumerate(wheels)
        ),
        np.eye(3),
    )  # fmt: skip
    twist = rng.standard_normal(3)
    zero = np.zeros(count)
    assert base.wheel_speeds(twist[[1, 2, 0]], zero, zero) == pytest.approx(vehicle.L @ twist, rel=1e-12)


@pytest.mark.parametrize('base', [omni(4), four_steered()])
def test_a_reset_starts_at_an_exact_pose(base):
    odometry = WheelOdometry(base)
    odometry.reset((1.0, 2.0, 0.5))
    assert odometry.pose.tolist() == [1.0, 2.0, 0.5]
    assert not odometry.pose_covariance.any()
