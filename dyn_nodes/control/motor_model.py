"""Linear model of an arm on electric motors about a motion, exact from the traced equations (freeman-1985, 2.13)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.motor_law import MotorLaw
from dyn_nodes.control.state_feedback import NoGainError
from dyn_nodes.model.machine import Actuator, Machine
from dyn_nodes.multibody import TreeState, build_tree, inverse_dynamics

UNREACHED = 1e-9
"""Singular value of (A - s, B), relative to the norm of (A, B), below which the mode s is uncontrollable."""


class LinearModel(NamedTuple):
    """Rates A x + B u of the deviations x of positions, rates and currents (2n + m,), u of the voltages (m,)."""

    A: Array
    B: Array
    names: tuple[str, ...]

    def require_controllable(self) -> None:
        """Raise NoGainError if the voltages do not control a mode; names the state with its greatest component."""
        values, vectors = np.linalg.eig(self.A.T)
        size = float(np.linalg.norm(np.hstack([self.A, self.B])))
        for value, left in zip(values, vectors.T):
            pencil = np.hstack([self.A - value * np.eye(len(self.A)), self.B])
            if np.linalg.svd(pencil, compute_uv=False)[-1] < UNREACHED * size:
                worst = self.names[int(np.argmax(np.abs(left)))]
                raise NoGainError(f'not controllable: the voltages do not reach the mode of {worst} at {value:.3g} 1/s')


class MotorModel:
    """An arm on a fixed base with motors on its joints; other joints are passive.

    States are the positions and rates of all joints in the order of the tree, and the currents of the motors.

    Args:
        machine: without constraints.
        motors: m electric actuators, in the order of the voltages.

    Raises:
        ValueError: another base, constraints, or an actuator that is not an electric motor.
    """

    def __init__(self, machine: Machine, motors: Sequence[Actuator]) -> None:
        if machine.base.attachment != 'fixed' or machine.needs_constraints:
            raise ValueError(f'{machine.name}: expected a tree on a fixed base for feedback of its state')
        self.machine, self.law = machine, MotorLaw(motors)
        self.tree = build_tree(machine)
        self.names = self.tree.velocity_names
        self.motor_indices = np.array([self.names.index(name) for name in self.law.joint_names], dtype=np.intp)
        self.payload = machine.payload.mass if machine.payload else 0.0
        self._damping = np.array([machine.joint(name).damping for name in self.names])

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states."""
        rates = (f'{name}/rate' for name in self.names)
        return (*self.names, *rates, *(f'{motor.name}/current' for motor in self.law.motors))

    @cached_property
    def _function(self) -> ca.Function:
        """Efforts of a motion, their rate along it, and their Jacobians."""
        n = self.tree.nv
        q, v, a, jerk, payload = (ca.SX.sym(name, size) for name, size in zip('qvajm', (n, n, n, n, 1)))
        state = TreeState(self.tree, q, v, payload)
        needed = inverse_dynamics(state, a, ca.SX(ca.DM([0.0, 0.0, -self.machine.gravity])), {})
        effort = needed + ca.DM(self._damping) * v
        viscous = np.zeros(n)
        viscous[self.motor_indices] = self.law.viscous
        effort = effort + ca.DM(viscous) * v
        slope = ca.jtimes(effort, ca.vertcat(q, v, a), ca.vertcat(v, a, jerk))
        outputs = [effort, slope, *(ca.jacobian(effort, each) for each in (q, v, a))]
        return ca.Function('effort', [q, v, a, jerk, payload], [ca.densify(part) for part in outputs])

    def _at(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, jerk: ArrayLike) -> list[Array]:
        arguments = (np.asarray(part, dtype=float) for part in (q, v, a, jerk))
        return [np.array(part) for part in self._function(*arguments, self.payload)]

    def nominal(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, jerk: ArrayLike) -> tuple[Array, Array]:
        """Return currents, A, and voltages, V, (m,) of a motion of all joints to its third order (2-238 to 2-240).

        Raises:
            NoGainError: a joint without a motor needs an effort for this motion; names it.
        """
        effort, slope, *_ = self._at(q, v, a, jerk)
        left = effort.ravel().copy()
        left[self.motor_indices] = 0.0
        if np.abs(left).max(initial=0.0) > 1e-6 * max(1.0, float(np.abs(effort).max())):
            joint = self.names[int(np.argmax(np.abs(left)))]
            raise NoGainError(f'{joint} has no motor and does not stay in place: it would need {left.max():.3g}')
        law = self.law
        currents, rates = effort.ravel()[self.motor_indices] / law.gain, slope.ravel()[self.motor_indices] / law.gain
        return currents, law.inductance * rates + law.resistance * currents + law.gain * np.asarray(v)[
            self.motor_indices
        ]

    def linear(self, q: ArrayLike) -> LinearModel:
        """Return the model at rest at positions q (n,)."""
        n, m, law = self.tree.nv, len(self.law.motors), self.law
        still = np.zeros(n)
        by_q, by_v, M = self._at(q, still, still, still)[2:]
        push = np.zeros((n, m))
        push[self.motor_indices, np.arange(m)] = law.gain
        inverse, zero = np.linalg.inv(M), np.zeros
        emf = push.T / law.inductance[:, np.newaxis]
        A = np.block([
            [zero((n, n)), np.eye(n), zero((n, m))],
            [-inverse @ by_q, -inverse @ by_v, inverse @ push],
            [zero((m, n)), -emf, -np.diag(law.resistance / law.inductance)],
        ])  # fmt: skip
        return LinearModel(A, np.vstack([zero((2 * n, m)), np.diag(1.0 / law.inductance)]), self.state_names)
