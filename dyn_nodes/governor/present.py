"""Initial data of stop predictions: the measured state of the machine, with integrated spools and pressures."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.compile.code import call_code
from dyn_nodes.governor._kernels import kernel, part
from dyn_nodes.governor.records import (
    Array,
    Chambers,
    Criterion,
    Extremes,
    Indices,
    Measured,
    Situation,
    Springs,
    Support,
    Surroundings,
    Valves,
    situation_of,
)

FASTEST = 50.0
"""Greatest norm of the base's rocking frequencies for which steps of the base are explicit, and for which steps are
doubled when the valves have closed, rad/s."""
LEAST_WEIGHT = 1e-3
"""Weight of a wheel without load for the horizontal forces on the wheels, as a share of the mean weight."""


@kernel
def carry(situation: Situation, spools: Array, volts: Array, moves: bool, valves: Valves) -> None:
    """Advance by a step: outputs (m,), V, enter the queue, and those that have waited for a delay reach their valves.

    Args:
        situation: whose queue is updated, and the drives of its states if `moves`.
        spools: (h, m) updated.
        volts: (m,) outputs.
        moves: whether the drives of the states are updated.
        valves: of the actuators.
    """
    states, queue, waits, at = situation.states, situation.sent.queue, situation.sent.waits, situation.layout
    rows, m = queue.shape
    after = np.empty(at.size)
    for h in range(spools.shape[0]):
        arrived = queue[rows - waits[h]] if waits[h] > 0 else volts
        if moves:
            stride(situation, h, states[h], arrived, after)
            for j in range(at.drives, at.drives + 3 * m):
                states[h, j] = after[j]
        for j in range(m):
            target = min(max(valves.gain[j] * arrived[j], -valves.limit[j]), valves.limit[j])
            spools[h, j] = target + (spools[h, j] - target) * valves.left[j]
    for t in range(rows - 1):
        queue[t] = queue[t + 1]
    if rows:
        queue[rows - 1] = volts


@kernel
def observe(watched: Array, situation: Situation, volts: Array) -> None:
    """Advance joints and drives of the states `watched` (h, s) by a step, with the base of the situation's states."""
    queue, waits, base = situation.sent.queue, situation.sent.waits, situation.layout.turn
    rows, after = queue.shape[0], np.empty(situation.layout.size)
    for h in range(watched.shape[0]):
        arrived = queue[rows - waits[h]] if waits[h] > 0 else volts
        watched[h, base:] = situation.states[h, base:]
        stride(situation, h, watched[h], arrived, after)
        watched[h, :base] = after[:base]


@kernel
def carry_fields(watched: Array, is_watched: bool, spools: Array, volts: Array, moves: bool, *fields: Any) -> None:
    """Call `observe`, if `is_watched`, and `carry`; fields of valves and situation."""
    situation = situation_of(fields[3:])
    if is_watched:
        observe(watched, situation, volts)
    carry(situation, spools, volts, moves, Valves(*fields[:3]))


@part
def stride(situation: Situation, h: int, state: Array, volts: Array, after: Array) -> None:
    """Write the state after a step of the prediction of variant `h` to `after`."""
    code, surroundings, support = situation.code.stride, situation.surroundings[h], situation.support[h]
    if call_code(code, state, volts, surroundings, support, after, np.empty(2)) != 0:
        raise ValueError('stride: an argument of another length')


@part
def write_axes(plane: Array, axes: Array) -> None:
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


@kernel
def draw(pressures: Array, shown: Array, first: float, second: float, least: float, most: float, drawn: float) -> None:
    """Correct the two pressures (2,) of an actuator towards the measured force, in place.

    The motion of the joints shows the effect of both pressures, not each of them. Therefore only their force is moved
    by a fraction `drawn` towards the force of `shown` (2,), with the smallest change of pressures, and their common
    part remains as in the model. With a fraction of 1 they become equal to `shown`.

    Args:
        pressures: Pa.
        shown: pressures that produce the motion of the joints, Pa.
        first: area of the first chamber, m2 or m3/rad.
        second: area of the second chamber.
        least: least pressure, Pa.
        most: greatest pressure, Pa.
        drawn: 0 to 1.
    """
    if drawn >= 1.0:
        pressures[:] = shown
        return
    missing = drawn * (first * (shown[0] - pressures[0]) - second * (shown[1] - pressures[1]))
    before = pressures[0]
    pressures[0] = min(max(before + missing * first / (first * first + second * second), least), most)
    missing -= first * (pressures[0] - before)
    before = pressures[1]
    pressures[1] = min(max(before - missing / second, least), most)
    missing += second * (pressures[1] - before)
    pressures[0] = min(max(pressures[0] + missing / first, least), most)


