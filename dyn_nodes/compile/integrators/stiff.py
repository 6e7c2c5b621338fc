"""Stiff states within steps of the classical Runge-Kutta method: an implicit formula combined with the explicit one.

All other states use the classical formula; the stiff ones, P, a diagonally implicit formula with the same nodes
c = (0, 1/2, 1/2, 1) and weights, whose last stage is the end of the step,

    P_i = P_0 + h sum_{j <= i} A[i, j] f_j,    i = 1, 2, 3.

Both formulas together are of order 3. On P' = k P the end of the step is P_0 R(h k) with R(-inf) = 0 and 0 <= R <= 1
for all k <= 0. Any A with the nodes c as row sums and A_11 + A_21 + A_22 = 1/2 has order 3; R(-inf) = 0 leaves one free
number, A_11 = 1/5. A step without stiff states is a step of the classical method.

A stage is solved by Newton's method with the exact slope of the kernel `stiff` (`multibody.stiff_states`). A check
valve causes a kink of the equation: from a closed valve Newton's method overshoots far beyond it, and from there back.
A state whose residual changes its sign is therefore bracketed, and the interval is bisected if Newton would leave it.
One correction is enough for most stages; the rates of the whole system, which are computed anyway, show whether it was.

The step is a C function that integrators call by its address, like kernels: its text is compiled once, for the first
system with stiff states, and not again into its callers.
"""
# mypy: ignore-errors

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dyn_nodes.compile.code import call_code, matrix_at, vector_at
from dyn_nodes.compile.integrators.classical import (
    CURSOR,
    HEAD,
    INDEX_FAULT,
    LENGTH,
    SINCE,
    UNTIL,
    is_damped,
    step_code,
    weigh_stage,
)
from dyn_nodes.compile.integrators.codes import PLACES, RHS, STEP, STIFF, bare, inlined, part, table_input

IMPLICIT = np.array(
    [
        [0, 0, 0, 0],
        [3 / 10, 1 / 5, 0, 0],
        [1 / 5, 1 / 5, 1 / 10, 0],
        [1 / 6, 1 / 3, 1 / 3, 1 / 6],
    ]
)
CLOSE, MET = 1e-6, 1e-5
"""CLOSE: Newton's method ends with a correction below this share of a state's typical magnitude, which is applied. MET:
a single correction is enough if the residual is below this share."""
MOST_CORRECTIONS, FORGOTTEN = 80, 40
"""Greatest number of corrections of a stage, and number after which brackets are reset, because other states moved."""
MILD = 1.0
"""Greatest product of the rate of a stiff state and the step for a step of the classical method."""
NEAR_END = 1e-6
"""Share of an interval at its ends that Newton's method must not enter: it would come back from there."""
RATE_SLOTS = 2
"""Numbers in the room of a step with stiff states behind the vectors of every step: greatest rate of a stiff state,
1/s, and its time. They are followed by rates and brackets (`work`), and by results and arguments of the kernel."""


@bare
def has_stiff(codes):
    """Return whether a system has stiff states for the implicit formula."""
    return codes.shape[0] > PLACES and codes[STIFF] != 0


@part
def step_room(codes, states, inputs):
    """Return the room of a step for numbers of states and inputs, without a known rate of the stiff states."""
    if codes.shape[0] < PLACES or codes[STEP] == 0:
        raise ValueError('codes: expected the address of a step')
    count = codes.shape[0] - PLACES if has_stiff(codes) else 0
    room = np.empty(HEAD + 3 * states + RATE_SLOTS + 10 * count + inputs + 2)
    room[CURSOR], room[HEAD + 3 * states + 1] = 0.0, np.nan
    return room


@cache
def implicit_code() -> Any:
    """Return the C function of a step."""
    return step_code(implicit_step, _checked_step)


def implicit_step(codes, c, x, n, knots, s, table, r, p, m, u, nu, room, b, out, no):
    """Write the state after one step from x to out; the room contains its times. Return a status.

    A step is classical if no state is stiff at its start, at its last stage and by the rates in between. If stiffness
    shows at the end, the step is repeated with the implicit formula.
    """
    codes, x, out = vector_at(codes, c), vector_at(x, n), vector_at(out, no)
    knots, table = vector_at(knots, s), matrix_at(table, r, nu)
    p, u, room = vector_at(p, m), vector_at(u, nu), vector_at(room, b)
    indices = codes[PLACES:]
    count = indices.shape[0]
    k, y, twice = room[HEAD : HEAD + n], room[HEAD + n : HEAD + 2 * n], room[HEAD + 2 * n : HEAD + 3 * n]
    latest = room[HEAD + 3 * n : HEAD + 3 * n + RATE_SLOTS]
    rest = room[HEAD + 3 * n + RATE_SLOTS :]
    work, result, arguments = rest[: 6 * count], rest[6 * count : 9 * count + 1], rest[9 * count + 1 :]
    since, until, h = room[SINCE], room[UNTIL], room[LENGTH]
    cursor, implicit, damped = np.int64(room[CURSOR]), False, is_damped(codes)
    while True:
        for i in range(n):
            y[i] = x[i]
        for stage in range(4):
            time = until if stage == 3 else since if stage == 0 else since + 0.5 * h
            cursor = table_input(time, knots, table, cursor, u)
            for i in range(u.shape[0]):
                arguments[i] = u[i]
            if implicit and stage > 0:
                status = solve_stage(codes, indices, stage, h, x, u, p, k, y, work, result, arguments)
            else:
                status = call_code(codes[RHS], y, u, p, k)
            if status != 0:
                room[CURSOR] = cursor
                return status
            if stage == 0 and not implicit:
                if latest[1] != since:
                    latest[0] = greatest_rate(codes, indices, x, p, result, arguments)
                implicit = not latest[0] * h <= MILD
            if stage == 0 or (stage < 3 and not implicit):
                for j in range(count):
                    work[stage * count + j] = k[indices[j]]
            next_stage(stage, h, x, k, y, twice, out, indices, implicit, work, damped)
        latest[0], latest[1] = greatest_rate(codes, indices, y, p, result, arguments), until
        if implicit:
            for j in range(count):
                out[indices[j]] = y[indices[j]]
            break
        if latest[0] * h <= MILD and is_smooth(indices, h, k, work, result):
            break
        implicit = True
    room[CURSOR] = cursor
    return np.int64(0)


