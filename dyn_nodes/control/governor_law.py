"""The law of the tip-over governor, in numbers: compiled together with the prediction of stops, and plain Python.

`predict(volts, toward, leads, enough, situation, stopped)` predicts a stop. It writes to stopped (4,) the
least share of all wheels on the stop after outputs (m,), which wheel, when, s, and the least share at rest; where
`leads` is above 0, outputs go on to `toward` for this part of `hold` of the settings before they are braked. Below the
share `enough` it may end. What it has to know
is in `situation`, at which the law does not look. `easing(command, situation, eases)` writes which functions lead to a
better stand at once, eases (m,).

Predictions are made several at a time (`predict_all`). The law asks for one stop after the other (`ask`); for one that
is not known yet it goes on with what the same question found in the decision before, and notes what else it asks for.
Then what was noted is predicted, and the law begins again, until it has asked for nothing but stops that are known.
So a decision rests on predictions alone; what was expected decides only how many are made at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

GAIN = 2e-3
"""By which a command has to lead to a better stand to pass without a certificate."""
SHOWN = 0.2
"""A lever that was held back counts as held for so long, s: at the border it gets a part of its way in turns."""
WAYS = ((1.0, 1.0), (1.0, 0.5), (0.3, 0.5), (0.1, 1.0))
"""Of a command to a better stand that are tried: parts of it, and of `hold`. A heavy arm moves late, and a light one
would be at its joint stop by then; near the border none passes but the slowest."""
ROOM = 16
"""Stops that are predicted before the law begins again at most."""
KNOWN, NOTED, ASKED, OPEN = 0, 1, 2, 3
"""Places in `counts` of a memory: stops that are known; these and those that are noted; questions asked; whether one of
them had no answer."""
RESERVE, RISE, LEAST, SLACK, RATE, HALVINGS = range(6)
"""Places in the numbers of a law."""
CONSTANTS = f"""RESERVE, RISE, LEAST, SLACK, RATE, HALVINGS = range(6)
GAIN, SHOWN, WAYS, ROOM = {GAIN!r}, {SHOWN!r}, {WAYS!r}, {ROOM!r}
KNOWN, NOTED, ASKED, OPEN = {KNOWN!r}, {NOTED!r}, {ASKED!r}, {OPEN!r}
"""
"""The same as text, for a module of machine code."""

predict: Any = None
easing: Any = None


def predict_all(keys, found, first, last, situation):
    """Predict the stops of the rows from first to last of keys, and write them to found, which is `whole` or not."""
    m = (keys.shape[1] - 2) // 2
    for row in range(first, last):
        volts, toward, enough = keys[row, :m], keys[row, m : 2 * m], keys[row, 2 * m + 1]
        predict(volts, toward, keys[row, 2 * m], enough, situation, found[row, :4])
        found[row, 4] = 1.0 if found[row, 0] >= enough else 0.0


def questions(m, halvings):
    """Return how many stops a decision over m functions asks for at most."""
    return 4 + m * (2 + halvings + 3 * len(WAYS))


def approach(target, before, most, result):
    """Write outputs (m,) that go from before towards target by `most` V at most to result."""
    for j in range(target.shape[0]):
        result[j] = before[j] + min(max(target[j] - before[j], -most), most)


def decide(command, before, step, law, since, expected, situation, output, parts, stopped):
    """Choose outputs (m,) for the next `step`, s.

    before (m,) outputs of the last decision; law (6,) of `GovernorSettings`, its places `RESERVE` and so on. Carried on
    are since (m,), s since a lever was held, and expected (`questions`, 4), the answers of the last decision, NaN where
    there were none. Written are output, the stop behind it, stopped (4,), and parts (m,): which part of its command a
    held lever gets; NaN where it is not held.
    """
    m = command.shape[0]
    follow, brake = np.empty(m), np.empty(m)
    most = law[RATE] * max(step, 0.0)
    approach(command, before, most, follow)
    approach(np.zeros(m), before, most, brake)
    choose(command, before, follow, brake, law, expected, situation, output, stopped)
    for j in range(m):
        slight = 1e-3 * max(abs(command[j]), 1e-3)
        since[j] = 0.0 if abs(follow[j] - output[j]) > slight else since[j] + step
        parts[j] = np.nan
        if since[j] < SHOWN and abs(command[j] - output[j]) > slight:
            parts[j] = 0.0 + min(max(output[j] / command[j], 0.0), 1.0) if command[j] != 0.0 else 0.0  # no -0.0


def choose(command, before, follow, brake, law, expected, situation, output, stopped):
    """Write the outputs that pass of a step from `brake` to `follow`, and the stop behind them."""
    m = command.shape[0]
    most = ROOM * questions(m, int(law[HALVINGS]))
    memory = np.empty((most, 2 * m + 2)), np.empty((most, 6)), np.zeros(4, np.int64), expected
    keys, found, counts, _ = memory
    while True:
        counts[ASKED], counts[OPEN] = 0, 0
        attempt(command, before, follow, brake, law, memory, situation, output, stopped)
        if counts[OPEN] == 0:
            expected[counts[ASKED] :] = np.nan
            return
        predict_all(keys, found, counts[KNOWN], counts[NOTED], situation)
        counts[KNOWN] = counts[NOTED]


def attempt(command, before, follow, brake, law, memory, situation, output, stopped):
    """Do what `choose` does, from what is known and, where that is not enough, from what is expected."""
    m, reserve = command.shape[0], law[RESERVE]
    ask(follow, follow, 0.0, reserve, memory, stopped)
    output[:] = follow
    if stopped[0] >= reserve + law[RISE]:
        return
    eases = np.empty(m, np.bool_)
    easing(command, situation, eases)
    if stopped[0] >= needed_of(follow, before, eases, law):
        return
    left, lefts = np.empty(m, np.int64), 0
    for j in range(m):
        if abs(follow[j] - brake[j]) > 1e-9:
            left[lefts] = j
            lefts += 1
    output[:] = brake
    if lefts > 0:
        ask(brake, brake, 0.0, -np.inf, memory, stopped)
    if lefts > 0 and stopped[0] >= reserve:
        lefts = share_out(before, follow, brake, eases, law, memory, output, left, lefts, stopped)
    ask(output, output, 0.0, -np.inf, memory, stopped)
    if to_safety(command, follow, brake, eases, law, memory, output, left, lefts, stopped):
        ask(output, output, 0.0, -np.inf, memory, stopped)


def needed_of(trial, before, eases, law):
    """Return the share that the stop after outputs (m,) has to keep.

    It is `rise` more where one goes further than before and does not ease the stand: a command that just passed would
    otherwise be braked by the first measurement that shows a little less.
    """
    for j in range(trial.shape[0]):
        if abs(trial[j]) > abs(before[j]) + 1e-9 and not eases[j]:
            return law[RESERVE] + law[RISE]
    return law[RESERVE]


def share_out(before, follow, brake, eases, law, memory, output, left, lefts, stopped):
    """Give functions as much of their step as is certified, in place; the one that costs least comes first.

    Return how many are held back, the first of `left` then.
    """
    costs, held = np.zeros(lefts), 0
    for i in range(lefts if lefts > 1 else 0):
        trial = output.copy()
        trial[left[i]] = follow[left[i]]
        ask(trial, trial, 0.0, -np.inf, memory, stopped)
        costs[i] = -stopped[0]
    for i in range(1, lefts):  # few: by insertion
        for j in range(i, 0, -1):
            if costs[j] < costs[j - 1]:
                costs[j], costs[j - 1] = costs[j - 1], costs[j]
                left[j], left[j - 1] = left[j - 1], left[j]
    for i in range(lefts):
        k = left[i]
        low, high, part = 0.0, 1.0, 1.0
        for _ in range(1 + int(law[HALVINGS])):
            trial = output.copy()
            trial[k] = follow[k] if part == 1.0 else brake[k] + part * (follow[k] - brake[k])
            needed = needed_of(trial, before, eases, law)
            ask(trial, trial, 0.0, needed, memory, stopped)
            if stopped[0] >= needed:
                low = part
                output[k] = trial[k]
            else:
                high = part
            if low == high:
                break
            part = 0.5 * (low + high)
        if low < 1.0:
            left[held] = k
            held += 1
    return held


def to_safety(command, follow, brake, eases, law, memory, output, left, lefts, stopped):
    """Let held functions through, in place, that lead to a better stand than the stop behind the output, `stopped`.

    Such a command is looked at as a whole, against the same time without it, and taken in the first of some `WAYS` that
    does no harm on the way, nor on the stop that is left after a period of it. A function that still works the
    other way is only braked. Return whether any passes.
    """
    floor, changed = min(law[LEAST], stopped[0], stopped[3] - law[SLACK]), False
    way, without = np.empty(4), np.empty(4)
    for i in range(lefts):
        k = left[i]
        if not (eases[k] and follow[k] * command[k] > 0.0):
            continue
        for part, leads in WAYS:
            wanted = part * command[k]
            trial, toward = output.copy(), output.copy()
            gentle = min(follow[k], wanted) if wanted > 0.0 else max(follow[k], wanted)
            trial[k] = max(gentle, brake[k]) if wanted > 0.0 else min(gentle, brake[k])  # no faster than the rate
            toward[k] = wanted
            if not (trial[k] - output[k]) * wanted > 0.0:
                break  # no further than what is certified, and the ways that are left are gentler
            ask(trial, trial, 0.0, floor, memory, way)
            if not way[0] >= floor:
                continue
            ask(trial, toward, leads, floor, memory, way)
            if not way[0] >= floor:
                continue
            toward[k] = 0.0
            ask(output, toward, leads, -np.inf, memory, without)
            if way[3] > without[3] + GAIN:
                output[k], changed = trial[k], True
                break
    return changed


def ask(volts, toward, leads, enough, memory, stopped):
    """Write a stop that is known, to its end or as far as it keeps the share `enough`; else what is expected of it."""
    keys, found, counts, expected = memory
    order = counts[ASKED]
    counts[ASKED] += 1
    place = place_of(volts, toward, leads, enough, keys, found, counts[KNOWN])
    if place >= 0:
        stopped[:] = found[place, :4]
        expected[order] = stopped
        return
    counts[OPEN] = 1
    note(volts, toward, leads, enough, keys, counts)
    stopped[:] = expected[order]
    if stopped[0] != stopped[0]:
        stopped[:] = np.inf if order == 0 or enough == -np.inf else -np.inf


def place_of(volts, toward, leads, enough, keys, found, count):
    """Return the place of a stop among those that are known, -1 where it is not.

    One that was not predicted to its end counts where it came below the share `enough`.
    """
    for place in range(count):
        if is_of(volts, toward, leads, keys[place]) and (found[place, 4] > 0.0 or not found[place, 0] >= enough):
            return place
    return -1


def is_of(volts, toward, leads, key):
    """Return whether a key is that of a stop."""
    m = volts.shape[0]
    same = key[2 * m] == leads
    for j in range(m):
        same = same and key[j] == volts[j] and key[m + j] == toward[j]
    return same


def note(volts, toward, leads, enough, keys, counts):
    """Note a stop that is to be predicted, where there is room."""
    m = volts.shape[0]
    for place in range(counts[KNOWN], counts[NOTED]):
        if is_of(volts, toward, leads, keys[place]):
            keys[place, 2 * m + 1] = min(keys[place, 2 * m + 1], enough)
            return
    place = counts[NOTED]
    if place - counts[KNOWN] == ROOM:
        return
    keys[place, :m] = volts
    keys[place, m : 2 * m] = toward
    keys[place, 2 * m], keys[place, 2 * m + 1] = leads, enough
    counts[NOTED] += 1
