"""Static margins: distances of the projected centre of mass to the edges of the support polygon.

abo-shanab-2003, section 2.2: the static stability margin (McGhee and Frank) and the longitudinal stability margin.
Both depend on geometry alone, not on speed, acceleration or external load.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.stability._states import UP, Array, Flags, Parts, States, as_result, kernel, least, pick
from dyn_nodes.stability.polygon import edge_inward, polygon_states


class StaticMargin(NamedTuple):
    """Result of :func:`static_margin`; with a leading dimension (t,) for a batch.

    Attributes:
        value: () least of `edges`, m.
        edges: (n,) signed distance of the projected centre of mass to the line of each edge, m, inside positive.
            Beyond a corner the distance to the corner is larger than the distance to the line.
        valid: () all numbers finite.
    """

    value: Array
    edges: Array
    valid: Flags


class LongitudinalMargin(NamedTuple):
    """Result of :func:`longitudinal_margin`; with a leading dimension (t,) for a batch.

    Attributes:
        value: () the smaller of `front` and `rear`, m; -inf if the line misses the polygon.
        front, rear: () distance from the projected centre of mass to the boundary, forward and backward along the
            direction of travel, m; negative beyond the boundary.
        valid: () the line through the projected centre of mass along the direction of travel meets the polygon.
    """

    value: Array
    front: Array
    rear: Array
    valid: Flags


def static_margin(feet: ArrayLike, com: ArrayLike, up: ArrayLike = UP) -> StaticMargin:
    """Return the static stability margin (SSM), by the vertical projection.

    Args:
        feet: (n, 3) contact points in the order of the polygon, m; (t, n, 3) for a batch.
        com: (3,) centre of mass of the whole machine, m, or (t, 3).
        up: (3,) unit vector against gravity, or (t, 3).

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
    """
    (feet_, com_, up_), single = polygon_states(feet, up, com=com)
    return as_result(StaticMargin, static_margin_kernel(feet_, com_, up_), single)


@kernel
def static_margin_kernel(feet, com, up):
    """Return the SSM of a batch: value (t,), edges (t, n), valid (t,). Leading dimensions 1 or t."""
    states = max(feet.shape[0], com.shape[0], up.shape[0])
    n = feet.shape[1]
    value, edges, valid = np.empty(states), np.empty((states, n)), np.empty(states, dtype=np.bool_)
    for s in range(states):
        f, c, u = feet[pick(s, feet.shape[0])], com[pick(s, com.shape[0])], up[pick(s, up.shape[0])]
        for i in range(n):
            x, y, z = edge_inward(f, i, u)
            edges[s, i] = x * (c[0] - f[i, 0]) + y * (c[1] - f[i, 1]) + z * (c[2] - f[i, 2])
        value[s], valid[s] = least(edges[s])
    return value, edges, valid


def longitudinal_margin(
    feet: ArrayLike, com: ArrayLike, travel: ArrayLike = (1.0, 0.0, 0.0), up: ArrayLike = UP
) -> LongitudinalMargin:
    """Return the longitudinal stability margin (LSM): the static margin along the direction of travel.

    Args:
        feet: (n, 3) contact points in the order of the polygon, m; (t, n, 3) for a batch.
        com: (3,) centre of mass of the whole machine, m, or (t, 3).
        travel: (3,) direction of travel, or (t, 3); its vertical part is dropped.
        up: (3,) unit vector against gravity, or (t, 3).

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
    """
    (feet_, com_, travel_, up_), single = polygon_states(feet, up, com=com, travel=travel)
    return as_result(LongitudinalMargin, longitudinal_margin_kernel(feet_, com_, travel_, up_), single)


@kernel
def longitudinal_margin_kernel(feet, com, travel, up):
    """Return the LSM of a batch: value, front, rear, valid, each (t,). Leading dimensions 1 or t."""
    states = max(feet.shape[0], com.shape[0], travel.shape[0], up.shape[0])
    n = feet.shape[1]
    value, valid = np.empty(states), np.empty(states, dtype=np.bool_)
    front, rear = np.full(states, np.inf), np.full(states, np.inf)
    for s in range(states):
        f, c, u = feet[pick(s, feet.shape[0])], com[pick(s, com.shape[0])], up[pick(s, up.shape[0])]
        d = travel[pick(s, travel.shape[0])]
        along = d[0] * u[0] + d[1] * u[1] + d[2] * u[2]
        dx, dy, dz = d[0] - along * u[0], d[1] - along * u[1], d[2] - along * u[2]
        length = np.sqrt(dx * dx + dy * dy + dz * dz)
        missed = not length > 0.0
        for i in range(n):
            x, y, z = edge_inward(f, i, u)
            distance = x * (c[0] - f[i, 0]) + y * (c[1] - f[i, 1]) + z * (c[2] - f[i, 2])
            slope = (x * dx + y * dy + z * dz) / length if length > 0.0 else np.nan
            if np.isnan(distance) or np.isnan(slope):
                missed = True
            elif abs(slope) < 1e-12:  # the edge runs along the direction of travel
                missed = missed or distance < 0.0
            elif slope < 0.0:
                front[s] = min(front[s], -distance / slope)
            else:
                rear[s] = min(rear[s], distance / slope)
        valid[s] = not missed and front[s] + rear[s] >= 0.0
        value[s] = min(front[s], rear[s]) if valid[s] else -np.inf
        if not valid[s]:
            front[s] = -np.inf
            rear[s] = -np.inf
    return value, front, rear, valid


def static_states(s: States) -> Parts:
    """Evaluate the measure `static` for many states."""
    value, edges, valid = static_margin_kernel(s.feet, s.com, s.up)
    return value, edges, valid


def longitudinal_states(s: States) -> Parts:
    """Evaluate the measure `longitudinal` for many states."""
    value, front, rear, valid = longitudinal_margin_kernel(s.feet, s.com, s.travel, s.up)
    return value, np.column_stack((front, rear)), valid
