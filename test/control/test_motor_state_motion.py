"""State feedback of arms on electric motors: closed-loop poles measured on the arm, tracking, rejections."""

from __future__ import annotations

import numpy as np
import pytest
from reacher import HOLD, advance_of

from dyn_nodes.control.held_feedback import held_model, held_quadratic_gain
from dyn_nodes.control.motor_law import NominalVoltage
from dyn_nodes.control.motor_model import MotorModel
from dyn_nodes.control.motor_state_motion import MotorStateMotion, StateLaw
from dyn_nodes.control.state_feedback import NoGainError, linear_quadratic_gain
from dyn_nodes.control.trajectory import JointTrajectory, TrajectoryPoint
from dyn_nodes.model import load_machine

POLES = (-8.0, -8.0, -12.0, -12.0, -60.0, -70.0)
IMAGINARY = (6.0, -6.0, 0.0, 0.0, 0.0, 0.0)
PENDULUM = """<robot name="pendulum">
  <link name="post"/>
  <link name="arm"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="rod"><inertial><origin xyz="0 0 0.4"/><mass value="0.5"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="post"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit effort="50" velocity="10"/></joint>
  <joint name="swing" type="continuous"><parent link="arm"/><child link="rod"/><origin xyz="0.5 0 0"/>
    <axis xyz="%s"/><limit effort="0" velocity="10"/></joint>
</robot>
"""
TURN = """actuators:
  motor: {type: dc_motor, joint: turn, torque_constant: 0.1, resistance: 0.6, inductance: 6.0e-4, gear_ratio: 20,
    rotor_inertia: 5.0e-5, rotor_damping: 2.0e-5, voltage_limit: 48, current_limit: 15}
"""


@pytest.fixture(scope='module')
def machine(reacher_machine):
    return reacher_machine


def pendulum(folder, axis):
    (folder / 'pendulum.urdf').write_text(PENDULUM % axis)
    (folder / 'pendulum.yaml').write_text(TURN)
    return load_machine(folder / 'pendulum.urdf', folder / 'pendulum.yaml')


def volts_of(motion, time, state):
    """Return volts from measurements like joint_states: positions, rates, efforts of the motors at the joints."""
    n, indices, law = len(motion.joint_names), motion.model.motor_indices, motion.law
    q, v, currents = state[:n], state[n : 2 * n], state[2 * n :]
    efforts = np.zeros(n)
    efforts[indices] = law.gain * currents - law.viscous * v[indices]
    return motion.voltages(time, q, v, efforts)


def measured_poles(motion, advance, rest):
    """Return the poles of the sampled motion of small deviations from rest, 1/s: one hold of the arm for each state."""
    step, columns = 1e-6, []
    for k in range(len(rest)):
        ends = []
        for sign in (1.0, -1.0):
            state = rest + sign * step * np.eye(len(rest))[k]
            ends.append(advance(state, volts_of(motion, 0.0, state)))
        columns.append((ends[0] - ends[1]) / (2.0 * step))
    return np.log(np.linalg.eigvals(np.array(columns).T).astype(complex)) / HOLD


def at_rest(motion, q):
    still = np.zeros(len(q))
    return np.concatenate([q, still, motion.model.nominal(q, still, still, still)[0]])


def matched(poles, wanted):
    return max(np.abs(poles - pole).min() for pole in np.asarray(wanted))


def test_the_measured_poles_are_those_that_were_placed(machine, advance):
    motion = MotorStateMotion(machine, machine.actuators, StateLaw('poles', POLES, IMAGINARY), HOLD)
    poles = measured_poles(motion, advance, at_rest(motion, np.array([-0.5, 1.0])))
    assert matched(poles, np.array(POLES) + 1j * np.array(IMAGINARY)) < 1e-2


def test_the_measured_poles_of_lqr_are_stable_and_those_of_its_model(machine, advance):
    motion = MotorStateMotion(machine, machine.actuators, StateLaw('lqr'), HOLD)
    rest = at_rest(motion, np.array([-0.5, 1.0]))
    poles = measured_poles(motion, advance, rest)
    assert poles.real.max() < -2.0
    linear = motion.model.linear(rest[:2])
    F, G = held_model(linear.A, linear.B, HOLD)
    assert matched(poles, np.log(np.linalg.eigvals(F - G @ motion.gain).astype(complex)) / HOLD) < 1e-2


