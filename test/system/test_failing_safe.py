"""Killed nodes and invalid commands: the other nodes report them and hold a safe state."""

from __future__ import annotations

import time
from contextlib import closing

import numpy as np
import pytest
from domains import next_domain
from harness import Probe, Processes

from dyn_nodes.middleware import QoSProfile, message

JointState = message('sensor_msgs/msg/JointState')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
Float64 = message('std_msgs/msg/Float64')
OK, ERROR = 0, 2
CHAIN = ('dynamics_node', 'hydraulic_actuator_node', 'controller_node')
COMMON = {'machine': 'log_loader', 'mode': 'realtime', 'exchange_period': 0.002}


def level(probe, name: str) -> int:
    return probe.health.get(name, (-1, '', {}))[0]


@pytest.fixture(scope='module')
def shared(tmp_path_factory):
    """Yield processes and a probe for all tests of one machine: a test restarts only the nodes killed before."""
    domain = next_domain()
    nodes, listener = Processes(domain, tmp_path_factory.mktemp('machine')), Probe(domain)
    for kind, topic in (
        ('sensor_msgs/msg/JointState', 'joint_states'),
        ('std_msgs/msg/Float64MultiArray', 'valve_commands'),
        ('sensor_msgs/msg/JointState', 'joint_command'),
        ('std_msgs/msg/Float64', 'hydraulics/boom/spool'),
        ('diagnostic_msgs/msg/DiagnosticStatus', 'events'),
    ):
        listener.listen(kind, topic)
    yield nodes, listener
    listener.close()
    nodes.stop()


@pytest.fixture
def probe(shared):
    return shared[1]


@pytest.fixture
def machine(shared):
    """Return dynamics, hydraulics and controller in real time at rest."""
    nodes, listener = shared
    for name in CHAIN:
        if name not in nodes.running:
            nodes.start(name, **COMMON)
    counts = dict(listener.count)
    listener.until(lambda: commands(listener, counts) > 20 and listener.count['valve_commands'] > 5, 'commands', 200)
    listener.until(lambda: level(listener, 'dynamics_node: commands') == OK, 'good health')
    listener.until(lambda: not silences(listener), 'commands of all nodes')
    return nodes


def commands(probe, before) -> int:
    """Return the number of efforts received since a count."""
    return probe.count['joint_command'] - before.get('joint_command', 0)


def silences(probe, name: str = '') -> list[str]:
    """Return the statuses of a node, or of all, that report missing messages."""
    missing = ('no valve_commands', 'no joint_states', 'no command')
    return [
        entry for entry, (_, text, _) in probe.health.items() if entry.startswith(name) and text.startswith(missing)
    ]


def positions(probe) -> np.ndarray:
    return np.array(probe.last['joint_states'].position)


def test_dynamics_holds_the_joints_without_the_actuator_node_and_continues_when_it_returns(machine, probe):
    before = positions(probe)
    machine.kill('hydraulic_actuator_node')
    probe.until(lambda: level(probe, 'dynamics_node: commands') == ERROR, 'the report of a silent actuator')
    seen = probe.count['joint_states']
    probe.until(lambda: probe.count['joint_states'] > seen + 800, 'joint states of held joints')
    assert np.abs(positions(probe) - before).max() < 2e-3
    machine.start('hydraulic_actuator_node', **COMMON)
    probe.until(lambda: level(probe, 'dynamics_node: commands') == OK, 'commands again', 60)


def test_spools_go_to_neutral_when_the_controller_is_killed(machine, probe):
    machine.kill('controller_node')
    probe.until(lambda: silences(probe, 'hydraulic_actuator_node'), 'the report of a silent controller')
    seen = probe.count['hydraulics/boom/spool']
    probe.until(lambda: probe.count['hydraulics/boom/spool'] > seen + 5, 'spool reports')
    assert abs(probe.last['hydraulics/boom/spool'].data) < 1e-6
    assert level(probe, 'dynamics_node: commands') == OK


