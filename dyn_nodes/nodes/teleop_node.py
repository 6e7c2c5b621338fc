"""teleop_node: gamepad teleoperation of valves, from sensor_msgs/Joy to valve_commands.

    ros2 run joy joy_node
    dyn-nodes run teleop_node --ros-args -p machine:=log_loader

`config/teleop.yaml` assigns the levers. Commands are sent only while the dead-man button is held, and neutral for half
a second afterwards. No other node may command the valves at the same time except a governor, which then receives the
commands. With `governed` they go to a governor only.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from dyn_nodes.common.share import find_resource
from dyn_nodes.control.hand_levers import Joystick
from dyn_nodes.control.lever_pattern import LeverPattern, load_lever_pattern
from dyn_nodes.middleware import Clock, ClockType, QoSProfile, message
from dyn_nodes.nodes.diagnostics import ERROR, WARN, DiagnosticsPublisher, Health
from dyn_nodes.nodes.exchange import valve_order
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.overridable import OverridableNode
from dyn_nodes.nodes.parameters import ParameterError, declare, node_parameters
from dyn_nodes.nodes.running import run_node
from dyn_nodes.nodes.valve_outlet import ValveOutlet

Joy = message('sensor_msgs/msg/Joy')

PARAMETERS = node_parameters('teleop_node')


def valves_of(values: dict[str, Any]) -> tuple[list[str], LeverPattern]:
    """Return the names of the valves in the order of the command, and the lever pattern, from a node's parameters.

    Raises:
        ValueError: the machine, the order or the lever file is wrong.
    """
    if not values['machine']:
        raise ParameterError("parameter 'machine': expected the path of a URDF or a machine's name, found nothing")
    machine = machine_of(values['machine'], values['config'])
    names = [machine.actuators[index].name for index in valve_order(machine, values['joints'])]
    file = values['levers']
    if '/' in file or file.endswith(('.yaml', '.yml')):
        return names, load_lever_pattern(Path(file), names)
    try:
        return names, load_lever_pattern(find_resource(f'config/{file}.yaml'), names)
    except FileNotFoundError as error:
        raise ParameterError(f"parameter 'levers': {error}") from None


class TeleopNode(OverridableNode):
    """Gamepad teleoperation of valves."""

    def __init__(self, **options: Any) -> None:
        super().__init__('teleop_node', **options)
        self.values = declare(self, PARAMETERS)
        self.names, self.pattern = valves_of(self.values)
        self.joystick = Joystick(self.names, self.pattern)
        self.outlet = ValveOutlet(self, self.names, self.values['governed'])
        self.outlet.open()
        self.create_subscription(Joy, 'joy', self._on_joy, QoSProfile(depth=10))
        self.health = DiagnosticsPublisher(self, {'gamepad': self._health})
        self.create_timer(1.0 / self.values['rate'], self._send, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._was_held = False
        self.get_logger().info(f'hold button {self.pattern.dead_man_button} to drive {", ".join(self.pattern.levers)}')

    def _on_joy(self, msg: Any) -> None:
        self.joystick.message(msg.axes, msg.buttons, time.monotonic())
        if self.joystick.fault:
            self.get_logger().error(self.joystick.fault, throttle_duration_sec=5.0)

    def _send(self) -> None:
        now = time.monotonic()
        volts = self.joystick.command(now)
        if volts is not None:
            self.outlet.publish(volts)
        self.outlet.override(self.joystick.overrides)
        if self.joystick.held != self._was_held:
            self._was_held = self.joystick.held
            self.get_logger().info('driving' if self._was_held else 'neutral')
        self.health.update(now, self.get_clock().now().nanoseconds / 1e9)

    def _health(self) -> Health:
        joystick, now = self.joystick, time.monotonic()
        health = Health(text='driving' if joystick.held else 'dead-man button is not held')
        if joystick.waiting():
            health.text = f'waiting for {", ".join(joystick.waiting())} to be in the middle'
        if joystick.stuck:
            health.worse(WARN, f'release the dead-man button (button {self.pattern.dead_man_button}) first')
        if joystick.timed_out(now):
            health.worse(WARN, f'no joy message for {self.pattern.timeout:g} s: neutral')
        if joystick.fault:
            health.worse(WARN, joystick.fault)
        if why := self.outlet.blocked:
            health.worse(ERROR, f'nothing is sent: {why}')
        return health


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('teleop_node', TeleopNode, args)


if __name__ == '__main__':
    sys.exit(main())
