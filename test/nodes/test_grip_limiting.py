"""The vehicle controller with its grip governor: commands, diagnostics, slope, trajectories of the arm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from node_testing import Outbox, imu_message, joint_state, statuses

from dyn_nodes.middleware import Parameter, message
from dyn_nodes.nodes import grip_limiting
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stamps import stamp_of
from dyn_nodes.nodes.vehicle_controller_node import VehicleControllerNode

TwistStamped = message('geometry_msgs/msg/TwistStamped')
JointTrajectory = message('trajectory_msgs/msg/JointTrajectory')
Point = message('trajectory_msgs/msg/JointTrajectoryPoint')
Duration = message('builtin_interfaces/msg/Duration')
Float64 = message('std_msgs/msg/Float64')
ARM = ('arm_turn', 'arm_shoulder', 'arm_elbow', 'arm_wrist')
FOLDED, OUT = (0.0, -0.6, 1.6, 0.5), (0.0, 1.0, 0.0, 0.0)
FAST = {'limits.linear_acceleration': 8.0, 'limits.linear_speed': 2.0, 'limits.angular_speed': 3.0}
PERIOD = 0.005


@pytest.fixture
def make(make_node):
    def build(**parameters):
        values = {'machine': 'agv_mecanum_arm', 'exchange_period': PERIOD, 'output': 'velocity', **FAST, **parameters}
        return make_node(VehicleControllerNode, **values)

    return build


def drive(node, start, end, twist=(0.0, 0.0, 0.0), arm=FOLDED):
    """Feed joint states of wheels that reach each commanded speed at once; return the greatest acceleration ahead."""
    msg = TwistStamped()
    msg.twist.linear.x, msg.twist.linear.y, msg.twist.angular.z = twist
    greatest = 0.0
    for k in range(round(start / PERIOD), round(end / PERIOD)):
        reference, wheels = node.motion.reference, node.motion._turns if k else np.zeros(4)
        rates = np.zeros(4) if reference is None else reference.wheel_speeds
        names = [*node.motion.joints, *ARM]
        state = joint_state(k * PERIOD, [*wheels, *arm], [*rates, 0, 0, 0, 0], [0.0] * 8, names)
        node.receive('joint_states', state)
        if any(twist):
            msg.header.stamp = stamp_of(k * PERIOD)
            node.receive('cmd_vel', msg)
        greatest = max(greatest, float(np.abs(node.motion.reference.acceleration[0])))
    return greatest


def health(node):
    node.diagnostics.update(node.now() + 100.0)
    return statuses(node.diagnostics.publisher.last)['grip']


def values_of(status):
    return {pair.key: pair.value for pair in status.values}


def swing(node, goal, duration):
    """Send a trajectory with rest at its end."""
    seconds = int(duration)
    time = Duration(sec=seconds, nanosec=round(1e9 * (duration - seconds)))
    point = Point(positions=list(goal), velocities=[0.0] * 4, accelerations=[0.0] * 4, time_from_start=time)
    node.receive('joint_trajectory', JointTrajectory(joint_names=list(ARM), points=[point]))


def test_without_the_mode_nothing_is_limited_and_no_status_appears(make):
    node = make()
    assert node.grip is None
    drive(node, 0.0, 0.05)
    node.diagnostics.update(node.now() + 100.0)
    assert 'grip' not in statuses(node.diagnostics.publisher.last)


def test_an_acceleration_that_would_lift_a_wheel_is_limited_and_named(make):
    node, free = make(**{'grip.mode': 'limit', 'payload': 4.0}), make(payload=4.0)
    greatest = drive(node, 0.0, 0.3, (-2.0, 0.0, 0.0), OUT)
    assert 0.3 < greatest < 0.9 * drive(free, 0.0, 0.3, (-2.0, 0.0, 0.0), OUT)
    status = health(node)
    assert 'of the acceleration' in status.message
    assert 'would' in status.message
    assert values_of(status)['held back'] == '1'
    assert values_of(status)['last held back by'] in node.grip.model.names


def test_the_twist_that_is_left_is_published(make):
    node, free = make(**{'grip.mode': 'limit', 'payload': 4.0}), make(payload=4.0)
    node.grip.twist_out = Outbox()
    for vehicle in (node, free):
        drive(vehicle, 0.0, 0.3, (-2.0, 0.0, 0.0), OUT)
    published = node.grip.twist_out.last
    assert published.header.frame_id == 'base_link'
    assert published.header.stamp.nanosec > 2.5e8
    assert free.motion.drive.twist[0] < published.twist.linear.x - 0.05
    assert published.twist.linear.x < -0.1
    assert (published.twist.linear.y, published.twist.angular.z) == pytest.approx((0.0, 0.0), abs=1e-9)


@pytest.mark.skipif(grip_limiting.SpeedLimit is None, reason='nav2_msgs is not installed')
def test_nav2_gets_the_part_of_the_greatest_speeds_that_can_be_kept(make):
    fast = {'limits.linear_speed': 3.0, 'limits.angular_speed': 3.0}
    limits = {}
    for name, arm, payload in (('near', FOLDED, 0.0), ('far', OUT, 4.0)):
        node = make(**{'grip.mode': 'limit', **fast, 'payload': payload})
        node.grip.limit_out = outbox = Outbox()
        drive(node, 0.0, 0.5, arm=arm)
        assert len(outbox.messages) == 3, 'every 0.2 s'
        assert outbox.last.percentage
        limits[name] = outbox.last.speed_limit
        part = 0.01 * limits[name]
        angles = np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False)
        ways = [3.0 * np.array([np.cos(angle), np.sin(angle), turn]) for angle in angles for turn in (-1.0, 0.0, 1.0)]
        reachable = node.grip.governor.reachable
        assert all((reachable(0.999 * part * way) == 0.999 * part * way).all() for way in ways)
        assert any((reachable(1.05 * part * way) != 1.05 * part * way).any() for way in ways)
    assert 1.0 < limits['far'] < 0.9 * limits['near'] < 90.0


@pytest.mark.skipif(grip_limiting.SpeedLimit is None, reason='nav2_msgs is not installed')
def test_a_speed_limit_counts_the_twists_that_the_wheels_make_of_commands(make, monkeypatch):
    """The base link of the car lies ahead of its rear axle: in a turn it swings sideways."""
    asked = {}
    for machine in ('car', 'agv_mecanum_arm'):
        node = make(**{'grip.mode': 'limit', 'machine': machine})
        monkeypatch.setattr(
            node.grip.governor, 'share', lambda twists, key=machine: asked.setdefault(key, twists)[0, 0]
        )
        node.grip.speed_limit()
        row = node.grip.governor.constraint
        assert row is None or (row[2] != 0.0 and np.abs(asked[machine] @ row).max() < 1e-9)
        assert np.abs(asked[machine][:, 2]).max() == 3.0
    headings = np.degrees(np.arctan2(asked['agv_mecanum_arm'][:, 1], asked['agv_mecanum_arm'][:, 0]))
    assert np.abs(headings - 22.5).min() < 1e-9


def test_a_speed_limit_of_nav2_is_none_where_all_speeds_hold_and_never_0_percent(make):
    slow = {'limits.linear_speed': 0.2, 'limits.angular_speed': 0.2}
    node = make(**{'grip.mode': 'limit', **slow})
    drive(node, 0.0, 0.05)
    assert node.grip.speed_limit() == 0.0, "Nav2's word for none"
    node.grip.model.lose()
    assert node.grip.speed_limit() == 1.0


def test_without_nav2_or_without_the_mode_there_is_no_speed_limit(make, monkeypatch):
    assert make(**{'grip.mode': 'report'}).grip.limit_out is None
    monkeypatch.setattr(grip_limiting, 'SpeedLimit', None)
    node = make(**{'grip.mode': 'limit'})
    drive(node, 0.0, 0.3)
    assert node.grip.limit_out is None


@pytest.mark.parametrize('measured', [False, True])
def test_a_vehicle_on_a_slope_is_held_from_the_first_command_after_a_gap_on(make, measured):
    """Torques of the wheels: those that hold the load, once, whether they were measured or not."""
    parameters = {'mode': 'realtime', 'partner': 'external', 'output': 'effort', 'grip.slope_pitch': 0.087}
    node = make(**{'grip.mode': 'limit', **parameters})
    node.commands_out = Outbox()
    hold, names = -1.23, [*node.motion.joints, *ARM]
    efforts = [hold] * 4 + [0.0] * 4 if measured else []
    for time in (0.0, PERIOD, 2 * PERIOD, 0.51, 0.515):
        node.receive('joint_states', joint_state(time, [0.0] * 4 + list(FOLDED), [0.0] * 8, efforts, names))
        torques = np.array(node.commands_out.last.effort[:4])
        assert torques.sum() == pytest.approx(4 * hold, rel=0.01)


def test_a_report_changes_nothing_and_warns_of_the_same(make):
    node, free = make(**{'grip.mode': 'report', 'payload': 4.0}), make(payload=4.0)
    reported, wanted = (drive(vehicle, 0.0, 0.3, (-2.0, 0.0, 0.0), OUT) for vehicle in (node, free))
    assert reported == pytest.approx(wanted)
    status = health(node)
    assert 'would' in status.message
    assert values_of(status)['mode'] == 'report'


def test_a_payload_that_is_published_later_counts(make):
    light, heavy = make(**{'grip.mode': 'limit'}), make(**{'grip.mode': 'limit'})
    for node, mass in ((light, 0.0), (heavy, 8.0)):
        drive(node, 0.0, 0.05, arm=OUT)
        node.receive('payload', Float64(data=mass))
    assert heavy.grip.payload == 8.0
    fast = [drive(node, 0.05, 0.25, (-2.0, 0.0, 0.0), OUT) for node in (light, heavy)]
    assert fast[0] > 1.05 * fast[1]


def test_the_slope_is_that_of_the_parameters_turned_with_the_heading_or_that_of_the_imu(make):
    node = make(**{'grip.mode': 'limit', 'grip.slope_pitch': 0.1})
    drive(node, 0.0, 0.05)
    assert node.grip.gravity() == pytest.approx([9.81 * np.sin(0.1), 0.0, -9.81 * np.cos(0.1)], abs=1e-6)
    node.motion.odometry.pose[2] = np.pi
    assert node.grip.gravity()[0] == pytest.approx(-9.81 * np.sin(0.1))
    other = make(**{'grip.mode': 'limit', 'grip.imu': True})
    drive(other, 0.0, 0.05)
    assert 'no imu' in health(other).message
    roll = 0.2
    message_ = imu_message(0.05, (0.0, 0.0, 0.0), (0.0, 9.81 * np.sin(roll), 9.81 * np.cos(roll)))
    message_.orientation_covariance[0] = -1.0
    other.receive('imu', message_)
    assert other.grip.gravity() == pytest.approx([0.0, -9.81 * np.sin(roll), -9.81 * np.cos(roll)], abs=1e-6)
    assert 'measured' in values_of(health(other))['slope']


def test_a_curve_is_no_slope_to_an_imu_without_orientation(make):
    """The centrifugal force of a steady circle would be mistaken for a slope, of 8.7 degrees here."""
    node = make(**{'grip.mode': 'limit', 'grip.imu': True})
    drive(node, 0.0, 0.05)
    node.motion.odometry.twist = np.array([1.0, 0.0, 1.5])
    for k in range(100):
        message_ = imu_message(0.1 + 0.05 * k, (0.0, 0.0, 1.5), (0.0, 1.5, 9.81))
        message_.orientation_covariance[0] = -1.0
        node.receive('imu', message_)
    assert node.grip.gravity() == pytest.approx([0.0, 0.0, -9.81], abs=1e-6)


def test_a_measured_slope_is_kept_when_the_imu_times_out_and_the_vehicle_turns(make):
    node = make(**{'grip.mode': 'limit', 'grip.imu': True})
    drive(node, 0.0, 0.05)
    message_ = imu_message(0.05, (0.0, 0.0, 0.0), (-9.81 * np.sin(0.09), 0.0, 9.81 * np.cos(0.09)))
    message_.orientation_covariance[0] = -1.0
    node.receive('imu', message_)
    before = node.grip.gravity()
    assert before == pytest.approx([9.81 * np.sin(0.09), 0.0, -9.81 * np.cos(0.09)])
    node.motion.odometry.pose[2] += np.pi
    assert node.grip.gravity() == pytest.approx(before * [-1.0, -1.0, 1.0], abs=1e-9)
    node.motion.odometry.pose[2] -= 0.5 * np.pi
    assert node.grip.gravity() == pytest.approx([0.0, -before[0], before[2]], abs=1e-9)


def test_a_trajectory_that_would_slide_the_wheels_is_slowed(make):
    node, free = make(**{'grip.mode': 'limit', 'payload': 3.0}), make(payload=3.0)
    for vehicle in (node, free):
        drive(vehicle, 0.0, 0.05)
        swing(vehicle, (0.35, -0.25, 1.25, 0.2), 0.33)
    assert free.arm._trajectory.duration == pytest.approx(0.33)
    assert node.arm._trajectory.duration > 0.4
    assert node.trajectories == 1
    status = values_of(health(node))
    assert status['trajectories slowed'] == '1'
    assert '% of the speed' in status['trajectory']


def test_a_posture_in_which_a_wheel_lifts_at_rest_is_rejected(make):
    node = make(**{'grip.mode': 'limit', 'grip.load_share': 0.9, 'payload': 8.0})
    drive(node, 0.0, 0.05)
    before = node.arm._trajectory
    swing(node, OUT, 3.0)
    assert node.arm._trajectory is before
    assert node.rejections.counts['ground'] == 1
    assert 'however slow' in node.rejections.last


def test_a_vehicle_whose_arm_leaves_its_trajectory_is_led_to_rest_and_reports_it(make):
    node = make(**{'grip.mode': 'limit'})
    drive(node, 0.0, 0.3, (0.5, 0.0, 0.0))
    assert node.motion.drive.twist[0] > 0.3
    assert 'does not follow' not in health(node).message
    fallen = (0.0, -0.2, 1.6, 0.5)
    drive(node, 0.3, 1.5, (0.5, 0.0, 0.0), fallen)
    assert not node.motion.drive.twist.any()
    assert 'the arm does not follow its trajectory: the vehicle is led to rest' in health(node).message


def follow(node, start, end):
    """Let the arm follow its trajectory to a time; return where it is then."""
    for k in range(round(start / PERIOD), round(end / PERIOD)):
        arm = tuple(node.arm.sample(k * PERIOD).position)
        drive(node, k * PERIOD, (k + 1) * PERIOD, arm=arm)
    return arm


def at_rest(node, posture, payload):
    """Return whether the wheels hold with their reserve at rest with the arm in a posture."""
    model, indices = node.grip.model, [node.grip.model.joints.index(name) for name in ARM]
    q = np.zeros((1, len(model.joints)))
    q[0, indices] = posture
    forces, _ = model.evaluate(q, 0 * q, 0 * q, *np.zeros((2, 1, 3)), np.zeros(4), payload, node.grip.gravity())
    return node.grip.governor.margins(forces).min() >= 0.0


@pytest.mark.parametrize('changed_at', [0.06, 1.0])
def test_an_arm_on_its_way_is_stopped_within_the_reserve_where_a_greater_payload_comes(make, changed_at):
    node, goal = make(**{'grip.mode': 'limit'}), (0.9, 1.45, 0.0, 0.0)
    drive(node, 0.0, 0.05)
    swing(node, goal, 3.0)
    assert node.grip.slowed == 0
    follow(node, 0.05, changed_at)
    node.receive('payload', Float64(data=8.0))
    posture = follow(node, changed_at, 3.2)
    assert not at_rest(node, goal, 8.0)
    assert at_rest(node, posture, 8.0)
    status = health(node)
    assert 'would lift' in status.message
    assert 'the arm was stopped' in status.message
    assert values_of(status)['trajectories stopped'] == '1'
    swing(node, FOLDED, 3.0)
    assert 'the arm was stopped' not in health(node).message


def test_an_arm_on_its_way_continues_with_a_payload_that_changes_little_or_holds(make):
    for mass in (0.01, 1.0):
        node, goal = make(**{'grip.mode': 'limit'}), (0.9, 0.0, 1.2, 0.5)
        drive(node, 0.0, 0.05)
        swing(node, goal, 1.0)
        follow(node, 0.05, 0.3)
        node.receive('payload', Float64(data=mass))
        assert follow(node, 0.3, 1.2) == pytest.approx(goal)
        assert node.grip.stopped == 0


def test_an_arm_on_its_way_is_stopped_where_the_ground_turns_out_to_be_steep(make):
    node, goal = make(**{'grip.mode': 'limit', 'grip.imu': True, 'payload': 4.0}), (0.0, 1.2, 0.0, 0.0)
    drive(node, 0.0, 0.05)
    swing(node, goal, 3.0)
    follow(node, 0.05, 0.3)
    steep = imu_message(0.3, (0.0, 0.0, 0.0), (-9.81 * np.sin(0.2), 0.0, 9.81 * np.cos(0.2)))
    steep.orientation_covariance[0] = -1.0
    node.receive('imu', steep)
    posture = follow(node, 0.3, 3.2)
    assert node.grip.stopped == 1
    assert at_rest(node, posture, 4.0)
    assert not at_rest(node, goal, 4.0)


def test_a_report_stops_no_arm_and_warns(make):
    node, goal = make(**{'grip.mode': 'report'}), (0.9, 1.45, 0.0, 0.0)
    drive(node, 0.0, 0.05)
    swing(node, goal, 3.0)
    node.receive('payload', Float64(data=8.0))
    assert follow(node, 0.05, 3.2) == pytest.approx(goal)
    assert 'would lift' in health(node).message
    assert node.grip.stopped == 0


def test_settings_may_change_while_it_runs(make):
    node = make(**{'grip.mode': 'limit'})
    results = node.set_parameters([Parameter('grip.friction_use', value=0.3), Parameter('grip.load_share', value=2.0)])
    assert [result.successful for result in results] == [True, False]
    assert node.grip.governor.settings.friction_use == 0.3
    node.set_parameters([Parameter('limits.angular_acceleration', value=4.0)])
    assert node.grip.governor.turning == pytest.approx(4.0 / 8.0)
    assert drive(node, 0.0, 0.3, (2.0, 0.0, 0.0)) < 0.3 * 0.9 * 9.81


def test_fixed_tyres_on_two_axles_which_slide_in_every_turn_are_rejected_by_name(make, tmp_path):
    shipped = machine_of('agv_mecanum_arm', '')
    urdf, config = (Path(path) for path in shipped.sources)
    values = yaml.safe_load(config.read_text())
    for wheel in values['wheels'].values():
        wheel['rolling'] = {}
    skid = tmp_path / 'skid.yaml'
    skid.write_text(yaml.safe_dump(values, sort_keys=False))
    files = {'machine': str(urdf), 'config': str(skid)}
    assert make(**files).grip is None
    text = (
        "parameter 'grip.mode': agv_mecanum_arm: expected fixed tyres on one axle, found front_left, front_right, rear"
    )
    with pytest.raises(ParameterError, match=text):
        make(**{'grip.mode': 'limit', **files})


def test_a_machine_with_unknown_reactions_is_rejected_by_name(make):
    text = "parameter 'grip.mode': excavator: expected wheels"
    with pytest.raises(ParameterError, match=text):
        make(**{'grip.mode': 'limit', 'machine': 'excavator', 'output': 'valve_commands'})
