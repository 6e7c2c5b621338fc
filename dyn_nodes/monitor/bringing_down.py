"""What brings a wheel down that has lifted all the same: functions led to a better stand, or nothing.

An arm that is drawn in pushes the machine over while it gathers speed, and a base that only rocks is down sooner if
nothing moves. So ways are predicted, on wheels that come off the ground, against a plain stop. One is taken where it
brings the wheel down sooner and no higher; where none brings it down, the one that lets it come least high.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
PARTS = (1.0, 0.25)
"""Of the whole way of a lever that are tried."""
SOONER = 0.05
"""By which a wheel has to be down sooner than after a plain stop, s."""
HIGHER = 0.05
"""By which a wheel may come higher on the way, as the share of a mean load with which its spring would pull."""
LOWER = 0.1
"""By which it has to come less high, the same, where no way brings it down within what is predicted."""


class Ways(NamedTuple):
    """Outputs that are tried.

    Attributes:
        keys: (k, 2 m + 2) of `braking_kernels`, a plain stop first.
        targets: (k, m) to which the outputs are led, V.
    """

    keys: Array
    targets: Array


def ways_of(home: Array, before: Array) -> Ways:
    """Return what is tried from the present outputs (m,): each function alone and all at once.

    Args:
        home: V of each lever all the way to a better stand, 0 where there is none.
        before: present outputs, V.
    """
    alone = [np.where(np.arange(len(home)) == j, home, 0.0) for j in np.flatnonzero(home)]
    moves = [*alone, home] if len(alone) > 1 else alone
    targets = np.array([np.zeros(len(home)), *(part * move for move in moves for part in PARTS)])
    count = len(targets)
    keys = np.hstack([np.tile(before, (count, 1)), targets, np.ones((count, 1)), np.full((count, 1), -np.inf)])
    return Ways(keys, targets)


def best(found: Array) -> int:
    """Return the place of the way that is taken, 0 for the plain stop.

    Args:
        found: (k, 6) of `braking_kernels`, of a machine as it is known, without its errors.
    """
    least, off = found[:, 0], found[:, 5]
    allowed = least >= least[0] - HIGHER
    if np.isfinite(off[allowed]).any():
        soonest = int(np.argmin(np.where(allowed, off, np.inf)))
        return soonest if off[soonest] < off[0] - SOONER else 0
    lowest = int(np.argmax(least))
    return lowest if least[lowest] > least[0] + LOWER else 0
