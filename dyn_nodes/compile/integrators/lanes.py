"""Many runs at once by fixed steps, one in each lane of a vector.

The steps, the implicit formula for stiff states and the choice between the two are those of `fixed_step` and `stiff`,
lane by lane: a run has the steps that it has alone, and nothing of its numbers depends on the runs in other lanes. Its
kernels are vector kernels, so functions such as the sine differ in their last digit. A lane whose run has ended takes
the next one. Vectors of a kernel have element i of lane k at i * lanes + k.

An event is located by the scalar kernels, within the one run that has it.
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
"""Status of a run that is being made; in place of a lane's run: it may take one, there is none left."""


class Plan(NamedTuple):
    """Segments of runs: between two of them a sample is kept, or the inputs bend or jump.

    Attributes:
        first, last: (r,) first segment of each run, and the one behind its last; runs may share theirs.
        base, offset: (s,) time s from which steps are counted, and the number of the first step since then.
        step: (s,) s.  steps: (s,) number of them.
        row: (s,) row of the trace that gets the state at the end; -1: none.
        fresh: (s,) whether nothing is known of the stiff states at the start.
        since, until: (s,) s.
        start, end: (s, m) inputs at both ends, from inside; in between they are linear.
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
    """What comes of runs, filled in place.

    Attributes:
        x: (r, n) states at the start, then at the end.
        trace: (r, t, n); the first row is there.
        kept: (r,) rows of the trace.
        status: (r,) as of `integrators`.
        time: (r,) s at the end.
        positive: (r, w) signs of what is watched, at the start, then at the end.
        found: (r, e, 4) events.  events: (r,) their number.
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
    """What the lanes are at.

    Attributes:
        run: (lanes,) number of the run; FREE, EMPTY.  segment, step: (lanes,) where it is.
        h: (lanes,) s.  long: (n * lanes,) h of each element.  on: (n * lanes,) 1.0 where the lane has a run.
        start, change: (m * lanes,) inputs at the start of the segment, and their change over it.
        bound: (lanes,) greatest rate of a stiff state, 1/s.  known: (lanes,) whether it is.
        implicit: (lanes,) whether stiff states are solved for.  again: (lanes,) whether the step is repeated with that.
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
    known: Any
    implicit: Any
    again: Any


class Room(NamedTuple):
    """Vectors (n * lanes,) and smaller ones; `own`, `found` and `given` are those of `stiff.step`."""

    x: Any
    p: Any
    y: Any
    k: Any
    first: Any
    twice: Any
    out: Any
    other: Any
    u: Any
    own: Any
    found: Any
    given: Any


@bare
def lane_call(code, x, u, p, out):
    """Run a vector kernel of state, inputs and parameters."""
    if call_code(code, x, u, p, out) != 0:
        raise ValueError('a vector kernel: expected vectors of its lengths')


@bare
def begin_segment(plan, lane, k, lanes):
    """Give a lane the step and the inputs of its segment."""
    s = lane.segment[k]
    lane.step[k] = 0
    lane.h[k] = plan.step[s]
    if plan.fresh[s]:
        lane.known[k] = False
    for i in range(lane.long.shape[0] // lanes):
        lane.long[i * lanes + k] = plan.step[s]
    for i in range(plan.start.shape[1]):
        lane.start[i * lanes + k] = plan.start[s, i]
        lane.change[i * lanes + k] = plan.end[s, i] - plan.start[s, i]


@bare
def next_run(plan, made, p, lane, room, k, lanes, run, last):
    """Give a lane the next run that has a segment; return the number of the one after it."""
    n = made.x.shape[1]
    while run < last and plan.first[run] == plan.last[run]:
        run += 1
    for i in range(n):
        lane.on[i * lanes + k] = 1.0 if run < last else 0.0
    if run >= last:
        lane.run[k], lane.h[k], lane.known[k], lane.bound[k] = EMPTY, 0.0, True, 0.0
        for i in range(n):
            lane.long[i * lanes + k] = 0.0
        return run
    lane.run[k], lane.segment[k], lane.known[k] = run, plan.first[run], False
    made.status[run] = RUNNING
    for i in range(n):
        room.x[i * lanes + k] = made.x[run, i]
    for i in range(p.shape[1]):
        room.p[i * lanes + k] = p[run, i]
    begin_segment(plan, lane, k, lanes)
    return run + 1


@bare
def lane_inputs(plan, lane, share, lanes, u):
    """Write the inputs after a share of the step."""
    for k in range(lanes):
        if lane.run[k] >= 0:
            along = (lane.step[k] + share) / plan.steps[lane.segment[k]]
            for i in range(k, u.shape[0], lanes):
                u[i] = lane.start[i] + along * lane.change[i]


@bare
def stiff_call(codes, lanes, room, y, reach):
    """Run the vector kernel of the stiff states in y, with the bases in `room.given` and the reaches."""
    given, first = room.given, room.given.shape[0] - lanes
    for i in range(room.u.shape[0]):
        given[i] = room.u[i]
    for k in range(lanes):
        given[first + k] = reach[k]
    lane_call(codes[STIFF], y, given, room.p, room.found)


@bare
def bound_call(codes, lanes, room, y, reach):
    """Run the same for a bound on the rates of the stiff states in y: as `stiff.greatest_rate`, in all lanes."""
    places, first = codes[PLACES:], room.u.shape[0]
    for j in range(places.shape[0]):
        for k in range(lanes):
            room.given[first + j * lanes + k] = y[places[j] * lanes + k]
    for k in range(lanes):
        reach[k] = 1.0
    stiff_call(codes, lanes, room, y, reach)


@bare
def solve_lanes(codes, stage, lanes, lane, room, reach, missed, inside):
    """Do what `stiff.solve_stage` does, in the lanes that solve for their stiff states."""
    places = codes[PLACES:]
    count, y, given, own, found = places.shape[0], room.y, room.given, room.own, room.found
    first, size = room.u.shape[0], places.shape[0] * lanes
    for k in range(lanes):
        reach[k] = lane.h[k] * IMPLICIT[stage, stage]
        missed[k] = lane.implicit[k]
    for j in range(count):
        for k in range(lanes):
            total = 0.0
            for before in range(stage):
                total += IMPLICIT[stage, before] * own[before * size + j * lanes + k]
            given[first + j * lanes + k] = room.x[places[j] * lanes + k] + lane.h[k] * total
    most = 1
    while True:
        for k in range(lanes):
            inside[k] = missed[k]
        for correction in range(most):
            if correction % FORGOTTEN == 0:
                for e in range(size):
                    own[3 * size + e], own[4 * size + e] = -np.inf, np.inf
            stiff_call(codes, lanes, room, y, reach)
            left = False
            for k in range(lanes):
                if inside[k]:
                    inside[k] = not correct_lane(places, lanes, k, found, y, own)
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
                    off = y[places[j] * lanes + k] - given[first + e] - reach[k] * room.k[places[j] * lanes + k]
                    met = met and abs(off) <= MET * found[2 * size + e]
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
                    own[stage * size + e] = (y[places[j] * lanes + k] - given[first + e]) / reach[k]


@bare
def correct_lane(places, lanes, k, found, y, own):
    """Do what `stiff.correct` does, in one lane."""
    count, small = places.shape[0], True
    size = count * lanes
    for j in range(count):
        e, place = j * lanes + k, places[j] * lanes + k
        if found[size + e] < 0.0:
            own[3 * size + e] = y[place]
        else:
            own[4 * size + e] = y[place]
        lower, upper = own[3 * size + e], own[4 * size + e]
        to, width = y[place] + found[e], upper - lower
        if width < np.inf and not (lower + NEAR_END * width < to < upper - NEAR_END * width):
            to = lower + 0.5 * width
        y[place] = to
        small = small and abs(found[e]) <= CLOSE * found[2 * size + e]
    return small


@bare
def lane_stages(codes, plan, lanes, lane, room, begin, out, reach, missed, inside):
    """Go through the stages of a step from `begin` on; write its end to out, and the state of the last stage to y."""
    places = codes[PLACES:]
    count, size = places.shape[0], places.shape[0] * lanes
    x, y, k, own, long = room.x, room.y, room.k, room.own, lane.long
    kept, damped = own[5 * size :], is_damped(codes)
    solving = False
    for lane_number in range(lanes):
        solving = solving or lane.implicit[lane_number]
    for stage in range(begin, 4):
        lane_inputs(plan, lane, 1.0 if stage == 3 else 0.0 if stage == 0 else 0.5, lanes, room.u)
        part = 0.5 if stage < 3 or damped else 1.0
        if stage == 0:
            for e in range(x.shape[0]):
                y[e] = x[e]
        else:
            for j in range(count):
                for e in range(j * lanes, (j + 1) * lanes):
                    at = places[j] * lanes + e - j * lanes
                    kept[e] = x[at] if stage == 1 else y[at]
            rate = room.first if stage == 1 else k
            if stage == 3 and damped:
                rate = room.twice
            for e in range(x.shape[0]):
                y[e] = x[e] + part * long[e] * rate[e]
            if solving:
                for j in range(count):
                    for own_lane in range(lanes):
                        if lane.implicit[own_lane]:
                            y[places[j] * lanes + own_lane] = kept[j * lanes + own_lane]
        if stage > 0 and solving:
            solve_lanes(codes, stage, lanes, lane, room, reach, missed, inside)
        else:
            lane_call(codes[RHS], y, room.u, room.p, k)
        if stage < 3:
            for j in range(count):
                for own_lane in range(lanes):
                    if stage == 0 or not lane.implicit[own_lane]:
                        own[stage * size + j * lanes + own_lane] = k[places[j] * lanes + own_lane]
        if stage == 0:
            for e in range(x.shape[0]):
                room.first[e] = k[e]
            choose(codes, lanes, lane, room, reach)
            for own_lane in range(lanes):
                solving = solving or lane.implicit[own_lane]
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
        for own_lane in range(lanes):
            if lane.implicit[own_lane]:
                out[places[j] * lanes + own_lane] = y[places[j] * lanes + own_lane]


@bare
def choose(codes, lanes, lane, room, reach):
    """Choose the lanes that solve for their stiff states, by the rates of these at the beginning of the step."""
    count = codes.shape[0] - PLACES
    if count == 0 or codes[STIFF] == 0:
        return
    every = True
    for k in range(lanes):
        every = every and lane.known[k]
    if not every:
        bound_call(codes, lanes, room, room.x, reach)
        for k in range(lanes):
            if not lane.known[k]:
                lane.bound[k], lane.known[k] = room.found[3 * count * lanes + k], True
    for k in range(lanes):
        lane.implicit[k] = not lane.bound[k] * lane.h[k] <= MILD


@bare
def lane_step(codes, plan, lanes, lane, room, reach, missed, inside):
    """Write the states after one step of every lane to `room.out`; `room.u` has the inputs at its end then."""
    places = codes[PLACES:]
    bound = places.shape[0] * lanes * 3
    for k in range(lanes):
        lane.implicit[k] = False
    begin, end = np.int64(0), room.out
    while True:  # one call of each: it is large, and every call may be inlined
        lane_stages(codes, plan, lanes, lane, room, begin, end, reach, missed, inside)
        if bound == 0 or codes[STIFF] == 0:
            return
        bound_call(codes, lanes, room, room.y, reach)
        if begin > 0:
            break
        repeat = False
        for k in range(lanes):
            lane.bound[k] = room.found[bound + k]
            lane.again[k] = not lane.implicit[k] and not (
                lane.bound[k] * lane.h[k] <= MILD and lane_is_smooth(places, lanes, k, lane.h[k], room)
            )
            repeat = repeat or lane.again[k]
        if not repeat:
            return
        for k in range(lanes):
            lane.implicit[k] = lane.again[k]
        begin, end = np.int64(1), room.other
    for k in range(lanes):
        if lane.again[k]:
            lane.bound[k] = room.found[bound + k]
            for i in range(k, room.out.shape[0], lanes):
                room.out[i] = room.other[i]


@bare
def lane_is_smooth(places, lanes, k, h, room):
    """Do what `stiff.is_smooth` does, in one lane."""
    count = places.shape[0]
    size, own = count * lanes, room.own
    for j in range(count):
        e = j * lanes + k
        first, second, third, last = own[e], own[size + e], own[2 * size + e], room.k[places[j] * lanes + k]
        change, most = max(abs(second - first), abs(last - first)), max(abs(first), abs(last))
        difference = abs(third - second)
        if difference > 0.5 * MILD * change + 0.2 * most and h * difference > MET * room.found[2 * size + e]:
            return False
    return True


@bare
def check_lanes(x, lanes, sound):
    """Return of every lane whether all its states are finite numbers of sensible size."""
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
    """Find what a lane has passed in its last step, with the scalar kernels; `room.other` has the states before it."""
    run, s, n = lane.run[k], lane.segment[k], made.x.shape[1]
    start = plan.base[s] + (plan.offset[s] + lane.step[k]) * plan.step[s]
    before, own = np.empty(n), np.empty(values.shape[0] // lanes)
    for i in range(n):
        before[i] = room.other[i * lanes + k]
    for i in range(own.shape[0]):
        own[i] = values[i * lanes + k]
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
        own,
        made.positive[run],
        made.found[run],
        made.events[run],
    )
    lane.known[k] = False  # as there: what was known of the stiff states belongs to the search


@bare
def passed(lane, made, k, lanes, values):
    """Return whether a lane has passed something in its last step."""
    run = lane.run[k]
    for j in range(made.positive.shape[1]):
        if (values[j * lanes + k] > 0.0) != made.positive[run, j]:
            return True
    return False


@bare
def watch_lanes(codes, lane, room, made, lanes, values, sound, crossed):
    """Find the lanes that have passed something in their last step; return their number."""
    lane_call(codes[WATCH], room.x, room.u, room.p, values)
    count = 0
    for k in range(lanes):
        crossed[k] = lane.run[k] >= 0 and sound[k] and passed(lane, made, k, lanes, values)
        count += crossed[k]
    return count


@bare
def after_lane(plan, made, lane, room, k, lanes, sound, tilted):
    """Keep the state of a lane where its plan says so; return whether its run has ended."""
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
            begin_segment(plan, lane, k, lanes)
        return False
    made.status[run] = 1 if not sound else 2 if tilted else 0
    made.time[run] = plan.base[s] + (plan.offset[s] + lane.step[k]) * plan.step[s]
    for i in range(n):
        made.x[run, i] = room.x[i * lanes + k]
    return True


@bare
def filled_lanes(lane):
    """Return how many lanes have a run."""
    filled = 0
    for k in range(lane.run.shape[0]):
        filled += lane.run[k] >= 0
    return filled


@bare
def take_step(lane, room):
    """Take the end of the step in the lanes that have a run; keep the states before it in `room.other`."""
    x, other, out, on = room.x, room.other, room.out, lane.on
    for e in range(x.shape[0]):
        before = x[e]
        other[e] = before
        x[e] = out[e] if on[e] > 0.0 else before


@bare
def after_step(codes, lane, room, upright):
    """Replace the discrete states, where there are some, and write the values of the guard."""
    x, y, on = room.x, room.y, lane.on
    if codes[SWITCH] != 0:
        lane_call(codes[SWITCH], x, room.u, room.p, y)
        for e in range(x.shape[0]):
            x[e] = y[e] if on[e] > 0.0 else x[e]
    if codes[GUARD] != 0 and call_code(codes[GUARD], x, upright) != 0:
        raise ValueError('a vector kernel: expected vectors of its lengths')


@kernels_of(__file__, 'runs in lanes, for all machines')
def run_lanes(codes, single, lanes, plan, made, p, limit, first, last):
    """Make the runs from `first` on before `last`, `lanes` of them at a time.

    Args:
        codes: of the vector kernels, for that many lanes.
        single: of the scalar kernels.
        lanes: number of them.
        plan: of the runs.
        made: what comes of them; `x`, `positive` and the first row of `trace` are there.
        p: (r, k) parameters.
        limit: below which the guard ends a run.
        first: number of a run.
        last: number behind that of the last one.
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
    for k in range(lanes):  # all lanes have states that make sense, also those without a run
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
