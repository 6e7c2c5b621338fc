"""Conservative margin: the static margin after the loss of any one foot (Mahalingham and Whittaker)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.stability._states import UP, Array, Flags, Parts, States, as_result, kernel, least, pick
from dyn_nodes.stability.polygon import chord_inward, polygon_states

LEAST_FEET = 5


class ConservativeMargin(NamedTuple):
    """Result of :func:`conservative_margin`; with a leading dimension (t,) for a batch.

    Attributes:
        value: () least of `feet`, m; NaN if not defined.
        feet: (n,) for every foot, the signed distance of the projected centre of mass to the edge that closes the
            polygon after the loss of that foot, m, inside positive.
        valid: () there are five feet or more, and all numbers are finite.
    """

    value: Array
    feet: Array
    valid: Flags


def conservative_margin(feet: ArrayLike, com: ArrayLike, up: ArrayLike = UP) -> ConservativeMargin:
    """Return the conservative static margin (CSM), by the vertical projection (abo-shanab-2003, section 2.2).

    The conservative support polygon is the intersection of the n polygons that lose one foot each. Losing foot k
    replaces its two edges by the chord from foot k - 1 to foot k + 1, and in a convex polygon the region inside all
    chords lies inside all edges, so the chords alone bound it. With four feet or fewer the region is a point or empty:
    the measure is not defined.

    Args:
        feet: (n, 3) contact points in the order of the polygon, m; (t, n, 3) for a batch.
        com: (3,) centre of mass of the whole machine, m, or (t, 3).
        up: (3,) unit vector against gravity, or (t, 3).

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
    """
    (feet_, com_, up_), single = polygon_states(feet, up, com=com)
    return as_result(ConservativeMargin, conservative_margin_kernel(feet_, com_, up_), single)


@kernel
def conservative_margin_kernel(feet, com, up):
    """Return the CSM of a batch: value (t,), distances (t, n), valid (t,). Leading dimensions 1 or t."""
    states = max(feet.shape[0], com.shape[0], up.shape[0])
    n = feet.shape[1]
    value, distances, valid = np.empty(states), np.empty((states, n)), np.empty(states, dtype=np.bool_)
    if n < LEAST_FEET:
        value[:] = np.nan
        distances[:] = np.nan
        valid[:] = False
        return value, distances, valid
    for s in range(states):
        f, c, u = feet[pick(s, feet.shape[0])], com[pick(s, com.shape[0])], up[pick(s, up.shape[0])]
        for k in range(n):
            i = (k - 1) % n
            x, y, z = chord_inward(f, i, (k + 1) % n, u)
            distances[s, k] = x * (c[0] - f[i, 0]) + y * (c[1] - f[i, 1]) + z * (c[2] - f[i, 2])
        value[s], valid[s] = least(distances[s])
    return value, distances, valid


def conservative_states(s: States) -> Parts:
    """Evaluate the measure `conservative` for many states."""
    value, feet, valid = conservative_margin_kernel(s.feet, s.com, s.up)
    return value, feet, valid
