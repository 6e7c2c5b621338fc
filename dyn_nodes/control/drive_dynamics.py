"""Inverse dynamics in the driven joints: of a tree, and of a machine with closed loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.control.servo import free_push
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel

if TYPE_CHECKING:  # a slow import, not needed for trees
    from dyn_nodes.constraints import ConstraintBlocks

DEPENDENT = 1e-9
"""Least singular value, relative to the greatest, of drives that determine the motion."""
CLOSED, MOST_STEPS = 1e-6, 30
"""Gap before the last step of Newton's method, m or rad (the error after it is its square), and most steps."""
FARTHEST = 1.0
"""Step, m or rad, from which on another branch is assumed."""


class OpenLoopError(UserError, ValueError):
    """Positions of the drives at which the loops do not close."""


class DriveDynamics(Protocol):
    """Inverse dynamics of a machine in its driven joints."""

    joint_names: tuple[str, ...]
    """The n driven joints, in the order of all arrays."""
    payload: float
    """Mass in the implement, kg."""

    def restart(self) -> None:
        """Forget the last posture."""

    def efforts(self, positions: Array, velocities: Array, acceleration: Array, feedback: Array) -> Array:
        """Return the efforts (n,) that give the joints accelerations, N m or N.

        Args:
            positions: (n,) measured, rad or m.
            velocities: (n,) measured.
            acceleration: (n,) of the reference.
            feedback: (n,) added to the acceleration.

        Raises:
            OpenLoopError: closed loops that do not close at these positions.
        """

    def apparent_inertia(self, positions: Array) -> Array:
        """Return the apparent inertia (n, n) at the drives."""


class CarriedPayload:
    """The payload among the parameters (4,) of a rigid-body model."""

    _parameters: Array

    @property
    def payload(self) -> float:
        """Mass in the implement, kg."""
        return float(self._parameters[3])

    @payload.setter
    def payload(self, mass: float) -> None:
        self._parameters[3] = mass


class TreeDrives(CarriedPayload):
    """A tree with a drive on every joint; its base is taken as level and at rest, and as free under feedback.

    Args:
        machine: without constraints.
        joint_names: of the drives, in the order of all arrays.

    Raises:
        ValueError: constraints, or a joint that none of the drives moves.
    """

    def __init__(self, machine: Machine, joint_names: Sequence[str]) -> None:
        self.joint_names = tuple(joint_names)
        if machine.needs_constraints:
            raise ValueError(f'{machine.name}: expected a machine without constraints for voltages by computed torque')
        names = [joint.name for joint in machine.movable_joints]
        left = [name for name in names if name not in self.joint_names]
        if left:
            raise ValueError(f'{machine.name}: expected a motor on every joint that moves, found none on {left[0]}')
        self.model = RigidBodyModel(machine)
        first = self.model.nv - len(names)
        self._indices = np.array([first + names.index(name) for name in self.joint_names], dtype=np.intp)
        self._positions_at = self._indices + self.model.nq - self.model.nv
        self._parameters, self._q = self.model.parameters(), self.model.neutral()
        self._v, self._a = np.zeros(self.model.nv), np.zeros(self.model.nv)

    def restart(self) -> None:
        """Do nothing: the joints determine the posture of a tree."""

    def efforts(self, positions: Array, velocities: Array, acceleration: Array, feedback: Array) -> Array:
        """Return the efforts (n,) that give the joints accelerations, N m or N."""
        self._q[self._positions_at], self._v[self._indices] = positions, velocities
        self._a[self._indices] = acceleration
        forward = self.model.inverse_dynamics(self._q, self._v, self._a, self._parameters)[self._indices]
        if not feedback.any():
            return np.asarray(forward, dtype=np.float64)
        M = self.model.mass_matrix(self._q, self._parameters)
        return np.asarray(forward + free_push(M, self._indices, feedback), dtype=np.float64)

    def apparent_inertia(self, positions: Array) -> Array:
        """Return the apparent inertia (n, n) at the drives on a free base."""
        self._q[self._positions_at] = positions
        M = self.model.mass_matrix(self._q, self._parameters)
        return np.asarray(np.linalg.inv(np.linalg.inv(M)[np.ix_(self._indices, self._indices)]))


class TreeInertia(CarriedPayload):
    """Inertia of a tree at some of its joints; the others stay at their initial positions.

    Args:
        machine: without constraints, on a fixed base.
        joint_names: n of its joints, in the order of all arrays.
    """

    def __init__(self, machine: Machine, joint_names: Sequence[str]) -> None:
        self.model = RigidBodyModel(machine)
        names = self.model.velocity_names
        self._indices = np.array([names.index(name) for name in joint_names], dtype=np.intp)
        self._block = np.ix_(self._indices, self._indices)
        initial = machine.initial.joint_positions
        self._q, self._parameters = np.array([initial.get(name, 0.0) for name in names]), self.model.parameters()

    def apparent_inertia(self, positions: Array) -> Array:
        """Return the inertia (n, n) at positions (n,) of the joints."""
        self._q[self._indices] = positions
        return self.model.mass_matrix(self._q, self._parameters)[self._block]


