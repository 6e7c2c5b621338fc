"""Rates, accelerations and jerks of joints, resolved from the derivatives of the hand's motion at each instant.

A motion of the hand with derivatives v, a, j under a scale s of time, of rate r, has the derivatives v s, a s^2 + v r
and j s^3 + 3 a s r; the unknown rate of r is left out. The joints follow by (3-15), (3-19) and (3-46) of freeman-1985.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.kinematics import HandKinematics, HandTask
from dyn_nodes.control.hand.resolved_motion import resolved_acceleration, resolved_jerk, resolved_rate

THIRD = 3


class HandRates(NamedTuple):
    """First three derivatives of the hand's motion, (6,) each."""

    velocity: Array
    acceleration: Array
    jerk: Array

    def scaled(self, scale: float, rise: float) -> HandRates:
        """Return the derivatives of the motion under a scale of time and its rate, 1/s."""
        v, a, j = self
        return HandRates(v * scale, a * scale**2 + v * rise, j * scale**3 + 3.0 * a * scale * rise)

    def seen_from(self, rotation: Array) -> HandRates:
        """Return the derivatives in fixed axes, columns of `rotation` (3, 3)."""
        return HandRates(*(np.concatenate([rotation.T @ each[:3], rotation.T @ each[3:]]) for each in self))


def resolved(
    hand: HandKinematics,
    task: HandTask,
    order: int,
    posture: Array,
    motion: HandRates,
    differences: tuple[Array, Array, Array],
) -> tuple[Array, Array, Array]:
    """Return rates, accelerations and jerks (n,) of the joints; derivatives beyond the order are `differences`.

    Args:
        hand: link and joints.
        task: rows of the hand's motion.
        order: 1: rates, 2: accelerations too, 3: jerks too.
        posture: positions of all joints.
        motion: of the hand in axes of the base link.
        differences: (n,) rates, accelerations and jerks by differences, which the null space follows.
    """
    here = hand.coefficients(posture, order)
    chosen = here.rows([here.parameters[k] for k in task.indices])
    rows = [each[task.indices] for each in motion]
    v, a, j = differences
    v = resolved_rate(chosen, rows[0], v)
    if order > 1:
        a = resolved_acceleration(chosen, v, rows[1], a)
    if order >= THIRD:
        j = resolved_jerk(chosen, v, a, rows[2], j)
    return v, a, j
