"""Postures of an arm and headings on a slope that a vehicle comes to: a motion of its base has to hold there, too.

A vehicle that turns on a slope comes to headings in which the slope loads other wheels. It looks at them `TURNING`
ahead, as if it kept its rate of turn: what is found too late to be there can only be braked against at the least rate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.control.motion import PositionMotion

Array = NDArray[np.float64]

COMING = 4
"""Instants of a trajectory of the arm, up to its end."""
TURNING = (0.25, 0.5)
"""Instants ahead of a vehicle that turns on a slope, s."""
STRAIGHT = 1e-3
"""Rate of turn up to which the heading stays as it is, rad/s."""
LEVEL = 1e-6
"""Part of gravity along the ground that is no slope."""


def states_ahead(
    joints: tuple[Array, Array],
    places: Sequence[int] | NDArray[np.intp],
    arm: PositionMotion | None,
    now: float,
    turn: float,
    gravity: Array,
) -> tuple[Array, Array, Array, Array]:
    """Return q, v and a (p, n) and gravity (p, 3) of `GripModel.place`: now, then at the instants ahead.

    All joints but those of the arm stay where they are, and still. The arm has its measured positions and velocities
    now, and those of its trajectory ahead.

    Args:
        joints: positions and velocities (n,) of all movable joints.
        places: of the arm's joints among them.
        arm: its motion, or None.
        now: s.
        turn: rate of turn of the vehicle, rad/s.
        gravity: (3,) in axes of the base, m/s2.
    """
    positions, velocities = joints
    times = np.array([0.0, *_instants(0.0 if arm is None else arm.left(now), turn, gravity)])
    q, v, a = np.tile(positions, (len(times), 1)), *np.zeros((2, len(times), len(positions)))
    if arm is not None:
        for k, time in enumerate(times):
            reference = arm.sample(now + float(time))
            q[k, places], v[k, places], a[k, places] = reference
        q[0, places], v[0, places] = positions[places], velocities[places]
    heading = turn * np.minimum(times, TURNING[-1])
    c, s = np.cos(heading), np.sin(heading)
    x, y, z = gravity
    return q, v, a, np.column_stack([c * x + s * y, c * y - s * x, np.full(len(times), z)])


def _instants(left: float, turn: float, gravity: Array) -> list[float]:
    """Return the instants ahead of a vehicle whose arm still moves for some time, s."""
    found = [left * (k + 1) / COMING for k in range(COMING)] if left > 0.0 else []
    if abs(turn) > STRAIGHT and np.hypot(gravity[0], gravity[1]) > LEVEL * abs(gravity[2]):
        found += TURNING
    return sorted(found)
