"""Hands of separately simulated machines, and their grips on an object."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array

EYE = np.eye(3)


def skew(a: Array) -> Array:
    """Return the matrix (3, 3) of the cross product b -> a x b."""
    return np.array([(0.0, -a[2], a[1]), (a[2], 0.0, -a[0]), (-a[1], a[0], 0.0)])


def turned(vector: Array) -> Array:
    """Return the rotation (3, 3) by a rotation vector (3,), rad (Rodrigues)."""
    angle, cross = float(np.sqrt(vector @ vector)), skew(vector)
    if angle < 1e-8:
        return EYE + cross + 0.5 * cross @ cross
    return EYE + np.sin(angle) / angle * cross + (1.0 - np.cos(angle)) / angle**2 * (cross @ cross)


class HeldHand(NamedTuple):
    """Hand in the world at the start of a period, as a point (d = 3) or with its rotation (d = 6).

    Attributes:
        position, velocity: (3,) m and m/s.
        mobility: (d, d) derivative of the acceleration, linear above angular, by force above torque; zero: prescribed
            motion.
        acceleration: (d,) without a wrench on the hand, m/s2 and rad/s2.
        rotation: (3, 3) axes of its link.
        spin: (3,) angular velocity, rad/s.
    """

    position: Array
    velocity: Array
    mobility: Array
    acceleration: Array
    rotation: Array = np.eye(3)
    spin: Array = np.zeros(3)


class Grip(NamedTuple):
    """Grip of a hand on an object.

    Attributes:
        nodes: one node for a ball grasp, three for a fixed grasp.
        arms: (k, 3) positions of the nodes relative to the hand, in axes of its link, m; zero for a ball grasp.
        force, torque: limits above which the hand slips off, N and N m.
    """

    nodes: tuple[int, ...]
    arms: Array
    force: float = np.inf
    torque: float = np.inf

    @property
    def size(self) -> int:
        """Size of its wrench: 3 or 6."""
        return 3 if len(self.nodes) == 1 else 6

    @property
    def rows(self) -> Array:
        """(3k,) indices of the coordinates of its nodes."""
        return np.concatenate([np.arange(3 * node, 3 * node + 3) for node in self.nodes])

    def positions(self, hand: HeldHand) -> Array:
        """Return the positions of the nodes (k, 3) in the hand, m."""
        return np.asarray(hand.position + self.arms @ hand.rotation.T)

    def led(self, motion: Array, arms: Array) -> Array:
        """Return the velocities (3k,) of nodes at arms (k, 3) in the world, for a hand with velocities (d,)."""
        if self.size == 3:
            return motion
        return np.asarray(motion[:3] + arms @ skew(motion[3:]).T).ravel()

    def slopes(self, arms: Array) -> Array:
        """Return the derivatives (3k, d) of the node velocities by the velocities of the hand."""
        if self.size == 3:
            return np.eye(3)
        return np.concatenate([np.hstack([EYE, -skew(arm)]) for arm in arms])

    def velocities(self, hand: HeldHand) -> Array:
        """Return the velocities (d,) of a hand, linear above angular."""
        return np.concatenate([hand.velocity, hand.spin])[: self.size]
