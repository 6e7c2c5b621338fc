"""Stops integrated in parallel, in the lanes of a machine's vector kernels.

There may be more stops than lanes. When the stop of a lane has ended, the lane takes the next one, whose time starts
then; when no stop waits and half of the lanes are free, the remaining ones are packed into a narrower kernel, which
takes less time. Vectors of several lanes have element i of lane k at i * lanes + k.

The kernels and the vectors of lanes are of single precision: a vector of the processor then holds twice as many stops.
Shares differ by about 1e-5 from those in double precision (`test/governor/test_braking_precision.py`).

A runner is one variant of a stop; the runners of a stop have consecutive numbers. `sides` are two
states of all lanes (2, s lanes), before a step and after it, used alternately.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array, Indices, Single
from dyn_nodes.compile.code import call_code
from dyn_nodes.governor._kernels import part
from dyn_nodes.governor.records import STEP, MachineCode, Requests, Situation, Times

STILL = 0.05
"""Joint speed below which a joint counts as at rest, rad/s or m/s."""
SWIFT = 0.05
"""Joint speed above which stopping a joint, for example at its limit, makes the base rock, rad/s or m/s."""
NOT_YET, AT_REST, BELOW = range(3)
"""Outcomes of a runner: none yet; followed to its end; ended because a wheel kept less than `enough`."""
FREE = -1
"""Runner number of a free lane."""


class Runs(NamedTuple):
    """Stops of r runners.

    Attributes:
        least, instant: (r, w) least share of each spring, and its time, s; inf if a runner never started.
        standing: (r, 2 w) shares at rest in the end, first without and then with the rated payload (`Support`).
        off: (r,) last time at which a wheel was off the ground, s; inf if one is off in the end.
        outcome: (r,) `AT_REST`; or `BELOW` if this or another runner of its stop came below the share `enough`: the
            other variants then need not be followed.
    """

    least: Array
    instant: Array
    standing: Array
    off: Array
    outcome: Indices


class Lanes(NamedTuple):
    """Bookkeeping of lanes.

    Attributes:
        runner: (lanes,) number of the runner, `FREE` if there is none.
        row: (lanes,) present row of the runner's outputs.
        rows: (lanes,) number of rows.
        calm: (lanes,) the row from which the outputs have been constant for a while.
        fast: (lanes,) the last row in which a joint was fast.
        off: (lanes,) the row after the last one in which a wheel was off the ground.
        outcome: (lanes,) of the runner.
    """

    runner: Indices
    row: Indices
    rows: Indices
    calm: Indices
    fast: Indices
    off: Indices
    outcome: Indices


@part
def run_lanes(requests: Requests, chosen: Indices, situation: Situation, runs: Runs) -> None:
    """Integrate the stops of the chosen requests in all variants."""
    code, layout, starts, surroundings, support, sent, times, _ = situation
    runners, variants = runs.outcome.shape[0], starts.shape[0]
    kind = width(code, runners)
    lanes = code.lanes[kind]
    sides, inputs = np.empty((2, starts.shape[1] * lanes), np.float32), spread(surroundings[0], lanes)
    sides[0], supports = spread(starts[0], lanes), spread(support[0], lanes)
    notes = free_lanes(lanes)
    enough, volts = np.empty(lanes), np.zeros(sent.queue.shape[1] * lanes, np.float32)
    rows = sent.waits[-1] + times.lasting + times.hold + times.horizon
    tables = np.empty((runners, rows, sent.queue.shape[1]))
    ends = np.empty((runners, starts.shape[1]))
    runs.least[:], runs.instant[:], runs.standing[:], runs.off[:] = np.inf, np.inf, np.inf, np.inf
    runs.outcome[:] = NOT_YET
    following, side = np.int64(0), np.int64(0)  # with literals Numba compiles `start` and `advance` twice
    while True:
        for k in range(lanes):
            while notes.runner[k] < 0 and following < runners:
                if runs.outcome[following] == NOT_YET:
                    row = chosen[following // variants]
                    start(
                        following, k, requests, row, situation, sides[side], inputs, supports, tables[following], notes
                    )
                    enough[k] = requests.enough[row]
                following += 1
        going = busy(notes)
        if going == 0:
            break
        kind = width(code, going)
        fewer = code.lanes[kind]
        if fewer < lanes:
            packed_states = packed(sides[side], notes, fewer)
            sides, side = np.empty((2, packed_states.shape[0]), np.float32), 0
            sides[0], inputs, supports = packed_states, packed(inputs, notes, fewer), packed(supports, notes, fewer)
            volts, enough = packed(volts, notes, fewer), packed(enough, notes, fewer)
            notes, lanes = packed_notes(notes, fewer), fewer
        side = advance(code.strides[kind], sides, side, inputs, supports, volts, tables, notes, enough, times)
        for k in range(lanes):
            if notes.runner[k] >= 0 and notes.outcome[k] != NOT_YET:
                end_stop(notes.runner[k], notes.outcome[k], variants, runs)
        for k in range(lanes):
            runner = notes.runner[k]
            if runner >= 0 and runs.outcome[runner] != NOT_YET:
                take(k, layout.least, sides[side], sides[1 - side], notes, surroundings[0, STEP], ends, runs)
        side = 1 - side
    for runner in range(runners):
        if runs.least[runner, 0] != np.inf:
            write_standing(situation, runner % variants, ends[runner], runs.standing[runner])


@part
def advance(
    stride: int,
    sides: Single,
    side: int,
    inputs: Single,
    supports: Single,
    volts: Single,
    tables: Array,
    notes: Lanes,
    enough: Array,
    times: Times,
) -> int:
    """Advance all lanes by steps until a runner ends; return the side of states that is before the last step.

    The loop calls only the kernel: it runs once a microsecond.
    """
    lanes, m = notes.runner.shape[0], tables.shape[2]
    x, after, seen = sides[side], sides[1 - side], np.empty(2 * lanes, np.float32)
    longest, rocks = times.longest, times.rocking
    while True:
        for k in range(lanes):
            row = notes.row[k]
            if notes.runner[k] < 0:
                continue
            if row < notes.rows[k]:
                for j in range(m):
                    volts[j * lanes + k] = tables[notes.runner[k], row, j]
            if row == notes.calm[k]:
                inputs[STEP * lanes + k] *= 2.0
        if call_code(stride, x, volts, inputs, supports, after, seen) != 0:
            raise ValueError('stride: an argument of another length')
        finished = False
        for k in range(lanes):
            if notes.runner[k] < 0:
                continue
            row = notes.row[k] + max(notes.row[k] - notes.calm[k], 0)
            notes.row[k] += 1
            if seen[lanes + k] >= SWIFT:
                notes.fast[k] = row
            if seen[k] < 0.0:
                notes.off[k] = row + 1
            rests = seen[lanes + k] < STILL and row >= notes.fast[k] + rocks
            if row >= longest or (row >= notes.rows[k] and rests):
                notes.outcome[k], finished = AT_REST, True
            elif not seen[k] >= enough[k]:
                notes.outcome[k], finished = BELOW, True
        if finished:
            return side
        x, after, side = after, x, 1 - side


@part
def end_stop(runner: int, outcome: int, variants: int, runs: Runs) -> None:
    """Store the outcome of a runner; if it is `BELOW`, the unfinished runners of its stop end with it."""
    runs.outcome[runner] = outcome
    if outcome == BELOW:
        first = runner - runner % variants
        for other in range(first, first + variants):
            if runs.outcome[other] == NOT_YET:
                runs.outcome[other] = BELOW


@part
def width(code: MachineCode, used: int) -> int:
    """Return the index of the narrowest vector kernel with at least `used` lanes, or of the widest one."""
    kind = 0
    while code.lanes[kind] < used and kind + 1 < code.lanes.shape[0]:
        kind += 1
    return kind


@part
def spread(values: Array, lanes: int) -> Single:
    """Return the values (s,) copied into all lanes."""
    result = np.empty(values.shape[0] * lanes, np.float32)
    for i in range(values.shape[0]):
        for k in range(lanes):
            result[i * lanes + k] = values[i]
    return result


@part
def packed(values, notes: Lanes, fewer: int):
    """Return values of the lanes with a runner, in fewer lanes; unused lanes get the values of the first one."""
    lanes = notes.runner.shape[0]
    size = values.shape[0] // lanes
    result, slot = np.empty(size * fewer, values.dtype), 0
    for k in range(lanes):
        if notes.runner[k] >= 0:
            for free in range(slot, fewer if slot == 0 else slot + 1):
                for i in range(size):
                    result[i * fewer + free] = values[i * lanes + k]
            slot += 1
    return result


@part
def free_lanes(count: int) -> Lanes:
    """Return the bookkeeping of `count` free lanes."""
    return Lanes(
        np.full(count, FREE),
        np.full(count, FREE),
        np.full(count, FREE),
        np.full(count, FREE),
        np.full(count, FREE),
        np.full(count, FREE),
        np.full(count, FREE),
    )


@part
def packed_notes(notes: Lanes, fewer: int) -> Lanes:
    """Return the bookkeeping of the lanes with a runner, in fewer lanes."""
    result, slot = free_lanes(fewer), 0
    for k in range(notes.runner.shape[0]):
        if notes.runner[k] >= 0:
            result.runner[slot], result.row[slot], result.rows[slot] = notes.runner[k], notes.row[k], notes.rows[k]
            result.calm[slot], result.fast[slot] = notes.calm[k], notes.fast[k]
            result.off[slot], result.outcome[slot] = notes.off[k], notes.outcome[k]
            slot += 1
    return result


@part
def busy(notes: Lanes) -> int:
    """Return the number of lanes with a runner."""
    count = 0
    for k in range(notes.runner.shape[0]):
        if notes.runner[k] >= 0:
            count += 1
    return count


@part
def start(
    runner: int,
    k: int,
    requests: Requests,
    request: int,
    situation: Situation,
    x: Single,
    inputs: Single,
    supports: Single,
    table: Array,
    notes: Lanes,
) -> None:
    """Start a runner in lane k: its state, masses, springs, outputs and bookkeeping."""
    _, _, starts, surroundings, support, sent, times, levers = situation
    lanes, variant, leads = notes.runner.shape[0], runner % starts.shape[0], requests.leads[request]
    for i in range(starts.shape[1]):
        x[i * lanes + k] = starts[variant, i]
    for i in range(surroundings.shape[1]):
        inputs[i * lanes + k] = surroundings[variant, i]
    for i in range(support.shape[1]):
        supports[i * lanes + k] = support[variant, i]
    notes.runner[k], notes.row[k], notes.fast[k], notes.off[k], notes.outcome[k] = runner, 0, 0, 0, NOT_YET
    waits = sent.waits[variant]
    notes.rows[k] = waits + times.lasting + round(leads * times.hold) + times.horizon
    kept, toward = np.zeros(sent.queue.shape[1]), np.zeros(sent.queue.shape[1])
    for j in range(levers.order.shape[0]):
        kept[levers.order[j]], toward[levers.order[j]] = requests.volts[request, j], requests.toward[request, j]
    waiting = sent.queue[sent.queue.shape[0] - waits :]
    notes.calm[k] = write_volts(waiting, kept, toward, leads, levers.change, times, table[: notes.rows[k]])


@part
def write_volts(
    waiting: Array, kept: Array, toward: Array, leads: float, most: float, times: Times, volts: Array
) -> int:
    """Write the outputs (t, m) of a stop: those that wait, those that are kept, then neutral at `most` V a step.

    For the part `leads` of the time `hold`, the kept outputs first move towards `toward`. Returns the row from which a
    step is two rows long: some time after all outputs are neutral.
    """
    waits, m = waiting.shape
    steps, total, ramp = times.lasting + round(leads * times.hold), volts.shape[0], 0.0
    for j in range(m):
        for t in range(waits):
            volts[t, j] = waiting[t, j]
        for t in range(steps):
            far = most * t
            volts[waits + t, j] = kept[j] + min(max(toward[j] - kept[j], -far), far)
        end = volts[waits + steps - 1, j]
        ramp = max(ramp, abs(end) / most)
        for t in range(waits + steps, total):
            left = abs(end) - most * (t - waits - steps + 1)
            volts[t, j] = np.copysign(max(left, 0.0), end)
    return waits + steps + int(np.ceil(ramp)) + times.calm


@part
def take(k: int, first: int, x: Single, after: Single, notes: Lanes, step: float, ends: Array, runs: Runs) -> None:
    """Store the result of the runner of lane k, and free the lane.

    Its state in `x` is copied to `ends`. The least shares up to then, from index `first` of a state on, are in the
    state `after`. A row takes `step` s.
    """
    lanes, runner, supports = notes.runner.shape[0], notes.runner[k], runs.least.shape[1]
    for i in range(ends.shape[1]):
        ends[runner, i] = x[i * lanes + k]
    for i in range(supports):
        runs.least[runner, i] = after[(first + i) * lanes + k]
        runs.instant[runner, i] = after[(first + supports + i) * lanes + k]
    last = notes.row[k] - 1
    is_off = notes.off[k] > last + max(last - notes.calm[k], 0)
    runs.off[runner] = np.inf if is_off else notes.off[k] * step
    notes.runner[k] = FREE


@part
def write_standing(situation: Situation, h: int, state: Array, rest: Array) -> None:
    """Write the least shares of variant `h` at rest at the joints of a state, as in `Runs.standing`."""
    surroundings, support = situation.surroundings[h], situation.support[h]
    if call_code(situation.code.standing, state, surroundings, support, rest) != 0:
        raise ValueError('standing: an argument of another length')
