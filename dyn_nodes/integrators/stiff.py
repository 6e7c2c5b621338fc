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
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from dyn_nodes.integrators.codes import PLACES, STIFF, evaluate, kernel

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
BOUND, UNKNOWN, MILD = 0, -1.0, 1.0
"""Place in the room of the greatest rate of a stiff state, 1/s, at the beginning of a step; its value while it is not
known; and the greatest one times the step at which a step is that of the classical method."""
NEAR_END = 1e-6
"""Share of an interval at its ends that Newton's method is not to lead to: it would come back from there."""


@kernel
def stiff_count(codes):
    """Return the number of stiff states."""
    return codes.shape[0] - PLACES if codes[STIFF] != 0 else 0


@kernel
def stiff_room(codes, inputs):
    """Return the numbers that the stiff states of a step need, with so many inputs; the first is not known yet."""
    room = np.empty(9 * stiff_count(codes) + inputs + 3)
    room[BOUND] = UNKNOWN
    return room


@kernel
def is_mild(codes, h, x, u, p, room):
    """Return whether no state is stiff for a step h at x, from what the room knows or from the kernel."""
    if room[BOUND] == UNKNOWN:
        find_bound(codes, x, u, p, room)
    return room[BOUND] * h <= MILD


@kernel
def find_bound(codes, x, u, p, room):
    """Write a bound on the rates of the stiff states at x to the room; infinite where there is none."""
    count, inputs = stiff_count(codes), u.shape[0]
    found, given = places_of(count, inputs, room)
    for k in range(inputs):
        given[k] = u[k]
    for j in range(count):
        given[inputs + j] = x[codes[PLACES + j]]
    given[inputs + count] = 1.0
    status = evaluate(codes[STIFF], x, given, p, found)
    room[BOUND] = found[3 * count] if status == 0 else np.inf


@kernel
def places_of(count, inputs, room):
    """Return the parts of the room that the kernel writes and reads."""
    at = 1 + 5 * count
    return room[at : at + 3 * count + 1], room[at + 3 * count + 1 : at + 4 * count + inputs + 2]


@kernel
def keep_rates(codes, stage, k, room):
    """Keep the rates of the stiff states in a stage before the last, where those of all states are k (n,)."""
    count = stiff_count(codes)
    for j in range(count):
        room[1 + stage * count + j] = k[codes[PLACES + j]]


@kernel
def is_smooth(codes, h, k, room):
    """Return whether the rates of a classical step, k (n,) those of its last stage, show no state to be stiff.

    The second and the third stage are at the same time. On P' = a P their rates differ by h |a| / 2 of the change of
    the rate before them; a share of the rate itself is allowed, as its change is small about its extremes.
    """
    count = stiff_count(codes)
    found, _ = places_of(count, np.int64(0), room)
    for j in range(count):
        first, second, third = room[1 + j], room[1 + count + j], room[1 + 2 * count + j]
        last = k[codes[PLACES + j]]
        change, size = max(abs(second - first), abs(last - first)), max(abs(first), abs(last))
        difference = abs(third - second)
        if difference > 0.5 * MILD * change + 0.2 * size and h * difference > MET * found[2 * count + j]:
            return False
    return True


@kernel
def hold(codes, y, room):
    """Keep the stiff states of y in the room."""
    count = stiff_count(codes)
    for j in range(count):
        room[1 + 5 * count + j] = y[codes[PLACES + j]]


@kernel
def restore(codes, room, y):
    """Write the stiff states that `hold` has kept to y."""
    count = stiff_count(codes)
    for j in range(count):
        y[codes[PLACES + j]] = room[1 + 5 * count + j]


@kernel
def forget_ends(count, room):
    """Enclose nothing."""
    for j in range(count):
        room[1 + 3 * count + j], room[1 + 4 * count + j] = -np.inf, np.inf


@kernel
def correct(codes, found, y, room):
    """Correct the stiff states of y once; one that Newton would lead out of its interval goes to the middle of it.

    `found` are the corrections, the residuals, which rise with their own states, and the usual sizes.
    """
    count = stiff_count(codes)
    lower = room[1 + 3 * count : 1 + 4 * count]
    upper = room[1 + 4 * count : 1 + 5 * count]
    for j in range(count):
        place = codes[PLACES + j]
        if found[count + j] < 0.0:
            lower[j] = y[place]
        else:
            upper[j] = y[place]
        to, width = y[place] + found[j], upper[j] - lower[j]
        if width < np.inf and not (lower[j] + NEAR_END * width < to < upper[j] - NEAR_END * width):
            to = lower[j] + 0.5 * width
        y[place] = to


@kernel
def solve_stage(codes, stage, h, x, u, p, most, y, room):
    """Correct the stiff states of a stage in y, at most so often; the other states of y are those of the stage.

    x is the state at the beginning of the step. The room has the rates of the stages before, and gets those of this
    one. Returns a status.
    """
    count, inputs = stiff_count(codes), u.shape[0]
    found, given = places_of(count, inputs, room)
    for k in range(inputs):
        given[k] = u[k]
    for j in range(count):
        total = 0.0
        for before in range(stage):
            total += IMPLICIT[stage, before] * room[1 + before * count + j]
        given[inputs + j] = x[codes[PLACES + j]] + h * total
    reach = h * IMPLICIT[stage, stage]
    given[inputs + count] = reach
    for correction in range(most):
        if correction % FORGOTTEN == 0:
            forget_ends(count, room)
        status = evaluate(codes[STIFF], y, given, p, found)
        if status != 0:
            return status
        correct(codes, found, y, room)
        if within(found, count, CLOSE):
            break
    if stage < 3:
        for j in range(count):
            room[1 + stage * count + j] = (y[codes[PLACES + j]] - given[inputs + j]) / reach
    return np.int64(0)


@kernel
def within(found, count, share):
    """Return whether all corrections are within a share of the usual sizes."""
    greatest = 0.0
    for j in range(count):
        greatest = max(greatest, abs(found[j]) - share * found[2 * count + j])
    return greatest <= 0.0


@kernel
def solved(codes, inputs, y, k, room):
    """Return whether the stiff states of the stage in y meet its formula with the rates k (n,) there."""
    count = stiff_count(codes)
    found, given = places_of(count, inputs, room)
    for j in range(count):
        place = codes[PLACES + j]
        residual = y[place] - given[inputs + j] - given[inputs + count] * k[place]
        if not abs(residual) <= MET * found[2 * count + j]:
            return False
    return True
