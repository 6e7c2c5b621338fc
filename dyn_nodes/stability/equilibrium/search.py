"""Stable equilibria of a machine on its supports, and the load at which they are lost, as array loops."""
# mypy: ignore-errors
# ruff: noqa: SIM110

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dyn_nodes.stability.equilibrium._kernels import inlined, part
from dyn_nodes.stability.equilibrium.balance import SINGULAR, balance

SOLVED, OVERTURNED, UNSOLVED = range(3)
"""Results of a search."""
LIFTED, TOUCHED, LOWER, UPPER, RELEASED, LOSS, FALL, FLATTENED = range(8)
"""Kinds of events on a path."""
NOT_STANDING = -1
EVENTS = 64
LEVELS = 8
"""Greatest number of equilibria lost one after another before a fall."""
BALANCED = 1e-10
"""Greatest residual of an equilibrium, of the weight times 1 or 1 m."""
ROUND_OFF = 1e-15
"""Error of a position by rounding, m or rad."""
CLOSED = 1e-11
"""Greatest residual of the constraint rows, m or rad."""
BESIDE = 1e-3
"""Least distance of a support from the line of the others that counts as beside it, over the length of the line."""
SOFT = 1e-7
"""Stiffness, of the weight over 1 m, below which a displacement counts as neutral."""
CORRECTIONS = 15
LONGEST = 0.05
"""Greatest change of a displacement between two equilibria of a path, m or rad."""
CURVED, JUMP = 1.05, 5e-4
"""Permissible ratio of a displacement along a path to the prediction by its slopes, and excess, m or rad, of a jump."""
DESCENT, DESCENTS = 0.02, 4000
"""Greatest step, m or rad, and number of steps of a descent to the next equilibrium."""
STEEPEST = 0.9
"""Tilt of the base beyond which it has overturned, rad."""


class Ramp(NamedTuple):
    """Growth of a load: by payload, kg, or by a turn of gravity towards `direction`, rad.

    Attributes:
        payload: at the start, kg.
        gravity: (3,) at the start in axes of the ground, m/s2.
        size: of gravity, m/s2.
        direction: (3,) unit, across gravity.
        turns: gravity turns and the payload is constant.
    """

    payload: float
    gravity: Any
    size: float
    direction: Any
    turns: bool


@part
def greatest(values, count):
    """Return the greatest magnitude of the first entries of a vector; NaN if one of them is NaN."""
    most = 0.0
    for k in range(count):
        size = abs(values[k])
        if not size <= most:
            most = size
    return most


@part
def put(values, target):
    """Copy a vector into another."""
    for k in range(values.shape[0]):
        target[k] = values[k]


@part
def solve(A, b):
    """Replace b (n,) by A^-1 b, A (n, n) is destroyed; return False for a singular A."""
    n = b.shape[0]
    for c in range(n):
        best, row = abs(A[c, c]), c
        for r in range(c + 1, n):
            if abs(A[r, c]) > best:
                best, row = abs(A[r, c]), r
        if not best > 0.0:
            return False
        if row != c:
            for k in range(c, n):
                A[c, k], A[row, k] = A[row, k], A[c, k]
            b[c], b[row] = b[row], b[c]
        for r in range(c + 1, n):
            factor = A[r, c] / A[c, c]
            if factor != 0.0:
                for k in range(c + 1, n):
                    A[r, k] -= factor * A[c, k]
                b[r] -= factor * b[c]
    for c in range(n - 1, -1, -1):
        for k in range(c + 1, n):
            b[c] -= A[c, k] * b[k]
        b[c] /= A[c, c]
    return True


@part
def newton_step(at, multipliers, shift, step):
    """Write the step (n + m,) of position and multipliers to the balance; return False if the system is singular.

    `shift` is added to the diagonal of the stiffness.
    """
    n, m, A = at.force.shape[0], at.gap.shape[0], at.system
    for i in range(n):
        for j in range(n):
            A[i, j] = at.stiffness[i, j] - (at.bend[i, j] if m > 0 else 0.0)
        A[i, i] += shift
        step[i] = -at.force[i]
        for r in range(m):
            A[i, n + r], A[n + r, i] = -at.rows[r, i], at.rows[r, i]
            step[i] += at.rows[r, i] * multipliers[r]
    for r in range(m):
        for k in range(m):
            A[n + r, n + k] = -SINGULAR if k == r else 0.0
        step[n + r] = -at.gap[r]
    return solve(A, step)


