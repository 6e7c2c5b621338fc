"""Trajectories of a platform in six degrees of freedom from messages, with their checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.kinematics import HandPose
from dyn_nodes.control.pose_trajectory import BodyMotion, PoseTrajectory
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.hand_messages import MOST_POSES, check_frame, pose_of
from dyn_nodes.nodes.plausible import LARGEST_VELOCITY
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp

TOPIC = 'platform_trajectory'
BEGINNING = (1e-3, 2e-3)
"""Tolerances of a first pose at time 0: distance, m, and angle, rad, from the platform."""


def trajectory_of(message: Any, platform: str, frame: str, now: float, start: BodyMotion) -> PoseTrajectory:
    """Return the trajectory of a trajectory_msgs/MultiDOFJointTrajectory from the present motion on.

    It starts now; its stamp is 0 or within a second of now. Velocities are used if every point has one; accelerations
    are not used.

    Args:
        message: the message.
        platform: name of its only joint.
        frame: of its poses.
        now: s.
        start: of the platform's reference.

    Raises:
        RejectedError: names, sizes, numbers, times, another start; with the point.
    """
    check_frame(TOPIC, message.header.frame_id, frame)
    if list(message.joint_names) != [platform]:
        names = ', '.join(message.joint_names) or 'none'
        raise RejectedError('unknown joint', f'{TOPIC}: joint_names: expected {platform!r} alone, found {names}')
    if not 1 <= len(message.points) <= MOST_POSES:
        raise RejectedError('wrong size', f'{TOPIC}: points: expected 1 to {MOST_POSES}, found {len(message.points)}')
    _check_stamp(message, now)
    points = [_point(point, k) for k, point in enumerate(message.points)]
    times, poses, twists = (list(part) for part in zip(*points))
    if times[0] == 0.0:
        _check_beginning(start.pose, poses[0])
        times, poses, twists = times[1:], poses[1:], twists[1:]
    met = None if any(twist is None for twist in twists) else np.array([start.twist, *twists])
    try:
        return PoseTrajectory([0.0, *times], [start.pose, *poses], met, start.twist)
    except ValueError as error:
        raise RejectedError('bad trajectory', f'{TOPIC}: {error}') from None


def _check_stamp(message: Any, now: float) -> None:
    stamp = nanoseconds_of_stamp(message.header.stamp)
    if stamp != 0 and abs(stamp / NANO - now) > 1.0:
        offset = f'{stamp / NANO - now:.3f} s ahead'
        raise RejectedError('bad stamp', f'{TOPIC}: header.stamp: expected 0 or now, found {offset}')


def _check_beginning(here: HandPose, first: HandPose) -> None:
    off = here.error_to(first)
    distance, angle = float(np.linalg.norm(off[:3])), float(np.linalg.norm(off[3:]))
    if distance > BEGINNING[0] or angle > BEGINNING[1]:
        text = f'expected the pose of the platform at time 0, found one {distance:.4g} m and {angle:.4g} rad away'
        raise RejectedError('bad trajectory', f'{TOPIC}: points[0]: {text}')


def _point(point: Any, k: int) -> tuple[float, HandPose, Array | None]:
    if len(point.transforms) != 1 or len(point.velocities) > 1:
        counts = f'{len(point.transforms)} and {len(point.velocities)}'
        expected = 'one transform and at most one velocity'
        raise RejectedError('wrong size', f'{TOPIC}: points[{k}]: expected {expected}, found {counts}')
    time = point.time_from_start.sec + point.time_from_start.nanosec / NANO
    transform = point.transforms[0]
    pose = pose_of(_Pose(transform.translation, transform.rotation), TOPIC, f'points[{k}].transforms[0]')
    return time, pose, _twist(point.velocities[0], k) if len(point.velocities) else None


def _twist(twist: Any, k: int) -> Array:
    values = np.array([getattr(part, axis) for part in (twist.linear, twist.angular) for axis in 'xyz'])
    if not np.abs(values).max() <= LARGEST_VELOCITY:  # false for NaN too
        text = f'expected finite numbers of at most {LARGEST_VELOCITY:g}'
        raise RejectedError('out of range', f'{TOPIC}: points[{k}].velocities[0]: {text}')
    return values


class _Pose:
    """A transform as a geometry_msgs/Pose."""

    def __init__(self, translation: Any, rotation: Any) -> None:
        self.position, self.orientation = translation, rotation
