"""How many directions the wheels of a vehicle hold: the rank of their lateral rows (tanner-1998, C1).

Rank 1 is the vehicle of the source, which turns about any point of its axle's line; rank 2 turns about one point or
goes straight; rank 3 does not move. A wheel on a fork that trails turns with the motion and holds nothing.
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
    """Return the rank, 0 to 3, of the lateral rows of some wheels on the vehicle's motion in the plane.

    Args:
        blocks: of the vehicle.
        q: (nq,) position that meets the constraints.
        vehicle: frame that moves by six velocities of its base.
        wheels: names of rolling wheels; those that hold nothing sideways do not count.
    """
    own = set(blocks.row_names)
    names = [f'{wheel}/lateral' for wheel in wheels if f'{wheel}/lateral' in own]
    rows = blocks.at(q).J[[blocks.row_names.index(name) for name in names]]
    place = poses(blocks.tree, q)[vehicle.body]
    motion = np.vstack([place.turning, place.moving])
    base = np.flatnonzero(np.abs(motion).max(axis=0) > 0.0)
    joints = np.setdiff1d(np.arange(blocks.tree.nv), base)
    planar = np.linalg.solve(motion[:, base], np.eye(6)[:, [3, 4, 2]])
    return _rank(np.hstack([rows[:, base] @ planar, rows[:, joints]])) - _rank(rows[:, joints])


def _rank(rows: Array) -> int:
    """The lateral rows have lengths near one: what is below the tolerance is round-off."""
    values = np.linalg.svd(rows, compute_uv=False) if rows.size else np.zeros(0)
    return int(np.count_nonzero(values > TOLERANCE))