@part
def unbalanced(at, multipliers, weight):
    """Return the greatest unbalanced force over the weight, or a number above 1 if constraints are violated."""
    n, m, worst, hardest = at.force.shape[0], at.gap.shape[0], 0.0, 0.0
    for j in range(n):
        value = at.force[j]
        for r in range(m):
            value -= at.rows[r, j] * multipliers[r]
        if not abs(value) <= worst:
            worst = abs(value)
        hardest = max(hardest, at.stiffness[j, j])
    # round-off of a position counts no more than BALANCED
    return worst / (weight + ROUND_OFF / BALANCED * hardest) if greatest(at.gap, m) < CLOSED else 2.0


@part
def tangent(at, soft, K):
    """Write the symmetric part of the stiffness (n, n), constraints included, plus `soft` on its diagonal."""
    n, m = at.force.shape[0], at.gap.shape[0]
    for i in range(n):
        for j in range(i + 1):
            value = 0.5 * (at.stiffness[i, j] + at.stiffness[j, i])
            if m > 0:
                value -= 0.5 * (at.bend[i, j] + at.bend[j, i])
            K[i, j] = value
            K[j, i] = value
        K[i, i] += soft


@part
def is_positive(K):
    """Return whether a symmetric matrix is positive definite; it is destroyed."""
    n = K.shape[0]
    for j in range(n):
        pivot = K[j, j]
        for k in range(j):
            pivot -= K[j, k] * K[j, k]
        if not pivot > 0.0:
            return False
        K[j, j] = np.sqrt(pivot)
        for i in range(j + 1, n):
            value = K[i, j]
            for k in range(j):
                value -= K[i, k] * K[j, k]
            K[i, j] = value / K[j, j]
    return True


@part
def is_stable(at, weight):
    """Return whether no displacement that the constraints allow releases energy."""
    n, m = at.force.shape[0], at.gap.shape[0]
    K = np.empty((n, n))
    tangent(at, SOFT * weight, K)
    if m > 0:
        Z = null_space(at.rows)
        free = Z.shape[1]
        reduced = np.zeros((free, free))
        for i in range(free):
            for j in range(free):
                for k in range(n):
                    for r in range(n):
                        reduced[i, j] += Z[k, i] * K[k, r] * Z[r, j]
        K = reduced
    return is_positive(K)


@part
def spans(gear, at):
    """Return whether the carrying supports of a machine that stands as one body are not all on one line.

    On a line the machine may be stable with its payload below the ground: it has tipped over an edge.
    """
    if at.force.shape[0] != 3 or at.gap.shape[0] != 0:
        return True
    first, far, size = -1, -1, 0.0
    for k in range(gear.supports.shape[0]):
        if at.compression[k] > 0.0:
            first = k if first < 0 else first
            one, two = gear.supports[first].point, gear.supports[k].point
            square = (two[0] - one[0]) ** 2 + (two[1] - one[1]) ** 2
            if square > size:
                size, far = square, k
    if far < 0:
        return False
    one, two = gear.supports[first].point, gear.supports[far].point
    for k in range(gear.supports.shape[0]):
        if at.compression[k] > 0.0:
            point = gear.supports[k].point
            beside = (two[0] - one[0]) * (point[1] - one[1]) - (two[1] - one[1]) * (point[0] - one[0])
            if abs(beside) > BESIDE * size:
                return True
    return False


@part
def null_space(rows):
    """Return a basis (n, k) of the null space of rows (m, n), by elimination with full pivoting."""
    m, n = rows.shape
    A, order, largest = np.empty((m, n)), np.empty(n, np.int64), 0.0
    for j in range(n):
        order[j] = j
        for i in range(m):
            A[i, j] = rows[i, j]
            largest = max(largest, abs(A[i, j]))
    rank = 0
    while rank < min(m, n):
        best, r, c = 0.0, rank, rank
        for i in range(rank, m):
            for j in range(rank, n):
                if abs(A[i, j]) > best:
                    best, r, c = abs(A[i, j]), i, j
        if not best > 1e-9 * largest:
            break
        for j in range(n):
            A[rank, j], A[r, j] = A[r, j], A[rank, j]
        for i in range(m):
            A[i, rank], A[i, c] = A[i, c], A[i, rank]
        order[rank], order[c] = order[c], order[rank]
        for i in range(m):
            if i != rank:
                factor = A[i, rank] / A[rank, rank]
                for j in range(rank, n):
                    A[i, j] -= factor * A[rank, j]
        rank += 1
    Z = np.zeros((n, n - rank))
    for k in range(n - rank):
        Z[order[rank + k], k] = 1.0
        for i in range(rank):
            Z[order[i], k] = -A[i, rank + k] / A[i, i]
    return Z


