"""Rank of the lateral rows of a vehicle's wheels (tanner-1998, C1).

A vehicle of rank 1, as in the source, turns about any point of its axle's line; a vehicle of rank 2 turns about one
point or goes straight; a vehicle of rank 3 does not move. A trailing wheel on a fork does not restrict the motion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.kane.parts import poses
from dyn_nodes.multibody import Frame

TOLERANCE = 1e-9


def wheel_rank(blocks: ConstraintBlocks, q: Array, vehicle: Frame, wheels: Sequence[str]) -> int:
    """Return the rank, 0 to 3, of the lateral rows of some wheels for the vehicle's motion in the plane.

    Args:
        blocks: blocks of the vehicle.
        q: (nq,) position that satisfies the constraints.
        vehicle: frame moved by the six velocities of its base.
        wheels: names of rolling wheels; wheels without a lateral row are ignored.
    """
    row_names = set(blocks.row_names)
    names = [f'{wheel}/lateral' for wheel in wheels if f'{wheel}/lateral' in row_names]
    rows = blocks.at(q).J[[blocks.row_names.index(name) for name in names]]
    pose = poses(blocks.tree, q)[vehicle.body]
    motion = np.vstack([pose.turning, pose.moving])
    base = np.flatnonzero(np.abs(motion).max(axis=0) > 0.0)
    joints = np.setdiff1d(np.arange(blocks.tree.nv), base)
    planar = np.linalg.solve(motion[:, base], np.eye(6)[:, [3, 4, 2]])
    return _rank(np.hstack([rows[:, base] @ planar, rows[:, joints]])) - _rank(rows[:, joints])


def _rank(rows: Array) -> int:
    """Return the rank of rows with lengths near one; values below the tolerance are round-off."""
    values = np.linalg.svd(rows, compute_uv=False) if rows.size else np.zeros(0)
    return int(np.count_nonzero(values > TOLERANCE))
