"""Zero moment point and its stability degree (Sugano; abo-shanab-2003, eqs 2.4 and 2.5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.stability._states import UP, Array, Flags, Parts, States, as_result, kernel, least, pick
from dyn_nodes.stability.polygon import (
    edge_inward,
    inradius,
    plane_normal,
    polygon_fault_kernel,
    polygon_states,
)


class ZmpDegree(NamedTuple):
    """Result of :func:`zmp_degree`; with a leading dimension (t,) for a batch.

    Attributes:
        value: () stability degree alpha = d / r_o, at most 1, 0 on an edge, negative outside; -inf if the load does not
            press the machine on the ground.
        edges: (n,) signed distance of the zero moment point to each edge divided by r_o.
        valid: () the load presses the machine on the ground and all numbers are finite.
        point: (3,) zero moment point, m; NaN if not valid.
        inradius: () r_o, radius of the largest circle in the polygon, m.
    """

    value: Array
    edges: Array
    valid: Flags
    point: Array
    inradius: Array


def zmp_degree(
    feet: ArrayLike, com: ArrayLike, force: ArrayLike, moment: ArrayLike = (0.0, 0.0, 0.0), up: ArrayLike = UP
) -> ZmpDegree:
    """Return the zero moment point on the plane through the feet, and its stability degree.

    About this point the net load has no moment along the plane. For the loads of a whole machine in contact it is the
    centre of pressure and cannot leave the polygon: while the machine rocks about an edge the degree is zero. For loads
    with the base assumed at rest it can leave the polygon; the degree is then negative.

    Args:
        feet: (n, 3) contact points in the order of the polygon, m; (t, n, 3) for a batch. For a wheel off the
            ground: the ground point below it. If the feet are not in one plane: the mean plane (Newell).
        com: (3,) point at which `force` acts, m, or (t, 3).
        force: (3,) net force without the ground's: gravity, inertia, external, N, or (t, 3).
        moment: (3,) net moment about `com` without the ground's, N m, or (t, 3).
        up: (3,) unit vector against gravity, used to check the order of the feet.

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
    """
    (feet_, com_, force_, moment_, _), single = polygon_states(feet, up, com=com, force=force, moment=moment)
    return as_result(ZmpDegree, zmp_kernel(feet_, com_, force_, moment_), single)


@kernel
def degree_kernel(feet, force, moment, up):
    """Return the stability degree of one state: feet (n, 3), a load about the origin; -inf without a polygon."""
    if polygon_fault_kernel(feet.reshape(1, -1, 3), up.reshape(1, 3))[2]:
        return -np.inf
    origin = np.zeros((1, 3))
    return zmp_kernel(feet.reshape(1, -1, 3), origin, force.reshape(1, 3), moment.reshape(1, 3))[0][0]


@kernel
def zmp_kernel(feet, com, force, moment):
    """Return the ZMP of a batch: value (t,), edges (t, n), valid (t,), point (t, 3), inradius (t,)."""
    states = max(feet.shape[0], com.shape[0], force.shape[0], moment.shape[0])
    n = feet.shape[1]
    value, edges, valid = np.empty(states), np.empty((states, n)), np.empty(states, dtype=np.bool_)
    point, radius = np.empty((states, 3)), np.empty(states)
    normal, origin = np.empty(3), np.empty(3)
    for s in range(states):
        f, c = feet[pick(s, feet.shape[0])], com[pick(s, com.shape[0])]
        p, m = force[pick(s, force.shape[0])], moment[pick(s, moment.shape[0])]
        if s == 0 or feet.shape[0] > 1:
            plane_normal(f, normal)
            for k in range(3):
                origin[k] = f[:, k].sum() / n
            radius[s] = inradius(f, normal)
        else:
            radius[s] = radius[0]
        normal_force = -(normal[0] * p[0] + normal[1] * p[1] + normal[2] * p[2])
        if not normal_force > 0.0:
            value[s], valid[s] = -np.inf if normal_force <= 0.0 else np.nan, False
            edges[s, :] = value[s]
            point[s, :] = np.nan
            continue
        x, y, z = c[0] - origin[0], c[1] - origin[1], c[2] - origin[2]
        mx = m[0] + y * p[2] - z * p[1]
        my = m[1] + z * p[0] - x * p[2]
        mz = m[2] + x * p[1] - y * p[0]
        # r x F equals the moment along the plane: r = normal x M / (normal . F)
        point[s, 0] = origin[0] - (normal[1] * mz - normal[2] * my) / normal_force
        point[s, 1] = origin[1] - (normal[2] * mx - normal[0] * mz) / normal_force
        point[s, 2] = origin[2] - (normal[0] * my - normal[1] * mx) / normal_force
        for i in range(n):
            ix, iy, iz = edge_inward(f, i, normal)
            distance = ix * (point[s, 0] - f[i, 0]) + iy * (point[s, 1] - f[i, 1]) + iz * (point[s, 2] - f[i, 2])
            edges[s, i] = distance / radius[s]
        value[s], valid[s] = least(edges[s])
    return value, edges, valid, point, radius


def zmp_states(s: States) -> Parts:
    """Evaluate the measure `zmp` for many states."""
    value, edges, valid, _, _ = zmp_kernel(s.feet, s.com, s.force, s.moment)
    return value, edges, valid