@part
def correct(gear, q, payload, gravity, multipliers, step, at):
    """Move a position to the equilibrium near it, in place; return whether it converged and is stable."""
    n, first = q.shape[0], 0.0
    for k in range(CORRECTIONS):
        weight = balance(gear, q, payload, gravity, multipliers, at)
        left = unbalanced(at, multipliers, weight)
        if left < BALANCED:
            return is_stable(at, weight) and spans(gear, at)
        if k == 0:
            first = max(left, 1e-3)
        if not left < 100.0 * first or not newton_step(at, multipliers, 1e-3 * SOFT * weight, step):
            return False
        share = min(1.0, LONGEST / max(greatest(step, n), 1e-300))
        for j in range(n):
            q[j] += share * step[j]
        for r in range(multipliers.shape[0]):
            multipliers[r] += share * step[n + r]
    return False


@part
def _slope(at, multipliers, step):
    """Return the derivative of the energy along a step."""
    total = 0.0
    for j in range(at.force.shape[0]):
        value = at.force[j]
        for r in range(at.gap.shape[0]):
            value -= at.rows[r, j] * multipliers[r]
        total += value * step[j]
    return total


@part
def _positive_shift(at, weight):
    """Return a shift of the diagonal that makes the stiffness positive definite."""
    n, share = at.force.shape[0], 1e-3 * SOFT
    K = np.empty((n, n))
    while share < 1e9:
        tangent(at, share * weight, K)
        if is_positive(K):
            break
        share = max(1e-3, 4.0 * share)
    return share * weight


@part
def settle(gear, q, payload, gravity, multipliers, at):
    """Move a position (n,) to the next stable equilibrium, in place, like a well damped machine.

    Return FOUND, OVERTURNED or UNSOLVED; `at` is the balance there.
    """
    n, m = q.shape[0], multipliers.shape[0]
    step, trial, pushed = np.zeros(n + m), q.copy(), np.zeros(m)
    share, slope, searching, halvings = 0.0, 0.0, False, 0
    for _ in range(DESCENTS):
        weight = balance(gear, trial, payload, gravity, pushed, at)
        if searching and m == 0 and halvings < 12:  # the step must not overshoot the valley
            ahead = _slope(at, pushed, step)
            if ahead > 0.5 * abs(slope):
                halvings += 1
                share *= max(0.1, slope / (slope - ahead)) if slope < 0.0 else 0.5
                for j in range(n):
                    trial[j] = q[j] + share * step[j]
                continue
        put(trial, q)
        put(pushed, multipliers)
        if at.bodies[gear.base].rotation[2, 2] < np.cos(STEEPEST):
            return OVERTURNED
        searching, halvings = True, 0
        if unbalanced(at, multipliers, weight) < BALANCED:
            if is_stable(at, weight):
                return SOLVED if spans(gear, at) else OVERTURNED
            searching = False
            for j in range(n):  # leave a summit
                trial[j] = q[j] + 1e-4 * np.cos(1.7 * j)
            continue
        if not newton_step(at, multipliers, _positive_shift(at, weight), step):
            return UNSOLVED
        slope = _slope(at, multipliers, step)
        share = min(1.0, DESCENT / max(greatest(step, n), 1e-300))
        for j in range(n):
            trial[j] = q[j] + share * step[j]
        for r in range(m):
            pushed[r] = multipliers[r] + share * step[n + r]
    return UNSOLVED


@part
def load_at(ramp, share, gravity):
    """Write gravity (3,), m/s2, at a share of a ramp and return the payload, kg."""
    c, s = (np.cos(share), np.sin(share)) if ramp.turns else (1.0, 0.0)
    for a in range(3):
        gravity[a] = c * ramp.gravity[a] + s * ramp.size * ramp.direction[a]
    return ramp.payload if ramp.turns else ramp.payload + share


