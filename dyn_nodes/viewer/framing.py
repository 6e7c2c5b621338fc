"""Framing: camera positions for which points lie inside the picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array

FIELD_OF_VIEW = 0.75
"""Vertical field of view, rad."""
USED = (0.94, 0.9)
"""Fractions of the width and height of a picture used for the machine."""
WIDEST = 1.0
"""Maximum half width used, in halves of the height; on a wide page the machine stays in the middle."""
EDGE = 0.97
"""Fraction of the picture beyond which a point counts as outside."""


def visible(aspect: float) -> Array:
    """Return half of the used width and height (2,), in halves of the height, for an aspect ratio."""
    return np.array((min(USED[0] * aspect, WIDEST), USED[1]))


def directions(ahead: Array, up: Sequence[float] = (0.0, 0.0, 1.0)) -> Array:
    """Return unit vectors forward, right and up, rows (3, 3), for a direction of view (3,) not parallel to `up`."""
    forward = ahead / np.linalg.norm(ahead)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    return np.array((forward, right, np.cross(right, forward)))


def distance_to_show(points: Array, target: Array, away: Array, seen: Array) -> float:
    """Return the distance from a target at which a camera sees all points.

    Args:
        points: (n, 3), at least one.
        target: (3,) of the camera.
        away: (3,) unit vector from the target to the camera, not vertical.
        seen: (2,) of `visible`.
    """
    axes = directions(-away)
    across = np.abs((points - target) @ axes[1:].T)
    return float(((across / (seen * np.tan(0.5 * FIELD_OF_VIEW))).max(axis=1) + (points - target) @ away).max())


def excursion(points: Array, eye: Array, ahead: Array) -> Array:
    """Return horizontal and vertical offsets (n, 2) of points (n, 3) in the picture, in halves of its height.

    Points behind the camera have inf.
    """
    axes = directions(ahead)
    depth = (points - eye) @ axes[0]
    across = np.abs((points - eye) @ axes[1:].T)
    ratio = np.divide(across, depth[:, None], out=np.full_like(across, np.inf), where=depth[:, None] > 0.0)
    return np.asarray(ratio / np.tan(0.5 * FIELD_OF_VIEW))


def eye_that_sees(points: Array, eye: Array, ahead: Array, aspect: float) -> Array | None:
    """Return the nearest position (3,) from which a camera sees all points; None if it already does.

    The direction of view is unchanged. With F forward and R to the right, a camera at (F, R) sees a point (f, r) if
    |r - R| <= k (f - F). The points bound R - k F from below and R + k F from above, and therefore F from above.

    Args:
        points: (n, 3), at least one.
        eye: (3,) position of the camera.
        ahead: (3,) direction of view.
        aspect: width of the picture over its height.
    """
    if (excursion(points, eye, ahead) <= EDGE * np.array((aspect, 1.0))).all():
        return None
    axes = directions(ahead)
    slopes = visible(aspect) * np.tan(0.5 * FIELD_OF_VIEW)
    along, across = points @ axes[0], points @ axes[1:].T
    low = (across - slopes * along[:, None]).max(axis=0)
    high = (across + slopes * along[:, None]).min(axis=0)
    depth = min(float(eye @ axes[0]), float(((high - low) / (2 * slopes)).min()))
    lateral = np.clip(eye @ axes[1:].T, low + slopes * depth, high - slopes * depth)
    return np.asarray(depth * axes[0] + lateral @ axes[1:])
