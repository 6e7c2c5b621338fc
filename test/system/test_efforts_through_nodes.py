"""Efforts of the arm through dynamics and governor as processes: the governor prevents overturning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from harness import launched

from dyn_nodes.common.share import find_resource
from dyn_nodes.governor.campaign.lever_effects import Efforts
from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.model import load_machine
from dyn_nodes.monitor.measured_samples import Sample
from dyn_nodes.nodes.exchange import command_qos

JointState, Odometry = message('sensor_msgs/msg/JointState'), message('nav_msgs/msg/Odometry')
PAYLOAD, EXCHANGE = 5100.0, 0.005
OUT = np.array([0.0, -0.5, 0.6])
"""Accelerations of the reaching motion, rad/s2."""


@pytest.fixture(scope='module')
def controller():
    """Return a controller that carries the arm and accelerates it up to its speed limits, regardless of the wheels."""
    machine = load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))
    return Efforts(replace(machine, actuators=()))


class Reaching:
    """Answers joint states with efforts of the reaching motion on a topic, and records the states."""

    def __init__(self, probe, controller, topic, payload=PAYLOAD):
        self.controller, self.payload, self.tilts, self.states = controller, payload, [], []
        self.publisher = probe.node.create_publisher(JointState, topic, command_qos(True))
        probe.node.create_subscription(JointState, 'joint_states', self.answer, QoSProfile(depth=100))
        probe.node.create_subscription(Odometry, 'odom', self.lean, QoSProfile(depth=100))

    def answer(self, msg):
        self.states.append(np.array(msg.position))
        sample = Sample(0.0, self.states[-1], np.array(msg.velocity), None)
        reply = JointState(name=list(self.controller.names))
        reply.effort = self.controller.wanted(OUT, sample, self.payload).tolist()
        reply.header.stamp = msg.header.stamp
        self.publisher.publish(reply)

    def lean(self, msg):
        q = msg.pose.pose.orientation
        self.tilts.append(2.0 * np.hypot(q.x, q.y))

    @property
    def tilt(self):
        """Return the greatest tilt of the base, degrees."""
        return np.degrees(max(self.tilts) - self.tilts[0])

    def assert_held(self):
        assert self.tilt < 2.0
        assert self.states[-1][1] < self.states[0][1] - 0.05, 'it went out as far as it may'


@pytest.mark.parametrize('governed', [False, True])
def test_an_arm_that_reaches_out_with_a_load_overturns_the_machine_only_without_the_governor(
    processes, probe, controller, governed
):
    arm = Reaching(probe, controller, 'joint_command_in' if governed else 'joint_command')
    common = {'machine': 'log_loader', 'mode': 'lockstep', 'payload': PAYLOAD, 'exchange_period': EXCHANGE}
    nodes = ['probe']
    if governed:
        exact = {'delay': 0.0, 'mass_error': 0.0, 'payload_error': 0.0}
        processes.start('tip_over_governor_node', output='joint_command', **common, **exact)
        nodes.append('tip_over_governor_node')
    processes.start('dynamics_node', wait_for=nodes, duration=5.0, **common)
    processes.wait('dynamics_node', 180)
    assert len(arm.states) > 200, processes.log('dynamics_node')
    if governed:
        arm.assert_held()
        assert len(arm.states) == round(5.0 / EXCHANGE) + 1
    else:
        assert arm.tilt > 20.0


@pytest.mark.parametrize('governed', [False, True])
def test_the_launch_of_any_machine_accepts_external_efforts_with_and_without_the_governor(
    domain, probe, controller, governed
):
    arm = Reaching(probe, controller, 'joint_command_in' if governed else 'joint_command', 3000.0)
    exact = ['payload_error:=0.0', 'mass_error:=0.0', 'governor:=true'] if governed else ['controller:=false']
    # slower than real time: on a busy computer answers may be late
    words = ['machine:=log_loader', 'payload:=3000.0', 'duration:=5.0', 'speed:=0.2', *exact]
    text = launched(domain, 'machine', *words)
    assert 'controller_node' not in text
    assert 'the run of 5 s is over' in text
    if governed:
        arm.assert_held()
    else:
        assert arm.tilt > 5.0
