"""The vehicle controller with valve_commands on electric motors: the volts of the efforts that it would have given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from node_testing import Outbox, joint_state

from dyn_nodes.control.motor_law import MotorLaw
from dyn_nodes.control.wheel_unit import NoVehicleError
from dyn_nodes.middleware import message
from dyn_nodes.nodes.drive_motor_output import DriveMotorOutput
from dyn_nodes.nodes.stamps import stamp_of
from dyn_nodes.nodes.vehicle_controller_node import VehicleControllerNode

TwistStamped = message('geometry_msgs/msg/TwistStamped')
PERIOD = 0.005
WHEELS = ('front_drive', 'left_drive', 'right_drive')


@pytest.fixture
def make(make_node: Callable[..., Any]) -> Callable[..., Any]:
    def build(**parameters: Any) -> Any:
        values = {'machine': 'agv_omni', 'config': 'agv_omni_motors', 'exchange_period': PERIOD, **parameters}
        node = make_node(VehicleControllerNode, command_period=PERIOD, **values)
        node.odom_out, node.slip_out = Outbox(), Outbox()
        return node

    return build


def drive(node: Any, count: int) -> list[np.ndarray]:
    """Answers to joint states of wheels that stand, under a twist from the first instant on."""
    box = node.commands_out
    if node.motors is not None:
        box = node.motors.publisher = Outbox()
    for k in range(count):
        node.receive('joint_states', joint_state(k * PERIOD, (0.0,) * 3, (0.01 * k,) * 3, (0.0,) * 3, WHEELS))
        if k == 0:
            twist = TwistStamped()
            twist.twist.linear.x, twist.header.stamp = 0.5, stamp_of(0.0)
            node.receive('cmd_vel', twist)
    field = 'data' if node.motors is not None else 'effort'
    return [np.array(getattr(msg, field)) for msg in box.messages]


def test_every_instant_has_the_volts_of_its_efforts(make: Callable[..., Any]) -> None:
    efforts, volts = drive(make(output='effort'), 20), drive(make(output='valve_commands'), 20)
    assert len(efforts) == len(volts) == 20
    law = MotorLaw(make().machine.actuators)
    for k, (wanted, published) in enumerate(zip(efforts, volts)):
        assert published == pytest.approx(law.voltages(wanted, np.full(3, 0.01 * k)), abs=1e-12)
    assert np.abs(volts[-1]).max() > 0.3
    assert np.abs(volts).max() <= 24.0


def test_the_wheels_of_the_controller_carry_their_rotors(make: Callable[..., Any]) -> None:
    on_motors, ideal = make(), make(config='agv_omni')
    for wheel, bare in zip(on_motors.motion.base.wheels, ideal.motion.base.wheels):
        assert wheel.axial_inertia - bare.axial_inertia == pytest.approx(20.0**2 * 1e-5)


def test_a_vehicle_with_a_wheel_without_a_motor_is_rejected(make: Callable[..., Any]) -> None:
    node = make()
    node.machine = replace(node.machine, actuators=node.machine.actuators[:2])
    with pytest.raises(NoVehicleError, match='found otherwise: right_drive'):
        DriveMotorOutput(node, WHEELS, WHEELS)
