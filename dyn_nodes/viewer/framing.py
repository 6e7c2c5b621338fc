"""What an eye sees: where it has to be so that points lie inside the picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array

FIELD_OF_VIEW = 0.75
"""Of the height of the picture, rad."""
USED = (0.94, 0.9)
"""Part of the width and of the height of a picture in which the machine is put."""
WIDEST = 1.0
"""Half of the width that is used at most, in halves of the height: on a wide page the machine stays in its middle."""
EDGE = 0.97
"""Part of the picture beyond which something counts as leaving it."""


def visible(aspect: float) -> Array:
    """Return half of the used width and height (2,), in halves of the height, of a picture of width over height."""
    return np.array((min(USED[0] * aspect, WIDEST), USED[1]))


def directions(ahead: Array, up: Sequence[float] = (0.0, 0.0, 1.0)) -> Array:
    """Return unit vectors ahead, right and up, rows (3, 3), of an eye that looks along `ahead` (3,), not along `up`."""
    forward = ahead / np.linalg.norm(ahead)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    return np.array((forward, right, np.cross(right, forward)))


def distance_to_show(points: Array, target: Array, away: Array, seen: Array) -> float:
    """Return the distance from a target at which an eye sees all points.

    Args:
        points: (n, 3), at least one.
        target: (3,) that it looks at.
        away: (3,) unit vector from the target to the eye, not vertical.
        seen: (2,) of `visible`.
    """
    axes = directions(-away)
    across = np.abs((points - target) @ axes[1:].T)
    return float(((across / (seen * np.tan(0.5 * FIELD_OF_VIEW))).max(axis=1) + (points - target) @ away).max())


def excursion(points: Array, eye: Array, ahead: Array) -> Array:
    """Return how far points (n, 3) lie across and up in the picture (n, 2), in halves of its height; inf behind it."""
    axes = directions(ahead)
    depth = (points - eye) @ axes[0]
    across = np.abs((points - eye) @ axes[1:].T)
    ratio = np.divide(across, depth[:, None], out=np.full_like(across, np.inf), where=depth[:, None] > 0.0)
    return np.asarray(ratio / np.tan(0.5 * FIELD_OF_VIEW))


def eye_that_sees(points: Array, eye: Array, ahead: Array, aspect: float) -> Array | None:
    """Return the place (3,) nearest to that of an eye from which it sees all points, None where it sees them.

    It keeps its direction. With F ahead and R to the right, an eye at (F, R) sees a point (f, r) where
    |r - R| <= k (f - F): the points bound R - k F from below and R + k F from above, and so F from above.

    Args:
        points: (n, 3), at least one.
        eye: (3,).
        ahead: (3,) direction in which it looks.
        aspect: width of its picture over the height.
    """
    if (excursion(points, eye, ahead) <= EDGE * np.array((aspect, 1.0))).all():
        return None
    axes = directions(ahead)
    slopes = visible(aspect) * np.tan(0.5 * FIELD_OF_VIEW)
    along, across = points @ axes[0], points @ axes[1:].T
    low = (across - slopes * along[:, None]).max(axis=0)
    high = (across + slopes * along[:, None]).min(axis=0)
    depth = min(float(eye @ axes[0]), float(((high - low) / (2 * slopes)).min()))
    place = np.clip(eye @ axes[1:].T, low + slopes * depth, high - slopes * depth)
    return np.asarray(depth * axes[0] + place @ axes[1:])
