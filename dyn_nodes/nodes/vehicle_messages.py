"""Messages of a driven base: twists in, odometry out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.middleware import message
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.plausible import LARGEST_VELOCITY
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp, stamp_of
from dyn_nodes.nodes.transforms import Frame

Odometry = message('nav_msgs/msg/Odometry')

TOPIC = 'cmd_vel'
UNMEASURED = 1e6
"""Variance of height, roll and pitch, which wheels do not measure, m^2 and rad^2."""
PLANAR = (0, 1, 5)


def twist_of(msg: Any, stamped: bool, now: float, timeout: float) -> Array:
    """Return (vx, vy, wz) of a Twist or TwistStamped; the other components are ignored.

    Args:
        msg: the message.
        stamped: whether it is a TwistStamped; a stamp of 0 means now.
        now: s.
        timeout: greatest age of a stamped twist, s.

    Raises:
        RejectedError: a number not finite or out of range, a stamp that is too old.
    """
    twist = msg.twist if stamped else msg
    parts = [getattr(vector, axis) for vector in (twist.linear, twist.angular) for axis in 'xyz']
    if not all(math.isfinite(value) for value in parts):
        numbers = ', '.join(f'{value:g}' for value in parts)
        raise RejectedError('not finite', f'{TOPIC}: expected finite numbers, found {numbers}')
    if max(map(abs, parts)) > LARGEST_VELOCITY:
        numbers = ', '.join(f'{value:g}' for value in parts)
        raise RejectedError(
            'out of range', f'{TOPIC}: expected at most {LARGEST_VELOCITY:g} m/s or rad/s, found {numbers}'
        )
    if stamped and (stamp := nanoseconds_of_stamp(msg.header.stamp)) != 0:
        age = now - stamp / NANO
        if age > timeout:
            raise RejectedError('too old', f'{TOPIC}: expected a stamp at most {timeout:g} s old, found {age:.3f} s')
    return np.array([parts[0], parts[1], parts[5]])


def odometry_message(world: str, base: str, height: float) -> Any:
    """Return a reusable Odometry with frames, height and constant variances."""
    result = Odometry()
    result.header.frame_id, result.child_frame_id = world, base
    result.pose.pose.position.z = float(height)
    for part in (result.pose, result.twist):
        part.covariance = _covariance(np.zeros((3, 3)))
    return result


def fill_odometry(msg: Any, time: float, odometry: Any) -> None:
    """Write pose, twist and their covariances of a `WheelOdometry` at a time, s, into an Odometry."""
    msg.header.stamp = stamp_of(time)
    x, y, yaw = (float(value) for value in odometry.pose)
    pose, twist = msg.pose.pose, msg.twist.twist
    pose.position.x, pose.position.y = x, y
    pose.orientation.z, pose.orientation.w = math.sin(0.5 * yaw), math.cos(0.5 * yaw)
    twist.linear.x, twist.linear.y, twist.angular.z = (float(value) for value in odometry.twist)
    msg.pose.covariance = _covariance(odometry.pose_covariance)
    msg.twist.covariance = _covariance(odometry.twist_covariance)


def _covariance(planar: Array) -> Array:
    full = np.diag(np.full(6, UNMEASURED))
    full[np.ix_(PLANAR, PLANAR)] = planar
    return full.ravel()


def frame_of(msg: Any) -> Frame:
    """Return the frame of an Odometry."""
    position, turn = msg.pose.pose.position, msg.pose.pose.orientation
    return (
        msg.header.frame_id,
        msg.child_frame_id,
        (position.x, position.y, position.z),
        (turn.x, turn.y, turn.z, turn.w),
    )
