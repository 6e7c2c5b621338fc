"""Net moments about the edges of the support polygon.

The stabilizing moment of all loads on the machine (gravity, inertia, external forces) about each edge. It is positive
while the machine is stable, and zero exactly when the ground reacts on that edge alone: a machine starts to tip over an
edge when the moment about it passes through zero (abo-shanab-2003, section 4.1.2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.stability._states import UP, Array, Flags, Parts, States, as_result, kernel, least, pick
from dyn_nodes.stability.polygon import edge_moment, polygon_states


class NetMoment(NamedTuple):
    """Result of :func:`net_moment`; with a leading dimension (t,) for a batch.

    Attributes:
        value: () least of `edges`, N m.
        edges: (n,) stabilizing moment about each edge, N m.
        valid: () all numbers finite.
    """

    value: Array
    edges: Array
    valid: Flags


class PlanarEdgeMoments(NamedTuple):
    """M_f and M_r of abo-shanab-2003, (4.6) and (4.7), N m; the machine is stable while front > 0 and rear < 0."""

    front: Array
    rear: Array


def net_moment(
    feet: ArrayLike, com: ArrayLike, force: ArrayLike, moment: ArrayLike = (0.0, 0.0, 0.0), up: ArrayLike = UP
) -> NetMoment:
    """Return the stabilizing moment of the net load about each edge: minus its moment (spec 2.17, in space).

    If the load includes the inertia of the whole machine (base included), the value stays at zero while the machine
    rocks about an edge. If it includes the inertia of the arm alone, with the base at rest, the value becomes negative,
    which is the source's test for the onset.

    Args:
        feet: (n, 3) contact points in the order of the polygon, m; (t, n, 3) for a batch. For a wheel off the
            ground: the ground point below it.
        com: (3,) point at which `force` acts, m, or (t, 3).
        force: (3,) net force without the ground's, N, or (t, 3).
        moment: (3,) net moment about `com` without the ground's, N m, or (t, 3).
        up: (3,) unit vector against gravity, used to check the order of the feet.

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
    """
    (feet_, com_, force_, moment_, _), single = polygon_states(feet, up, com=com, force=force, moment=moment)
    return as_result(NetMoment, net_moment_kernel(feet_, com_, force_, moment_), single)


@kernel
def net_moment_kernel(feet, com, force, moment):
    """Return the net moments of a batch: value (t,), edges (t, n), valid (t,). Leading dimensions 1 or t."""
    states = max(feet.shape[0], com.shape[0], force.shape[0], moment.shape[0])
    n = feet.shape[1]
    value, edges, valid = np.empty(states), np.empty((states, n)), np.empty(states, dtype=np.bool_)
    for s in range(states):
        f, c = feet[pick(s, feet.shape[0])], com[pick(s, com.shape[0])]
        p, m = force[pick(s, force.shape[0])], moment[pick(s, moment.shape[0])]
        for i in range(n):
            edges[s, i] = -edge_moment(f, i, c, p, m)
        value[s], valid[s] = least(edges[s])
    return value, edges, valid


def planar_edge_moments(
    force_forward: ArrayLike,
    force_up: ArrayLike,
    torque: ArrayLike,
    *,
    base_weight: float,
    base_com: tuple[float, float],
    front_arm: float,
    rear_arm: float,
    pivot_height: float,
    slope: float = 0.0,
) -> PlanarEdgeMoments:
    """Return the moments about the front and rear edge of a planar base that carries a manipulator (4.6), (4.7).

    Args:
        force_forward: F_x, force of the manipulator on the base at the pivot P along the ground line, N; any shape.
        force_up: F_y, the same along the normal of the ground, N.
        torque: tau, couple of the manipulator on the base, nose-up positive, N m.
        base_weight: m g of the base, N.
        base_com: (x, y) of the base's centre of mass relative to P, m (x_cg, and y_cg = h_cg - pivot_height).
        front_arm: a_f, distance of the front edge ahead of P, m, positive.
        rear_arm: a_r, distance of the rear edge behind P, m, positive.
        pivot_height: d_3, height of P above the line of the edges, m.
        slope: gamma, rad, positive with the front downhill.

    Returns:
        M_f and M_r; M_f - M_r = (a_f + a_r) (w cos(slope) - F_y).
    """
    forward, normal, couple = (np.asarray(part, dtype=np.float64) for part in (force_forward, force_up, torque))
    com_height = pivot_height + base_com[1]
    cosine, sine = np.cos(slope), np.sin(slope)
    common = couple - forward * pivot_height - base_weight * com_height * sine
    front = common + base_weight * (front_arm - base_com[0]) * cosine - normal * front_arm
    rear = common - base_weight * (rear_arm + base_com[0]) * cosine + normal * rear_arm
    return PlanarEdgeMoments(front, rear)


def net_moment_states(s: States) -> Parts:
    """Evaluate the measure `net_moment` for many states."""
    value, edges, valid = net_moment_kernel(s.feet, s.com, s.force, s.moment)
    return value, edges, valid
