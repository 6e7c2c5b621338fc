"""Stops integrated side by side, in the lanes of a machine's vector kernels: drivers, compiled together with these.

There may be more stops than lanes. A lane whose stop has ended takes the next one, whose time begins then; when no stop
waits and half of the lanes are free, those that go on are packed into a narrower kernel, which is done sooner. Arrays
are those of `braking_kernels`.

The kernels are of single precision, and so are the arrays of lanes: a vector of the processor takes twice as many
stops. Shares differ by 1e-5 or so from those in double precision (`test/monitor/test_braking_precision.py`).

A runner is a stop for one of the delays; a stop has as many, one after the other. States are two, (2, s lanes), before
a step and after it, by turns.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.compile.code import call_code

KNOWN = 18
"""Numbers of a situation: specific force (3,), payload, axes ahead, left and up, foot of the base, (3,) each, step, and
the least push of a spring, N: 0 for wheels that come off the ground, -inf for springs that pull."""
PLACE_OF_STEP, PLACE_OF_PULL = KNOWN - 2, KNOWN - 1
STILL = 0.05
"""A joint below this speed rests, rad/s or m/s."""
SWIFT = 0.05
"""A joint above this speed makes the base rock where it stops, as at the end of its way, rad/s or m/s."""
TO_HOLD, TO_PREDICT, AT_MOST, TO_CALM, TO_ROCK, TO_LAST = range(6)
"""Places in times (6,): rows of hold, of the horizon, at most, from neutral on until a step is two rows long, for
which the base rocks, and for which an output lasts before it is led to neutral."""
RUNNER, ROW, ROWS, CALM, FAST, OFF, ENDED = range(7)
"""Places in what is noted of a lane: its runner, -1 in a free one, the row of its volts, how many it has, that from
which they have rested for a while, the last in which a joint was fast, that after the last in which a wheel was off the
ground, and how it ended."""
NOT_YET, AT_REST, BELOW = range(3)
"""How a runner ended: at its end, or where a wheel kept less than is enough."""
CONSTANTS = f"""PLACE_OF_STEP, PLACE_OF_PULL, STILL, SWIFT = {PLACE_OF_STEP!r}, {PLACE_OF_PULL!r}, {STILL!r}, {SWIFT!r}
TO_HOLD, TO_PREDICT, AT_MOST, TO_CALM, TO_ROCK, TO_LAST = range(6)
RUNNER, ROW, ROWS, CALM, FAST, OFF, ENDED = range(7)
NOT_YET, AT_REST, BELOW = range(3)
"""
"""The same as text, for a module of machine code."""


def run_lanes(keys, chosen, situation, ends, ways_out):
    """Integrate the stops of the chosen rows of keys for all delays.

    ends (runners, 3 w + 1) gets least pushes, when, shares at rest, and until when a wheel was off the ground at times,
    s, inf where one is in the end; all is inf for a runner that never began. ways_out (runners,) is `AT_REST`, or
    `BELOW` where this or another runner of its stop came below the share that is enough: what is not enough for one
    delay need not be known for another one.
    """
    codes, begins, known, stand, past, waits, _, _, times, _ = situation
    runners, delays = ends.shape[0], begins.shape[0]
    kind = width(codes, runners)
    lanes = codes[kind, 0]
    states, given = np.empty((2, begins.shape[1] * lanes), np.float32), spread(known, lanes)
    states[0], stands = spread(begins[0], lanes), spread(stand, lanes)
    notes, enough, volts = np.full((lanes, 7), -1), np.empty(lanes), np.zeros(past.shape[1] * lanes, np.float32)
    tables = np.empty((runners, waits[-1] + times[TO_LAST] + times[TO_HOLD] + times[TO_PREDICT], past.shape[1]))
    at = np.empty((runners, begins.shape[1]))
    ends[:], ways_out[:] = np.inf, NOT_YET
    following, side = 0, 0
    while True:
        for k in range(lanes):
            while notes[k, RUNNER] < 0 and following < runners:
                if ways_out[following] == NOT_YET:
                    key = keys[chosen[following // delays]]
                    begin(following, k, lanes, key, situation, states[side], given, tables[following], notes[k])
                    enough[k] = key[-1]
                following += 1
        going = busy(notes)
        if going == 0:
            break
        kind = width(codes, going)
        fewer = codes[kind, 0]
        if fewer < lanes:
            own = packed(states[side], notes, fewer)
            states, side = np.empty((2, own.shape[0]), np.float32), 0
            states[0], given, stands = own, packed(given, notes, fewer), spread(stand, fewer)
            volts, enough = packed(volts, notes, fewer), packed(enough, notes, fewer)
            notes, lanes = packed_notes(notes, fewer), fewer
        side = advance(codes[kind, 1], states, side, given, stands, volts, tables, notes, enough, times)
        for k in range(lanes):
            if notes[k, RUNNER] >= 0 and notes[k, ENDED] != NOT_YET:
                end_stop(notes[k, RUNNER], notes[k, ENDED], delays, ways_out)
        for k in range(lanes):
            runner = notes[k, RUNNER]
            if runner >= 0 and ways_out[runner] != NOT_YET:
                take(k, lanes, states[side], states[1 - side], notes[k], known[PLACE_OF_STEP], at[runner], ends[runner])
        side = 1 - side
    size = (ends.shape[1] - 1) // 3
    for runner in range(runners):
        if ends[runner, 0] != np.inf:
            standing_of(codes, at[runner], known, stand, ends[runner, 2 * size : 3 * size])


def advance(code, states, side, given, stands, volts, tables, notes, enough, times):
    """Go on by steps of all lanes until a runner ends; return the side of states that is before the last step.

    One loop without calls but of the kernel: it runs once a microsecond.
    """
    lanes, m = notes.shape[0], tables.shape[2]
    x, after, seen = states[side], states[1 - side], np.empty(2 * lanes, np.float32)
    longest, rocks = times[AT_MOST], times[TO_ROCK]
    while True:
        for k in range(lanes):
            row = notes[k, ROW]
            if notes[k, RUNNER] < 0:
                continue
            if row < notes[k, ROWS]:
                for j in range(m):
                    volts[j * lanes + k] = tables[notes[k, RUNNER], row, j]
            if row == notes[k, CALM]:
                given[PLACE_OF_STEP * lanes + k] *= 2.0
        if call_code(code, x, volts, given, stands, after, seen) != 0:
            raise ValueError('stride: an argument of another length')
        ended = False
        for k in range(lanes):
            if notes[k, RUNNER] < 0:
                continue
            row = notes[k, ROW] + max(notes[k, ROW] - notes[k, CALM], 0)
            notes[k, ROW] += 1
            if seen[lanes + k] >= SWIFT:
                notes[k, FAST] = row
            if seen[k] < 0.0:
                notes[k, OFF] = row + 1
            rests = seen[lanes + k] < STILL and row >= notes[k, FAST] + rocks
            if row >= longest or (row >= notes[k, ROWS] and rests):
                notes[k, ENDED], ended = AT_REST, True
            elif not seen[k] >= enough[k]:
                notes[k, ENDED], ended = BELOW, True
        if ended:
            return side
        x, after, side = after, x, 1 - side


def end_stop(runner, how, delays, ways_out):
    """Note how a runner ended; if below, those of its stop that have not ended end with it."""
    ways_out[runner] = how
    if how == BELOW:
        first = runner - runner % delays
        for other in range(first, first + delays):
            if ways_out[other] == NOT_YET:
                ways_out[other] = BELOW


def width(codes, used):
    """Return the row of codes whose kernels have the fewest lanes in which so many find room, or the most lanes."""
    row = 1
    while codes[row, 0] < used and row + 1 < codes.shape[0]:
        row += 1
    return row


def spread(values, lanes):
    """Return values (s,) in all lanes."""
    result = np.empty(values.shape[0] * lanes, np.float32)
    for i in range(values.shape[0]):
        for k in range(lanes):
            result[i * lanes + k] = values[i]
    return result


def packed(values, notes, fewer):
    """Return what the lanes with a runner have of values, in fewer lanes; lanes that stay free get the first one's."""
    lanes = notes.shape[0]
    size = values.shape[0] // lanes
    result, place = np.empty(size * fewer, values.dtype), 0
    for k in range(lanes):
        if notes[k, RUNNER] >= 0:
            for free in range(place, fewer if place == 0 else place + 1):
                for i in range(size):
                    result[i * fewer + free] = values[i * lanes + k]
            place += 1
    return result


