"""A hand that is simulated elsewhere, and what it holds of an object."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array

EYE = np.eye(3)


def skew(a: Array) -> Array:
    """Return the matrix (3, 3) that takes b to a x b."""
    return np.array([(0.0, -a[2], a[1]), (a[2], 0.0, -a[0]), (-a[1], a[0], 0.0)])


def turned(vector: Array) -> Array:
    """Return the rotation (3, 3) by a rotation vector (3,), rad (Rodrigues)."""
    angle, cross = float(np.sqrt(vector @ vector)), skew(vector)
    if angle < 1e-8:
        return EYE + cross + 0.5 * cross @ cross
    return EYE + np.sin(angle) / angle * cross + (1.0 - np.cos(angle)) / angle**2 * (cross @ cross)


class HeldHand(NamedTuple):
    """A hand in the world at the start of a period. With d = 3 it is known as a point, with d = 6 in its turning, too.

    Attributes:
        position, velocity: (3,) m and m/s.
        mobility: (d, d) acceleration, linear above angular, for force above torque; zero: the hand is moved,
            whatever it holds.
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
    """What a hand holds.

    Attributes:
        nodes: one node of a ball grasp, three of a fixed one.
        arms: (k, 3) of these from the hand, in axes of its link, m; zero of a ball grasp.
        force, torque: beyond either of which the hand slips off, N and N m.
    """

    nodes: tuple[int, ...]
    arms: Array
    force: float = np.inf
    torque: float = np.inf

    @property
    def size(self) -> int:
        """Numbers of its wrench: 3 or 6."""
        return 3 if len(self.nodes) == 1 else 6

    @property
    def rows(self) -> Array:
        """(3k,) coordinates of its nodes."""
        return np.concatenate([np.arange(3 * node, 3 * node + 3) for node in self.nodes])

    def positions(self, hand: HeldHand) -> Array:
        """Return where the hand has its nodes (k, 3), m."""
        return np.asarray(hand.position + self.arms @ hand.rotation.T)

    def led(self, motion: Array, arms: Array) -> Array:
        """Return velocities (3k,) of nodes at arms (k, 3) in the world, of a hand with velocities (d,)."""
        if self.size == 3:
            return motion
        return np.asarray(motion[:3] + arms @ skew(motion[3:]).T).ravel()

    def slopes(self, arms: Array) -> Array:
        """Return (3k, d) derivatives of these by the velocities of the hand."""
        if self.size == 3:
            return np.eye(3)
        return np.concatenate([np.hstack([EYE, -skew(arm)]) for arm in arms])

    def velocities(self, hand: HeldHand) -> Array:
        """Return the velocities (d,) of a hand that matter here, linear above angular."""
        return np.concatenate([hand.velocity, hand.spin])[: self.size]
