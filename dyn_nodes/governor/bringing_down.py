"""What brings a wheel down that has lifted all the same: functions led to a better stand, or nothing.

An arm that is drawn in pushes the machine over while it gathers speed, and a base that only rocks is down sooner if
nothing moves. So ways are predicted, on wheels that come off the ground, against a plain stop. One is taken where it
brings the wheel down sooner and no higher; where none brings it down, the one that lets it come least high.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.records import Requests, Results

PARTS = (1.0, 0.25)
"""Of the whole way of a lever that are tried."""
SOONER = 0.05
"""By which a wheel has to be down sooner than after a plain stop, s."""
HIGHER = 0.05
"""By which a wheel may come higher on the way, as the share of a mean load with which its spring would pull."""
LOWER = 0.1
"""By which it has to come less high, the same, where no way brings it down within what is predicted."""


def ways_of(home: Array, before: Array) -> Requests:
    """Return the stops that are compared: a plain one first, then each function alone and all at once.

    Args:
        home: (l,) V of each lever all the way to a better stand, 0 where there is none.
        before: (l,) present outputs, V.
    """
    alone = [np.where(np.arange(len(home)) == j, home, 0.0) for j in np.flatnonzero(home)]
    moves = [*alone, home] if len(alone) > 1 else alone
    targets = np.array([np.zeros(len(home)), *(part * move for move in moves for part in PARTS)])
    count = len(targets)
    return Requests(np.tile(before, (count, 1)), targets, np.ones(count), np.full(count, -np.inf))


def best(stops: Results) -> int:
    """Return the index of the way that is taken, 0 for the plain stop.

    Args:
        stops: of the machine as it is modelled, without errors.
    """
    allowed = stops.least >= stops.least[0] - HIGHER
    if np.isfinite(stops.off[allowed]).any():
        soonest = int(np.argmin(np.where(allowed, stops.off, np.inf)))
        return soonest if stops.off[soonest] < stops.off[0] - SOONER else 0
    lowest = int(np.argmax(stops.least))
    return lowest if stops.least[lowest] > stops.least[0] + LOWER else 0