def packed_notes(notes, fewer):
    """Return the notes of the lanes with a runner, in fewer lanes."""
    result, place = np.full((fewer, notes.shape[1]), -1), 0
    for k in range(notes.shape[0]):
        if notes[k, RUNNER] >= 0:
            result[place] = notes[k]
            place += 1
    return result


def busy(notes):
    """Return how many lanes have a runner."""
    count = 0
    for k in range(notes.shape[0]):
        if notes[k, RUNNER] >= 0:
            count += 1
    return count


def begin(runner, k, lanes, key, situation, x, given, table, note):
    """Let a runner begin in lane k: its state, the length of its steps, its volts and its notes."""
    _, begins, known, _, past, waits, order, most, times, _ = situation
    m, delay = order.shape[0], runner % begins.shape[0]
    for i in range(begins.shape[1]):
        x[i * lanes + k] = begins[delay, i]
    given[PLACE_OF_STEP * lanes + k] = known[PLACE_OF_STEP]
    note[RUNNER], note[ROW], note[FAST], note[OFF], note[ENDED] = runner, 0, 0, 0, NOT_YET
    note[ROWS] = waits[delay] + times[TO_LAST] + round(key[2 * m] * times[TO_HOLD]) + times[TO_PREDICT]
    kept, led = np.zeros(past.shape[1]), np.zeros(past.shape[1])
    for j in range(m):
        kept[order[j]], led[order[j]] = key[j], key[m + j]
    sent = past[past.shape[0] - waits[delay] :]
    note[CALM] = write_volts(sent, kept, led, key[2 * m], most, times, table[: note[ROWS]])


