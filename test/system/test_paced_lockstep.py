"""Real time under load: the same motion as in lockstep; a machine with killed hydraulics comes to rest."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from harness import Probe, Processes
from timeouts import scaled_timeout

from dyn_nodes.middleware import QoSProfile, message

COMMON = {'machine': 'log_loader', 'exchange_period': 0.005}
JointState = message('sensor_msgs/msg/JointState')


class Starving:
    """Stops one node after the other for some exchange periods, like a busy computer."""

    def __init__(self, processes: Processes, nodes: Sequence[str], pause: float = 0.03) -> None:
        self.processes, self.nodes, self.pause = processes, nodes, pause
        self.stops = 0

    def until_gone(self, node: str, timeout: float = 100.0) -> None:
        end = time.monotonic() + scaled_timeout(timeout)
        for stopped in itertools.cycle(self.nodes):
            if self.processes.running[node].poll() is not None:
                return
            assert time.monotonic() < end, f'{node} still runs:\n{self.processes.log(node)}'
            self.processes.freeze(stopped)
            time.sleep(self.pause)
            self.processes.thaw(stopped)
            self.stops += 1
            time.sleep(self.pause)


def record(probe: Probe) -> dict[int, Any]:
    """Store every joint state by its stamp, ns."""
    states: dict[int, Any] = {}

    def keep(msg: Any) -> None:
        stamp = msg.header.stamp.sec * 1_000_000_000 + msg.header.stamp.nanosec
        states[stamp] = np.concatenate([msg.position, msg.velocity, msg.effort])

    probe.node.create_subscription(JointState, 'joint_states', keep, QoSProfile(depth=5000))
    return states


def start(processes: Processes, mode: str, duration: float) -> None:
    common = {**COMMON, 'mode': mode}
    processes.start('hydraulic_actuator_node', command_source='asynchronous', **common)
    processes.start('dynamics_node', wait_for=['hydraulic_actuator_node'], duration=duration, **common)


def assert_finished(processes: Processes) -> None:
    assert processes.wait('dynamics_node', 300) == 0
    processes.stop()
    processes.running.clear()


def test_on_a_busy_computer_real_time_is_slower_and_moves_as_lockstep_does(processes, probe):
    """Without lever commands the states are equal to the last bit, although both nodes repeatedly answer late."""
    states = record(probe)
    start(processes, 'lockstep', 2.0)
    assert_finished(processes)
    calm = dict(states)
    assert len(calm) == 401
    states.clear()
    start(processes, 'realtime', 2.0)
    probe.until(lambda: len(states) > 0, 'the start in real time', 200.0)
    started = time.monotonic()
    starving = Starving(processes, ('hydraulic_actuator_node', 'dynamics_node'))
    starving.until_gone('dynamics_node')
    assert starving.stops > 10
    assert time.monotonic() - started > 2.0
    assert_finished(processes)
    assert set(states) == set(calm)
    for stamp, values in calm.items():
        np.testing.assert_array_equal(states[stamp], values)


def test_a_rocking_machine_comes_to_rest_when_its_hydraulics_are_killed(processes, probe):
    probe.listen('sensor_msgs/msg/JointState', 'joint_states')
    probe.listen('nav_msgs/msg/Odometry', 'odom')
    common = {**COMMON, 'mode': 'realtime'}
    processes.start('hydraulic_actuator_node', command_source='asynchronous', **common)
    processes.start('dynamics_node', wait_for=['hydraulic_actuator_node'], drop_time=0.5, **common)

    def simulated() -> float:
        stamp = probe.last['joint_states'].header.stamp
        return stamp.sec + 1e-9 * stamp.nanosec

    def speed() -> float:
        twist = probe.last['odom'].twist.twist
        base = [getattr(vector, axis) for vector in (twist.linear, twist.angular) for axis in 'xyz']
        return float(np.abs([*base, *probe.last['joint_states'].velocity]).max())

    probe.until(
        lambda: min(probe.count['odom'], probe.count['joint_states']) > 0 and simulated() > 0.6,
        'the drop of the load',
        200.0,
    )
    assert speed() > 5e-3
    processes.kill('hydraulic_actuator_node')
    killed = simulated()
    probe.until(lambda: simulated() > killed + 1.0, 'time going on', 60.0)
    assert 'holding' in probe.health['dynamics_node: commands'][1]
    probe.until(lambda: simulated() > killed + 6.0, 'six seconds', 200.0)
    assert speed() < 1e-3
    assert probe.health['dynamics_node: simulation'][1] != 'overturned'
