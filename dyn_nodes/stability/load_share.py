"""Wheel-load share: the share of each wheel in the total normal load, 0 for a lifted wheel.

The measure needs only the ground reactions, measured or simulated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.stability._states import UP, Array, Flags, Parts, States, as_states, kernel, pick


class LoadShare(NamedTuple):
    """Result of :func:`load_share`; with a leading dimension (t,) for a batch.

    Attributes:
        value: () least share.
        shares: (w,) share of each wheel, sum 1.
        valid: () the total load is positive, no wheel is pulled, all numbers are finite.
        front, rear, left, right: () shares of the wheels on each side of the mean position of the wheels; a wheel in
            line with the mean counts half on both sides.
    """

    value: Array
    shares: Array
    valid: Flags
    front: Array
    rear: Array
    left: Array
    right: Array


def load_share(
    wheels: ArrayLike, normal_loads: ArrayLike, travel: ArrayLike = (1.0, 0.0, 0.0), up: ArrayLike = UP
) -> LoadShare:
    """Return the share of every wheel, and of the four sides of the machine, in the normal load.

    Args:
        wheels: (w, 3) positions of the wheels, m, any order; (t, w, 3) for a batch.
        normal_loads: (w,) normal force of the ground on each wheel, N, or (t, w).
        travel: (3,) forward direction of the machine, or (t, 3).
        up: (3,) unit vector against gravity, or (t, 3).

    Raises:
        ValueError: wrong shape.
    """
    (wheels_, loads_, travel_, up_), single = as_states(
        wheels=(wheels, ('w', 3)), normal_loads=(normal_loads, ('w',)), travel=(travel, (3,)), up=(up, (3,))
    )
    value, shares, valid, sides = load_share_kernel(wheels_, loads_, travel_, up_)
    front, left = sides[:, 0], sides[:, 1]
    if single:
        return LoadShare(value[0], shares[0], valid[0], front[0], 1.0 - front[0], left[0], 1.0 - left[0])
    return LoadShare(value, shares, valid, front, 1.0 - front, left, 1.0 - left)


@kernel
def load_share_kernel(wheels, loads, travel, up):
    """Return for a batch: value (t,), shares (t, w), valid (t,), front and left share (t, 2)."""
    states = max(wheels.shape[0], loads.shape[0], travel.shape[0], up.shape[0])
    n = wheels.shape[1]
    value, shares, valid = np.zeros(states), np.zeros((states, n)), np.zeros(states, dtype=np.bool_)
    sides = np.full((states, 2), np.nan)
    mean = np.empty(3)
    for s in range(states):
        w, load = wheels[pick(s, wheels.shape[0])], loads[pick(s, loads.shape[0])]
        a, u = travel[pick(s, travel.shape[0])], up[pick(s, up.shape[0])]
        total = load.sum()
        if not (total > 0.0 and np.isfinite(total)):
            value[s] = 0.0 if total <= 0.0 else np.nan
            continue
        lx, ly, lz = u[1] * a[2] - u[2] * a[1], u[2] * a[0] - u[0] * a[2], u[0] * a[1] - u[1] * a[0]
        ax, ay, az = ly * u[2] - lz * u[1], lz * u[0] - lx * u[2], lx * u[1] - ly * u[0]
        for k in range(3):
            mean[k] = w[:, k].sum() / n
        front, left, smallest = 0.0, 0.0, np.inf
        for i in range(n):
            share = load[i] / total
            shares[s, i] = share
            smallest = min(smallest, share)
            x, y, z = w[i, 0] - mean[0], w[i, 1] - mean[1], w[i, 2] - mean[2]
            tolerance = 1e-9 * (abs(x) + abs(y) + abs(z))
            front += share * _side(ax * x + ay * y + az * z, tolerance)
            left += share * _side(lx * x + ly * y + lz * z, tolerance)
        sides[s, 0], sides[s, 1] = front, left
        value[s], valid[s] = smallest, smallest >= 0.0
    return value, shares, valid, sides


@kernel
def _side(coordinate, tolerance):
    """Return 1 on the positive side, 0 on the negative side, 0.5 between them."""
    if abs(coordinate) <= tolerance:
        return 0.5
    return 1.0 if coordinate > 0.0 else 0.0


def load_share_states(s: States) -> Parts:
    """Evaluate the measure `load_share` for many states."""
    value, shares, valid, _ = load_share_kernel(s.wheels, s.normal_loads, s.travel, s.up)
    return value, shares, valid
