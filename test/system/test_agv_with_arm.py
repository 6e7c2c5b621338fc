"""An omnidirectional vehicle with an arm as processes, as in docs/tutorials/drive_a_vehicle.md.

It drives and reaches at once, its margins warn before its wheels lift when it brakes hard, and its bag replays.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.nodes.stamps import seconds_of_stamp

TwistStamped = message('geometry_msgs/msg/TwistStamped')
JointTrajectory = message('trajectory_msgs/msg/JointTrajectory')
JointTrajectoryPoint = message('trajectory_msgs/msg/JointTrajectoryPoint')
Duration = message('builtin_interfaces/msg/Duration')

PERIOD = 0.002
COMMON = {'machine': 'agv_mecanum_arm', 'mode': 'lockstep', 'exchange_period': PERIOD}
ARM = ('arm_turn', 'arm_shoulder', 'arm_elbow', 'arm_wrist')
OUT = (0.0, 1.0, 0.0, 0.0)
REACHED = 1.5
BRAKES, END = 2.2, 3.0
SPEED = 1.5


class Driver:
    """Drives ahead with a reaching arm until it brakes."""

    def __init__(self, probe) -> None:
        self.time, self.reaching = 0.0, False
        node, qos = probe.node, QoSProfile(depth=2000)
        self.twist = node.create_publisher(TwistStamped, 'cmd_vel', QoSProfile(depth=10))
        self.trajectory = node.create_publisher(JointTrajectory, 'joint_trajectory', QoSProfile(depth=10))
        node.create_subscription(message('nav_msgs/msg/Odometry'), 'odom', self._on_odometry, qos)

    def _on_odometry(self, odom) -> None:
        self.time = seconds_of_stamp(odom.header.stamp)
        msg = TwistStamped()
        msg.twist.linear.x = SPEED if self.time < BRAKES else 0.0
        self.twist.publish(msg)
        if not self.reaching and self.time > 0.02:
            self.reaching = True
            time = Duration(sec=1, nanosec=400_000_000)
            point = JointTrajectoryPoint(positions=list(OUT), velocities=[0.0] * 4, time_from_start=time)
            self.trajectory.publish(JointTrajectory(joint_names=list(ARM), points=[point]))


@pytest.fixture
def bag(processes, probe, tmp_path) -> Path:
    """Return the bag of a run with full braking and 8 kg held out ahead."""
    Driver(probe)
    directory = tmp_path / 'bag'
    processes.start('recorder_node', directory=directory, use_sim_time=True)
    limits = {'limits.linear_speed': SPEED, 'limits.linear_acceleration': 6.0}
    processes.start('vehicle_controller_node', payload=8.0, **COMMON, **limits)
    others = ['recorder_node', 'vehicle_controller_node']
    processes.start('dynamics_node', wait_for=others, duration=END, payload=8.0, report_period=PERIOD, **COMMON)
    assert processes.wait('dynamics_node', 250) == 0, processes.log('dynamics_node')
    processes.stop()
    processes.running.clear()
    return directory


def read(bag: Path, *topics: str) -> dict[str, list[tuple[float, object]]]:
    with AnyReader([bag]) as reader:
        chosen = [connection for connection in reader.connections if connection.topic in topics]
        content: dict[str, list[tuple[float, object]]] = {topic: [] for topic in topics}
        for connection, stamp, raw in reader.messages(chosen):
            content[connection.topic].append((stamp * 1e-9, reader.deserialize(raw, connection.msgtype)))
    return content


@pytest.mark.slow
def test_it_drives_and_reaches_warns_lifts_and_replays(bag, processes, probe, domain):
    topics = ('/odom', '/joint_states', '/diagnostics', '/events', '/stability/load_share')
    messages = read(bag, *topics)

    # cmd_vel and joint_trajectory together
    driven = {round(t, 3): msg.twist.twist.linear.x for t, msg in messages['/odom']}
    assert driven[BRAKES - 0.1] == pytest.approx(SPEED, abs=0.03)
    states = {round(t, 3): dict(zip(msg.name, msg.position)) for t, msg in messages['/joint_states']}
    held = [states[BRAKES - 0.1][joint] for joint in ARM]
    np.testing.assert_allclose(held, OUT, atol=0.02)
    assert abs(states[0.0]['arm_elbow'] - OUT[2]) > 1.0
    assert driven[0.7] > 1.0, 'it drives while the arm moves'
    assert abs(states[0.7]['arm_elbow'] - OUT[2]) > 0.3

    # the margin warns before a wheel lifts
    lifts = [t for t, msg in messages['/events'] if msg.name.endswith('lift_off') and t > BRAKES]
    warnings = {
        seconds_of_stamp(msg.header.stamp): status.message
        for _, msg in messages['/diagnostics']
        for status in msg.status
        if status.name == 'dynamics_node: stability' and status.message.startswith('danger: ')
    }
    assert lifts, 'no wheel lifted'
    first = min(t for t in warnings if t > BRAKES)
    values = {
        key.key: key.value for _, msg in messages['/events'] if msg.name.endswith('lift_off') for key in msg.values
    }
    assert values['wheel'].startswith('rear')
    lead = min(lifts) - first
    print(f'{warnings[first]!r} {1e3 * lead:.1f} ms before the lift-off at {min(lifts):.4f} s')
    assert lead > 0.004

    # its bag replays with the recorded margins
    recorded = [msg.data for _, msg in messages['/stability/load_share']]
    replayed: list[float] = []
    probe.node.create_subscription(
        message('std_msgs/msg/Float64'),
        'stability/load_share',
        lambda msg: replayed.append(msg.data),
        QoSProfile(depth=5000),
    )
    command = ['bag', 'play', str(bag), '--rate', '2', '--wait-for-subscribers', '--topics', '/stability/load_share']
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
    play = subprocess.run(
        [sys.executable, '-m', 'dyn_nodes.cli', *command], env=environment, capture_output=True, timeout=60
    )
    assert play.returncode == 0, play.stderr.decode()
    probe.until(lambda: len(replayed) >= len(recorded), 'the replay')
    assert replayed == recorded
