"""Hands on electric motors: lines of a planar arm under held voltages, also into its singular posture."""

from __future__ import annotations

import numpy as np
import pytest
from reacher import HOLD, START

from dyn_nodes.control.hand import (
    ArmDynamics,
    HandFollower,
    HandKinematics,
    HandLimits,
    HandMotors,
    HandPath,
    HandPose,
    HandReference,
    HandTask,
    LoopGains,
    MotorLoopGains,
    PumpSpeeds,
    operational_space,
)
from dyn_nodes.control.hand.path import HandMotion
from dyn_nodes.control.motor_servo import MotorServo

LIMITS = HandLimits(speed=0.4, acceleration=1.0, jerk=8.0)


@pytest.fixture(scope='module')
def machine(reacher_machine):
    return reacher_machine


@pytest.fixture(scope='module')
def servo(machine):
    return MotorServo(machine, machine.actuators, HOLD)


def lead(machine, servo, advance, move, law='joints', time=4.0):
    """Move the tip along a line; return its distances from it, its ways, greatest volts and currents, and states."""
    hand = HandKinematics.of(machine, 'tip')
    speeds = PumpSpeeds(hand.joints, [machine.joint(name).velocity_limit for name in hand.joints], (), hand.indices)
    reference = HandReference(hand, HandTask(('x', 'z')), speeds)
    follower = HandFollower(reference, HOLD, lead=HOLD, tolerance=0.05)
    motors = HandMotors(follower, servo, MotorLoopGains(law=law))
    q = np.array([START['shoulder'], START['elbow']])
    rest = np.zeros(2)
    still = servo.model.inverse_dynamics(q, rest, rest, servo.model.parameters())
    state = np.concatenate([q, rest, still[::-1] / servo.law.gain])
    follower.restart(0.0, q)
    motors.restart(q)
    start = hand.pose(q).position
    goal = HandPose(hand.pose(q).rotation, start + np.array([move[0], 0.0, move[1]]))
    follower.follow(lambda pose: HandPath.line(pose, HandPose(pose.rotation, goal.position), LIMITS))
    along = np.array([move[0], 0.0, move[1]]) / np.linalg.norm(move)
    off, ways, volts, currents, reports = [], [], [], [], []
    for k in range(round(time / HOLD)):
        follower.advance(k * HOLD, state[:2])
        volts.append(motors.voltages(k * HOLD, state[:2], state[2:4]))
        reports.append(f'{reference.state}: {reference.reason}')
        state = advance(state, volts[-1])
        currents.append(state[4:])
        offset = hand.pose(state[:2]).position - start
        ways.append(float(offset @ along))
        off.append(float(np.linalg.norm(offset - along * ways[-1])))
    return np.array(off), np.array(ways), np.abs(volts).max(axis=0), np.abs(currents).max(axis=0), reports


@pytest.mark.parametrize('law', ['joints', 'hand'])
def test_the_hand_follows_a_line_within_a_millimetre_on_motors(machine, servo, advance, law):
    off, ways, volts, currents, reports = lead(machine, servo, advance, (-0.3, 0.4), law, 3.0)
    assert off.max() < 1e-3
    assert ways[-1] == pytest.approx(0.5, abs=5e-4)
    assert (volts < 48.0).all()
    assert (volts > 1.0).all()
    assert (currents < 15.0).all()
    assert reports[-1] == 'holding: '
    assert 'tracking: ' in reports


def test_at_the_stretched_elbow_the_hand_is_slowed_and_stopped_with_a_reason(machine, servo, advance):
    """The line ends out of reach: the elbow stretches, and the rates of the joints stay within their limits."""
    off, ways, volts, currents, reports = lead(machine, servo, advance, (0.3, 0.0), 'joints', 5.0)
    assert off.max() < 2e-3
    assert np.diff(ways).min() > -1e-4
    assert any(text.startswith('slowed: singular posture ahead') for text in reports)
    assert reports[-1].startswith('stopped: singular posture ahead')
    assert (volts <= 48.0).all()
    assert (currents <= 15.0).all()
    assert ways[-1] < 0.3


def test_corrections_of_the_hand_are_those_of_operational_space_control(machine, servo, advance):
    """On a fixed base the efforts of the voltages equal those of `operational_space`, rotors included."""
    hand = HandKinematics.of(machine, 'tip')
    task = HandTask(('x', 'z'))
    follower = HandFollower(HandReference(hand, task), HOLD, lead=HOLD)
    motors = HandMotors(follower, servo, MotorLoopGains('hand', 12.0, 0.9, 5.0))
    q, v = np.array([-0.5, 1.0]), np.array([0.1, -0.2])
    follower.restart(0.0, q)
    motors.restart(q)
    here = q + np.array([0.01, -0.02])
    reference = motors._sample(0.0)
    feedback = motors._of_hand(here, v, reference)
    efforts = servo.forward(type(reference)(here[::-1], v[::-1], np.zeros(2)))
    inertia = servo.apparent_inertia(here[::-1])
    result = efforts + inertia @ feedback[::-1]
    goal = hand.pose(q)
    at = HandMotion(HandPose(goal.rotation, goal.position), np.zeros(6), np.zeros(6), np.zeros(6))
    arm = ArmDynamics(hand, (0.0, 0.0, -machine.gravity))
    here_hand = hand.coefficients(here, 2)
    bias = here_hand.acceleration(v, np.zeros(2))  # not compensated in the motors' loop
    at = at._replace(acceleration=bias)
    wanted = operational_space(arm, here, v, at, task, q, LoopGains(12.0, 0.9, 5.0))
    np.testing.assert_allclose(result[::-1], wanted, rtol=1e-3)


def test_a_joint_without_a_motor_is_rejected_by_name(machine, servo):
    class Other:
        joint_names = ('elbow',)

    follower = HandFollower(HandReference(HandKinematics.of(machine, 'tip'), HandTask(('x', 'z'))), HOLD)
    with pytest.raises(ValueError, match='expected a motor on every joint of the hand, found none on shoulder'):
        HandMotors(follower, Other())
    with pytest.raises(ValueError, match="law: expected joints or hand, found 'arm'"):
        MotorLoopGains(law='arm')
