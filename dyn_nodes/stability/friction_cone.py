"""The friction cone of a contact, and its disc and chord (tanner-1998, section 5.3, fig. 4).

    g(F) = sqrt(F_x^2 + F_y^2) - mu F_z <= 0

is convex, but not strictly: on lines through the apex it is linear. With a prescribed normal force the cone reduces to
a disc, with a prescribed rolling force as well to a chord of the disc.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array


def cone_function(force: ArrayLike, friction: ArrayLike) -> Array:
    """Return g (...) of forces (..., 3) along two tangents and the normal, N: negative inside the cone (5.7)."""
    F = np.asarray(force, dtype=np.float64)
    return np.hypot(F[..., 0], F[..., 1]) - np.asarray(friction, dtype=np.float64) * F[..., 2]


def cone_gradient(force: ArrayLike, friction: float) -> Array:
    """Return the gradient (3,) of g at a force (3,). Raises ValueError on the axis, where it does not exist."""
    fx, fy, _ = np.asarray(force, dtype=np.float64)
    tangential = _off_axis(fx, fy)
    return np.array([fx / tangential, fy / tangential, -friction])


def cone_hessian(force: ArrayLike) -> Array:
    """Return the Hessian (3, 3) of g at a force (3,), with the eigenvalues 0, 0 and 1 / sqrt(F_x^2 + F_y^2) (5.8).

    Raises ValueError on the axis, where it does not exist.
    """
    fx, fy, _ = np.asarray(force, dtype=np.float64)
    result = np.zeros((3, 3))
    result[:2, :2] = np.array([[fy * fy, -fx * fy], [-fx * fy, fx * fx]]) / _off_axis(fx, fy) ** 3
    return result


def _off_axis(fx: float, fy: float) -> float:
    tangential = float(np.hypot(fx, fy))
    if tangential == 0.0:
        raise ValueError('force: expected a tangential part; the cone function has no derivative on its axis')
    return tangential


def lateral_chord(normal: ArrayLike, traction: ArrayLike, friction: ArrayLike) -> Array:
    """Return the greatest lateral force L = sqrt((mu F_z)^2 - F_x^2) of every wheel, N; NaN if F_x makes it slip."""
    disc = np.asarray(friction, dtype=np.float64) * np.asarray(normal, dtype=np.float64)
    pull = np.abs(np.asarray(traction, dtype=np.float64))
    with np.errstate(invalid='ignore'):
        return np.where(pull <= disc, np.sqrt((disc - pull) * (disc + pull)), np.nan)


def greatest_drive_torque(normal: ArrayLike, radius: ArrayLike, friction: ArrayLike) -> Array:
    """Return the greatest drive torque without slip of a wheel without lateral force, mu r F_z, N m."""
    disc = np.asarray(friction, dtype=np.float64) * np.asarray(normal, dtype=np.float64)
    return disc * np.asarray(radius, dtype=np.float64)


def necessary_lateral_check(chords: ArrayLike, lateral: float) -> bool:
    """Return whether the sum of the chords reaches the lateral force of the motion (the source's last test).

    The condition is necessary, not sufficient: it omits the yaw moment. `admissible_reactions` is the complete test.
    """
    reach = np.asarray(chords, dtype=np.float64)
    return bool(np.isfinite(reach).all() and reach.sum() >= abs(lateral))
