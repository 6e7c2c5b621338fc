"""Workspace of a link of a machine with closed loops, with dexterity and stiffness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_nodes.analysis.closed_hand import ClosedHand
from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import AssemblyError, BeyondLimitsError
from dyn_nodes.control.hand import HandError, HandTask
from dyn_nodes.control.hand.workspace import SINGULAR, Workspace, joint_stiffness, spread


@dataclass(frozen=True, eq=False)
class ClosedWorkspace:
    """Workspace of a link of a machine with closed loops.

    Attributes:
        space: postures of independent drives at which all loops close within the limits.
        tried: number of postures.
        open: number of postures at which the loops do not close.
        beyond: number of postures at which joints would exceed their limits.
    """

    space: Workspace
    tried: int
    open: int
    beyond: int


def closed_workspace(
    hand: ClosedHand,
    count: int,
    seed: int = 0,
    task: HandTask | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    stiffness: Mapping[str, float] | None = None,
) -> ClosedWorkspace:
    """Return the workspace over postures of independent drives, one per freedom.

    The stiffness is the stiffness of all drives: 1 / greatest eigenvalue of A N (N_d^T K N_d)^-1 N^T A^T.

    Args:
        hand: the link.
        count: number of postures.
        seed: seed of their choice.
        task: rows of the condition number; None: those among x y z in which the link moves.
        ranges: ranges of drives by name that replace their limits.
        stiffness: stiffness of drives by name, N m/rad or N/m, which replaces the stiffness of their oil.

    Raises:
        HandError: a drive without limits, unknown names, or no posture at which the loops close.
    """
    task = task or HandTask(hand.positions_that_move)
    drives = hand.independent_drives()
    indices, driven = hand.indices(drives), hand.indices(hand.driven)
    law = joint_stiffness(hand.machine, hand, stiffness)
    points: list[tuple[Any, ...]] = []
    still_open = beyond = 0
    for posture in spread(hand.ranges(drives, ranges or {}), count, seed):
        guess = hand.start.copy()
        guess[indices] = posture
        try:
            q = hand.closed(guess, drives)
        except AssemblyError:
            still_open += 1
            continue
        except BeyondLimitsError:
            beyond += 1
            continue
        N, moved = hand.motion(q)
        G = moved @ np.linalg.pinv(N[indices])
        values = np.linalg.svd(task.scaled(G), compute_uv=False)
        stiff = _stiffness(moved[:3], N[driven], law(q[driven][np.newaxis])[0])
        points.append((posture, hand.kinematics.pose(q).position, values, *stiff))
    if not points:
        raise HandError(f'{hand.link}: expected postures at which the loops close, found none of {count}')
    postures, positions, singular, worst, vertical = (np.array(part) for part in zip(*points))
    least = singular[:, -1] if len(task.rows) <= len(drives) else np.zeros(len(singular))
    regular = least > SINGULAR * singular[:, 0]
    condition = np.full(len(singular), np.inf)
    condition[regular] = singular[regular, 0] / least[regular]
    product = np.where(regular, np.prod(singular, axis=1), 0.0)
    space = Workspace(drives, postures, positions, condition, product, worst, vertical)
    return ClosedWorkspace(space, count, still_open, beyond)


def _stiffness(moved: Array, N: Array, K: Array) -> tuple[float, float]:
    """Return stiffness in the worst direction and along z, of drives with rates N (d, m) and stiffness K (d,)."""
    if not (K > 0.0).all():
        return float('nan'), float('nan')
    C = moved @ np.linalg.pinv(N.T @ (K[:, np.newaxis] * N)) @ moved.T
    with np.errstate(divide='ignore'):
        return float(1.0 / np.linalg.eigvalsh(C)[-1]), float(np.divide(1.0, C[2, 2]))
