"""Stiff states within steps of the classical Runge-Kutta method: an implicit formula beside the explicit one.

All other states go on by the classical formula; the stiff ones, P, by a diagonally implicit formula with the same
nodes c = (0, 1/2, 1/2, 1) and weights, whose last stage is the end of the step,

    P_i = P_0 + h sum_{j <= i} A[i, j] f_j,    i = 1, 2, 3.

Both formulas together are of order 3. On P' = k P the end of the step is P_0 R(h k) with R(-inf) = 0 and 0 <= R <= 1
for all k <= 0. Any A with the nodes c as sums of rows and A_11 + A_21 + A_22 = 1/2 is of order 3; R(-inf) = 0 leaves
one number free, A_11 = 1/5. A step in which no state is stiff is that of the classical method.

A stage is solved by Newton's method with the exact slope of the kernel `stiff` (`multibody.stiff_states`). A check
valve gives the equation a kink: from a closed valve Newton's method falls far beyond it, and from there back. A state
whose residual changes its sign is therefore enclosed, and the interval halved where Newton would leave it. One
correction is enough for most stages; the rates of the whole system, which are needed anyway, show whether it was.

The step is a C function that integrators call by its address, as they call kernels: its text is compiled once, where a
system with stiff states is made, and not again into everything that takes steps.
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
"""Newton's method ends with a correction below this share of a state's usual size, which is still made; a single
correction is enough where it leaves a residual below that share."""
MOST_CORRECTIONS, FORGOTTEN = 80, 40
"""Corrections of a stage, and those after which what encloses a state is forgotten: other states have moved, too."""
MILD = 1.0
"""Greatest rate of a stiff state times the step at which a step is that of the classical method."""
NEAR_END = 1e-6
"""Share of an interval at its ends that Newton's method is not to lead to: it would come back from there."""
OWN = 2
"""Numbers of a step with stiff states behind the vectors that every step has in its room: the greatest rate of a stiff
state, 1/s, and the time at which it was found. Behind them are rates, ends of intervals, and arguments and results of
the kernel."""


@bare
def has_stiff(codes):
    """Return whether a system has stiff states that are solved for."""
    return codes.shape[0] > PLACES and codes[STIFF] != 0


@part
def step_room(codes, states, inputs):
    """Return the room of a step, with so many states and inputs; nothing is known yet of the stiff ones."""
    if codes.shape[0] < PLACES or codes[STEP] == 0:
        raise ValueError('codes: expected the address of a step')
    count = codes.shape[0] - PLACES if has_stiff(codes) else 0
    room = np.empty(HEAD + 3 * states + OWN + 10 * count + inputs + 2)
    room[CURSOR], room[HEAD + 3 * states + 1] = 0.0, np.nan
    return room


@cache
def implicit_code() -> Any:
    """Return the C function of a step."""
    return step_code(implicit_step, _checked_step)


def implicit_step(codes, c, x, n, knots, s, table, r, p, m, u, nu, room, b, out, no):
    """Write the state after one step from x to out; the room has its times. Returns a status.

    A step in which no state is stiff is the classical one: neither at its beginning nor at its last stage, nor by the
    rates in between. It is done again with the implicit formula where that shows at the end.
    """
    codes, x, out = vector_at(codes, c), vector_at(x, n), vector_at(out, no)
    knots, table = vector_at(knots, s), matrix_at(table, r, nu)
    p, u, room = vector_at(p, m), vector_at(u, nu), vector_at(room, b)
    places = codes[PLACES:]
    count = places.shape[0]
    k, y, twice = room[HEAD : HEAD + n], room[HEAD + n : HEAD + 2 * n], room[HEAD + 2 * n : HEAD + 3 * n]
    known = room[HEAD + 3 * n : HEAD + 3 * n + OWN]
    rest = room[HEAD + 3 * n + OWN :]
    own, found, given = rest[: 6 * count], rest[6 * count : 9 * count + 1], rest[9 * count + 1 :]
    since, until, h = room[SINCE], room[UNTIL], room[LENGTH]
    cursor, implicit, damped = np.int64(room[CURSOR]), False, is_damped(codes)
    while True:
        for i in range(n):
            y[i] = x[i]
        for stage in range(4):
            time = until if stage == 3 else since if stage == 0 else since + 0.5 * h
            cursor = table_input(time, knots, table, cursor, u)
            for i in range(u.shape[0]):
                given[i] = u[i]
            if implicit and stage > 0:
                status = solve_stage(codes, places, stage, h, x, u, p, k, y, own, found, given)
            else:
                status = call_code(codes[RHS], y, u, p, k)
            if status != 0:
                room[CURSOR] = cursor
                return status
            if stage == 0 and not implicit:
                if known[1] != since:
                    known[0] = greatest_rate(codes, places, x, p, found, given)
                implicit = not known[0] * h <= MILD
            if stage == 0 or (stage < 3 and not implicit):
                for j in range(count):
                    own[stage * count + j] = k[places[j]]
            next_stage(stage, h, x, k, y, twice, out, places, implicit, own, damped)
        known[0], known[1] = greatest_rate(codes, places, y, p, found, given), until
        if implicit:
            for j in range(count):
                out[places[j]] = y[places[j]]
            break
        if known[0] * h <= MILD and is_smooth(places, h, k, own, found):
            break
        implicit = True
    room[CURSOR] = cursor
    return np.int64(0)


