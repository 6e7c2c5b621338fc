"""What a prediction of stops does with numbers: drivers that are compiled together with the kernels of a machine.

Stops are integrated by linearly implicit Euler steps, oil and stops of joints implicit, as many at once as the vector
kernels take (`braking_lanes`). The arrays of both, which in several lanes have element i of lane k at i * lanes + k:

* x (s,) state: q, v (n,) of the joints, oil (3 m,) of all actuators, spool and two pressures each, or (2 m,) of efforts
  (`stop_drives`), turn (3,) speeds of
  the base: up, about x and about y, lean (3,) what these have come to, low (w,) least push on every spring over its
  mean, when (w,), and the time, s.
* known (`KNOWN`,).
* stand (9 w + 4,): of the springs, y and -x in the axes of the ground, stiffness, damping, squeeze at the start, m,
  (w,) each, and how they share a load of height and two angles (w, 3); box (3,): part by which links may be wrong; kg
  by which the payload may be less and more than known; mean push on a spring, N; what the centre of mass may take from
  each by lying elsewhere, N (w,).
* ways (2, m): of the actuators, which joint each moves, and its lever, m or 1.
* situation: codes, x (h, s) of the delays, known, stand, past (t, m) outputs on their way, V, waits (h,) rows of delay,
  order (l,) of the actuators among levers, V by which an output changes in a row at most, times (6,), ways.
* keys (k, 2 l + 2): outputs of the levers and those to which they are led, how much of `hold` that takes, and the share
  below which a stop need not be known.
* found (k, 6): least share, its wheel, when, s, the least share at rest, 1 for a stop that was followed to its end, and
  until when a wheel was off the ground at times, s, inf where one is in the end.

A stop has a row of volts a step, of which the last one goes on; when they have rested for a while a step is two rows
long. It ends where all joints rest after the last row, and none was faster than `SWIFT` for as long as the base rocks
after it.

`start_at` is a kernel of the machine (`BrakingModel`), whose codes (k, 3) begin with 1 and the addresses of `stride`
and `standing` for one state; then come lanes and `stride` of the vector kernels in single precision, fewest first.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.compile.code import call_code
from dyn_nodes.monitor.braking_lanes import AT_REST, PLACE_OF_PULL, PLACE_OF_STEP, run_lanes, standing_of

EASE = 0.05
"""Way of a joint by which it is seen whether it leads to a better stand, rad or m."""
CONSTANTS = f'EASE = {EASE!r}\n'
"""The same as text, for a module of machine code."""


def predict_all(keys, found, first, last, situation):
    """Predict the stops of the rows from first to last of keys, as `governor_law` asks for them.

    Each for all delays, of which the worst counts. The longer ones, that lead somewhere, begin first: what begins last
    keeps others waiting least.
    """
    count, m, delays = last - first, (keys.shape[1] - 2) // 2, situation[1].shape[0]
    chosen, place = np.empty(count, np.int64), 0
    for leads in range(1, -1, -1):
        for row in range(first, last):
            if (keys[row, 2 * m] > 0.0) == (leads > 0):
                chosen[place] = row
                place += 1
    runners, size = count * delays, (situation[3].shape[0] - 4) // 9
    ends, ways_out = np.empty((runners, 3 * size + 1)), np.empty(runners, np.int64)
    run_lanes(keys, chosen, situation, ends, ways_out)
    other = np.empty(6)
    for i in range(count):
        stopped, own = found[chosen[i]], i * delays
        summed(ends[own], stopped)
        for k in range(own + 1, own + delays):
            if ends[k, 0] == np.inf:
                continue  # it never began
            summed(ends[k], other)
            standing, off = min(stopped[3], other[3]), max(stopped[5], other[5])
            if other[0] < stopped[0]:
                stopped[:3] = other[:3]
            stopped[3], stopped[5] = standing, off
        # the rest of a stop that was cut off may be worse than all others
        followed = ways_out[own : own + delays].max() == AT_REST
        stopped[4] = 1.0 if stopped[0] == -np.inf or followed else 0.0


def summed(end, stopped):
    """Write what all wheels of a stop have come to, as in found, but for place 4.

    -inf, 0, 0, -inf and inf where a number is not finite.
    """
    w, place = end.shape[0] // 3, 0
    stopped[0], stopped[1], stopped[2], stopped[3], stopped[5] = -np.inf, 0.0, 0.0, -np.inf, np.inf
    for i in range(3 * w):
        if not np.isfinite(end[i]):
            return
    for i in range(w):
        if end[i] < end[place]:
            place = i
    stopped[0], stopped[1], stopped[2] = end[place], place, end[w + place]
    stopped[3], stopped[5] = end[2 * w : 3 * w].min(), end[3 * w]


def predict(volts, toward, leads, enough, situation, stopped):
    """Predict the stop after outputs (m,) in the order of the levers; stopped (4,) is that of `governor_law`."""
    m = volts.shape[0]
    keys, found = np.empty((1, 2 * m + 2)), np.empty((1, 6))
    keys[0, :m], keys[0, m : 2 * m] = volts, toward
    keys[0, 2 * m], keys[0, 2 * m + 1] = leads, enough
    predict_all(keys, found, 0, 1, situation)
    stopped[:] = found[0, :4]


def easing(command, situation, eases):
    """Write whether the joint of a function that goes the way of its command (m,), a little, has a better stand."""
    codes, x, known, stand, _, _, order, _, _, ways = situation
    at, rest = x[0].copy(), np.empty((stand.shape[0] - 4) // 9)
    standing_of(codes, at, known, stand, rest)
    now = rest.min()
    for j in range(command.shape[0]):
        joint = int(ways[0, order[j]])
        here = at[joint]
        at[joint] += EASE * np.sign(command[j] * ways[1, order[j]])
        standing_of(codes, at, known, stand, rest)
        eases[j] = rest.min() > now
        at[joint] = here


def carry(codes, x, spool, known, stand, past, waits, volts, moves, valves):
    """Go on by a step: volts (m,) begin to wait, and what has waited for a delay gets to its valves.

    x (h, s) and spool (h, m) are those of waits (h,) steps of delay. spool follows by valves (3, m): gain, limit and
    the part of a difference that is left after a step. Where `moves`, the oil of x is carried along; past and spool
    are changed.
    """
    most, m = past.shape
    after, w = np.empty(x.shape[1]), (stand.shape[0] - 4) // 9
    first = x.shape[1] - 2 * w - 7 - 3 * m
    for h in range(x.shape[0]):
        given = past[most - waits[h]] if waits[h] > 0 else volts
        if moves:
            if call_code(codes[0, 1], x[h], given, known, stand, after, np.empty(2)) != 0:
                raise ValueError('stride: an argument of another length')
            for j in range(3 * m):
                x[h, first + j] = after[first + j]
        for j in range(m):
            target = min(max(valves[0, j] * given[j], -valves[1, j]), valves[1, j])
            spool[h, j] = target + (spool[h, j] - target) * valves[2, j]
    for t in range(most - 1):
        past[t] = past[t + 1]
    if most:
        past[most - 1] = volts


def ground(plane, axes):
    """Write heading, left and normal of a plane (4,) to the rows of axes (3, 3)."""
    size = 0.0
    for r in range(3):
        axes[2, r] = plane[r]
        axes[0, r] = (1.0 if r == 0 else 0.0) - plane[0] * plane[r]
        size += axes[0, r] * axes[0, r]
    for r in range(3):
        axes[0, r] /= np.sqrt(size)
    for r in range(3):
        x, y = (r + 1) % 3, (r + 2) % 3
        axes[1, r] = axes[2, x] * axes[0, y] - axes[2, y] * axes[0, x]


def draw(oil, shown, chamber, drawn):
    """Bring the two pressures of an actuator, oil (2,), nearer to the force that is measured, in place.

    The motion of the joints shows what both do together, not each of them: only their force goes a part `drawn` of the
    way to that of shown (2,), by as little change as possible, and what they have in common stays what the model
    carries along. At a part of 1 they become those of shown. chamber (4,): areas, m2 or m3/rad, least and greatest
    pressure, Pa.
    """
    if drawn >= 1.0:
        oil[:] = shown
        return
    first, second, least, most = chamber
    missing = drawn * (first * (shown[0] - oil[0]) - second * (shown[1] - oil[1]))
    before = oil[0]
    oil[0] = min(max(before + missing * first / (first * first + second * second), least), most)
    missing -= first * (oil[0] - before)
    before = oil[1]
    oil[1] = min(max(before - missing / second, least), most)
    missing += second * (oil[1] - before)
    oil[0] = min(max(oil[0] + missing / first, least), most)


def rocks(base, axes, foot, gram, rocking):
    """Write how the base rocks on its springs: the length of its three frequencies as a vector, and the least, rad/s.

    base (36,) spatial inertia of the whole machine, axes (3, 3) ahead, left and up, foot (3,) as in known, gram (3, 3)
    stiffness of height and two angles. The squares are the roots of the characteristic polynomial of mass^-1 gram.
    Newton's method finds the least of three positive ones from 0, without passing it.
    """
    motions, mass = np.zeros((6, 3)), np.zeros((3, 3))
    for r in range(3):
        x, y = (r + 1) % 3, (r + 2) % 3
        motions[3 + r, 0] = axes[2, r]
        for c in range(2):
            motions[r, 1 + c] = axes[c, r]
            motions[3 + r, 1 + c] = foot[x] * axes[c, y] - foot[y] * axes[c, x]
    for r in range(3):
        for c in range(3):
            for i in range(6):
                for j in range(6):
                    mass[r, c] += motions[i, r] * base[6 * i + j] * motions[j, c]
    square = np.linalg.inv(mass)
    whole = np.zeros((3, 3))
    for r in range(3):
        for c in range(3):
            for i in range(3):
                whole[r, c] += square[r, i] * gram[i, c]
    total = whole[0, 0] + whole[1, 1] + whole[2, 2]
    pairs = (
        whole[0, 0] * whole[1, 1]
        - whole[0, 1] * whole[1, 0]
        + whole[0, 0] * whole[2, 2]
        - whole[0, 2] * whole[2, 0]
        + whole[1, 1] * whole[2, 2]
        - whole[1, 2] * whole[2, 1]
    )
    product = (
        whole[0, 0] * (whole[1, 1] * whole[2, 2] - whole[1, 2] * whole[2, 1])
        - whole[0, 1] * (whole[1, 0] * whole[2, 2] - whole[1, 2] * whole[2, 0])
        + whole[0, 2] * (whole[1, 0] * whole[2, 1] - whole[1, 1] * whole[2, 0])
    )
    least = 0.0
    for _ in range(12):
        least -= (((least - total) * least + pairs) * least - product) / ((3.0 * least - 2.0 * total) * least + pairs)
    rocking[0], rocking[1] = np.sqrt(total), np.sqrt(least)


def situate(
    q,
    v,
    a,
    felt,
    payload,
    plane,
    turning,
    shake,
    attachments,
    springs,
    box,
    step,
    chambers,
    drawn,
    x,
    spool,
    known,
    stand,
    ways,
    room,
    rocking,
):
    """Take over what is measured now; return the mean push on a spring, N.

    felt (3,) specific force, plane (4,) of the ground, turning (3,) of the base in its axes
    and shake (6,), its angular acceleration and the specific force at its origin, attachments (w, 3) and
    springs (3, w) stiffness, damping and free length, box (4,), step, s, chambers (4, m) and drawn as `draw` says. x
    (h, s) of the delays, known, stand, the levers of the actuators, ways[1], and rocking (2,), as `rocks` has it, are
    written; room (2 m + 36,) is for numbers between, (m + 36,) where drives are efforts: spool (h, m) is what they are
    now then, and oil what the joints get beside that.
    """
    n, m, w = q.shape[0], spool.shape[1], springs.shape[1]
    oils, showing = x.shape[1] - 2 * n - 7 - 2 * w, room.shape[0] - 36
    turn = x[0, 2 * n + oils : 2 * n + oils + 3]
    weight = np.sqrt(felt[0] ** 2 + felt[1] ** 2 + felt[2] ** 2)
    axes = np.empty((3, 3))
    ground(plane, axes)
    known[3], known[PLACE_OF_STEP], known[PLACE_OF_PULL] = payload, step, -np.inf
    for r in range(3):
        known[r], known[13 + r] = felt[r], plane[3] * plane[r]
        for c in range(3):
            known[4 + 3 * r + c] = axes[r, c]
    turn[0] = 0.0
    for r in range(2):
        turn[1 + r] = turning[0] * axes[r, 0] + turning[1] * axes[r, 1] + turning[2] * axes[r, 2]
    shown, base = room[:showing], room[showing:]
    start_at(q, v, a, known, turn, shake, shown, base, ways[1])  # type: ignore[name-defined]  # noqa: F821
    rows = np.empty((w, 3))
    for i in range(w):
        height, along, aside = -plane[3], 0.0, 0.0
        for r in range(3):
            height += attachments[i, r] * plane[r]
            away = attachments[i, r] - known[13 + r]
            along, aside = along + away * axes[0, r], aside + away * axes[1, r]
        rows[i, 0], rows[i, 1], rows[i, 2] = 1.0, aside, -along
        stand[i], stand[w + i], stand[2 * w + i] = aside, -along, springs[0, i]
        stand[3 * w + i], stand[4 * w + i] = springs[1, i], springs[2, i] - height
    gram = np.zeros((3, 3))
    for i in range(w):
        for r in range(3):
            for c in range(3):
                gram[r, c] += springs[0, i] * rows[i, r] * rows[i, c]
    rocks(base, axes, known[13:16], gram, rocking)
    flexibility = np.linalg.inv(gram)
    for i in range(w):
        for c in range(3):
            share = 0.0
            for r in range(3):
                share += rows[i, r] * flexibility[r, c]
            stand[5 * w + 3 * i + c] = -springs[0, i] * share
    press = base[21] * weight / w
    for r in range(3):
        stand[8 * w + r] = box[r]
    stand[8 * w + 3] = press
    for i in range(w):
        slant = np.hypot(stand[5 * w + 3 * i + 1], stand[5 * w + 3 * i + 2])
        stand[8 * w + 4 + i] = box[3] * (base[21] - payload) * weight * slant
    for h in range(x.shape[0]):
        x[h, 2 * n + oils : 2 * n + oils + 3] = turn
        oil = x[h, 2 * n : 2 * n + oils]
        for j in range(m):
            if oils == 2 * m:
                oil[j] += drawn * (shown[j] - spool[h, j] - oil[j])
            else:
                oil[3 * j] = spool[h, j]
                draw(oil[3 * j + 1 : 3 * j + 3], shown[2 * j : 2 * j + 2], chambers[:, j], drawn)
    return press
