"""Force-angle measure (Papadopoulos and Rey; abo-shanab-2003, eq. 2.6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.stability._states import UP, Array, Flags, Parts, States, as_result, kernel, least, pick
from dyn_nodes.stability.polygon import edge_direction, polygon_states


class ForceAngle(NamedTuple):
    """Result of :func:`force_angle`; with a leading dimension (t,) for a batch.

    Attributes:
        value: () least of `edges`, N m.
        edges: (n,) theta_i |d_i| |f_r| for each edge, N m; 0 at the verge, negative while tipping.
        valid: () a net force acts, the centre of mass is on no edge, all numbers are finite.
        angles: (n,) theta_i between the net force and the normal to the edge, rad, in (-pi, pi].
        distances: (n,) |d_i|, from the edge to the line of action of the net force, m.
    """

    value: Array
    edges: Array
    valid: Flags
    angles: Array
    distances: Array


def force_angle(
    feet: ArrayLike, com: ArrayLike, force: ArrayLike, moment: ArrayLike = (0.0, 0.0, 0.0), up: ArrayLike = UP
) -> ForceAngle:
    """Return the force-angle measure with its moment term.

    It depends on the height of the centre of mass. Near the verge the product falls with the square of the angle,
    because angle and distance vanish together.

    Args:
        feet: (n, 3) contact points in the order of the polygon, m; (t, n, 3) for a batch. For a wheel off the
            ground: the ground point below it.
        com: (3,) centre of mass, m, or (t, 3).
        force: (3,) f_r, net force at the centre of mass without ground reactions, N, or (t, 3).
        moment: (3,) n_r, net moment about the centre of mass without ground reactions, N m, or (t, 3).
        up: (3,) unit vector against gravity, used to check the order of the feet.

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
    """
    (feet_, com_, force_, moment_, _), single = polygon_states(feet, up, com=com, force=force, moment=moment)
    return as_result(ForceAngle, force_angle_kernel(feet_, com_, force_, moment_), single)


@kernel
def force_angle_kernel(feet, com, force, moment):
    """Return the measure of a batch: value (t,), edges (t, n), valid (t,), angles and distances (t, n)."""
    states = max(feet.shape[0], com.shape[0], force.shape[0], moment.shape[0])
    n = feet.shape[1]
    value, edges, valid = np.empty(states), np.empty((states, n)), np.empty(states, dtype=np.bool_)
    angles, distances = np.empty((states, n)), np.empty((states, n))
    for s in range(states):
        f, c = feet[pick(s, feet.shape[0])], com[pick(s, com.shape[0])]
        p, m = force[pick(s, force.shape[0])], moment[pick(s, moment.shape[0])]
        size = np.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
        for i in range(n):
            angles[s, i], distances[s, i] = _edge_angle(f, i, c, p, m)
            edges[s, i] = angles[s, i] * distances[s, i] * size
        value[s], valid[s] = least(edges[s])
    return value, edges, valid, angles, distances


@kernel
def _edge_angle(feet, i, com, force, moment):
    """Return theta_i and |d_i| of one edge; NaN if the force or the distance to the edge vanishes."""
    ax, ay, az = edge_direction(feet, i)
    # l: from the centre of mass to the edge, across it
    x, y, z = feet[i, 0] - com[0], feet[i, 1] - com[1], feet[i, 2] - com[2]
    along = x * ax + y * ay + z * az
    lx, ly, lz = x - along * ax, y - along * ay, z - along * az
    distance_squared = lx * lx + ly * ly + lz * lz
    along = force[0] * ax + force[1] * ay + force[2] * az
    turn = moment[0] * ax + moment[1] * ay + moment[2] * az
    if not distance_squared > 0.0:
        return np.nan, np.nan
    # f* = f across the edge + (l x n) / |l|^2, the couple about the edge as a force at the centre of mass
    fx = force[0] - along * ax + turn * (ly * az - lz * ay) / distance_squared
    fy = force[1] - along * ay + turn * (lz * ax - lx * az) / distance_squared
    fz = force[2] - along * az + turn * (lx * ay - ly * ax) / distance_squared
    size = np.sqrt(fx * fx + fy * fy + fz * fz)
    if not size > 0.0:
        return np.nan, np.nan
    # the source orders the edges clockwise and requires a negative triple product; here they are counter-clockwise
    sine = ax * (ly * fz - lz * fy) + ay * (lz * fx - lx * fz) + az * (lx * fy - ly * fx)
    cosine = lx * fx + ly * fy + lz * fz
    return np.arctan2(sine, cosine), abs(sine) / size


def force_angle_states(s: States) -> Parts:
    """Evaluate the measure `force_angle` for many states."""
    value, edges, valid, _, _ = force_angle_kernel(s.feet, s.com, s.force, s.moment)
    return value, edges, valid
