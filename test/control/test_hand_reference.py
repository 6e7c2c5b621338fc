"""References of the joints along hand targets: on the path, within speeds and limits, slowed into singular postures."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.common.share import find_resource
from dyn_nodes.control.hand import (
    HandFollower,
    HandKinematics,
    HandLimits,
    HandPath,
    HandPose,
    HandReference,
    HandTask,
    PumpSpeeds,
    ReferenceLimits,
)
from dyn_nodes.model import load_machine

DT = 0.01
POSTURE = np.array([0.0, 0.96, -1.83])
LIMITS = HandLimits(0.5, 0.5, 2.0)


def machine(name):
    return load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))


@pytest.fixture(scope='module')
def loader():
    return machine('log_loader')


@pytest.fixture
def hand(loader):
    return HandKinematics.of(loader, 'payload_link')


@pytest.fixture
def pa10():
    return HandKinematics.of(machine('arm_pa10'), 'link_7')


def line(move):
    return lambda start: HandPath.line(start, HandPose(start.rotation, start.position + move), LIMITS)


def led(reference, most=3000, **options):
    """Step until the reference rests; return rows of position, joint rates and scale, and all (state, reason)."""
    rows, states = [], []
    while reference.moving and len(rows) < most:
        target = reference.step(DT, **options)
        position = reference.hand.pose(reference.posture).position
        rows.append([*position, *target.velocity, reference.scale])
        states.append((reference.state, reference.reason))
        if reference.state == 'stopped' and len(states) > 100 and states[-100][0] == 'stopped':
            break
    return np.array(rows), states


def test_the_joints_keep_the_hand_on_its_line_in_the_time_of_the_path(hand):
    reference = HandReference(hand)
    reference.restart(POSTURE)
    start = reference.pose.position
    path = reference.follow(line([1.5, 0.5, -1.5]))
    rows, states = led(reference)
    assert len(rows) * DT == pytest.approx(path.duration, abs=DT)
    along = np.array([1.5, 0.5, -1.5]) / np.linalg.norm([1.5, 0.5, -1.5])
    off = rows[:, :3] - start - np.outer((rows[:, :3] - start) @ along, along)
    assert np.linalg.norm(off, axis=1).max() < 1e-8
    np.testing.assert_allclose(rows[-1, :3], start + np.array([1.5, 0.5, -1.5]), atol=1e-8)
    assert {state for state, _ in states} == {'tracking'}
    reference.step(DT)
    assert reference.state == 'holding'


def test_a_joint_at_its_greatest_speed_slows_the_whole_line_and_is_named(hand):
    most = np.array([1.0, 0.1, 0.1])
    reference = HandReference(hand, speeds=lambda posture: (most, most))
    reference.restart(POSTURE)
    reference.follow(line([1.0, 0.0, -1.0]))
    rows, states = led(reference)
    assert (np.abs(rows[:, 3:6]) <= most * (1 + 1e-6)).all()
    assert ('slowed', 'stick_joint at its greatest speed') in states
    assert np.abs(rows[:, 0] - rows[0, 0] + rows[:, 2] - rows[0, 2]).max() < 1e-8  # it stays on its line


def test_a_singular_posture_is_approached_slowly_reported_and_left_at_full_speed(hand):
    reference = HandReference(hand)
    reference.restart(POSTURE)
    reference.follow(line([4.0, 0.0, 0.0]))  # beyond the stretched arm
    rows, states = led(reference)
    assert states[-1][0] == 'stopped'
    assert 'singular posture ahead' in states[-1][1]
    assert reference.condition <= ReferenceLimits().stop_condition * 1.01
    assert np.abs(rows[:, 3:6]).max() < 2.0  # rad/s; without slowing the joints would exceed any speed
    assert np.abs(np.diff(rows[:, 3:6], axis=0)).max() < 0.15 * np.abs(rows[:, 3:6]).max()  # and they do not jump
    reference.follow(line([-1.0, 0.0, 0.0]))
    rows, states = led(reference)
    assert states[-1][0] == 'tracking'
    assert rows[-1, 0] == pytest.approx(rows[0, 0] - 1.0, abs=1e-2)


def test_a_joint_limit_stops_the_hand_on_its_path(hand):
    reference = HandReference(hand)
    reference.restart(POSTURE)
    start = reference.pose.position
    reference.follow(line([-2.5, 0.0, 0.0]))
    rows, states = led(reference)
    assert states[-1][0] == 'stopped'
    assert 'at its limit' in states[-1][1]
    assert (hand.lower <= reference.posture).all()
    assert (reference.posture <= hand.upper).all()
    assert np.abs(rows[:, 1:3] - start[1:]).max() < 2e-4


def test_a_velocity_is_reached_within_the_acceleration_and_ends_at_rest(hand):
    reference = HandReference(hand)
    reference.restart(POSTURE)
    reference.drive([0.2, 0.1, -0.3, 0, 0, 0], LIMITS)
    speeds = []
    for k in range(300):
        if k == 200:
            reference.stop()
        before = hand.pose(reference.posture).position
        reference.step(DT)
        speeds.append((hand.pose(reference.posture).position - before) / DT)
    np.testing.assert_allclose(speeds[199], [0.2, 0.1, -0.3], atol=1e-6)
    np.testing.assert_allclose(speeds[-1], 0.0, atol=1e-9)
    assert np.abs(np.diff(speeds, axis=0)).max() <= 0.5 * DT * 1.01 + 1e-9
    assert reference.state == 'holding'


def test_a_new_path_starts_after_the_hand_has_come_to_rest(hand):
    reference = HandReference(hand)
    reference.restart(POSTURE)
    reference.follow(line([1.5, 0.0, -1.5]))
    for _ in range(200):
        reference.step(DT)
    moving = reference.pose.position
    reference.follow(line([0.0, 0.5, 0.0]))
    rows, _ = led(reference)
    positions = np.vstack([moving, rows[:, :3]])
    speeds = np.linalg.norm(np.diff(positions, axis=0), axis=1) / DT
    assert speeds[0] > 0.3
    assert np.abs(np.diff(speeds)).max() <= 0.5 * DT * 1.5
    rest = positions[int(np.argmin(speeds[: len(speeds) // 2]))]
    np.testing.assert_allclose(rows[-1, :3] - rest, [0.0, 0.5, 0.0], atol=1e-2)


def test_spare_joints_go_to_the_middle_of_their_limits_without_moving_the_hand(pa10):
    start = np.array([0.4, 0.5, 0.6, 1.2, -0.5, 0.7, 0.2])
    ends = []
    for rate in (0.0, 0.5):
        reference = HandReference(pa10, limits=ReferenceLimits(null_rate=rate))
        reference.restart(start)
        reference.follow(line([0.1, -0.1, 0.05]))
        rows, _ = led(reference)
        np.testing.assert_allclose(rows[-1, :3], pa10.pose(start).position + np.array([0.1, -0.1, 0.05]), atol=1e-6)
        ends.append(np.linalg.norm(reference.posture))
    assert ends[1] < 0.99 * ends[0]


def test_a_base_that_tilts_does_not_carry_the_target_with_it(hand):
    reference = HandReference(hand, HandTask(('x', 'y', 'z')))
    reference.restart(POSTURE)
    held = reference.pose.position
    tilted = HandPose(np.eye(3), np.zeros(3)).moved([0, 0, 0.01, 0, 0.02, 0])
    for _ in range(20):
        reference.step(DT, base=tilted)
    np.testing.assert_allclose(hand.pose(reference.posture).within(tilted).position, held, atol=1e-8)


def test_the_reference_waits_for_a_machine_that_lags_behind(hand):
    follower = HandFollower(HandReference(hand), DT, lead=0.1, tolerance=0.1)
    follower.restart(0.0, POSTURE)
    follower.follow(line([1.5, 0.0, -1.5]))
    for k in range(400):
        follower.advance(k * DT, POSTURE)  # a machine that does not move
    assert follower.lag == pytest.approx(0.1, abs=0.02)
    assert follower.reference.state == 'stopped'
    assert follower.reference.reason == 'the machine lags behind'


def test_after_a_jump_of_time_the_joints_are_held_at_their_positions(hand):
    follower = HandFollower(HandReference(hand), DT, lead=0.1, tolerance=0.1)
    follower.restart(0.0, POSTURE)
    follower.follow(line([1.5, 0.0, -1.5]))
    follower.advance(2.0**31, POSTURE + 0.1)
    assert not follower.reference.moving
    np.testing.assert_allclose(
        follower.sample(2.0**31).position,
        hand.with_joints(POSTURE, POSTURE + 0.1)[hand.indices].clip(hand.lower, hand.upper),
    )


def test_a_follower_plans_a_lead_ahead(hand):
    follower = HandFollower(HandReference(hand), DT, lead=0.1, tolerance=0.1)
    follower.restart(5.0, POSTURE)
    follower.follow(line([1.0, 0.0, -1.0]))
    posture = POSTURE
    for k in range(150):
        time = 5.0 + k * DT
        follower.advance(time, posture)
        posture = follower.sample(time + DT).position
        before, later = follower.sample(time + 0.05 - 1e-6).position, follower.sample(time + 0.05 + 1e-6).position
        np.testing.assert_allclose((later - before) / 2e-6, follower.sample(time + 0.05 - 1e-6).velocity, atol=1e-3)
    assert follower.sample(time + 0.1).velocity.any()
    assert follower.lag < 0.02


def test_the_flow_of_the_pumps_bounds_the_joint_speeds_by_direction(loader, hand):
    speeds = PumpSpeeds(hand.joints, [2.5, 1.5, 2.5], loader.actuators, hand.indices, share=1.0)
    down, up = speeds(POSTURE)
    swing = loader.actuator('swing')
    assert up[0] == down[0] == pytest.approx(swing.supply.flow / swing.displacement)
    boom = loader.actuator('boom')
    assert up[1] / down[1] == pytest.approx(boom.rod_area / boom.head_area)  # extension raises the boom
    stick = loader.actuator('stick')
    assert up[2] / down[2] == pytest.approx(stick.head_area / stick.rod_area)  # extension folds the stick in


@pytest.mark.parametrize(
    ('make', 'text'),
    [
        (
            lambda: ReferenceLimits(slow_condition=200.0),
            'expected 1 <= slow_condition < stop_condition, found 200 and 120',
        ),
        (lambda: ReferenceLimits(ramp=-1.0), 'ramp: expected a number >= 0'),
        (lambda: HandLimits(speed=0.0), 'limits: speed: expected a number > 0'),
    ],
)
def test_invalid_limits_are_rejected(make, text):
    with pytest.raises(ValueError, match=text):
        make()


@pytest.mark.parametrize('order', [0, 1, 2, 3])
def test_derivatives_of_the_joints_are_resolved_from_those_of_the_hand_up_to_an_order(hand, order):
    """With H and D the derivatives of the joints give velocity, acceleration and jerk of the path."""
    reference = HandReference(hand, limits=ReferenceLimits(resolved_order=order))
    reference.restart(POSTURE)
    path, worst = reference.follow(line([0.6, 0.3, -0.6])), np.zeros(3)
    for _ in range(1, round(path.duration / DT) - 1):
        target = reference.step(DT)
        if target.jerk is None:
            assert order == 0
        jerk = np.zeros(3) if target.jerk is None else target.jerk
        motion, here = (
            path.at(path.duration - reference.remaining),
            hand.coefficients(reference.posture, 3).rows(['x', 'y', 'z']),
        )
        v, a = target.velocity, target.acceleration
        off = here.velocity(v) - motion.velocity[:3], here.acceleration(v, a) - motion.acceleration[:3]
        off = (*off, here.jerk(v, a, jerk) - motion.jerk[:3])
        worst = np.maximum(worst, [np.abs(each).max() for each in off])
    assert reference.state == 'tracking'
    assert (worst[:order] < 1e-7).all()
    assert (worst[order:] > 1e-4).all()


def test_a_velocity_is_resolved_with_its_rate_and_no_jerk(hand):
    reference = HandReference(hand, limits=ReferenceLimits(resolved_order=3))
    reference.restart(POSTURE)
    wanted = np.array([0.1, 0.0, -0.2, 0.0, 0.0, 0.0])
    reference.drive(wanted, LIMITS)
    rows = ['x', 'y', 'z']
    before = np.zeros(3)
    for _ in range(60):
        target = reference.step(DT)
        here = hand.coefficients(reference.posture, 3).rows(rows)
        speed = here.velocity(target.velocity)
        np.testing.assert_allclose(
            here.acceleration(target.velocity, target.acceleration), (speed - before) / DT, atol=1e-6
        )
        np.testing.assert_allclose(here.jerk(target.velocity, target.acceleration, target.jerk), 0.0, atol=1e-6)
        before = speed
    np.testing.assert_allclose(before, wanted[:3], atol=1e-6)


def test_between_resolved_targets_position_velocity_and_acceleration_belong_together(hand):
    reference = HandReference(hand, limits=ReferenceLimits(resolved_order=3))
    follower = HandFollower(reference, 0.05, lead=0.05)
    follower.restart(0.0, POSTURE)
    follower.follow(line([0.6, 0.3, -0.6]))
    posture, step = np.array(POSTURE, dtype=float), 1e-4
    for k in range(30):
        follower.advance(0.05 * k, posture)
        posture = follower.sample(0.05 * (k + 1)).position
        middle = 0.05 * k + 0.025
        before, now, after = (follower.sample(middle + shift) for shift in (-step, 0.0, step))
        if k > 1:  # from rest on
            np.testing.assert_allclose((after.position - before.position) / (2 * step), now.velocity, atol=2e-5)
            np.testing.assert_allclose((after.velocity - before.velocity) / (2 * step), now.acceleration, atol=1e-2)
    assert follower.lag < 1e-3


def test_spare_joints_keep_their_motion_of_the_null_space_where_rates_are_resolved(pa10):
    posture = np.array([0.3, 0.4, -0.2, 1.1, 0.5, 0.7, 0.1])
    ends = []
    for order in (0, 2):
        reference = HandReference(pa10, limits=ReferenceLimits(null_rate=1.0, resolved_order=order))
        reference.restart(posture)
        reference.follow(line([0.05, 0.1, -0.1]))
        rates = [reference.step(DT).velocity for _ in range(60)]
        ends.append((reference.posture, np.array(rates)))
    np.testing.assert_allclose(ends[0][0], ends[1][0], atol=1e-9)
    np.testing.assert_allclose(ends[0][1][5:], ends[1][1][5:], atol=0.02)


def test_an_order_above_three_is_rejected():
    with pytest.raises(ValueError, match='resolved_order: expected 0 to 3, found 4'):
        ReferenceLimits(resolved_order=4)
