"""Selection of a motion that lowers a wheel that has lifted: functions led to a more stable posture, or a plain stop.

An arm that is drawn in pushes the machine over while it accelerates, and a base that only rocks is down sooner if
nothing moves. Therefore the candidate motions are predicted, with wheels that can leave the ground, and compared with a
plain stop. A motion is chosen if it lowers the wheel sooner without raising it higher; if none lowers it, the motion
with the least lift is chosen.
"""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.governor.records import Requests, Results

PARTS = (1.0, 0.25)
"""Fractions of a lever's full travel that are tried."""
SOONER = 0.05
"""Least reduction of the time until the wheel is down, compared with a plain stop, s."""
HIGHER = 0.05
"""Permitted additional lift of a wheel on the way, as the share of a mean load with which its spring would pull."""
LOWER = 0.1
"""Required reduction of lift, in the same measure, if no motion lowers the wheel within the prediction."""


def ways_of(home: Array, before: Array) -> Requests:
    """Return the stops to compare: a plain one first, then each function alone and all at once.

    Args:
        home: (l,) full output of each lever towards a more stable posture, V; 0 if it has none.
        before: (l,) present outputs, V.
    """
    alone = [np.where(np.arange(len(home)) == j, home, 0.0) for j in np.flatnonzero(home)]
    moves = [*alone, home] if len(alone) > 1 else alone
    targets = np.array([np.zeros(len(home)), *(part * move for move in moves for part in PARTS)])
    count = len(targets)
    return Requests(np.tile(before, (count, 1)), targets, np.ones(count), np.full(count, -np.inf))


def best(stops: Results) -> int:
    """Return the index of the motion to execute, 0 for the plain stop.

    Args:
        stops: of the machine as modelled, without errors.
    """
    allowed = stops.least >= stops.least[0] - HIGHER
    if np.isfinite(stops.off[allowed]).any():
        soonest = int(np.argmin(np.where(allowed, stops.off, np.inf)))
        return soonest if stops.off[soonest] < stops.off[0] - SOONER else 0
    lowest = int(np.argmax(stops.least))
    return lowest if stops.least[lowest] > stops.least[0] + LOWER else 0
