"""Traced dynamics of a constrained system in the rates of a few of its velocities, v = N u.

    motion = ReducedMotion.of(blocks, ['left_drive', 'right_drive', 'arm_joint_1'], [q])
    motion.inertia, motion.along(load), motion.point(frame).jacobian

The rows of the constraints are solved for all other velocities once, symbolically (`elimination`). Generalized forces
along u are efforts of these velocities. The expressions contain v and hold for any v that satisfies the constraints;
`in_rates` replaces v by N u.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.elimination import Elimination, choose, traced_complement
from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.multibody import Frame
from dyn_nodes.multibody.spatial import Expression


class PointMotion(NamedTuple):
    """The origin of a frame in the world.

    Attributes:
        position, velocity: (3,) m and m/s.
        jacobian: (3, n) velocity per rate.
        drift: (3,) acceleration at constant rates, m/s2.
    """

    position: Expression
    velocity: Expression
    jacobian: Expression
    drift: Expression


class ReducedMotion:
    """The allowed motions of a constrained system, as expressions in q, v and the parameters of its blocks.

    Args:
        blocks: blocks of the system.
        elimination: elimination of the system.
        order: indices of its independent velocities in the order of the rates; empty: tree order.

    Attributes:
        blocks, elimination: the arguments.
        indices: indices of the rates in the velocities (nv,).
        rates: (n,) symbols u.
        complement: (nv, n) N.
        start: (nv,) accelerations at constant rates.
        checks: expressions that are above zero if the elimination is valid.
    """

    def __init__(self, blocks: ConstraintBlocks, elimination: Elimination, order: Sequence[int] = ()) -> None:
        self.blocks, self.elimination = blocks, elimination
        self.indices = tuple(order) or elimination.independent
        N, self.start, self.checks = traced_complement(blocks, elimination)
        self.complement: Expression = N[:, [elimination.independent.index(index) for index in self.indices]]
        self.rates: Expression = ca.SX.sym('u', len(self.indices))

    @classmethod
    def of(cls, blocks: ConstraintBlocks, names: Sequence[str], positions: Sequence[ArrayLike]) -> ReducedMotion:
        """Return the motions in the rates of the named velocities, in this order.

        Args:
            blocks: blocks of the system.
            names: names of velocities that determine all others.
            positions: (nq,) each, satisfying the constraints, for which the elimination is chosen.

        Raises:
            MethodError: they do not determine all velocities, or the rank of the rows differs between positions.
        """
        indices = [blocks.tree.velocity_index(name) for name in names]
        elimination = choose(blocks, [np.asarray(q, dtype=float) for q in positions], independent=indices)
        if sorted(indices) != list(elimination.independent):
            missing = sorted(set(elimination.independent) - set(indices))
            listed = ', '.join(blocks.tree.velocity_names[k] for k in missing)
            raise MethodError(f'expected drives that determine the motion, found none for {listed}')
        return cls(blocks, elimination, indices)

    @property
    def velocity(self) -> Expression:
        """Return N u (nv,)."""
        return ca.mtimes(self.complement, self.rates)

    @cached_property
    def _mass(self) -> Expression:
        return ca.sparsify(self.blocks.mass_matrix)

    @cached_property
    def inertia(self) -> Expression:
        """Return the mass matrix (n, n) along the rates."""
        return ca.mtimes(self.complement.T, ca.mtimes(self._mass, self.complement))

    def along(self, load: Expression) -> Expression:
        """Return the efforts (n,) along the rates of generalized forces (nv,)."""
        return ca.mtimes(self.complement.T, load)

    def free(self, load: Expression) -> Expression:
        """Return the part (n,) of generalized forces (nv,) that changes the rates: inertia du/dt."""
        return self.along(load - ca.mtimes(self._mass, self.start))

    def point(self, frame: Frame) -> PointMotion:
        """Return the motion of a frame's origin."""
        state = self.blocks.state
        J = ca.sparsify(state.jacobian(frame)[3:, :])
        drift = state.jacobian_rate_times_velocity(frame)[3:] + ca.mtimes(J, self.start)
        position, velocity = state.frame_pose(frame).p, state.frame_velocity(frame).v
        return PointMotion(position, velocity, ca.mtimes(J, self.complement), drift)

    def in_rates(self, expression: Expression) -> Expression:
        """Return an expression with v replaced by N u."""
        return ca.substitute(expression, self.blocks.v, ca.densify(self.velocity))
