"""The vehicle controller, callback by callback."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from node_testing import Outbox, joint_state, statuses, values_of

from dyn_nodes.control import torque_distribution
from dyn_nodes.middleware import Parameter, message
from dyn_nodes.nodes import transforms
from dyn_nodes.nodes.stamps import seconds_of_stamp, stamp_of
from dyn_nodes.nodes.vehicle_controller_node import DRIVING, HOLDING, STOPPING, VehicleControllerNode

Twist, TwistStamped = message('geometry_msgs/msg/Twist'), message('geometry_msgs/msg/TwistStamped')
JointTrajectory = message('trajectory_msgs/msg/JointTrajectory')
Point = message('trajectory_msgs/msg/JointTrajectoryPoint')
Duration = message('builtin_interfaces/msg/Duration')
WHEELS = tuple(f'{name}_drive' for name in ('front_left', 'front_right', 'rear_left', 'rear_right'))
PERIOD = 0.002


@pytest.fixture
def make(make_node: Callable[..., Any]) -> Callable[..., Any]:
    def build(**parameters: Any) -> Any:
        values = {'machine': 'agv_mecanum', 'exchange_period': PERIOD, **parameters}
        node = make_node(VehicleControllerNode, **values)
        node.odom_out, node.slip_out = Outbox(), Outbox()
        return node

    return build


def state(time: float, position: Any = (0.0,) * 4, velocity: Any = (0.0,) * 4, effort: Any = (0.0,) * 4) -> Any:
    return joint_state(time, position, velocity, effort, WHEELS)


def play(node: Any, start: float, end: float, speed: float = 0.0) -> None:
    """Feed joint states of wheels that turn evenly from time 0 on."""
    for k in range(round(start / PERIOD), round(end / PERIOD)):
        node.receive('joint_states', state(k * PERIOD, (speed * k * PERIOD,) * 4, (speed,) * 4))


def roll(node: Any, start: float, end: float) -> None:
    """Send joint states of wheels that follow their commands at once."""
    if start == 0.0:
        node.receive('joint_states', state(0.0))
    for k in range(max(1, round(start / PERIOD)), round(end / PERIOD)):
        reference = node.motion.reference
        node.receive('joint_states', state(k * PERIOD, node.motion._turns, reference.wheel_speeds))


def twist(vx: float = 0.0, vy: float = 0.0, wz: float = 0.0, stamp: float = 0.0) -> Any:
    result = TwistStamped()
    result.twist.linear.x, result.twist.linear.y, result.twist.angular.z = vx, vy, wz
    result.header.stamp = stamp_of(stamp)
    return result


def health(node: Any) -> dict[str, Any]:
    node.diagnostics.update(node.now() + 100.0)
    return statuses(node.diagnostics.publisher.last)


def level(status: Any) -> int:
    return status.level[0] if isinstance(status.level, bytes) else int(status.level)


class TestDriving:
    def test_every_joint_state_is_answered_with_its_stamp(self, make: Any) -> None:
        node = make()
        play(node, 0.0, 0.02)
        stamps = [seconds_of_stamp(m.header.stamp) for m in node.commands_out.messages]
        assert stamps == pytest.approx(np.arange(10) * PERIOD)
        assert list(node.commands_out.last.name) == list(WHEELS)

    def test_an_instant_that_is_asked_for_again_gets_the_same_answer(self, make: Any) -> None:
        node = make()
        play(node, 0.0, 0.02)
        node.receive('joint_states', state(0.018))
        first, second = node.commands_out.messages[-2:]
        assert first.header.stamp == second.header.stamp
        assert list(first.effort) == list(second.effort)
        assert node.sent == 10

    def test_cmd_vel_drives_all_wheels_ahead(self, make: Any) -> None:
        node = make()
        play(node, 0.0, 0.1)
        node.receive('cmd_vel', twist(vx=0.5))
        play(node, 0.1, 0.11)
        assert min(node.commands_out.last.effort) > 0.5
        assert node.state == DRIVING

    def test_a_plain_twist_is_accepted_if_the_parameter_is_set(self, make: Any) -> None:
        node = make(stamped_cmd_vel=False)
        play(node, 0.0, 0.01)
        msg = Twist()
        msg.linear.y = 0.2
        node.receive('cmd_vel', msg)
        assert node.wanted.tolist() == [0.0, 0.2, 0.0]

    def test_a_timeout_of_cmd_vel_ends_in_a_hold_and_is_counted_once(self, make: Any) -> None:
        node = make(cmd_vel_timeout=0.2)
        roll(node, 0.0, 0.02)
        node.receive('cmd_vel', twist(vx=0.1))
        roll(node, 0.02, 0.2)
        assert node.motion.drive.twist[0] == pytest.approx(0.1)
        roll(node, 0.2, 0.24)
        assert node.state == STOPPING
        roll(node, 0.24, 0.6)
        assert node.state == HOLDING
        assert not node.motion.drive.twist.any()
        assert node.timeouts == 1

    def test_velocities_and_their_positions_are_given_on_request(self, make: Any) -> None:
        node = make(output='velocity')
        roll(node, 0.0, 0.02)
        node.receive('cmd_vel', twist(vx=0.1))
        roll(node, 0.02, 0.5)
        last = node.commands_out.last
        assert list(last.effort) == []
        assert list(last.velocity) == pytest.approx([1.0] * 4)
        # accelerated at 1 m/s2 for 0.1 s, even after that; one step ahead of now
        assert list(last.position) == pytest.approx([(0.005 + 0.1 * 0.38) / 0.1] * 4, abs=0.02)

    def test_time_that_goes_back_starts_again(self, make: Any) -> None:
        node = make()
        play(node, 0.0, 0.5, speed=3.0)
        assert node.motion.odometry.pose[0] == pytest.approx(0.3 * 0.498)
        node.receive('joint_states', state(0.0))
        assert node.motion.odometry.pose.tolist() == [0.0, 0.0, 0.0]

    def test_speeds_can_be_limited_while_it_runs(self, make: Any) -> None:
        node = make()
        play(node, 0.0, 0.01)
        results = node.set_parameters(
            [Parameter('limits.linear_speed', value=0.2), Parameter('limits.linear_speed', value=-1.0)]
        )
        assert [result.successful for result in results] == [True, False]
        node.receive('cmd_vel', twist(vx=0.5))
        roll(node, 0.01, 0.45)
        assert node.motion.drive.twist[0] == pytest.approx(0.2)


class TestOdometry:
    def test_it_is_published_on_the_grid_of_its_period_with_frames_and_covariances(self, make: Any) -> None:
        node = make()
        play(node, 0.0, 0.21, speed=2.0)
        stamps = [seconds_of_stamp(m.header.stamp) for m in node.odom_out.messages]
        assert stamps == pytest.approx(np.arange(11) * 0.02)
        last = node.odom_out.last
        assert (last.header.frame_id, last.child_frame_id) == ('odom', 'base_link')
        assert last.pose.pose.position.x == pytest.approx(0.2 * 0.2)
        assert last.pose.pose.position.z == pytest.approx(0.1)
        assert last.twist.twist.linear.x == pytest.approx(0.2)
        covariance = np.array(last.pose.covariance).reshape(6, 6)
        assert covariance[0, 0] > 0.0
        assert covariance[2, 2] == 1e6
        assert covariance == pytest.approx(covariance.T)

    def test_the_pose_is_on_tf_only_on_request(self, make: Any, monkeypatch: Any) -> None:
        assert make().tf_out is None
        sent: list[Any] = []  # rclpy's wheels have no tf2_msgs
        monkeypatch.setattr(transforms.TransformPublisher, '__init__', lambda *_: None)
        monkeypatch.setattr(transforms.TransformPublisher, 'publish', lambda _, *frames: sent.append(frames))
        node = make(publish_tf_odom=True, world_frame='map')
        play(node, 0.0, 0.1, speed=1.0)
        ((parent, child, position, _),), nanoseconds = sent[-1]
        assert (parent, child) == ('map', 'base_link')
        assert position[0] == pytest.approx(0.1 * 0.08)
        assert nanoseconds == 80_000_000  # of the report, every 20 ms

    def test_slip_is_published_by_wheel_and_warned_of(self, make: Any) -> None:
        node = make(slip_warning=0.05)
        play(node, 0.0, 0.05)
        node.receive('joint_states', state(0.05, velocity=(8.0, 0.0, 0.0, 0.0)))
        assert node.slip_out.messages
        status = health(node)['wheels']
        assert level(status) == 1
        assert 'slips by' in status.message
        assert node.slip_out.last.layout.dim[0].label == 'front_left,front_right,rear_left,rear_right'

    def test_a_vehicle_without_a_spare_wheel_reports_that_slip_cannot_be_detected(self, make: Any) -> None:
        node = make(machine='agv_omni')
        assert health(node)['wheels'].message == 'rolling; slip cannot be detected'
        assert health(make())['wheels'].message == 'rolling'


class TestRejections:
    @pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
    def test_numbers_that_are_not_finite_are_rejected_counted_and_change_nothing(self, make: Any, bad: float) -> None:
        node = make()
        play(node, 0.0, 0.01)
        node.receive('cmd_vel', twist(vx=0.1))
        node.receive('cmd_vel', twist(vx=0.1, vy=bad))
        assert node.wanted.tolist() == [0.1, 0.0, 0.0]
        assert values_of(health(node)['cmd_vel'])['rejected: not finite'] == '1'

    def test_a_stamp_that_is_too_old_is_rejected(self, make: Any) -> None:
        node = make()
        play(node, 0.0, 1.0)
        node.receive('cmd_vel', twist(vx=0.1, stamp=0.3))
        assert node.rejections.counts['too old'] == 1
        node.receive('cmd_vel', twist(vx=0.1, stamp=0.9))
        assert node.twists == 1

    def test_nothing_is_taken_before_the_first_joint_states(self, make: Any) -> None:
        node = make()
        node.receive('cmd_vel', twist(vx=0.1))
        assert node.rejections.counts['no joint_states'] == 1

    def test_infeasible_demands_are_named_and_counted_once(self, make: Any) -> None:
        node = make(machine='agv_mecanum')
        play(node, 0.0, 0.01)
        node.receive('cmd_vel', twist(vx=5.0))
        play(node, 0.01, 0.1)
        status = health(node)['cmd_vel']
        assert level(status) == 1
        assert 'not followed: 5 m/s' in status.message
        assert values_of(status)['infeasible demands'] == '1'

    def test_joint_states_with_a_missing_wheel_are_rejected(self, make: Any) -> None:
        node = make()
        node.receive('joint_states', joint_state(0.0, (0.0,), (0.0,), (0.0,), WHEELS[:1]))
        assert node.state_rejections.counts['missing joint'] == 1
        assert node.sent == 0

    def test_a_trajectory_for_a_vehicle_without_an_arm_is_rejected(self, make: Any) -> None:
        node = make()
        play(node, 0.0, 0.01)
        node.receive('joint_trajectory', JointTrajectory(joint_names=['elbow'], points=[Point(positions=[1.0])]))
        assert node.rejections.counts['joint_trajectory'] == 1

    def test_a_machine_that_does_not_roll_is_rejected_in_one_line(self, make: Any) -> None:
        with pytest.raises(ValueError, match='no rolling wheels'):
            make(machine='log_loader')

    def test_a_report_period_off_the_grid_is_rejected_in_lockstep(self, make: Any) -> None:
        with pytest.raises(ValueError, match='report_period'):
            make(report_period=0.003)


class TestTimeouts:
    def test_without_joint_states_it_sends_nothing_and_takes_nothing(
        self, make: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        node = make(mode='realtime', partner='external')
        roll(node, 0.0, 0.02)
        node.receive('cmd_vel', twist(vx=0.3))
        roll(node, 0.02, 0.1)
        sent = node.sent
        later = time.monotonic() + 10.0
        monkeypatch.setattr(time, 'monotonic', lambda: later)
        node.check_timeouts()
        assert node.timed_out
        assert level(health(node)['joint_states']) == 2
        node.receive('cmd_vel', twist(vx=0.3))
        assert (node.sent, node.twists) == (sent, 1)
        # received again after a jump in time: it starts from the motion of the wheels and stops
        node.receive('joint_states', state(10.0, velocity=(2.0,) * 4))
        assert not node.timed_out
        assert not node.wanted.any()
        assert node.motion.drive.twist[0] == pytest.approx(0.2)
        node.receive('joint_states', state(10.05, (0.1,) * 4, velocity=(2.0,) * 4))
        assert 0.1 < node.motion.drive.twist[0] < 0.16

    def test_a_clock_that_is_set_back_neither_moves_the_odometry_nor_the_vehicle(self, make: Any) -> None:
        node = make(mode='realtime', partner='external')
        roll(node, 0.0, 0.02)
        node.receive('cmd_vel', twist(vx=0.3))
        roll(node, 0.02, 0.5)
        before = node.motion.odometry.pose.copy()
        node.receive('joint_states', state(0.0))
        assert not node.wanted.any()
        assert node.motion.odometry.pose == pytest.approx(before)
        assert node.state == 'holding'


class TestArm:
    JOINTS = ('arm_turn', 'arm_shoulder', 'arm_elbow', 'arm_wrist')

    def test_an_arm_beside_the_wheels_follows_a_trajectory(self, make: Any) -> None:
        node = make(machine='agv_mecanum_arm', output='velocity')
        names = node.joints
        start = dict.fromkeys(names, 0.0) | {'arm_shoulder': 0.5, 'arm_elbow': -1.0}
        goal = start | {'arm_turn': 0.2, 'arm_elbow': -0.8}
        order = [*WHEELS, *self.JOINTS]
        assert sorted(order) == sorted(names)

        def feed(k: int) -> None:
            positions = [start[name] for name in names]
            node.receive('joint_states', joint_state(k * PERIOD, positions, [0.0] * 8, [0.0] * 8, names))

        feed(0)
        point = Point(positions=[goal[name] for name in self.JOINTS], time_from_start=Duration(sec=0, nanosec=10**8))
        node.receive('joint_trajectory', JointTrajectory(joint_names=list(self.JOINTS), points=[point]))
        for k in range(1, 80):
            feed(k)
        assert list(node.commands_out.last.name) == order
        assert list(node.commands_out.last.position[4:]) == pytest.approx([goal[name] for name in self.JOINTS])
        assert node.trajectories == 1


def test_the_machine_code_of_a_first_cmd_vel_is_there_when_the_node_is(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vehicle that compiles at its first cmd_vel blocks for seconds, and then obeys a command that is old."""
    used = []
    active_set = torque_distribution.active_set

    def counted(*arguments: Any) -> Any:
        used.append(len(arguments))
        return active_set(*arguments)

    monkeypatch.setattr(torque_distribution, 'active_set', counted)
    node = make()
    assert used
    node.receive('joint_states', state(0.0))
    assert not np.any(node.motion.drive.twist)  # nothing of it stays
