"""Hands behind closed loops: coefficients, inverse kinematics, limits, rejections."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.control.hand import (
    ArmDynamics,
    HandError,
    HandKinematics,
    HandPath,
    HandPose,
    HandReference,
    LoopHand,
    Settings,
    hand_of,
    inverse_kinematics,
)
from dyn_nodes.control.hand.path import HandLimits
from dyn_nodes.nodes.machines import machine_of

STEP = 1e-6
MACHINES = {
    'log_loader_linkage': ('payload_link', {'swing_joint', 'boom_rod_joint', 'stick_rod_joint'}),
    'excavator': ('bucket_link', {'swing_joint', 'boom_rod_joint', 'arm_rod_joint', 'bucket_rod_joint'}),
    'stewart_platform': ('platform', {f'leg_{k}_length_joint' for k in range(1, 7)}),
}


@pytest.fixture(scope='module', params=MACHINES)
def hand(request):
    return hand_of(machine_of(request.param, ''), MACHINES[request.param][0])


@pytest.fixture(scope='module')
def loader():
    return hand_of(machine_of('log_loader_linkage', ''), 'payload_link')


def gap(hand, posture):
    return np.abs(hand._constraint_rows(np.asarray(posture))[1]).max()


def around(hand, posture, k):
    """Return postures a step of the k-th joint forward and backward."""
    steps = STEP * np.eye(len(hand.joints))[k]
    positions = posture[hand.indices]
    return hand.with_joints(posture, positions + steps), hand.with_joints(posture, positions - steps)


def test_the_driven_joints_move_the_hand(hand):
    assert isinstance(hand, LoopHand)
    assert any(set(hand.joints) == joints for _, joints in MACHINES.values())
    assert not set(hand.joints) & set(hand.dependent)
    assert gap(hand, hand.home) < 1e-10


def test_coefficients_are_the_slopes_of_the_pose_while_the_loops_stay_closed(hand):
    rng = np.random.default_rng(3)
    change = 0.05 * rng.uniform(-1.0, 1.0, len(hand.joints))
    posture = hand.with_joints(hand.home, hand.home[hand.indices] + change)
    np.testing.assert_allclose(posture[hand.indices], hand.home[hand.indices] + change, atol=1e-12)
    assert gap(hand, posture) < 1e-10
    G, both = hand.pose_and_jacobian(posture)[1], hand.coefficients(posture, 2)
    np.testing.assert_allclose(both.G, G, atol=1e-9)
    for k in range(len(hand.joints)):
        more, less = around(hand, posture, k)
        slope = hand.pose(less).error_to(hand.pose(more)) / (2.0 * STEP)
        np.testing.assert_allclose(G[:, k], slope, atol=1e-7 * max(1.0, np.abs(G).max()))
        bend = (hand.pose_and_jacobian(more)[1] - hand.pose_and_jacobian(less)[1]) / (2.0 * STEP)
        np.testing.assert_allclose(both.H[:, k, :], bend, atol=1e-6 * max(1.0, np.abs(both.H).max()))


def test_inverse_kinematics_closes_the_loops(loader):
    target = HandPose(np.eye(3), np.array([5.5, 0.8, 1.0]))
    result = inverse_kinematics(loader, target, loader.home, settings=Settings(tolerance=1e-9))
    assert result.reached
    assert gap(loader, result.best.posture) < 1e-10
    assert not loader.exceeded(result.best.posture)
    np.testing.assert_allclose(loader.pose(result.best.posture).position, target.position, atol=1e-9)


def test_the_pose_equals_that_of_the_plain_loader_at_the_same_boom_and_stick(loader):
    plain = HandKinematics.of(machine_of('log_loader', ''), 'payload_link')
    posture = loader.with_joints(loader.home, loader.home[loader.indices] + [0.2, -0.1, 0.15])
    at = dict(zip(loader.names, posture))
    same = plain.posture({name: at[name] for name in plain.joints})
    np.testing.assert_allclose(plain.pose(same).position, loader.pose(posture).position, atol=1e-9)


def test_joints_move_as_far_as_the_loops_close(loader):
    posture = loader.with_joints(loader.home, loader.home[loader.indices] + [0.0, 3.0, 0.0])
    assert np.isfinite(posture).all()
    assert gap(loader, posture) < 1e-10
    moved = posture[loader.indices] - loader.home[loader.indices]
    assert 0.1 < moved.max() < 3.0


def test_the_model_in_the_driven_joints_holds_the_weights_by_virtual_work(loader):
    """dV/dq by differences of the potential energy of all bodies and the payload."""
    machine = machine_of('log_loader_linkage', '')
    arm = ArmDynamics(loader, payload=2000.0)
    model, tree = arm.model(loader.home), loader.model.tree

    def energy(posture):
        here = loader.model.at(posture, 1)
        height = sum(
            body.mass * (here.poses[1][0, k] + here.poses[0][0, k] @ body.com)[2]
            for k, body in enumerate(tree.bodies)
            if body.mass
        )
        assert tree.payload is not None
        return 9.81 * (height + 2000.0 * here.pose(tree.payload)[1][2])

    for k in range(len(loader.joints)):
        more, less = around(loader, loader.home, k)
        slope = (energy(more) - energy(less)) / (2.0 * STEP)
        assert -model.load[k] == pytest.approx(slope, rel=1e-5, abs=1.0)
    assert machine.gravity == 9.81


def test_a_line_stops_where_a_dependent_joint_reaches_its_limit():
    machine = machine_of('log_loader_linkage', '')
    joints = [
        replace(joint, upper=1.0) if joint.name == 'boom_joint' else joint for joint in machine.joints
    ]  # the boom may rise little
    hand = hand_of(replace(machine, joints=tuple(joints)), 'payload_link')
    reference = HandReference(hand)
    reference.restart(hand.home)
    rise, limits = np.array([0.0, 0.0, 1.5]), HandLimits(speed=0.5, acceleration=1.0, jerk=4.0)
    reference.follow(lambda pose: HandPath.line(pose, HandPose(pose.rotation, pose.position + rise), limits))
    boom, highest = hand.names.index('boom_joint'), 0.0
    for _ in range(120):
        reference.step(0.05)
        highest = max(highest, reference.posture[boom])
    assert reference.state == 'stopped'
    assert 'boom_joint at its limit' in reference.reason
    assert 0.98 < highest <= 1.0 + 1e-6


@pytest.mark.parametrize(
    ('link', 'joints', 'text'),
    [
        ('hook', None, "unknown link 'hook'"),
        ('payload_link', ['boom_joint'], 'expected some of swing_joint, stick_rod_joint, boom_rod_joint'),
        ('boom_link', ['stick_rod_joint'], 'expected some of swing_joint, boom_rod_joint, each once'),
    ],
)
def test_wrong_links_and_joints_are_rejected_by_name(link, joints, text):
    with pytest.raises(HandError, match=text):
        hand_of(machine_of('log_loader_linkage', ''), link, joints)


def test_loops_that_do_not_close_at_the_start_are_rejected_by_name():
    machine = machine_of('log_loader_linkage', '')
    far = [
        replace(entry, second=replace(entry.second, position=np.array([30.0, 0.0, 0.0])))
        if entry.name == 'boom_pin'
        else entry
        for entry in machine.constraints
    ]
    with pytest.raises(HandError, match='loops that cannot be closed from the initial posture: boom_pin'):
        hand_of(replace(machine, constraints=tuple(far)), 'payload_link')


def test_a_third_order_through_loops_is_rejected(loader):
    with pytest.raises(HandError, match='expected two orders of coefficients through closed loops, found 3'):
        loader.coefficients(loader.home, 3)
