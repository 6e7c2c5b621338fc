"""The grip governor of a vehicle controller: its parameters, the slope, its reports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.motion import PositionMotion
from dyn_nodes.control.trajectory import JointTrajectory
from dyn_nodes.control.wheel_motion import WheelMotion
from dyn_nodes.governor.arm_pace import SLOWEST, STILL, ArmPace, slowed, stopping
from dyn_nodes.governor.grip_governor import GripGovernor, Verdict
from dyn_nodes.governor.grip_model import COMING, GripModel, GripModelError, is_astray, joint_states
from dyn_nodes.governor.settings import GripSettings
from dyn_nodes.middleware import QoSProfile, message
from dyn_nodes.model.equilibrium import gravity_in_ground
from dyn_nodes.model.machine import Machine, Slope
from dyn_nodes.monitor.sensors import world_up
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.diagnostics import WARN, Health
from dyn_nodes.nodes.exchange import data_qos
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stamps import seconds_of_stamp, stamp_of
from dyn_nodes.nodes.transforms import optional_message

SpeedLimit = optional_message('nav2_msgs/msg/SpeedLimit')
"""None on a ROS 2 without Nav2."""
Imu, TwistStamped = message('sensor_msgs/msg/Imu'), message('geometry_msgs/msg/TwistStamped')

SETTINGS = ('friction_use', 'load_share', 'least_braking', 'overshoot')
PERIOD = 0.02
"""Simulated period of the update of posture and slope, s."""
REMEMBERED = 1.0
"""Time for which a limited motion is reported, s."""
IMU_TIMEOUT = 0.5
LIMIT_PERIOD = 0.2
"""Period of `speed_limit`, s."""
DIRECTIONS = 16
"""Number of evenly distributed directions of travel for `speed_limit`."""
LEAST_LIMIT = 1.0
"""Least speed limit, percent: in Nav2 a value of 0 means no limit."""
ANEW = 0.02, 0.3
"""Change of the payload, over the greater one, and of gravity, m/s2, after which a trajectory is checked again."""
LEAST_PACE = 0.95
"""Admissible pace of the rest of a trajectory below which the arm is stopped."""
UP_TIME = 2.0
"""Time constant of the direction of gravity from the specific force of an IMU without orientation, s."""


def settings_of(values: Mapping[str, Any]) -> GripSettings:
    """Return the settings of a node's parameters."""
    return GripSettings(*(values[f'grip.{name}'] for name in SETTINGS))


