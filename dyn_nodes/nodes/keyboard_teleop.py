"""Driving from a terminal: keys to valve_commands. Started by `dyn-nodes teleop`."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dyn_nodes.control.hand_levers import Keyboard
from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.nodes.overridable import OverridableNode
from dyn_nodes.nodes.parameters import declare
from dyn_nodes.nodes.teleop_node import PARAMETERS, valves_of

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
QUIT = ('q', '\x03', '\x04')


class KeyboardTeleop(OverridableNode):
    """The keyboard drives the valves.

    Args:
        throw: part of a lever's volts that a key gives.
    """

    def __init__(self, throw: float = 0.5, **options: Any) -> None:
        super().__init__('keyboard_teleop', **options)
        self.values = declare(self, PARAMETERS)
        self.names, pattern = valves_of(self.values)
        self.keyboard = Keyboard(self.names, dict(pattern.levers), throw)
        self.valve_commands = self.create_publisher(Float64MultiArray, 'valve_commands', QoSProfile(depth=10))

    def turn(self, keys: str, now: float) -> bool:
        """Take what was typed, send what follows. Returns False where the user wants to leave."""
        for key in keys:
            if key in QUIT:
                return False
            self.keyboard.press(key, now)
        volts = self.keyboard.command(now)
        if volts is not None:
            self.valve_commands.publish(Float64MultiArray(data=volts))
        return True

    def neutral(self) -> None:
        """Let everything go."""
        self.valve_commands.publish(Float64MultiArray(data=[0.0] * len(self.names)))

    def line(self, now: float) -> str:
        """Return how the levers are, in one line."""
        values = self.keyboard.values(now)
        parts = [f'{name} {values[name]:+.1f} V' for name in self.names]
        return f'{"   ".join(parts)}   throw {100 * self.keyboard.throw:.0f} %'


@contextmanager
def raw_keys(stream: Any) -> Iterator[Callable[[float], str]]:
    """Give out a function that waits for keys for at most so many seconds and returns them, unechoed."""
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


def drive(node: KeyboardTeleop, stream: Any = None, out: Any = None) -> None:
    """Drive until q, Ctrl-C, or the end of the terminal."""
    stream, out = stream or sys.stdin, out or sys.stdout
    out.write('\n'.join([*node.keyboard.help(), '']))
    period = 1.0 / node.values['rate']
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
