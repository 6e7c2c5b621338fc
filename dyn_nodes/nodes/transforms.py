"""Vectors, quaternions and transforms as messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dyn_nodes.middleware import message
from dyn_nodes.middleware.prepared import PreparedMessage
from dyn_nodes.nodes.stamps import packed_stamp

TransformStamped = message('geometry_msgs/msg/TransformStamped')


def optional_message(name: str) -> Any:
    """Return the class of a message type, or None where its package is not installed."""
    try:
        return message(name)
    except ValueError:
        return None


#: None on a ROS 2 without tf2_msgs, as `pip install dyn_nodes[ros]` gives it.
TFMessage = optional_message('tf2_msgs/msg/TFMessage')


Frame = tuple[str, str, Sequence[float], Sequence[float]]
"""Parent, child, translation x, y, z (m) and rotation x, y, z, w of a frame."""


class TransformPublisher:
    """Publishes transforms on /tf or /tf_static. Without the package tf2_msgs it warns once and publishes nothing."""

    def __init__(self, node: Any, topic: str, qos: Any) -> None:
        self.publisher = node.create_publisher(TFMessage, topic, qos) if TFMessage is not None else None
        self._names: list[tuple[str, str]] = []
        self._message: PreparedMessage | None = None
        if self.publisher is None:
            node.get_logger().warn(f'the ROS package tf2_msgs is not installed: {topic} is not published')

    def publish(self, frames: Sequence[Frame], nanoseconds: int) -> None:
        """Publish frames of one instant as one TFMessage."""
        if self.publisher is None:
            return
        names = [(parent, child) for parent, child, _, _ in frames]
        if self._message is None or names != self._names:
            self._names, self._message = names, _prepared(names)
        numbers: list[float] = []
        for _, _, position, rotation in frames:
            numbers += position
            numbers += rotation
        self.publisher.publish(self._message.filled(packed_stamp(nanoseconds), numbers))


def _prepared(names: Sequence[tuple[str, str]]) -> PreparedMessage:
    message = TFMessage(transforms=[TransformStamped(child_frame_id=child) for _, child in names])
    for item, (parent, _) in zip(message.transforms, names):
        item.header.frame_id = parent
    return PreparedMessage(message, ('transforms.transform',) if names else ())


def set_vector(target: Any, values: Any) -> None:
    """Write three numbers to a message's x, y, z."""
    target.x, target.y, target.z = (float(v) for v in values)


def set_quaternion(target: Any, values: Any) -> None:
    """Write x, y, z, w to a message's quaternion."""
    target.x, target.y, target.z, target.w = (float(v) for v in values)
