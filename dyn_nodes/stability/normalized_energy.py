"""Normalized energy stability margin (NESM): the energy stability level over the weight, a height.

Hirose, Tsukagoshi and Yoneda, "Normalized energy stability margin and its contour of walking vehicles on rough
terrain", ICRA 2001. The rise of the centre of mass that is required to overturn about an edge, independent of weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.stability._states import UP, Array, Flags, Parts, States, as_result, kernel, least, pick
from dyn_nodes.stability.polygon import edge_direction, edge_inward, polygon_states


class NormalizedEnergy(NamedTuple):
    """Result of :func:`normalized_energy`; with a leading dimension (t,) for a batch.

    Attributes:
        value: () least of `edges`, m.
        edges: (n,) rise of the centre of mass up to the vertical plane through each edge, m; zero in that plane; beyond
            it, where gravity overturns the machine, minus the fall since the plane.
        valid: () all numbers finite.
    """

    value: Array
    edges: Array
    valid: Flags


def normalized_energy(feet: ArrayLike, com: ArrayLike, up: ArrayLike = UP) -> NormalizedEnergy:
    """Return the signed normalized energy stability margin: energy level over weight (Hirose 2001).

    It depends on geometry alone, uneven ground included, not on speed, acceleration or external load. The margin
    vanishes with the square of the distance from the edge.

    Args:
        feet: (n, 3) contact points in the order of the polygon, m; (t, n, 3) for a batch.
        com: (3,) centre of mass of the whole machine, m, or (t, 3).
        up: (3,) unit vector against gravity, or (t, 3).

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
    """
    (feet_, com_, up_), single = polygon_states(feet, up, com=com)
    return as_result(NormalizedEnergy, normalized_energy_kernel(feet_, com_, up_), single)


@kernel
def normalized_energy_kernel(feet, com, up):
    """Return the NESM of a batch: value (t,), edges (t, n), valid (t,). Leading dimensions 1 or t."""
    states = max(feet.shape[0], com.shape[0], up.shape[0])
    n = feet.shape[1]
    value, edges, valid = np.empty(states), np.empty((states, n)), np.empty(states, dtype=np.bool_)
    for s in range(states):
        f, c, u = feet[pick(s, feet.shape[0])], com[pick(s, com.shape[0])], up[pick(s, up.shape[0])]
        for i in range(n):
            edges[s, i] = _rise(f, i, c, u)
        value[s], valid[s] = least(edges[s])
    return value, edges, valid


@kernel
def _rise(feet, i, com, up):
    """Return the signed rise of one edge: c (|R| - R_t), R across the edge, c = sqrt(1 - e_up^2)."""
    ex, ey, ez = edge_direction(feet, i)
    nx, ny, nz = edge_inward(feet, i, up)
    x, y, z = com[0] - feet[i, 0], com[1] - feet[i, 1], com[2] - feet[i, 2]
    # across both: upwards, inclined like the edge
    tx, ty, tz = ey * nz - ez * ny, ez * nx - ex * nz, ex * ny - ey * nx
    steepness = tx * up[0] + ty * up[1] + tz * up[2]
    horizontal = x * nx + y * ny + z * nz
    upright = x * tx + y * ty + z * tz
    if steepness < 0.0:
        steepness, upright = -steepness, -upright
    size = np.sqrt(horizontal * horizontal + upright * upright)
    # |R| - R_t without cancellation if R is nearly upright
    rise = horizontal * horizontal / (size + upright) if upright > 0.0 else size - upright
    return steepness * rise if horizontal >= 0.0 else -steepness * rise


def normalized_energy_states(s: States) -> Parts:
    """Evaluate the measure `normalized_energy` for many states."""
    value, edges, valid = normalized_energy_kernel(s.feet, s.com, s.up)
    return value, edges, valid
