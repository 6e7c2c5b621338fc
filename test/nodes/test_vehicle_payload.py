"""The payload of the vehicle controller."""

from __future__ import annotations

import math

import pytest

from dyn_nodes.middleware import message
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.vehicle_controller_node import VehicleControllerNode

Float64 = message('std_msgs/msg/Float64')


def test_the_arm_holds_the_published_payload(make_node):
    node = make_node(VehicleControllerNode, machine='agv_mecanum_arm')
    assert node.servo.payload == 1.0
    node.receive('payload', Float64(data=6.0))
    assert node.servo.payload == 6.0
    for wrong in (9.0, -1.0, math.nan):
        node.receive('payload', Float64(data=wrong))
    assert node.servo.payload == 6.0
    assert node.rejections.values()['rejected: payload'] == '3'


def test_the_payload_of_the_start_counts_for_vehicle_and_arm(make_node):
    alone = make_node(VehicleControllerNode, machine='agv_mecanum_arm')
    node = make_node(VehicleControllerNode, machine='agv_mecanum_arm', payload=8.0)
    assert node.servo.payload == 8.0
    assert node.motion.base.inertia[0, 0] == pytest.approx(alone.motion.base.inertia[0, 0] + 7.0)


@pytest.mark.parametrize(
    ('machine', 'text'), [('agv_mecanum_arm', 'expected 0 to 8 kg, found 9'), ('car', 'no payload')]
)
def test_a_payload_that_cannot_be_is_rejected_at_the_start(make_node, machine, text):
    with pytest.raises(ParameterError, match=text):
        make_node(VehicleControllerNode, machine=machine, payload=9.0)
