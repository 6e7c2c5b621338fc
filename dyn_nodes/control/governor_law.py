"""The law of the tip-over governor, in numbers: compiled together with the prediction of stops, and plain Python.

`predict(volts, toward, leads, enough, situation, stopped)` predicts stops. It writes to stopped (4,) the
least share of all wheels on the stop after outputs (m,), which wheel, when, s, and the least share at rest; where
`leads`, outputs go on to `toward` before they are braked. Below the share `enough` it may end. What it has to know
is in `situation`, at which the law does not look.
"""

from __future__ import annotations

from typing import Any

import numpy as np

GAIN = 2e-3
"""By which a command has to lead to a better stand to pass without a certificate."""
SHOWN = 0.2
"""A lever that was held back counts as held for so long, s: at the border it gets a part of its way in turns."""
PARTS = (1.0, 0.75, 0.6)
"""Of a command to a better stand that are tried."""
CONSTANTS = f'GAIN, SHOWN, PARTS = {GAIN!r}, {SHOWN!r}, {PARTS!r}\n'
"""The same as text, for a module of machine code."""

predict: Any = None


def approach(target, before, most, result):
    """Write outputs (m,) that go from before towards target by `most` V at most to result."""
    for j in range(target.shape[0]):
        result[j] = before[j] + min(max(target[j] - before[j], -most), most)


def decide(command, before, step, law, since, situation, output, parts, stopped):
    """Choose outputs (m,) for the next `step`, s.

    before (m,) outputs of the last decision; law (5,): reserve, least, slack, rate and halvings of
    `GovernorSettings`. since (m,), s since a lever was held, is carried on. Written are output, the stop behind it,
    stopped (4,), and parts (m,): which part of its command a held lever gets; NaN where it is not held.
    """
    m = command.shape[0]
    follow, brake = np.empty(m), np.empty(m)
    most = law[3] * max(step, 0.0)
    approach(command, before, most, follow)
    approach(np.zeros(m), before, most, brake)
    choose(command, follow, brake, law, situation, output, stopped)
    for j in range(m):
        slight = 1e-3 * max(abs(command[j]), 1e-3)
        since[j] = 0.0 if abs(follow[j] - output[j]) > slight else since[j] + step
        parts[j] = np.nan
        if since[j] < SHOWN and abs(command[j] - output[j]) > slight:
            parts[j] = min(max(output[j] / command[j], 0.0), 1.0) if command[j] != 0.0 else 0.0


def choose(command, follow, brake, law, situation, output, stopped):
    """Write the outputs that pass of a step from `brake` to `follow`, and the stop behind them."""
    m, reserve = command.shape[0], law[0]
    keys, found = np.empty((8 + 4 * m, 2 * m + 2)), np.empty((8 + 4 * m, 4))
    count = predict_enough(follow, reserve, situation, keys, found, 0, stopped)
    output[:] = follow
    if stopped[0] >= reserve:
        return
    left, lefts = np.empty(m, np.int64), 0
    for j in range(m):
        if abs(follow[j] - brake[j]) > 1e-9:
            left[lefts] = j
            lefts += 1
    output[:] = brake
    if lefts > 0:
        count = predict_once(brake, brake, False, situation, keys, found, count, stopped)
    if lefts > 0 and stopped[0] >= reserve:
        lefts, count = share_out(follow, brake, law, situation, output, left, lefts, keys, found, count, stopped)
    count = predict_once(output, output, False, situation, keys, found, count, stopped)
    if to_safety(command, follow, law, situation, output, left, lefts, keys, found, count, stopped):
        predict(output, output, False, -np.inf, situation, stopped)


