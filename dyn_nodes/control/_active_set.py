"""The dual active-set method for torques between limits, as a kernel that allocates no work arrays.

    min 1/2 t' W t   subject to   A t = b,   lower <= t <= upper

W is symmetric positive definite (n, n), A (m, n) has full row rank. Goldfarb and Idnani (1983): start at the optimum
without limits, then add violated limits one after another; every step raises the dual value, so that the method
ends after finitely many steps. Limits that coincide (a feathered motor) need no special case.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.common import cholesky as dense
from dyn_nodes.control._kernels import kernel

DONE, INFEASIBLE, RANK_DEFICIENT, TOO_LONG = 0, 1, 2, 3
ROUNDS = 50
"""Greatest number of steps per unknown."""
INDEPENDENT = 1e-9
"""Least part of a limit's normal that is independent of the equations and of the other active limits, squared."""
PIVOT = 1e-13
cholesky, forward, backward = kernel(dense.factorize), kernel(dense.forward), kernel(dense.backward)


@kernel
def substitute(S, size, x):
    """Solve S S' x = x in place, for the factor in the lower triangle of S."""
    forward(S, x, size)
    backward(S, x, size)


@kernel
def project(W, A, side, free, WF, Y, S):
    """Factor W on the free torques (WF), Y = W^-1 A' there (n, m), and the Schur complement S = A Y (m, m)."""
    n, m = W.shape[0], A.shape[0]
    n_free = 0
    for i in range(n):
        if side[i] == 0:
            free[n_free] = i
            n_free += 1
    for a in range(n_free):
        for c in range(a + 1):
            WF[a, c] = W[free[a], free[c]]
    if not cholesky(WF, n_free, PIVOT):
        return n_free, False
    for j in range(m):
        column = Y[j]
        for a in range(n_free):
            column[a] = A[j, free[a]]
        substitute(WF, n_free, column)
    for j in range(m):
        for k in range(j + 1):
            total = 0.0
            for a in range(n_free):
                total += A[j, free[a]] * Y[k, a]
            S[j, k] = total
    return n_free, cholesky(S, m, PIVOT)


def workspace(n, m):
    """Return the length of `data` of `active_set`."""
    return 2 * n * n + 2 * n * m + m * m + 5 * n + m


@kernel
def active_set(data, b, torque, side):
    """Fill torque (n,) and the side (n,) of each: -1 at its lower limit, 0 free, 1 at its upper limit.

    Args:
        data: W (n, n), A (m, n), lower (n,), upper (n,), the limits' multipliers (n,), then scratch: one array, since
            every array costs a call from Python about 0.2 us.
        b: (m,).
        torque: filled.
        side: filled.

    Returns DONE, INFEASIBLE, RANK_DEFICIENT or TOO_LONG.
    """
    n, m = torque.shape[0], b.shape[0]
    offset = n * n
    W = data[:offset].reshape(n, n)
    A = data[offset : offset + n * m].reshape(m, n)
    offset += n * m
    lower, upper = data[offset : offset + n], data[offset + n : offset + 2 * n]
    multiplier = data[offset + 2 * n : offset + 3 * n]
    offset += 3 * n
    WF = data[offset : offset + n * n].reshape(n, n)
    offset += n * n
    Y = data[offset : offset + n * m].reshape(m, n)
    offset += n * m
    S = data[offset : offset + m * m].reshape(m, m)
    offset += m * m
    step, y, size = (
        data[offset : offset + n],
        data[offset + n : offset + n + m],
        data[offset + n + m : offset + 2 * n + m],
    )
    free = np.empty(n, np.int64)
    for i in range(n):
        side[i], multiplier[i] = 0, 0.0
    if not project(W, A, side, free, WF, Y, S)[1]:
        return RANK_DEFICIENT
    for j in range(m):
        y[j] = b[j]
    substitute(S, m, y)
    scale = 0.0
    for i in range(n):
        torque[i] = 0.0
        for j in range(m):
            torque[i] += Y[j, i] * y[j]
        scale = max(scale, abs(torque[i]))
    tolerance = 1e-12 * max(scale, 1e-300)
    for _ in range(ROUNDS * n):
        worst, gap, end = -1, tolerance, 0
        for i in range(n):
            if side[i] == 0:
                if lower[i] - torque[i] > gap:
                    worst, gap, end = i, lower[i] - torque[i], -1
                if torque[i] - upper[i] > gap:
                    worst, gap, end = i, torque[i] - upper[i], 1
        if worst < 0:
            return DONE
        status = take_in(worst, end, W, A, lower, upper, torque, multiplier, side, free, WF, Y, S, step, y, size)
        if status != DONE:
            return status
    return TOO_LONG


@kernel
def take_in(p, end, W, A, lower, upper, torque, multiplier, side, free, WF, Y, S, step, y, size):
    """Make the violated limit of torque p active, dropping active ones that turn against it."""
    n, m = W.shape[0], A.shape[0]
    bound = lower[p] if end < 0 else upper[p]
    entering = 0.0  # multiplier of the entering limit
    for _ in range(ROUNDS * n):
        n_free, regular = project(W, A, side, free, WF, Y, S)
        if not regular:
            return INFEASIBLE  # the free torques cannot balance the wrench
        # direction of the torques, at unit rate of the new multiplier: along the inward normal -end, balanced by A
        for a in range(n_free):
            size[a] = -float(end) if free[a] == p else 0.0
        substitute(WF, n_free, size)
        for j in range(m):
            y[j] = 0.0
            for a in range(n_free):
                y[j] += A[j, free[a]] * size[a]
        substitute(S, m, y)
        slope, whole = 0.0, 0.0
        for a in range(n_free):
            step[a] = size[a]
            for j in range(m):
                step[a] -= Y[j, a] * y[j]
            if free[a] == p:
                slope, whole = -end * step[a], -end * size[a]
        full = np.inf
        if slope > INDEPENDENT * whole:
            full = -end * (bound - torque[p]) / slope
        partial, dropped = np.inf, -1
        for i in range(n):
            if side[i] != 0:
                rate = limit_rate(i, W, A, side, free, n_free, step, y, m)
                if rate < 0.0 and -multiplier[i] / rate < partial:
                    partial, dropped = -multiplier[i] / rate, i
        length = min(partial, full)
        if length == np.inf:
            return INFEASIBLE
        for i in range(n):
            if side[i] != 0:
                multiplier[i] += length * limit_rate(i, W, A, side, free, n_free, step, y, m)
        entering += length
        if full < np.inf:
            for a in range(n_free):
                torque[free[a]] += length * step[a]
        if full <= partial:
            side[p], multiplier[p], torque[p] = end, entering, bound
            return DONE
        side[dropped], multiplier[dropped] = 0, 0.0
    return TOO_LONG


@kernel
def limit_rate(i, W, A, side, free, n_free, step, y, m):
    """Return the rate of the multiplier of an active limit along the step, from W t - A' lambda."""
    total = 0.0
    for a in range(n_free):
        total += W[i, free[a]] * step[a]
    for j in range(m):
        total += A[j, i] * y[j]
    return -side[i] * total
