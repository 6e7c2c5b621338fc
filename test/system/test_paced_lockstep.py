"""Real time under load: the same motion as in lockstep; and a machine whose hydraulics were killed comes to rest."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Probe, Processes

from dyn_nodes.middleware import QoSProfile, message

COMMON = {'machine': 'log_loader', 'exchange_period': 0.005}
JointState = message('sensor_msgs/msg/JointState')
BUSY = 'import time\nend = time.monotonic() + 180\nwhile time.monotonic() < end: pass'


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Run loops that take all the computer has; they end with the block, or by themselves."""
    loops = [subprocess.Popen([sys.executable, '-c', BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait(10)


def record(probe: Probe) -> dict[int, Any]:
    """Keep every joint state by its stamp, ns."""
    states: dict[int, Any] = {}

    def keep(msg: Any) -> None:
        stamp = msg.header.stamp.sec * 1_000_000_000 + msg.header.stamp.nanosec
        states[stamp] = np.concatenate([msg.position, msg.velocity, msg.effort])

    probe.node.create_subscription(JointState, 'joint_states', keep, QoSProfile(depth=5000))
    return states


def run(processes: Processes, mode: str, duration: float) -> None:
    common = {**COMMON, 'mode': mode}
    processes.start('hydraulic_actuator_node', command_source='asynchronous', **common)
    processes.start('dynamics_node', wait_for=['hydraulic_actuator_node'], duration=duration, **common)
    assert processes.wait('dynamics_node', 300) == 0
    processes.stop()
    processes.running.clear()


def test_on_a_busy_computer_real_time_is_slower_and_moves_as_lockstep_does(processes, probe):
    """Nobody at the levers: the machine stands, to the last bit, though the hydraulics answer late."""
    states = record(probe)
    run(processes, 'lockstep', 2.0)
    calm = dict(states)
    assert len(calm) == 401
    states.clear()
    with busy(4):
        run(processes, 'realtime', 2.0)
    assert set(states) == set(calm)
    for stamp, values in calm.items():
        np.testing.assert_array_equal(states[stamp], values)


def test_a_rocking_machine_comes_to_rest_when_its_hydraulics_are_killed(processes, probe):
    probe.listen('sensor_msgs/msg/JointState', 'joint_states')
    probe.listen('nav_msgs/msg/Odometry', 'odom')
    common = {**COMMON, 'mode': 'realtime'}
    processes.start('hydraulic_actuator_node', command_source='asynchronous', **common)
    processes.start('dynamics_node', wait_for=['hydraulic_actuator_node'], drop_time=0.5, **common)

    def time() -> float:
        stamp = probe.last['joint_states'].header.stamp
        return stamp.sec + 1e-9 * stamp.nanosec

    def speed() -> float:
        twist = probe.last['odom'].twist.twist
        base = [getattr(vector, axis) for vector in (twist.linear, twist.angular) for axis in 'xyz']
        return float(np.abs([*base, *probe.last['joint_states'].velocity]).max())

    probe.until(
        lambda: min(probe.count['odom'], probe.count['joint_states']) > 0 and time() > 0.6,
        'the drop of the load',
        200.0,
    )
    assert speed() > 5e-3
    processes.kill('hydraulic_actuator_node')
    killed = time()
    probe.until(lambda: time() > killed + 1.0, 'time going on', 60.0)
    assert 'holding' in probe.health['dynamics_node: commands'][1]
    probe.until(lambda: time() > killed + 6.0, 'six seconds', 200.0)
    assert speed() < 1e-3
    assert probe.health['dynamics_node: simulation'][1] != 'overturned'
