"""Constrained accelerations as compiled loops over small dense arrays, for use inside a compiled step.

Two of the methods of `solve.py`: the operator form (Cholesky of M and of J M^-1 J^T) for independent rows and a regular
mass matrix, and the reduced form (orthogonal complement by a rank-revealing factorization) for everything else. Both
return the rank, so that a run detects a change of rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.common import cholesky as dense
from dyn_nodes.common.loops import parts_of

# sums may be reordered for vector registers; NaN and infinity keep their meaning
FLAGS = {'contract', 'nsz', 'reassoc'}
part = parts_of(__file__, fastmath=FLAGS)
OPERATOR, REDUCED = 0, 1
SINGULAR, CONTRADICTORY = -1, -2
"""Results of `accelerate` in place of a rank: a motion without mass; CONTRADICTORY less the rank: dependent rows that
require different motions."""
PIVOT = 1e-13
AGREEMENT = 1e-6
cholesky, forward, backward = part(dense.factorize), part(dense.forward), part(dense.backward)


@part
def factorize_rows(B: Any, V: Any, order: Any, tolerance: float) -> int:
    """Factorize the rows of B (m, n): B[order] = L Q^T with row pivoting, by Householder reflections.

    B is overwritten by its permuted rows times Q: L in the first `rank` columns. Row k of V is the reflection k (zero
    before column k, scaled so that H = I - v v^T). Returns the rank: pivots above tolerance times the first.
    """
    m, n = B.shape
    norms = np.empty(m)
    first = np.empty(m)
    for i in range(m):
        order[i] = i
        total = 0.0
        for j in range(n):
            total += B[i, j] * B[i, j]
        norms[i] = first[i] = total
    greatest = 0.0
    for k in range(min(m, n)):
        pivot = k
        for i in range(k, m):
            if norms[i] < 1e-8 * first[i]:
                # recompute the remainder of a row after many subtractions
                total = 0.0
                for j in range(k, n):
                    total += B[i, j] * B[i, j]
                norms[i] = first[i] = total
            if norms[i] > norms[pivot]:
                pivot = i
        if pivot != k:
            for j in range(n):
                B[k, j], B[pivot, j] = B[pivot, j], B[k, j]
            order[k], order[pivot] = order[pivot], order[k]
            norms[pivot], first[pivot] = norms[k], first[k]
        total = 0.0
        for j in range(k, n):
            total += B[k, j] * B[k, j]
        length = np.sqrt(total)
        if k == 0:
            greatest = length
        if not length > tolerance * greatest:
            return k
        alpha = -length if B[k, k] > 0.0 else length
        head = B[k, k] - alpha
        scale = 1.0 / np.sqrt(length * (length + abs(B[k, k])))
        V[k, k] = head * scale
        for j in range(k):
            V[k, j] = 0.0
        for j in range(k + 1, n):
            V[k, j] = B[k, j] * scale
            B[k, j] = 0.0
        B[k, k] = alpha
        for i in range(k + 1, m):
            total = 0.0
            for j in range(k, n):
                total += V[k, j] * B[i, j]
            for j in range(k, n):
                B[i, j] -= total * V[k, j]
            norms[i] -= B[i, k] * B[i, k]
    return min(m, n)


@part
def reflect(V: Any, rank: int, x: Any) -> None:
    """Overwrite x (n,) by Q x."""
    n = x.shape[0]
    for k in range(rank - 1, -1, -1):
        total = 0.0
        for j in range(k, n):
            total += V[k, j] * x[j]
        for j in range(k, n):
            x[j] -= total * V[k, j]


@part
def reflect_back(V: Any, rank: int, x: Any) -> None:
    """Overwrite x (n,) by Q^T x."""
    n = x.shape[0]
    for k in range(rank):
        total = 0.0
        for j in range(k, n):
            total += V[k, j] * x[j]
        for j in range(k, n):
            x[j] -= total * V[k, j]


@part
def least_multipliers(L: Any, order: Any, rank: int, g: Any, multipliers: Any) -> None:
    """Write the multipliers of least norm with L^T lambda[order] = g, L (m, rank) lower trapezoidal."""
    m = L.shape[0]
    if rank == m:
        backward(L, g, rank)
        for i in range(m):
            multipliers[order[i]] = g[i]
        return
    T = np.empty((rank, m))
    for i in range(m):
        for k in range(rank):
            T[k, i] = L[i, k] if k <= i else 0.0
    W, turn = np.empty((rank, m)), np.empty(rank, np.int64)
    inner_rank = factorize_rows(T, W, turn, 1e-14)
    w = np.zeros(m)
    for k in range(inner_rank):
        w[k] = g[turn[k]]
    forward(T, w, inner_rank)
    reflect(W, inner_rank, w)
    for i in range(m):
        multipliers[order[i]] = w[i]


@part
def coordinates(L: Any, order: Any, rank: int, gamma: Any, y: Any) -> None:
    """Write y (n,) with L y = gamma[order] for the first `rank` rows, zeros after them."""
    y[:] = 0.0
    for i in range(rank):
        total = gamma[order[i]]
        for k in range(i):
            total -= L[i, k] * y[k]
        y[i] = total / L[i, i]


@part
def motions(M: Any, V: Any, rank: int, N: Any, MN: Any, inertia: Any) -> bool:
    """Write the allowed motions N (n - rank, n), M N, and the factor of N M N^T; return False if it does not exist."""
    n, free = M.shape[0], N.shape[0]
    for f in range(free):
        for i in range(n):
            N[f, i] = 0.0
        N[f, rank + f] = 1.0
        reflect(V, rank, N[f])
    for f in range(free):
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += M[i, j] * N[f, j]
            MN[f, i] = total
        for g in range(f + 1):
            total = 0.0
            for i in range(n):
                total += N[g, i] * MN[f, i]
            inertia[f, g] = total
    return cholesky(inertia, free, PIVOT)


@part
def respond(M: Any, N: Any, MN: Any, inertia: Any, load: Any, a: Any, rest: Any, c: Any) -> None:
    """Add to a (n,), required by the rows, the motion under a load (n,); `rest` becomes load - M a."""
    n, free = M.shape[0], N.shape[0]
    for i in range(n):
        rest[i] = load[i]
        for j in range(n):
            rest[i] -= M[i, j] * a[j]
    for f in range(free):
        total = 0.0
        for i in range(n):
            total += N[f, i] * rest[i]
        c[f] = total
    forward(inertia, c, free)
    backward(inertia, c, free)
    for f in range(free):
        for i in range(n):
            a[i] += c[f] * N[f, i]
            rest[i] -= c[f] * MN[f, i]


@part
def reduced(M: Any, load: Any, J: Any, gamma: Any, tolerance: float, want: bool, a: Any, multipliers: Any) -> int:
    """Write accelerations (and multipliers) by the orthogonal complement of J; return the rank or an error code."""
    m, n = J.shape
    B, V, order = J.copy(), np.empty((min(m, n), n)), np.empty(m, np.int64)
    rank = factorize_rows(B, V, order, tolerance)
    largest = 1.0
    for i in range(m):
        a_i = abs(gamma[i])
        if a_i > largest:
            largest = a_i
    coordinates(B, order, rank, gamma, a)
    for i in range(rank, m):
        total = -gamma[order[i]]
        for k in range(rank):
            total += B[i, k] * a[k]
        if abs(total) > AGREEMENT * largest:
            return CONTRADICTORY - rank
    reflect(V, rank, a)
    free = n - rank
    N, MN, rest = np.empty((free, n)), np.empty((free, n)), np.empty(n)
    inertia, c = np.empty((free, free)), np.empty(free)
    if not motions(M, V, rank, N, MN, inertia):
        return SINGULAR
    respond(M, N, MN, inertia, load, a, rest, c)
    if want:
        # J^T lambda = M a - load
        for i in range(n):
            rest[i] = -rest[i]
        reflect_back(V, rank, rest)
        least_multipliers(B, order, rank, rest[:rank].copy(), multipliers)
    return rank


@part
def accelerate(
    M: Any, load: Any, J: Any, gamma: Any, method: int, tolerance: float, want: bool, a: Any, multipliers: Any
) -> int:
    """Write the accelerations a (n,) and, if wanted, the multipliers (m,); return the rank or an error code.

    M a = load + J^T lambda, J a = gamma. `method` is OPERATOR or REDUCED; the operator form falls back to the reduced
    one if it does not apply, and always writes the multipliers. `tolerance` is the tolerance of the rank, relative to
    the longest row.
    """
    m, n = J.shape
    if method == OPERATOR:
        L = M.copy()
        if cholesky(L, n, PIVOT):
            Z, w = J.copy(), load.copy()
            forward(L, w, n)
            for i in range(m):
                forward(L, Z[i], n)
            Lambda = np.empty((m, m))
            for i in range(m):
                total = gamma[i]
                for k in range(n):
                    total -= Z[i, k] * w[k]
                multipliers[i] = total
                for j in range(i + 1):
                    total = 0.0
                    for k in range(n):
                        total += Z[i, k] * Z[j, k]
                    Lambda[i, j] = total
            if cholesky(Lambda, m, max(PIVOT, tolerance * tolerance)):
                forward(Lambda, multipliers, m)
                backward(Lambda, multipliers, m)
                for i in range(m):
                    for k in range(n):
                        w[k] += multipliers[i] * Z[i, k]
                backward(L, w, n)
                for i in range(w.shape[0]):  # a slice would compile an error message about shapes
                    a[i] = w[i]
                return m
    return reduced(M, load, J, gamma, tolerance, want, a, multipliers)