def write_volts(sent, kept, toward, leads, most, times, volts):
    """Write the volts (t, m) of a stop: what is sent, what is kept, and neutral at the rate, `most` V a step.

    Kept is led to toward first, in the part `leads` of the steps of hold. Returns the row from which a step is two rows
    long: some time after all volts are neutral.
    """
    waits, m = sent.shape
    steps, total, ramp = times[TO_LAST] + round(leads * times[TO_HOLD]), volts.shape[0], 0.0
    for j in range(m):
        for t in range(waits):
            volts[t, j] = sent[t, j]
        for t in range(steps):
            far = most * t
            volts[waits + t, j] = kept[j] + min(max(toward[j] - kept[j], -far), far)
        end = volts[waits + steps - 1, j]
        ramp = max(ramp, abs(end) / most)
        for t in range(waits + steps, total):
            left = abs(end) - most * (t - waits - steps + 1)
            volts[t, j] = np.copysign(max(left, 0.0), end)
    return waits + steps + int(np.ceil(ramp)) + times[TO_CALM]


def take(k, lanes, x, after, note, step, at, end):
    """Take what the runner of lane k has come to, and leave the lane free.

    Its state x goes to at, least pushes up to then, which stand in the state after it, and until when a wheel was off
    the ground to end. A row takes a step, s.
    """
    for i in range(at.shape[0]):
        at[i] = x[i * lanes + k]
    size = (end.shape[0] - 1) // 3
    first = at.shape[0] - 1 - 2 * size
    for i in range(2 * size):
        end[i] = after[(first + i) * lanes + k]
    last = note[ROW] - 1
    is_off = note[OFF] > last + max(last - note[CALM], 0)
    end[3 * size] = np.inf if is_off else note[OFF] * step
    note[RUNNER] = -1


def standing_of(codes, at, known, stand, rest):
    """Write the least pushes on all wheels where the machine comes to rest at the joints of a state."""
    if call_code(codes[0, 2], at, known, stand, rest) != 0:
        raise ValueError('standing: an argument of another length')
