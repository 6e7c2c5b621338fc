"""Joint positions for a pose of a link, of trees and of machines with closed loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dyn_nodes.analysis.closed_hand import ClosedHand, ClosedResult, loop_constraints
from dyn_nodes.control.hand import (
    POSE,
    POSITION,
    HandError,
    HandKinematics,
    HandPose,
    HandTask,
    Result,
    Settings,
    inverse_kinematics,
)
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.rotations import matrix_of_rpy


class Solved(NamedTuple):
    """Result of `joints_for_pose`.

    Attributes:
        task: controlled rows.
        result: solutions.
        start: positions of all joints of the tree at the start, by name, rad or m.
    """

    task: HandTask
    result: Result | ClosedResult
    start: dict[str, float]


def joints_for_pose(
    machine: Machine,
    link: str,
    target: Sequence[float],
    posture: Mapping[str, float],
    rows: Sequence[str] = (),
    joints: Sequence[str] | None = None,
    length: float = 1.0,
    settings: Settings | None = None,
) -> Solved:
    """Return the joint positions that bring a link to a pose.

    Args:
        machine: any; its base is fixed.
        link: to move.
        target: (3,) position, m, or (6,) with roll, pitch, yaw, rad, in axes of the base link.
        posture: initial positions by name, others from the machine YAML, rad or m.
        rows: of the pose to meet; (): the position, and the orientation with six joints or more or closed loops.
        joints: that may move; None: all driven joints that carry the link.
        length: equivalent to 1 rad, m.
        settings: of the iteration, None: the defaults; with closed loops `starts` alone counts.

    Raises:
        HandError: no such link, joint or row.
    """
    settings = settings or Settings()
    whole, loops = len(target) > len(POSITION), bool(loop_constraints(machine))
    pose = HandPose(matrix_of_rpy(target[3:] if whole else (0.0, 0.0, 0.0)), np.array(target[:3], dtype=np.float64))
    if loops:
        closed = ClosedHand(machine, link)
        hand, start = closed.kinematics, closed.posture(posture)
    else:
        hand = HandKinematics.of(machine, link, joints)
        initial = {name: q for name, q in machine.initial.joint_positions.items() if name in hand.names}
        start = hand.posture(initial | dict(posture))
    task = HandTask(tuple(rows or (POSITION if not whole else POSE if loops else hand.default_task.rows)), length)
    result: Result | ClosedResult
    if loops:
        if settings.damping:
            raise HandError('damping: expected 0 for a machine with closed loops')
        result = closed.inverse_kinematics(pose, start, task, settings.starts, joints)
    else:
        result = inverse_kinematics(hand, pose, start, task, settings)
    return Solved(task, result, dict(zip(hand.names, start.tolist())))
