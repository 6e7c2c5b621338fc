"""The compiled constrained step and runs of it, for any system: its blocks come from a machine-code kernel by address.

A state is [q, v, z, work, heat]: positions, velocities, states of elements, the work of actuators and moving
constraints, and the heat of dampers and friction, J. The kernel `entry(x, p, out)` writes [dq/dt, M, h, J by rows,
gamma, sigma, residual, heat rate, supplied power, dz/dt] of a state to `out`; discrete states of elements have their
next value in place of a rate. One text serves every system, compiled once. An input acts on the velocity at its place;
one whose place is below zero, -1 - k, is parameter k of the kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.constraints._dense_loops import CONTRADICTORY as DISAGREE
from dyn_nodes.constraints._dense_loops import FLAGS, SINGULAR, accelerate
from dyn_nodes.loops import kernels_of

kernel = kernels_of(__file__, fastmath=FLAGS)
DONE, DIVERGED, RANK_CHANGED, SINGULAR_MOTION, CONTRADICTORY, LIFTED = 0, 1, 2, 3, 4, 5
STATUS = ('done', 'diverged', 'rank changed', 'motion without mass', 'contradictory constraints', 'contact opened')


@kernel
def evaluate(entry: Any, t: float, x: Any, u: Any, p: Any, out: Any, places: Any) -> None:
    """Write what the system's kernel gives at a time, a state and inputs to `out`."""
    p[0] = t
    for k in range(places.shape[0]):
        if places[k] < 0:
            p[-1 - places[k]] = u[k]
    refused = entry(x.ctypes, x.shape[0], p.ctypes, p.shape[0], out.ctypes, out.shape[0])
    if refused == 1:
        raise ValueError('constrained step: expected the states, parameters and outputs of this system')
    if refused:
        raise RuntimeError('constrained step: the kernel touched a guard zone')


@kernel
def switch(x: Any, discrete: Any, out: Any) -> None:
    """Replace the discrete states of the elements in x by their next values, as `evaluate` has written them."""
    first, last = x.shape[0] - 2 - discrete.shape[0], out.shape[0] - discrete.shape[0]
    for i in range(discrete.shape[0]):
        if discrete[i]:
            x[first + i] = out[last + i]


@kernel
def slope(
    entry: Any,
    t: float,
    x: Any,
    u: Any,
    p: Any,
    out: Any,
    places: Any,
    held: Any,
    discrete: Any,
    moving: bool,
    want: bool,
    how: Any,
    method: int,
    rate: Any,
    a: Any,
    multipliers: Any,
) -> int:
    """Write dx/dt, accelerations and, where wanted, multipliers at a state; return the rank or an error's number.

    `how` is [tolerance of the rank, zeta, omega]; `held` marks the holonomic rows; `discrete` marks those states of the
    elements that have no rate; `moving`: some sigma is not zero.
    """
    nv, m, own = a.shape[0], multipliers.shape[0], discrete.shape[0]
    nq = x.shape[0] - nv - own - 2
    evaluate(entry, t, x, u, p, out, places)
    at = nq
    M = out[at : at + nv * nv].reshape((nv, nv))
    at += nv * nv
    load = out[at : at + nv]
    at += nv
    J = out[at : at + m * nv].reshape((m, nv))
    at += m * nv
    gamma, sigma, residual = out[at : at + m], out[at + m : at + 2 * m], out[at + 2 * m : at + 3 * m]
    v = x[nq : nq + nv]
    power = 0.0
    for i in range(nv):
        load[i] = -load[i]
    for k in range(places.shape[0]):
        if places[k] >= 0:
            load[places[k]] += u[k]
            power += u[k] * v[places[k]]
    zeta, omega = how[1], how[2]
    if omega > 0.0:
        for i in range(m):
            slip = -sigma[i]
            for k in range(nv):
                slip += J[i, k] * v[k]
            gamma[i] -= 2.0 * zeta * omega * slip
            if held[i]:
                gamma[i] -= omega * omega * residual[i]
    rank = accelerate(M, load, J, gamma, method, how[0], want or moving, a, multipliers)
    if moving:
        for i in range(m):
            power += multipliers[i] * sigma[i]
    for i in range(nq):  # assigned slices would compile the text of an error about shapes
        rate[i] = out[i]
    for i in range(nv):
        rate[nq + i] = a[i]
    at += 3 * m
    for i in range(own):
        rate[nq + nv + i] = 0.0 if discrete[i] else out[at + 2 + i]
    rate[nq + nv + own] = power + out[at + 1]
    rate[nq + nv + own + 1] = out[at]
    return rank


@kernel
def segment_input(t: float, k: int, edges: Any, starts: Any, ends: Any, u: Any) -> None:
    """Write the inputs at time t within segment k of a piecewise-linear table."""
    s = (t - edges[k]) / (edges[k + 1] - edges[k])
    for i in range(u.shape[0]):
        u[i] = starts[k, i] + s * (ends[k, i] - starts[k, i])


@kernel
def failure(found: int, rank: int) -> Any:
    """Return the status of a result that is not the rank at the start, and the rank found."""
    if found == SINGULAR:
        return SINGULAR_MOTION, rank
    if found <= DISAGREE:
        found = DISAGREE - found
    return (CONTRADICTORY if found == rank else RANK_CHANGED), found


