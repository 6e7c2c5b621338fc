"""Runs of the damped Runge-Kutta method, `rk3`, with step size control, events and discrete states.

A step is compared with the midpoint rule with the same stages, x + h (k2 + k3) / 2, of order 2: the difference costs no
evaluation. It is large if the rates have a kink within the step (friction, check valves, wheels that leave the ground),
for stiff states, too. Elsewhere it is far above the error of the step, which is of order 3.

Steps between two times are parts of their interval, 1, 1/2, 1/4, ..., so that a run ends at each time without a short
step. A step is divided if the difference exceeds the tolerance, and, down to LOCATED, if a discrete state changes or
the guard falls below its limit. A step of at most `hmin` is accepted with any error, as the rates may jump there.
"""
# mypy: ignore-errors
# ruff: noqa: SIM110

from __future__ import annotations

import numpy as np

from dyn_nodes.compile.integrators.classical import CURSOR, HEAD
from dyn_nodes.compile.integrators.codes import (
    SWITCH,
    WATCH,
    bare,
    check_run,
    copy,
    evaluate,
    guarded_off,
    keep,
    kernel,
    sound,
    table_input,
)
from dyn_nodes.compile.integrators.fixed_step import after_step, approach, is_crossed, single_step, watch_step
from dyn_nodes.compile.integrators.stiff import step_room

SMALL = 0.125
"""Share of the tolerance below which the next step is twice as long."""
LOCATED = 1e-6
"""Greatest step in which a discrete state changes or the guard falls below its limit, s."""
MOST_JUMPS = 10_000
"""Greatest number of steps with an error beyond the tolerance: with more, no step is short enough."""


@bare
def step_error(x, after, h, room, rtol, atol):
    """Return the greatest difference of a step from the midpoint rule, in units of the tolerances."""
    n, greatest = x.shape[0], 0.0
    for i in range(n):
        error = abs(after[i] - x[i] - 0.5 * h * room[HEAD + 2 * n + i])
        greatest = max(greatest, error / (atol[i] + rtol * max(abs(x[i]), abs(after[i]))))
    return greatest


@bare
def is_switched(codes, x, u, p, y):
    """Return whether a discrete state, if any, changes at a state."""
    if codes[SWITCH] == 0:
        return False
    evaluate(codes[SWITCH], x, u, p, y)
    for i in range(x.shape[0]):
        if y[i] != x[i]:
            return True
    return False


@kernel
def run_rk32(codes, x, times, knots, table, p, guard_limit, rtol, atol, h0, hmin, trace, positive, events):
    """Advance x in place through `times`; store the states at `times` in `trace` and events as `run_rk4_watched`.

    The tolerance of the midpoint rule is atol (n,) + rtol |x|. `h0` is the longest step; a step of `hmin` is accepted
    with any error. `positive` (w,) are the current signs of the watched values; none: no events.
    Return (status, number of times reached, steps accepted, steps rejected, number of events).
    """
    check_run(x, knots, table, times.shape[0], trace)
    if times.shape[0] < 1 or atol.shape[0] != x.shape[0]:
        raise ValueError('expected one time at least, and an absolute tolerance a state')
    if events.shape[1] != 4:
        raise ValueError('events: expected four columns')
    n = x.shape[0]
    room = step_room(codes, n, table.shape[1])
    u, guard, after, spare = np.empty(table.shape[1]), np.empty(1), np.empty(n), np.empty(n)
    values = np.empty(2 * positive.shape[0])
    keep(x, trace, np.int64(0))
    control, rooms = (guard_limit, rtol, atol, h0, hmin), (u, room, guard, after, spare, values)
    return march(codes, x, times, knots, table, p, control, trace, positive, events, rooms)


@bare
def march(codes, x, times, knots, table, p, control, trace, positive, events, rooms):
    """Take the steps of `run_rk32` in preallocated arrays."""
    guard_limit, rtol, atol, h0, hmin = control
    u, room, guard, after, spare, values = rooms
    accepted, rejected, count = np.int64(0), np.int64(0), np.int64(0)
    jumps, wish = np.int64(0), h0
    for row in range(1, times.shape[0]):
        start, width = times[row - 1], times[row] - times[row - 1]
        parts, index = 1, 0
        while width > wish * parts * (1.0 + 1e-9):
            parts *= 2
        while index < parts:
            h, t = width / parts, start + index * (width / parts)
            end = times[row] if index + 1 == parts else start + (index + 1) * h
            status = single_step(codes, x, t, end, h, knots, table, p, u, room, after)
            is_sound = status == 0 and sound(after)
            error = step_error(x, after, h, room, rtol, atol) if is_sound else np.inf
            off = is_sound and guarded_off(codes, after, guard, guard_limit)
            is_jump = not error <= 1.0
            if (is_jump and h > hmin) or (h > LOCATED and (off or is_switched(codes, after, u, p, spare))):
                parts, index, rejected = 2 * parts, 2 * index, rejected + 1
                continue
            if status != 0:
                nearer = approach(codes, x, t, h, knots, table, p, u, room, after)
                return nearer if nearer != 0 else status, row, accepted, rejected, count
            accepted, jumps = accepted + 1, jumps + is_jump
            if jumps > MOST_JUMPS:
                return 3, row, accepted, rejected, count
            if not is_sound:
                copy(after, x)
                return 1, row, accepted, rejected, count
            if positive.shape[0] > 0:
                evaluate(codes[WATCH], after, u, p, values)
                if is_crossed(values, positive):
                    count = watch_step(codes, x, t, h, knots, table, p, u, room, values, positive, events, count)
                    room[CURSOR] = table_input(end, knots, table, np.int64(room[CURSOR]), u)
            copy(after, x)
            after_step(codes, x, u, p, spare)
            index += 1
            if off:
                return 2, row + (index == parts), accepted, rejected, count
            wish = h if error > SMALL else min(h0, 2.0 * h)
            if error <= SMALL and index % 2 == 0 and parts > 1:
                parts, index = parts // 2, index // 2
        keep(x, trace, np.int64(row))
    return 0, times.shape[0], accepted, rejected, count
