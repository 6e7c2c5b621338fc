"""The cartesian controller node, callback by callback."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from node_testing import EFFORTS, JOINTS, POSTURE, Outbox, joint_state, statuses

from dyn_nodes.control.hand import HandKinematics
from dyn_nodes.middleware import Parameter, message
from dyn_nodes.nodes.cartesian_controller_node import CartesianControllerNode
from dyn_nodes.nodes.hand_messages import fill_pose
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stamps import stamp_of

PoseStamped, TwistStamped = message('geometry_msgs/msg/PoseStamped'), message('geometry_msgs/msg/TwistStamped')
Path, Odometry, Float64 = (
    message('nav_msgs/msg/Path'),
    message('nav_msgs/msg/Odometry'),
    message('std_msgs/msg/Float64'),
)
PERIOD = 0.01


@pytest.fixture
def make(make_node):
    def build(**parameters: Any) -> Any:
        node = make_node(CartesianControllerNode, **{'exchange_period': PERIOD, **parameters})
        node.state_out, node.reference_out, node.error_out = Outbox(), Outbox(), Outbox()
        return node

    return build


def pose(x, y, z, frame='', stamp=0.0):
    result = PoseStamped()
    result.header.frame_id, result.header.stamp = frame, stamp_of(stamp)
    result.pose.position.x, result.pose.position.y, result.pose.position.z = float(x), float(y), float(z)
    result.pose.orientation.w = 1.0
    return result


def twist(x, y, z, frame='', stamp=0.0):
    result = TwistStamped()
    result.header.frame_id, result.header.stamp = frame, stamp_of(stamp)
    result.twist.linear.x, result.twist.linear.y, result.twist.linear.z = float(x), float(y), float(z)
    return result


def path(*poses, stamp=0.0):
    result = Path(poses=list(poses))
    result.header.stamp = stamp_of(stamp)
    return result


def follow(node, start, end, posture=POSTURE):
    """Simulate a machine that follows the reference exactly; return its postures."""
    postures = [np.array(posture)]
    for k in range(round(start / PERIOD), round(end / PERIOD)):
        node.receive('joint_states', joint_state(k * PERIOD, postures[-1]))
        postures.append(node.follower.sample((k + 1) * PERIOD).position)
    return postures


def hand_position(node, posture):
    return node.hand.pose(posture).position


def hand_status(node):
    node.update_diagnostics()
    node.diagnostics.update(node.now() + 2.0, 0.0)
    return statuses(node.diagnostics.publisher.last)['hand']


def test_without_a_target_the_valves_are_neutral_and_each_period_has_one_command(make):
    node = make()
    follow(node, 0.0, 0.2)
    sent = [list(m.data) for m in node.commands_out.messages]
    assert len(sent) == 20
    assert not np.any(sent)
    assert node.commands_out.last.layout.dim[0].label == 'boom,stick,swing'
    assert [m.data for m in node.state_out.messages] == ['holding']


def test_a_pose_is_reached_on_a_straight_line(make):
    node = make()
    posture = follow(node, 0.0, 0.1)[-1]
    start = hand_position(node, posture)
    goal = start + np.array([0.3, 0.2, -0.4])
    node.receive('hand_pose', pose(*goal, frame='base_link'))
    postures = follow(node, 0.1, 4.0, posture)
    hand_positions = np.array([hand_position(node, each) for each in postures]) - start
    along = np.array([0.3, 0.2, -0.4]) / np.linalg.norm([0.3, 0.2, -0.4])
    assert np.linalg.norm(hand_positions - np.outer(hand_positions @ along, along), axis=1).max() < 1e-4
    np.testing.assert_allclose(hand_position(node, postures[-1]), goal, atol=1e-4)
    assert [m.data for m in node.state_out.messages] == ['holding', 'tracking', 'holding']
    assert np.abs([m.data for m in node.commands_out.messages]).max() > 0.5
    assert node.error_out.last.data < 0.02
    assert node.reference_out.last.header.frame_id == 'base_link'


def test_a_twist_moves_the_hand_until_it_times_out(make):
    node = make()
    posture = follow(node, 0.0, 0.1)[-1]
    start = hand_position(node, posture)
    node.receive('hand_twist', twist(0.0, 0.2, 0.0))
    postures = follow(node, 0.1, 3.0, posture)
    moved = hand_position(node, postures[-1]) - start
    assert 0.09 < moved[1] < 0.25  # half a second, and the way to rest
    assert np.abs(moved[[0, 2]]).max() < 1e-3
    assert node.timeouts == 1
    assert [m.data for m in node.state_out.messages] == ['holding', 'tracking', 'holding']


def test_a_path_goes_through_its_corners_at_the_times_of_its_stamps(make):
    node = make()
    posture = follow(node, 0.0, 0.1)[-1]
    start = hand_position(node, posture)
    corners = start + np.array([[0.2, 0.0, -0.2], [0.2, 0.3, -0.2]])
    node.receive('hand_path', path(pose(*corners[0], stamp=3.0), pose(*corners[1], stamp=6.0)))
    postures = follow(node, 0.1, 7.0, posture)
    hand_positions = np.array([hand_position(node, each) for each in postures])
    lead = round(node.follower.lead / PERIOD)
    np.testing.assert_allclose(hand_positions[300 + lead], corners[0], atol=1e-3)
    np.testing.assert_allclose(hand_positions[-1], corners[1], atol=1e-3)


def test_beyond_reach_the_hand_stops_and_reports_the_reason(make):
    node = make()
    posture = follow(node, 0.0, 0.1, (0.0, 0.2, -0.8))[-1]
    node.receive('hand_pose', pose(9.0, -0.12, hand_position(node, posture)[2]))
    follow(node, 0.1, 4.5, posture)
    assert node.state_out.last.data == 'stopped: singular posture ahead'
    assert 'slowed: stick_joint at its greatest speed' in [m.data for m in node.state_out.messages]
    status = hand_status(node)
    assert status.level == 1
    assert 'singular posture ahead (condition number' in status.message


def test_in_the_world_the_pose_of_the_base_is_taken_off(make):
    node = make(target_frame='world')
    follow(node, 0.0, 0.1)
    node.receive('hand_pose', pose(4.0, 0.0, 4.0, 'odom'))
    assert node.rejections.counts == {'no odom': 1}
    odom = Odometry()
    odom.pose.pose.position.z, odom.pose.pose.orientation.w = 1.5, 1.0
    node.receive('odom', odom)
    posture = follow(node, 0.1, 0.2)[-1]
    goal = hand_position(node, posture) + np.array([0.2, 0.0, -0.2])
    node.receive('hand_pose', pose(goal[0], goal[1], goal[2] + 1.5, 'odom'))
    np.testing.assert_allclose(hand_position(node, follow(node, 0.2, 4.0, posture)[-1]), goal, atol=1e-4)


def test_a_hand_in_the_world_is_held_where_the_pose_of_the_base_is_lost(make):
    """A moving vehicle would take a hand that is controlled by its last pose anywhere."""
    node = make(target_frame='world', mode='realtime', partner='external', command_timeout=60.0)
    odom = Odometry()
    odom.pose.pose.position.z, odom.pose.pose.orientation.w = 1.5, 1.0
    node.receive('odom', odom)
    posture = follow(node, 0.0, 0.2)[-1]
    goal = hand_position(node, posture) + np.array([0.2, 0.0, 1.3])
    node.receive('hand_pose', pose(*goal, 'odom'))
    assert follow(node, 0.2, 0.4, posture) is not None
    assert node.follower.reference.moving
    node.base_received_at -= 100.0
    follow(node, 0.4, 0.5, posture)
    assert not node.follower.reference.moving
    assert node._hand_health().text.startswith('no odom')
    node.receive('hand_pose', pose(*goal, 'odom'))
    assert node.rejections.counts == {'no odom': 1}
    node.receive('odom', odom)
    node.receive('hand_pose', pose(*goal, 'odom'))
    assert node.follower.reference.moving


@pytest.mark.parametrize('simulated', [False, True])
def test_only_in_a_simulation_may_the_pose_of_the_base_stay_away_with_a_partner_that_is_not_named(make, simulated):
    node = make(target_frame='world', mode='realtime', command_timeout=60.0, use_sim_time=simulated)
    odom = Odometry()
    odom.pose.pose.position.z, odom.pose.pose.orientation.w = 1.5, 1.0
    node.receive('odom', odom)
    posture = follow(node, 0.0, 0.2)[-1]
    node.receive('hand_pose', pose(*hand_position(node, posture) + np.array([0.2, 0.0, 1.3]), 'odom'))
    follow(node, 0.2, 0.4, posture)
    node.check_timeouts()
    node.base_received_at -= 100.0
    follow(node, 0.4, 0.5, posture)
    assert node.follower.reference.moving is simulated


def test_positions_of_the_hands_joints_are_commanded_where_valves_are_not(make):
    node = make(machine='arm_pa10', output='joint_command', link='link_7', exchange_period=0.005)
    names = node.hand.names

    def states(k, q):
        return joint_state(0.005 * k, q, np.zeros(7), np.zeros(7), names)

    q = np.array([0.3, 0.4, -0.2, 1.1, 0.5, 0.7, 0.1])
    node.receive('joint_states', states(0, q))
    np.testing.assert_allclose(node.commands_out.last.position, q)
    goal = node.hand.pose(q).moved([0.05, 0.05, -0.1, 0, 0, 0])
    target = pose(*goal.position)
    fill_pose(target, goal)
    node.receive('hand_pose', target)
    for k in range(1, 500):
        node.receive('joint_states', states(k, q))
        q = np.array(node.commands_out.last.position)
    assert len(node.commands_out.messages) == 500
    np.testing.assert_allclose(node.hand.pose(q).error_to(goal), 0.0, atol=1e-5)


def test_time_that_goes_back_holds_the_joints(make):
    node = make()
    posture = follow(node, 0.0, 0.5)[-1]
    node.receive('hand_twist', twist(0.0, 0.2, 0.0))
    follow(node, 0.5, 0.8, posture)
    node.receive('joint_states', joint_state(0.0, POSTURE))
    assert not node.follower.reference.moving
    np.testing.assert_allclose(node.follower.sample(0.0).position, POSTURE)


@pytest.mark.parametrize(
    ('callback', 'msg', 'kind', 'text'),
    [
        ('_on_pose', pose(1, 1, 1, 'map'), 'wrong frame', "frame_id: expected 'base_link' or nothing, found 'map'"),
        ('_on_pose', pose(float('nan'), 1, 1), 'not finite', 'hand_pose: pose: expected finite numbers'),
        ('_on_pose', pose(1e9, 1, 1), 'out of range', 'hand_pose: pose.position: expected at most'),
        ('_on_twist', twist(float('inf'), 0, 0), 'not finite', 'hand_twist: expected finite numbers'),
        ('_on_twist', twist(0, 1e6, 0), 'out of range', 'hand_twist: expected at most'),
        ('_on_path', path(), 'wrong size', 'hand_path: poses: expected 1 to 1000, found 0'),
        ('_on_path', path(pose(5, 0, 1, stamp=2.0), pose(5, 0, 2, stamp=1.0)), 'bad trajectory', r'path: poses\[1\]'),
        ('_on_path', path(pose(5, 0, 1, stamp=9.0), pose(5, 0, 2, stamp=9.1)), 'bad trajectory', 'duration: expected'),
        ('_on_payload', Float64(data=1e9), 'payload', 'payload: expected 0 to 6000 kg'),
    ],
)  # fmt: skip
def test_an_invalid_target_is_rejected_and_nothing_moves(make, callback, msg, kind, text):
    node = make()
    posture = follow(node, 0.0, 0.1)[-1]
    getattr(node, callback)(msg)
    assert node.rejections.counts == {kind: 1}
    assert re.search(text, node.rejections.last)
    follow(node, 0.1, 0.3, posture)
    assert not np.any([m.data for m in node.commands_out.messages])
    assert hand_status(node).message.startswith('rejected: ')


def test_a_turn_that_is_no_quaternion_is_rejected(make):
    node = make()
    follow(node, 0.0, 0.1)
    msg = pose(5, 0, 1)
    msg.pose.orientation.x = 1.0
    node.receive('hand_pose', msg)
    assert 'expected a quaternion of norm 1, found 1.41421' in node.rejections.last


def test_targets_before_the_first_joint_states_are_rejected(make):
    node = make()
    node.receive('hand_pose', pose(5, 0, 1))
    assert node.rejections.counts == {'no joint_states': 1}


@pytest.mark.parametrize(
    ('parameters', 'text'),
    [
        ({'link': 'hook'}, "unknown link 'hook'"),
        ({'joints': ['boom']}, 'expected some of swing_joint, boom_joint, stick_joint'),
        ({'rows': ['x', 'up']}, 'rows: expected some of x, y, z'),
        ({'singular.slow_condition': 500.0}, 'expected 1 <= slow_condition < stop_condition'),
        ({'machine': 'arm_pa10'}, 'no hydraulic actuators'),
        (
            {'machine': 'log_loader_linkage', 'singular.resolved_order': 3},
            "parameters 'singular': resolved_order: expected 0 to 2 through closed loops, found 3",
        ),
        ({'machine': 'five_bar', 'link': 'coupler_1'}, "unknown link 'coupler_1'"),
        ({'payload': 1e5}, 'payload: expected 0 to 6000 kg'),
    ],
)
def test_parameters_that_do_not_fit_the_machine_are_rejected_by_name(make, parameters, text):
    with pytest.raises(ParameterError, match=text):
        make(**parameters)


def test_limits_and_gains_change_while_it_runs(make):
    node = make()
    posture = follow(node, 0.0, 0.1)[-1]
    node.set_parameters([Parameter('limits.speed', value=0.1), Parameter('gains.position', value=2.0)])
    node.receive('hand_pose', pose(*(hand_position(node, posture) + np.array([0.3, 0.0, -0.3]))))
    postures = follow(node, 0.1, 3.0, posture)
    speeds = np.linalg.norm(np.diff([hand_position(node, each) for each in postures], axis=0), axis=1) / PERIOD
    assert speeds.max() == pytest.approx(0.1, rel=1e-3)
    assert node.output.loops.gains.position == 2.0


def test_of_parameters_that_are_rejected_together_none_is_used(make):
    node = make()
    before = node.output.loops.gains.position, node.limits
    wanted = {'gains.position': 9.0, 'limits.speed': 0.01, 'motors.law': 'foo'}
    answer = node.set_parameters_atomically([Parameter(name, value=value) for name, value in wanted.items()])
    assert not answer.successful
    assert answer.reason == "parameter 'motors.law': expected one of joints, hand; found 'foo'"
    assert (node.output.loops.gains.position, node.limits) == before
    assert node.values['gains.position'] == node.get_parameter('gains.position').value == before[0]


def test_other_joints_of_the_machine_stay_in_the_posture(make):
    node = make(joints=['boom_joint', 'stick_joint'], rows=['x', 'z'])
    assert node.hand.joints == ('boom_joint', 'stick_joint')
    follow(node, 0.0, 0.1)
    assert isinstance(node.hand, HandKinematics)
    assert len(node.commands_out.last.data) == 3
    assert len(JOINTS) == len(EFFORTS)


def test_through_closed_loops_the_rods_lead_the_grapple_on_a_line(make):
    node = make(machine='log_loader_linkage', **{'singular.resolved_order': 2})
    assert set(node.hand.joints) == {'swing_joint', 'boom_rod_joint', 'stick_rod_joint'}
    names, rest = node.hand.names, np.zeros(len(node.hand.names))

    def led(posture, first, last):
        postures = [posture]
        for k in range(first, last):
            node.receive('joint_states', joint_state(k * PERIOD, postures[-1], rest, rest, names))
            rods = node.follower.sample((k + 1) * PERIOD).position
            postures.append(node.hand.with_joints(postures[-1], rods))
        return postures

    posture = led(node.hand.home, 0, 10)[-1]
    start, move = hand_position(node, posture), np.array([0.1, 0.05, -0.15])
    node.receive('hand_pose', pose(*(start + move)))
    postures = led(posture, 10, 210)
    ways = np.array([hand_position(node, each) for each in postures]) - start
    along = move / np.linalg.norm(move)
    assert np.linalg.norm(ways - np.outer(ways @ along, along), axis=1).max() < 1e-4
    np.testing.assert_allclose(ways[-1], move, atol=1e-4)
    assert [m.data for m in node.state_out.messages] == ['holding', 'tracking', 'holding']
    volts = np.array([list(m.data) for m in node.commands_out.messages])
    assert node.commands_out.last.layout.dim[0].label == 'boom,stick,swing'
    assert 0.5 < np.abs(volts).max() <= 8.0
