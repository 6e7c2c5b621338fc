"""Efforts of the arm through dynamics and governor as processes: what overturns the machine does not with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.model import load_machine
from dyn_nodes.nodes.exchange import command_qos
from dyn_nodes.share import find_resource
from dyn_nodes.studies.lever_effects import Efforts
from dyn_nodes.studies.measured_samples import Sample

JointState, Odometry = message('sensor_msgs/msg/JointState'), message('nav_msgs/msg/Odometry')
PAYLOAD, EXCHANGE = 5100.0, 0.005
OUT = np.array([0.0, -0.5, 0.6])
"""Accelerations that reach out, rad/s2."""


@pytest.fixture(scope='module')
def controller():
    """One that carries the arm and gives it accelerations, up to the limits of its speeds, heedless of the wheels."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    return Efforts(replace(machine, actuators=()))


@pytest.mark.parametrize('governed', [False, True])
def test_an_arm_that_reaches_out_with_a_load_overturns_the_machine_only_without_the_governor(
    processes, probe, controller, governed
):
    topic, tilts, states = 'joint_command_in' if governed else 'joint_command', [], []
    publisher = probe.node.create_publisher(JointState, topic, command_qos(True))

    def answer(msg):
        states.append(np.array(msg.position))
        sample = Sample(0.0, states[-1], np.array(msg.velocity), None)
        reply = JointState(name=list(controller.names))
        reply.effort = controller.wanted(OUT, sample, PAYLOAD).tolist()
        reply.header.stamp = msg.header.stamp
        publisher.publish(reply)

    def lean(msg):
        q = msg.pose.pose.orientation
        tilts.append(2.0 * np.hypot(q.x, q.y))

    probe.node.create_subscription(JointState, 'joint_states', answer, QoSProfile(depth=100))
    probe.node.create_subscription(Odometry, 'odom', lean, QoSProfile(depth=100))
    common = {'machine': 'log_loader', 'mode': 'lockstep', 'payload': PAYLOAD, 'exchange_period': EXCHANGE}
    nodes = ['probe']
    if governed:
        exact = {'delay': 0.0, 'mass_error': 0.0, 'payload_error': 0.0}
        processes.start('tip_over_governor_node', output='joint_command', **common, **exact)
        nodes.append('tip_over_governor_node')
    processes.start('dynamics_node', wait_for=nodes, duration=5.0, **common)
    processes.wait('dynamics_node', 180)
    assert len(states) > 200, processes.log('dynamics_node')
    tilt = np.degrees(max(tilts) - tilts[0])
    if governed:
        assert tilt < 2.0
        assert states[-1][1] < states[0][1] - 0.05, 'it went out as far as it may'
        assert len(states) == round(5.0 / EXCHANGE) + 1
    else:
        assert tilt > 20.0
