"""Resolved motion: joint rates, accelerations and jerks for derivatives of the hand (freeman-1985, 3-15, 3-19, 3-46).

With more joints than rows the solution is the weighted pseudo-inverse plus a task in the null space:

    v_phi = G# v + (1 - G# G) z,  G# = W^-1 G^T (G W^-1 G^T + damping)^-1

For accelerations and jerks the terms of H and D are subtracted first, so that the same G# serves all three orders. With
the inertia matrix as W it is the dynamically consistent inverse (operational space).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody.influence import Coefficients


def pseudo_inverse(G: ArrayLike, weights: ArrayLike | None = None, damping: float = 0.0) -> Array:
    """Return G# (n, P), the inverse that gives the rates with the least v^T W v.

    Args:
        G: (P, n).
        weights: (n,) positive or (n, n) positive definite; None: all one.
        damping: added to the singular values' squares, in the units of G G^T; with 0, directions with zero singular
            value are left out.

    Raises:
        ValueError: weights of another shape or not positive definite.
    """
    A = np.asarray(G, dtype=np.float64)
    root = _root(weights, A.shape[1])
    U, values, Vt = np.linalg.svd(A @ root, full_matrices=False)
    if damping > 0.0:
        inverse = values / (values**2 + damping)
    else:
        kept = values > 1e-12 * max(float(values[0]) if len(values) else 0.0, np.finfo(float).tiny)
        inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    return np.asarray(root @ (Vt.T * inverse) @ U.T)


def _root(weights: ArrayLike | None, n: int) -> Array:
    """Return R (n, n) with R R^T = W^-1."""
    if weights is None:
        return np.eye(n)
    W = np.asarray(weights, dtype=np.float64)
    W = np.diag(W) if W.ndim == 1 else W
    if W.shape != (n, n):
        raise ValueError(f'weights: expected {n} numbers or ({n}, {n}), found shape {np.shape(weights)}')
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(W)).T)
    except np.linalg.LinAlgError:
        raise ValueError('weights: expected positive numbers or a positive definite matrix') from None


def _resolved(G: Array, wanted: Array, null: ArrayLike | None, weights: ArrayLike | None, damping: float) -> Array:
    inverse = pseudo_inverse(G, weights, damping)
    result = inverse @ wanted
    if null is None:
        return np.asarray(result)
    task = np.asarray(null, dtype=np.float64)
    exact = inverse if damping <= 0.0 else pseudo_inverse(G, weights)
    return np.asarray(result + task - exact @ (G @ task))


def resolved_rate(
    hand: Coefficients,
    velocity: ArrayLike,
    null: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    damping: float = 0.0,
) -> Array:
    """Return joint rates (n,) for a velocity of the hand.

    Args:
        hand: P rows by n joints.
        velocity: (P,).
        null: (n,) joint rates wanted in the null space.
        weights: as of `pseudo_inverse`.
        damping: as of `pseudo_inverse`.
    """
    return _resolved(hand.G, np.asarray(velocity, dtype=np.float64), null, weights, damping)


def resolved_acceleration(
    hand: Coefficients,
    rates: ArrayLike,
    acceleration: ArrayLike,
    null: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    damping: float = 0.0,
) -> Array:
    """Return joint accelerations (n,) for an acceleration of the hand.

    Args:
        hand: P rows by n joints, two orders.
        rates: (n,) of the joints.
        acceleration: (P,).
        null: (n,) joint accelerations wanted in the null space.
        weights: as of `pseudo_inverse`.
        damping: as of `pseudo_inverse`.
    """
    still = np.zeros(len(hand.coordinates))
    wanted = np.asarray(acceleration, dtype=np.float64) - hand.acceleration(rates, still)
    return _resolved(hand.G, wanted, null, weights, damping)


def resolved_jerk(
    hand: Coefficients,
    rates: ArrayLike,
    accelerations: ArrayLike,
    jerk: ArrayLike,
    null: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    damping: float = 0.0,
) -> Array:
    """Return joint jerks (n,) for a jerk of the hand (3-46).

    Args:
        hand: P rows by n joints, three orders.
        rates: (n,) of the joints.
        accelerations: (n,) of the joints.
        jerk: (P,).
        null: (n,) joint jerks wanted in the null space.
        weights: as of `pseudo_inverse`.
        damping: as of `pseudo_inverse`.

    Raises:
        ValueError: coefficients without the third order.
    """
    still = np.zeros(len(hand.coordinates))
    wanted = np.asarray(jerk, dtype=np.float64) - hand.jerk(rates, accelerations, still)
    return _resolved(hand.G, wanted, null, weights, damping)