ALL = ['swing_joint', 'boom_joint', 'stick_joint']
BAD_COMMANDS = {
    'not finite': (ALL, [0.0, float('nan'), 0.0]),
    'wrong size': (ALL, [0.0, 1.0]),
    'unknown joint': (['swing_joint', 'boom_joint', 'no_such_joint'], [0.0, 1.0, 2.0]),
    'out of range': (ALL, [0.0, 1e9, 0.0]),
    'missing joint': (['swing_joint'], [0.0]),
}


def rejections(probe) -> dict[str, str]:
    return probe.health.get('dynamics_node: commands', (0, '', {}))[2]


def publish_when_subscribed(probe, publisher, msg) -> None:
    """Publish after the match: a volatile message is lost on a reader that has not matched the writer yet."""
    probe.until(lambda: publisher.get_subscription_count() > 0, 'the node', 60)
    time.sleep(0.5)
    publisher.publish(msg)


def test_bad_joint_commands_are_rejected_counted_and_reported(machine, probe):
    publisher = probe.node.create_publisher(JointState, 'joint_command', QoSProfile(depth=10))
    for kind, (names, efforts) in BAD_COMMANDS.items():
        publish_when_subscribed(probe, publisher, JointState(name=names, effort=efforts))
        probe.until(lambda kind=kind: rejections(probe).get(f'rejected: {kind}') == '1', kind)
    assert machine.running['dynamics_node'].poll() is None


def test_bad_valve_commands_are_rejected_by_the_actuator_node(machine, probe):
    publisher = probe.node.create_publisher(Float64MultiArray, 'valve_commands', QoSProfile(depth=10))
    publish_when_subscribed(probe, publisher, Float64MultiArray(data=[float('nan'), 0.0, 0.0]))
    publisher.publish(Float64MultiArray(data=[1.0, 2.0]))

    def rejected() -> bool:
        values: dict[str, str] = {}
        for name, health in probe.health.items():
            if name.startswith('hydraulic_actuator_node'):
                values.update(health[2])
        return values.get('rejected: not finite') == '1' and values.get('rejected: wrong size') == '1'

    probe.until(rejected, 'both refusals')


def test_a_payload_beyond_the_limit_is_rejected_and_one_within_is_taken(machine, probe):
    publisher = probe.node.create_publisher(Float64, 'payload', QoSProfile(depth=10))
    publish_when_subscribed(probe, publisher, Float64(data=1e6))
    probe.until(lambda: rejections(probe).get('rejected: payload') == '1', 'the refusal')
    publisher.publish(Float64(data=0.0))
    probe.until(lambda: probe.last['events'].message == '0 kg', 'the event')


def test_the_others_report_it_when_the_dynamics_node_is_killed(machine, probe):
    machine.kill('dynamics_node')
    for name in ('hydraulic_actuator_node', 'controller_node'):
        probe.until(lambda name=name: silences(probe, name), f'the report of {name}')
    assert all(process.poll() is None for process in machine.running.values())


@pytest.fixture
def probe_of_domain(domain):
    with closing(Probe(domain)) as listener:
        yield listener


def test_lockstep_time_stands_still_while_the_actuator_node_is_dead(processes, probe_of_domain):
    probe = probe_of_domain
    lockstep = {'machine': 'log_loader', 'mode': 'lockstep'}
    probe.listen('sensor_msgs/msg/JointState', 'joint_states')
    processes.start('hydraulic_actuator_node', **lockstep)
    processes.start('controller_node', **lockstep)
    processes.start('dynamics_node', wait_for=['hydraulic_actuator_node', 'controller_node'], **lockstep)
    probe.until(lambda: probe.count['joint_states'] > 100, 'the first exchanges', 60)
    processes.kill('hydraulic_actuator_node')
    probe.until(lambda: level(probe, 'dynamics_node: commands') == ERROR, 'the report')
    seen = probe.last['joint_states'].header.stamp
    time.sleep(0.5)
    assert probe.last['joint_states'].header.stamp == seen
    processes.start('hydraulic_actuator_node', **lockstep)
    probe.until(lambda: probe.last['joint_states'].header.stamp != seen, 'time going on with the restarted node', 60)
