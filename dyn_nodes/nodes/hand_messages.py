"""Targets of the hand from messages, with their checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand import HandLimits, HandPath, HandPose, Line
from dyn_nodes.model.rotations import matrix_of_quaternion, quaternion_of_matrix
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.plausible import LARGEST_POSITION, LARGEST_VELOCITY
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp

PathMaker = Callable[[HandPose], HandPath]
MOST_POSES = 1000
SAME = 1e-9
"""Difference below which two poses are equal, m or rad."""
NORM = 1e-3
"""Tolerance of the norm of a quaternion."""


def check_frame(topic: str, frame: str, expected: str) -> None:
    """Raise RejectedError if a message is in another frame; an empty name stands for the expected frame."""
    if frame not in ('', expected):
        raise RejectedError(
            'wrong frame', f'{topic}: header.frame_id: expected {expected!r} or nothing, found {frame!r}'
        )


def pose_of(pose: Any, topic: str, field: str = 'pose') -> HandPose:
    """Return the pose of a geometry_msgs/Pose. An orientation of zeros, as in an empty message, is the identity.

    Raises:
        RejectedError: a number not finite or out of range, a quaternion whose norm is not 1.
    """
    position = np.array([pose.position.x, pose.position.y, pose.position.z], dtype=np.float64)
    turn = pose.orientation
    quaternion = np.array([turn.x, turn.y, turn.z, turn.w], dtype=np.float64)
    if not (np.isfinite(position).all() and np.isfinite(quaternion).all()):
        raise RejectedError('not finite', f'{topic}: {field}: expected finite numbers')
    if np.abs(position).max() > LARGEST_POSITION:
        largest = float(np.abs(position).max())
        raise RejectedError(
            'out of range', f'{topic}: {field}.position: expected at most {LARGEST_POSITION:g} m, found {largest:g}'
        )
    if not quaternion.any():
        quaternion[3] = 1.0
    with np.errstate(over='ignore'):
        norm = float(np.linalg.norm(quaternion))
    if not abs(norm - 1.0) <= NORM:
        raise RejectedError(
            'out of range', f'{topic}: {field}.orientation: expected a quaternion of norm 1, found {norm:.6g}'
        )
    return HandPose(matrix_of_quaternion(quaternion / norm), position)


def twist_of(msg: Any, topic: str, now: float, timeout: float) -> Array:
    """Return linear and angular velocity (6,) of a geometry_msgs/TwistStamped; a stamp of 0 means now.

    Raises:
        RejectedError: a number not finite or out of range, a stamp that is too old.
    """
    parts = [getattr(vector, axis) for vector in (msg.twist.linear, msg.twist.angular) for axis in 'xyz']
    if not all(math.isfinite(value) for value in parts):
        raise RejectedError(
            'not finite', f'{topic}: expected finite numbers, found {", ".join(f"{v:g}" for v in parts)}'
        )
    if max(map(abs, parts)) > LARGEST_VELOCITY:
        raise RejectedError('out of range', f'{topic}: expected at most {LARGEST_VELOCITY:g} m/s or rad/s')
    stamp = nanoseconds_of_stamp(msg.header.stamp)
    if stamp != 0 and now - stamp / NANO > timeout:
        raise RejectedError(
            'too old', f'{topic}: expected a stamp at most {timeout:g} s old, found {now - stamp / NANO:.3f} s'
        )
    return np.array(parts)


def within_limits(twist: Array, limits: HandLimits) -> Array:
    """Return a twist (6,) scaled so that translation and rotation are within the limits."""
    share = max(
        float(np.linalg.norm(twist[:3])), float(np.linalg.norm(twist[3:])) * limits.per_radian
    ) / limits.speed  # fmt: skip
    return twist / max(share, 1.0)


def path_of(msg: Any, topic: str, frame: str, limits: HandLimits, smooth: bool) -> tuple[PathMaker, HandPose]:
    """Return a function that makes the path of a nav_msgs/Path from the pose at its start, and its last pose.

    The stamps of the poses, relative to the stamp of the message, are their times; if all are 0, the path is as fast as
    the limits allow. The way to the first pose takes as long as the limits require.

    Raises:
        RejectedError: no poses or too many, another frame, invalid numbers, times that do not ascend or are too short.
    """
    check_frame(topic, msg.header.frame_id, frame)
    if not 1 <= len(msg.poses) <= MOST_POSES:
        raise RejectedError('wrong size', f'{topic}: poses: expected 1 to {MOST_POSES}, found {len(msg.poses)}')
    poses = []
    for k, each in enumerate(msg.poses):
        check_frame(f'{topic}: poses[{k}]', each.header.frame_id, frame)
        poses.append(pose_of(each.pose, topic, f'poses[{k}].pose'))
    durations = _durations(msg, topic)

    def make(start: HandPose) -> HandPath:
        whole = [start, *poses]
        if smooth:
            return _smooth(whole, limits, durations)
        if durations is None:
            return HandPath.lines(whole, limits)
        first = limits.timing(Line(start, poses[0], limits.per_radian).length).duration
        return HandPath.lines(whole, limits, [max(first, durations[0]), *durations[1:]])

    return make, poses[-1]


def _smooth(poses: Sequence[HandPose], limits: HandLimits, durations: Sequence[float] | None) -> HandPath:
    different = [poses[0], *(b for a, b in pairwise(poses) if np.abs(a.error_to(b)).max() > SAME)]
    if len(different) < 2:
        return HandPath.line(poses[0], poses[0], limits)
    path = HandPath.spline(different, limits)
    return path if durations is None else HandPath.spline(different, limits, max(path.duration, sum(durations)))


def _durations(msg: Any, topic: str) -> Sequence[float] | None:
    stamps = [nanoseconds_of_stamp(each.header.stamp) for each in msg.poses]
    if not any(stamps):
        return None
    times = np.array([nanoseconds_of_stamp(msg.header.stamp), *stamps]) / NANO
    durations = np.diff(times)
    if durations.min() <= 0.0:
        k = int(np.argmin(durations))
        raise RejectedError(
            'bad trajectory',
            f'{topic}: poses[{k}].header.stamp: expected a later time than before, found {durations[k]:.3f} s later',
        )
    return list(durations.tolist())


def fill_pose(msg: Any, pose: HandPose) -> None:
    """Write a pose into a geometry_msgs/PoseStamped."""
    position, turn = msg.pose.position, msg.pose.orientation
    position.x, position.y, position.z = pose.position.tolist()
    turn.x, turn.y, turn.z, turn.w = quaternion_of_matrix(pose.rotation).tolist()