@part
def follow(gear, ramp, share, q, multipliers, step, most, fine, stages, count, at):
    """Follow the stable equilibrium q (n,) at a share of a ramp until it is lost, in place.

    Args:
        gear: the machine.
        ramp: growth of the load.
        share: at which q is a stable equilibrium, kg or rad.
        q: position; at the end the last stable one.
        multipliers: (m,) of the constraints.
        step: first step of the share.
        most: share at which the search ends.
        fine: final step of the share at the end of the path.
        stages: (r, 3) events in order: kind, number, share; filled from row `count` on.
        count: number of events so far.
        at: scratch.

    Returns:
        Share at the end, whether the equilibrium was lost there, and the number of events.
    """
    n, m, supports = q.shape[0], multipliers.shape[0], gear.supports.shape[0]
    trial, guess, gravity, moves = q.copy(), multipliers.copy(), np.empty(3), np.zeros(n + m)
    levels, before, last, grows, flat = np.zeros(supports), np.zeros(supports), 0.0, True, -1
    ends = np.zeros(n, np.int64)
    payload = load_at(ramp, share, gravity)
    balance(gear, q, payload, gravity, multipliers, at)
    put(at.compression, levels)
    for j in range(n):
        ends[j] = end_of(gear.joints[j], q[j])
    while share < most:
        step = min(step, most - share)
        payload = load_at(ramp, share + step, gravity)
        put(q, trial)
        put(multipliers, guess)
        corrected, near = correct(gear, trial, payload, gravity, guess, moves, at), _near(trial, q)
        if corrected and near:
            corrected = _continues(gear, ramp, share, step, q, multipliers, trial, guess, gravity, moves, at)
        if not corrected or not near:
            if step <= fine:
                break
            grows = grows and corrected
            step = 0.5 * step if grows else _shorter(step, fine, levels, before, last)
            continue
        put(levels, before)
        put(at.compression, levels)
        events = count
        count = _note(gear, trial, levels, before, ends, share + step, stages, count)
        for k in range(events, count):
            stages[k, 2] = _located(gear, ramp, q, multipliers, share, step, stages[k], fine, moves, at)
        put(trial, q)
        put(guess, multipliers)
        share += step
        last = step
        if flat < 0:
            flat = _flattened(gear, at)
            if flat >= 0:
                count = _append(stages, count, FLATTENED, flat, share)
        if grows:
            step *= 1.5
        elif step <= fine:
            step = fine
    return share, share < most, count


@inlined
def tip(gear, ramp, share, q, multipliers, step, most, fine, levels, stages, lost, fell, at):
    """Follow a machine on a ramp through all equilibria up to its fall.

    Args:
        gear: as in `follow`.
        ramp: as in `follow`.
        share: at which the ramp starts, kg or rad.
        q: (n,) position from which the machine is set down; moved.
        multipliers: (m,) of the constraints; moved.
        step: first step of the share.
        most: share at which the search ends.
        fine: final step of the share at the end of a path.
        levels: greatest number of equilibria lost one after another.
        stages: (r, 3) events in order: kind, number, share; filled.
        lost: (n,) position of the last equilibrium before the first loss; filled.
        fell: (n,) position of the last equilibrium before the fall; filled.
        at: scratch.

    Returns:
        Loads of the first lift-off, the first loss and the fall (inf: none; the first is NOT_STANDING if the machine
        does not stand at the start), and the number of events.
    """
    gravity = np.empty(3)
    payload = load_at(ramp, share, gravity)
    if settle(gear, q, payload, gravity, multipliers, at) != SOLVED:
        return float(NOT_STANDING), 0.0, 0.0, 0
    put(q, lost)
    carrying = at.compression > 0.0
    lift_off, loss, count = np.inf, np.inf, np.int64(0)
    for level in range(levels):
        first = count
        share, finished, count = follow(gear, ramp, share, q, multipliers, step, most, fine, stages, count, at)
        for k in range(first, count):
            if stages[k, 0] == LIFTED and carrying[int(stages[k, 1])]:
                lift_off = min(lift_off, stages[k, 2])
        if not finished:
            return lift_off, loss, np.inf, count
        put(q, fell)
        if loss == np.inf:
            loss = share
            lift_off = min(lift_off, loss)
            put(q, lost)
        count = _append(stages, count, LOSS, -1, share)
        if level == 0 and levels == 1:
            return lift_off, loss, np.inf, count
        payload = load_at(ramp, share + fine, gravity)
        if settle(gear, q, payload, gravity, multipliers, at) != SOLVED:
            break
        share += fine
    count = _append(stages, count, FALL, -1, share)
    return lift_off, loss, share, count


@part
def _append(stages, count, kind, number, share):
    """Append an event if there is room; return the number of events."""
    if count < stages.shape[0]:
        stages[count, 0], stages[count, 1], stages[count, 2] = float(kind), float(number), share
        count += 1
    return count