def share_out(follow, brake, law, situation, output, left, lefts, keys, found, count, stopped):
    """Give functions as much of their step as is certified, in place; the one that costs least comes first.

    Return how many are held back, the first of `left` then, and how many predictions there are.
    """
    costs, held = np.zeros(lefts), 0
    for i in range(lefts if lefts > 1 else 0):
        trial = output.copy()
        trial[left[i]] = follow[left[i]]
        count = predict_once(trial, trial, False, situation, keys, found, count, stopped)
        costs[i] = -stopped[0]
    for i in range(1, lefts):  # few: by insertion
        for j in range(i, 0, -1):
            if costs[j] < costs[j - 1]:
                costs[j], costs[j - 1] = costs[j - 1], costs[j]
                left[j], left[j - 1] = left[j - 1], left[j]
    for i in range(lefts):
        k = left[i]
        low, high, part = 0.0, 1.0, 1.0
        for _ in range(1 + int(law[4])):
            trial = output.copy()
            trial[k] = follow[k] if part == 1.0 else brake[k] + part * (follow[k] - brake[k])
            count = predict_enough(trial, law[0], situation, keys, found, count, stopped)
            if stopped[0] >= law[0]:
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
    return held, count


def to_safety(command, follow, law, situation, output, left, lefts, keys, found, count, stopped):
    """Let held functions through, in place, that lead to a better stand than the stop behind the output, `stopped`.

    Such a command is looked at as a whole, against the same time without it, and taken in the greatest of some `PARTS`
    that does no harm on the way, nor on the stop that is left after a period of it. A function that still works the
    other way is only braked. Return whether any passes.
    """
    floor, changed = law[1], False
    if stopped[0] < floor:
        floor = min(stopped[0], stopped[3] - law[2])
    way, without = np.empty(4), np.empty(4)
    for i in range(lefts):
        k = left[i]
        if not follow[k] * command[k] > 0.0:
            continue
        for part in PARTS:
            wanted = part * command[k]
            trial, toward = output.copy(), output.copy()
            trial[k] = min(follow[k], wanted) if wanted > 0.0 else max(follow[k], wanted)
            toward[k] = wanted
            count = predict_enough(trial, floor, situation, keys, found, count, way)
            if not way[0] >= floor:
                continue
            predict(trial, toward, True, floor, situation, way)
            if not way[0] >= floor:
                continue
            toward[k] = 0.0
            count = predict_once(output, toward, True, situation, keys, found, count, without)
            if way[3] > without[3] + GAIN:
                output[k], changed = trial[k], True
                break
    return changed


def predict_once(volts, toward, leads, situation, keys, found, count, stopped):
    """Predict a stop to its end, or write again what was found in this decision; return how many there are."""
    place = place_of(volts, toward, leads, -np.inf, keys, found, count)
    if place >= 0:
        stopped[:] = found[place]
        return count
    predict(volts, toward, leads, -np.inf, situation, stopped)
    return remember(volts, toward, leads, True, keys, found, count, stopped)


def predict_enough(volts, enough, situation, keys, found, count, stopped):
    """Predict a stop as far as it keeps a share, or write what was found; return how many are kept."""
    place = place_of(volts, volts, False, enough, keys, found, count)
    if place >= 0:
        stopped[:] = found[place]
        return count
    predict(volts, volts, False, enough, situation, stopped)
    return remember(volts, volts, False, stopped[0] >= enough, keys, found, count, stopped)


def place_of(volts, toward, leads, enough, keys, found, count):
    """Return the place of a stop among those that were predicted in this decision, -1 where it is not.

    One that was not predicted to its end counts where it came below the share `enough`.
    """
    m = volts.shape[0]
    for place in range(count):
        same = (keys[place, 2 * m] > 0.0) == leads and (keys[place, 2 * m + 1] > 0.0 or found[place, 0] < enough)
        for j in range(m):
            same = same and keys[place, j] == volts[j] and keys[place, m + j] == toward[j]
        if same:
            return place
    return -1


def remember(volts, toward, leads, whole, keys, found, count, stopped):
    """Keep a stop where there is room, `whole` where it was predicted to its end; return how many are kept."""
    m = volts.shape[0]
    if count == keys.shape[0]:
        return count
    keys[count, :m] = volts
    keys[count, m : 2 * m] = toward
    keys[count, 2 * m], keys[count, 2 * m + 1] = 1.0 if leads else 0.0, 1.0 if whole else 0.0
    found[count] = stopped
    return count + 1
