"""Adams-Bashforth-Moulton method of variable order and step: predict, evaluate, correct, evaluate; extrapolated.

The history is stored as modified divided differences of the rate (Krogh 1974; Hairer, Norsett and Wanner, Solving
Ordinary Differential Equations I, III.5): with psi[j] = t_n - t_{n-j},

    phi[j] = psi[1] ... psi[j] f[t_n, ..., t_{n-j}],
    f(t_n + s) ~ sum_j phi[j] prod_{i<j} (s + psi[i]) / psi[i + 1].

A step of order k takes two evaluations, a rejected step one. Orders are 1 to MOST_ORDER; a start, and a restart at a
kink of an input, has order 1 and doubles the step and raises the order until the error estimate prevents it.
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from dyn_nodes.compile.integrators.adaptive import error_norm
from dyn_nodes.compile.integrators.codes import (
    RHS,
    check_run,
    copy,
    evaluate,
    guarded_off,
    keep,
    kernel,
    sound,
    table_input,
)

MOST_ORDER = 12
SIZE = MOST_ORDER + 3
ORDER, STORED, STEADY, STARTING = 0, 1, 2, 3
"""Indices of `memory`: order, number of available differences, steps of the current length, starting phase (0 or 1)."""


@kernel
def basis_integrals(psi, span, ahead, count, w):
    """Write to w[j] (count + 1) the mean over a span of the basis function j, which starts at the newest point.

    Args:
        psi: (SIZE,) distances to the past points.
        span: to integrate over, s; may be negative.
        ahead: distance from the newest point to the point at which the basis functions are 1, s: 0 for differences at
            the newest point, the step for differences at its end.
        count: last function.
        w: (SIZE,) filled.
    """
    moments = np.empty(SIZE + 1)
    for q in range(count + 1):
        moments[q] = 1.0 / (q + 1.0)
    w[0] = 1.0
    for j in range(1, count + 1):
        reach = psi[j] if ahead == 0.0 else ahead + psi[j - 1]
        constant, slope = (span + psi[j - 1]) / reach, span / reach
        for q in range(count + 1 - j):
            moments[q] = constant * moments[q] - slope * moments[q + 1]
        w[j] = moments[0]


@kernel
def restart(codes, x, u, p, phi, psi, memory):
    """Discard the history: order 1 from the rate at x. Return a status."""
    memory[ORDER], memory[STORED], memory[STEADY], memory[STARTING] = 1, 1, 0, 1
    for j in range(SIZE):
        psi[j] = 0.0
    return evaluate(codes[RHS], x, u, p, phi[0])


@kernel
def first_step(x, rate, rtol, atol, h):
    """Return the length of a first step, at most h, for a rate that changes by its magnitude within 1 s."""
    size = error_norm(rate, x, x, rtol, atol)
    return 0.25 * np.sqrt(0.5 / size) if 32.0 * size * h * h > 1.0 else h


@kernel
def next_break(t, end, knots, table, cursor):
    """Return the first time after t at which a slope of the inputs jumps, or `end`."""
    last = knots.shape[0] - 1
    for j in range(max(cursor, 0), last + 1):
        if knots[j] <= t:
            continue
        if knots[j] >= end:
            return end
        for k in range(table.shape[1]):
            before = (table[j, k] - table[j - 1, k]) / (knots[j] - knots[j - 1]) if j > 0 else 0.0
            after = (table[j + 1, k] - table[j, k]) / (knots[j + 1] - knots[j]) if j < last else 0.0
            if abs(after - before) > 1e-9 * (abs(after) + abs(before)):
                return knots[j]
    return end


@kernel
def differences(phi, ratio, rate, count, result):
    """Write the differences 0 to `count` after a step from the rate at its end; `ratio` scales the previous ones."""
    for i in range(rate.shape[0]):
        value = rate[i]
        result[0, i] = value
        for j in range(count):
            value -= ratio[j] * phi[j, i]
            result[j + 1, i] = value


@kernel
def scaled(h, g, j, difference, x, y, rtol, atol, error):
    """Return the error of order j of a step, in units of the tolerance."""
    for i in range(x.shape[0]):
        error[i] = h * (g[j] - g[j - 1]) * difference[i]
    return error_norm(error, x, y, rtol, atol)


@kernel
def next_order(errors, memory):
    """Choose the order of the next step from the errors of orders k - 2 to k + 1; return the error of that order.

    Args:
        errors: (4,) of orders k - 2, k - 1, k, k + 1; infinite if unknown.
        memory: changed.
    """
    k = memory[ORDER]
    two, one, same, above = errors[0], errors[1], errors[2], errors[3]
    lower = (k == 2 and one <= 0.5 * same) or (k > 2 and max(two, one) <= same)
    if lower or k == MOST_ORDER:
        memory[STARTING] = 0
    if memory[STARTING] == 1:
        memory[ORDER] = k + 1
        return same
    if lower or (above < np.inf and one <= min(same, above)):
        memory[ORDER] = k - 1
        return one
    if k < MOST_ORDER and above < (same if k > 1 else 0.5 * same):
        memory[ORDER] = k + 1
        return above
    return same


@kernel
def growth(error, order):
    """Return the factor of the next step: 2, 1, or 0.5 to 0.9, which limits the growth of the differences."""
    wanted = (0.5 / max(error, 1e-300)) ** (1.0 / (order + 1.0))
    return 2.0 if wanted >= 2.0 else 1.0 if wanted >= 1.0 else max(0.5, min(0.9, wanted))


@kernel
def advance(h, phi, new, psi, memory):
    """Make the end of an accepted step the newest point, with the differences `new`."""
    count = min(memory[STORED] + 1, memory[ORDER] + 2)
    memory[STORED] = count
    for j in range(SIZE - 1, 0, -1):
        psi[j] = psi[j - 1] + h
    for j in range(count):
        copy(new[j], phi[j])


@kernel
def interpolated(x, phi, psi, order, back, w, y):
    """Write to y the state at `back` (negative, s) from the newest point, whose state is x."""
    basis_integrals(psi, back, 0.0, order, w)
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(order + 1):
            s += w[j] * phi[j, i]
        y[i] = x[i] + back * s


@kernel
def predict(x, phi, psi, h, memory, w, ratio, y):
    """Write to y the predicted state at the end of a step, and to `ratio` the scale factors of the differences."""
    order = memory[ORDER]
    basis_integrals(psi, h, 0.0, order - 1, w)
    ratio[0] = 1.0
    for j in range(1, memory[STORED]):
        ratio[j] = ratio[j - 1] * (h + psi[j - 1]) / psi[j]
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(order):
            s += w[j] * phi[j, i]
        y[i] = x[i] + h * s


@kernel
def shortened(h, error, stopped, failures, memory):
    """Return the length of the next try after a failed step; the third failure in a row discards the history."""
    memory[STARTING], memory[STEADY] = 0, 0
    factor = 0.5 if stopped == 0 and error >= 0.0 and failures < 3 else 0.25
    if failures >= 3:
        memory[ORDER], memory[STORED] = 1, 1
        if error >= 0.0:
            factor = min(factor, max(0.01, np.sqrt(0.5 / error)))
    return h * factor


@kernel
def keep_reached(x, t, times, target, phi, psi, order, w, y, trace):
    """Store the states at the times up to t, the newest point; return the index of the next time."""
    while target < times.shape[0] and times[target] <= t:
        if times[target] == t:
            keep(x, trace, target)
        else:
            interpolated(x, phi, psi, order, times[target] - t, w, y)
            keep(y, trace, target)
        target += 1
    return target


@kernel
def run_adams(codes, x, times, knots, table, p, guard_limit, rtol, atol, h0, hmin, trace):
    """Advance x in place through `times` by the Adams method; store the states at `times` in `trace`.

    Steps end at the last time and at jumps of a slope of the inputs; other states are interpolated.
    Return (status, number of times reached, steps accepted, steps rejected).
    """
    check_run(x, knots, table, times.shape[0], trace)
    if times.shape[0] < 1 or atol.shape[0] != x.shape[0]:
        raise ValueError('expected one time at least, and an absolute tolerance a state')
    n = x.shape[0]
    phi, new = np.zeros((SIZE, n)), np.zeros((SIZE, n))
    psi, ratio, w, g = np.zeros(SIZE), np.zeros(SIZE), np.zeros(SIZE), np.zeros(SIZE)
    y, rate, error = np.zeros(n), np.zeros(n), np.zeros(n)
    u, guard, errors = np.empty(table.shape[1]), np.empty(1), np.empty(4)
    memory = np.zeros(4, np.int64)
    end, target, accepted, rejected, failures = times[times.shape[0] - 1], 1, 0, 0, 0
    t, h = times[0], h0
    keep(x, trace, np.int64(0))
    cursor = table_input(t, knots, table, np.int64(0), u)
    stopped = restart(codes, x, u, p, phi, psi, memory)
    if stopped != 0:
        return stopped, 1, accepted, rejected
    stop = next_break(t, end, knots, table, cursor)
    h = first_step(x, phi[0], rtol, atol, h)
    while t < end:
        remaining = stop - t
        step = min(h, remaining)
        last = step >= remaining * (1.0 - 1e-12)
        if last:
            step = remaining
        k, available = memory[ORDER], memory[STORED]
        predict(x, phi, psi, step, memory, w, ratio, y)
        basis_integrals(psi, step, step, k + 1, g)
        cursor = table_input(t + step, knots, table, cursor, u)
        stopped = evaluate(codes[RHS], y, u, p, rate)
        errors[2] = np.inf
        if stopped == 0:
            differences(phi, ratio, rate, k, new)
            for i in range(n):
                y[i] += step * g[k] * new[k, i]
            errors[2] = scaled(step, g, k, new[k], x, y, rtol, atol, error)
        if errors[2] <= 1.0:
            for back in range(1, 3):
                errors[2 - back] = np.inf
                if k > back:
                    errors[2 - back] = scaled(step, g, k - back, new[k - back], x, y, rtol, atol, error)
            if not sound(y):
                return 1, target, accepted, rejected
            stopped = evaluate(codes[RHS], y, u, p, rate)
        if stopped != 0 or not errors[2] <= 1.0:
            rejected += 1
            failures += 1
            h = shortened(step, errors[2], stopped, failures, memory)
            if h < hmin:
                return stopped if stopped != 0 else np.int64(3), target, accepted, rejected
            continue
        accepted += 1
        failures = 0
        differences(phi, ratio, rate, min(available, k + 1), new)
        errors[3] = np.inf
        if available > k and memory[STEADY] >= k:
            errors[3] = scaled(step, g, k + 1, new[k + 1], x, y, rtol, atol, error)
        copy(y, x)
        t = stop if last else t + step
        advance(step, phi, new, psi, memory)
        target = keep_reached(x, t, times, target, phi, psi, k, w, y, trace)
        if guarded_off(codes, x, guard, guard_limit):
            return 2, target, accepted, rejected
        factor = growth(next_order(errors, memory), memory[ORDER])
        if memory[STARTING] == 1:
            factor = 2.0
        grown = step * factor
        memory[STEADY] = memory[STEADY] + 1 if grown == step else 0
        h = max(h, grown) if last else grown
        if last and t < end:
            stop = next_break(t, end, knots, table, cursor)
            memory[ORDER], memory[STORED], memory[STEADY], memory[STARTING] = 1, 1, 0, 1
            h = first_step(x, phi[0], rtol, atol, h)
    return 0, times.shape[0], accepted, rejected