@part
def _flattened(gear, at):
    """Return the first support that is compressed to length zero, where its spring law ends; -1: none."""
    for k in range(gear.supports.shape[0]):
        if at.compression[k] > gear.supports[k].free_length:
            return k
    return -1


@part
def _continues(gear, ramp, share, step, q, multipliers, trial, guess, gravity, moves, at):
    """Return whether an equilibrium continues the branch of the previous share instead of lying beyond a jump.

    On one branch a displacement is at most the greater of the slopes at both ends times the step. On return `at` is the
    balance at `trial`.
    """
    n, slopes = q.shape[0], np.zeros(q.shape[0])
    for side in range(2):
        payload = load_at(ramp, share + (step if side == 0 else 0.0), gravity)
        there, pushed = (q, multipliers) if side == 0 else (trial, guess)
        weight = balance(gear, there, payload, gravity, pushed, at)
        if not newton_step(at, pushed, 1e-3 * SOFT * weight, moves):
            return False
        for j in range(n):
            slopes[j] = max(slopes[j], abs(moves[j]))
    balance(gear, trial, load_at(ramp, share + step, gravity), gravity, guess, at)
    for j in range(n):
        if not abs(trial[j] - q[j]) <= CURVED * slopes[j] + JUMP:
            return False
    return True


@part
def _near(one, two):
    """Return whether two positions are close enough to be on one path."""
    for k in range(one.shape[0]):
        if not abs(one[k] - two[k]) < LONGEST:
            return False
    return True


@part
def _shorter(step, fine, levels, before, last):
    """Return the next step after a failed one: to just before a support lifts, or a quarter."""
    ahead = 0.25 * step
    if last > 0.0:
        for k in range(levels.shape[0]):
            if levels[k] > 0.0 and levels[k] < before[k]:
                lifts = last * levels[k] / (before[k] - levels[k])
                if lifts < step and lifts - 0.3 * fine > ahead:
                    ahead = lifts - 0.3 * fine
    return max(ahead, 0.999 * fine) if ahead < step - 0.5 * fine else 0.5 * step


@part
def end_of(joint, position):
    """Return -1 at the lower stop of a joint, 1 at the upper one, else 0."""
    return -1 if position < joint.lower else (1 if position > joint.upper else 0)


@part
def _note(gear, q, levels, before, ends, share, stages, count):
    """Append the events of a step that ends at a share; return the number of events."""
    for k in range(levels.shape[0]):
        if (levels[k] > 0.0) != (before[k] > 0.0):
            count = _append(stages, count, TOUCHED if levels[k] > 0.0 else LIFTED, k, share)
    for j in range(q.shape[0]):
        end = end_of(gear.joints[j], q[j])
        if end != ends[j]:
            count = _append(stages, count, LOWER if end < 0 else (UPPER if end > 0 else RELEASED), j, share)
        ends[j] = end
    return count


@inlined
def _located(gear, ramp, start, start_multipliers, share, step, stage, fine, moves, at):
    """Return the share of the ramp within a step at which an event happens (regula falsi, Illinois)."""
    q, multipliers, gravity = start.copy(), start_multipliers.copy(), np.empty(3)
    low, high, at_low, at_high, held = 0.0, step, 0.0, 0.0, 0
    for k in range(40):
        tried = 0.0 if k == 0 else (step if k == 1 else (low * at_high - high * at_low) / (at_high - at_low))
        put(start, q)
        put(start_multipliers, multipliers)
        payload = load_at(ramp, share + tried, gravity)
        if not correct(gear, q, payload, gravity, multipliers, moves, at):
            return share + high
        level = _level(gear, q, at, stage)
        if k == 0:
            at_low = level
        elif k == 1:
            at_high = level
            if at_low * at_high > 0.0:
                return share + high
        elif level * at_low > 0.0:
            at_high *= 0.5 if held == 1 else 1.0
            low, at_low, held = tried, level, 1
        else:
            at_low *= 0.5 if held == -1 else 1.0
            high, at_high, held = tried, level, -1
        if k > 1 and (high - low < fine or level == 0.0):
            break
    return share + high


@part
def _level(gear, q, at, stage):
    """Return the quantity whose sign changes at an event."""
    number = int(stage[1])
    if stage[0] == LIFTED or stage[0] == TOUCHED:
        return at.compression[number]
    joint = gear.joints[number]
    lower, upper = q[number] - joint.lower, joint.upper - q[number]
    return lower if abs(lower) < abs(upper) else upper
