"""Publisher of volts from manual controls: to the valves, or to a governor before them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.nodes.arrays import volts_message
from dyn_nodes.nodes.group_values import command_publisher, destroy_command_publisher
from dyn_nodes.nodes.listeners import is_listened_to

Bool = message('std_msgs/msg/Bool')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
VALVES, BEFORE_VALVES, OF_GOVERNOR, OVERRIDE = (
    'valve_commands',
    'valve_commands_in',
    'governor/scale',
    'governor/override',
)


class ValveOutlet:
    """Publishes volts to the valves, or to a governor that subscribes to `valve_commands_in` beside them.

    A detected governor is never bypassed: if it ends, the volts reach no valve, and the machine stops. A governor with
    another input topic blocks all volts until `valve_commands` is remapped to that topic; a remapped topic is the only
    output.

    Args:
        node: that publishes.
        names: of the actuators, in the order of the volts.
        governed: whether to publish only to a governor, even before one is detected.
    """

    def __init__(self, node: Any, names: Sequence[str], governed: bool = False) -> None:
        self._node = node
        self._out: Any = None
        self._message = volts_message(names)
        self._valves = node.resolve_topic_name(VALVES)
        self._is_free = self._valves.rpartition('/')[2] == VALVES
        beside = self._valves.removesuffix(VALVES)
        self._before, self._scale = f'{beside}{BEFORE_VALVES}', f'{beside}{OF_GOVERNOR}'
        self._override, self._was_held = f'{beside}{OVERRIDE}', False
        self._override_out: Any = None
        self._topic = self._before if self._is_free and governed else self._valves

    @property
    def topic(self) -> str:
        """Return the present topic of the volts, with its namespace."""
        if self._is_free and self._topic != self._before and is_listened_to(self._node, self._before):
            self._topic = self._before
            if self._out is not None:
                destroy_command_publisher(self._node, self._out)
                self._out = None
            self._node.get_logger().info(f'{BEFORE_VALVES}: commands go to a governor')
        return self._topic

    @property
    def is_governed(self) -> bool:
        """Return whether volts go to a governor."""
        return self.topic != self._valves

    @property
    def blocked(self) -> str:
        """Return why nothing is sent, or ''."""
        if not self._is_free or self.is_governed or not self._node.count_publishers(self._scale):
            return ''
        return f'a governor without a subscription to {BEFORE_VALVES}: remap {VALVES} to its input topic'

    def open(self) -> None:
        """Create the publisher before the first command."""
        topic = self.topic
        if self._out is None:
            name = VALVES if topic == self._valves else topic
            self._out = command_publisher(self._node, Float64MultiArray, name, QoSProfile(depth=10))

    def publish(self, volts: Sequence[float]) -> None:
        """Publish volts, unless the outlet is blocked."""
        if why := self.blocked:
            self._node.get_logger().error(f'nothing is sent: {why}', throttle_duration_sec=5.0)
            return
        self.open()
        self._message.data = list(volts)
        self._out.publish(self._message)

    @property
    def offers_override(self) -> bool:
        """Return whether the volts go to a governor that a held key overrides."""
        return self.is_governed and is_listened_to(self._node, self._override)

    def override(self, is_held: bool) -> None:
        """Publish whether the key that overrides the governor is held: repeatedly while it is, and once its release."""
        is_held = is_held and self.is_governed
        if not (is_held or self._was_held):
            return
        self._was_held = is_held
        if self._override_out is None:
            self._override_out = self._node.create_publisher(Bool, self._override, QoSProfile(depth=1))
        self._override_out.publish(Bool(data=is_held))
