"""A Mecanum vehicle driven by cmd_vel as processes in lockstep: its motion and its wheel odometry."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.nodes.stamps import seconds_of_stamp

TwistStamped = message('geometry_msgs/msg/TwistStamped')
PERIOD = 0.002
COMMON = {'machine': 'agv_mecanum', 'mode': 'lockstep', 'exchange_period': PERIOD}
RAMP = 1.0
"""Acceleration parameter of the vehicle, m/s2; its yaw acceleration has twice the value."""
ROCKING = RAMP / math.sqrt(2 * 200.0 * 110.4 / 45.0)
"""Speed amplitude of the vehicle rocking on its tyres after a step of acceleration, m/s: four wheels, 200 N/m per N of
load, each along its roller at 45 degrees. Between two accelerations both steps add."""
END = 4.8


def yaw_of(odom) -> float:
    q = odom.pose.pose.orientation
    return 2.0 * math.atan2(q.z, q.w)


def pose_of(odom) -> np.ndarray:
    position = odom.pose.pose.position
    return np.array([position.x, position.y, yaw_of(odom)])


def twist_of(odom) -> np.ndarray:
    linear, angular = odom.twist.twist.linear, odom.twist.twist.angular
    return np.array([linear.x, linear.y, angular.z])


class Driver:
    """Answers every true odometry with the cmd_vel of its time; stores the odometry of the vehicle."""

    def __init__(self, probe, script) -> None:
        self.script = script
        self.true: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.wheels: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.slip: list[np.ndarray] = []
        self.time = 0.0
        self.out = probe.node.create_publisher(TwistStamped, 'cmd_vel', QoSProfile(depth=10))
        qos = QoSProfile(depth=5000)
        odometry = message('nav_msgs/msg/Odometry')
        probe.node.create_subscription(odometry, 'wheel_odom', self._on_wheels, qos)
        probe.node.create_subscription(odometry, 'odom', self._on_true, qos)
        array = message('std_msgs/msg/Float64MultiArray')
        probe.node.create_subscription(array, 'wheel_slip', lambda msg: self.slip.append(np.array(msg.data)), qos)

    def _on_wheels(self, odom) -> None:
        self.wheels[round(seconds_of_stamp(odom.header.stamp) / PERIOD)] = (pose_of(odom), twist_of(odom))

    def _on_true(self, odom) -> None:
        self.time = seconds_of_stamp(odom.header.stamp)
        self.true[round(self.time / PERIOD)] = (pose_of(odom), twist_of(odom))
        wanted = next((twist for end, twist in self.script if self.time < end), None)
        if wanted is not None:
            self.say(*wanted)

    def say(self, vx: float, vy: float, wz: float) -> None:
        msg = TwistStamped()
        msg.twist.linear.x, msg.twist.linear.y, msg.twist.angular.z = vx, vy, wz
        self.out.publish(msg)


@pytest.fixture
def drive(processes, probe):
    """Start a vehicle and drive it by a script of (end, twist); return the recorded data."""

    def run(script, duration: float, mode: str = 'lockstep', **parameters) -> Driver:
        driver, common = Driver(probe, script), {**COMMON, 'mode': mode}
        probe.listen('sensor_msgs/msg/JointState', 'joint_command', latched=True)
        processes.start('vehicle_controller_node', **common, **parameters)
        processes.start('dynamics_node', wait_for=['vehicle_controller_node'], duration=duration, **common)
        return driver

    return run


def finished(processes, probe, driver, duration: float) -> None:
    assert processes.wait('dynamics_node', 200) == 0, processes.log('dynamics_node')
    last = round(duration / PERIOD)
    probe.until(lambda: last in driver.true and last in driver.wheels, 'the last instant')


def test_it_drives_ahead_sideways_and_turns_with_wheel_odometry(processes, probe, drive):
    script = [(1.0, (0.4, 0.0, 0.0)), (2.2, (0.0, 0.3, 0.0)), (3.4, (0.0, 0.0, 0.8))]
    driver = drive(script, END)
    finished(processes, probe, driver, END)
    assert processes.running['vehicle_controller_node'].poll() is None
    for end, twist in script:
        _, measured = driver.true[round((end - 0.02) / PERIOD)]
        assert np.abs(measured - twist).max() < 0.01, (end, measured)
    pose, twist = driver.true[round(END / PERIOD)]
    assert np.abs(twist).max() < 2e-3  # no cmd_vel since 3.4 s: it is at rest
    odometry, _ = driver.wheels[round(END / PERIOD)]
    assert np.abs(pose - odometry).max() < 0.02, (pose, odometry)
    common = sorted(set(driver.true) & set(driver.wheels))
    errors = np.array([driver.true[k][1] - driver.wheels[k][1] for k in common])
    assert len(common) > 200
    assert np.abs(errors).max() < 2.0 * ROCKING
    assert np.sqrt(np.mean(errors**2)) < 0.2 * ROCKING
    assert 0.0 < np.max(driver.slip) < 0.02


def test_a_missing_cmd_vel_stops_it_within_timeout_and_ramp(processes, probe, drive):
    # at the pace of the clock: this process publishes cmd_vel, and in lockstep a timeout passes quickly without it
    timeout, ramp = 0.7, 0.6 / RAMP
    driver = drive([(1.0, (0.6, 0.0, 0.0))], 3.5, mode='realtime', cmd_vel_timeout=timeout)
    finished(processes, probe, driver, 3.5)
    assert driver.true[round(1.0 / PERIOD)][1][0] == pytest.approx(0.6, abs=0.01)
    stops = [k * PERIOD for k, (_, twist) in sorted(driver.true.items()) if k * PERIOD > 1.1 and twist[0] < 0.01]
    # cmd_vel is a topic: it may be received a few reports late
    assert 1.0 + timeout + ramp - 0.05 < stops[0] < 1.0 + timeout + ramp + 0.25
    at_rest = driver.true[round(3.0 / PERIOD)][0]
    assert np.abs(driver.true[round(3.5 / PERIOD)][0] - at_rest).max() < 1e-3
    probe.until(
        # more than one if commands of this process were late before
        lambda: int(probe.health.get('vehicle_controller_node: cmd_vel', (0, '', {}))[2].get('timeouts', 0)) >= 1,
        'the report of the timeout',
    )


def test_a_twist_that_is_not_finite_is_rejected_and_counted(processes, probe, drive):
    driver = drive([], 0.0)
    probe.until(lambda: driver.time > 0.1, 'the start', 60)
    driver.say(0.1, float('nan'), 0.0)
    driver.say(0.1, 0.0, float('inf'))

    def rejected() -> bool:
        values = probe.health.get('vehicle_controller_node: cmd_vel', (0, '', {}))[2]
        return values.get('rejected: not finite') == '2' and values.get('received') == '0'

    probe.until(rejected, 'both refusals')
    assert processes.running['vehicle_controller_node'].poll() is None
    assert np.abs(driver.true[max(driver.true)][1]).max() < 1e-3
