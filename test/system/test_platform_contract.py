"""The contract of platform_controller_node, read by another process: topics, types, parameters, diagnostics, end."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from dyn_nodes.middleware import QoSProfile, message, service
from dyn_nodes.nodes.parameters import all_parameters
from dyn_nodes.nodes.stamps import stamp_of

JointState, PoseStamped = message('sensor_msgs/msg/JointState'), message('geometry_msgs/msg/PoseStamped')
ListParameters = service('rcl_interfaces/srv/ListParameters')
NODE, PERIOD, LENGTH = 'platform_controller_node', 0.005, 2.1967754158
OUTPUTS = {
    'valve_commands': 'std_msgs/msg/Float64MultiArray',
    'platform_state': 'std_msgs/msg/String',
    'platform_reference': 'geometry_msgs/msg/PoseStamped',
    'platform_measured': 'geometry_msgs/msg/PoseStamped',
    'platform_error/distance': 'std_msgs/msg/Float64',
    'platform_error/angle': 'std_msgs/msg/Float64',
}
INPUTS = {
    'joint_states': 'sensor_msgs/msg/JointState',
    'platform_pose': 'geometry_msgs/msg/PoseStamped',
    'platform_trajectory': 'trajectory_msgs/msg/MultiDOFJointTrajectory',
}
LATCHED = ('valve_commands', 'platform_state')


def legs(time):
    """Return the legs at rest in the initial pose, as a dynamics node publishes them beside the passive joints."""
    names = [f'leg_{k}_length_joint' for k in range(1, 7)]
    state = JointState(name=names, position=[LENGTH] * 6, velocity=[0.0] * 6, effort=[0.0] * 6)
    state.header.stamp = stamp_of(time)
    return state


def check_discovered(probe, ask, wanted):
    """Check topics and types of the node; the graph may have the node before its entities."""
    probe.until(lambda: {f'/{topic}' for topic in wanted} <= dict(ask(NODE, '/')).keys(), 'its discovery', 60.0)
    discovered = dict(ask(NODE, '/'))
    assert {topic: discovered[f'/{topic}'] for topic in wanted} == {topic: [kind] for topic, kind in wanted.items()}


@pytest.mark.timeout(400)
def test_topics_parameters_and_diagnostics_of_the_node(processes, probe):
    states = probe.node.create_publisher(JointState, 'joint_states', QoSProfile(depth=100))
    targets = probe.node.create_publisher(PoseStamped, 'platform_pose', QoSProfile(depth=10))
    for topic, kind in OUTPUTS.items():
        probe.listen(kind, topic, latched=topic in LATCHED)
    processes.start(NODE, machine='stewart_platform', mode='lockstep', exchange_period=PERIOD)
    probe.until(lambda: NODE in probe.node.get_node_names(), 'the node', 200.0)
    ready = (states.get_subscription_count, targets.get_subscription_count)
    probe.until(lambda: all(count() for count in ready), 'its subscriptions', 60.0)
    check_discovered(probe, probe.node.get_publisher_names_and_types_by_node, OUTPUTS)
    check_discovered(probe, probe.node.get_subscriber_names_and_types_by_node, INPUTS)

    instant = iter(range(10**6))

    def machine_is_at_rest():
        """Publish one more period with resting legs."""
        states.publish(legs(PERIOD * next(instant)))
        return True

    probe.until(lambda: machine_is_at_rest() and all(probe.count[topic] for topic in OUTPUTS), 'all its topics', 60.0)
    volts = probe.last['valve_commands']
    assert volts.layout.dim[0].label == ','.join(f'motor_{k}' for k in range(1, 7))
    assert np.abs(volts.data) == pytest.approx(np.full(6, 1.16 * 0.9289), rel=1e-2)  # the holding current of `check`
    measured = probe.last['platform_measured']
    assert measured.header.frame_id == 'ground'
    assert measured.pose.position.z == pytest.approx(1.8, abs=1e-6)
    assert probe.last['platform_error/distance'].data < 1e-6
    assert probe.last['platform_state'].data == 'holding'

    target = PoseStamped()
    target.pose.position.x, target.pose.position.z, target.pose.orientation.w = 0.01, 1.8, 1.0

    def moves():
        targets.publish(target)
        return machine_is_at_rest() and probe.last['platform_state'].data == 'moving'

    probe.until(moves, 'the way to the pose')
    probe.until(
        lambda: machine_is_at_rest() and probe.last['platform_reference'].pose.position.x > 1e-3, 'its reference'
    )

    statuses = {f'{NODE}: {name}' for name in ('joint_states', 'platform')}
    probe.until(lambda: machine_is_at_rest() and statuses <= set(probe.health), 'its diagnostics')
    assert set(probe.health[f'{NODE}: platform'][2]) >= {'link', 'joints', 'distance', 'angle', 'condition', 'state'}
    listed = probe.ask(ListParameters, f'{NODE}/list_parameters', ListParameters.Request()).result.names
    assert {item.name for item in all_parameters(NODE)} <= set(listed)

    processes.running[NODE].send_signal(signal.SIGINT)
    assert processes.wait(NODE, 60) in (0, 130, -2)
    assert 'Traceback' not in processes.log(NODE)