class GripLimiting:
    """Limits the motion of a vehicle and its arm to the grip of the wheels.

    Args:
        node: the node, with `machine`, `motion`, `values` and `joints`.
        arm: names of the joints that follow trajectories.

    Attributes:
        payload: kg.
        limited: number of limited motions.
        slowed, stopped: numbers of slowed trajectories, and of those stopped on the way.

    Raises:
        ParameterError: a machine with unknown ground reactions.
    """

    def __init__(self, node: Any, arm: tuple[str, ...]) -> None:
        self.values: dict[str, Any] = node.values
        machine: Machine = node.machine
        motion: WheelMotion = node.motion
        self.machine, self.motion, self.arm = machine, motion, arm
        friction = self.values['grip.friction_by_constraint']
        try:
            self.model = GripModel(machine, motion.base, friction if friction > 0.0 else np.inf)
        except GripModelError as error:
            raise ParameterError(f"parameter 'grip.mode': {error}") from None
        self._arm_indices = [self.model.joints.index(name) for name in arm]
        joints = [machine.joint(name) for name in arm]
        self._arm_stops = (
            np.array([friction.lower for friction in joints]),
            np.array([friction.upper for friction in joints]),
        )
        self.governor = GripGovernor(self.model, constraint=motion.base.constraint)
        self.tune()
        self.governor.acts = self.values['grip.mode'] == 'limit'
        self.pace = ArmPace(self.governor, self.model, arm)
        motion.drive.governor = self.governor
        motion.load = self.model.planar if self.governor.acts else None
        mount = machine.payload
        mass = self.values['payload']
        self.payload = mass if mass >= 0.0 else 0.0 if mount is None else mount.mass
        self._ground = self._gravity_on_ground()
        self.twist_out = node.create_publisher(TwistStamped, 'cmd_vel_governed', data_qos(not node.paced))
        self._twist = TwistStamped()
        self._twist.header.frame_id = machine.base.link
        limits_nav2 = SpeedLimit is not None and self.governor.acts
        self.limit_out = node.create_publisher(SpeedLimit, 'speed_limit', QoSProfile(depth=10)) if limits_nav2 else None
        self._imu = bool(self.values['grip.imu'])
        if self._imu:
            node.create_subscription(Imu, 'imu', self._on_imu, QoSProfile(depth=10))
        self.limited = self.slowed = self.stopped = 0
        self.restart()
        still = np.zeros(len(self.model.joints))
        self.update(0.0, still, still, None)  # compiles the code of the first command
        self.restart()

    def _gravity_on_ground(self) -> Array:
        roll, pitch = self.values['grip.slope_roll'], self.values['grip.slope_pitch']
        machine = self.machine
        return gravity_in_ground(replace(machine, slope=Slope(roll, pitch)) if roll or pitch else machine)

    def restart(self) -> None:
        """Drop measurements and reports: time starts again."""
        self._placed = -np.inf
        self._up: Array | None = None
        self._up_heading = 0.0
        self._imu_at = -np.inf
        self._now = 0.0
        self._last: tuple[float, Verdict] = (-np.inf, Verdict())
        self._pace = ''
        self._judged = self.payload, self.gravity()
        self._stopped = False
        self._limited_at = -np.inf

    # -- running -------------------------------------------------------------------------------------------------------

    def tune(self) -> None:
        """Apply the parameters."""
        limits = self.motion.drive.limits
        self.governor.settings = settings_of(self.values)
        self.governor.turning = limits.angular_acceleration / limits.linear_acceleration
        self.governor.refresh()

    def update(self, now: float, positions: Array, velocities: Array, arm: PositionMotion | None) -> None:
        """Update the state of all joints and the coming motion of the arm at an instant, s.

        Called before a step; stores the verdict of the previous one.
        """
        self._note()
        self._now = now
        if 0.0 <= now - self._placed < PERIOD:
            return
        self._placed = now
        if arm is not None:
            self._judge_again(now, positions, velocities, arm)
        coming = [] if arm is None else arm.coming(now, COMING)
        self.governor.halts = is_astray(positions, self._arm_indices, coming)
        postures = joint_states(positions, velocities, self._arm_indices, coming)
        try:
            self.model.set_state(*postures, self._angles(positions), self.payload, self.gravity())
        except GripModelError:
            self.model.lose()
        self.governor.refresh()

    def _judge_again(self, now: float, positions: Array, velocities: Array, arm: PositionMotion) -> None:
        """Stop an arm if its trajectory is no longer admissible with a new payload or slope.

        The twist of the base is ignored: the governor lets the vehicle brake for its arm.
        """
        lasting, (payload, gravity) = arm.lasting(now), self._judged
        heavier = abs(self.payload - payload) > ANEW[0] * max(self.payload, payload)
        if lasting is None or not (heavier or np.linalg.norm(self.gravity() - gravity) > ANEW[1]):
            return
        self._judged = self.payload, self.gravity()
        trajectory, since = lasting
        pace = self.pace.of(trajectory, positions, self._angles(positions), np.zeros(3), *self._judged, since)
        if pace.factor >= LEAST_PACE:
            return
        self._pace, self._stopped = f'{pace.text}, as load and ground are now', True
        if self.governor.acts:
            here, rates = positions[self._arm_indices], velocities[self._arm_indices]
            self.stopped += 1
            arm.follow(stopping(self.arm, here, rates, self._arm_stops), now, here, rates)

    def _angles(self, positions: Array) -> Array:
        joints = np.array([positions[self.model.joints.index(name)] for name in self.motion.joints])
        return self.motion.steering_angles(joints)

    def gravity(self) -> Array:
        """Return gravity (3,) in axes of the base, m/s2: measured, or of the specified slope.

        A measurement at another heading is rotated by the odometry since then.
        """
        if self._up is not None:
            return -self.machine.gravity * self._up_now(self._up)
        return self._turned(self._ground, self._heading - self.machine.initial.base_yaw)

    def _up_now(self, up: Array) -> Array:
        """Return the last measured direction against gravity in the present axes of the base."""
        return self._turned(up, self._heading - self._up_heading)

    @property
    def _heading(self) -> float:
        return float(self.motion.odometry.pose[2])

    @staticmethod
    def _turned(vector: Array, heading: float) -> Array:
        """Return a vector (3,) of the ground in the axes of a base that has turned by a heading."""
        c, s = math.cos(heading), math.sin(heading)
        x, y, z = vector
        return np.array([c * x + s * y, c * y - s * x, z])

    def _note(self) -> None:
        """Store the governor's verdict of the last step."""
        verdict = self.governor.verdict
        if verdict.held:
            if self._now - self._last[0] > REMEMBERED:
                self.limited += 1
            self._last = self._now, verdict

    def admitted(self, trajectory: JointTrajectory, positions: Array, velocities: Array) -> JointTrajectory:
        """Return a trajectory of the arm from the present state, slowed until wheels and joints can follow.

        Args:
            trajectory: of the arm's joints.
            positions: of all movable joints.
            velocities: of all movable joints.

        Raises:
            RejectedError: they cannot follow at any pace, or the trajectory must be slowed and the arm moves.
        """
        here, rates = positions[self._arm_indices], velocities[self._arm_indices]
        whole = trajectory.for_joints(self.arm).starting_from(here, rates)
        state = positions, self._angles(positions), self.motion.drive.twist
        pace = self.pace.of(whole, *state, self.payload, self.gravity())
        self._pace, self._stopped = '', False
        self._judged = self.payload, self.gravity()
        if pace.factor >= 1.0:
            return whole
        acts = self.governor.acts
        self._pace = f'{pace.text}; it holds at {100 * pace.factor:.0f} % of the speed'
        if not pace.factor >= SLOWEST:
            self._pace = f'{pace.text}, however slow'
            if acts:
                raise RejectedError('ground', f'joint_trajectory: {self._pace}')
        elif acts and np.abs(rates).max() > STILL:
            raise RejectedError('ground', f'joint_trajectory: {self._pace}, and the arm moves: it continues as before')
        if not acts:
            return whole
        self.slowed += 1
        return slowed(whole, pace.factor)

    def _on_imu(self, msg: Any) -> None:
        o, acceleration = msg.orientation, msg.linear_acceleration
        stamp = seconds_of_stamp(msg.header.stamp)
        force = np.array([acceleration.x, acceleration.y, acceleration.z])
        if msg.orientation_covariance[0] != -1.0:
            quaternion = np.array([o.x, o.y, o.z, o.w])
            if not (np.isfinite(quaternion).all() and np.linalg.norm(quaternion) > 0.5):
                return
            self._up = world_up(quaternion)
        else:
            rates = self.motion.reference.acceleration if self.motion.reference else np.zeros(3)
            ahead, aside, turning = self.motion.odometry.twist
            force = force - np.array([rates[0] - turning * aside, rates[1] + turning * ahead, 0.0])
            size = float(np.linalg.norm(force))
            if not 0.0 < size < 1e4:
                return
            before = force / size if self._up is None else self._up_now(self._up)
            part = min(1.0, max(0.0, stamp - self._imu_at) / UP_TIME)
            mixed = before + part * (force / size - before)
            self._up = mixed / np.linalg.norm(mixed)
        self._up_heading, self._imu_at = self._heading, stamp

    def publish_twist(self, now: float) -> None:
        """Publish the twist of the wheels after limits and governor."""
        x, y, turn = (float(part) for part in self.motion.drive.twist)
        self._twist.header.stamp = stamp_of(now)
        self._twist.twist.linear.x, self._twist.twist.linear.y, self._twist.twist.angular.z = x, y, turn
        self.twist_out.publish(self._twist)

    def publish_limit(self, now: float) -> None:
        """Publish every `LIMIT_PERIOD` the admissible part of the greatest speeds for Nav2."""
        if self.limit_out is None or 0.0 <= now - self._limited_at < LIMIT_PERIOD:
            return
        self._limited_at = now
        limit = SpeedLimit(percentage=True, speed_limit=self.speed_limit())
        limit.header.stamp, limit.header.frame_id = stamp_of(now), self.machine.base.link
        self.limit_out.publish(limit)

    def speed_limit(self) -> float:
        """Return the part of the greatest speeds that is admissible in all directions, percent; 0: no limit."""
        limits = self.motion.drive.limits
        angles = np.linspace(0.0, 2.0 * np.pi, DIRECTIONS, endpoint=False)
        ways = [(math.cos(angle), math.sin(angle), turn) for angle in angles for turn in (-1.0, 0.0, 1.0)]
        ways += [(0.0, 0.0, -1.0), (0.0, 0.0, 1.0)]
        fastest = np.array(ways) * [limits.linear_speed, limits.linear_speed, limits.angular_speed]
        part = self.governor.share(np.array([self.motion.drive.without_drag(twist, []) for twist in fastest]))
        return 0.0 if part >= 1.0 else max(LEAST_LIMIT, 100.0 * part)

    # -- reporting -----------------------------------------------------------------------------------------------------

    def status(self) -> Health:
        """Return the status `grip`."""
        now, (since, verdict) = self._now, self._last
        gravity = self.gravity()
        steep = math.degrees(math.acos(min(1.0, max(-1.0, -gravity[2] / float(np.linalg.norm(gravity))))))
        values = {
            'mode': self.values['grip.mode'],
            'slope': f'{steep:.1f} deg, {"measured" if self._up is not None else "given"}',
            'payload': f'{self.payload:g} kg',
            'held back': str(self.limited),
            'trajectories slowed': str(self.slowed),
            'trajectories stopped': str(self.stopped),
            'last held back by': verdict.wheel or 'nothing',
            'its friction use as asked': f'{verdict.friction_use:.2f}' if verdict.held else '0.00',
            'trajectory': self._pace or 'as asked',
        }
        health = Health(text='limits the motion' if self.governor.acts else 'reports, does not limit', values=values)
        if self.governor.halts:
            consequence = ': the vehicle is led to rest' if self.governor.acts else ''
            health.worse(WARN, f'the arm does not follow its trajectory{consequence}')
        if self._stopped:
            consequence = ': the arm was stopped' if self.governor.acts else ''
            health.worse(WARN, f'trajectory: {self._pace}{consequence}')
        if now - since < REMEMBERED:
            health.worse(WARN, verdict.text)
        if self._imu and now - self._imu_at > IMU_TIMEOUT:
            last = 'imu timed out: the last slope is used, turned by the odometry'
            health.worse(WARN, 'no imu' if self._up is None else last)
        return health
