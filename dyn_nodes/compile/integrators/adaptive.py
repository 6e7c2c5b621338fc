"""Adaptive integrators: Dormand and Prince's explicit pair, and the implicit RODAS3 with the exact Jacobian.

A step into states without a rate (`STOPPED`) is rejected; the run ends when the step becomes too small.
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from dyn_nodes.compile.integrators.codes import (
    JACOBIAN,
    RHS,
    check_run,
    evaluate,
    guarded_off,
    keep,
    kernel,
    sound,
    table_input,
)

DOPRI_C = np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
DOPRI_A = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
DOPRI_E = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
RODAS_A = np.array([[0, 0, 0], [0, 0, 0], [2.0, 0, 0], [2.0, 0, 1.0]])
RODAS_C = np.array([[0, 0, 0], [4.0, 0, 0], [1.0, -1.0, 0], [1.0, -1.0, -8 / 3]])
RODAS_G = np.array([0.5, 1.5, 0.0, 0.0])


@kernel
def error_norm(error, x, y, rtol, atol):
    """Return the root mean square of the error, each component in units of its tolerance."""
    total = 0.0
    for i in range(x.shape[0]):
        scale = atol[i] + rtol * max(abs(x[i]), abs(y[i]))
        total += (error[i] / scale) ** 2
    return np.sqrt(total / x.shape[0])


@kernel
def run_dopri5(codes, x, times, knots, table, p, guard_limit, rtol, atol, h0, hmin, trace):
    """Advance x in place through `times` by Dormand and Prince's 5(4) pair; store the states at `times` in `trace`.

    Return (status, number of times reached, steps accepted, steps rejected).
    """
    check_run(x, knots, table, times.shape[0], trace)
    if times.shape[0] < 1 or atol.shape[0] != x.shape[0]:
        raise ValueError('expected one time at least, and an absolute tolerance a state')
    n = x.shape[0]
    k = np.empty((7, n))
    y, error = np.empty(n), np.empty(n)
    u, guard = np.empty(table.shape[1]), np.empty(1)
    t, h = times[0], h0
    keep(x, trace, np.int64(0))
    cursor = table_input(t, knots, table, np.int64(0), u)
    accepted, rejected = 0, 0
    stopped = evaluate(codes[RHS], x, u, p, k[0])
    if stopped != 0:
        return stopped, 1, accepted, rejected
    for target in range(1, times.shape[0]):
        while t < times[target]:
            remaining = times[target] - t
            step = min(h, remaining)
            last = step >= remaining * (1.0 - 1e-12)
            stopped = np.int64(0)
            for stage in range(1, 7):
                for i in range(n):
                    s = 0.0
                    for j in range(stage):
                        s += DOPRI_A[stage, j] * k[j, i]
                    y[i] = x[i] + step * s
                cursor = table_input(t + DOPRI_C[stage] * step, knots, table, cursor, u)
                stopped = evaluate(codes[RHS], y, u, p, k[stage])
                if stopped != 0:
                    break
            for i in range(n):
                s = 0.0
                for j in range(7):
                    s += DOPRI_E[j] * k[j, i]
                error[i] = step * s
            norm = error_norm(error, x, y, rtol, atol) if stopped == 0 else np.inf
            if norm <= 1.0:
                accepted += 1
                t = times[target] if last else t + step
                for i in range(n):
                    x[i] = y[i]
                    k[0, i] = k[6, i]
                if not sound(x):
                    return 1, target, accepted, rejected
                if guarded_off(codes, x, guard, guard_limit):
                    return 2, target, accepted, rejected
            else:
                rejected += 1
            if not norm >= 0.0:
                norm = 1e6
            factor = 0.9 * max(norm, 1e-10) ** -0.2
            grown = step * min(5.0, max(0.2, factor))
            h = grown if norm > 1.0 or not last else max(h, grown)
            if h < hmin:
                return stopped if stopped != 0 else np.int64(3), target, accepted, rejected
        keep(x, trace, target)
    return 0, times.shape[0], accepted, rejected


@kernel
def factorize(matrix, order):
    """Replace a square matrix by its factors L and U with row permutation `order`; return False if it is singular.

    Crout's scheme with row pivoting. A NaN pivot counts as singular, too.
    """
    n = matrix.shape[0]
    for k in range(n):
        order[k] = k
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        if not abs(matrix[pivot, k]) > 0.0:
            return False
        if pivot != k:
            order[k], order[pivot] = order[pivot], order[k]
            for j in range(n):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
        inverse = 1.0 / matrix[k, k]
        for i in range(k + 1, n):
            factor = matrix[i, k] * inverse
            matrix[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    matrix[i, j] -= factor * matrix[k, j]
    return True


@kernel
def substitute(matrix, order, right, result):
    """Solve for `result` with the factors of `factorize`."""
    n = matrix.shape[0]
    for i in range(n):
        s = right[order[i]]
        for j in range(i):
            s -= matrix[i, j] * result[j]
        result[i] = s
    for i in range(n - 1, -1, -1):
        s = result[i]
        for j in range(i + 1, n):
            s -= matrix[i, j] * result[j]
        result[i] = s / matrix[i, i]


@kernel
def run_rodas3(codes, x, times, knots, table, p, guard_limit, rtol, atol, h0, hmin, trace):
    """Advance x in place through `times` by the L-stable Rosenbrock method RODAS3 (order 3(2)) with the exact Jacobian.

    The time dependence of the inputs enters through df/dt by a difference along the table.
    Return (status, number of times reached, steps accepted, steps rejected).
    """
    check_run(x, knots, table, times.shape[0], trace)
    if times.shape[0] < 1 or atol.shape[0] != x.shape[0]:
        raise ValueError('expected one time at least, and an absolute tolerance a state')
    n = x.shape[0]
    k = np.empty((4, n))
    y, f, ft, error, right = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    flat, matrix, order = np.empty(n * n), np.empty((n, n)), np.empty(n, np.int64)
    u, v, guard = np.empty(table.shape[1]), np.empty(table.shape[1]), np.empty(1)
    t, h = times[0], h0
    keep(x, trace, np.int64(0))
    cursor = np.int64(0)
    accepted, rejected = 0, 0
    for target in range(1, times.shape[0]):
        while t < times[target]:
            remaining = times[target] - t
            step = min(h, remaining)
            last = step >= remaining * (1.0 - 1e-12)
            cursor = table_input(t, knots, table, cursor, u)
            stopped = evaluate(codes[RHS], x, u, p, f)
            if stopped == 0:
                stopped = evaluate(codes[JACOBIAN], x, u, p, flat)
            if stopped != 0:
                return stopped, target, accepted, rejected
            cursor = table_input(t + step, knots, table, cursor, v)
            stopped = evaluate(codes[RHS], x, v, p, ft)
            for i in range(n):
                ft[i] = (ft[i] - f[i]) / step
                for j in range(n):
                    matrix[i, j] = -flat[j * n + i]
                matrix[i, i] += 2.0 / step
            stages = 4 if stopped == 0 and factorize(matrix, order) else 0
            for stage in range(stages):
                if stage > 1:
                    for i in range(n):
                        s = x[i]
                        for j in range(stage):
                            s += RODAS_A[stage, j] * k[j, i]
                        y[i] = s
                    cursor = table_input(t + step, knots, table, cursor, v)
                    stopped = evaluate(codes[RHS], y, v, p, f)
                    if stopped != 0:
                        break
                for i in range(n):
                    s = 0.0
                    for j in range(stage):
                        s += RODAS_C[stage, j] * k[j, i]
                    right[i] = f[i] + s / step + step * RODAS_G[stage] * ft[i]
                substitute(matrix, order, right, k[stage])
            for i in range(n):
                y[i] = x[i] + 2.0 * k[0, i] + k[2, i] + k[3, i]
                error[i] = k[3, i]
            norm = error_norm(error, x, y, rtol, atol) if stages == 4 and stopped == 0 else np.inf
            if norm <= 1.0:
                accepted += 1
                t = times[target] if last else t + step
                for i in range(n):
                    x[i] = y[i]
                if not sound(x):
                    return 1, target, accepted, rejected
                if guarded_off(codes, x, guard, guard_limit):
                    return 2, target, accepted, rejected
            else:
                rejected += 1
            if not norm >= 0.0:
                norm = 1e6
            grown = step * min(5.0, max(0.2, 0.9 * max(norm, 1e-10) ** (-1.0 / 3.0)))
            h = grown if norm > 1.0 or not last else max(h, grown)
            if h < hmin:
                return stopped if stopped != 0 else np.int64(3), target, accepted, rejected
        keep(x, trace, target)
    return 0, times.shape[0], accepted, rejected
