"""Vectors, quaternions and transforms as messages."""

from __future__ import annotations

from typing import Any

from dyn_nodes.middleware import message

TransformStamped = message('geometry_msgs/msg/TransformStamped')


def set_vector(target: Any, values: Any) -> None:
    """Write three numbers to a message's x, y, z."""
    target.x, target.y, target.z = (float(v) for v in values)


def set_quaternion(target: Any, values: Any) -> None:
    """Write x, y, z, w to a message's quaternion."""
    target.x, target.y, target.z, target.w = (float(v) for v in values)


def transform(parent: str, child: str, stamp: Any, position: Any, quaternion: Any) -> Any:
    """Return a TransformStamped."""
    result = TransformStamped()
    result.header.stamp, result.header.frame_id, result.child_frame_id = stamp, parent, child
    set_vector(result.transform.translation, position)
    set_quaternion(result.transform.rotation, quaternion)
    return result
