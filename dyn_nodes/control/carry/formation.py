"""Robots around an object: positions of hands and vehicles relative to it, and the forces that deform it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.carry.robot import HoldingRobot
from dyn_nodes.control.platform_path import PlanarMotion
from dyn_nodes.teams.deformable.lattice import Lattice

MOST_STEPS = 20
BALANCED = 1e-6
"""Greatest residual of internal forces, relative to the greatest force."""


class RobotState(NamedTuple):
    """Positions (nq,) and rates (n,) of the actuated joints of a robot."""

    q: Array
    u: Array


class FormationMotion(NamedTuple):
    """Points (..., k, 3), m, with first and second derivatives."""

    position: Array
    rate: Array
    change: Array


@dataclass(frozen=True, eq=False)
class Formation:
    """Robots that hold the nodes of an object, each with its vehicle at a fixed position beside the object.

    Attributes:
        robots: m.
        load: the object; robot k holds node k.
        hands: (m, 3) in level axes of the object, from its middle, squeeze included, m.
        carriers: (m, 2) positions of the carriers in the same axes, m.
        height: of the object's middle in the world, m.
        squeeze: (m, 3) internal forces of the hands on the object in its axes; they balance each other, N.
        gravity: m/s2.
    """

    robots: tuple[HoldingRobot, ...]
    load: Lattice
    hands: Array
    carriers: Array
    height: float
    squeeze: Array
    gravity: float = 9.81

    @classmethod
    def around(
        cls, robots: Sequence[HoldingRobot], load: Lattice, reach: float, height: float, squeeze: float = 0.0
    ) -> Formation:
        """Return the formation of robots around an object, each outside of its node.

        Args:
            robots: m, one for every node.
            load: the object.
            reach: horizontal distance of every carrier from its node, m.
            height: of the object's middle in the world, m.
            squeeze: force of every hand towards the middle, projected onto forces that balance each other, N.

        Raises:
            ValueError: another number of nodes, a node in the middle, or a squeeze that the rods cannot carry.
        """
        if len(robots) != len(load.nodes):
            raise ValueError(f'expected a robot for each of {len(load.nodes)} nodes, found {len(robots)}')
        nodes = load.nodes - load.nodes.mean(axis=0)
        apart = np.linalg.norm(nodes[:, :2], axis=1, keepdims=True)
        if apart.min() < 1e-9:
            raise ValueError('expected nodes beside the middle of the object, found one above it')
        carriers = nodes[:, :2] * (1.0 + reach / apart)
        forces = inward(nodes, squeeze)
        return cls(tuple(robots), load, nodes + compressed(load, forces), carriers, height, forces)

    def spread(self, motion: PlanarMotion) -> tuple[FormationMotion, FormationMotion]:
        """Return hands (t, m, 3) and carriers (t, m, 2) for a motion of the object, as a rigid body."""
        hands = carried(motion, self.hands)
        hands.position[..., 2] += self.height
        flat = carried(motion, np.column_stack([self.carriers, np.zeros(len(self.robots))]))
        return hands, FormationMotion(*(part[..., :2] for part in flat))

    @cached_property
    def load_mass(self) -> Array:
        """(m, m) of the object, kg."""
        return np.asarray(self.load.mass.toarray())

    def load_forces(self, hands: FormationMotion) -> Array:
        """Return (m, 3) forces of the hands on the object for the motion (m, 3) of its nodes, N."""
        load = self.load
        weight = np.outer(load.lumped_mass, (0.0, 0.0, self.gravity))
        return np.asarray(self.load_mass @ hands.change + load.forces(hands.position, hands.rate) + weight)


def carried(motion: PlanarMotion, points: Array) -> FormationMotion:
    """Return points (k, 3) of a body that moves in the plane, with derivatives (t, k, 3)."""
    yaw, rate, change = (part[:, 0] for part in (motion.pose, motion.velocity, motion.acceleration))
    c, s = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    x, y = points[:, 0], points[:, 1]
    out = np.stack([c * x - s * y, s * x + c * y, np.broadcast_to(points[:, 2], c.shape[:1] + x.shape)], axis=-1)
    across = np.stack([-out[..., 1], out[..., 0], np.zeros_like(out[..., 0])], axis=-1)
    flat = out * (1.0, 1.0, 0.0)
    center = [np.column_stack([part[:, 1:], np.zeros(len(yaw))])[:, None] for part in
              (motion.pose, motion.velocity, motion.acceleration)]  # fmt: skip
    w, a = rate[:, None, None], change[:, None, None]
    return FormationMotion(center[0] + out, center[1] + w * across, center[2] + a * across - w**2 * flat)


def inward(nodes: Array, force: float) -> Array:
    """Return balanced forces (m, 3) towards the middle of nodes (m, 3), of equal size before projection, N."""
    along = nodes.mean(axis=0) - nodes
    pulls = force * along / np.linalg.norm(along, axis=1, keepdims=True)
    arms = nodes - nodes.mean(axis=0)
    rigid = np.zeros((6, 3 * len(nodes)))
    for k, arm in enumerate(arms):
        rigid[:3, 3 * k : 3 * k + 3] = np.eye(3)
        rigid[3:, 3 * k : 3 * k + 3] = np.cross(arm, np.eye(3)).T
    flat = pulls.ravel()
    return np.asarray(flat - np.linalg.pinv(rigid) @ (rigid @ flat)).reshape(-1, 3)


def compressed(load: Lattice, forces: Array) -> Array:
    """Return displacements (m, 3) of the first m nodes by forces (m, 3) that balance each other, m.

    Raises:
        ValueError: a force that no deformation of the rods balances.
    """
    rest = load.nodes - load.nodes.mean(axis=0)
    wanted = np.zeros_like(rest)
    wanted[: len(forces)] = forces
    moved = np.zeros_like(rest)
    if not forces.any():
        return moved[: len(forces)]
    flexible = np.linalg.pinv(load.linear_stiffness.toarray(), rcond=1e-9)
    for _ in range(MOST_STEPS):
        left = wanted - load.forces(rest + moved)
        if np.abs(left).max() <= BALANCED * np.abs(forces).max():
            return moved[: len(forces)]
        moved = moved + (flexible @ left.ravel()).reshape(-1, 3)
    raise ValueError(
        f'expected internal forces that the rods of the object balance, found {np.abs(left).max():.3g} N left'
    )
