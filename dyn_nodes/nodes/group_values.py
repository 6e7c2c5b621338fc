"""Named values with a stamp: control_msgs/msg/DynamicInterfaceGroupValues, where that package is installed (rclpy).

Topics are named `<...>/values`, beside the topics of single values: margins with their edges, utilisation of the rated
load, and valve commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dyn_nodes.middleware import RUNTIME, message
from dyn_nodes.nodes.arrays import stamp_of_volts
from dyn_nodes.nodes.stamps import stamp_at

TYPE, GROUP_TYPE = 'control_msgs/msg/DynamicInterfaceGroupValues', 'control_msgs/msg/InterfaceValue'
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')

Groups = Mapping[str, tuple[Sequence[str], Sequence[float]]]
"""Names and values by group."""


def group_types() -> tuple[Any, Any] | None:
    """Return the classes of the message and of its groups; None on the embedded runtime or without control_msgs."""
    if RUNTIME == 'embedded':
        return None
    try:
        return message(TYPE), message(GROUP_TYPE)
    except ValueError:
        return None


class GroupPublisher:
    """A publisher of named values in groups; without the message type it publishes nothing.

    Args:
        node: the node. On a ROS 2 without the type it logs this once.
        topic: name of the topic.
        qos: of the topic.
    """

    def __init__(self, node: Any, topic: str, qos: Any) -> None:
        self._node, self._types = node, group_types()
        self.publisher: Any = None
        if self._types is not None:
            self.publisher = node.create_publisher(self._types[0], topic, qos)
        elif RUNTIME != 'embedded':
            node.get_logger().info(f'no {topic} and no other topics of named values: no {TYPE}', once=True)

    def get_subscription_count(self) -> int:
        """Return the number of subscriptions; 0 without the message type."""
        return 0 if self.publisher is None else int(self.publisher.get_subscription_count())

    def publish(self, groups: Groups, nanoseconds: int | None = None) -> None:
        """Publish values, unless nothing subscribes to them.

        Args:
            groups: names and values by group.
            nanoseconds: stamp, ns; None: the node's present time.
        """
        if self._types is None or not self.get_subscription_count():
            return
        result = self._types[0]()
        now = self._node.get_clock().now().nanoseconds if nanoseconds is None else nanoseconds
        result.header.stamp = stamp_at(now)
        for group, (names, values) in groups.items():
            entry = self._types[1]()
            entry.interface_names, entry.values = list(names), [float(value) for value in values]
            result.interface_groups.append(group)
            result.interface_values.append(entry)
        self.publisher.publish(result)


class NamedCommands:
    """A publisher of valve commands that also publishes them as named values, on `<topic>/values`.

    Args:
        inner: publisher of Float64MultiArray messages with names (`arrays.volts_message`).
        values: publisher of their named values.
    """

    def __init__(self, inner: Any, values: GroupPublisher) -> None:
        self.inner, self.values = inner, values

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def publish(self, msg: Any) -> None:
        """Publish a message, and its values with the instant that they answer."""
        self.inner.publish(msg)
        names = msg.layout.dim[0].label.split(',')
        self.values.publish({'valve_commands': (names, msg.data)}, stamp_of_volts(msg))


def command_publisher(node: Any, kind: Any, topic: str, qos: Any) -> Any:
    """Return a publisher of commands; volts (Float64MultiArray) are published as named values, too."""
    publisher = node.create_publisher(kind, topic, qos)
    if kind is not Float64MultiArray:
        return publisher
    values = GroupPublisher(node, f'{publisher.topic_name}/values', qos)
    return publisher if values.publisher is None else NamedCommands(publisher, values)


def destroy_command_publisher(node: Any, publisher: Any) -> None:
    """Destroy a publisher of `command_publisher`."""
    if isinstance(publisher, NamedCommands):
        node.destroy_publisher(publisher.values.publisher)
        publisher = publisher.inner
    node.destroy_publisher(publisher)
