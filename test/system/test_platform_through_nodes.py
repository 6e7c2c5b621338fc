"""The Stewart platform follows motions in six degrees of freedom on its motors, as processes in lockstep."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.model.posture import link_poses
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.stamps import seconds_of_stamp

Float64, JointState = message('std_msgs/msg/Float64'), message('sensor_msgs/msg/JointState')
PoseStamped = message('geometry_msgs/msg/PoseStamped')
PERIOD, GRID = 0.005, 0.25
HOME = np.array([0.0, 0.0, 1.8])
FREQUENCIES = np.array([0.2, 0.3, 0.25, 0.35, 0.15, 0.3])


def wanted(time, duration):
    """Return position and rotation: 50 mm and 5 degrees along and about every axis, from rest to rest."""
    fade = np.sin(np.pi * np.clip(time / duration, 0.0, 1.0)) ** 2
    s = fade * np.sin(2 * np.pi * FREQUENCIES * time + np.arange(6.0))
    return HOME + 0.05 * s[:3], Rotation.from_euler('xyz', np.radians(5.0) * s[3:])


def path_file(folder, duration):
    """Write the motion as a file of poses, four a second."""
    lines = ['poses:']
    for k, time in enumerate(np.arange(GRID, duration + 1e-9, GRID)):
        position, turn = wanted(time, duration)
        numbers = [', '.join(f'{value:.12f}' for value in part) for part in (position, turn.as_euler('xyz'))]
        lines.append(f'  pose_{k}: {{time: {time}, position: [{numbers[0]}], rpy: [{numbers[1]}]}}')
    path = folder / 'path.yaml'
    path.write_text('\n'.join(lines) + '\n')
    return path


class Seen:
    """Poses of the platform by the joints of its tree; currents and voltages of the motors."""

    def __init__(self, probe):
        self.machine = machine_of('stewart_platform', '')
        self.poses, self.quantities = {}, {}
        self._values = {}
        probe.node.create_subscription(JointState, 'joint_states', self._keep, QoSProfile(depth=5000))
        for motor in self.machine.actuators:
            for quantity in ('current', 'terminal_voltage'):
                kept = self.quantities.setdefault((motor.name, quantity), [])
                topic = f'motors/{motor.name}/{quantity}'
                take = kept.append
                probe.node.create_subscription(Float64, topic, lambda msg, take=take: take(msg.data), 5000)

    def _keep(self, msg):
        self._values[seconds_of_stamp(msg.header.stamp)] = dict(zip(msg.name, msg.position))

    def at(self, time):
        pose = link_poses(self.machine.links, self.machine.joints, self._values[time])['platform']
        return pose[:3, 3], Rotation.from_matrix(pose[:3, :3])

    @property
    def times(self):
        return sorted(self._values)

    def legs(self, time):
        return np.array([self._values[time][f'leg_{k}_length_joint'] for k in range(1, 7)])

    def check_limits(self):
        for motor in self.machine.actuators:
            current, volts = (
                np.abs(self.quantities[motor.name, name]) for name in ('current', 'terminal_voltage')
            )  # fmt: skip
            assert len(current) > 10
            assert current.max() < motor.current_limit
            assert 0.5 < volts.max() < motor.voltage_limit


@pytest.fixture
def run(processes, probe, tmp_path):
    def run(duration, after=0.0, monolithic=False):
        seen = Seen(probe)
        common = {'machine': 'stewart_platform', 'mode': 'lockstep', 'exchange_period': PERIOD}
        path = path_file(tmp_path, duration)
        processes.start('platform_controller_node', path=path, **common)
        partners = ['platform_controller_node']
        if not monolithic:
            processes.start('electric_actuator_node', **common)
            partners.append('electric_actuator_node')
        actuation = 'monolithic' if monolithic else 'topics'
        processes.start('dynamics_node', wait_for=partners, duration=duration + after, actuation=actuation, **common)
        assert processes.wait('dynamics_node', 280) == 0, processes.log('dynamics_node')
        last = duration + after
        probe.until(lambda: seen.times and seen.times[-1] >= last - 1e-6, 'the last joint states')
        processes.stop()
        assert 'Traceback' not in processes.log('platform_controller_node')
        return seen

    return run


def worst(seen, duration):
    """Return the greatest distance, m, and angle, rad, from the motion of the file."""
    off = []
    for time in seen.times[::5]:
        (position, turn), (goal, goal_turn) = seen.at(time), wanted(time, duration)
        off.append((np.linalg.norm(position - goal), (turn * goal_turn.inv()).magnitude()))
    return np.max(off, axis=0)


@pytest.mark.slow
def test_the_platform_follows_a_motion_in_six_freedoms_on_its_motors(run, probe):
    """50 mm and 5 degrees in 10 s. Fast counterpart: test/control/test_platform_follower.py."""
    probe.listen('std_msgs/msg/String', 'platform_state', latched=True)
    for topic in ('platform_error/distance', 'platform_error/angle'):
        probe.listen('std_msgs/msg/Float64', topic)
    seen = run(10.0, after=0.2)
    distance, angle = worst(seen, 10.0)
    assert distance < 1e-3
    assert angle < np.radians(0.1)
    seen.check_limits()
    assert probe.last['platform_state'].data == 'holding'
    assert probe.last['platform_error/distance'].data < 1e-4
    moved = np.ptp([seen.legs(time) for time in seen.times], axis=0)
    assert moved.min() > 0.05


@pytest.mark.slow
def test_motors_in_a_node_move_the_platform_as_motors_inside_the_dynamics_do(run):
    split, inside = run(2.0), run(2.0, monolithic=True)
    off = [np.abs(split.legs(time) - inside.legs(time)).max() for time in split.times if time in set(inside.times)]
    assert len(off) > 350
    assert max(off) < 5e-5


@pytest.mark.slow
def test_the_platform_is_a_hand_that_follows_a_line_on_its_motors(processes, probe):
    """cartesian_controller_node through closed loops. Fast counterpart: test/nodes/test_hand_on_closed_motors.py."""
    seen, move = Seen(probe), np.array([0.06, -0.04, 0.05])
    probe.listen('std_msgs/msg/String', 'hand_state', latched=True)
    target = probe.node.create_publisher(PoseStamped, 'hand_pose', QoSProfile(depth=10))
    common = {'machine': 'stewart_platform', 'mode': 'lockstep', 'exchange_period': PERIOD}
    partners = ['cartesian_controller_node', 'electric_actuator_node']
    processes.start('cartesian_controller_node', link='platform', output='valve_commands', **common)
    processes.start('electric_actuator_node', **common)
    probe.until(lambda: target.get_subscription_count() > 0, 'the match with cartesian_controller_node', 200)
    processes.start('dynamics_node', wait_for=partners, duration=3.0, **common)
    probe.until(lambda: len(seen.times) > 3, 'the first joint states', 280)
    goal, position = PoseStamped(), HOME + move
    goal.header.frame_id = 'ground'
    goal.pose.position.x, goal.pose.position.y, goal.pose.position.z = map(float, position)
    goal.pose.orientation.w = 1.0
    target.publish(goal)
    assert processes.wait('dynamics_node', 280) == 0, processes.log('dynamics_node')
    probe.until(lambda: seen.times[-1] >= 3.0 - 1e-6, 'the last joint states')
    processes.stop()
    assert 'Traceback' not in processes.log('cartesian_controller_node')
    poses = [seen.at(time) for time in seen.times]
    ways = np.array([at - HOME for at, _ in poses])
    along = move / np.linalg.norm(move)
    assert np.linalg.norm(ways - np.outer(ways @ along, along), axis=1).max() < 1e-3
    assert ways[-1] == pytest.approx(move, abs=1e-3)
    assert max(turn.magnitude() for _, turn in poses) < np.radians(0.1)
    assert probe.last['hand_state'].data == 'holding'