@part
def rocks(inertia: Array, axes: Array, origin: Array, stiffness: Array) -> tuple[float, float]:
    """Return the norm of the three frequencies of the base on its springs, and the least one, rad/s.

    The squares are the roots of the characteristic polynomial of mass^-1 stiffness. Newton's method finds the least of
    three positive ones from 0, without passing it.

    Args:
        inertia: (6, 6) spatial inertia of the whole machine.
        axes: (3, 3) heading, left and normal.
        origin: (3,) of the base, on the ground, m.
        stiffness: (3, 3) of height and two angles.
    """
    motions, mass = np.zeros((6, 3)), np.zeros((3, 3))
    for r in range(3):
        x, y = (r + 1) % 3, (r + 2) % 3
        motions[3 + r, 0] = axes[2, r]
        for c in range(2):
            motions[r, 1 + c] = axes[c, r]
            motions[3 + r, 1 + c] = origin[x] * axes[c, y] - origin[y] * axes[c, x]
    for r in range(3):
        for c in range(3):
            for i in range(6):
                for j in range(6):
                    mass[r, c] += motions[i, r] * inertia[i, j] * motions[j, c]
    square = np.linalg.inv(mass)
    whole = np.zeros((3, 3))
    for r in range(3):
        for c in range(3):
            for i in range(3):
                whole[r, c] += square[r, i] * stiffness[i, c]
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
    return np.sqrt(total), np.sqrt(least)


@kernel
def take_over(
    code: int,
    pivots_code: int,
    measured: Measured,
    springs: Springs,
    extremes: Extremes,
    criterion: Criterion,
    step: float,
    chambers: Chambers,
    drawn: float,
    spools: Array,
    drives: Array,
    turn: Array,
    surroundings: Surroundings,
    support: Support,
    arms: Array,
) -> tuple[float, float]:
    """Update the initial data from the measurements; return greatest and least frequency of the base, as `rocks`.

    Args:
        code: address of the kernel `start` of the machine.
        pivots_code: address of its kernel `pivots` (`MachineCode`).
        measured: now.
        springs: of the machine.
        extremes: masses of the machine in each variant.
        criterion: requirements of a stop.
        step: of the prediction, s.
        chambers: of the actuators.
        drawn: fraction by which pressures are corrected towards the measured motion.
        spools: (h, m) present spools; present efforts if the drives are efforts.
        drives: (h, d) `States.drives`, written.
        turn: (h, 3) `States.turn`, written.
        surroundings: written.
        support: written.
        arms: (m,) `Levers.arms`, written.
    """
    rows, m, count = spools.shape[0], spools.shape[1], drives.shape[1]
    write_ground(
        measured, springs, surroundings.specific_force[0], surroundings.axes[0], surroundings.origin[0], support
    )
    axes, origin = surroundings.axes[0], surroundings.origin[0]
    for r in range(2):
        turn[0, 1 + r] = 0.0
        for i in range(3):
            turn[0, 1 + r] += measured.turning[i] * axes[r, i]
    turn[0, 0] = 0.0
    lift = 0.0 if len(criterion.corners) else -np.inf
    surroundings.step[0, 0], surroundings.least_push[0, 0], surroundings.least_counted[0, 0] = step, lift, lift
    if pivots_code:
        write_pivots(pivots_code, measured, surroundings.vector[0], support)
    stiffness = stiffness_of(support)
    flexibility, w, r = np.linalg.inv(stiffness), springs.stiffness.shape[0], stiffness.shape[0]
    alone = stiffness if r == 3 else np.linalg.inv(flexibility[:3, :3].copy())
    pushed = np.empty((w, r))
    for i in range(w):
        for c in range(r):
            share = flexibility[0, c] + support.left[0, i] * flexibility[1, c] + support.back[0, i] * flexibility[2, c]
            for k in range(3, r):
                share += support.pivot_rows[0, i, k - 3] * flexibility[k, c]
            pushed[i, c] = -springs.stiffness[i] * share
    write_edges(
        criterion.corners if r == 3 else criterion.corners[:0], support.left[0], support.back[0], support.edges[0]
    )
    for e in range(w):
        for c in range(r):
            support.shares[0, e, c] = 0.0
            for i in range(w):
                support.shares[0, e, c] += support.edges[0, e, i] * pushed[i, c]
    support.allowance[0, 0] = criterion.allowance
    shown, inertia, loads = np.empty(count - m), np.empty(36), np.empty(2 * r)
    greatest, least = 0.0, np.inf
    for h in range(rows):
        surroundings.vector[h], support.vector[h], turn[h] = surroundings.vector[0], support.vector[0], turn[0]
        surroundings.payload[h, 0], surroundings.heft[h, 0] = extremes.payload[h], extremes.heft[h]
        support.bounds[h] = extremes.bounds[h]
    for h in range(rows):
        status: int = call_code(
            code,
            measured.q,
            measured.v,
            measured.a,
            surroundings.vector[h],
            support.vector[h],
            turn[0],
            measured.shaking,
            shown,
            inertia,
            arms,
            loads,
        )
        if status != 0:
            raise ValueError('start: an argument of another length')
        links = inertia[21] - extremes.payload[h]
        write_loads(h, measured, springs, extremes, links, loads, pushed, support)
        norm, slowest = rocks(inertia.reshape((6, 6)), axes, origin, alone)
        greatest, least = max(greatest, norm), min(least, slowest)
        for j in range(m):
            if count == 2 * m:
                drives[h, j] += drawn * (shown[j] - spools[h, j] - drives[h, j])
            else:
                drives[h, 3 * j] = spools[h, j]
                draw(
                    drives[h, 3 * j + 1 : 3 * j + 3],
                    shown[2 * j : 2 * j + 2],
                    chambers.first[j],
                    chambers.second[j],
                    chambers.least[j],
                    chambers.greatest[j],
                    drawn,
                )
    surroundings.implicit[:] = 1.0 if greatest > FASTEST or r > 3 else 0.0
    return greatest, least


