"""Nodes killed one by one, and commands that must not be used: the others say so and hold a safe state."""

from __future__ import annotations

import time

import numpy as np
import pytest

from dyn_nodes.middleware import QoSProfile, message

JointState = message('sensor_msgs/msg/JointState')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
Float64 = message('std_msgs/msg/Float64')
OK, WARN, ERROR = 0, 1, 2
COMMON = {'machine': 'log_loader', 'mode': 'realtime', 'exchange_period': 0.002}


def level(probe, name: str) -> int:
    return probe.health.get(name, (-1, '', {}))[0]


@pytest.fixture
def machine(processes, probe):
    """Dynamics, hydraulics and controller, running in real time at rest."""
    probe.listen('sensor_msgs/msg/JointState', 'joint_states')
    probe.listen('std_msgs/msg/Float64MultiArray', 'valve_commands')
    probe.listen('sensor_msgs/msg/JointState', 'joint_command')
    processes.start('dynamics_node', **COMMON)
    processes.start('hydraulic_actuator_node', **COMMON)
    processes.start('controller_node', **COMMON)
    probe.until(
        lambda: probe.count['joint_command'] > 20 and probe.count['valve_commands'] > 5, 'the first commands', 200
    )
    probe.until(lambda: level(probe, 'dynamics_node: commands') == OK, 'good health')
    return processes


def positions(probe) -> np.ndarray:
    return np.array(probe.last['joint_states'].position)


def test_dynamics_holds_the_joints_and_says_so_when_the_actuator_node_is_killed(machine, probe):
    before = positions(probe)
    machine.kill('hydraulic_actuator_node')
    probe.until(lambda: level(probe, 'dynamics_node: commands') == ERROR, 'the report of a silent actuator')
    seen = probe.count['joint_states']
    time.sleep(1.5)
    assert probe.count['joint_states'] > seen + 50
    assert np.abs(positions(probe) - before).max() < 2e-3


def test_the_machine_recovers_when_the_actuator_node_comes_back(machine, probe):
    machine.kill('hydraulic_actuator_node')
    probe.until(lambda: level(probe, 'dynamics_node: commands') == ERROR, 'the report of a silent actuator')
    machine.start('hydraulic_actuator_node', **COMMON)
    probe.until(lambda: level(probe, 'dynamics_node: commands') == OK, 'commands again', 60)


def test_spools_go_to_neutral_when_the_controller_is_killed(machine, probe):
    probe.listen('std_msgs/msg/Float64', 'hydraulics/boom/spool')
    machine.kill('controller_node')
    probe.until(
        lambda: any(h[0] >= WARN for n, h in probe.health.items() if n.startswith('hydraulic_actuator_node')),
        'the report of a silent controller',
    )
    probe.until(lambda: probe.count['hydraulics/boom/spool'] > 5, 'spool reports')
    assert abs(probe.last['hydraulics/boom/spool'].data) < 1e-6
    assert level(probe, 'dynamics_node: commands') == OK


def test_the_others_report_it_when_the_dynamics_node_is_killed(machine, probe):
    machine.kill('dynamics_node')
    for name in ('hydraulic_actuator_node', 'controller_node'):
        probe.until(
            lambda name=name: any(h[0] >= WARN for n, h in probe.health.items() if n.startswith(name)),
            f'the report of {name}',
        )
    assert all(process.poll() is None for process in machine.running.values())


ALL = ['swing_joint', 'boom_joint', 'stick_joint']
BAD_COMMANDS = {
    'not finite': (ALL, [0.0, float('nan'), 0.0]),
    'wrong size': (ALL, [0.0, 1.0]),
    'unknown joint': (['swing_joint', 'boom_joint', 'no_such_joint'], [0.0, 1.0, 2.0]),
    'out of range': (ALL, [0.0, 1e9, 0.0]),
    'missing joint': (['swing_joint'], [0.0]),
}


def refusals(probe) -> dict[str, str]:
    return probe.health.get('dynamics_node: commands', (0, '', {}))[2]


def publish_when_heard(probe, publisher, msg) -> None:
    """A volatile message is lost on a reader that has not matched the writer yet: give both sides a moment."""
    probe.until(lambda: publisher.get_subscription_count() > 0, 'the node', 60)
    time.sleep(0.5)
    publisher.publish(msg)


def test_bad_joint_commands_are_refused_counted_and_reported(processes, probe):
    processes.start('dynamics_node', **COMMON)
    publisher = probe.node.create_publisher(JointState, 'joint_command', QoSProfile(depth=10))
    for kind, (names, efforts) in BAD_COMMANDS.items():
        publish_when_heard(probe, publisher, JointState(name=names, effort=efforts))
        probe.until(lambda kind=kind: refusals(probe).get(f'refused: {kind}') == '1', kind)
    assert processes.running['dynamics_node'].poll() is None


def test_bad_valve_commands_are_refused_by_the_actuator_node(machine, probe):
    publisher = probe.node.create_publisher(Float64MultiArray, 'valve_commands', QoSProfile(depth=10))
    publish_when_heard(probe, publisher, Float64MultiArray(data=[float('nan'), 0.0, 0.0]))
    publisher.publish(Float64MultiArray(data=[1.0, 2.0]))

    def refused() -> bool:
        values: dict[str, str] = {}
        for name, health in probe.health.items():
            if name.startswith('hydraulic_actuator_node'):
                values.update(health[2])
        return values.get('refused: not finite') == '1' and values.get('refused: wrong size') == '1'

    probe.until(refused, 'both refusals')


def test_a_payload_beyond_the_limit_is_refused_and_one_within_is_taken(processes, probe):
    probe.listen('diagnostic_msgs/msg/DiagnosticStatus', 'events')
    processes.start('dynamics_node', **COMMON)
    publisher = probe.node.create_publisher(Float64, 'payload', QoSProfile(depth=10))
    publish_when_heard(probe, publisher, Float64(data=1e6))
    probe.until(lambda: refusals(probe).get('refused: payload') == '1', 'the refusal')
    publisher.publish(Float64(data=0.0))
    probe.until(lambda: probe.count['events'] > 0, 'the event')
    assert probe.last['events'].message == '0 kg'


def test_lockstep_time_stands_still_while_the_actuator_node_is_dead(processes, probe):
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
