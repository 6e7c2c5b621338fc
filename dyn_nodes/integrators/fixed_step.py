"""Classical Runge-Kutta steps, and the search for the instants at which a watched value changes its sign.

Where a system has no rate (`STOPPED`), a run ends at that instant, with the last state that has one.
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from dyn_nodes.integrators.codes import (
    RHS,
    SWITCH,
    WATCH,
    check_run,
    copy,
    evaluate,
    guarded_off,
    keep,
    kernel,
    part,
    sound,
    table_input,
)
from dyn_nodes.integrators.stiff import has_stiff, implicit_step, stiff_room


@part
def after_step(codes, x, u, p, y):
    """Replace the discrete states, which are constant within a step, where there are any."""
    if codes[SWITCH] != 0:
        evaluate(codes[SWITCH], x, u, p, y)
        copy(y, x)


@part
def single_step(codes, x, t, end, h, knots, table, cursor, p, u, k, y, twice, room, out):
    """Write the state after one step from x at t to out; u holds the inputs at its end then. Returns a status.

    `cursor` (1,) is the interval of the knots that was found last. Stiff states are solved for where there are some.
    """
    if has_stiff(codes):
        return implicit_step(codes, x, t, end, h, knots, table, cursor, p, u, k, y, twice, room, out)
    n = x.shape[0]
    half, sixth = 0.5 * h, h / 6.0
    for i in range(n):
        y[i] = x[i]
    # one call of the kernel for all stages: it is large, and every call may be inlined
    for stage in range(4):
        time = end if stage == 3 else t if stage == 0 else t + half
        cursor[0] = table_input(time, knots, table, cursor[0], u)
        status = evaluate(codes[RHS], y, u, p, k)
        if status != 0:
            return status
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
    return np.int64(0)


@part
def approach(codes, x, t, h, knots, table, cursor, p, u, k, y, twice, room, out):
    """Go on from x at t, in place, to the instant within h from which there is no rate, by halves of what is left.

    Returns the status there.
    """
    status, part = np.int64(0), h
    for _ in range(34):  # of a step of 1 ms, 6e-14 s are left
        part *= 0.5
        found = single_step(codes, x, t, t + part, part, knots, table, cursor, p, u, k, y, twice, room, out)
        if found != 0:
            status = found
        elif sound(out):
            copy(out, x)
            t += part
    return status


@kernel
def run_rk4(codes, x, t0, h, steps, knots, table, p, guard_limit, stride, trace):
    """Advance x in place by `steps` classical Runge-Kutta steps; keep every `stride`-th state in `trace`.

    Returns (status, steps taken).
    """
    check_run(x, knots, table, steps // stride + 1 if stride > 0 else 0, trace)
    n = x.shape[0]
    room = stiff_room(codes, table.shape[1])
    k, y, twice, after = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    u, guard, cursor = np.empty(table.shape[1]), np.empty(1), np.zeros(1, np.int64)
    for step in range(steps):
        t, end = t0 + step * h, t0 + (step + 1) * h
        status = single_step(codes, x, t, end, h, knots, table, cursor, p, u, k, y, twice, room, after)
        if status != 0:
            nearer = approach(codes, x, t, h, knots, table, cursor, p, u, k, y, twice, room, after)
            return nearer if nearer != 0 else status, step
        copy(after, x)
        if not sound(x):
            return 1, step + 1
        after_step(codes, x, u, p, y)
        if stride > 0 and (step + 1) % stride == 0:
            keep(x, trace, (step + 1) // stride)
        if guarded_off(codes, x, guard, guard_limit):
            return 2, step + 1
    return 0, steps


@part
def watch_step(codes, x, t, h, knots, table, cursor, p, u, k, y, twice, room, trial, values, positive, found, count):
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
            single_step(codes, x, t, t + middle * h, middle * h, knots, table, cursor, p, u, k, y, twice, room, trial)
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
    room = stiff_room(codes, table.shape[1])
    k, y, twice, trial, before = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    u, guard, cursor = np.empty(table.shape[1]), np.empty(1), np.zeros(1, np.int64)
    values = np.empty(2 * positive.shape[0])
    count = np.int64(0)
    for step in range(steps):
        t, end = t0 + step * h, t0 + (step + 1) * h
        copy(x, before)
        status = single_step(codes, before, t, end, h, knots, table, cursor, p, u, k, y, twice, room, x)
        if status != 0:
            copy(before, x)
            nearer = approach(codes, x, t, h, knots, table, cursor, p, u, k, y, twice, room, trial)
            return nearer if nearer != 0 else status, step, count
        if not sound(x):
            return 1, step + 1, count
        if positive.shape[0] > 0:
            evaluate(codes[WATCH], x, u, p, values)
            arguments = codes, before, t, h, knots, table, cursor, p, u, k, y, twice, room, trial
            count = watch_step(*arguments, values, positive, found, count)
            cursor[0] = table_input(end, knots, table, cursor[0], u)
        after_step(codes, x, u, p, y)
        if stride > 0 and (step + 1) % stride == 0:
            keep(x, trace, (step + 1) // stride)
        if guarded_off(codes, x, guard, guard_limit):
            return 2, step + 1, count
    return 0, steps, count
