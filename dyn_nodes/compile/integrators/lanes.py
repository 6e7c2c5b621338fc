"""Simultaneous runs with fixed steps, one in each lane of a vector.

Steps, implicit formula for stiff states and the choice between them follow `fixed_step` and `stiff`, lane by lane: a
run has the same steps as alone, and its numbers do not depend on the runs in other lanes. Functions such as the sine
differ in the last digit from a single run. A lane whose run has ended takes the next run. Vectors of a kernel
have element i of lane k at i * lanes + k. Scalar kernels locate an event within its run.
"""
# mypy: ignore-errors
# ruff: noqa: SIM110

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dyn_nodes.common.loops import kernels_of
from dyn_nodes.compile.code import call_code
from dyn_nodes.compile.integrators.classical import is_damped
from dyn_nodes.compile.integrators.codes import GUARD, PLACES, RHS, STIFF, SWITCH, WATCH, bare, counted
from dyn_nodes.compile.integrators.fixed_step import watch_step
from dyn_nodes.compile.integrators.stiff import (
    CLOSE,
    FORGOTTEN,
    IMPLICIT,
    MET,
    MILD,
    MOST_CORRECTIONS,
    NEAR_END,
    step_room,
)

RUNNING, FREE, EMPTY = -1, -1, -2
"""Status of a run in progress; values of a lane without run: free for the next run, no run left."""


class LanePlan(NamedTuple):
    """Segments of runs, divided at samples and at kinks or jumps of the inputs.

    Attributes:
        first, last: (r,) first segment of each run, and the segment after its last; runs may share segments.
        base, offset: (s,) time from which steps are counted, s, and the number of the first step since then.
        step: (s,) s.  steps: (s,) number of steps.
        row: (s,) row of the trace for the state at the end; -1: none.
        fresh: (s,) whether the rates of the stiff states at the start are unknown.
        since, until: (s,) s.
        start, end: (s, m) inputs at both ends, from inside; linear between.
    """

    first: Any
    last: Any
    base: Any
    offset: Any
    step: Any
    steps: Any
    row: Any
    fresh: Any
    since: Any
    until: Any
    start: Any
    end: Any


class Made(NamedTuple):
    """Results of runs, filled in place.

    Attributes:
        x: (r, n) states at the start, then at the end.
        trace: (r, t, n); the first row is given.
        kept: (r,) number of filled rows of the trace.
        status: (r,) of `integrators`.  time: (r,) at the end, s.
        positive: (r, w) signs of the watched values, at the start, then at the end.
        found: (r, e, 4) events.  events: (r,) number of events.
    """

    x: Any
    trace: Any
    kept: Any
    status: Any
    time: Any
    positive: Any
    found: Any
    events: Any


class Lane(NamedTuple):
    """State of the lanes.

    Attributes:
        run: (lanes,) index of the run; FREE, EMPTY.  segment, step: (lanes,) its current segment and step.
        h: (lanes,) s.  long: (n * lanes,) h of each element.  on: (n * lanes,) 1.0 if the lane has a run.
        start, change: (m * lanes,) inputs at the start of the segment, and their change over it.
        bound: (lanes,) greatest rate of a stiff state, 1/s.  has_bound: (lanes,) whether `bound` is valid.
        implicit: (lanes,) whether the implicit formula is used.  again: (lanes,) whether the step is repeated with it.
    """

    run: Any
    segment: Any
    step: Any
    h: Any
    long: Any
    on: Any
    start: Any
    change: Any
    bound: Any
    has_bound: Any
    implicit: Any
    again: Any


class Room(NamedTuple):
    """Vectors (n * lanes,) and smaller ones; `work`, `result` and `arguments` as in `stiff.implicit_step`."""

    x: Any
    p: Any
    y: Any
    k: Any
    first: Any
    twice: Any
    out: Any
    other: Any
    u: Any
    work: Any
    result: Any
    arguments: Any


@bare
def lane_call(code, x, u, p, out):
    """Run a vector kernel of state, inputs and parameters."""
    if call_code(code, x, u, p, out) != 0:
        raise ValueError('a vector kernel: expected vectors of its lengths')


