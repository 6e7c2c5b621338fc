"""Loops of hybrid runs, compiled together with the modes' kernels; text as in `drivers`, not to be called from Python.

`rhs_of` and `surfaces_of` choose the kernel of a mode.
"""
# ruff: noqa: F821
# mypy: ignore-errors

from __future__ import annotations

DONE, DIVERGED, REACHED = 0, 1, 2


def rk4_step(mode, x, t, h, knots, table, p, u, k, y, out):
    """Write the state after one classical Runge-Kutta step from x at t to out; u holds the inputs at t + h."""
    n = x.shape[0]
    cursor = 0
    for i in range(n):
        out[i] = x[i]
        y[i] = x[i]
    # one call of the kernel for all stages: it is large, and every call may be inlined
    for stage in range(4):
        fraction = 0.5 * ((stage + 1) // 2)
        cursor = table_input(t + fraction * h, knots, table, cursor, u)
        rhs_of(mode, y, u, p, k)
        weight = h / 3.0 if stage == 1 or stage == 2 else h / 6.0
        reach = 0.5 * h if stage < 2 else h
        for i in range(n):
            out[i] += weight * k[i]
            y[i] = x[i] + reach * k[i]


def lowest(values, armed, count):
    """Return the bits of the surfaces that are reached, armed ones only."""
    flags = 0
    for k in range(count):
        if armed[k] and values[k] <= 0.0:
            flags |= 1 << k
    return flags


def run_stretch(
    mode, x, t, start, h, tick, last, count, knots, table, p, stride, trace, mode_trace, set_trace, set_index
):
    """Advance x in place in one mode, on the grid start + k h, until a surface is reached or tick `last`.

    A surface that is positive is armed. One that is reached while armed is located within the step by halving; one that
    was not positive at the beginning and is not at the end of the first step, is reached at the end of that step: time
    goes on between any two events.

    Returns (code, time, ticks done, bits of the surfaces reached).
    """
    n = x.shape[0]
    rate, y, new, trial = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    u, values = np.empty(table.shape[1]), np.empty(count)
    armed, every = np.zeros(count, np.bool_), np.ones(count, np.bool_)
    table_input(t, knots, table, 0, u)
    surfaces_of(mode, x, u, p, values)
    for k in range(count):
        armed[k] = values[k] > 0.0
    while tick < last:
        target = start + (tick + 1) * h
        step = target - t
        rk4_step(mode, x, t, step, knots, table, p, u, rate, y, new)
        if not sound(new):
            return 1, t, tick, 0
        surfaces_of(mode, new, u, p, values)
        flags = lowest(values, armed, count)
        if flags:
            low, high = 0.0, 1.0
            trial[:] = new
            for _ in range(52):
                middle = 0.5 * (low + high)
                if middle <= low or middle >= high:
                    break
                rk4_step(mode, x, t, middle * step, knots, table, p, u, rate, y, new)
                surfaces_of(mode, new, u, p, values)
                now = lowest(values, armed, count)
                if now:
                    high, flags = middle, now
                    trial[:] = new
                else:
                    low = middle
            x[:] = trial
            return 2, t + high * step, tick, flags
        x[:] = new
        t = target
        tick += 1
        if tick % stride == 0:
            place = tick // stride
            trace[place] = x
            mode_trace[place] = mode
            set_trace[place] = set_index
        flags = lowest(values, every, count)
        if flags:
            return 2, t, tick, flags
        for k in range(count):
            armed[k] = armed[k] or values[k] > 0.0
    return 0, t, tick, 0
