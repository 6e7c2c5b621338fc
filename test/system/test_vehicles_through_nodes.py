"""The platform 4x4x4 and the car as processes: cmd_vel in; odometry, ground reactions and margins out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.nodes.stamps import seconds_of_stamp

TwistStamped = message('geometry_msgs/msg/TwistStamped')
Odometry = message('nav_msgs/msg/Odometry')
WrenchStamped = message('geometry_msgs/msg/WrenchStamped')
Float64 = message('std_msgs/msg/Float64')
PERIOD, REPORT = 0.002, 0.02
WHEELS = ('front_left', 'front_right', 'rear_left', 'rear_right')
G = 9.81


class Driver:
    """Answers every true odometry with the cmd_vel of its time; stores the data by the number of the report."""

    def __init__(self, probe, wanted, wheels=WHEELS) -> None:
        self.wanted = wanted
        self.twist: dict[int, np.ndarray] = {}
        self.pose: dict[int, np.ndarray] = {}
        self.roll: dict[int, float] = {}
        self.wheels: dict[int, np.ndarray] = {}
        self.seen: dict[int, np.ndarray] = {}
        self.forces: dict[str, dict[int, np.ndarray]] = {wheel: {} for wheel in wheels}
        self.margins: dict[str, list[float]] = {name: [] for name in ('zmp', 'load_share', 'force_angle')}
        node, qos = probe.node, QoSProfile(depth=5000)
        self.out = node.create_publisher(TwistStamped, 'cmd_vel', QoSProfile(depth=10))
        node.create_subscription(Odometry, 'wheel_odom', self._on_wheels, qos)
        node.create_subscription(Odometry, 'odom', self._on_true, qos)
        for wheel in wheels:
            node.create_subscription(WrenchStamped, f'ground_reactions/{wheel}', self._keeper(wheel), qos)
        for name, kept in self.margins.items():
            node.create_subscription(Float64, f'stability/{name}', lambda msg, kept=kept: kept.append(msg.data), qos)

    def _keeper(self, wheel):
        def keep(msg) -> None:
            force = msg.wrench.force
            self.forces[wheel][number(msg)] = np.array([force.x, force.y, force.z])

        return keep

    def _on_wheels(self, odom) -> None:
        position = odom.pose.pose.position
        self.wheels[number(odom)] = np.array([position.x, position.y])
        linear, angular = odom.twist.twist.linear, odom.twist.twist.angular
        self.seen[number(odom)] = np.array([linear.x, linear.y, angular.z])

    def _on_true(self, odom) -> None:
        linear, angular = odom.twist.twist.linear, odom.twist.twist.angular
        position, q = odom.pose.pose.position, odom.pose.pose.orientation
        self.twist[number(odom)] = np.array([linear.x, linear.y, angular.z])
        self.pose[number(odom)] = np.array([position.x, position.y])
        self.roll[number(odom)] = math.asin(2.0 * (q.w * q.x + q.y * q.z))
        msg = TwistStamped()
        twist = msg.twist
        twist.linear.x, twist.linear.y, twist.angular.z = map(float, self.wanted(seconds_of_stamp(odom.header.stamp)))
        self.out.publish(msg)

    def normal(self, k) -> np.ndarray:
        """Return the loads of the four wheels at a report."""
        return np.array([self.forces[wheel][k][2] for wheel in WHEELS])


def number(msg) -> int:
    return round(seconds_of_stamp(msg.header.stamp) / REPORT)


@pytest.fixture
def drive(processes, probe):
    def run(machine, wanted, duration, wheels=WHEELS, config='', **limits) -> Driver:
        driver = Driver(probe, wanted, wheels)
        common = {'machine': machine, 'config': config, 'mode': 'lockstep', 'exchange_period': PERIOD}
        processes.start('vehicle_controller_node', **common, **limits)
        wait_for = ['vehicle_controller_node']
        processes.start('dynamics_node', wait_for=wait_for, duration=duration, report_period=REPORT, **common)
        assert processes.wait('dynamics_node', 250) == 0, processes.log('dynamics_node')
        last = round(duration / REPORT)
        probe.until(lambda: all(last in kept for kept in (driver.twist, *driver.forces.values())), 'the last report')
        return driver

    return run


@pytest.mark.slow
def test_the_4x4x4_drives_ahead_crabs_and_turns(drive):
    script = ((1.2, (0.5, 0.0, 0.0)), (3.0, (0.0, 0.4, 0.0)), (4.8, (0.0, 0.0, 0.6)))

    def wanted(time):
        return next((twist for end, twist in script if time < end), (0.0, 0.0, 0.0))

    driver = drive('platform_4x4x4', wanted, 4.8)
    for end, twist in script:
        measured = driver.twist[round((end - 0.04) / REPORT)]
        assert np.abs(measured - twist).max() < 0.02, (end, measured)
    for k in driver.forces['front_left']:
        if k % 10 == 0:
            assert driver.normal(k).sum() == pytest.approx(104.0 * G, rel=0.02)
    last = max(driver.wheels)
    assert np.linalg.norm(driver.wheels[last] - driver.pose[last]) < 0.05
    assert min(driver.margins['load_share']) > 0.15
    assert min(driver.margins['force_angle']) > 0.0


@pytest.mark.slow
def test_the_car_changes_lane_and_its_load_goes_to_the_outside(drive):
    """Yaw rate a sin over 2 s at 10 m/s: nearly 2 m/s2 to the left, then to the right.

    About the line under the middle, half the track times (left - right) = - m a_y h, within the bound of 16 %. The
    formula neglects the leaning body m_s g h_s roll, its roll inertia, and the gyroscopic wheels. With these the bound
    is 1.5 %.
    """
    speed, amplitude, start, period = 10.0, 0.2, 3.0, 2.0

    def wanted(time):
        if time < start or time > start + period:
            return speed, 0.0, 0.0
        return speed, 0.0, amplitude * math.sin(2 * math.pi * (time - start) / period)

    names = ('linear_speed', 'linear_acceleration', 'angular_acceleration')
    limits = dict(zip((f'limits.{name}' for name in names), (12.0, 5.0, 5.0)))
    driver = drive('car', wanted, start + period + 1.0, **limits)
    times = np.array(sorted(driver.twist))
    twist = np.array([driver.twist[k] for k in times])
    roll = np.array([driver.roll[k] for k in times])
    loads = np.array([driver.normal(k) for k in times])
    during = (times * REPORT > start) & (times * REPORT < start + period + 0.5)
    assert twist[times == round(start / REPORT)][0, 0] == pytest.approx(speed, abs=0.2)

    lateral = np.gradient(twist[:, 1], REPORT) + twist[:, 0] * twist[:, 2]
    axle = 0.30 - 335.0 * G / 2e5
    moment = 0.75 * (loads[:, [0, 2]].sum(axis=1) - loads[:, [1, 3]].sum(axis=1))
    alone = -(1200.0 * 0.55 + 140.0 * axle) * lateral
    leaning = np.gradient(np.gradient(roll, REPORT), REPORT)
    lean = 400.0 * leaning - 1200.0 * G * (0.55 - axle) * roll
    gyros = -4 * 1.0 * twist[:, 0] / axle * twist[:, 2]
    peak = np.abs(moment[during]).max()
    off = [
        float(np.abs(moment - expected)[during].max() / peak)
        for expected in (alone, alone + lean, alone + lean + gyros)
    ]
    print(
        f'a_y {lateral[during].min():.2f} to {lateral[during].max():.2f} m/s2, roll up to {np.abs(roll).max():.4f} rad'
    )
    print(f'moment up to {peak:.0f} N m; m a_y h alone, with the lean, with gyros: off by {np.round(off, 4)}')
    assert lateral[during].max() > 1.5
    assert lateral[during].min() < -1.5
    assert off[0] < 0.16
    assert off[2] < 0.015
    aside = speed * amplitude * period**2 / (2 * math.pi)
    assert driver.pose[max(driver.pose)][1] == pytest.approx(aside, rel=0.08)
    assert min(driver.margins['load_share']) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize('machine', ['agv_axle', 'agv_caster', 'agv_omni', 'platform_4x4x4_arm'])
def test_every_vehicle_drives_ahead_and_turns(drive, machine):
    driver = drive(machine, lambda time: (0.3, 0.0, 0.2), 1.6, wheels=())
    last = max(driver.twist)
    assert driver.twist[last] == pytest.approx([0.3, 0.0, 0.2], abs=0.02)
    heading = 0.5 * 0.2 * 1.6
    assert driver.pose[last] == pytest.approx([0.4 * math.cos(heading), 0.4 * math.sin(heading)], abs=0.08)
    assert min(driver.margins['force_angle']) > 0.0


@pytest.mark.slow
def test_the_car_with_a_tie_rod_turns_under_cmd_vel(drive):
    """A steering gear turns both front wheels by the rod, on springs and tyres; the reactions carry the weight."""
    limits = {'limits.linear_speed': 3.0, 'limits.linear_acceleration': 4.0, 'limits.angular_acceleration': 4.0}
    driver = drive('car_trapezoid', lambda time: (2.0, 0.0, 0.25 if time > 1.0 else 0.0), 3.0, **limits)
    last = max(driver.twist)
    assert driver.twist[last][[0, 2]] == pytest.approx([2.0, 0.25], abs=0.03)
    assert driver.normal(last).sum() == pytest.approx(1340.0 * G, rel=0.02)
    assert np.linalg.norm(driver.wheels[last] - driver.pose[last]) < 0.1
    assert min(driver.margins['load_share']) > 0.1


def drives_by_constraint(drive, machine, config, wheels, weight, exact):
    """Drive ahead and turn: the odometry of a vehicle without slip equals its motion."""
    driver = drive(machine, lambda time: (0.3, 0.0, 0.4), 1.2, wheels=wheels, config=config)
    last = max(driver.twist)
    assert driver.twist[last] == pytest.approx([0.3, 0.0, 0.4], abs=0.02)
    common = sorted(set(driver.twist) & set(driver.seen))
    assert len(common) > 30
    off = max(np.abs(driver.twist[k] - driver.seen[k]).max() for k in common)
    assert off < (1e-9 if exact else 0.02)  # a base on skids pitches, its wheels with it
    assert np.linalg.norm(driver.pose[last] - driver.wheels[last]) < (1e-6 if exact else 1e-3)
    assert sum(driver.forces[wheel][last][2] for wheel in wheels) == pytest.approx(weight, rel=1e-6 if exact else 0.02)
    assert min(driver.margins['force_angle']) > 0.0


def test_a_vehicle_with_a_caster_by_constraint_drives_without_slip(drive):
    drives_by_constraint(drive, 'agv_caster', 'agv_caster_rigid', ('left', 'right', 'caster'), 26.1 * G, exact=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ('machine', 'config', 'mass'), [('cart', 'cart_skids', 14.0), ('agv_axle', 'agv_axle_rigid', 6.0)]
)
def test_an_axle_by_constraint_on_skids_drives_without_slip(drive, machine, config, mass):
    wheels = ('left', 'right', 'front_skid', 'rear_skid')
    drives_by_constraint(drive, machine, config, wheels, mass * G, exact=False)
