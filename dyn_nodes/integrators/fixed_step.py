"""Classical Runge-Kutta steps, and the search for the instants at which a watched value changes its sign."""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from dyn_nodes.integrators.codes import (
    GUARD,
    RHS,
    SWITCH,
    WATCH,
    check_run,
    copy,
    evaluate,
    keep,
    kernel,
    level,
    sound,
    table_input,
)


@kernel
def after_step(codes, x, u, p, y):
    """Replace the discrete states, which are constant within a step, where there are any."""
    if codes[SWITCH] != 0:
        evaluate(codes[SWITCH], x, u, p, y)
        copy(y, x)


@kernel
def run_rk4(codes, x, t0, h, steps, knots, table, p, guard_limit, stride, trace):
    """Advance x in place by `steps` classical Runge-Kutta steps; keep every `stride`-th state in `trace`.

    Returns (status, steps taken).
    """
    check_run(x, knots, table, steps // stride + 1 if stride > 0 else 0, trace)
    n = x.shape[0]
    k1, k2, k3, k4, y = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    u, guard = np.empty(table.shape[1]), np.empty(1)
    cursor = np.int64(0)
    half, sixth = 0.5 * h, h / 6.0
    cursor = table_input(t0, knots, table, cursor, u)
    for step in range(steps):
        t = t0 + step * h
        evaluate(codes[RHS], x, u, p, k1)
        for i in range(n):
            y[i] = x[i] + half * k1[i]
        cursor = table_input(t + half, knots, table, cursor, u)
        evaluate(codes[RHS], y, u, p, k2)
        for i in range(n):
            y[i] = x[i] + half * k2[i]
        evaluate(codes[RHS], y, u, p, k3)
        for i in range(n):
            y[i] = x[i] + h * k3[i]
        cursor = table_input(t0 + (step + 1) * h, knots, table, cursor, u)
        evaluate(codes[RHS], y, u, p, k4)
        for i in range(n):
            x[i] += sixth * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i])
        if not sound(x):
            return 1, step + 1
        after_step(codes, x, u, p, y)
        if stride > 0 and (step + 1) % stride == 0:
            keep(x, trace, (step + 1) // stride)
        level(codes[GUARD], x, guard)
        if guard[0] < guard_limit:
            return 2, step + 1
    return 0, steps


@kernel
def single_step(codes, x, t, end, h, knots, table, p, u, k, y, twice, out):
    """Write the state after the step of `run_rk4` from x at t to out; u holds the inputs at its end then."""
    n = x.shape[0]
    half, sixth = 0.5 * h, h / 6.0
    cursor = np.int64(0)
    for i in range(n):
        y[i] = x[i]
    # one call of the kernel for all stages: it is large, and every call may be inlined
    for stage in range(4):
        cursor = table_input(end if stage == 3 else t if stage == 0 else t + half, knots, table, cursor, u)
        evaluate(codes[RHS], y, u, p, k)
        reach = half if stage < 2 else h
        for i in range(n):
            if stage == 0:
                out[i] = k[i]
            elif stage == 1:
                twice[i] = k[i]
            elif stage == 2:
                twice[i] += k[i]
            else:
                out[i] = x[i] + sixth * (out[i] + 2.0 * twice[i] + k[i])
            y[i] = x[i] + reach * k[i]


@kernel
def watch_step(codes, x, t, h, knots, table, p, u, k, y, twice, trial, values, positive, found, count):
    """Find what a step from x at t has passed; `values` are those of the watch at its end. Returns the new count."""
    watches = positive.shape[0]
    crossed = 0
    for j in range(watches):
        if (values[j] > 0.0) != positive[j]:
            crossed += 1
    if crossed == 0:
        return count
    inside = np.empty(values.shape[0])
    for j in range(watches):
        now = values[j] > 0.0
        if now == positive[j]:
            continue
        low, high, before, after = 0.0, 1.0, 0.0, values[watches + j]
        for _ in range(34):  # a step of 1 ms is then known to 6e-14 s
            middle = 0.5 * (low + high)
            single_step(codes, x, t, t + middle * h, middle * h, knots, table, p, u, k, y, twice, trial)
            evaluate(codes[WATCH], trial, u, p, inside)
            if (inside[j] > 0.0) == now:
                high, after = middle, inside[watches + j]
            else:
                low, before = middle, inside[watches + j]
        if count < found.shape[0]:
            found[count, 0] = j
            found[count, 1] = t + high * h
            found[count, 2] = 1.0 if now else 0.0
            # on the near side, where a damper that has just touched has not yet been felt
            found[count, 3] = before if low > 0.0 else after
        count += 1
        positive[j] = now
    return count


@kernel
def run_rk4_watched(codes, x, t0, h, steps, knots, table, p, guard_limit, stride, trace, positive, found):
    """Do what `run_rk4` does, and watch: see `events`. `positive` (w,) are the signs up to now.

    Returns (status, steps taken, events found); as many of them as there is room for stand in `found`.
    """
    check_run(x, knots, table, steps // stride + 1 if stride > 0 else 0, trace)
    if found.shape[1] != 4:
        raise ValueError('found: expected four columns')
    n = x.shape[0]
    k, y, twice, trial, before = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    u, guard, values = np.empty(table.shape[1]), np.empty(1), np.empty(2 * positive.shape[0])
    count = np.int64(0)
    for step in range(steps):
        t, end = t0 + step * h, t0 + (step + 1) * h
        copy(x, before)
        single_step(codes, before, t, end, h, knots, table, p, u, k, y, twice, x)
        if not sound(x):
            return 1, step + 1, count
        evaluate(codes[WATCH], x, u, p, values)
        count = watch_step(codes, before, t, h, knots, table, p, u, k, y, twice, trial, values, positive, found, count)
        table_input(end, knots, table, np.int64(0), u)
        after_step(codes, x, u, p, y)
        if stride > 0 and (step + 1) % stride == 0:
            keep(x, trace, (step + 1) // stride)
        level(codes[GUARD], x, guard)
        if guard[0] < guard_limit:
            return 2, step + 1, count
    return 0, steps, count
