"""The law of the tip-over governor: selects the outputs that follow a command, from predicted stops.

Stops are predicted several at a time (`predict_stops`). The law requests one stop after the other (`ask`). For a stop
that is not predicted yet it continues with the answer to the same question in the previous decision, and records the
request. Then the recorded stops are predicted and the law restarts, until it requests predicted stops only. So a
decision rests on predictions alone; the expected answers determine only how many stops are predicted at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array, Flags, Indices
from dyn_nodes.governor._kernels import kernel, part
from dyn_nodes.governor.prediction import eases_of, predict_stops
from dyn_nodes.governor.records import Requests, Results, Situation, situation_of
from dyn_nodes.governor.settings import LawSettings
from dyn_nodes.governor.stops import Stop

GAIN = 2e-3
"""Least improvement of the share at rest for which a command passes without a certificate."""
SHOWN = 0.2
"""Time for which a limited lever continues to be reported as held, s: near the border it passes only intermittently."""
WAYS = ((1.0, 1.0), (1.0, 0.5), (0.3, 0.5), (0.1, 1.0))
"""Fractions of a command to a more stable posture that are tried, and of `hold`. A heavy arm moves late, and a light
one would be at its joint limit by then; near the border only the slowest passes."""
ROOM = 16
"""Greatest number of stops that are predicted before the law restarts."""
PREDICTED, RECORDED, ASKED, OPEN = 0, 1, 2, 3
"""Indices in `Memory.counts`: number of predicted stops; of predicted and recorded stops; of questions asked; whether
one of them had no answer."""


class Memory(NamedTuple):
    """Stops of a decision.

    Attributes:
        requests, results: of the stops that are predicted or recorded.
        counts: (4,) indexed by `PREDICTED`, `RECORDED`, `ASKED` and `OPEN`.
        expected: (`questions`,) answers of the previous decision, in the order of the questions; NaN if there was none.
    """

    requests: Requests
    results: Results
    counts: Indices
    expected: Results


@kernel
def questions(levers: int, halvings: int) -> int:
    """Return the greatest number of stops that a decision requests."""
    return 4 + levers * (2 + halvings + 3 * len(WAYS))


@kernel
def approach(target: Array, before: Array, most: float, result: Array) -> None:
    """Write to `result` the outputs (l,) that move from `before` towards `target` by `most` V at most."""
    for j in range(target.shape[0]):
        result[j] = before[j] + min(max(target[j] - before[j], -most), most)


@kernel
def decide(
    command: Array,
    before: Array,
    step: float,
    law: LawSettings,
    since: Array,
    expected: Results,
    situation: Situation,
    output: Array,
    parts: Array,
) -> Stop:
    """Choose outputs for the next `step` and return the certified stop that follows them.

    Args:
        command: (l,) V.
        before: (l,) outputs of the previous decision, V.
        step: s.
        law: settings.
        since: (l,) time since each lever was held, s; updated.
        expected: (`questions`,) answers of the previous decision; updated.
        situation: of the machine.
        output: (l,) written, V.
        parts: (l,) written: the fraction of its command that a held lever gets; NaN if it is not held.
    """
    m = command.shape[0]
    follow, brake = np.empty(m), np.empty(m)
    most = law.rate * max(step, 0.0)
    approach(command, before, most, follow)
    approach(np.zeros(m), before, most, brake)
    stop = choose(command, before, follow, brake, law, expected, situation, output)
    for j in range(m):
        slight = 1e-3 * max(abs(command[j]), 1e-3)
        since[j] = 0.0 if abs(follow[j] - output[j]) > slight else since[j] + step
        parts[j] = np.nan
        if since[j] < SHOWN and abs(command[j] - output[j]) > slight:
            parts[j] = 0.0 + min(max(output[j] / command[j], 0.0), 1.0) if command[j] != 0.0 else 0.0  # no -0.0
    return stop


@kernel
def decide_fields(
    command: Array, before: Array, step: float, since: Array, output: Array, parts: Array, *fields: Any
) -> Stop:
    """Call `decide` with the fields of law, expected answers and situation."""
    settings, expected = LawSettings(*fields[:6]), Results(*fields[6:14])
    return decide(command, before, step, settings, since, expected, situation_of(fields[14:]), output, parts)


@part
def choose(
    command: Array,
    before: Array,
    follow: Array,
    brake: Array,
    law: LawSettings,
    expected: Results,
    situation: Situation,
    output: Array,
) -> Stop:
    """Write the permitted outputs between `brake` and `follow`; return the stop that follows them."""
    m = command.shape[0]
    most = ROOM * questions(m, law.halvings)
    memory = Memory(
        Requests(np.empty((most, m)), np.empty((most, m)), np.empty(most), np.empty(most)),
        Results(
            np.empty(most),
            np.empty(most, np.int64),
            np.empty(most),
            np.empty(most),
            np.empty(most),
            np.empty(most),
            np.empty(most, np.bool_),
            np.empty(most),
        ),
        np.zeros(4, np.int64),
        expected,
    )
    counts = memory.counts
    while True:
        counts[ASKED], counts[OPEN] = 0, 0
        stop = attempt(command, before, follow, brake, law, memory, situation, output)
        if counts[OPEN] == 0:
            expected.least[counts[ASKED] :] = np.nan
            return stop
        predict_stops(memory.requests, memory.results, counts[PREDICTED], counts[RECORDED], situation)
        counts[PREDICTED] = counts[RECORDED]


@part
def attempt(
    command: Array,
    before: Array,
    follow: Array,
    brake: Array,
    law: LawSettings,
    memory: Memory,
    situation: Situation,
    output: Array,
) -> Stop:
    """Make the selection of `choose` from predicted stops and, where these are missing, from expected ones."""
    m = command.shape[0]
    stop = ask(follow, follow, 0.0, law.reserve, memory)
    output[:] = follow
    if stop.least >= law.reserve + law.rise:
        return stop
    eases = np.empty(m, np.bool_)
    eases_of(command, situation, eases)
    if stop.least >= needed_of(follow, before, eases, law):
        return stop
    left, lefts = np.empty(m, np.int64), np.int64(0)  # with a literal Numba compiles `share_out` twice
    for j in range(m):
        if abs(follow[j] - brake[j]) > 1e-9:
            left[lefts] = j
            lefts += 1
    output[:] = brake
    if lefts > 0:
        stop = ask(brake, brake, 0.0, -np.inf, memory)
    if lefts > 0 and stop.least >= law.reserve:
        lefts = share_out(before, follow, brake, eases, law, memory, output, left, lefts)
    stop = ask(output, output, 0.0, -np.inf, memory)
    if to_safety(command, follow, brake, eases, law, memory, output, left, lefts, stop):
        return ask(output, output, 0.0, -np.inf, memory)
    return stop


@part
def needed_of(trial: Array, before: Array, eases: Flags, law: LawSettings) -> float:
    """Return the share that the stop after outputs (l,) has to keep.

    It is increased by `rise` if an output grows that does not improve stability: a command that just passed would
    otherwise be braked by the first measurement with a slightly lower share.
    """
    for j in range(trial.shape[0]):
        if abs(trial[j]) > abs(before[j]) + 1e-9 and not eases[j]:
            return law.reserve + law.rise
    return law.reserve


@part
def share_out(
    before: Array,
    follow: Array,
    brake: Array,
    eases: Flags,
    law: LawSettings,
    memory: Memory,
    output: Array,
    left: Indices,
    lefts: int,
) -> int:
    """Give each function as much of its step as is certified, in place, in the order of increasing cost.

    Return the number of functions that are held back; they come first in `left`.
    """
    costs, held = np.zeros(lefts), 0
    for i in range(lefts if lefts > 1 else 0):
        trial = output.copy()
        trial[left[i]] = follow[left[i]]
        costs[i] = -ask(trial, trial, 0.0, -np.inf, memory).least
    for i in range(1, lefts):  # few: by insertion
        for j in range(i, 0, -1):
            if costs[j] < costs[j - 1]:
                costs[j], costs[j - 1] = costs[j - 1], costs[j]
                left[j], left[j - 1] = left[j - 1], left[j]
    for i in range(lefts):
        k = left[i]
        low, high, part_of_step = 0.0, 1.0, 1.0
        for _ in range(1 + law.halvings):
            trial = output.copy()
            trial[k] = follow[k] if part_of_step == 1.0 else brake[k] + part_of_step * (follow[k] - brake[k])
            needed = needed_of(trial, before, eases, law)
            if ask(trial, trial, 0.0, needed, memory).least >= needed:
                low = part_of_step
                output[k] = trial[k]
            else:
                high = part_of_step
            if low == high:
                break
            part_of_step = 0.5 * (low + high)
        if low < 1.0:
            left[held] = k
            held += 1
    return held


@part
def to_safety(
    command: Array,
    follow: Array,
    brake: Array,
    eases: Flags,
    law: LawSettings,
    memory: Memory,
    output: Array,
    left: Indices,
    lefts: int,
    stop: Stop,
) -> bool:
    """Pass held functions, in place, that lead to a more stable posture than `stop`, which follows the present output.

    Such a command is evaluated as a whole, compared with the same time without it, and taken in the first of some
    `WAYS` whose least share does not fall below a floor, both on the way and on the stop after one period of it. If the
    rated load lowers the floor, the shares without this limit keep their own. A function that still moves in the
    opposite direction is only braked. Return whether any function passes.
    """
    floor, changed = min(law.least, stop.least, stop.standing - law.slack), False
    kept = min(law.least, stop.pushes, stop.rest - law.slack)
    for i in range(lefts):
        k = left[i]
        if not (eases[k] and follow[k] * command[k] > 0.0):
            continue
        for share, leads in WAYS:
            wanted = share * command[k]
            trial, toward = output.copy(), output.copy()
            gentle = min(follow[k], wanted) if wanted > 0.0 else max(follow[k], wanted)
            trial[k] = max(gentle, brake[k]) if wanted > 0.0 else min(gentle, brake[k])  # no faster than the rate
            toward[k] = wanted
            if not (trial[k] - output[k]) * wanted > 0.0:
                break  # no further than the certified output, and the remaining ways are gentler
            first = ask(trial, trial, 0.0, floor, memory)
            if not (first.least >= floor and first.pushes >= kept):
                continue
            way = ask(trial, toward, leads, floor, memory)
            if not (way.least >= floor and way.pushes >= kept):
                continue
            toward[k] = 0.0
            without = ask(output, toward, leads, -np.inf, memory)
            if way.standing > without.standing + GAIN:
                output[k], changed = trial[k], True
                break
    return changed


@part
def ask(volts: Array, toward: Array, leads: float, enough: float, memory: Memory) -> Stop:
    """Return a stop that is predicted, to its end or as far as it keeps the share `enough`; else the expected one."""
    counts, expected = memory.counts, memory.expected
    question = counts[ASKED]
    counts[ASKED] += 1
    row = row_of(volts, toward, leads, enough, memory)
    if row >= 0:
        stop = stop_of(memory.results, row)
        expected.least[question], expected.contact[question] = stop.least, stop.contact
        expected.ahead[question], expected.standing[question] = stop.ahead, stop.standing
        expected.pushes[question], expected.rest[question] = stop.pushes, stop.rest
        return stop
    counts[OPEN] = 1
    record_request(volts, toward, leads, enough, memory)
    if np.isnan(expected.least[question]):
        guess = np.inf if question == 0 or enough == -np.inf else -np.inf
        return Stop(guess, 0, guess, guess, guess, guess)
    return stop_of(expected, question)


@part
def stop_of(results: Results, row: int) -> Stop:
    """Return the predicted stop in a row."""
    least, standing = results.least[row], results.standing[row]
    return Stop(least, results.contact[row], results.ahead[row], standing, results.pushes[row], results.rest[row])


@part
def row_of(volts: Array, toward: Array, leads: float, enough: float, memory: Memory) -> int:
    """Return the row of a predicted stop, -1 if it is not predicted.

    A stop that was not predicted to its end is used if it came below the share `enough`.
    """
    results = memory.results
    for row in range(memory.counts[PREDICTED]):
        is_enough = results.followed[row] or not results.least[row] >= enough
        if is_enough and is_of(volts, toward, leads, memory.requests, row):
            return row
    return -1


@part
def is_of(volts: Array, toward: Array, leads: float, requests: Requests, row: int) -> bool:
    """Return whether a request is for the stop after these outputs."""
    same = requests.leads[row] == leads
    for j in range(volts.shape[0]):
        same = same and requests.volts[row, j] == volts[j] and requests.toward[row, j] == toward[j]
    return same


@part
def record_request(volts: Array, toward: Array, leads: float, enough: float, memory: Memory) -> None:
    """Record a stop that is to be predicted, if there is room."""
    requests, counts = memory.requests, memory.counts
    for row in range(counts[PREDICTED], counts[RECORDED]):
        if is_of(volts, toward, leads, requests, row):
            requests.enough[row] = min(requests.enough[row], enough)
            return
    row = counts[RECORDED]
    if row - counts[PREDICTED] == ROOM:
        return
    requests.volts[row] = volts
    requests.toward[row] = toward
    requests.leads[row], requests.enough[row] = leads, enough
    counts[RECORDED] += 1
