"""Vectors, quaternions and transforms as messages."""

from __future__ import annotations

from typing import Any

from dyn_nodes.middleware import message

TransformStamped = message('geometry_msgs/msg/TransformStamped')


def optional_message(name: str) -> Any:
    """Return the class of a message type, or None where its package is not installed."""
    try:
        return message(name)
    except ValueError:
        return None


#: None on a ROS 2 without tf2_msgs, as `pip install dyn_nodes[ros]` gives it.
TFMessage = optional_message('tf2_msgs/msg/TFMessage')


class TransformPublisher:
    """Publishes transforms on /tf or /tf_static. Without the package tf2_msgs it warns once and publishes nothing."""

    def __init__(self, node: Any, topic: str, qos: Any) -> None:
        self.publisher = node.create_publisher(TFMessage, topic, qos) if TFMessage is not None else None
        if self.publisher is None:
            node.get_logger().warn(f'the ROS package tf2_msgs is not installed: {topic} is not published')

    def publish(self, transforms: list[Any]) -> None:
        """Publish TransformStamped messages as one TFMessage."""
        if self.publisher is not None:
            self.publisher.publish(TFMessage(transforms=transforms))


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
