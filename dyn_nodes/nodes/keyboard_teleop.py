"""Keyboard teleoperation from a terminal: valve_commands or cmd_vel. Started by `dyn-nodes teleop`."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dyn_nodes.control.hand_levers import Keyboard, KeyReader
from dyn_nodes.control.lever_pattern import Lever
from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.nodes.overridable import OverridableNode
from dyn_nodes.nodes.parameters import declare
from dyn_nodes.nodes.teleop_node import PARAMETERS, valves_of
from dyn_nodes.nodes.valve_outlet import ValveOutlet

Twist, TwistStamped = message('geometry_msgs/msg/Twist'), message('geometry_msgs/msg/TwistStamped')
QUIT = ('q', '\x03', '\x04')


class KeyboardNode(OverridableNode):
    """Base class of nodes with keys as levers.

    Attributes:
        names: of the levers, in the order of a command.
        keyboard: state of the levers.  reader: of the typed keys.
        unit, digits: of a displayed command.
        rate: of commands, Hz.
    """

    names: list[str]
    keyboard: Keyboard
    unit = ''
    digits = 1
    rate = 20.0

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.reader = KeyReader()

    def send(self, values: list[float]) -> None:
        """Publish a command."""
        raise NotImplementedError

    def turn(self, keys: str, now: float) -> bool:
        """Process typed keys and publish the commands; return False after a key to quit."""
        for key in self.reader.keys(keys):
            if key in QUIT:
                return False
            self.keyboard.type_key(key, now)
        values = self.keyboard.command(now)
        if values is not None:
            self.send(values)
        return True

    def neutral(self) -> None:
        """Publish zero for all levers."""
        self.send([0.0] * len(self.names))

    def line(self, now: float) -> str:
        """Return the values of the levers in one line."""
        values = self.keyboard.values(now)
        parts = [f'{name} {values[name]:+.{self.digits}f} {self.unit}'.rstrip() for name in self.names]
        return f'{"   ".join(parts)}   throw {100 * self.keyboard.throw:.0f} %'


class KeyboardTeleop(KeyboardNode):
    """Keyboard teleoperation of valves.

    Args:
        throw: part of a lever's volts for a key.
    """

    unit = 'V'

    def __init__(self, throw: float = 0.5, **options: Any) -> None:
        super().__init__('keyboard_teleop', **options)
        self.values = declare(self, PARAMETERS)
        self.rate = self.values['rate']
        self.names, pattern = valves_of(self.values)
        self.keyboard = Keyboard(self.names, dict(pattern.levers), throw)
        self.outlet = ValveOutlet(self, self.names, self.values['governed'])
        self.outlet.open()

    def send(self, values: list[float]) -> None:
        """Publish volts."""
        self.outlet.publish(values)


class KeyboardTwist(KeyboardNode):
    """Keyboard teleoperation of a vehicle.

    Args:
        linear, angular: greatest speeds, m/s and rad/s.
        stamped: whether cmd_vel is a TwistStamped.
        throw: part of the greatest speeds for a key.
    """

    digits = 2

    def __init__(
        self, linear: float = 1.0, angular: float = 1.5, stamped: bool = True, throw: float = 0.5, **options: Any
    ) -> None:
        super().__init__('keyboard_teleop', **options)
        levers = {
            'ahead': Lever(None, 1.0, linear, 'ws', 'forwards', 'backwards'),
            'turn': Lever(None, 1.0, angular, 'ad', 'left', 'right'),
            'sideways': Lever(None, 1.0, linear, 'jl', 'left', 'right'),
        }
        self.names = list(levers)
        self.keyboard = Keyboard(self.names, levers, throw)
        self.kind = TwistStamped if stamped else Twist
        self.cmd_vel = self.create_publisher(self.kind, 'cmd_vel', QoSProfile(depth=10))

    def send(self, values: list[float]) -> None:
        """Publish a twist with stamp 0, which means now."""
        result = self.kind()
        twist = result.twist if self.kind is TwistStamped else result
        twist.linear.x, twist.angular.z, twist.linear.y = values
        self.cmd_vel.publish(result)


@contextmanager
def raw_keys(stream: Any) -> Iterator[Callable[[float], str]]:
    """Yield a function that waits for keys for at most so many seconds and returns them, unechoed."""
    import termios
    import tty

    number = stream.fileno()
    before = termios.tcgetattr(number)

    def read(seconds: float) -> str:
        ready, _, _ = select.select([number], [], [], seconds)
        return os.read(number, 64).decode(errors='ignore') if ready else ''

    try:
        tty.setcbreak(number)
        yield read
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def drive(node: KeyboardNode, stream: Any = None, out: Any = None) -> None:
    """Drive until q, Ctrl-C, or the end of the terminal."""
    stream, out = stream or sys.stdin, out or sys.stdout
    out.write('\n'.join([*node.keyboard.help(), '']))
    period = 1.0 / node.rate
    try:
        with raw_keys(stream) as read:
            while node.context.ok():
                keys = read(period)
                now = time.monotonic()
                if not node.turn(keys, now):
                    break
                out.write(f'\r{node.line(now)}\x1b[K')
                out.flush()
    except KeyboardInterrupt:
        pass
    finally:
        if node.context.ok():
            node.neutral()
        out.write('\n')
