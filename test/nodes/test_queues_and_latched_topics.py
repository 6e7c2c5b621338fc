"""No message of a lockstep run is lost on a slow subscriber; a late one receives latched messages."""

from __future__ import annotations

import pytest

from dyn_nodes.middleware import DurabilityPolicy, QoSProfile
from dyn_nodes.nodes.exchange import states_qos
from dyn_nodes.nodes.transforms import TFMessage

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
LOCKSTEP = {'machine': 'four_bar', 'mode': 'lockstep', 'report_period': 0.1, 'marker_period': 0.1}
INSTANTS = 301


def test_in_lockstep_a_reader_that_reads_after_the_run_gets_every_joint_state(tester, start_node):
    states = tester.listen('sensor_msgs/msg/JointState', 'joint_states', states_qos(LOCKSTEP))
    node = start_node('dynamics_node', **LOCKSTEP, partner='external', wait_for=[tester.node.get_name()], duration=0.3)
    status, errors = node.finish(300.0)
    assert status == 0, errors
    tester.until(lambda: len(states) >= INSTANTS)
    stamps = [state.header.stamp.sec * 1000 + state.header.stamp.nanosec // 1_000_000 for state in states]
    assert stamps == list(range(INSTANTS))


def test_a_late_subscriber_gets_the_description_and_the_fixed_frames(tester, start_node):
    states = tester.listen('sensor_msgs/msg/JointState', 'joint_states', 10)
    node = start_node('dynamics_node', **LOCKSTEP)  # its partner never comes: it stands at time 0
    tester.until(lambda: states or node.poll() is not None, 300.0)
    assert node.poll() is None
    descriptions = tester.listen('std_msgs/msg/String', 'robot_description', LATCHED)
    tester.until(lambda: descriptions)
    assert '<robot name="four_bar"' in descriptions[0].data
    if TFMessage is None:
        pytest.skip('the package tf2_msgs is not installed')
    frames = tester.listen('tf2_msgs/msg/TFMessage', '/tf_static', LATCHED)
    tester.until(lambda: frames)
    assert frames[0].transforms
