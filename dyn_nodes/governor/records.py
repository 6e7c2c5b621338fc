"""Records of a prediction of stops, and the layout of the vectors that the kernels of a machine take.

A record with a `vector` has views into it, one for each part, under the name of the part. The order of the parts is
defined only by the functions at the end, which create these records, the two layouts, and the indices below.

A compiled function that Python calls every period has a twin, `..._fields`, which takes the fields of its records: for
a record, Numba inspects the type of every field in Python, 6 us for a situation; separate fields take 1 us.

h is the number of variants of a stop, one for each delay (the shortest and the longest) and each extreme machine; n of
joints, m of actuators, w of supports (springs that support the machine), l of levers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dyn_nodes.common.arrays import Array, Flags, Indices
from dyn_nodes.governor._kernels import part

PAYLOAD, HEFT, AXES, ORIGIN, STEP, LEAST_PUSH, LEAST_COUNTED, IMPLICIT, SURROUNDINGS = 3, 4, 5, 14, 17, 18, 19, 20, 21
"""Indices of parts of the vector of `Surroundings`, and its length; the specific force is at 0."""


class StateLayout(NamedTuple):
    """Index of the first element of each part of the state of a stop; positions of the joints are at 0.

    Attributes:
        velocities: of the joints.
        drives: states of the drives.
        turn: speeds of the base: upwards, about heading and about left.
        lean: integral of `turn`.
        least, instants: least share of each spring or edge so far (`Support.edges`), and its time, s.
        time: s.
        size: length of the state.
    """

    velocities: int
    drives: int
    turn: int
    lean: int
    least: int
    instants: int
    time: int
    size: int


class SupportLayout(NamedTuple):
    """Index of the first element of each part of the vector of `Support`; `left` is at 0. `size` is the length."""

    back: int
    stiffness: int
    damping: int
    squeeze: int
    shares: int
    bounds: int
    mean_push: int
    offset: int
    edges: int
    rated: int
    allowance: int
    pivot_rows: int
    pivot_start: int
    sway: int
    slants: int
    size: int


class MachineCode(NamedTuple):
    """Addresses of machine code (`dyn_nodes.compile.code`) of the kernels of a machine (`StopModel`).

    Attributes:
        lanes: (k,) number of states that each vector kernel processes, fewest first.
        strides: (k,) addresses of `stride` for each of these numbers, in single precision.
        stride, standing, start, pivots: addresses of the kernels for one state; `pivots` is 0 without pivots.
    """

    lanes: Indices
    strides: Indices
    stride: int
    standing: int
    start: int
    pivots: int


class Surroundings(NamedTuple):
    """Ground and gravity in axes of the base link, and masses of the machine, for each variant.

    Attributes:
        vector: (h, 21).
        specific_force: (h, 3) m/s2, at rest.
        payload: (h, 1) kg.
        heft: (h, 1) mass of all links over their mass in the model.
        axes: (h, 3, 3) heading, left and normal of the ground, a row each.
        origin: (h, 3) of the base link, projected to the ground, m.
        step: (h, 1) of the prediction, s.
        least_push: (h, 1) least push of a spring, N: 0 for wheels that can leave the ground, -inf for springs that can
            pull.
        least_counted: (h, 1) least push of a spring that counts for a share, N: 0 or -inf.
        implicit: (h, 1) 1 if steps of the base on its springs are implicit, 0 if they are explicit.
    """

    vector: Array
    specific_force: Array
    payload: Array
    heft: Array
    axes: Array
    origin: Array
    step: Array
    least_push: Array
    least_counted: Array
    implicit: Array

    def copied(self) -> Surroundings:
        """Return a copy with another vector."""
        return surroundings(self.vector.copy())


class Support(NamedTuple):
    """Springs that support the machine, for each variant.

    A share is the push of the ground on a spring over the mean push. With the criterion of tipping it belongs to an
    edge of the support polygon: the moment of all pushes about the edge, over the moment of equal pushes.

    Attributes:
        vector: (h, w (w + 9 + 2 g) + 7 + g (4 + 2 g)).
        left, back: (h, w) positions in axes of the ground, m: to the left, and backwards.
        stiffness, damping, squeeze: (h, w) N/m, N s/m, and compression at the start, m.
        shares: (h, w, r) effect of a vertical load, N, of moments about heading and left, and of moments on the pivots,
            N m, on each share, N.
        bounds: (h, 4) for which loads are computed: least and greatest `heft`; least and greatest payload, kg.
        mean_push: (h, 1) mean force of the ground on a spring, N.
        offset: (h, w) reduction of each share by the error of the centre of mass, N.
        edges: (h, w, w) weights of the pushes in each share; the identity if each spring has its share.
        rated: (h, 1) payload times tipping load over rated load, with which the machine may not tip at rest, kg;
            negative: no limit.
        allowance: (h, 1) share added to the share with this payload, so that both limits have one reserve.
        pivot_rows: (h, w, g) rise of each spring by the turn of a pivot, m.
        pivot_start: (h, g) angles of the pivots at the start, rad.
        sway: (h, 3, g) displacement of the base ahead and to the left, m, and its turn about the normal, by the turn of
            a pivot: the wheels stay where they are.
        slants: (h, g, 2, g) parts of unit moments about heading and left on the links beyond a pivot (first index) that
            act on each pivot.
    """

    vector: Array
    left: Array
    back: Array
    stiffness: Array
    damping: Array
    squeeze: Array
    shares: Array
    bounds: Array
    mean_push: Array
    offset: Array
    edges: Array
    rated: Array
    allowance: Array
    pivot_rows: Array
    pivot_start: Array
    sway: Array
    slants: Array

    def copied(self) -> Support:
        """Return a copy with another vector."""
        return support(self.vector.copy(), self.pivot_start.shape[1])


class States(NamedTuple):
    """Initial states of stops, one for each variant.

    Attributes:
        vectors: (h, s).
        positions, velocities: (h, n) of the joints.
        drives: (h, d) states of the drives: spool and two pressures of each actuator, or two numbers of an effort.
        turn: (h, 3) speed of the base: upwards, about heading and about left.
        layout: of a vector.
    """

    vectors: Array
    positions: Array
    velocities: Array
    drives: Array
    turn: Array
    layout: StateLayout

    def copied(self) -> States:
        """Return a copy with other vectors."""
        return states(self.vectors.copy(), self.layout)


class Sent(NamedTuple):
    """Outputs that have not reached the drives yet.

    Attributes:
        queue: (t, m) the oldest first, one row per step, V or rad/s2.
        waits: (h,) rows of the delay of each variant, not descending.
    """

    queue: Array
    waits: Indices


class Times(NamedTuple):
    """Durations in steps of the prediction.

    Attributes:
        hold: of an output to a more stable posture.
        horizon: least predicted time, from neutral on.
        longest: greatest predicted time.
        calm: from neutral until steps are doubled.
        rocking: time for which a stop is followed after a joint was last fast.
        lasting: duration of an output before it is led to neutral.
    """

    hold: int
    horizon: int
    longest: int
    calm: int
    rocking: int
    lasting: int


class Levers(NamedTuple):
    """Mapping of outputs to joints.

    Attributes:
        order: (l,) actuators of the levers.
        joints: (m,) joints of the actuators.
        arms: (m,) effort of the joint per force of the actuator, m or 1.
        change: greatest change of an output in a step, V.
    """

    order: Indices
    joints: Indices
    arms: Array
    change: float


class Situation(NamedTuple):
    """Initial data of a prediction of stops.

    Attributes:
        code: of the machine.
        layout: of a state.
        states: (h, s) `States.vectors`.
        surroundings: (h, 21) `Surroundings.vector`.
        support: `Support.vector`.
        sent: queued outputs.
        times: durations.
        levers: of the machine.
    """

    code: MachineCode
    layout: StateLayout
    states: Array
    surroundings: Array
    support: Array
    sent: Sent
    times: Times
    levers: Levers


class Requests(NamedTuple):
    """Stops to predict, k of them.

    Attributes:
        volts: (k, l) outputs of the levers.
        toward: (k, l) outputs to which these move first.
        leads: (k,) fraction of the time `hold` for which they do.
        enough: (k,) share below which the prediction of a stop may end.
    """

    volts: Array
    toward: Array
    leads: Array
    enough: Array


class Results(NamedTuple):
    """Predicted stops, k of them.

    Attributes:
        least: (k,) least share of all springs or edges (`Support`).
        contact: (k,) index of that spring or edge.
        ahead: (k,) its time, s.
        standing: (k,) least share at rest in the end.
        pushes, rest: (k,) both without the limit of the rated load.
        followed: (k,) whether the stop was predicted to its end.
        off: (k,) last time at which a wheel was off the ground, s; inf if one is off in the end.
    """

    least: Array
    contact: Indices
    ahead: Array
    standing: Array
    pushes: Array
    rest: Array
    followed: Flags
    off: Array


class Valves(NamedTuple):
    """Response of spools to outputs: (m,) gain, limit, and the fraction of a difference that remains after a step."""

    gain: Array
    limit: Array
    left: Array


class Chambers(NamedTuple):
    """Chambers of actuators: (m,) two areas, m2 or m3/rad, least and greatest pressure, Pa."""

    first: Array
    second: Array
    least: Array
    greatest: Array


class Springs(NamedTuple):
    """Springs of the supports: (w,) N/m, N s/m, m."""

    stiffness: Array
    damping: Array
    free_length: Array


class Extremes(NamedTuple):
    """Masses of the machines whose stops are predicted, and the bounds of those whose loads are computed.

    Attributes:
        heft: (h,) mass of all links over their mass in the model.
        payload: (h,) kg.
        bounds: (h, 4) as in `Support`.
        center: error of the centre of mass of all links, m.
    """

    heft: Array
    payload: Array
    bounds: Array
    center: float


class Criterion(NamedTuple):
    """Requirements of a stop (`Support`).

    Attributes:
        corners: (k,) springs at the corners of the support polygon, counter-clockwise, if its edges have shares; empty
            with `lift_off`. On pivots each spring has its share in any case: without one of them the machine tips, or
            an axle turns to its stop.
        allowance: `Support.allowance`.
    """

    corners: Indices
    allowance: float


class Measured(NamedTuple):
    """Measured state of the machine at an instant, in axes of the base link.

    Attributes:
        q, v, a: (n,) of the joints.
        specific_force: (3,) at rest, m/s2.
        payload: kg.
        plane: (4,) of the ground: normal, and its height.
        turning: (3,) of the base, rad/s.
        shaking: (6,) angular acceleration of the base, and the specific force at its origin.
        attachments: (w, 3) of the springs, m.
    """

    q: Array
    v: Array
    a: Array
    specific_force: Array
    payload: float
    plane: Array
    turning: Array
    shaking: Array
    attachments: Array


Columns = TypeVar('Columns', Sent, Requests, Results)


def state_layout(joints: int, drives: int, supports: int) -> StateLayout:
    """Return the layout of the state of a stop; `drives` counts the states of all drives."""
    return StateLayout(*np.cumsum([joints, joints, drives, 3, 3, supports, supports, 1]).tolist())


def support_layout(supports: int, pivots: int = 0) -> SupportLayout:
    """Return the layout of the vector of `Support`."""
    w, g = supports, pivots
    sizes = [w, w, w, w, w, (3 + g) * w, 4, 1, w, w * w, 1, 1, w * g, g, 3 * g, 2 * g * g]
    return SupportLayout(*np.cumsum(sizes).tolist())


def surroundings(vector: Array) -> Surroundings:
    """Return the parts of vectors (h, 21)."""
    return Surroundings(
        vector,
        vector[:, :PAYLOAD],
        vector[:, PAYLOAD:HEFT],
        vector[:, HEFT:AXES],
        vector[:, AXES:ORIGIN].reshape(-1, 3, 3),
        vector[:, ORIGIN:STEP],
        vector[:, STEP:LEAST_PUSH],
        vector[:, LEAST_PUSH:LEAST_COUNTED],
        vector[:, LEAST_COUNTED:IMPLICIT],
        vector[:, IMPLICIT:],
    )


def support(vector: Array, pivots: int = 0) -> Support:
    """Return the parts of vectors of a machine with this number of pivots."""
    g, h = pivots, len(vector)
    b = 9 + 2 * g
    w = (math.isqrt(b * b + 4 * (vector.shape[1] - 7 - g * (4 + 2 * g))) - b) // 2
    at = support_layout(w, g)
    return Support(
        vector,
        vector[:, : at.back],
        vector[:, at.back : at.stiffness],
        vector[:, at.stiffness : at.damping],
        vector[:, at.damping : at.squeeze],
        vector[:, at.squeeze : at.shares],
        vector[:, at.shares : at.bounds].reshape(h, w, 3 + g),
        vector[:, at.bounds : at.mean_push],
        vector[:, at.mean_push : at.offset],
        vector[:, at.offset : at.edges],
        vector[:, at.edges : at.rated].reshape(h, w, w),
        vector[:, at.rated : at.allowance],
        vector[:, at.allowance : at.pivot_rows],
        vector[:, at.pivot_rows : at.pivot_start].reshape(h, w, g),
        vector[:, at.pivot_start : at.sway],
        vector[:, at.sway : at.slants].reshape(h, 3, g),
        vector[:, at.slants :].reshape(h, g, 2, g),
    )


def states(vectors: Array, at: StateLayout) -> States:
    """Return the parts of vectors (h, s)."""
    return States(
        vectors,
        vectors[:, : at.velocities],
        vectors[:, at.velocities : at.drives],
        vectors[:, at.drives : at.turn],
        vectors[:, at.turn : at.lean],
        at,
    )


def copied(record: Columns) -> Columns:
    """Return a copy of a record of arrays."""
    return type(record)(*(column.copy() for column in record))


def requests(count: int, levers: int) -> Requests:
    """Return empty requests for `count` stops: without an intermediate target, followed to their ends."""
    zeros = np.zeros((count, levers))
    return Requests(zeros, zeros.copy(), np.zeros(count), np.full(count, -np.inf))


def results(count: int) -> Results:
    """Return empty results for `count` stops; their least shares are NaN."""
    nothing = np.full(count, np.nan)
    return Results(
        nothing,
        np.zeros(count, np.int64),
        nothing.copy(),
        nothing.copy(),
        nothing.copy(),
        nothing.copy(),
        np.zeros(count, np.bool_),
        nothing.copy(),
    )


def fields_of(situation: Situation) -> tuple[Any, ...]:
    """Return the fields (29,) of a situation in the order of `situation_of`."""
    code, layout, states, surroundings, support, sent, times, levers = situation
    return *code, *layout, states, surroundings, support, *sent, *times, *levers


@part
def situation_of(fields: Any) -> Situation:
    """Return the situation with these fields."""
    return Situation(
        MachineCode(*fields[:6]),
        StateLayout(*fields[6:14]),
        fields[14],
        fields[15],
        fields[16],
        Sent(*fields[17:19]),
        Times(*fields[19:25]),
        Levers(*fields[25:29]),
    )
