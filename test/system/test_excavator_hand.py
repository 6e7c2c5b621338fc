"""The bucket of the excavator guided on a line over topics: closed loops, tracks, oil and separate processes."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.hand import hand_of
from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.stamps import seconds_of_stamp

JointState, PoseStamped = message('sensor_msgs/msg/JointState'), message('geometry_msgs/msg/PoseStamped')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
OTHERS = ['hydraulic_actuator_node', 'cartesian_controller_node']
WAY = np.array([-0.5, 0.0, 0.6])


@pytest.mark.slow
def test_the_bucket_of_the_excavator_follows_a_line_on_its_cylinders(processes, probe):
    """Fast counterpart: the log-loader in test_hand_through_nodes.py, and loops in test/control/test_loop_hand.py."""
    machine = machine_of('excavator', '')
    hand = hand_of(machine, 'bucket_link')
    positions, volts = [], []

    def note(msg):
        values = dict(zip(msg.name, msg.position))
        pose = hand.pose(np.array([values[name] for name in hand.names]))
        positions.append((seconds_of_stamp(msg.header.stamp), *pose.position))

    probe.node.create_subscription(JointState, 'joint_states', note, QoSProfile(depth=5000))
    probe.node.create_subscription(
        Float64MultiArray, 'valve_commands', lambda msg: volts.append(list(msg.data)), QoSProfile(depth=5000)
    )
    probe.listen('std_msgs/msg/String', 'hand_state', latched=True)
    target = probe.node.create_publisher(PoseStamped, 'hand_pose', 10)
    common = {'machine': 'excavator', 'mode': 'lockstep', 'exchange_period': 0.005}
    processes.start('hydraulic_actuator_node', **common)
    processes.start('cartesian_controller_node', link='bucket_link', **common)
    probe.until(lambda: target.get_subscription_count() > 0, 'the match with cartesian_controller_node', 250)
    processes.start('dynamics_node', wait_for=OTHERS, duration=6.5, **common)
    probe.until(lambda: len(positions) > 3, 'the first joint states', 250)
    start = np.array(positions[0][1:])
    goal = PoseStamped()
    goal.header.frame_id = machine.base.link
    goal.pose.position.x, goal.pose.position.y, goal.pose.position.z = map(float, start + WAY)
    goal.pose.orientation.w = 1.0
    target.publish(goal)
    assert processes.wait('dynamics_node', 280) == 0, processes.log('dynamics_node')
    processes.stop()
    assert 'Traceback' not in processes.log('cartesian_controller_node')
    moved = np.array(positions)[:, 1:] - start
    along = moved @ WAY / np.linalg.norm(WAY)
    off = np.linalg.norm(moved - np.outer(along, WAY / np.linalg.norm(WAY)), axis=1)
    assert off.max() < 0.05
    assert along[-1] == pytest.approx(np.linalg.norm(WAY), abs=0.05)
    assert 0.5 < np.abs(volts).max() <= max(actuator.command_limit for actuator in machine.actuators)
    assert probe.last['hand_state'].data == 'holding'
