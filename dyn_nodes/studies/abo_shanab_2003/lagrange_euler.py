"""Lagrange-Euler equations of a DH chain in trace form (abo-shanab-2003, eqs 3.1 to 3.7 and 7.1 to 7.7).

    M(q) qdd + C(q, qd) + G(q) = tau

A readable reference in the notation of the source, in plain NumPy, O(n^3), not optimized. Misprints are corrected:
second-moment matrices in (3.3), Delta_j transposed in (3.6), and the range of the third rule of (7.4).
:func:`newton_euler` is an independent check.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.studies.abo_shanab_2003.dh import Array, Chain


class JointLoads(NamedTuple):
    """Result of :func:`newton_euler`.

    Attributes:
        torque: (n,) generalized forces, N m or N.
        force: (n, 3) force of the proximal on the distal side of each joint, reference frame, N.
        moment: (n, 3) moment of the same about the origin of frame i-1, N m.
    """

    torque: Array
    force: Array
    moment: Array


def skew(vectors: Array) -> Array:
    """Return the matrices (..., 3, 3) of the cross product with vectors (..., 3)."""
    x, y, z = np.moveaxis(vectors, -1, 0)
    zero = np.zeros_like(x)
    return np.moveaxis(np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]), (0, 1), (-2, -1))


def differential_operators(chain: Chain, frames: Array) -> Array:
    """Return Delta_1 ... Delta_n (n, 4, 4), with dT_p/dq_i = Delta_i T_p for i <= p (3.4), (7.7).

    Args:
        chain: n joints.
        frames: (n + 1, 4, 4) from :meth:`Chain.frames`.
    """
    axis, origin = frames[:-1, :3, 2], frames[:-1, :3, 3]
    revolute = chain.revolute[:, np.newaxis]
    operators = np.zeros((len(chain), 4, 4), dtype=frames.dtype)
    operators[:, :3, :3] = revolute[:, :, np.newaxis] * skew(axis)
    operators[:, :3, 3] = np.where(revolute, np.cross(origin, axis), axis)
    return operators


def distal_link_matrices(chain: Chain, frames: Array) -> Array:
    """Return the sums (n, 4, 4) of T_p I_p T_p^T over p >= j: the bodies beyond joint j, in the reference frame."""
    links = frames[1:] @ chain.link_matrices @ np.swapaxes(frames[1:], 1, 2)
    return np.cumsum(links[::-1], axis=0)[::-1]


def mass_matrix(chain: Chain, q: ArrayLike) -> Array:
    """Return the inertia matrix (n, n): M_ij = Tr(Delta_i S_j Delta_j^T) for j >= i (3.3), (7.2).

    Args:
        chain: n joints.
        q: (n,) joint positions, rad or m.

    Raises:
        ValueError: wrong shape of q (as in all functions of this module).
    """
    frames = chain.frames(q)
    delta, distal = differential_operators(chain, frames), distal_link_matrices(chain, frames)
    upper = np.triu(np.einsum('iab,jbc,jac->ij', delta, distal, delta))
    return upper + np.triu(upper, 1).T


def coriolis_coefficients(chain: Chain, q: ArrayLike) -> Array:
    """Return the coefficients C_ijk (n, n, n) of qd_j qd_k in equation i: the Christoffel symbols of M (3.6), (7.4).

    C_ijk = Tr(Delta_i S_k Delta_k^T Delta_j^T) for i < k, j <= k; C_ikj = C_ijk; C_kji = -C_ijk for j <= i, k; and
    C_kjk = 0 for j <= k.
    """
    n = len(chain)
    frames = chain.frames(q)
    delta, distal = differential_operators(chain, frames), distal_link_matrices(chain, frames)
    trace = np.einsum('iab,kbc,kdc,jad->ijk', delta, distal, delta, delta, optimize=True)
    coefficients = np.zeros((n, n, n), dtype=trace.dtype)
    for k in range(n):
        for j in range(k + 1):
            for i in range(n):
                if i < k:
                    coefficients[i, j, k] = trace[i, j, k]
                elif i > k:
                    coefficients[i, j, k] = -trace[k, j, i]
                coefficients[i, k, j] = coefficients[i, j, k]
    return coefficients


def coriolis_matrix(chain: Chain, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the matrix (n, n) whose product with qd is :func:`coriolis_vector`; dM/dt - 2 C is skew-symmetric."""
    return coriolis_coefficients(chain, q) @ chain.vector(qd, 'qd')


