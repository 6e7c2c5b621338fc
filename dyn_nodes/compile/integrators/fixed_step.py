"""Runs with equal steps, and the search for the instants of sign changes of watched values.

If a system has no rate (`STOPPED`), a run ends at that instant, with the last state that has a rate.
"""
# mypy: ignore-errors
# ruff: noqa: SIM110

from __future__ import annotations

import numpy as np

from dyn_nodes.compile.code import STOPPED, call_code
from dyn_nodes.compile.integrators.classical import CURSOR, INDEX_FAULT, LENGTH, SINCE, UNTIL
from dyn_nodes.compile.integrators.codes import (
    STEP,
    SWITCH,
    WATCH,
    bare,
    check_run,
    copy,
    counted,
    evaluate,
    guarded_off,
    keep,
    kernel,
    raise_status,
    sound,
    table_input,
)
from dyn_nodes.compile.integrators.stiff import step_room


@bare
def after_step(codes, x, u, p, y):
    """Update the discrete states, if any, which are constant within a step."""
    if codes[SWITCH] != 0:
        evaluate(codes[SWITCH], x, u, p, y)
        copy(y, x)


@bare
def single_step(codes, x, t, end, h, knots, table, p, u, room, out):
    """Write the state after one step from x at t to out and the inputs at its end to u. Return a status.

    The step is the system's step, with or without stiff states. `room` is from `step_room`.
    """
    room[SINCE], room[UNTIL], room[LENGTH] = t, end, h
    status = call_code(codes[STEP], codes, x, knots, table, p, u, room, out)
    if status == INDEX_FAULT:
        raise IndexError('a step: an index beyond its array')
    if status != 0 and status > STOPPED:
        raise_status(status, x.shape[0], u.shape[0], p.shape[0], out.shape[0])
    return status


@bare
def approach(codes, x, t, h, knots, table, p, u, room, out):
    """Advance x at t, in place, to the instant within h from which there is no rate, by bisection.

    Return the status there.
    """
    status, part = np.int64(0), h
    for _ in range(34):  # of a step of 1 ms, 6e-14 s remain
        part *= 0.5
        code = single_step(codes, x, t, t + part, part, knots, table, p, u, room, out)
        if code != 0:
            status = code
        elif sound(out):
            copy(out, x)
            t += part
    return status


@kernel
def run_rk4(codes, x, t0, h, steps, knots, table, p, guard_limit, stride, trace):
    """Advance x in place by `steps` classical Runge-Kutta steps; store every `stride`-th state in `trace`.

    Return (status, steps taken).
    """
    check_run(x, knots, table, steps // stride + 1 if stride > 0 else 0, trace)
    n = x.shape[0]
    room = step_room(codes, n, table.shape[1])
    u, guard, after, spare = np.empty(table.shape[1]), np.empty(1), np.empty(n), np.empty(n)
    return march(codes, x, t0, h, steps, knots, table, p, guard_limit, stride, trace, u, room, guard, after, spare)


@bare
def march(codes, x, t0, h, steps, knots, table, p, guard_limit, stride, trace, u, room, guard, after, spare):
    """Take the steps of `run_rk4` in preallocated arrays."""
    for step in range(steps):
        t, end = t0 + step * h, t0 + (step + 1) * h
        status = single_step(codes, x, t, end, h, knots, table, p, u, room, after)
        if status != 0:
            nearer = approach(codes, x, t, h, knots, table, p, u, room, after)
            return nearer if nearer != 0 else status, step
        copy(after, x)
        if not sound(x):
            return 1, step + 1
        after_step(codes, x, u, p, spare)
        if stride > 0 and (step + 1) % stride == 0:
            keep(x, trace, (step + 1) // stride)
        if guarded_off(codes, x, guard, guard_limit):
            return 2, step + 1
    return 0, steps


@bare
def is_crossed(values, positive):
    """Return whether the sign of a watched value has changed."""
    for j in range(positive.shape[0]):
        if (values[j] > 0.0) != positive[j]:
            return True
    return False


@counted
def watch_step(codes, x, t, h, knots, table, p, u, room, values, positive, events, count):
    """Locate the events of a step from x at t; `values` are the watched values at its end. Return the new count.

    The search overwrites the inputs and the stiff states in the room.
    """
    watches = positive.shape[0]
    trial, inside = np.empty(x.shape[0]), np.empty(values.shape[0])
    for j in range(watches):
        now = values[j] > 0.0
        if now == positive[j]:
            continue
        low, high, before, after = 0.0, 1.0, 0.0, values[watches + j]
        for _ in range(34):  # within a step of 1 ms this locates the event to 6e-14 s
            middle = 0.5 * (low + high)
            single_step(codes, x, t, t + middle * h, middle * h, knots, table, p, u, room, trial)
            evaluate(codes[WATCH], trial, u, p, inside)
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
def run_rk4_watched(codes, x, t0, h, steps, knots, table, p, guard_limit, stride, trace, positive, events):
    """Run like `run_rk4` and locate events: see `simulation.events`. `positive` (w,) are the current signs.

    Return (status, steps taken, number of events); `events` (e, 4) receives as many as fit.
    """
    check_run(x, knots, table, steps // stride + 1 if stride > 0 else 0, trace)
    if events.shape[1] != 4:
        raise ValueError('events: expected four columns')
    n = x.shape[0]
    room = step_room(codes, n, table.shape[1])
    u, guard, after, spare = np.empty(table.shape[1]), np.empty(1), np.empty(n), np.empty(n)
    values = np.empty(2 * positive.shape[0])
    arguments = codes, x, t0, h, steps, knots, table, p, guard_limit, stride, trace, u, room, guard, after, spare
    return march_watched(*arguments, values, positive, events)


@bare
def march_watched(
    codes,
    x,
    t0,
    h,
    steps,
    knots,
    table,
    p,
    guard_limit,
    stride,
    trace,
    u,
    room,
    guard,
    after,
    spare,
    values,
    positive,
    events,
):
    """Take the steps of `run_rk4_watched` in preallocated arrays."""
    count = np.int64(0)
    for step in range(steps):
        t, end = t0 + step * h, t0 + (step + 1) * h
        status = single_step(codes, x, t, end, h, knots, table, p, u, room, after)
        if status != 0:
            nearer = approach(codes, x, t, h, knots, table, p, u, room, after)
            return nearer if nearer != 0 else status, step, count
        if positive.shape[0] > 0 and sound(after):
            evaluate(codes[WATCH], after, u, p, values)
            if is_crossed(values, positive):
                count = watch_step(codes, x, t, h, knots, table, p, u, room, values, positive, events, count)
                room[CURSOR] = table_input(end, knots, table, np.int64(room[CURSOR]), u)
        copy(after, x)
        if not sound(x):
            return 1, step + 1, count
        after_step(codes, x, u, p, spare)
        if stride > 0 and (step + 1) % stride == 0:
            keep(x, trace, (step + 1) // stride)
        if guarded_off(codes, x, guard, guard_limit):
            return 2, step + 1, count
    return 0, steps, count
