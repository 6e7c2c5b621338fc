"""The platform controller node, callback by callback."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from node_testing import Outbox, joint_state, statuses

from dyn_nodes.control.hand.kinematics import HandPose
from dyn_nodes.middleware import Parameter, message
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.nodes.hand_messages import fill_pose
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.platform_controller_node import PlatformControllerNode
from dyn_nodes.nodes.stamps import stamp_of

PoseStamped = message('geometry_msgs/msg/PoseStamped')
MultiDOFJointTrajectory = message('trajectory_msgs/msg/MultiDOFJointTrajectory')
MultiDOFJointTrajectoryPoint = message('trajectory_msgs/msg/MultiDOFJointTrajectoryPoint')
Transform, Twist = message('geometry_msgs/msg/Transform'), message('geometry_msgs/msg/Twist')
LEGS = [f'leg_{k}_length_joint' for k in range(1, 7)]
PERIOD = 0.01


@pytest.fixture
def make(make_node):
    def build(**parameters: Any) -> Any:
        values = {
            'machine': 'stewart_platform',
            'exchange_period': PERIOD,
            'command_period': PERIOD,
            'output': 'joint_command',
            **parameters,
        }
        node = make_node(PlatformControllerNode, **values)
        for name in ('state_out', 'reference_out', 'measured_out', 'distance_out', 'angle_out'):
            setattr(node, name, Outbox())
        return node

    return build


def pose(x=0.0, y=0.0, z=1.8, rpy=(0.0, 0.0, 0.0), frame='ground'):
    result = PoseStamped()
    result.header.frame_id = frame
    fill_pose(result, HandPose(matrix_of_rpy(rpy), np.array([x, y, z], dtype=float)))
    return result


def trajectory(*points, names=('platform',), frame='', stamp=0.0):
    """Of (time, pose) or (time, pose, velocities)."""
    result = MultiDOFJointTrajectory(joint_names=list(names))
    result.header.frame_id, result.header.stamp = frame, stamp_of(stamp)
    for time, at, *velocity in points:
        point, transform = MultiDOFJointTrajectoryPoint(), Transform()
        transform.translation.x, transform.translation.y, transform.translation.z = (
            getattr(at.pose.position, k) for k in 'xyz'
        )
        transform.rotation = at.pose.orientation
        point.transforms, stamp_ = [transform], stamp_of(time)
        point.time_from_start.sec, point.time_from_start.nanosec = stamp_.sec, stamp_.nanosec
        for linear in velocity:
            twist = Twist()
            twist.linear.x, twist.linear.y, twist.linear.z = linear
            point.velocities = [twist]
        result.points = [*result.points, point]
    return result


def states(time, positions, velocities=None):
    velocities = np.zeros(6) if velocities is None else velocities
    return joint_state(time, positions, velocities, np.zeros(6), LEGS)


def follow(node, start, end, legs=None):
    """A machine that follows its commands exactly; returns its legs at every period."""
    legs = node.follower.sample().position if legs is None else legs
    kept = [legs]
    for k in range(round(start / PERIOD), round(end / PERIOD)):
        node.receive('joint_states', states(k * PERIOD, kept[-1]))
        out = node.commands_out.last
        kept.append(np.array(out.position) + PERIOD * np.array(out.velocity))
    return kept


def platform_status(node):
    node.update_diagnostics()
    node.diagnostics.update(node.now() + 2.0, 0.0)
    return statuses(node.diagnostics.publisher.last)['platform']


def states_published(node):
    return [msg.data for msg in node.state_out.messages]


def test_without_a_target_the_platform_is_held(make):
    node = make()
    legs = follow(node, 0.0, 0.1)
    assert len(node.commands_out.messages) == 10
    assert np.ptp(legs, axis=0).max() < 1e-9
    assert states_published(node) == ['holding']
    measured = node.measured_out.last
    assert measured.header.frame_id == 'ground'
    assert measured.pose.position.z == pytest.approx(1.8, abs=1e-6)


def test_a_pose_is_reached_and_held(make):
    node = make()
    legs = follow(node, 0.0, 0.1)[-1]
    node.receive('platform_pose', pose(0.05, -0.03, 1.82, (0.05, -0.05, 0.1)))
    legs = follow(node, 0.1, 2.5, legs)[-1]
    goal = node.follower.reference.target
    assert goal.position == pytest.approx([0.05, -0.03, 1.82])
    position, rotation = node.follower.legs.pose(legs, [0, 0, 1.8], np.eye(3))
    assert position == pytest.approx(goal.position, abs=1e-5)
    assert rotation == pytest.approx(goal.rotation, abs=1e-5)
    assert states_published(node) == ['holding', 'moving', 'holding']
    assert max(m.data for m in node.distance_out.messages) < 1e-3
    assert max(m.data for m in node.angle_out.messages) < 1e-3


def test_a_trajectory_is_followed_at_its_times(make):
    node = make()
    legs = follow(node, 0.0, 0.1)[-1]
    node.receive(
        'platform_trajectory', trajectory((0.5, pose(0.03)), (1.0, pose(0.0, 0.03, rpy=(0, 0, 0.1))), (1.5, pose()))
    )
    legs = follow(node, 0.1, 0.61, legs)[-1]
    reference = node.follower.reference.motion.pose
    assert reference.position == pytest.approx([0.03, 0, 1.8], abs=1e-3)
    assert node.state == 'tracking'
    follow(node, 0.61, 1.8, legs)
    assert states_published(node) == ['holding', 'tracking', 'holding']
    assert node.follower.measured.position == pytest.approx([0, 0, 1.8], abs=1e-4)


def test_velocities_of_points_are_met(make):
    node = make()
    legs = follow(node, 0.0, 0.1)[-1]
    still, moving = (0.0, 0.0, 0.0), (0.1, 0.0, 0.0)
    node.receive('platform_trajectory', trajectory((0.5, pose(0.02), moving), (1.0, pose(0.07), still)))
    follow(node, 0.1, 0.6, legs)
    assert node.follower.reference.motion.twist[0] == pytest.approx(0.1, abs=2e-3)


def test_a_new_target_takes_over_without_a_jump(make):
    node = make()
    legs = follow(node, 0.0, 0.1)[-1]
    node.receive('platform_trajectory', trajectory((1.0, pose(0.1))))
    first = follow(node, 0.1, 0.6, legs)
    node.receive('platform_trajectory', trajectory((1.0, pose(0.0, 0.05))))
    second = follow(node, 0.6, 1.0, first[-1])
    node.receive('platform_pose', pose())
    third = follow(node, 1.0, 1.5, second[-1])
    speed = np.abs(np.diff([*first, *second[1:], *third[1:]], axis=0)) / PERIOD
    assert np.abs(np.diff(speed, axis=0)).max() < 0.025
    assert node.state == 'moving'
    assert node.targets == 3


def test_motors_get_voltages_that_hold_the_platform(make):
    """The holding current of `dyn-nodes check`, 0.929 A at 1.16 ohm."""
    node = make(output='valve_commands')
    legs = node.follower.sample().position
    node.receive('joint_states', states(0.0, legs))
    assert node.commands_out.last.layout.dim[0].label == ','.join(f'motor_{k}' for k in range(1, 7))
    assert np.abs(node.commands_out.last.data) == pytest.approx(np.full(6, 1.16 * 0.9289), rel=1e-3)
    node._on_timeout_tick()
    assert list(node.commands_out.last.data) == [0.0] * 6


def test_a_platform_that_lags_stops_where_it_is_and_reports_it(make):
    node = make()
    legs = follow(node, 0.0, 0.1)[-1]
    node.receive('platform_pose', pose(0.1))
    for k in range(10, 160):
        node.receive('joint_states', states(k * PERIOD, legs))  # the legs are stuck
    assert node.state.startswith('stopped: 2')
    assert node.follower.reference.state == 'holding'
    assert node.follower.reference.motion.pose.position == pytest.approx([0, 0, 1.8], abs=1e-6)
    status = platform_status(node)
    assert status.level == 1
    assert 'mm and 0.00 degrees from its reference' in status.message


def test_a_platform_that_leaves_its_reference_again_and_again_gets_no_voltage(make):
    node = make(output='valve_commands')
    home = node.follower.sample().position
    node.receive('joint_states', states(0.0, home))
    for k in range(1, 40):
        node.receive('joint_states', states(k * PERIOD, home + 0.03 * (k % 2)))  # it jumps to and fro
    assert node.state == 'fault: the platform has left its reference 3 times in 1 s'
    assert list(node.commands_out.last.data) == [0.0] * 6
    node.receive('joint_states', states(0.5, home))
    node.receive('platform_pose', pose(0.05))
    assert node.rejections.counts == {'fault': 1}
    assert list(node.commands_out.last.data) == [0.0] * 6
    node.receive('joint_states', states(0.0, home))  # time goes back
    assert node.state == 'holding'


def test_legs_that_no_pose_has_are_a_fault_until_they_are_plausible_again(make):
    node = make(output='valve_commands')
    legs = node.follower.sample().position
    node.receive('joint_states', states(0.0, legs))
    broken = legs.copy()
    broken[2] = 3.9
    node.receive('joint_states', states(PERIOD, broken))
    assert list(node.commands_out.last.data) == [0.0] * 6
    assert node.state.startswith('fault: expected positions of the legs for a pose near the last one')
    status = platform_status(node)
    assert status.level == 2
    assert status.message.endswith('motors at 0 V')
    node.receive('platform_pose', pose(0.05))
    assert node.rejections.counts == {'fault': 1}
    node.receive('joint_states', states(2 * PERIOD, legs))
    assert node.state == 'holding'
    assert np.abs(node.commands_out.last.data).max() > 0.5


def test_time_that_goes_back_holds_the_platform(make):
    node = make()
    legs = follow(node, 0.0, 0.1)[-1]
    node.receive('platform_pose', pose(0.1))
    legs = follow(node, 0.1, 0.4, legs)[-1]
    assert node.state == 'moving'
    node.receive('joint_states', states(0.0, legs))
    assert node.state == 'holding'


@pytest.mark.parametrize(('back', 'counts'), [(0.001, {'out of order': 1}), (5.0, {})])
def test_on_a_real_machine_stamps_that_go_back_do_not_play_the_file_again(make, tmp_path, back, counts):
    """A message out of order is rejected; after its clock was set back the platform is held."""
    path = tmp_path / 'path.yaml'
    path.write_text('poses:\n  up: {time: 0.5, position: [0, 0, 1.85]}\n')
    node = make(path=str(path), mode='realtime', partner='external')
    legs = follow(node, 10.0, 11.0)[-1]
    assert node.state == 'holding'
    node.receive('joint_states', states(10.99 - back, legs))
    assert node.state_rejections.counts == counts
    assert node.state == 'holding'
    assert np.ptp(follow(node, 11.0 - back, 12.0 - back, legs), axis=0).max() < 1e-6


@pytest.mark.parametrize('back', [0.001, 5.0])
def test_on_a_real_machine_stamps_that_go_back_give_a_platform_that_was_given_up_no_voltage(make, back):
    node = make(output='valve_commands', mode='realtime', partner='external')
    home = node.follower.sample().position
    for k in range(40):
        node.receive('joint_states', states(10.0 + k * PERIOD, home + 0.03 * (k % 2)))  # it jumps to and fro
    fault = 'fault: the platform has left its reference 3 times in 1 s'
    assert node.state == fault
    for k in range(10):
        node.receive('joint_states', states(10.39 - back + k * PERIOD, home))
    assert node.given_up
    assert node.state == fault
    assert list(node.commands_out.last.data) == [0.0] * 6


def test_the_motion_of_a_file_starts_at_time_0(make, tmp_path):
    path = tmp_path / 'path.yaml'
    path.write_text('poses:\n  up: {time: 0.5, position: [0, 0, 1.85]}\n  down: {time: 1.0, position: [0, 0, 1.8]}\n')
    node = make(path=str(path))
    follow(node, 0.0, 0.51)
    assert node.follower.reference.motion.pose.position == pytest.approx([0, 0, 1.85], abs=1e-6)
    with pytest.raises(ParameterError, match="parameter 'path'"):
        make(path='nowhere')


@pytest.mark.parametrize(
    ('callback', 'msg', 'kind', 'text'),
    [
        ('_on_pose', pose(frame='odom'), 'wrong frame', "frame_id: expected 'ground' or nothing, found 'odom'"),
        ('_on_pose', pose(float('nan')), 'not finite', 'platform_pose: pose: expected finite numbers'),
        ('_on_pose', pose(z=4.0), 'out of reach', 'length_joint: expected 1.6 to 2.8 m, found 2.8'),
        ('_on_trajectory', trajectory((1.0, pose()), names=['table']), 'unknown joint', "expected 'platform' alone"),
        ('_on_trajectory', trajectory(), 'wrong size', 'points: expected 1 to 1000, found 0'),
        ('_on_trajectory', trajectory((3.0, pose(z=3.5))), 'out of reach', 'found 2.8'),
        ('_on_trajectory', trajectory((1.0, pose()), (0.5, pose())), 'bad trajectory', 'points[2]: expected a time'),
        ('_on_trajectory', trajectory((0.0, pose(0.1)), (1.0, pose())), 'bad trajectory', 'points[0]: expected the'),
        ('_on_trajectory', trajectory((1.0, pose()), stamp=99.0), 'bad stamp', 'expected 0 or now'),
        ('_on_trajectory', trajectory((1.0, pose(float('inf')))), 'not finite', 'points[0].transforms[0]'),
        ('_on_trajectory', trajectory((1.0, pose(), (float('nan'), 0.0, 0.0))), 'out of range', 'velocities[0]'),
    ],
)  # fmt: skip
def test_an_invalid_target_is_rejected_and_nothing_moves(make, callback, msg, kind, text):
    node = make()
    legs = follow(node, 0.0, 0.04)[-1]
    getattr(node, callback)(msg)
    assert node.rejections.counts == {kind: 1}
    assert text in node.rejections.last
    assert np.ptp(follow(node, 0.04, 0.08, legs), axis=0).max() < 1e-9
    assert platform_status(node).message.startswith('rejected: ')


def test_targets_before_the_first_joint_states_are_rejected(make):
    node = make()
    node.receive('platform_pose', pose())
    node.receive('platform_trajectory', trajectory((1.0, pose())))
    assert node.rejections.counts == {'no joint_states': 2}


@pytest.mark.parametrize(
    ('parameters', 'text'),
    [
        ({'link': 'table'}, "expected driven prismatic joints and a link 'table'"),
        ({'machine': 'five_bar'}, 'expected a platform on driven legs of variable length, found none'),
        ({'machine': 'log_loader'}, 'expected a platform on driven legs of variable length, found none'),
        ({'exchange_period': 0.003}, "parameter 'command_period': in lockstep expected a multiple"),
    ],
)
def test_parameters_that_do_not_fit_the_machine_are_rejected_by_name(make, parameters, text):
    with pytest.raises(ParameterError, match=text):
        make(**parameters)


def test_limits_change_while_it_runs(make):
    node = make()
    legs = follow(node, 0.0, 0.04)[-1]
    node.set_parameters([Parameter('limits.speed', value=0.05)])
    node.receive('platform_pose', pose(0.1))
    follow(node, 0.04, 0.8, legs)
    assert np.linalg.norm(node.follower.reference.motion.twist[:3]) == pytest.approx(0.05, rel=1e-2)
    (answer,) = node.set_parameters([Parameter('limits.speed', value=-1.0)])
    assert not answer.successful