def coriolis_vector(chain: Chain, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the Coriolis and centrifugal forces C_i (n,) = sum C_ijk qd_j qd_k (3.5), (7.3), N m or N."""
    return coriolis_matrix(chain, q, qd) @ chain.vector(qd, 'qd')


def gravity_vector(chain: Chain, q: ArrayLike) -> Array:
    """Return the gravity forces (n,): G_i = -g^T Delta_i sum m_p T_p r_p over p >= i (3.7), (7.5), N m or N."""
    frames = chain.frames(q)
    distal = distal_link_matrices(chain, frames)[:, :, 3]  # T_p I_p T_p^T e_4 = m_p T_p (r_p; 1)
    gravity = np.append(chain.gravity, 0.0)
    return -np.einsum('a,iab,ib->i', gravity, differential_operators(chain, frames), distal)


def inverse_dynamics(chain: Chain, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return the generalized forces (n,) of a motion, N m or N (3.1)."""
    acceleration = chain.vector(qdd, 'qdd')
    return mass_matrix(chain, q) @ acceleration + coriolis_vector(chain, q, qd) + gravity_vector(chain, q)


def forward_dynamics(chain: Chain, q: ArrayLike, qd: ArrayLike, torque: ArrayLike) -> Array:
    """Return the accelerations (n,) under generalized forces, rad/s2 or m/s2.

    Raises:
        numpy.linalg.LinAlgError: M is singular: a virtual link with no body beyond it, or Euler angles at
            their singular posture.
    """
    bias = coriolis_vector(chain, q, qd) + gravity_vector(chain, q)
    return np.linalg.solve(mass_matrix(chain, q), chain.vector(torque, 'torque') - bias)


def newton_euler(chain: Chain, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> JointLoads:
    """Return joint loads by recursive Newton-Euler, in vectors of the reference frame and inertia tensors.

    Only the forward kinematics is shared with the trace form. The reaction at joint i is `force[i]`, `moment[i]`; the
    opposite acts on the proximal side.
    """
    frames = chain.frames(q)
    speed, rate = chain.vector(qd, 'qd'), chain.vector(qdd, 'qdd')
    n = len(chain)
    omega, alpha, acceleration = np.zeros(3), np.zeros(3), -chain.gravity
    force, moment = np.zeros((n, 3), dtype=frames.dtype), np.zeros((n, 3), dtype=frames.dtype)
    for i, (body, revolute) in enumerate(zip(chain.bodies, chain.revolute)):
        z, proximal, distal = frames[i, :3, 2], frames[i, :3, 3], frames[i + 1, :3, 3]
        if revolute:
            alpha = alpha + z * rate[i] + np.cross(omega, z * speed[i])
            omega = omega + z * speed[i]
            sliding = np.zeros(3)
        else:
            sliding = z * rate[i] + 2.0 * np.cross(omega, z * speed[i])
        acceleration = acceleration + sliding + _rigid(omega, alpha, distal - proximal)
        rotation = frames[i + 1, :3, :3]
        arm = rotation @ body.com
        inertia = rotation @ body.inertia @ rotation.T
        force[i] = body.mass * (acceleration + _rigid(omega, alpha, arm))
        moment[i] = inertia @ alpha + np.cross(omega, inertia @ omega) + np.cross(distal + arm - proximal, force[i])
    for i in range(n - 2, -1, -1):
        moment[i] += moment[i + 1] + np.cross(frames[i + 1, :3, 3] - frames[i, :3, 3], force[i + 1])
        force[i] += force[i + 1]
    loads = np.where(chain.revolute[:, np.newaxis], moment, force)
    return JointLoads(np.einsum('ia,ia->i', frames[:-1, :3, 2], loads), force, moment)


def _rigid(omega: Array, alpha: Array, arm: Array) -> Array:
    """Return the acceleration of one end of a rigid arm relative to the other."""
    return np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
