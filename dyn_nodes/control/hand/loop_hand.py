"""The hand of a machine whose joints depend on each other through closed loops, such as cylinders that are bodies.

The rows of the constraints, J v = 0, make the rates of dependent joints linear in the rates of independent ones,
v_d = -J_d^+ J_i v_i. With them the coefficients of the hand are reduced from all joints to the driven joints:
G = G_i + G_d dv_d/dv_i, H by the chain rule (freeman-1985, 2.20 of its spec).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import Constraint, ConstraintBlocks
from dyn_nodes.constraints.independent import choose_independent
from dyn_nodes.constraints.row_coefficients import RowCoefficients, row_coefficients
from dyn_nodes.control.hand.kinematics import HandError, HandKinematics, HandPose
from dyn_nodes.model.constraint import WORLD, ConstraintRecord
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions
from dyn_nodes.multibody.influence import Coefficients, TransferredModel, TreePosition, serial_model
from dyn_nodes.multibody.tree import Tree, build_tree

CLOSED = 1e-11
"""Residual below which a loop counts as closed, m or rad, relative to 1 plus the greatest position."""
NEWTON_STEPS = 12
LONGEST_CORRECTION = 0.3
"""Greatest change of a dependent joint in one Newton step, rad or m; beyond it the loops count as open."""
LEAST_PART = 1e-3
"""Part of a motion of the driven joints below which it is abandoned."""
RANK = 1e-9
"""Singular values of J_d below this part of the greatest count as zero: rows that depend on others."""
MOVES = 1e-9
BEYOND = 1e-6
"""Tolerance of the limits, rad or m."""


class LoopHand(HandKinematics):
    """A link that driven joints move through closed loops.

    Postures have all joints of the tree; `with_joints` moves the driven ones and closes the loops, as far as possible.

    Args:
        tree: of a fixed base.
        link: the hand.
        constraints: that close the loops, at rest.
        start: positions of all joints, near a posture that closes them.
        driven: names of the driven joints.
        joints: n driven ones that move the hand; None: all of these.
        lower, upper: limits by joint name.

    Attributes:
        dependent: names of the joints that follow from the others.

    Raises:
        HandError: loops that are open at the start, driven joints that depend on each other, a joint that is not
            driven or does not move the hand.
    """

    def __init__(
        self,
        tree: Tree,
        link: str,
        constraints: Sequence[Constraint],
        start: ArrayLike,
        driven: Sequence[str],
        joints: Sequence[str] | None = None,
        lower: Mapping[str, float] | None = None,
        upper: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(tree, link)
        self.system = ConstraintBlocks(tree, constraints)
        self._numbers = self.system.numbers(None)
        rows = self.system.rows
        self._rows = ca.Function('rows', [self.system.q, self.system.parameters.vector], [rows.jacobian, rows.residual])
        least, most = dict(lower or {}), dict(upper or {})
        self._least = np.array([least.get(name, -np.inf) for name in self.names])
        self._most = np.array([most.get(name, np.inf) for name in self.names])
        self._divide(np.asarray(start, dtype=np.float64), driven)
        self._home = self._closed_near(np.asarray(start, dtype=np.float64))
        self._take_joints(self._choose_joints(driven, joints), least, most)

    def _divide(self, start: Array, driven: Sequence[str]) -> None:
        """Choose the dependent joints at the start; driven ones stay independent."""
        J, _ = self._constraint_rows(start)
        M = serial_model(self.model.at(start, 2)).inertia
        prefer = [self.names.index(name) for name in driven if name in self.names]
        partition = choose_independent(J, M, prefer)
        self._dependent = np.array(partition.dependent, dtype=np.intp)
        self._independent = tuple(self.names[k] for k in partition.independent)
        self.dependent = tuple(self.names[k] for k in partition.dependent)
        fighting = [name for name in driven if name in self.dependent]
        if fighting:
            raise HandError(f'expected driven joints that move independently, found {fighting[0]}, moved by others')

    def _closed_near(self, start: Array) -> Array:
        closed = self._closed(start)
        if closed is None:
            gap = np.abs(self._constraint_rows(start)[1])
            worst = self.system.row_names[int(np.argmax(gap))]
            raise HandError(f'loops that cannot be closed from the initial posture: {worst} is open by {gap.max():.3g}')
        return closed

    def _choose_joints(self, driven: Sequence[str], joints: Sequence[str] | None) -> tuple[str, ...]:
        candidates = [name for name in driven if name in self._independent]
        indices = [self.names.index(name) for name in candidates]
        whole = self._frame_jacobian(self.home)[1]
        moves = np.abs(whole[:, indices] + whole[:, self._dependent] @ self._following(self.home, indices)).max(axis=0)
        able = tuple(name for name, size in zip(candidates, moves) if size > MOVES)
        wanted = tuple(able if joints is None else joints)
        if not wanted or len(set(wanted)) != len(wanted) or not set(wanted) <= set(able):
            raise HandError(
                f'joints of {self.link!r}: expected some of {", ".join(able) or "none"}, each once, '
                f'found {", ".join(wanted) or "none"}'
            )
        return wanted

    @property
    def home(self) -> Array:
        """The posture at the start, loops closed."""
        return self._home.copy()

    # -- constraints -------------------------------------------------------------------------------------------------

    def _constraint_rows(self, q: Array) -> tuple[Array, Array]:
        """Return J (m, n) and the residual (m,) at the positions of all joints."""
        J, residual = self._rows(q, self._numbers)
        return np.array(J), np.array(residual).ravel()

    def _following(self, q: Array, indices: Sequence[int] | NDArray[np.intp]) -> Array:
        """Return the rates of the dependent joints (d, k) per rate of independent ones."""
        J, _ = self._constraint_rows(q)
        return np.asarray(-np.linalg.pinv(J[:, self._dependent], RANK) @ J[:, indices])

    def _closed(self, posture: Array) -> Array | None:
        """Return the posture with dependent joints that close the loops; None if they do not close."""
        q = np.array(posture, dtype=np.float64)
        for _ in range(NEWTON_STEPS):
            J, residual = self._constraint_rows(q)
            if np.abs(residual).max(initial=0.0) <= CLOSED * (1.0 + float(np.abs(q).max())):
                return q
            step = np.linalg.pinv(J[:, self._dependent], RANK) @ residual
            if not np.abs(step).max() <= LONGEST_CORRECTION:
                return None
            q[self._dependent] -= step
        return None

    def with_joints(self, posture: ArrayLike, values: ArrayLike) -> Array:
        """Return a posture with closed loops and the hand's joints (n,) at other positions.

        If the loops do not close there, the joints move as far as they close.
        """
        q = np.array(posture, dtype=np.float64)
        start, wanted = q[self.indices], np.asarray(values, dtype=np.float64)
        done, part = 0.0, 1.0
        while done < 1.0 and part >= LEAST_PART:
            aim = min(done + part, 1.0)
            change = start + aim * (wanted - start) - q[self.indices]
            trial = q.copy()
            trial[self.indices] += change
            trial[self._dependent] += self._following(q, self.indices) @ change
            closed = self._closed(trial)
            if closed is None:
                part *= 0.5
            else:
                q, done = closed, aim
        return q

    def exceeded(self, posture: ArrayLike) -> tuple[str, ...]:
        """Return the dependent joints beyond their limits."""
        q = np.asarray(posture, dtype=np.float64)
        over = np.maximum(self._least - q, q - self._most)
        return tuple(self.names[k] for k in self._dependent if over[k] > BEYOND)

    # -- coefficients ------------------------------------------------------------------------------------------------

    @cached_property
    def _row_coefficients(self) -> RowCoefficients:
        return row_coefficients(self.system)

    def motion(self, here: TreePosition) -> Coefficients:
        """Return G and H of all joints with respect to the hand's joints; other independent joints are held."""
        rows = self._row_coefficients(here, self._numbers)
        both = Coefficients.stacked([here.joints(self._independent), rows])
        if here.order > 2:
            both = replace(both, D=None)
        return both.inverse_by(np.linalg.pinv(both.G, RANK)).columns(self.joints)

    def in_joints(self, model: TransferredModel, here: TreePosition) -> TransferredModel:
        """Return a model of the tree in the hand's joints."""
        return model.by(self.motion(here))

    def coefficients(self, posture: ArrayLike, order: int = 2) -> Coefficients:
        """Return G and H of the six rows with respect to the hand's joints (order 1: H is zero; no third order)."""
        if order > 2:
            raise HandError(f'{self.link}: expected two orders of coefficients through closed loops, found {order}')
        if order < 2:
            G = self.pose_and_jacobian(posture)[1]
            n = len(self.joints)
            return Coefficients(tuple(self._row_names), self.joints, G, np.zeros((6, n, n)))
        here = self.model.at(posture, 2)
        return here.frame(self.frame).by(self.motion(here))

    @cached_property
    def _row_names(self) -> tuple[str, ...]:
        return self.model.at(self.home, 1).frame(self.frame).parameters

    def pose_and_jacobian(self, posture: ArrayLike) -> tuple[HandPose, Array]:
        """Return the pose and G (6, n) with respect to the hand's joints."""
        q = np.asarray(posture, dtype=np.float64)
        pose, whole = self._frame_jacobian(q)
        return pose, whole[:, self.indices] + whole[:, self._dependent] @ self._following(q, self.indices)


