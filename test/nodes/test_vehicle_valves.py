"""The vehicle controller with valve_commands: tracks by cmd_vel, the other valves by levers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from node_testing import Outbox, joint_state, statuses, values_of

from dyn_nodes.control.wheel_unit import NoVehicleError
from dyn_nodes.middleware import message
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stamps import stamp_of
from dyn_nodes.nodes.vehicle_controller_node import DRIVING, HOLDING, VehicleControllerNode

TwistStamped = message('geometry_msgs/msg/TwistStamped')
JointTrajectory = message('trajectory_msgs/msg/JointTrajectory')
Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
PERIOD = 0.005
BOOM, LEFT, RIGHT = 0, 4, 5


@pytest.fixture
def node(make_node: Callable[..., Any]) -> Any:
    made = make_node(VehicleControllerNode, machine='excavator', output='valve_commands', exchange_period=PERIOD)
    made.odom_out, made.slip_out, made.valves.publisher = Outbox(), Outbox(), Outbox()
    return made


def states(node: Any, time: float, left: float = 0.0, right: float = 0.0, effort: float = 0.0) -> Any:
    """Joint states in the initial posture, sprockets at these rates from time 0 on."""
    initial = node.machine.initial.joint_positions
    rates = {'left_sprocket_joint': left, 'right_sprocket_joint': right}
    names = list(node.joints)
    positions = [rates[name] * time if name in rates else initial[name] for name in names]
    efforts = [effort if name in rates else 0.0 for name in names]
    return joint_state(time, positions, [rates.get(name, 0.0) for name in names], efforts, names)


def play(node: Any, start: float, end: float, **motion: float) -> Any:
    for k in range(round(start / PERIOD), round(end / PERIOD)):
        node.receive('joint_states', states(node, k * PERIOD, **motion))
    return node.valves.publisher


def twist(vx: float, wz: float = 0.0, stamp: float = 0.0) -> Any:
    result = TwistStamped()
    result.twist.linear.x, result.twist.angular.z = vx, wz
    result.header.stamp = stamp_of(stamp)
    return result


def levers(**volts: float) -> Any:
    names = ('boom', 'arm', 'bucket', 'swing', 'left_travel', 'right_travel')
    return Float64MultiArray(data=[volts.get(name, 0.0) for name in names])


def test_every_command_period_has_its_volts_and_neutral_ones_without_a_command(node: Any) -> None:
    sent = play(node, 0.0, 0.1).messages
    assert len(sent) == 10  # a command every 10 ms, joint states every 5 ms
    assert not np.any([msg.data for msg in sent])
    assert node.state == HOLDING


def test_cmd_vel_opens_the_valves_of_both_tracks_beyond_their_dead_zone(node: Any) -> None:
    play(node, 0.0, 0.1)
    node.receive('cmd_vel', twist(0.4, stamp=0.1))
    volts = play(node, 0.1, 0.5).last.data
    assert node.state == DRIVING
    assert volts[LEFT] == pytest.approx(volts[RIGHT])
    assert 0.5 < volts[LEFT] <= 8.0
    assert not any(volts[:4])


def test_a_turn_asks_for_faster_belts_than_without_slip(node: Any) -> None:
    play(node, 0.0, 0.1)
    node.receive('cmd_vel', twist(0.0, 0.2, stamp=0.1))
    volts = play(node, 0.1, 0.4).last.data
    assert volts[LEFT] < -0.5 < 0.5 < volts[RIGHT]
    left, right = node.motion.reference.wheel_speeds
    rate = node.motion.base.moved(node.motion.drive.twist)[2]
    assert (right - left) * 0.36 / 2.2 > 1.4 * rate > 0.0


def test_the_odometry_of_the_tracks_turns_less_than_their_belts(node: Any) -> None:
    play(node, 0.0, 2.0, left=-0.5, right=0.5)
    yaw, without_slip = node.motion.odometry.pose[2], 2.0 * 0.5 * 0.36 / 2.2 * 1.99
    assert without_slip / yaw == pytest.approx(node.motion.base.slip.gauge_factor(0.0, 0.2), rel=0.01)


def test_levers_of_the_other_valves_pass_and_expire(node: Any) -> None:
    play(node, 0.0, 0.1)
    node.receive('cmd_vel', twist(0.3, stamp=0.1))
    node.receive('valve_commands_in', levers(boom=3.0, left_travel=8.0))
    volts = play(node, 0.1, 0.3).last.data
    assert volts[BOOM] == 3.0
    assert volts[LEFT] == pytest.approx(volts[RIGHT])  # cmd_vel drives the tracks
    assert play(node, 0.3, 0.8).last.data[BOOM] == 0.0  # nothing came for cmd_vel_timeout


def test_levers_drive_the_tracks_while_cmd_vel_asks_for_nothing(node: Any) -> None:
    play(node, 0.0, 0.1)
    node.receive('valve_commands_in', levers())
    assert drawn(node, 0.1, left_travel=4.0, right_travel=-4.0) == (4.0, -4.0)


def drawn(node: Any, start: float, **volts: float) -> tuple[float, float]:
    """The volts of both tracks 50 ms after levers have come."""
    node.receive('valve_commands_in', levers(**volts))
    sent = play(node, start, start + 0.05).last.data
    return sent[LEFT], sent[RIGHT]


def test_levers_held_while_cmd_vel_drove_act_only_after_they_have_been_neutral(node: Any) -> None:
    play(node, 0.0, 0.1)
    node.receive('valve_commands_in', levers())
    node.receive('cmd_vel', twist(0.3, stamp=0.1))
    held, end = {'boom': 2.0, 'left_travel': 6.0, 'right_travel': 6.0}, 40
    for k in range(2, end):  # cmd_vel times out, the vehicle stops
        drawn(node, 0.05 * k, **held)
    assert node.state == HOLDING
    assert drawn(node, 0.05 * end, **held) == (0.0, 0.0)
    assert node.valves.publisher.last.data[BOOM] == 2.0
    assert node._cmd_vel_health().values['levers that wait for neutral'] == 'left_travel, right_travel'
    assert drawn(node, 0.05 * (end + 1), left_travel=0.1, right_travel=6.0) == (0.1, 0.0)  # its ports are shut
    assert drawn(node, 0.05 * (end + 2), **held) == (6.0, 0.0)
    assert drawn(node, 0.05 * (end + 3)) == (0.0, 0.0)
    assert drawn(node, 0.05 * (end + 4), **held) == (6.0, 6.0)


def test_levers_of_tracks_are_neutral_once_before_they_act_at_the_start_and_after_a_restart(node: Any) -> None:
    play(node, 0.0, 0.1)
    assert drawn(node, 0.1, left_travel=4.0) == (0.0, 0.0)
    drawn(node, 0.15)
    assert drawn(node, 0.2, left_travel=4.0) == (4.0, 0.0)
    node.valves.restart()
    assert drawn(node, 0.25, left_travel=4.0) == (0.0, 0.0)
    drawn(node, 0.3)
    assert drawn(node, 0.35, left_travel=4.0) == (4.0, 0.0)


def test_wrong_levers_are_rejected_and_counted(node: Any) -> None:
    play(node, 0.0, 0.1)
    node.receive('valve_commands_in', Float64MultiArray(data=[1.0]))
    node.receive('joint_trajectory', JointTrajectory())
    assert not any(play(node, 0.1, 0.15).last.data)
    node.diagnostics.update(node.now() + 100.0)
    status = statuses(node.diagnostics.publisher.last)['cmd_vel']
    assert 'valve_commands_in' in str(values_of(status).values())


def test_a_vehicle_without_hydraulic_motors_has_no_valve_commands(make_node: Callable[..., Any]) -> None:
    with pytest.raises(NoVehicleError, match="expected a hydraulic actuator on joint 'front_left_drive', found none"):
        make_node(VehicleControllerNode, machine='agv_mecanum', output='valve_commands', exchange_period=PERIOD)


def test_efforts_of_an_arm_in_closed_loops_are_rejected_in_one_line(make_node: Callable[..., Any]) -> None:
    expected = (
        "'output': expected valve_commands or velocity for 'excavator', whose swing_joint, .*boom_pin.*found effort"
    )
    with pytest.raises(ParameterError, match=expected):
        make_node(VehicleControllerNode, machine='excavator', exchange_period=PERIOD)
