"""What a prediction of stops does with numbers: drivers that are compiled together with the kernels of a machine.

`brake` integrates a stop by linearly implicit Euler steps, oil and stops of joints implicit. Its arrays, which are
those of the others, too:

* q, v (n,) of the joints and oil (3 m,) of all actuators, spool and two pressures each.
* known (`KNOWN` of the model,), volts (t, m), of which the last row goes on, one row a step.
* rows (w, 3) of the springs, 1, y and -x in the axes of the ground; springs (2, w) stiffness and damping; squeeze (w,)
  at the start, m; turn (3,) speeds of the base: up, about x and about y.
* press, N: mean push on a spring. box (3,): part by which links may be wrong; kg by which the payload may be less and
  more than known.
* enough: a share below which the stop need not be known. longest: steps that are taken at most; fewer where all joints
  rest after the last row.
* found (3, w): least push on a spring over its mean, when, and that at rest where the machine comes to a stand.

`arm_at`, `start_at` and `standing_at` are kernels of the machine (`BrakingModel`), `STILL` is its constant.
"""

from __future__ import annotations

import numpy as np


def brake(q, v, oil, known, volts, rows, springs, squeeze, turn, press, box, enough, longest, found):
    """Integrate a stop; q, v, oil and turn are changed, found is written."""
    n, k, w = q.shape[0], oil.shape[0], rows.shape[0]
    step, steps = known[16], volts.shape[0]
    a, rates, split = np.empty(3 + n), np.empty(k), np.empty(6)
    lean, total, push, here = np.zeros(3), np.empty(3), np.empty(w), known.copy()
    shares = np.empty((2, w))
    gram = np.zeros((3, 3))
    for i in range(w):
        for r in range(3):
            for c in range(3):
                gram[r, c] += springs[0, i] * rows[i, r] * rows[i, c]
    flexibility = np.linalg.inv(gram)
    found[0], found[1], found[2] = np.inf, 0.0, 0.0
    for t in range(max(longest, steps) + 1):
        total[:] = 0.0
        for i in range(w):
            bend = rows[i, 0] * lean[0] + rows[i, 1] * lean[1] + rows[i, 2] * lean[2]
            rate = rows[i, 0] * turn[0] + rows[i, 1] * turn[1] + rows[i, 2] * turn[2]
            push[i] = springs[0, i] * (squeeze[i] - bend) - springs[1, i] * rate
            for r in range(3):
                total[r] += rows[i, r] * push[i]
        # the base turns, and with it gravity in its axes
        for r in range(3):
            x, y = (r + 1) % 3, (r + 2) % 3
            axis_x = lean[1] * known[4 + x] + lean[2] * known[7 + x]
            axis_y = lean[1] * known[4 + y] + lean[2] * known[7 + y]
            here[r] = known[r] - (axis_x * known[y] - axis_y * known[x])
        arm_at(q, v, oil, volts[min(t, steps - 1)], here, turn, total, a, rates, split)  # type: ignore[name-defined]  # noqa: F821
        shared(rows, springs, flexibility, split, shares)
        fastest = 0.0
        for j in range(n):
            fastest = max(fastest, abs(v[j]))
        least = np.inf
        for i in range(w):
            margin = (push[i] - unsure(box, shares[0, i], shares[1, i])) / press
            least = min(least, margin)
            if not margin >= found[0, i]:
                found[0, i], found[1, i] = margin, t * step
        if not least >= enough or t >= longest or (t >= steps and fastest < STILL):  # type: ignore[name-defined]  # noqa: F821
            break
        for j in range(n):
            v[j] += step * a[3 + j]
            q[j] += step * v[j]
        for j in range(k):
            oil[j] += step * rates[j]
        for r in range(3):
            turn[r] += step * a[r]
            lean[r] += step * turn[r]
    # where it comes to rest
    standing_at(q, known, split)  # type: ignore[name-defined]  # noqa: F821
    shared(rows, springs, flexibility, split, shares)
    for i in range(w):
        certain = shares[0, i] + known[3] * shares[1, i] - unsure(box, shares[0, i], shares[1, i])
        found[2, i] = certain / press


def unsure(box, links, kilogram):
    """Return what a wheel may carry less than known, N, by what links and a kilogram of payload do to it."""
    return box[0] * abs(links) + max(box[1] * kilogram, -box[2] * kilogram)


def shared(rows, springs, flexibility, split, shares):
    """Write what links and a kilogram of payload do (6,), as the springs share it at rest, N, to shares (2, w)."""
    shares[:] = 0.0
    for i in range(rows.shape[0]):
        for part in range(2):
            share = 0.0
            for r in range(3):
                for c in range(3):
                    share += rows[i, r] * flexibility[r, c] * split[3 * part + c]
            shares[part, i] -= springs[0, i] * share


def table(past, kept, toward, leads, most, hold, horizon):
    """Return the volts (t, m) of a stop: what waits, what is kept, and neutral at the rate; `most` V a step.

    Where `leads`, kept is led to toward in `hold` steps first.
    """
    waits, m = past.shape
    steps = 1 + (hold if leads else 0)
    volts = np.empty((waits + steps + horizon, m))
    volts[:waits] = past
    volts[waits] = kept
    for t in range(1, steps):
        for j in range(m):
            far = most * t
            volts[waits + t, j] = kept[j] + min(max(toward[j] - kept[j], -far), far)
    end = volts[waits + steps - 1]
    for t in range(horizon):
        for j in range(m):
            volts[waits + steps + t, j] = np.copysign(max(abs(end[j]) - most * (t + 1), 0.0), end[j])
    return volts


