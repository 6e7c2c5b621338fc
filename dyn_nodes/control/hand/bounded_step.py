"""Joint steps that bring the hand to its target: least squares, damped or not, within bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array

RANK = 1e-12
"""Singular values below this part of the greatest count as zero."""


def least_squares(J: Array, wanted: Array, damping: float = 0.0, curvature: Array | None = None) -> Array:
    """Return the step s (n,) with the least |J s - wanted|^2 + damping |s|^2 + s' curvature s.

    Args:
        J: (P, n).
        wanted: (P,).
        damping: in the square of the units of J; 0: the shortest of the best steps.
        curvature: (n, n) symmetric; ignored if the sum is not positive definite. Only with damping.
    """
    if not J.shape[1]:
        return np.zeros(0)
    if damping <= 0.0:
        U, values, Vt = np.linalg.svd(J, full_matrices=False)
        kept = values > RANK * max(float(values[0]), np.finfo(float).tiny)
        return np.asarray(Vt[kept].T @ ((U.T @ wanted)[kept] / values[kept]))
    normal = J.T @ J + damping * np.eye(J.shape[1])
    if curvature is not None:
        try:
            np.linalg.cholesky(normal + curvature)
            normal = normal + curvature
        except np.linalg.LinAlgError:
            pass
    return np.asarray(np.linalg.solve(normal, J.T @ wanted))


def bounded_step(
    J: Array, wanted: Array, low: Array, high: Array, damping: float = 0.0, curvature: Array | None = None
) -> tuple[Array, NDArray[np.int64]]:
    """Return a step within bounds and the joints that it brings to a bound.

    A joint that would exceed its bound stops there, the farthest one first, and the other joints compensate.

    Args:
        J: (P, n).
        wanted: (P,).
        low: (n,) least change of each joint, at most 0.
        high: (n,) greatest change of each joint, at least 0.
        damping: as of `least_squares`.
        curvature: as of `least_squares`.

    Returns:
        (n,) step; (n,) -1 at the lower bound, 1 at the upper one, 0 between.
    """
    n = J.shape[1]
    step, side = np.zeros(n), np.zeros(n, dtype=np.int64)
    while True:
        free = side == 0
        rest = wanted - J[:, ~free] @ step[~free]
        bent = None if curvature is None else curvature[np.ix_(free, free)]
        step[free] = least_squares(J[:, free], rest, damping, bent)
        beyond = np.where(free, np.maximum(low - step, step - high), 0.0)
        if not free.any() or beyond.max() <= 0.0:
            return step, side
        k = int(np.argmax(beyond))
        side[k] = -1 if step[k] < low[k] else 1
        step[k] = low[k] if side[k] < 0 else high[k]
