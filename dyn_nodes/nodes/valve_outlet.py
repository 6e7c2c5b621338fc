"""Where the volts of a gamepad or a keyboard go: to the valves, or to the node that stands before them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.nodes.listeners import is_listened_to

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
VALVES, BEFORE_VALVES = 'valve_commands', 'valve_commands_in'


class ValveOutlet:
    """Publishes volts to the valves, or to the governor where one listens on `valve_commands_in`.

    A governor that was seen once is never passed by: where it ends, the volts reach no valve, and the machine stops.

    Args:
        node: that publishes.
    """

    def __init__(self, node: Any) -> None:
        self._node, self._topic = node, VALVES
        self._out = self._create()

    def _create(self) -> Any:
        return self._node.create_publisher(Float64MultiArray, self._topic, QoSProfile(depth=10))

    def publish(self, volts: Sequence[float]) -> None:
        """Send volts in the order of the actuators."""
        if self._topic == VALVES and is_listened_to(self._node, BEFORE_VALVES):
            self._node.destroy_publisher(self._out)
            self._topic = BEFORE_VALVES
            self._out = self._create()
            self._node.get_logger().info(f'{BEFORE_VALVES}: commands go to the node that stands before the valves')
        self._out.publish(Float64MultiArray(data=list(volts)))
