"""A thousand frames a second between a simulated log-loader and its governor, over two serial ports: none is lost.

    CAN_SECONDS=600 pytest -m slow -s test/system/test_can_rate.py

prints the measurements. Machine, bridges, monitor and governor are processes; the two sides exchange only frames.
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import threading
import time
import tty
from pathlib import Path

import numpy as np
import pytest
from timeouts import scaled_timeout

pytest.importorskip('cantools')
pytest.importorskip('can')

import can_processes

from dyn_nodes.middleware import message, service

start, tester = can_processes.start, can_processes.tester

Volts, SetBool = message('std_msgs/msg/Float64MultiArray'), service('std_srvs/srv/SetBool')
SECONDS = float(os.environ.get('CAN_SECONDS', '0'))
RATE = 1000.0
"""Frames per second of both directions together."""
JOINTS = ('swing_joint', 'boom_joint', 'stick_joint')
STEPS = np.array([1.8e-4, 8.4e-5, 3.6e-4])
"""rad, one step of the signals (`dyn-nodes check config/can/log_loader.yaml`)."""
COMPLETING = (b't1018', b't1008')
"""Text prefixes of the frames of joint velocities and positions: the later one completes joint states."""


class Wire:
    """Connects two serial ports; records the times of joint frames and the number of all frames.

    Attributes:
        ports: their names.
        passed: times of the frames that complete joint states, s.
        frames: of both directions.
        blocked: writes that the other end did not accept.
    """

    def __init__(self) -> None:
        masters, slaves = zip(*(pty.openpty() for _ in range(2)))
        for master, slave in zip(masters, slaves):
            tty.setraw(slave)
            os.set_blocking(master, False)
        self.masters, self.slaves = masters, slaves
        self.ports = [os.ttyname(slave) for slave in slaves]
        self.passed: list[float] = []
        self.frames = self.blocked = 0
        self._rest = [b'', b'']
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._relay)
        self._thread.start()

    def _relay(self) -> None:
        while not self._closed.is_set():
            for ready in select.select(self.masters, [], [], 0.05)[0]:
                side = self.masters.index(ready)
                with contextlib.suppress(BlockingIOError):
                    data = os.read(ready, 4096)
                    self._note(side, data)
                    self._forward(self.masters[1 - side], data)

    def _forward(self, port: int, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(port, data) :]
            except BlockingIOError:
                self.blocked += 1
                select.select([], [port], [], 0.5)

    def _note(self, side: int, data: bytes) -> None:
        now = time.monotonic()
        *whole, self._rest[side] = (self._rest[side] + data).split(b'\r')
        frames = [text for text in whole if text[:1] in (b't', b'T')]
        self.frames += len(frames)
        self.passed += [now for text in frames if text[:5] in COMPLETING]

    def close(self) -> None:
        self._closed.set()
        self._thread.join()
        for end in (*self.masters, *self.slaves):
            os.close(end)


@pytest.fixture
def wire():
    made = Wire()
    yield made
    made.close()


@pytest.fixture
def mapping(tmp_path):
    """Return the mapping of the package at twice the rate, with timeouts for a busy computer."""
    source = Path(__file__).resolve().parents[2] / 'config' / 'can'
    bus, text = (source / 'log_loader.dbc').read_text(), (source / 'log_loader.yaml').read_text()
    for before, after in ((' 10;', ' 5;'), (' 20;', ' 10;'), (' 50;', ' 25;')):
        bus = bus.replace(before, after)
    assert bus.count(' 5;') == 5
    (tmp_path / 'log_loader.dbc').write_text(bus)
    path = tmp_path / 'log_loader.yaml'
    # a delayed simulation catches up faster than the machine could move
    path.write_text(text.replace('timeout: 0.1', 'timeout: 3.0').replace(', max_rate: 3.0', ''))
    return path


def bridge(mapping, role, port):
    words = ['-p', f'mapping:={mapping}', '-p', f'role:={role}', '-p', 'interface:=slcan', '-p', f'channel:={port}']
    words += ['-p', 'command_timeout:=3.0', '-p', 'poll_period:=0.0005', '-r', f'__ns:=/{role}']
    words += ['-r', '__node:=control_units'] if role == 'machine' else []
    return ['dyn_nodes.nodes.can_bridge_node', '--ros-args', *words]


class Far:
    """The side with frames only: levers in, state and measurements of bridge and governor out."""

    def __init__(self, tester) -> None:
        self.tester = tester
        self.truth = tester.listen('sensor_msgs/msg/JointState', '/machine/joint_states')
        self.received = tester.listen('sensor_msgs/msg/JointState', '/bridge/joint_states')
        self.states = tester.listen('std_msgs/msg/String', '/bridge/can/state')
        self.passed = tester.listen('std_msgs/msg/Float64MultiArray', '/bridge/valve_commands')
        self.margins = tester.listen('std_msgs/msg/Float64', '/bridge/stability/force_angle')
        self.health = tester.listen('diagnostic_msgs/msg/DiagnosticArray', '/diagnostics')
        self.levers = tester.speak('std_msgs/msg/Float64MultiArray', '/bridge/valve_commands_in', 10)

    def until(self, condition, seconds=70.0):
        end = time.monotonic() + scaled_timeout(seconds)
        while not condition():
            assert time.monotonic() < end, [msg.data for msg in self.states]
            self.move(0.0)

    def move(self, swing: float) -> None:
        self.levers.publish(Volts(data=[0.0, 0.0, swing]))
        self.tester.for_seconds(0.02)

    def arm(self) -> None:
        for name in ('arm', 'activate'):
            client = self.tester.node.create_client(SetBool, f'/bridge/can_bridge_node/{name}')
            answers = []

            def agreed(client=client, answers=answers):
                if client.service_is_ready() and (not answers or answers[-1].done()):
                    answers.append(client.call_async(SetBool.Request(data=True)))
                return any(answer.done() and answer.result().success for answer in answers)

            self.until(agreed)

    def counts(self) -> dict[str, int]:
        """Return the counters of both bridges: frames sent, used and lost, newest values by node."""
        counters: dict[str, int] = {}
        for array in self.health:
            for status in array.status:
                values = {pair.key: int(pair.value) for pair in status.values if pair.value.isdigit()}
                node = status.name.partition(':')[0]
                counters |= {f'{node} {key}': value for key, value in values.items() if 'frames' in key}
        return counters


@pytest.mark.slow
@pytest.mark.skipif(
    not SECONDS, reason='a measurement of rate and delay: CAN_SECONDS=600, on a computer with free cores'
)
@pytest.mark.timeout(int(SECONDS) + 500)
def test_a_thousand_frames_a_second_none_lost(wire, start, tester, mapping, capsys):
    start('dyn_nodes.cli', 'launch', 'log_loader', 'namespace:=machine', 'drive:=true', 'task:=', 'payload:=0.0')
    start(*bridge(mapping, 'machine', wire.ports[0]))
    start(*bridge(mapping, 'bridge', wire.ports[1]))
    plan = ['--ros-args', '-p', 'machine:=log_loader', '-r', '__ns:=/bridge']
    start('dyn_nodes.nodes.stability_monitor_node', *plan)
    start('dyn_nodes.nodes.tip_over_governor_node', *plan, '-p', 'payload:=0.0')
    far = Far(tester)
    far.until(lambda: far.truth and far.received and far.margins and far.passed)
    far.arm()
    arrived: list[float] = []
    tester.node.create_subscription(
        message('sensor_msgs/msg/JointState'), '/bridge/joint_states', lambda _: arrived.append(time.monotonic()), 100
    )
    far.tester.for_seconds(1.0)
    started, frames, first = time.monotonic(), wire.frames, len(wire.passed)
    arrived.clear()
    while (now := time.monotonic() - started) < SECONDS:
        far.move(4.0 * np.sign(np.sin(2.0 * np.pi * now / 8.0)))
    span = time.monotonic() - started
    rate = (wire.frames - frames) / span
    delays = added_delays(np.array(wire.passed[first:]), np.array(arrived))
    far.until(lambda: abs(far.truth[-1].velocity[list(far.truth[-1].name).index('swing_joint')]) < 1e-4 and same(far))
    counts = far.counts()
    lost = sum(value for key, value in counts.items() if 'lost frames' in key)
    moved = np.ptp([list(msg.position)[list(msg.name).index('swing_joint')] for msg in far.received])
    with capsys.disabled():
        print(
            f'\n{span:.0f} s: {rate:.0f} frames/s, {lost} lost, {wire.blocked} writes blocked; '
            f'delay from wire to topic: median {1e3 * np.median(delays):.2f} ms, '
            f'95 % {1e3 * np.quantile(delays, 0.95):.2f} ms; swing moved by {moved:.2f} rad; {counts}'
        )
    assert far.states[-1].data == 'active'
    assert sum(value for key, value in counts.items() if 'frames used' in key) > 0.9 * rate * span
    assert moved > 0.3
    assert lost == 0
    assert rate >= RATE
    assert np.median(delays) < 1e-3


def added_delays(passed: np.ndarray, arrived: np.ndarray) -> np.ndarray:
    """Return the time from the last frame on the wire to each message, s."""
    index = np.searchsorted(passed, arrived) - 1
    return (arrived - passed[np.maximum(index, 0)])[index >= 0]


def same(far: Far) -> bool:
    """Return whether joints over topics and over frames agree to half a step of the signals."""
    order = [list(far.truth[-1].name).index(name) for name in JOINTS]
    wanted = np.array(far.truth[-1].position)[order]
    return bool((np.abs(np.array(far.received[-1].position) - wanted) <= 0.51 * STEPS + 1e-5).all())
