"""Algebra of three- and four-dimensional arrays (freeman-1985, Appendix A, pp. 150 to 152; p. 71).

Shapes: G (P, M), H (P, M, M), D (P, M, M, M); the first axis is for parameters (planes), the others for coordinates,
the last differentiation first: H[p, m, n] = d G[p, n] / d phi_m, D[p, l, m, n] = d H[p, m, n] / d phi_l.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array


def dot_product(A: ArrayLike, C: ArrayLike) -> Array:
    """Return the generalized scalar product A . C: every plane of the result is a combination of the planes of C.

    Args:
        A: (P, N).
        C: (N, M, M), or an array with any axes after the first.

    Returns:
        (P, M, M), sum over k of A[p, k] C[k].
    """
    return np.tensordot(np.asarray(A, float), np.asarray(C, float), axes=(1, 0))


def sandwich(A: ArrayLike, C: ArrayLike) -> Array:
    """Return the matrix quadratic form A^T C A, plane by plane.

    Args:
        A: (M, Q).
        C: (P, M, M).

    Returns:
        (P, Q, Q).
    """
    B = np.asarray(A, float)
    return np.asarray(B.T @ np.asarray(C, float) @ B)


def bilinear(a: ArrayLike, C: ArrayLike, b: ArrayLike) -> Array:
    """Return a^T C b (P,) for C (P, M, M): a (M,) on the axis of the later differentiation, b (M,) on the other."""
    return np.asarray(np.asarray(C, float) @ np.asarray(b, float) @ np.asarray(a, float))


def quadratic(b: ArrayLike, C: ArrayLike) -> Array:
    """Return the vector quadratic form b^T C b (P,) for C (P, M, M) and b (M,)."""
    return bilinear(b, C, b)


def cubic(b: ArrayLike, D: ArrayLike) -> Array:
    """Return (b^T D b) b (P,) for D (P, M, M, M) and b (M,)."""
    rates = np.asarray(b, float)
    return np.asarray(np.asarray(D, float) @ rates @ rates @ rates)


def transposed(C: ArrayLike) -> Array:
    """Return C^T (P, M, M) of C (P, M, M), plane by plane."""
    return np.swapaxes(np.asarray(C, float), 1, 2)


def cross_columns(G: ArrayLike, b: ArrayLike) -> Array:
    """Return the generalized cross product G^T x b (3, M): the columns of G (3, M), each crossed with b (3,)."""
    return np.cross(np.asarray(G, float), np.asarray(b, float), axisa=0, axisb=0).T


def cross_planes(G: ArrayLike) -> Array:
    """Return G^T x G (M, 3, M) for G (3, M): plane k has the columns g_k x g_n."""
    columns = np.asarray(G, float).T
    return np.swapaxes(np.cross(columns[:, None, :], columns[None, :, :]), 1, 2)


def turning_power(G: ArrayLike, inertia: ArrayLike) -> Array:
    """Return G^T I (G^T x G) (M, M, M), plane by plane: element (k, m, n) is g_m . I (g_k x g_n) (2-194).

    Args:
        G: (3, M) rotation coefficients of a body.
        inertia: (3, 3) about its mass centre, world axes.
    """
    return np.asarray((np.asarray(G, float).T @ np.asarray(inertia, float)) @ cross_planes(G))
