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
from numba import carray, types

from dyn_nodes.compile.code import POINTER, STOPPED, call_code
from dyn_nodes.integrators.codes import PLACES, RHS, STEP, STIFF, part, refuse, table_input
from dyn_nodes.loops import code_of, guarded

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
SINCE, UNTIL, LENGTH, BOUND, AT, HEAD = range(6)
"""Places in the room: beginning, end and length of a step, s; the greatest rate of a stiff state, 1/s, and the time at
which it was found. Behind them are rates, ends of intervals, and arguments and results of the kernel."""
INDEX_FAULT = -(1 << 30)
"""Status of a step that used an index beyond its array (`DYN_NODES_GUARD`)."""


@part
def has_stiff(codes):
    """Return whether a system has stiff states that are solved for."""
    return codes.shape[0] > PLACES and codes[STIFF] != 0


@part
def stiff_room(codes, inputs):
    """Return the numbers that the stiff states of a step need, with so many inputs; nothing is known yet."""
    count = codes.shape[0] - PLACES if has_stiff(codes) else 0
    room = np.empty(HEAD + 10 * count + inputs + 2)
    room[AT] = np.nan
    return room


@part
def implicit_step(codes, x, t, end, h, knots, table, cursor, p, u, k, y, twice, room, out):
    """Do what `fixed_step.single_step` does, for a system with stiff states: call the C function. Returns a status."""
    room[SINCE], room[UNTIL], room[LENGTH] = t, end, h
    status = call_code(codes[STEP], codes, x, knots, table, cursor, p, u, k, y, twice, room, out)
    if status == INDEX_FAULT:
        raise IndexError('a step with stiff states: an index beyond its array')
    if status != 0 and status > STOPPED:
        refuse(status, x.shape[0], u.shape[0], p.shape[0], out.shape[0])
    return status


@part
def step(codes, x, knots, table, cursor, p, u, k, y, twice, room, out):
    """Write the state after one step from x to out; the room has its times. Returns a status.

    A step in which no state is stiff is the classical one: neither at its beginning nor at its last stage, nor by the
    rates in between. It is done again with the implicit formula where that shows at the end.
    """
    places = codes[PLACES:]
    count = places.shape[0]
    own, found = room[HEAD : HEAD + 6 * count], room[HEAD + 6 * count : HEAD + 9 * count + 1]
    given = room[HEAD + 9 * count + 1 :]
    since, until, h = room[SINCE], room[UNTIL], room[LENGTH]
    implicit = False
    while True:
        for stage in range(4):
            reach = h if stage == 3 else 0.5 * h if stage > 0 else 0.0
            advance(x, reach, k, y, places, implicit and stage > 0, own)
            time = until if stage == 3 else since if stage == 0 else since + 0.5 * h
            cursor[0] = table_input(time, knots, table, cursor[0], u)
            for i in range(u.shape[0]):
                given[i] = u[i]
            if implicit and stage > 0:
                status = solve_stage(codes, places, stage, h, x, u, p, k, y, own, found, given)
            else:
                status = call_code(codes[RHS], y, u, p, k)
            if status != 0:
                return status
            if stage == 0 and not implicit:
                if room[AT] != since:
                    room[BOUND] = greatest_rate(codes, places, x, p, found, given)
                implicit = not room[BOUND] * h <= MILD
            if stage == 0 or (stage < 3 and not implicit):
                for j in range(count):
                    own[stage * count + j] = k[places[j]]
            add_stage(stage, h, x, k, twice, out)
        room[BOUND], room[AT] = greatest_rate(codes, places, y, p, found, given), until
        if implicit:
            for j in range(count):
                out[places[j]] = y[places[j]]
            return np.int64(0)
        if room[BOUND] * h <= MILD and is_smooth(places, h, k, own, found):
            return np.int64(0)
        implicit = True


@part
def advance(x, reach, k, y, places, implicit, own):
    """Write x + reach k to y, the state of a stage; stiff states that are solved for stay as they are."""
    kept = own[5 * places.shape[0] :]
    for j in range(places.shape[0]):
        kept[j] = y[places[j]] if reach > 0.0 else x[places[j]]
    for i in range(x.shape[0]):
        y[i] = x[i] + reach * k[i] if reach > 0.0 else x[i]
    if implicit:
        for j in range(places.shape[0]):
            y[places[j]] = kept[j]


@part
def add_stage(stage, h, x, k, twice, out):
    """Add the rates of a stage, k (n,), to what the last one makes the end of the step of: out."""
    for i in range(x.shape[0]):
        if stage == 0:
            out[i] = k[i]
        elif stage == 1:
            twice[i] = k[i]
        elif stage == 2:
            twice[i] += k[i]
        else:
            out[i] = x[i] + h / 6.0 * (out[i] + 2.0 * twice[i] + k[i])


@part
def greatest_rate(codes, places, y, p, found, given):
    """Return a bound on the rates of the stiff states in y, 1/s; infinite where there is none."""
    count = places.shape[0]
    first = given.shape[0] - count - 1
    for j in range(count):
        given[first + j] = y[places[j]]
    given[first + count] = 1.0
    return found[3 * count] if call_code(codes[STIFF], y, given, p, found) == 0 else np.inf


@part
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


@part
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


@part
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


@cache
def step_code() -> Any:
    """Return the C function of `step`."""
    integers = types.CPointer(types.int64)
    kinds = [integers, POINTER, POINTER, POINTER, integers, *[POINTER] * 7]
    signature = types.intp(*(kind for pointer in kinds for kind in (pointer, types.intp)))
    return code_of(__file__, _checked_step_code if guarded() else _step_code, signature)


def _step_code(codes, c, x, n, knots, s, table, r, cursor, o, p, m, u, nu, k, nk, y, ny, twice, nt, room, b, out, no):
    return step(
        carray(codes, c),
        carray(x, n),
        carray(knots, s),
        carray(table, (r, nu)),
        carray(cursor, o),
        carray(p, m),
        carray(u, nu),
        carray(k, nk),
        carray(y, ny),
        carray(twice, nt),
        carray(room, b),
        carray(out, no),
    )


# an exception does not leave a C function: that of an index check is handed on as a status
def _checked_step_code(
    codes, c, x, n, knots, s, table, r, cursor, o, p, m, u, nu, k, nk, y, ny, twice, nt, room, b, out, no
):
    try:
        return step(
            carray(codes, c),
            carray(x, n),
            carray(knots, s),
            carray(table, (r, nu)),
            carray(cursor, o),
            carray(p, m),
            carray(u, nu),
            carray(k, nk),
            carray(y, ny),
            carray(twice, nt),
            carray(room, b),
            carray(out, no),
        )
    except Exception:
        return np.int64(INDEX_FAULT)
