"""A platform on six legs: its reference, checks of its targets, and its motion on motors with independent dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dyn_nodes.common.share import find_resource
from dyn_nodes.constraints import constrained_dynamics, moved, projected_velocity
from dyn_nodes.control.drive_dynamics import LoopDrives, OpenLoopError, TreeDrives
from dyn_nodes.control.hand.kinematics import HandPose
from dyn_nodes.control.motor_motion import MotorLoop
from dyn_nodes.control.motor_servo import MotorServo
from dyn_nodes.control.platform_follower import PlatformFollower, ReachError, platform_of
from dyn_nodes.control.pose_reference import PoseLimits, PoseReference
from dyn_nodes.control.pose_task import load_pose_task
from dyn_nodes.control.pose_trajectory import PoseTrajectory
from dyn_nodes.model.posture import link_poses
from dyn_nodes.model.problems import MachineError
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.simulation.constrained_machine import constrained_machine

LIMITS = PoseLimits()


@pytest.fixture(scope='module')
def machine():
    return machine_of('stewart_platform', '')


@pytest.fixture(scope='module')
def start(machine):
    return constrained_machine(machine)


@pytest.fixture
def follower(machine):
    return PlatformFollower(machine, '', LIMITS)


def pose(x=0.0, y=0.0, z=1.8, rotation=(0.0, 0.0, 0.0)):
    return HandPose(Rotation.from_rotvec(rotation).as_matrix(), np.array([x, y, z]))


def random_pose(rng):
    return pose(*rng.uniform(-0.1, 0.1, 2), 1.8 + rng.uniform(-0.1, 0.1), rng.uniform(-0.15, 0.15, 3))


# -- legs and trajectories ---------------------------------------------------------------------------------------------


def test_the_pose_follows_from_the_legs(follower):
    rng = np.random.default_rng(3)
    for _ in range(10):
        wanted = random_pose(rng)
        position, rotation = follower.legs.pose(
            follower.legs.positions(wanted.position, wanted.rotation), [0, 0, 1.8], np.eye(3)
        )
        assert position == pytest.approx(wanted.position, abs=1e-12)
        assert rotation == pytest.approx(wanted.rotation, abs=1e-12)
    with pytest.raises(ValueError, match=r'expected positions of the legs for a pose near the last one, found 9,'):
        follower.legs.pose([9.0, *[2.2] * 5], [0, 0, 1.8], np.eye(3))


def test_rates_and_accelerations_of_legs_are_those_of_the_trajectory(follower):
    """Central differences of the lengths along a curve."""
    rng = np.random.default_rng(4)
    curve = PoseTrajectory([0, 1, 1.7, 3], [pose(), *(random_pose(rng) for _ in range(3))], None, np.full(6, 0.05))
    assert curve.at(0.0).twist == pytest.approx(np.full(6, 0.05), abs=1e-12)
    assert curve.at(3.0).twist == pytest.approx(np.zeros(6), abs=1e-12)

    def motion(time):
        body = curve.at(time)
        return follower.legs.motion(body.pose.position, body.pose.rotation, body.twist, body.acceleration)

    h = 1e-4
    for time in (0.3, 1.2, 2.5):
        before, here, after = (motion(time + k * h) for k in (-1, 0, 1))
        assert here.velocity == pytest.approx((after.position - before.position) / (2 * h), abs=1e-7)
        assert here.acceleration == pytest.approx((after.velocity - before.velocity) / (2 * h), abs=1e-6)


def test_specified_twists_are_met_at_their_poses():
    twist = np.array([0.1, -0.05, 0.02, 0.1, 0.2, -0.1])
    curve = PoseTrajectory([0, 1, 2], [pose(), pose(0.05, rotation=(0.1, 0, 0)), pose()], [np.zeros(6), twist, twist])
    assert curve.at(1.0).twist == pytest.approx(twist, abs=1e-12)
    assert curve.at(1.0).pose.position == pytest.approx([0.05, 0, 1.8])
    assert curve.at(5.0).twist == pytest.approx(np.zeros(6))


@pytest.mark.parametrize(
    ('times', 'text'),
    [([0, 1], 'expected two or more and a time for each'), ([0, 1, 1], r'points\[2\]: expected a time'),
     ([0.5, 1, 2], 'expected a time'), ([0, np.nan, 2], 'expected a time')],
)  # fmt: skip
def test_times_that_do_not_ascend_are_rejected(times, text):
    with pytest.raises(ValueError, match=text):
        PoseTrajectory(times, [pose()] * 3)


# -- the way to a pose -------------------------------------------------------------------------------------------------


def test_the_way_to_a_pose_keeps_the_limits_and_does_not_overshoot():
    reference, target = PoseReference(pose(), LIMITS), pose(0.3, -0.2, 1.7, (0.3, 0.2, -0.4))
    reference.go_to(target)
    period, before = 0.004, reference.motion
    distances = []
    for _ in range(1500):
        reference.advance(period)
        now = reference.motion
        assert np.linalg.norm(now.twist[:3]) <= LIMITS.speed + 1e-9
        assert np.linalg.norm(now.twist[3:]) <= LIMITS.angular_speed + 1e-9
        change = (now.twist - before.twist) / period
        assert np.linalg.norm(change[:3]) <= LIMITS.acceleration + 1e-9
        assert np.linalg.norm(change[3:]) <= LIMITS.angular_acceleration + 1e-9
        before = now
        off = now.pose.error_to(target)
        distances.append((np.linalg.norm(off[:3]), np.linalg.norm(off[3:])))
    assert reference.state == 'holding'
    assert (np.diff(distances, axis=0) < 1e-7).all()  # nearer at every step


def test_a_new_pose_on_the_way_leads_there_smoothly_and_brakes_shortly():
    reference = PoseReference(pose(), LIMITS)
    reference.go_to(pose(0.5))
    for k in range(600):
        if k == 200:
            reference.go_to(pose(0.0, 0.3, 1.8, (0, 0, 0.3)))
        before = reference.motion.twist
        reference.advance(0.004)
        assert np.linalg.norm((reference.motion.twist - before)[:3]) <= 0.004 * LIMITS.acceleration + 1e-9
    assert reference.state == 'moving'
    reference.brake()
    here = reference.motion.pose.position
    for _ in range(500):
        reference.advance(0.004)
    assert reference.state == 'holding'
    assert np.linalg.norm(reference.motion.pose.position - here) < 0.2**2 / (2 * 0.3) + 0.2 * 0.06


def test_targets_beyond_the_legs_are_rejected_by_leg_and_the_reference_is_kept(follower):
    follower.go_to(pose(0.05))
    with pytest.raises(ReachError, match=r'leg_\d_length_joint: expected 1.6 to 2.8 m, found 2.8\d+ m on the way'):
        follower.go_to(pose(0.0, 0.0, 3.5))
    with pytest.raises(ReachError, match='on the way'):
        follower.go_to(pose(rotation=(0, 0, 2.5)))
    far = PoseTrajectory([0, 1, 2], [pose(), pose(0, 0, 3.0), pose()])
    with pytest.raises(ReachError, match=r'expected 1.6 to 2.8 m, found 2.8\d+ m after 0\.\d+ s'):
        follower.follow(far)
    with pytest.raises(ReachError, match='expected at most 2 m/s'):
        follower.follow(PoseTrajectory([0, 0.1, 2], [pose(), pose(0.3), pose()]))
    assert follower.reference.target.position == pytest.approx([0.05, 0, 1.8])


def test_singular_poses_are_rejected(machine):
    strict = PlatformFollower(machine, 'platform', LIMITS, greatest_condition=2.3)
    with pytest.raises(ReachError, match=r'platform: expected a condition number of at most 2\.3, found'):
        strict.go_to(pose(z=1.8, rotation=(0, 0, 0.7)))


def test_machines_without_a_platform_are_rejected_by_name():
    with pytest.raises(ValueError, match='five_bar: expected a platform on driven legs of variable length, found none'):
        platform_of(machine_of('five_bar', ''))


# -- files -------------------------------------------------------------------------------------------------------------


def test_the_demonstration_can_be_followed(follower):
    poses = load_pose_task(find_resource('config/poses/stewart_platform.yaml'))
    follower.follow(
        PoseTrajectory([0.0, *(task.time for task in poses)], [follower.home, *(task.pose for task in poses)])
    )
    assert poses[-1].pose.position == pytest.approx(follower.home.position, abs=1e-6)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('poses: {}', 'path.yaml:1: poses: expected a pose at least, found none'),
        ('poses:\n  a: {position: [0, 0, 1]}', 'path.yaml:2: poses.a.time: expected a value (s)'),
        ('poses:\n  a: {time: 2, position: [0, 0, 1]}\n  b: {time: 1, position: [0, 0, 1]}',
         'path.yaml:3: poses.b.time: expected a time after 2 s, found 1'),
        ('poses:\n  a: {time: 1, position: [0, 0]}', 'path.yaml:2: poses.a.position: expected'),
        ('pose: 1', 'path.yaml:1: pose: expected a key of this mapping'),
    ],
)  # fmt: skip
def test_faults_of_a_file_of_poses_are_reported_by_line(tmp_path, text, message):
    (tmp_path / 'path.yaml').write_text(text)
    with pytest.raises(MachineError) as error:
        load_pose_task(tmp_path / 'path.yaml')
    assert message in str(error.value)


# -- dynamics ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def drives(machine, start):
    return LoopDrives(machine.name, start.system.blocks, start.q, [f'leg_{k}_length_joint' for k in range(1, 7)])


def test_efforts_of_legs_give_the_wanted_accelerations(start, drives, follower):
    """Compared with the saddle-point equations of all bodies and constraints."""
    rng, blocks = np.random.default_rng(5), start.system.blocks
    indices = [blocks.tree.velocity_index(name) for name in drives.joint_names]
    for _ in range(4):
        wanted, rates, asked = random_pose(rng), rng.uniform(-0.5, 0.5, 6), rng.uniform(-2, 2, (2, 6))
        positions = follower.legs.positions(wanted.position, wanted.rotation)
        efforts = drives.efforts(positions, rates, *asked)
        q, tau = drives.posture(positions), np.zeros(blocks.tree.nv)
        assert np.abs(blocks.at(q).residual).max() < 1e-9
        v = projected_velocity(
            blocks, q, np.zeros(blocks.tree.nv) + _placed(blocks, indices, rates), held=drives.joint_names
        )
        tau[indices] = efforts
        result = constrained_dynamics(blocks, q, v, tau, method='saddle').acceleration[indices]
        assert result == pytest.approx(asked.sum(axis=0), abs=1e-6)


def _placed(blocks, indices, values):
    result = np.zeros(blocks.tree.nv)
    result[indices] = values
    return result


def test_impossible_leg_lengths_are_rejected_and_the_last_posture_is_kept(drives, follower):
    home = follower.sample().position
    before = drives.posture(home)
    with pytest.raises(OpenLoopError, match=r'stewart_platform: the loops do not close at leg_1_length_joint 5, leg_2'):
        drives.posture([5.0, *home[1:]])
    assert drives.posture(home) == pytest.approx(before, abs=1e-9)


def test_drives_that_leave_a_degree_of_freedom_are_rejected(machine, start):
    with pytest.raises(ValueError, match=r'expected drives that determine the motion, found 1 freedoms that none of'):
        LoopDrives(machine.name, start.system.blocks, start.q, [f'leg_{k}_length_joint' for k in range(1, 6)])
    with pytest.raises(ValueError, match='expected a machine without constraints for voltages by computed torque'):
        TreeDrives(machine, ['leg_1_length_joint'])


def test_the_platform_follows_a_motion_on_its_motors(machine, start, drives, follower):
    """0.4 s in six degrees of freedom; the plant: constrained dynamics and windings, independent of compiled ones."""
    blocks, period, steps = start.system.blocks, 0.004, 4
    indices = [blocks.tree.velocity_index(name) for name in drives.joint_names]
    loop = MotorLoop(MotorServo(machine, machine.actuators, period, drives), 40.0, 1.0)
    law = loop.servo.law
    q, v = start.q.copy(), np.zeros(blocks.tree.nv)
    tau = np.zeros(blocks.tree.nv)
    efforts = start.at_rest().efforts
    current = np.array([efforts[name] for name in drives.joint_names]) / law.gain
    decay = np.exp(-period / steps * law.resistance / law.inductance)
    drives.restart()
    follower.restart(q[indices])
    follower.follow(PoseTrajectory([0, 0.2, 0.4], [pose(), pose(0.01, 0.01, 1.81, (0.02, -0.02, 0.02)), pose()]))
    worst = np.zeros(2)
    for k in range(100):
        if k:
            follower.reference.advance(period)
        follower.measure(q[indices])
        worst = np.maximum(worst, follower.error)
        volts = loop.voltages(follower.sample(), None, q[indices], v[indices])
        assert np.abs(volts).max() < 48.0
        for _ in range(steps):  # a mean of the current over a step, then the midpoint rule
            settled = (volts - law.gain * v[indices]) / law.resistance
            tau[indices] = (
                law.gain * (0.5 * settled + 0.5 * (settled + decay * (current - settled))) - law.viscous * v[indices]
            )
            current = settled + decay * (current - settled)
            h = period / steps
            a = constrained_dynamics(blocks, q, v, tau, method='saddle').acceleration
            half = moved(blocks.tree, q, 0.5 * h * v + 0.125 * h**2 * a)
            a = constrained_dynamics(blocks, half, v + 0.5 * h * a, tau, method='saddle').acceleration
            q, v = moved(blocks.tree, q, h * v + 0.5 * h**2 * a), v + h * a
    assert worst[0] < 2e-4
    assert worst[1] < np.radians(0.02)
    result = link_poses(machine.links, machine.joints, dict(zip(blocks.tree.position_names, q)))['platform']
    follower.measure(q[indices])
    assert result[:3, 3] == pytest.approx(follower.measured.position, abs=1e-6)
