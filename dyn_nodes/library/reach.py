"""Joint positions of a machine for a pose of a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.analysis.hand_pose import joints_for_pose
from dyn_nodes.control.hand import HandError, Settings
from dyn_nodes.library.carried import State, state_of
from dyn_nodes.library.vectors import rows_of
from dyn_nodes.model.rotations import rpy_of_matrix

if TYPE_CHECKING:
    from dyn_nodes.library.loaded import Loaded

NUMBERS = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')
UPRIGHT = 1e-6
"""Tolerance of a rotation matrix and of the last row of a pose."""


def joints_of(
    machine: Loaded, target: ArrayLike, link: str, joints: Mapping[str, float], rows: Sequence[str], starts: int
) -> State:
    """Return positions of the joints (nj,); arguments and errors as for `Machine.ik`."""
    owner, numbers = machine.name, _numbers_of(machine.name, target)
    try:
        solved = joints_for_pose(machine.data, link, numbers, joints, rows, settings=Settings(starts=starts))
    except HandError as error:
        raise ValueError(f'{owner}: ik: {error}') from None
    if not solved.result.reached:
        raise ValueError(f'{owner}: ik of {link!r}: {solved.result.statement}')
    best = solved.result.solutions[0]
    initial = machine.data.initial.joint_positions
    positions = {**initial, **joints, **solved.start, **dict(zip(best.joints, best.positions.tolist()))}
    return state_of(np.array([positions.get(name, 0.0) for name in machine.joints]), None)


def _numbers_of(owner: str, target: ArrayLike) -> list[float]:
    """Return a position, or position, roll, pitch and yaw. Raises ValueError for another shape or no rotation."""
    shape = np.shape(target)
    if shape in ((3,), (6,)):
        return rows_of(owner, 'target', target, NUMBERS[: shape[0]]).tolist()
    if shape != (4, 4):
        raise ValueError(
            f'{owner}: target: expected (3,) position, (6,) with roll, pitch, yaw, or (4, 4); found {shape}'
        )
    pose = rows_of(owner, 'target', target, ('0', '1', '2', '3'))
    turn = pose[:3, :3]
    if np.abs(turn @ turn.T - np.eye(3)).max() > UPRIGHT or np.linalg.det(turn) < 0.0:
        raise ValueError(f'{owner}: target: expected a rotation matrix, found {turn.tolist()}')
    return [*pose[:3, 3].tolist(), *rpy_of_matrix(turn).tolist()]