class LoopDrives:
    """A machine with constraints whose drives determine its motion: passive joints follow from the driven ones.

    With the rows J of the constraints and the rows S of the drives, K = [J; S] has full column rank, and with T the
    columns of its pseudo-inverse that belong to the drives,

        v = K^+ [0; v_d],  a = K^+ [gamma; a_d],  effort = T^T (M a + h)

    as J T = 0 and S T = 1. The constraints do not depend on time. The posture follows the drives by Newton's method
    from the last one, so that only the driven joints need be measured.

    Args:
        name: of the machine.
        blocks: of the machine, without actuators inside.
        q: (nq,) start posture, with closed loops.
        joint_names: of the n drives, in the order of all arrays.

    Raises:
        ValueError: drives that do not determine the motion.

    Attributes:
        q: (nq,) the posture of the last call.
    """

    def __init__(self, name: str, blocks: ConstraintBlocks, q: Array, joint_names: Sequence[str]) -> None:
        tree = blocks.tree
        self.name, self.blocks, self.joint_names = name, blocks, tuple(joint_names)
        self._positions_at = [tree.position_names.index(joint) for joint in self.joint_names]
        self._rows = np.eye(tree.nv)[[tree.velocity_index(joint) for joint in self.joint_names]]
        rows = np.vstack([blocks.at(q).J, self._rows])
        values = np.linalg.svd(rows, compute_uv=False)
        rank = int((values > DEPENDENT * values[0]).sum())
        if rank < tree.nv:
            raise ValueError(
                f'{name}: expected drives that determine the motion, found {tree.nv - rank} freedoms that none of '
                f'{", ".join(self.joint_names)} moves'
            )
        self._start = q.copy(), np.linalg.pinv(rows)
        self._numbers = blocks.numbers(None).copy()
        self._loaded = blocks.parameters.names.index('payload_mass') if blocks.tree.payload is not None else None
        self.restart()

    @property
    def payload(self) -> float:
        """Mass in the implement, kg; 0 without one."""
        return 0.0 if self._loaded is None else float(self._numbers[self._loaded])

    @payload.setter
    def payload(self, mass: float) -> None:
        if self._loaded is not None:
            self._numbers[self._loaded] = mass

    def restart(self) -> None:
        """Return to the start posture."""
        self.q, self._inverse = self._start

    def posture(self, positions: Array) -> Array:
        """Return the posture (nq,) at positions of the drives (n,), near the last one.

        Raises:
            OpenLoopError: the loops do not close there; the last posture stays.
        """
        from dyn_nodes.constraints import moved  # a slow import, not needed for trees

        tree, m = self.blocks.tree, self.blocks.m
        q, inverse = self.q, self._inverse
        gap = np.concatenate([np.zeros(m), positions - q[self._positions_at]])
        for _ in range(MOST_STEPS):
            step = inverse @ gap
            size = float(np.abs(step).max())
            if not size < FARTHEST:  # another branch, or no numbers
                break
            q = moved(tree, q, step)
            at = self.blocks.at(q, None, self._numbers)
            inverse = np.linalg.pinv(np.vstack([at.J, self._rows]))
            gap = np.concatenate([-at.residual, positions - q[self._positions_at]])
            if np.abs(gap).max() < CLOSED:
                self.q, self._inverse = moved(tree, q, inverse @ gap), inverse
                return self.q
        listed = ', '.join(f'{joint} {value:.4g}' for joint, value in zip(self.joint_names, positions))
        raise OpenLoopError(f'{self.name}: the loops do not close at {listed}')

    def efforts(self, positions: Array, velocities: Array, acceleration: Array, feedback: Array) -> Array:
        """Return the efforts (n,) that give the joints accelerations, N m or N. Raises OpenLoopError."""
        q = self.posture(positions)
        v = self._inverse @ np.concatenate([np.zeros(self.blocks.m), velocities])
        at = self.blocks.at(q, v, self._numbers)
        self._inverse = np.linalg.pinv(np.vstack([at.J, self._rows]))
        a = self._inverse @ np.concatenate([at.gamma, acceleration + feedback])
        return np.asarray(self._inverse[:, self.blocks.m :].T @ (at.M @ a + at.h))

    def apparent_inertia(self, positions: Array) -> Array:
        """Return the apparent inertia (n, n) at the drives. Raises OpenLoopError."""
        at = self.blocks.at(self.posture(positions), None, self._numbers)
        moves = self._inverse[:, self.blocks.m :]
        return np.asarray(moves.T @ at.M @ moves)
