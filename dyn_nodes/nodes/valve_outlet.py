"""Where the volts of a person go: to the valves, or to the node that stands before them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.nodes.arrays import volts_message
from dyn_nodes.nodes.listeners import is_listened_to

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
VALVES, BEFORE_VALVES = 'valve_commands', 'valve_commands_in'


class ValveOutlet:
    """Publishes volts to the valves, or to the governor where one listens on `valve_commands_in`.

    A governor that was seen once is never passed by: where it ends, the volts reach no valve, and the machine stops.
    Where `valve_commands` are remapped they go there.

    Args:
        node: that publishes.
        names: of the actuators, in the order of the volts.
    """

    def __init__(self, node: Any, names: Sequence[str]) -> None:
        self._node, self._topic = node, VALVES
        self._out: Any = None
        self._message = volts_message(names)
        self._is_free = node.resolve_topic_name(VALVES).rpartition('/')[2] == VALVES

    @property
    def topic(self) -> str:
        """Topic on which volts go out now."""
        if self._is_free and self._topic == VALVES and is_listened_to(self._node, BEFORE_VALVES):
            self._topic = BEFORE_VALVES
            if self._out is not None:
                self._node.destroy_publisher(self._out)
                self._out = None
            self._node.get_logger().info(f'{BEFORE_VALVES}: commands go to the node that stands before the valves')
        return self._topic

    @property
    def is_governed(self) -> bool:
        """Return whether they go to a node that stands before the valves."""
        return self.topic == BEFORE_VALVES

    def open(self) -> None:
        """Offer commands before the first one."""
        topic = self.topic
        if self._out is None:
            self._out = self._node.create_publisher(Float64MultiArray, topic, QoSProfile(depth=10))

    def publish(self, volts: Sequence[float]) -> None:
        """Send volts."""
        self.open()
        self._message.data = list(volts)
        self._out.publish(self._message)