def test_the_gain_of_short_holds_is_that_of_continuous_feedback(machine):
    model = MotorModel(machine, machine.actuators)
    A, B, _ = model.linear([-0.5, 1.0])
    Q, R = np.diag([2500.0] * 2 + [1.0] * 2 + [0.01] * 2), 0.01 * np.eye(2)
    np.testing.assert_allclose(
        held_quadratic_gain(A, B, Q, R, 1e-6), linear_quadratic_gain(A, B, Q, R), rtol=1e-3, atol=1e-4
    )


def test_nominal_voltages_are_those_of_the_source(machine):
    """The same numbers as `NominalVoltage`, which is checked against the tables of the source."""
    model, nominal = MotorModel(machine, machine.actuators), NominalVoltage(machine)
    q, v, a, jerk = np.random.default_rng(1).normal(size=(4, 2))
    drive = nominal.at(q, v, a, jerk)
    currents, volts = model.nominal(q, v, a, jerk)
    np.testing.assert_allclose(currents, drive.current, rtol=1e-12)
    np.testing.assert_allclose(volts, drive.voltage, rtol=1e-12)


def test_an_arm_follows_a_trajectory_by_feedback_of_its_state(machine, advance):
    motion = MotorStateMotion(machine, machine.actuators, StateLaw('lqr'), HOLD)
    start, goal, rest = np.array([-0.5, 1.0]), np.array([-0.2, 0.7]), np.zeros(2)
    motion.restart(start)
    state = at_rest(motion, start)
    path = JointTrajectory.from_points(motion.joint_names, [TrajectoryPoint(1.2, goal, rest, rest)])
    motion.follow(path, 0.0, start, rest)
    off = []
    for k in range(180):
        volts = volts_of(motion, k * HOLD, state)
        assert (np.abs(volts) <= 48.0).all()
        off.append(np.abs(motion.reference.sample(k * HOLD).position - state[:2]).max())
        state = advance(state, volts)
    assert max(off) < 3e-3
    assert state[:2] == pytest.approx(goal, abs=1e-4)


def test_a_pendulum_without_a_motor_is_balanced_upright(tmp_path):
    machine = pendulum(tmp_path, '1 0 0')
    motion, advance = MotorStateMotion(machine, machine.actuators, StateLaw('lqr', rate=5.0), HOLD), advance_of(machine)
    state = at_rest(motion, np.zeros(2))
    state[1] = 0.05
    for k in range(400):
        state = advance(state, volts_of(motion, k * HOLD, state))
    assert np.abs(state).max() < 1e-3
    with pytest.raises(ValueError, match='expected a motor on every joint, found none on swing'):
        motion.follow(JointTrajectory.from_points(('turn', 'swing'), [TrajectoryPoint(1.0, [0.1, 0.0])]), 0.0, 0.0, 0.0)


def test_an_uncontrollable_joint_is_rejected_by_name(tmp_path):
    """The rod spins about its axis: the motor's motion does not turn it."""
    machine = pendulum(tmp_path, '0.8 0 0.6')
    still = pendulum(tmp_path, '0 1 0')
    with pytest.raises(NoGainError, match=r'not controllable: the voltages do not reach the mode of swing'):
        MotorStateMotion(still, still.actuators, StateLaw('lqr'), HOLD)
    assert MotorStateMotion(machine, machine.actuators, StateLaw('lqr'), HOLD).gain.shape == (1, 5)


@pytest.mark.parametrize(
    ('fields', 'text'),
    [
        ({'law': 'pid'}, "law: expected lqr or poles, found 'pid'"),
        ({'voltage': 0.0}, 'voltage: expected a number > 0, found 0.0'),
        ({'poles': (-1.0, -2.0), 'imaginary': (1.0,)}, 'imaginary: expected 2 numbers or none, found 1'),
    ],
)
def test_an_invalid_law_is_rejected(fields, text):
    with pytest.raises(ValueError, match=text):
        StateLaw(**fields)


def test_another_number_of_poles_than_states_is_rejected_by_name(machine):
    with pytest.raises(NoGainError, match='poles: expected 6, one for each of shoulder, elbow, shoulder/rate'):
        MotorStateMotion(machine, machine.actuators, StateLaw('poles', (-1.0, -2.0)), HOLD)
