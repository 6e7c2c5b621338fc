"""Computed torque on electric motors: a small arm holds its posture and follows a trajectory under held voltages."""

from __future__ import annotations

import numpy as np
import pytest
from reacher import HOLD, advance_of, reacher

from dyn_nodes.common.share import find_resource
from dyn_nodes.control.motor_motion import MotorMotion
from dyn_nodes.control.trajectory import JointTrajectory, TrajectoryPoint
from dyn_nodes.model import load_machine


@pytest.fixture(scope='module')
def machine(reacher_machine):
    return reacher_machine


@pytest.fixture(scope='module')
def motion(machine):
    return MotorMotion(machine, machine.actuators, bandwidth=20.0, damping_ratio=1.0, hold=HOLD)


def at_rest(motion):
    """Return the initial posture, held by the currents for its weight."""
    q = np.array([-0.5, 1.0])
    motion.restart(q[::-1])
    efforts = motion.model.inverse_dynamics(q, np.zeros(2), np.zeros(2), motion.model.parameters())
    return np.concatenate([q, np.zeros(2), efforts[::-1] / motion.law.gain])


def test_an_arm_stays_at_its_start(motion, advance):
    start = state = at_rest(motion)
    for k in range(100):
        state = advance(state, motion.voltages(k * HOLD, state[1::-1], state[3:1:-1]))
    assert state == pytest.approx(start, abs=1e-9)


def test_an_arm_returns_to_its_posture_with_the_bandwidth_of_its_loop(motion, advance):
    start = at_rest(motion)
    state = start + np.array([0.01, -0.01, 0.0, 0.0, 0.0, 0.0])
    for k in range(50):
        state = advance(state, motion.voltages(k * HOLD, state[1::-1], state[3:1:-1]))
        if k == 9:  # critically damped: (1 + wn t) exp(-wn t) = 0.41 at 0.1 s, later by the delay of hold and winding
            assert 0.003 < abs(state[0] - start[0]) < 0.007
    assert np.abs(state[:2] - start[:2]).max() < 1e-5


def test_an_arm_follows_a_trajectory_within_milliradians_and_the_limits(motion, advance):
    state, goal = at_rest(motion), np.array([0.7, -0.4])  # of elbow and shoulder, as the motors are
    trajectory = JointTrajectory.from_points(('elbow', 'shoulder'), [TrajectoryPoint(1.5, goal)])
    motion.follow(trajectory, 0.0, state[1::-1], state[3:1:-1])
    assert motion.phase(0.1) == 'track'
    off, most = [], np.zeros(2)
    for k in range(200):
        volts = motion.voltages(k * HOLD, state[1::-1], state[3:1:-1])
        most = np.maximum(most, np.abs(volts))
        off.append(np.abs(motion.reference.sample(k * HOLD).position - state[1::-1]).max())
        state = advance(state, volts)
    assert max(off) < 5e-3
    assert off[-1] < 1e-4
    assert state[1::-1] == pytest.approx(goal, abs=1e-4)
    assert (most > 1.0).all()
    assert (most <= 48.0).all()


def test_on_slow_windings_the_reference_of_third_order_halves_the_error(tmp_path):
    """L/R is 25 ms. Without the rate of the reference's current, the joints lag while their accelerations change."""
    machine = reacher(tmp_path, inductance=15e-3)
    motion, advance = MotorMotion(machine, machine.actuators, 15.0, 1.0, HOLD), advance_of(machine)
    goal, errors = np.array([0.7, -0.4]), []
    for third in (True, False):
        state = at_rest(motion)
        rest = np.zeros(2)
        path = JointTrajectory.from_points(
            ('elbow', 'shoulder'), [TrajectoryPoint(0.8, goal, rest, rest)], allow_moving_end=False
        )
        motion.follow(path, 0.0, state[1::-1], state[3:1:-1])
        off = []
        for k in range(90):
            now, later = motion.reference.sample(k * HOLD), motion.reference.sample((k + third) * HOLD)
            q, v = state[1::-1], state[3:1:-1]
            feedback = 15.0**2 * (now.position - q) + 30.0 * (now.velocity - v)
            volts = motion.servo.voltages((q, v), now, later, feedback)
            if third:
                np.testing.assert_allclose(volts, motion.voltages(k * HOLD, q, v), atol=1e-12)
            off.append(np.abs(now.position - q).max())
            state = advance(state, volts)
        errors.append(max(off))
    assert errors[0] < 0.5 * errors[1]


def test_joints_without_a_motor_and_other_actuators_are_rejected(machine):
    with pytest.raises(ValueError, match='reacher: expected a motor on every joint that moves, found none on shoulder'):
        MotorMotion(machine, machine.actuators[:1], 20.0, 1.0, HOLD)
    loader = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    with pytest.raises(ValueError, match='expected an electric motor, found a cylinder'):
        MotorMotion(loader, loader.actuators, 20.0, 1.0, HOLD)