@inlined
def next_stage(stage, h, x, k, y, twice, out, indices, implicit, work, damped):
    """Apply `weigh_stage`; with the implicit formula the stiff states in y are unchanged."""
    kept = work[5 * indices.shape[0] :]
    if implicit:
        for j in range(indices.shape[0]):
            kept[j] = y[indices[j]]
    weigh_stage(stage, h, x, k, y, twice, out, damped)
    if implicit and stage < 3:
        for j in range(indices.shape[0]):
            y[indices[j]] = kept[j]


@inlined
def greatest_rate(codes, indices, y, p, result, arguments):
    """Return a bound on the rates of the stiff states in y, 1/s; infinite if the kernel has no value."""
    count = indices.shape[0]
    first = arguments.shape[0] - count - 1
    for j in range(count):
        arguments[first + j] = y[indices[j]]
    arguments[first + count] = 1.0
    return result[3 * count] if call_code(codes[STIFF], y, arguments, p, result) == 0 else np.inf


@inlined
def is_smooth(indices, h, k, work, result):
    """Return whether the rates of a classical step, k (n,) of its last stage, indicate no stiff state.

    The second and the third stage are at the same time. On P' = a P their rates differ by h |a| / 2 of the previous
    change of the rate; a share of the rate itself is allowed, because its change is small near its extremes.
    """
    count = indices.shape[0]
    for j in range(count):
        first, second, third, last = work[j], work[count + j], work[2 * count + j], k[indices[j]]
        change, size = max(abs(second - first), abs(last - first)), max(abs(first), abs(last))
        difference = abs(third - second)
        if difference > 0.5 * MILD * change + 0.2 * size and h * difference > MET * result[2 * count + j]:
            return False
    return True


@inlined
def solve_stage(codes, indices, stage, h, x, u, p, k, y, work, result, arguments):
    """Solve for the stiff states of a stage in y and write the rates of all states there to k. Return a status.

    x is the state at the start of the step. `work` has the rates of the previous stages and receives the new ones.
    """
    count = indices.shape[0]
    first = arguments.shape[0] - count - 1
    reach = h * IMPLICIT[stage, stage]
    arguments[first + count] = reach
    for j in range(count):
        total = 0.0
        for before in range(stage):
            total += IMPLICIT[stage, before] * work[before * count + j]
        arguments[first + j] = x[indices[j]] + h * total
    most = 1
    while True:
        for correction in range(most):
            if correction % FORGOTTEN == 0:
                for j in range(count):
                    work[3 * count + j], work[4 * count + j] = -np.inf, np.inf
            status = call_code(codes[STIFF], y, arguments, p, result)
            if status != 0:
                return status
            if correct(indices, result, y, work):
                break
        status = call_code(codes[RHS], y, u, p, k)
        if status != 0:
            return status
        met = True
        for j in range(count):
            off = y[indices[j]] - arguments[first + j] - reach * k[indices[j]]
            met = met and abs(off) <= MET * result[2 * count + j]
        if met or most > 1:
            break
        most = MOST_CORRECTIONS
    if stage < 3:
        for j in range(count):
            work[stage * count + j] = (y[indices[j]] - arguments[first + j]) / reach
    return np.int64(0)


@inlined
def correct(indices, result, y, work):
    """Correct the stiff states of y once; a state that Newton would move out of its bracket moves to its middle.

    `result` has the corrections, the residuals, which increase with their states, and the typical magnitudes. Return
    whether the corrections are small.
    """
    count, small = indices.shape[0], True
    for j in range(count):
        index = indices[j]
        if result[count + j] < 0.0:
            work[3 * count + j] = y[index]
        else:
            work[4 * count + j] = y[index]
        lower, upper = work[3 * count + j], work[4 * count + j]
        to, width = y[index] + result[j], upper - lower
        if width < np.inf and not (lower + NEAR_END * width < to < upper - NEAR_END * width):
            to = lower + 0.5 * width
        y[index] = to
        small = small and abs(result[j]) <= CLOSE * result[2 * count + j]
    return small


_implicit = inlined(implicit_step)


# an exception cannot leave a C function: an exception of an index check is returned as a status
def _checked_step(codes, c, x, n, knots, s, table, r, p, m, u, nu, room, b, out, no):
    try:
        return _implicit(codes, c, x, n, knots, s, table, r, p, m, u, nu, room, b, out, no)
    except Exception:
        return np.int64(INDEX_FAULT)