def hand_of(machine: Machine, link: str, joints: Sequence[str] | None = None) -> HandKinematics:
    """Return the hand of a machine relative to its base link, through closed loops if these carry the link.

    Args:
        machine: any.
        link: the hand.
        joints: that may move; None: the driven joints that move the link.

    Raises:
        HandError: an unknown link, joints that do not move it, loops that cannot be closed.
    """
    plain = HandKinematics.of(machine, link, None)
    held = [entry for entry in machine.linkages if _holds(entry, machine)]
    driven = [joint.name for joint in machine.actuated_joints]
    if not held or set(plain.carrying) <= set(driven):
        return plain if joints is None else HandKinematics.of(machine, link, joints)
    tree = build_tree(replace(machine, base=replace(machine.base, attachment='fixed'), loads=()))
    try:
        constraints = [entry.on(tree) for entry in held]
    except KeyError as error:
        raise HandError(f'machine {machine.name!r}: a constraint of the hand: {error.args[0]}') from None
    positions = initial_positions(machine)
    start = np.array([positions.get(name, 0.0) for name in tree.velocity_names])
    movable = {joint.name: joint for joint in machine.movable_joints}
    lower = {name: joint.lower for name, joint in movable.items()}
    upper = {name: joint.upper for name, joint in movable.items()}
    return LoopHand(tree, link, constraints, start, driven, joints, lower, upper)


def _holds(entry: ConstraintRecord, machine: Machine) -> bool:
    """Return whether a constraint joins parts of the machine and does not depend on time."""
    grounded = any(end.link == WORLD for end in entry.ends)
    return entry.motion is None and (machine.base.attachment == 'fixed' or not grounded)