@inlined
def next_stage(stage, h, x, k, y, twice, out, places, implicit, own, damped):
    """Do what `weigh_stage` does; stiff states that are solved for stay as they are in y."""
    kept = own[5 * places.shape[0] :]
    if implicit:
        for j in range(places.shape[0]):
            kept[j] = y[places[j]]
    weigh_stage(stage, h, x, k, y, twice, out, damped)
    if implicit and stage < 3:
        for j in range(places.shape[0]):
            y[places[j]] = kept[j]


@inlined
def greatest_rate(codes, places, y, p, found, given):
    """Return a bound on the rates of the stiff states in y, 1/s; infinite where there is none."""
    count = places.shape[0]
    first = given.shape[0] - count - 1
    for j in range(count):
        given[first + j] = y[places[j]]
    given[first + count] = 1.0
    return found[3 * count] if call_code(codes[STIFF], y, given, p, found) == 0 else np.inf


@inlined
def is_smooth(places, h, k, own, found):
    """Return whether the rates of a classical step, k (n,) those of its last stage, show no state to be stiff.

    The second and the third stage are at the same time. On P' = a P their rates differ by h |a| / 2 of the change of
    the rate before them; a share of the rate itself is allowed, as its change is small about its extremes.
    """
    count = places.shape[0]
    for j in range(count):
        first, second, third, last = own[j], own[count + j], own[2 * count + j], k[places[j]]
        change, size = max(abs(second - first), abs(last - first)), max(abs(first), abs(last))
        difference = abs(third - second)
        if difference > 0.5 * MILD * change + 0.2 * size and h * difference > MET * found[2 * count + j]:
            return False
    return True


@inlined
def solve_stage(codes, places, stage, h, x, u, p, k, y, own, found, given):
    """Solve for the stiff states of a stage in y and write the rates of all states there to k. Returns a status.

    x is the state at the beginning of the step. `own` has the rates of the stages before, and gets those of this one.
    """
    count = places.shape[0]
    first = given.shape[0] - count - 1
    reach = h * IMPLICIT[stage, stage]
    given[first + count] = reach
    for j in range(count):
        total = 0.0
        for before in range(stage):
            total += IMPLICIT[stage, before] * own[before * count + j]
        given[first + j] = x[places[j]] + h * total
    most = 1
    while True:
        for correction in range(most):
            if correction % FORGOTTEN == 0:
                for j in range(count):
                    own[3 * count + j], own[4 * count + j] = -np.inf, np.inf
            status = call_code(codes[STIFF], y, given, p, found)
            if status != 0:
                return status
            if correct(places, found, y, own):
                break
        status = call_code(codes[RHS], y, u, p, k)
        if status != 0:
            return status
        met = True
        for j in range(count):
            off = y[places[j]] - given[first + j] - reach * k[places[j]]
            met = met and abs(off) <= MET * found[2 * count + j]
        if met or most > 1:
            break
        most = MOST_CORRECTIONS
    if stage < 3:
        for j in range(count):
            own[stage * count + j] = (y[places[j]] - given[first + j]) / reach
    return np.int64(0)


@inlined
def correct(places, found, y, own):
    """Correct the stiff states of y once; one that Newton would lead out of its interval goes to the middle of it.

    `found` are the corrections, the residuals, which rise with their own states, and the usual sizes. Returns whether
    the corrections are small.
    """
    count, small = places.shape[0], True
    for j in range(count):
        place = places[j]
        if found[count + j] < 0.0:
            own[3 * count + j] = y[place]
        else:
            own[4 * count + j] = y[place]
        lower, upper = own[3 * count + j], own[4 * count + j]
        to, width = y[place] + found[j], upper - lower
        if width < np.inf and not (lower + NEAR_END * width < to < upper - NEAR_END * width):
            to = lower + 0.5 * width
        y[place] = to
        small = small and abs(found[j]) <= CLOSE * found[2 * count + j]
    return small


_implicit = inlined(implicit_step)


# an exception does not leave a C function: that of an index check is handed on as a status
def _checked_step(codes, c, x, n, knots, s, table, r, p, m, u, nu, room, b, out, no):
    try:
        return _implicit(codes, c, x, n, knots, s, table, r, p, m, u, nu, room, b, out, no)
    except Exception:
        return np.int64(INDEX_FAULT)
