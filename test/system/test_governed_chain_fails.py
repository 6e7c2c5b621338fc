"""Nodes of a governed machine are killed, stopped or silenced at work: it comes to rest by the certified stop."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from dyn_nodes.governor.settings import GovernorSettings
from dyn_nodes.middleware import QoSProfile, message

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
COMMON = {'machine': 'log_loader', 'mode': 'realtime', 'exchange_period': 0.005}
PAYLOAD = 1500.0
TIMEOUT = {'command_timeout': 1.0}
CHAIN = ('controller_node', 'tip_over_governor_node', 'hydraulic_actuator_node', 'dynamics_node')
WHEELS = ('front_right', 'front_left', 'rear_right', 'rear_left')
MOVING, RESTING = 0.05, 0.01
"""Speed of the fastest joint at work, and at rest, rad/s."""
REST = 1.0
"""Simulated time of rest, s; continued work reverses in less."""
RESERVE = GovernorSettings().reserve
"""Least wheel load share of every certified stop."""
SEGMENT = '  - {{name: part_{k}, start: {start}, end: {end}, ramp: 0.2, volts: {{boom: {volts}, swing: {volts}}}}}\n'


def to_and_fro(path):
    """Return a task that moves boom and swing long enough for a busy computer."""
    parts = [SEGMENT.format(k=k, start=0.2 + k, end=1.2 + k, volts=(-1) ** k * 4.5) for k in range(600)]
    path.write_text('name: to_and_fro\nduration: 700.0\nsegments:\n' + ''.join(parts))
    return path


@pytest.fixture
def machine(processes, probe, tmp_path):
    """Return dynamics, hydraulics, governor, monitor and by default a controller, as processes in real time."""
    probe.listen('sensor_msgs/msg/JointState', 'joint_states')
    probe.listen('std_msgs/msg/Float64MultiArray', 'valve_commands')
    probe.listen('std_msgs/msg/Float64', 'hydraulics/boom/spool')
    loads = {}
    for wheel in WHEELS:
        probe.node.create_subscription(
            message('geometry_msgs/msg/WrenchStamped'),
            f'ground_reactions/{wheel}',
            lambda msg, wheel=wheel: loads.setdefault(wheel, []).append(msg.wrench.force.z),
            QoSProfile(depth=100),
        )

    def start(controller=True, monitor=True):
        estimated = {'payload_source': 'estimated' if monitor else 'given', 'payload': PAYLOAD}
        if monitor:
            processes.start('stability_monitor_node', machine='log_loader', **estimated, prefix='monitor')
        remapped = {'payload/interval': 'monitor/payload/interval'}
        processes.start(
            'tip_over_governor_node',
            remapped,
            **COMMON,
            **TIMEOUT,
            **estimated,
            state_timeout=1.0,
            neutral_first=False,
            motion_check=False,
        )
        processes.start('hydraulic_actuator_node', **COMMON, **TIMEOUT, payload=PAYLOAD)
        processes.start('dynamics_node', **COMMON, **TIMEOUT, payload=PAYLOAD)
        if controller:
            task = to_and_fro(tmp_path / 'task.yaml')
            processes.start('controller_node', {'valve_commands': 'valve_commands_in'}, **COMMON, task=task)
        return loads

    return start


def fastest(probe) -> float:
    return float(np.abs(probe.last['joint_states'].velocity).max())


def seconds(probe) -> float:
    stamp = probe.last['joint_states'].header.stamp
    return stamp.sec + 1e-9 * stamp.nanosec


def until_at_rest(probe, node):
    """Wait until the machine is at rest; if it is no longer simulated, until its valves are neutral."""
    if node == 'dynamics_node':
        seen = probe.count['valve_commands']
        probe.until(
            lambda: probe.count['valve_commands'] > seen + 10 and not any(probe.last['valve_commands'].data),
            'neutral',
            60,
        )
        return
    moved = [seconds(probe)]

    def resting():
        now = seconds(probe)
        if fastest(probe) > RESTING:
            moved[0] = now
        return now - moved[0] > REST

    probe.until(resting, 'a machine at rest', 60)


def least_share(loads) -> float:
    """Return the least load of a wheel over the mean load of all wheels and times."""
    assert len(loads) == len(WHEELS)
    return min(min(values) for values in loads.values()) / float(
        np.mean([np.mean(values) for values in loads.values()])
    )


def works(probe):
    probe.until(lambda: fastest(probe) > MOVING, 'a machine that works', 200)


@pytest.mark.timeout(400)
def test_a_controller_that_is_stopped_and_then_a_governor_that_is_killed_bring_the_machine_to_rest(
    machine, processes, probe
):
    loads = machine(monitor=False)
    works(probe)
    processes.freeze('controller_node')
    until_at_rest(probe, 'controller_node')
    processes.thaw('controller_node')
    works(probe)
    processes.kill('tip_over_governor_node')
    until_at_rest(probe, 'tip_over_governor_node')
    assert least_share(loads) > RESERVE


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize('action', ['kill', 'freeze'])
@pytest.mark.parametrize('node', CHAIN)
def test_a_node_of_the_chain_that_is_killed_or_stopped_brings_the_machine_to_rest(
    machine, processes, probe, node, action
):
    loads = machine()
    works(probe)
    getattr(processes, action)(node)
    until_at_rest(probe, node)
    assert least_share(loads) > RESERVE


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize('action', ['kill', 'freeze'])
def test_without_the_monitor_the_governor_assumes_the_rated_payload_and_the_work_continues(
    machine, processes, probe, action
):
    loads = machine()
    works(probe)
    name = 'tip_over_governor_node: payload'
    probe.until(lambda: probe.health.get(name, (9,))[0] == 0, 'a payload that is weighed', 60)
    getattr(processes, action)('stability_monitor_node')
    probe.until(
        lambda: probe.health[name][0] == 1 and 'rated 1500 kg' in probe.health[name][1], 'the rated payload', 60
    )
    works(probe)
    assert least_share(loads) > RESERVE


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_levers_without_messages_bring_the_machine_to_rest(machine, probe):
    """The commanding node still runs, without commands."""
    loads = machine(controller=False)
    publisher = probe.node.create_publisher(Float64MultiArray, 'valve_commands_in', QoSProfile(depth=10))
    stopped = threading.Event()

    def give():
        while not stopped.wait(0.02):
            volts = 4.5 * np.sign(np.sin(3.0 * time.monotonic()))
            publisher.publish(Float64MultiArray(data=[volts, 0.0, volts]))

    lever = threading.Thread(target=give, daemon=True)
    lever.start()
    try:
        works(probe)
    finally:
        stopped.set()
        lever.join()
    until_at_rest(probe, 'levers')
    assert not any(probe.last['valve_commands'].data)
    assert least_share(loads) > RESERVE
