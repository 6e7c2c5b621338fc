"""Runs of a hybrid model in one mode, until a surface is reached.

`codes` (3, modes): addresses of the kernels RHS, SURFACES and WATCH of every mode. `ground` is NO_GROUND for a model
whose modes have separate equations, or defines the active rows of the mode (`contact_rows`): then the kernel RHS writes
the blocks that all modes share, and the surfaces follow from these.
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from dyn_nodes.compile.integrators.codes import check_run, copy, evaluate, keep, kernel, sound, table_input
from dyn_nodes.compile.integrators.contact_rows import NO_GROUND, ground_rates, ground_surfaces

DONE, DIVERGED, REACHED, APPOINTED = 0, 1, 2, 3
RHS, SURFACES, WATCH = 0, 1, 2
KINDS = ('rhs', 'surfaces', 'watch')
__all__ = ['DONE', 'DIVERGED', 'REACHED', 'APPOINTED', 'KINDS', 'NO_GROUND', 'run_stretch']


@kernel
def rates(codes, mode, x, u, p, ground, blocks, k):
    """Write dx/dt to k; NaN if the rows of the mode are dependent."""
    if ground[0][1] > 0:
        evaluate(codes[RHS, mode], x, u, p, blocks)
        ground_rates(ground, blocks, x, k)
    else:
        evaluate(codes[RHS, mode], x, u, p, k)


@kernel
def surface_values(codes, mode, x, u, p, ground, blocks, values):
    """Write the values of the surfaces of the mode."""
    if ground[0][1] > 0:
        evaluate(codes[RHS, mode], x, u, p, blocks)
        ground_surfaces(ground, blocks, x, values)
    else:
        evaluate(codes[SURFACES, mode], x, u, p, values)


@kernel
def rk4_step(codes, mode, x, t, h, knots, table, p, ground, blocks, u, k, y, out):
    """Write the state after one classical Runge-Kutta step from x at t to out and the inputs at t + h to u."""
    n = x.shape[0]
    cursor = np.int64(0)
    for i in range(n):
        out[i] = x[i]
        y[i] = x[i]
    # one call of the kernel for all stages: it is large, and every call may be inlined
    for stage in range(4):
        fraction = 0.5 * ((stage + 1) // 2)
        cursor = table_input(t + fraction * h, knots, table, cursor, u)
        rates(codes, mode, y, u, p, ground, blocks, k)
        weight = h / 3.0 if stage == 1 or stage == 2 else h / 6.0
        reach = 0.5 * h if stage < 2 else h
        for i in range(n):
            out[i] += weight * k[i]
            y[i] = x[i] + reach * k[i]


@kernel
def lowest(values, armed, count):
    """Return the bits of the armed surfaces that are reached."""
    flags = 0
    for k in range(count):
        if armed[k] and values[k] <= 0.0:
            flags |= 1 << k
    return flags


@kernel
def watch_part(codes, mode, x, t, h, knots, table, p, ground, blocks, u, k, y, trial, values, positive, events, count):
    """Locate the events of a step from x at t; `values` are the watched values at its end. Return the new count."""
    watches = positive.shape[0]
    for j in range(watches):
        now = values[j] > 0.0
        if now == positive[j]:
            continue
        inside = np.empty(values.shape[0])
        low, high, before, after = 0.0, 1.0, 0.0, values[watches + j]
        for _ in range(34):  # within a step of 1 ms this locates the event to 6e-14 s
            middle = 0.5 * (low + high)
            rk4_step(codes, mode, x, t, middle * h, knots, table, p, ground, blocks, u, k, y, trial)
            evaluate(codes[WATCH, mode], trial, u, p, inside)
            if (inside[j] > 0.0) == now:
                high, after = middle, inside[watches + j]
            else:
                low, before = middle, inside[watches + j]
        if count < events.shape[0]:
            events[count, 0] = j
            events[count, 1] = t + high * h
            events[count, 2] = 1.0 if now else 0.0
            # on the near side, before the force of a damper that just touched
            events[count, 3] = before if low > 0.0 else after
        count += 1
        positive[j] = now
    return count


@kernel
def run_stretch(
    codes,
    mode,
    x,
    t,
    start,
    h,
    tick,
    last,
    appointed,
    surfaces,
    ground,
    knots,
    table,
    p,
    stride,
    trace,
    mode_trace,
    set_trace,
    set_index,
    positive,
    events,
):
    """Advance x in place in one mode, on the grid start + k h, until a surface, the time `appointed` or tick `last`.

    A positive surface is armed. An armed surface that is reached is located within the step by bisection; a surface
    that is not positive at the start nor at the end of the first step is reached at the end of that step, so time
    advances between any two events. A step ends exactly at the time `appointed`.

    Return (code, time, ticks done, bits of the reached surfaces, number of watched events).
    """
    if stride < 1 or mode_trace.shape[0] < trace.shape[0] or set_trace.shape[0] < trace.shape[0]:
        raise ValueError('trace: expected a stride above zero, a mode and a set of parameters a row')
    if events.shape[1] != 4:
        raise ValueError('events: expected four columns')
    if mode < 0 or mode >= codes.shape[1]:
        raise ValueError('run_stretch: no such mode')
    check_run(x, knots, table, last // stride + 1, trace)
    n = x.shape[0]
    rate, y, new, trial = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    blocks = np.empty(ground[0][3])
    u, values, seen = np.empty(table.shape[1]), np.empty(surfaces), np.empty(2 * positive.shape[0])
    armed, every = np.zeros(surfaces, np.bool_), np.ones(surfaces, np.bool_)
    event_count = np.int64(0)
    table_input(t, knots, table, np.int64(0), u)
    surface_values(codes, mode, x, u, p, ground, blocks, values)
    for k in range(surfaces):
        armed[k] = values[k] > 0.0
    while tick < last:
        if t >= appointed:
            return 3, t, tick, 0, event_count
        target = start + (tick + 1) * h
        whole = target <= appointed
        if not whole:
            target = appointed
        step = target - t
        rk4_step(codes, mode, x, t, step, knots, table, p, ground, blocks, u, rate, y, new)
        if not sound(new):
            return 1, t, tick, 0, event_count
        surface_values(codes, mode, new, u, p, ground, blocks, values)
        flags = lowest(values, armed, surfaces)
        if flags:
            low, high = 0.0, 1.0
            copy(new, trial)
            for _ in range(52):
                middle = 0.5 * (low + high)
                if middle <= low or middle >= high:
                    break
                rk4_step(codes, mode, x, t, middle * step, knots, table, p, ground, blocks, u, rate, y, new)
                surface_values(codes, mode, new, u, p, ground, blocks, values)
                now = lowest(values, armed, surfaces)
                if now:
                    high, flags = middle, now
                    copy(new, trial)
                else:
                    low = middle
            table_input(t + high * step, knots, table, np.int64(0), u)
            evaluate(codes[WATCH, mode], trial, u, p, seen)
            event_count = watch_part(
                codes,
                mode,
                x,
                t,
                high * step,
                knots,
                table,
                p,
                ground,
                blocks,
                u,
                rate,
                y,
                new,
                seen,
                positive,
                events,
                event_count,
            )
            copy(trial, x)
            return 2, t + high * step, tick, flags, event_count
        evaluate(codes[WATCH, mode], new, u, p, seen)
        event_count = watch_part(
            codes,
            mode,
            x,
            t,
            step,
            knots,
            table,
            p,
            ground,
            blocks,
            u,
            rate,
            y,
            trial,
            seen,
            positive,
            events,
            event_count,
        )
        copy(new, x)
        t = target
        if not whole:
            continue
        tick += 1
        if tick % stride == 0:
            row = tick // stride
            keep(x, trace, row)
            mode_trace[row] = mode
            set_trace[row] = set_index
        flags = lowest(values, every, surfaces)
        if flags:
            return 2, t, tick, flags, event_count
        for k in range(surfaces):
            armed[k] = armed[k] or values[k] > 0.0
    return 0, t, tick, 0, event_count