@part
def write_ground(
    measured: Measured, springs: Springs, specific_force: Array, axes: Array, origin: Array, support: Support
) -> None:
    """Write gravity, axes and origin of the ground, and the springs on it, of the first variant."""
    plane = measured.plane
    write_axes(plane, axes)
    for r in range(3):
        specific_force[r], origin[r] = measured.specific_force[r], plane[3] * plane[r]
    for i in range(springs.stiffness.shape[0]):
        height, along, aside = -plane[3], 0.0, 0.0
        for r in range(3):
            height += measured.attachments[i, r] * plane[r]
            away = measured.attachments[i, r] - origin[r]
            along, aside = along + away * axes[0, r], aside + away * axes[1, r]
        support.left[0, i], support.back[0, i], support.stiffness[0, i] = aside, -along, springs.stiffness[i]
        support.damping[0, i], support.squeeze[0, i] = springs.damping[i], springs.free_length[i] - height


@part
def write_pivots(code: int, measured: Measured, surroundings: Array, support: Support) -> None:
    """Write rows, sway and slants of the pivots of the first variant, and their present angles.

    The base is displaced such that the displacements of the contacts, weighted by their present loads, are least: the
    wheels carry horizontal forces in proportion to their loads.

    Args:
        code: address of the kernel `pivots` of the machine.
        measured: now.
        surroundings: (21,) of the first variant.
        support: on the present ground; written.
    """
    rows, sway, slants = support.pivot_rows[0], support.sway[0], support.slants[0]
    w, g = rows.shape
    flat, contacts, turned = np.empty(w * g), np.empty(2 * w * g), np.empty(2 * g * g)
    if call_code(code, measured.q, surroundings, flat, contacts, turned) != 0:
        raise ValueError('pivots: an argument of another length')
    least = 0.0
    for i in range(w):
        least += LEAST_WEIGHT / w * support.stiffness[0, i] * abs(support.squeeze[0, i])
    held, right, row = np.zeros((3, 3)), np.zeros((3, g)), np.zeros(3)
    for i in range(w):
        weight = max(support.stiffness[0, i] * support.squeeze[0, i], 0.0) + least
        for axis in range(2):
            row[axis], row[1 - axis] = 1.0, 0.0
            row[2] = -support.back[0, i] if axis == 1 else -support.left[0, i]
            for r in range(3):
                for c in range(3):
                    held[r, c] += weight * row[r] * row[c]
                for k in range(g):
                    right[r, k] -= weight * row[r] * contacts[(2 * i + axis) * g + k]
    sway[:] = np.linalg.solve(held, right)
    for k in range(g):
        for i in range(w):
            rows[i, k] = flat[i * g + k]
        for body in range(g):
            for axis in range(2):
                slants[body, axis, k] = turned[(2 * body + axis) * g + k]