def stop(
    q, v, oil, known, past, kept, toward, leads, most, times, rows, springs, squeeze, turn, press, box, enough, stopped
):
    """Predict a stop from where the machine is; nothing but stopped is changed.

    times (3,): steps of hold, of the horizon and at most. stopped (4,): least share of all wheels, which wheel,
    when, s, and the least share at rest; -inf, 0, 0 and -inf where a number is not finite.
    """
    w = rows.shape[0]
    found = np.empty((3, w))
    volts = table(past, kept, toward, leads, most, times[0], times[1])
    brake(
        q.copy(),
        v.copy(),
        oil.copy(),
        known,
        volts,
        rows,
        springs,
        squeeze,
        turn.copy(),
        press,
        box,
        enough,
        times[2],
        found,
    )
    stopped[0], stopped[1], stopped[2], stopped[3] = -np.inf, 0.0, 0.0, -np.inf
    place = 0
    for i in range(w):
        for r in range(3):
            if not np.isfinite(found[r, i]):
                return
        if found[0, i] < found[0, place]:
            place = i
    stopped[0], stopped[1], stopped[2], stopped[3] = found[0, place], place, found[1, place], found[2].min()


def predict(volts, toward, leads, enough, situation, stopped):
    """Predict the stop after outputs (m,) in the order of the levers, as `governor_law` asks for it."""
    q, v, oil, known, past, order, most, times, rows, springs, squeeze, turn, press, box = situation
    kept, led = np.zeros(past.shape[1]), np.zeros(past.shape[1])
    for j in range(order.shape[0]):
        kept[order[j]], led[order[j]] = volts[j], toward[j]
    stop(
        q, v, oil, known, past, kept, led, leads, most, times, rows, springs, squeeze, turn, press, box, enough, stopped
    )


def carry(q, v, oil, spool, known, past, volts, moves, valves, rows, springs, squeeze, turn, press):
    """Go on by a step: volts (m,) begin to wait, and what has waited longest gets to the valves.

    spool (m,) follows it by valves (3, m): gain, limit and the part of a difference that is left after a step. Where
    `moves`, oil is carried along; past and spool are changed.
    """
    waits, m = past.shape
    given = np.empty((1, m))
    if waits:
        given[0] = past[0]
        for t in range(waits - 1):
            past[t] = past[t + 1]
        past[waits - 1] = volts
    else:
        given[0] = volts
    if moves:
        found = np.empty((3, rows.shape[0]))
        brake(
            q.copy(),
            v.copy(),
            oil,
            known,
            given,
            rows,
            springs,
            squeeze,
            turn.copy(),
            press,
            np.zeros(3),
            -np.inf,
            1,
            found,
        )
    for j in range(m):
        target = min(max(valves[0, j] * given[0, j], -valves[1, j]), valves[1, j])
        spool[j] = target + (spool[j] - target) * valves[2, j]


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


def situate(
    q,
    v,
    a,
    felt,
    payload,
    plane,
    turning,
    attachments,
    free,
    step,
    drawn,
    oil,
    spool,
    known,
    rows,
    squeeze,
    turn,
    room,
):
    """Take over what is measured now; return the mass of the machine, kg.

    felt (3,) specific force, plane (4,) of the ground and turning (3,) of the base in its axes, attachments (w, 3) and
    free lengths (w,) of the springs, step, s; drawn: part of the way that the pressures go to those at which the joints
    accelerate as they do. oil, known, rows, squeeze and turn are written; room (2 m + 36,) is for numbers between.
    """
    m = spool.shape[0]
    axes = np.empty((3, 3))
    ground(plane, axes)
    known[3], known[16] = payload, step
    for r in range(3):
        known[r], known[13 + r] = felt[r], plane[3] * plane[r]
        for c in range(3):
            known[4 + 3 * r + c] = axes[r, c]
    turn[0] = 0.0
    for r in range(2):
        turn[1 + r] = turning[0] * axes[r, 0] + turning[1] * axes[r, 1] + turning[2] * axes[r, 2]
    pressures, base = room[: 2 * m], room[2 * m :]
    start_at(q, v, a, known, turn, pressures, base)  # type: ignore[name-defined]  # noqa: F821
    for i in range(attachments.shape[0]):
        height, x, y = -plane[3], 0.0, 0.0
        for r in range(3):
            height += attachments[i, r] * plane[r]
            away = attachments[i, r] - known[13 + r]
            x, y = x + away * axes[0, r], y + away * axes[1, r]
        rows[i, 0], rows[i, 1], rows[i, 2] = 1.0, y, -x
        squeeze[i] = free[i] - height
    for j in range(m):
        oil[3 * j] = spool[j]
        for k in range(2):
            oil[3 * j + 1 + k] += drawn * (pressures[2 * j + k] - oil[3 * j + 1 + k])
    return base[21]
