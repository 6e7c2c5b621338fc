"""Arm A6 with d-c motors along its path: linear models and the nonlinear machine (spec 7.4)."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.polynomial import chebyshev
from scipy.integrate import solve_ivp

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.state_feedback import StateFeedback
from dyn_nodes.model.actuators.dc_motor import DcMotorActuator
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import TreeState, bias_force, mass_matrix
from dyn_nodes.multibody.influence import Coefficients, TreeCoefficients, TreePosition, serial_model
from dyn_nodes.studies.freeman_1985.actuators import motor_arm, nominal_path
from dyn_nodes.studies.freeman_1985.arms import A6_FORCE, A6_GRAVITY, A6_MOMENT, arm_a6
from dyn_nodes.studies.freeman_1985.influence_linearization import (
    Drives,
    EffortSlopes,
    arm_state_space,
    effort_slopes,
    in_hand_coordinates,
)
from dyn_nodes.studies.freeman_1985.traced_influence import traced_coefficients

HORIZON = 0.6
"""Duration of the path, s."""
DEGREE = 20
"""Degree of the polynomials of the nominal motion over the horizon; exact to round-off."""


class Nominal(NamedTuple):
    """The nominal motion at one time.

    Attributes:
        q, v, a, jerk: (6,) of the joints.
        effort: (6,) with the inertia of the rotors.
        currents, current_rates, voltages: (6,).
        F: (18, 18) of joints, rates, currents.
        inputs: (18, 6).
    """

    q: Array
    v: Array
    a: Array
    jerk: Array
    effort: Array
    currents: Array
    current_rates: Array
    voltages: Array
    F: Array
    inputs: Array

    @property
    def state(self) -> Array:
        """(18,) joints, rates, currents."""
        return np.concatenate([self.q, self.v, self.currents])


def drives_of(machine: Machine) -> Drives:
    """Return the motors and gears of a machine with a d-c motor for every joint, in the order of the joints."""
    motors = {actuator.joint: actuator for actuator in machine.actuators if isinstance(actuator, DcMotorActuator)}
    drives = [motors[joint.name] for joint in machine.movable_joints]
    return Drives.geared(
        np.diag([1 / motor.drive_ratio for motor in drives]),
        inductance=[motor.inductance for motor in drives],
        resistance=[motor.resistance for motor in drives],
        back_emf=[motor.torque_constant for motor in drives],
        torque=[motor.torque_constant for motor in drives],
        inertia=[motor.rotor_inertia for motor in drives],
        damping=[motor.rotor_damping for motor in drives],
    )


def tool_load(here: TreePosition) -> tuple[Coefficients, tuple[float, ...]]:
    """Return the coefficients of the hand and the load on it, constant in world axes."""
    return here.frame(here.model.tree.frame('tool')), (*A6_FORCE, *A6_MOMENT)


class MotorArm:
    """Arm A6 with its motors, tool load and gravity, on its path."""

    def __init__(self) -> None:
        self.model, self.drives = TreeCoefficients(arm_a6()), drives_of(motor_arm())

    def slopes(self, t: float) -> EffortSlopes:
        """Return the slopes of the efforts on the path, rotors included."""
        q, v, a, _ = nominal_path(t)
        here = self.model.at(q)
        return effort_slopes(here, v, a, A6_GRAVITY, [tool_load(here)]).with_inertia(self.drives.inertia)

    def effort(self, q: Array, v: Array, a: Array) -> Array:
        """Return the efforts (6,) at the joints with the inertia of the rotors."""
        here = self.model.at(q, 2)
        model = serial_model(here, A6_GRAVITY).with_load(*tool_load(here))
        return model.effort(v, a) + self.drives.inertia @ a

    def at(self, t: float) -> Nominal:
        """Return the nominal motion and its linear model at a time, s."""
        q, v, a, jerk = nominal_path(t)
        effort, slopes = self.effort(q, v, a), self.slopes(t)
        currents = self.drives.currents(effort, v)
        rates = self.drives.current_rates(slopes, v, a, jerk)
        volts = self.drives.voltages(currents, rates, v)
        return Nominal(q, v, a, jerk, effort, currents, rates, volts, *arm_state_space(slopes, self.drives))

    def in_hand_coordinates(self, t: float, as_printed: bool = False) -> tuple[Array, Array]:
        """Return the state space with the states of the hand (3-53)."""
        linear = self.at(t)
        return in_hand_coordinates(linear.F, linear.inputs, self.hand(t), linear.v, linear.a, as_printed)

    def hand(self, t: float) -> Coefficients:
        """Return the coefficients of the hand on the path."""
        return tool_load(self.model.at(nominal_path(t)[0]))[0]

    @cached_property
    def _curves(self) -> tuple[Array, Array]:
        """Chebyshev coefficients of voltages and currents and of F over the horizon."""
        x = chebyshev.chebpts1(DEGREE + 1)
        states = [self.at(0.5 * HORIZON * (1 + node)) for node in x]
        motion = np.array([np.r_[each.voltages, each.currents] for each in states])
        matrices = np.array([each.F.ravel() for each in states])
        return chebyshev.chebfit(x, motion, DEGREE), chebyshev.chebfit(x, matrices, DEGREE)

    def voltages_and_currents(self, t: float) -> tuple[Array, Array]:
        """Return voltages and currents of the nominal motion, (6,) each."""
        values = np.asarray(chebyshev.chebval(2 * t / HORIZON - 1, self._curves[0]))
        return values[:6], values[6:]

    def F(self, t: float) -> Array:
        """Return F (18, 18) on the path."""
        return np.asarray(chebyshev.chebval(2 * t / HORIZON - 1, self._curves[1]).reshape(18, 18))

    def nominal_state(self, t: float) -> Array:
        """Return the nominal state (18,)."""
        q, v, _, _ = nominal_path(t)
        return np.concatenate([q, v, self.voltages_and_currents(t)[1]])

    @cached_property
    def _dynamics(self) -> ca.Function:
        """Mass matrix, and all efforts except the motor efforts, of the traced tree instead of the closed form."""
        tree = self.model.tree
        q, v = ca.SX.sym('q', 6), ca.SX.sym('v', 6)
        state = TreeState(tree, q, v)
        hand = traced_coefficients(state, tree.frame('tool')).G
        load = ca.mtimes(hand.T, ca.SX([*A6_FORCE, *A6_MOMENT]))
        rest = bias_force(state, ca.SX(list(A6_GRAVITY))) - load
        return ca.Function('arm', [q, v], [ca.densify(mass_matrix(state)), ca.densify(rest)])

    def rate(self, x: Array, volts: Array) -> Array:
        """Return dx/dt (18,) of the nonlinear arm with its motors."""
        drives, v, i = self.drives, x[6:12], x[12:]
        M, rest = (np.array(part) for part in self._dynamics(x[:6], v))
        a = np.linalg.solve(M + drives.inertia, drives.torque @ i - drives.damping @ v - rest.ravel())
        current = np.linalg.solve(drives.inductance, volts - drives.resistance @ i - drives.back_emf @ v)
        return np.concatenate([v, a, current])

    def deviation(self, end: float, start: Array, gain: Array | None = None) -> Array:
        """Return the deviation (18,) from the path after some time, s, of the nonlinear arm.

        Args:
            end: time, s, at most the horizon.
            start: (18,) deviation at time 0.
            gain: (6, 18) of a feedback of the deviation; None: nominal voltages alone.
        """
        feedback = StateFeedback(np.zeros((6, 18)) if gain is None else gain)

        def rate(t: float, x: Array) -> Array:
            volts, _ = self.voltages_and_currents(t)
            return self.rate(x, feedback.inputs(volts, x - self.nominal_state(t)))

        x0 = self.nominal_state(0.0) + start
        final = solve_ivp(rate, (0.0, end), x0, 'DOP853', rtol=1e-10, atol=1e-12).y[:, -1]
        return np.asarray(final - self.nominal_state(end))

    def linear_deviation(self, end: float, start: Array, frozen: bool = False) -> Array:
        """Return the same by the linear model: along the path, or frozen at its start."""

        def rate(t: float, z: Array) -> Array:
            return self.F(0.0 if frozen else t) @ z

        return np.asarray(solve_ivp(rate, (0.0, end), start, 'DOP853', rtol=1e-10, atol=1e-13).y[:, -1])