@kernel
def write_edges(corners: Indices, left: Array, back: Array, edges: Array) -> None:
    """Write the weights (w, w) of the pushes in each share, from positions (w,) in axes of the ground, m.

    With corners (k,) of the support polygon, counter-clockwise, these are the distances of the springs from the edges
    over their sum; rows beyond the number of edges repeat the first one. Without corners they are the identity.
    """
    w, k = left.shape[0], corners.shape[0]
    edges[:] = 0.0
    for e in range(w):
        if k == 0:
            edges[e, e] = 1.0
            continue
        start, end = corners[e if e < k else 0], corners[(e + 1) % k if e < k else 1]
        along, aside, total = back[start] - back[end], left[end] - left[start], 0.0
        for i in range(w):
            away = along * (left[i] - left[start]) - aside * (back[start] - back[i])
            edges[e, i] = max(away, 0.0)
            total += edges[e, i]
        for i in range(w):
            edges[e, i] /= total


@part
def stiffness_of(support: Support) -> Array:
    """Return the stiffness (r, r) of all springs of the first variant against height and angles of base and pivots."""
    size = 3 + support.pivot_start.shape[1]
    stiffness, row = np.zeros((size, size)), np.ones(size)
    for i in range(support.left.shape[1]):
        row[1], row[2] = support.left[0, i], support.back[0, i]
        for r in range(3, size):
            row[r] = support.pivot_rows[0, i, r - 3]
        for r in range(size):
            for c in range(size):
                stiffness[r, c] += support.stiffness[0, i] * row[r] * row[c]
    return stiffness


@part
def write_loads(
    h: int,
    measured: Measured,
    springs: Springs,
    extremes: Extremes,
    links: float,
    loads: Array,
    pushed: Array,
    support: Support,
) -> None:
    """Write the compression of the springs of a variant, their mean push, and the reductions by the wrong centre.

    The ground is where the springs carry the machine of the measurements. Other masses compress them further, by their
    loads in the present motion.

    Args:
        h: number of the variant.
        measured: now.
        springs: of the machine.
        extremes: masses of the machine in each variant.
        links: mass of all links of the variant, kg.
        loads: (2 r,) loads on the ground of the links of the model and of a kilogram of payload.
        pushed: (w, r) effect of a vertical load, and of moments about heading and left and on pivots, on the push of
            each spring.
        support: written.
    """
    specific_force, (w, r) = measured.specific_force, pushed.shape
    weight = np.sqrt(specific_force[0] ** 2 + specific_force[1] ** 2 + specific_force[2] ** 2)
    heavier, more = extremes.heft[h] - 1.0, extremes.payload[h] - measured.payload
    support.mean_push[h, 0] = (links / extremes.heft[h] + measured.payload) * weight / w
    for i in range(w):
        push = 0.0
        for c in range(r):
            push += pushed[i, c] * (heavier * loads[c] + more * loads[r + c])
        support.squeeze[h, i] += push / springs.stiffness[i]
        slant = np.hypot(support.shares[h, i, 1], support.shares[h, i, 2])
        for body in range(r - 3):
            slant = max(slant, np.hypot(tilt_of(support, h, i, body, 0), tilt_of(support, h, i, body, 1)))
        support.offset[h, i] = extremes.center * links * weight * slant


@part
def tilt_of(support: Support, h: int, share: int, body: int, axis: int) -> float:
    """Return the effect of a moment of 1 N m, about heading or left, on the links beyond a pivot on a share, N."""
    effect = support.shares[h, share, 1 + axis]
    for k in range(support.slants.shape[1]):
        effect += support.shares[h, share, 3 + k] * support.slants[h, body, axis, k]
    return effect


@kernel
def take_over_fields(
    code: int,
    pivots_code: int,
    step: float,
    drawn: float,
    spools: Array,
    drives: Array,
    turn: Array,
    arms: Array,
    *fields: Any,
) -> tuple[float, float]:
    """Call `take_over` with the fields of its records, from the measurements on."""
    measured, springs, extremes = Measured(*fields[:9]), Springs(*fields[9:12]), Extremes(*fields[12:16])
    criterion, chambers = Criterion(*fields[16:18]), Chambers(*fields[18:22])
    surroundings, support = Surroundings(*fields[22:32]), Support(*fields[32:])
    state = spools, drives, turn, surroundings, support, arms
    return take_over(code, pivots_code, measured, springs, extremes, criterion, step, chambers, drawn, *state)
