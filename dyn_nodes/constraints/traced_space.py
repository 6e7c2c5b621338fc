"""Operational-space dynamics in the speeds of driven joints as one traced function, for controllers.

    space = TracedSpace(blocks, frame, ['left_drive', 'right_drive', 'arm_joint_1', ...], [q])
    dynamics, position = space.at(q, rates)
    dynamics.efforts_along(acceleration, spare)

On a rolling vehicle, the rates of its driven wheels and its arm determine all velocities, including the base's. In
these speeds, generalized efforts are the efforts of the drives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.operational_space import OperationalSpace, projected
from dyn_nodes.constraints.reduced_motion import ReducedMotion
from dyn_nodes.multibody import Frame
from dyn_nodes.multibody.dynamics import bias_force


@dataclass(frozen=True, eq=False)
class DriveEquations:
    """Equations of motion in the speeds of n drives at a state; see `SpeedEquations`."""

    inertia: Array
    convective: Array
    gravity: Array
    elements: Array


class TracedSpace:
    """Dynamics at the origin of a frame along the world's axes, in the speeds of driven joints.

    Args:
        blocks: blocks of the machine.
        frame: frame fixed in a body.
        joints: n names; their velocities determine all others.
        positions: (nq,) each, satisfying the constraints.
        payload: mass at the payload point of the tree, kg; 0 without one.

    Raises:
        MethodError: the joints do not determine the motion.
    """

    def __init__(
        self, blocks: ConstraintBlocks, frame: Frame, joints: Sequence[str], positions: Sequence[ArrayLike]
    ) -> None:
        self.blocks, self.frame, self.joints = blocks, frame, tuple(joints)
        self.motion = ReducedMotion.of(blocks, joints, positions)
        self.numbers = blocks.numbers(None)

    @property
    def payload(self) -> float:
        """Return the mass at the payload point of the tree, kg; 0 without payload point."""
        names = self.blocks.parameters.names
        return float(self.numbers[names.index('payload_mass')]) if 'payload_mass' in names else 0.0

    @payload.setter
    def payload(self, mass: float) -> None:
        names = self.blocks.parameters.names
        if 'payload_mass' in names:
            self.numbers[names.index('payload_mass')] = mass

    @cached_property
    def _evaluate(self) -> ca.Function:
        blocks, motion = self.blocks, self.motion
        plain = bias_force(blocks.state, blocks.parameters.gravity)
        weight = ca.substitute(plain, blocks.v, ca.SX.zeros(blocks.tree.nv))
        point = motion.point(self.frame)
        parts = [
            motion.inertia, -motion.free(weight - plain), motion.along(weight), motion.along(plain - blocks.bias),
            point.jacobian, point.drift, point.position,
        ]  # fmt: skip
        flat = motion.in_rates(ca.vertcat(*(ca.vec(ca.densify(part).T) for part in parts)))  # CasADi stacks columns
        return ca.Function('space', [blocks.q, motion.rates, blocks.parameters.vector], [flat])

    def at(self, q: ArrayLike, rates: ArrayLike) -> tuple[OperationalSpace, Array]:
        """Return the dynamics at a state, and the position (3,) of the point, m.

        Args:
            q: (nq,) positions.
            rates: (n,) rates of the driven joints, in their order.

        Raises:
            MethodError: the drives do not move the point in all directions here.
        """
        n = len(self.joints)
        shapes = ((n, n), (n,), (n,), (n,), (3, n), (3,), (3,))
        values = self._evaluate(np.asarray(q, float), np.asarray(rates, float), self.numbers).full().ravel()
        parts = np.split(values, np.cumsum([np.prod(shape) for shape in shapes])[:-1])
        M, C, G, E, J, h, position = map(np.reshape, parts, shapes)
        return projected(DriveEquations(M, C, G, E), J, h), position
