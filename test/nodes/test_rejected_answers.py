"""A rejected answer, such as an effort beyond its joint's limit at an end stop, does not stop lockstep."""

from __future__ import annotations

import math

import numpy as np
import pytest
from node_testing import statuses, values_of

from dyn_nodes.middleware import message
from dyn_nodes.nodes.dynamics_node import DynamicsNode
from dyn_nodes.nodes.stamps import stamp_of

JointState = message('sensor_msgs/msg/JointState')
"""The crank of the four-bar takes up to 100 N m."""


@pytest.fixture
def node(make_node):
    made = make_node(DynamicsNode, machine='four_bar')
    made.pacer.start_clock()
    return made


def answer(node, effort, stamp=None):
    reply = JointState(name=['crank_joint'], effort=[effort])
    reply.header.stamp = stamp_of(node.plant.time if stamp is None else stamp)
    node.receive('joint_command', reply)


def test_time_continues_with_the_joints_held_when_an_effort_is_beyond_its_limit(node):
    start = node.plant.positions.copy()
    for k in range(1, 51):
        answer(node, 150.0)
        assert node.plant.ticks == k
    assert np.abs(node.plant.positions - start).max() < 1e-6
    node.diagnostics.update(math.inf, 0.0)
    status = statuses(node.diagnostics.publisher.last)['commands']
    assert "effort of 'crank_joint': expected at most 100, found 150" in status.message
    assert values_of(status)['rejected: out of range'] == '50'
    assert not node.pacer.timed_out


def test_good_efforts_drive_the_joints_again_after_rejected_ones(node):
    answer(node, 150.0)
    start = node.plant.positions.copy()
    for _ in range(50):
        answer(node, 60.0)
    assert node.plant.ticks == 51
    assert np.abs(node.plant.positions - start).max() > 1e-3


@pytest.mark.parametrize('effort', [150.0, math.nan])
def test_a_rejected_command_of_another_instant_answers_nothing(node, effort):
    answer(node, 0.0)
    for stamp in (0.5 * node.plant.time, 2.0 * node.plant.time):
        answer(node, effort, stamp)
    assert node.plant.ticks == 1