@bare
def start_segment(plan, lane, k, lanes):
    """Set the step and the inputs of a lane from its segment."""
    s = lane.segment[k]
    lane.step[k] = 0
    lane.h[k] = plan.step[s]
    if plan.fresh[s]:
        lane.has_bound[k] = False
    for i in range(lane.long.shape[0] // lanes):
        lane.long[i * lanes + k] = plan.step[s]
    for i in range(plan.start.shape[1]):
        lane.start[i * lanes + k] = plan.start[s, i]
        lane.change[i * lanes + k] = plan.end[s, i] - plan.start[s, i]


@bare
def next_run(plan, made, p, lane, room, k, lanes, run, last):
    """Assign the next run with a segment to a lane; return the index of the following run."""
    n = made.x.shape[1]
    while run < last and plan.first[run] == plan.last[run]:
        run += 1
    for i in range(n):
        lane.on[i * lanes + k] = 1.0 if run < last else 0.0
    if run >= last:
        lane.run[k], lane.h[k], lane.has_bound[k], lane.bound[k] = EMPTY, 0.0, True, 0.0
        for i in range(n):
            lane.long[i * lanes + k] = 0.0
        return run
    lane.run[k], lane.segment[k], lane.has_bound[k] = run, plan.first[run], False
    made.status[run] = RUNNING
    for i in range(n):
        room.x[i * lanes + k] = made.x[run, i]
    for i in range(p.shape[1]):
        room.p[i * lanes + k] = p[run, i]
    start_segment(plan, lane, k, lanes)
    return run + 1


@bare
def lane_inputs(plan, lane, share, lanes, u):
    """Write the inputs at a share of the step."""
    for k in range(lanes):
        if lane.run[k] >= 0:
            along = (lane.step[k] + share) / plan.steps[lane.segment[k]]
            for i in range(k, u.shape[0], lanes):
                u[i] = lane.start[i] + along * lane.change[i]


@bare
def stiff_call(codes, lanes, room, y, reach):
    """Run the vector kernel of the stiff states in y, with the bases in `room.arguments` and the reaches."""
    arguments, first = room.arguments, room.arguments.shape[0] - lanes
    for i in range(room.u.shape[0]):
        arguments[i] = room.u[i]
    for k in range(lanes):
        arguments[first + k] = reach[k]
    lane_call(codes[STIFF], y, arguments, room.p, room.result)


@bare
def bound_call(codes, lanes, room, y, reach):
    """Run the vector kernel for a bound on the rates of the stiff states in y: `stiff.greatest_rate` in all lanes."""
    indices, first = codes[PLACES:], room.u.shape[0]
    for j in range(indices.shape[0]):
        for k in range(lanes):
            room.arguments[first + j * lanes + k] = y[indices[j] * lanes + k]
    for k in range(lanes):
        reach[k] = 1.0
    stiff_call(codes, lanes, room, y, reach)


@bare
def solve_lanes(codes, stage, lanes, lane, room, reach, missed, inside):
    """Apply `stiff.solve_stage` in the lanes with the implicit formula."""
    indices = codes[PLACES:]
    count, y, arguments, work, result = indices.shape[0], room.y, room.arguments, room.work, room.result
    first, size = room.u.shape[0], indices.shape[0] * lanes
    for k in range(lanes):
        reach[k] = lane.h[k] * IMPLICIT[stage, stage]
        missed[k] = lane.implicit[k]
    for j in range(count):
        for k in range(lanes):
            total = 0.0
            for before in range(stage):
                total += IMPLICIT[stage, before] * work[before * size + j * lanes + k]
            arguments[first + j * lanes + k] = room.x[indices[j] * lanes + k] + lane.h[k] * total
    most = 1
    while True:
        for k in range(lanes):
            inside[k] = missed[k]
        for correction in range(most):
            if correction % FORGOTTEN == 0:
                for e in range(size):
                    work[3 * size + e], work[4 * size + e] = -np.inf, np.inf
            stiff_call(codes, lanes, room, y, reach)
            left = False
            for k in range(lanes):
                if inside[k]:
                    inside[k] = not correct_lane(indices, lanes, k, result, y, work)
                    left = left or inside[k]
            if not left:
                break
        lane_call(codes[RHS], y, room.u, room.p, room.k)
        if most > 1:
            break
        left = False
        for k in range(lanes):
            if missed[k]:
                met = True
                for j in range(count):
                    e = j * lanes + k
                    off = y[indices[j] * lanes + k] - arguments[first + e] - reach[k] * room.k[indices[j] * lanes + k]
                    met = met and abs(off) <= MET * result[2 * size + e]
                missed[k] = not met
                left = left or not met
        if not left:
            break
        most = MOST_CORRECTIONS
    if stage < 3:
        for k in range(lanes):
            if lane.implicit[k]:
                for j in range(count):
                    e = j * lanes + k
                    work[stage * size + e] = (y[indices[j] * lanes + k] - arguments[first + e]) / reach[k]


@bare
def correct_lane(indices, lanes, k, result, y, work):
    """Apply `stiff.correct` in one lane."""
    count, small = indices.shape[0], True
    size = count * lanes
    for j in range(count):
        e, index = j * lanes + k, indices[j] * lanes + k
        if result[size + e] < 0.0:
            work[3 * size + e] = y[index]
        else:
            work[4 * size + e] = y[index]
        lower, upper = work[3 * size + e], work[4 * size + e]
        to, width = y[index] + result[e], upper - lower
        if width < np.inf and not (lower + NEAR_END * width < to < upper - NEAR_END * width):
            to = lower + 0.5 * width
        y[index] = to
        small = small and abs(result[e]) <= CLOSE * result[2 * size + e]
    return small


@bare
def lane_stages(codes, plan, lanes, lane, room, first_stage, out, reach, missed, inside):
    """Compute the stages of a step from `first_stage` on; write its end to out and the last stage's state to y."""
    indices = codes[PLACES:]
    count, size = indices.shape[0], indices.shape[0] * lanes
    x, y, k, work, long = room.x, room.y, room.k, room.work, lane.long
    kept, damped = work[5 * size :], is_damped(codes)
    solving = False
    for lane_number in range(lanes):
        solving = solving or lane.implicit[lane_number]
    for stage in range(first_stage, 4):
        lane_inputs(plan, lane, 1.0 if stage == 3 else 0.0 if stage == 0 else 0.5, lanes, room.u)
        part = 0.5 if stage < 3 or damped else 1.0
        if stage == 0:
            for e in range(x.shape[0]):
                y[e] = x[e]
        else:
            for j in range(count):
                for e in range(j * lanes, (j + 1) * lanes):
                    at = indices[j] * lanes + e - j * lanes
                    kept[e] = x[at] if stage == 1 else y[at]
            rate = room.first if stage == 1 else k
            if stage == 3 and damped:
                rate = room.twice
            for e in range(x.shape[0]):
                y[e] = x[e] + part * long[e] * rate[e]
            if solving:
                for j in range(count):
                    for number in range(lanes):
                        if lane.implicit[number]:
                            y[indices[j] * lanes + number] = kept[j * lanes + number]
        if stage > 0 and solving:
            solve_lanes(codes, stage, lanes, lane, room, reach, missed, inside)
        else:
            lane_call(codes[RHS], y, room.u, room.p, k)
        if stage < 3:
            for j in range(count):
                for number in range(lanes):
                    if stage == 0 or not lane.implicit[number]:
                        work[stage * size + j * lanes + number] = k[indices[j] * lanes + number]
        if stage == 0:
            for e in range(x.shape[0]):
                room.first[e] = k[e]
            choose(codes, lanes, lane, room, reach)
            for number in range(lanes):
                solving = solving or lane.implicit[number]
        elif stage == 1:
            for e in range(x.shape[0]):
                room.twice[e] = k[e]
        elif stage == 2:
            for e in range(x.shape[0]):
                room.twice[e] += k[e]
        else:
            for e in range(x.shape[0]):
                out[e] = x[e] + long[e] / 6.0 * (room.first[e] + 2.0 * room.twice[e] + k[e])
    for j in range(count):
        for number in range(lanes):
            if lane.implicit[number]:
                out[indices[j] * lanes + number] = y[indices[j] * lanes + number]


@bare
def choose(codes, lanes, lane, room, reach):
    """Choose the lanes with the implicit formula, by the rates of their stiff states at the start of the step."""
    count = codes.shape[0] - PLACES
    if count == 0 or codes[STIFF] == 0:
        return
    every = True
    for k in range(lanes):
        every = every and lane.has_bound[k]
    if not every:
        bound_call(codes, lanes, room, room.x, reach)
        for k in range(lanes):
            if not lane.has_bound[k]:
                lane.bound[k], lane.has_bound[k] = room.result[3 * count * lanes + k], True
    for k in range(lanes):
        lane.implicit[k] = not lane.bound[k] * lane.h[k] <= MILD


@bare
def lane_step(codes, plan, lanes, lane, room, reach, missed, inside):
    """Write the states after one step of every lane to `room.out`, and the inputs at its end to `room.u`."""
    indices = codes[PLACES:]
    bound = indices.shape[0] * lanes * 3
    for k in range(lanes):
        lane.implicit[k] = False
    first_stage, end = np.int64(0), room.out
    while True:  # one call of each: it is large, and every call may be inlined
        lane_stages(codes, plan, lanes, lane, room, first_stage, end, reach, missed, inside)
        if bound == 0 or codes[STIFF] == 0:
            return
        bound_call(codes, lanes, room, room.y, reach)
        if first_stage > 0:
            break
        repeat = False
        for k in range(lanes):
            lane.bound[k] = room.result[bound + k]
            lane.again[k] = not lane.implicit[k] and not (
                lane.bound[k] * lane.h[k] <= MILD and lane_is_smooth(indices, lanes, k, lane.h[k], room)
            )
            repeat = repeat or lane.again[k]
        if not repeat:
            return
        for k in range(lanes):
            lane.implicit[k] = lane.again[k]
        first_stage, end = np.int64(1), room.other
    for k in range(lanes):
        if lane.again[k]:
            lane.bound[k] = room.result[bound + k]
            for i in range(k, room.out.shape[0], lanes):
                room.out[i] = room.other[i]


@bare
def lane_is_smooth(indices, lanes, k, h, room):
    """Return `stiff.is_smooth` in one lane."""
    count = indices.shape[0]
    size, work = count * lanes, room.work
    for j in range(count):
        e = j * lanes + k
        first, second, third, last = work[e], work[size + e], work[2 * size + e], room.k[indices[j] * lanes + k]
        change, most = max(abs(second - first), abs(last - first)), max(abs(first), abs(last))
        difference = abs(third - second)
        if difference > 0.5 * MILD * change + 0.2 * most and h * difference > MET * room.result[2 * size + e]:
            return False
    return True


@bare
def check_lanes(x, lanes, sound):
    """Write, for every lane, whether all its states are finite and at most 1e15 in magnitude."""
    unsound = 0
    for e in range(x.shape[0]):
        unsound += not abs(x[e]) <= 1e15
    for k in range(lanes):
        sound[k] = True
    if unsound > 0:
        for e in range(x.shape[0]):
            sound[e % lanes] = sound[e % lanes] and abs(x[e]) <= 1e15


@counted
def locate(single, plan, made, p, lane, room, k, lanes, values):
    """Locate the events of a lane's last step with the scalar kernels; `room.other` has the states before it."""
    run, s, n = lane.run[k], lane.segment[k], made.x.shape[1]
    start = plan.base[s] + (plan.offset[s] + lane.step[k]) * plan.step[s]
    before, lane_values = np.empty(n), np.empty(values.shape[0] // lanes)
    for i in range(n):
        before[i] = room.other[i * lanes + k]
    for i in range(lane_values.shape[0]):
        lane_values[i] = values[i * lanes + k]
    knots, table = np.empty(2), np.empty((2, plan.start.shape[1]))
    knots[0], knots[1] = plan.since[s], plan.until[s]
    for i in range(table.shape[1]):
        table[0, i], table[1, i] = plan.start[s, i], plan.end[s, i]
    made.events[run] = watch_step(
        single,
        before,
        start,
        plan.step[s],
        knots,
        table,
        p[run],
        np.empty(table.shape[1]),
        step_room(single, n, table.shape[1]),
        lane_values,
        made.positive[run],
        made.found[run],
        made.events[run],
    )
    lane.has_bound[k] = False  # the search has overwritten the rates of the stiff states


@bare
def passed(lane, made, k, lanes, values):
    """Return whether a lane has an event in its last step."""
    run = lane.run[k]
    for j in range(made.positive.shape[1]):
        if (values[j * lanes + k] > 0.0) != made.positive[run, j]:
            return True
    return False


@bare
def watch_lanes(codes, lane, room, made, lanes, values, sound, crossed):
    """Mark the lanes with events in their last step; return their number."""
    lane_call(codes[WATCH], room.x, room.u, room.p, values)
    count = 0
    for k in range(lanes):
        crossed[k] = lane.run[k] >= 0 and sound[k] and passed(lane, made, k, lanes, values)
        count += crossed[k]
    return count


@bare
def after_lane(plan, made, lane, room, k, lanes, sound, tilted):
    """Store the state of a lane at samples of its plan; return whether its run has ended."""
    run, s, n = lane.run[k], lane.segment[k], made.x.shape[1]
    lane.step[k] += 1
    ends = lane.step[k] == plan.steps[s]
    if ends and sound and plan.row[s] >= 0:
        made.kept[run] = plan.row[s] + 1
        for i in range(n):
            made.trace[run, plan.row[s], i] = room.x[i * lanes + k]
    last = ends and s + 1 == plan.last[run]
    if sound and not tilted and not last:
        if ends:
            lane.segment[k] += 1
            start_segment(plan, lane, k, lanes)
        return False
    made.status[run] = 1 if not sound else 2 if tilted else 0
    made.time[run] = plan.base[s] + (plan.offset[s] + lane.step[k]) * plan.step[s]
    for i in range(n):
        made.x[run, i] = room.x[i * lanes + k]
    return True


@bare
def filled_lanes(lane):
    """Return the number of lanes with a run."""
    filled = 0
    for k in range(lane.run.shape[0]):
        filled += lane.run[k] >= 0
    return filled


@bare
def take_step(lane, room):
    """Accept the end of the step in the lanes with a run; store the previous states in `room.other`."""
    x, other, out, on = room.x, room.other, room.out, lane.on
    for e in range(x.shape[0]):
        before = x[e]
        other[e] = before
        x[e] = out[e] if on[e] > 0.0 else before


@bare
def after_step(codes, lane, room, upright):
    """Update the discrete states, if any, and write the values of the guard."""
    x, y, on = room.x, room.y, lane.on
    if codes[SWITCH] != 0:
        lane_call(codes[SWITCH], x, room.u, room.p, y)
        for e in range(x.shape[0]):
            x[e] = y[e] if on[e] > 0.0 else x[e]
    if codes[GUARD] != 0 and call_code(codes[GUARD], x, upright) != 0:
        raise ValueError('a vector kernel: expected vectors of its lengths')


@kernels_of(__file__, 'runs in lanes, for all machines')
def run_lanes(codes, single, lanes, plan, made, p, limit, first, last):
    """Integrate the runs from `first` to before `last`, `lanes` of them at a time.

    Args:
        codes: of the vector kernels, for this number of lanes.
        single: codes of the scalar kernels.
        lanes: number of lanes.
        plan: of the runs.
        made: results; `x`, `positive` and the first row of `trace` are given.
        p: (r, k) parameters.
        limit: value of the guard below which a run ends.
        first: index of the first run.
        last: index after the last run.
    """
    n, inputs, watches = made.x.shape[1], plan.start.shape[1], made.positive.shape[1]
    count = codes.shape[0] - PLACES if codes[STIFF] != 0 else 0
    size = n * lanes
    lane = Lane(
        np.full(lanes, FREE, np.int64),
        np.zeros(lanes, np.int64),
        np.zeros(lanes, np.int64),
        np.zeros(lanes),
        np.zeros(size),
        np.zeros(size),
        np.zeros(inputs * lanes),
        np.zeros(inputs * lanes),
        np.zeros(lanes),
        np.ones(lanes, np.bool_),
        np.zeros(lanes, np.bool_),
        np.zeros(lanes, np.bool_),
    )
    room = Room(
        np.empty(size),
        np.empty(p.shape[1] * lanes),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.zeros(inputs * lanes),
        np.zeros(6 * count * lanes),
        np.zeros((3 * count + 1) * lanes),
        np.zeros((inputs + count + 1) * lanes),
    )
    reach, missed, inside = np.empty(lanes), np.zeros(lanes, np.bool_), np.zeros(lanes, np.bool_)
    sound, crossed = np.ones(lanes, np.bool_), np.zeros(lanes, np.bool_)
    upright, values = np.ones(lanes), np.empty(2 * watches * lanes)
    run = first
    for k in range(lanes):  # all lanes have valid states, also those without a run
        for i in range(n):
            room.x[i * lanes + k] = made.x[min(first + k, last - 1), i]
        for i in range(p.shape[1]):
            room.p[i * lanes + k] = p[min(first + k, last - 1), i]
    while True:
        for k in range(lanes):
            if lane.run[k] == FREE:
                run = next_run(plan, made, p, lane, room, k, lanes, run, last)
        if filled_lanes(lane) == 0:
            return
        lane_step(codes, plan, lanes, lane, room, reach, missed, inside)
        take_step(lane, room)
        check_lanes(room.x, lanes, sound)
        if watches > 0 and watch_lanes(codes, lane, room, made, lanes, values, sound, crossed) > 0:
            for k in range(lanes):
                if crossed[k]:
                    locate(single, plan, made, p, lane, room, k, lanes, values)
        after_step(codes, lane, room, upright)
        for k in range(lanes):
            if lane.run[k] >= 0 and after_lane(plan, made, lane, room, k, lanes, sound[k], upright[k] < limit):
                lane.run[k] = FREE
