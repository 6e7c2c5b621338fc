"""Operational-space dynamics in the speeds of driven joints, as one traced function: for controllers.

    space = TracedSpace(blocks, frame, ['left_drive', 'right_drive', 'arm_joint_1', ...], [q])
    here, place = space.at(q, rates)
    here.efforts_along(acceleration, spare)

On a vehicle that rolls the rates of its driven wheels and of its arm determine all velocities, that of the base, too.
In these speeds generalized efforts are the efforts of the drives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.elimination import choose, traced_complement
from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.constraints.operational_space import OperationalSpace, projected
from dyn_nodes.multibody import Frame
from dyn_nodes.multibody.dynamics import bias_force

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DriveEquations:
    """Equations of motion in the speeds of n drives at a state; see `SpeedEquations`."""

    inertia: Array
    convective: Array
    gravity: Array
    elements: Array


class TracedSpace:
    """The dynamics at the origin of a frame, three directions in the world, in the speeds of driven joints.

    Args:
        blocks: of the machine.
        frame: fixed in a body.
        joints: n names; their velocities determine all others.
        positions: (nq,) each, meeting the constraints.
        payload: kg at the payload point of the tree, where it has one.

    Raises:
        MethodError: the joints do not determine the motion.
    """

    def __init__(
        self, blocks: ConstraintBlocks, frame: Frame, joints: Sequence[str], positions: Sequence[ArrayLike]
    ) -> None:
        self.blocks, self.frame, self.joints = blocks, frame, tuple(joints)
        places = [blocks.tree.velocity_index(name) for name in joints]
        self.elimination = choose(blocks, positions, independent=places)
        if sorted(places) != list(self.elimination.independent):
            left = sorted(set(self.elimination.independent) - set(places))
            names = ', '.join(blocks.tree.velocity_names[k] for k in left)
            raise MethodError(f'expected drives that determine the motion, found none for {names}')
        self._order = np.argsort(np.argsort(places))
        self.numbers = blocks.numbers(None)

    @property
    def payload(self) -> float:
        """Mass at the payload point of the tree, kg; 0 where it has none."""
        names = self.blocks.parameters.names
        return float(self.numbers[names.index('payload_mass')]) if 'payload_mass' in names else 0.0

    @payload.setter
    def payload(self, mass: float) -> None:
        names = self.blocks.parameters.names
        if 'payload_mass' in names:
            self.numbers[names.index('payload_mass')] = mass

    @cached_property
    def _evaluate(self) -> ca.Function:
        blocks, state = self.blocks, self.blocks.state
        N, particular, _ = traced_complement(blocks, self.elimination)
        plain = bias_force(state, blocks.parameters.gravity)
        weight = ca.substitute(plain, blocks.v, ca.SX.zeros(blocks.tree.nv))
        M, J = blocks.mass_matrix, state.jacobian(self.frame)[3:6, :]
        parts = [
            ca.mtimes(N.T, ca.mtimes(M, N)), ca.mtimes(N.T, plain - weight + ca.mtimes(M, particular)),
            ca.mtimes(N.T, weight), ca.mtimes(N.T, plain - blocks.bias), ca.mtimes(J, N),
            ca.mtimes(J, particular) + state.jacobian_rate_times_velocity(self.frame)[3:6],
            state.frame_pose(self.frame).p,
        ]  # fmt: skip
        u = ca.SX.sym('u', len(self.joints))
        parts = ca.substitute(parts, [blocks.v], [ca.densify(ca.mtimes(N, u))])
        flat = ca.vertcat(*(ca.vec(ca.densify(part).T) for part in parts))  # CasADi stacks columns
        return ca.Function('space', [blocks.q, u, blocks.parameters.vector], [flat])

    def at(self, q: ArrayLike, rates: ArrayLike) -> tuple[OperationalSpace, Array]:
        """Return the dynamics at a state, and where the point is (3,), m.

        Args:
            q: (nq,) positions.
            rates: (n,) of the driven joints, in their order.

        Raises:
            MethodError: the drives do not move the point in all directions here.
        """
        n, order = len(self.joints), self._order
        u = np.empty(n)
        u[order] = rates
        shapes = ((n, n), (n,), (n,), (n,), (3, n), (3,), (3,))
        found = self._evaluate(np.asarray(q, float), u, self.numbers).full().ravel()
        parts = np.split(found, np.cumsum([np.prod(shape) for shape in shapes])[:-1])
        M, C, G, E, J, h, place = map(np.reshape, parts, shapes)
        own = DriveEquations(M[np.ix_(order, order)], C[order], G[order], E[order])
        return projected(own, J[:, order], h), place
