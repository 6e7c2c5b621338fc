"""Planar spatial algebra: the operators of arms on a platform that move in a plane (yesiloglu-2007, C17, section 5.1).

A planar velocity is [omega; v_x; v_y], a planar force [torque; f_x; f_y], in world axes, at the origin of a link's
joint. z = x times y. The matrices are dense, as in the source: a check of the recursive forms, not for simulation. The
signs of the link inertia matrix follow the projected eq. 2.20 (the print has them reversed, F35).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array


@dataclass(frozen=True)
class PlanarLink:
    """A link on a revolute joint, along the x axis of its frame.

    Attributes:
        length: from its joint to the next joint or to the tip, m.
        mass: kg.
        com: distance of the centre of mass from the joint, m.
        inertia: about the joint, kg m2.
    """

    length: float
    mass: float
    com: float
    inertia: float


@dataclass(frozen=True, eq=False)
class PlanarArm:
    """A serial arm: position of its foot in the platform's frame (2,), m, and its links."""

    foot: ArrayLike
    links: tuple[PlanarLink, ...]


@dataclass(frozen=True, eq=False)
class PlanarDynamics:
    """Platform and arms at one state, in the order [omega, v_x, v_y, joints of arm 1, joints of arm 2, ...].

    Attributes:
        M: (n, n) mass matrix. C: (n,) velocity terms, M a + C + J^T F_t = tau.
        J: (3 p, n) velocities of the tips. J_rate: (3 p,) dJ/dt v.
        tips: (p, 2) positions, m.
        momentum: (3,) [about the world's origin; linear], kg m2/s and kg m/s.
    """

    M: Array
    C: Array
    J: Array
    J_rate: Array
    tips: Array
    momentum: Array


def shift(offset: ArrayLike) -> Array:
    """Return phi (3, 3), which maps a velocity to the point at `offset` (2,) of the same body, m (eq. 5.3)."""
    x, y = np.asarray(offset, dtype=np.float64)
    return np.array([[1.0, 0.0, 0.0], [-y, 1.0, 0.0], [x, 0.0, 1.0]])


def link_inertia(mass: float, inertia: float, com: ArrayLike) -> Array:
    """Return M_k (3, 3) of a link: kg, kg m2 about the joint, centre of mass (2,) from the joint in world axes, m."""
    x, y = mass * np.asarray(com, dtype=np.float64)
    return np.array([[inertia, -y, x], [-y, mass, 0.0], [x, 0.0, mass]])


def planar_dynamics(
    platform: tuple[float, float], arms: Sequence[PlanarArm], position: ArrayLike, velocity: ArrayLike
) -> PlanarDynamics:
    """Return the dynamics of a platform with arms.

    Args:
        platform: its mass, kg, and inertia about its centre of mass, the origin of its frame, kg m2.
        arms: of the platform.
        position: [angle, x, y, joints ...], rad and m; joint 1 of an arm is relative to the platform.
        velocity: [omega, v_x, v_y, joint rates ...].
    """
    q, v = np.asarray(position, dtype=np.float64), np.asarray(velocity, dtype=np.float64)
    count, p = len(q), len(arms)
    mass, inertia = platform
    M = np.zeros((count, count))
    M[:3, :3] = np.diag([inertia, mass, mass])
    C = np.zeros(count)
    J, J_rate, tips = np.zeros((3 * p, count)), np.zeros(3 * p), np.zeros((p, 2))
    at_origin = shift(-q[1:3]).T
    momentum = at_origin @ (M[:3, :3] @ v[:3])
    start = 3
    for k, arm in enumerate(arms):
        n = len(arm.links)
        columns = slice(start, start + n)
        offsets, coms, rates = _geometry(arm, q, v, columns)
        phi, sigma_b = np.eye(3 * n), np.zeros((3 * n, 3))
        sigma_b[0:3] = shift(offsets[0])
        for row in range(1, n):
            step = shift(offsets[row])
            phi[3 * row : 3 * row + 3, : 3 * row] = step @ phi[3 * row - 3 : 3 * row, : 3 * row]
        H, masses = np.zeros((3 * n, n)), np.zeros((3 * n, 3 * n))
        a, b = np.zeros(3 * n), np.zeros(3 * n)
        carried = v[0]
        for row, (link, com) in enumerate(zip(arm.links, coms)):
            block = slice(3 * row, 3 * row + 3)
            H[3 * row, row] = 1.0
            masses[block, block] = link_inertia(link.mass, link.inertia, com)
            a[3 * row + 1 : 3 * row + 3] = -(carried**2) * offsets[row]
            b[3 * row + 1 : 3 * row + 3] = -link.mass * rates[row] ** 2 * com
            carried = rates[row]
        full = np.zeros((3 * n, count))
        full[:, :3], full[:, columns] = phi @ sigma_b, phi @ H
        M += full.T @ masses @ full
        C += full.T @ (masses @ phi @ a + b)
        sigma_t = np.zeros((3, 3 * n))
        sigma_t[:, -3:] = shift(offsets[n])
        tip = slice(3 * k, 3 * k + 3)
        J[tip] = sigma_t @ full
        J_rate[tip] = sigma_t @ phi @ a + np.append(0.0, -(rates[-1] ** 2) * offsets[n])
        tips[k] = q[1:3] + np.sum(offsets, axis=0)
        origin = q[1:3].copy()
        for row, (link, com) in enumerate(zip(arm.links, coms)):
            origin = origin + offsets[row]
            link_velocity = full[3 * row : 3 * row + 3] @ v
            momentum += shift(-origin).T @ (link_inertia(link.mass, link.inertia, com) @ link_velocity)
        start += n
    return PlanarDynamics(M, C, J, J_rate, tips, momentum)


def _geometry(arm: PlanarArm, q: Array, v: Array, columns: slice) -> tuple[Array, list[Array], Array]:
    """Return vectors from joint to joint (first from the platform's origin, last to the tip), mass centres, rates."""
    angles = q[0] + np.cumsum(q[columns])
    c, s = np.cos(q[0]), np.sin(q[0])
    foot = np.array([[c, -s], [s, c]]) @ np.asarray(arm.foot, dtype=np.float64)
    along = np.column_stack([np.cos(angles), np.sin(angles)])
    lengths = np.array([link.length for link in arm.links])
    coms = [link.com * direction for link, direction in zip(arm.links, along)]
    return np.vstack([foot, lengths[:, None] * along]), coms, v[0] + np.cumsum(v[columns])
