"""A can_bridge_node in this process on a virtual bus, and the machine at the far end of it.

It does not depend on the load of the computer: nodes of these tests have a steady time that only the test advances, and
no threads. Threads are tested with processes on a pair of serial ports.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import can
import pytest
from node_testing import JOINTS, Outbox

from dyn_nodes.can.mapping_file import load_mapping
from dyn_nodes.can.sender import Sender
from dyn_nodes.middleware import Parameter, message, service
from dyn_nodes.nodes import can_bridge_node, can_bus
from dyn_nodes.nodes.can_bridge_node import CanBridgeNode

Volts, SetBool = message('std_msgs/msg/Float64MultiArray'), service('std_srvs/srv/SetBool')
POSTURE = (0.4, 0.8, -1.5)
CONFIG = Path(__file__).resolve().parents[2] / 'config/can'
STEP = 0.01
"""Of steady time, s, in which `run` lets a node live."""


class HeldTime:
    """Steady time that only the test advances, s; replaces the module `time` of a bridge and its bus."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def pass_by(self, seconds: float, *nodes: CanBridgeNode) -> None:
        """Go on; what lies on a bus is read, and what nodes have to send by then is sent."""
        self.now += seconds
        for node in nodes:
            while node.bus.read(0.0):
                pass
            while node.bus.write(self.now) <= self.now:
                pass


def hold_time(monkeypatch: pytest.MonkeyPatch) -> HeldTime:
    """Return the steady time that bridges of a test see from now on."""
    time = HeldTime()
    for module in (can_bridge_node, can_bus):
        monkeypatch.setattr(module, 'time', time)
    monkeypatch.setattr(can_bus.CanBus, 'start', lambda bus: None)
    return time


def mapping_in(folder: Path, **replaced: str) -> Path:
    """Copy the mapping of the log-loader and its DBC into a folder.

    `timeout='3.0'` suits processes on a computer that is busy.
    """
    text = (CONFIG / 'log_loader.yaml').read_text()
    for key, value in replaced.items():
        assert f'{key}: 0.1\n' in text
        text = text.replace(f'{key}: 0.1\n', f'{key}: {value}\n')
    (folder / 'log_loader.dbc').write_text((CONFIG / 'log_loader.dbc').read_text())
    path = folder / 'log_loader.yaml'
    path.write_text(text)
    return path


class Wires:
    """The far end of a virtual bus: a machine that sends all its measurements and stores the received frames."""

    def __init__(self, channel: str, time: HeldTime | None = None, mapping: str | Path = 'log_loader') -> None:
        self.time = time
        self.bus = can.Bus(interface='virtual', channel=channel)
        self.mapping = load_mapping(str(mapping))[0]
        self.sender = Sender(self.mapping.measurements)
        self.due: dict[str, float] = {}
        values = dict(zip([('position', name) for name in JOINTS], POSTURE))
        for frame in self.mapping.measurements:
            for channel_ in frame.channels:
                values.setdefault(channel_.key, 1e6 if channel_.kind in ('pressure', 'wheel_load') else 0.0)
        self.values = {key: 1e5 if key[0] == 'wheel_load' else value for key, value in values.items()}

    def measure(self, skip: str = '') -> None:
        """Send the frames that are due, at the rate of their period: more would be a second sender."""
        now = self.time.now
        for frame in self.mapping.measurements:
            if now < self.due.get(frame.name, now) - 1e-9:
                continue
            self.due[frame.name] = max(self.due.get(frame.name, now) + frame.cycle, now)
            for _ in range(3 if frame.name == 'LinePressures' else 1):
                raw = self.sender.encode(frame, self.values)
                if frame.name != skip:
                    self.bus.send(can.Message(arbitration_id=raw[0], is_extended_id=raw[1], data=raw[2]))

    def volts(self) -> list[float] | None:
        """Return the boom's volts in the newest frame of commands since the last call."""
        newest, commands = None, {frame.message.frame_id for frame in self.mapping.commands}
        while (frame := self.bus.recv(0.0)) is not None:
            if frame.arbitration_id in commands:
                newest = int.from_bytes(frame.data[:2], 'little', signed=True) * 1e-3
        return newest


def bridge_on(context, channel, mapping='log_loader', neutral_time=0.1):
    """Return a bridge whose messages stay in boxes."""
    values = {'mapping': str(mapping), 'interface': 'virtual', 'channel': channel, 'neutral_time': neutral_time}
    node = CanBridgeNode(context=context, parameter_overrides=[Parameter(k, value=v) for k, v in values.items()])
    node.commands_out, node.state_out, node.diagnostics.publisher = Outbox(), Outbox(), Outbox()
    return node


def run(node, wires, seconds=0.15, command=None, skip=''):
    """Advance time with measurements and commands; return the boom's volts on the bus."""
    seen = []
    for _ in range(round(seconds / STEP)):
        wires.measure(skip)
        if command is not None:
            node.receive('valve_commands', Volts(data=[command, 0.0, 0.0]))
        wires.time.pass_by(STEP, node)
        node.run_cycle()
        seen.append(wires.volts())
    return [volts for volts in seen if volts is not None]


def ask(node, service, data=True):
    response = SetBool.Response()
    return getattr(node, f'_on_{service}')(SimpleNamespace(data=data), response)


def arm_and_command(node, wires):
    """Arm a bridge and command 1 V."""
    run(node, wires, 0.25, command=0.0)
    assert ask(node, 'arm').success, node.fault()
    assert run(node, wires, 0.3, command=1.0)[-1] == pytest.approx(1.0)