@kernel
def check_run(
    nq: int,
    nv: int,
    m: int,
    size: int,
    parameters: int,
    stops: Any,
    sample: Any,
    edges: Any,
    starts: Any,
    ends: Any,
    places: Any,
    held: Any,
    unilateral: Any,
    how: Any,
    trace: Any,
    accelerations: Any,
    forces: Any,
) -> None:
    """Demand arrays of `run` that fit each other: machine code looks at no index again. Raises ValueError."""
    if nq < 0 or size != nq + nv * nv + nv + m * nv + 3 * m + 2:
        raise ValueError('constrained run: states, accelerations and forces are not of one system')
    if stops.shape[0] < 1 or sample.shape[0] != stops.shape[0]:
        raise ValueError('stops: expected one at least, and a sample for each')
    segments = starts.shape[0]
    if segments < 1 or edges.shape[0] != segments + 1 or ends.shape[0] != segments or ends.shape[1] != starts.shape[1]:
        raise ValueError('inputs: expected a row of starts and of ends between every two edges')
    if places.shape[0] != starts.shape[1] or held.shape[0] != m or how.shape[0] != 3:
        raise ValueError('constrained run: expected a place an input, a mark a row, three settings')
    for k in range(places.shape[0]):
        if places[k] >= nv or -places[k] > parameters:
            raise ValueError('places: expected velocities or parameters of the system')
    for k in range(unilateral.shape[0]):
        if unilateral[k] < 0 or unilateral[k] >= m:
            raise ValueError('unilateral: expected rows of the system')
    rows = min(trace.shape[0], accelerations.shape[0], forces.shape[0])
    for k in range(sample.shape[0]):
        if sample[k] >= rows:
            raise ValueError('sample: expected rows of the traces')


@kernel
def run(
    entry: Any,
    x: Any,
    p: Any,
    stops: Any,
    sample: Any,
    step: float,
    edges: Any,
    starts: Any,
    ends: Any,
    places: Any,
    held: Any,
    discrete: Any,
    moving: bool,
    unilateral: Any,
    how: Any,
    method: int,
    rank: int,
    size: int,
    trace: Any,
    accelerations: Any,
    forces: Any,
) -> Any:
    """Advance x by classical Runge-Kutta steps through `stops` (rising times).

    Every stretch between two stops is cut into equal steps <= `step`. `sample[k]` is the row of the traces for stop k,
    or -1. The inputs are linear between `edges`, and those inside the run are stops, so that an input that jumps has
    its limit from inside the step in every stage. Returns (status, samples kept, time, row of an opened contact or
    rank found).
    """
    n, nv, m = x.shape[0], accelerations.shape[1], forces.shape[1]
    check_run(
        n - nv - 2,
        nv,
        m,
        size,
        p.shape[0],
        stops,
        sample,
        edges,
        starts,
        ends,
        places,
        held,
        unilateral,
        how,
        trace,
        accelerations,
        forces,
    )
    k = np.empty((4, n))
    y, a, multipliers = np.empty(n), np.empty(nv), np.zeros(m)
    u, out = np.empty(starts.shape[1]), np.empty(size)
    segment, kept, watch, switches = 0, 0, unilateral.shape[0] > 0, discrete.any()
    final = stops.shape[0] - 1
    for stop in range(final + 1):
        t0 = stops[stop]
        t1 = stops[min(stop + 1, final)]
        count = max(1, int(np.ceil((t1 - t0) / step - 1e-9)))
        h = (t1 - t0) / count
        while segment < starts.shape[0] - 1 and 0.5 * (t0 + t1) > edges[segment + 1]:
            segment += 1
        for index in range(count):
            t = t0 + index * h
            keep = index == 0 and sample[stop] >= 0
            for stage in range(4):
                share = 0.0 if stage == 0 else 1.0 if stage == 3 else 0.5
                for i in range(n):
                    y[i] = x[i] if stage == 0 else x[i] + share * h * k[stage - 1, i]
                segment_input(t + share * h, segment, edges, starts, ends, u)
                want = stage == 0 and (keep or watch)
                found = slope(
                    entry,
                    t + share * h,
                    y,
                    u,
                    p,
                    out,
                    places,
                    held,
                    discrete,
                    moving,
                    want,
                    how,
                    method,
                    k[stage],
                    a,
                    multipliers,
                )
                if found != rank:
                    status, found = failure(found, rank)
                    return status, kept, t, found
                if stage > 0:
                    continue
                if keep:
                    row = sample[stop]
                    for i in range(n):
                        trace[row, i] = x[i]
                    for i in range(a.shape[0]):
                        accelerations[row, i] = a[i]
                    for i in range(multipliers.shape[0]):
                        forces[row, i] = multipliers[i]
                    kept = row + 1
                for i in range(unilateral.shape[0]):
                    if multipliers[unilateral[i]] < 0.0:
                        return LIFTED, kept, t, unilateral[i]
                if stop == final:
                    return DONE, kept, t, rank
            sound = 0.0
            for i in range(n):
                x[i] += h / 6.0 * (k[0, i] + 2.0 * (k[1, i] + k[2, i]) + k[3, i])
                sound += x[i] * 0.0
            if sound != 0.0:
                return DIVERGED, kept, t, 0
            if switches:
                segment_input(t + h, segment, edges, starts, ends, u)
                evaluate(entry, t + h, x, u, p, out, places)
                switch(x, discrete, out)
    return DONE, kept, stops[final], rank
