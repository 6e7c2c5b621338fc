"""A vehicle that follows twists: joint commands and odometry from joint states.

    motion = WheelMotion(WheelBase.of(machine), period=0.002)
    motion.restart(state)
    command = motion.step(twist, dt, state)

Joint values are in the order of `WheelMotion.joints`, with the signs of the URDF.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.wheel_base import WheelBase
from dyn_nodes.control.wheel_drive import DriveLimits, DriveReference, WheelDrive
from dyn_nodes.control.wheel_odometry import OdometryNoise, WheelOdometry
from dyn_nodes.control.wheel_servo import ServoGains, WheelServo

LEASH = 1.0
"""Greatest lead of the position reference of a wheel, rad, so that a blocked wheel does not wind up."""


@dataclass(frozen=True, eq=False)
class JointValues:
    """Positions, velocities and efforts (n,) of joints, rad or N m; None for unmeasured efforts."""

    position: Array
    velocity: Array
    effort: Array | None


class WheelMotion:
    """Drive, servo and odometry of a vehicle.

    Args:
        base: its wheels.
        period: of the commands, s.
        limits, gains, noise: see there.

    Attributes:
        joints: names of all drive and steering joints, driven or not.
        commanded: names of the joints with commands.
        reference: of the last step, or None before the first.
        load: returns the ground wrench fx, fy and mz (3,) for a twist and its rates, (3,) each, arm and slope included,
            NaN if unknown; None: the vehicle is taken as rigid, on level ground.
    """

    def __init__(
        self,
        base: WheelBase,
        period: float,
        limits: DriveLimits | None = None,
        gains: ServoGains | None = None,
        noise: OdometryNoise | None = None,
    ) -> None:
        self.base = base
        self.drive, self.servo = WheelDrive(base, limits), WheelServo(base, period, gains)
        self.odometry = WheelOdometry(base, noise)
        steering = [wheel.steering for wheel in base.wheels]
        self.joints = tuple(wheel.drive for wheel in base.wheels) + tuple(dict.fromkeys(filter(None, steering)))
        self._steering = np.array([-1 if name is None else self.joints.index(name) for name in steering])
        self._has_steering = self._steering >= 0
        driven = [wheel.drive for wheel in base.wheels if wheel.driven]
        steered = [wheel.steering for wheel in base.wheels if wheel.steered and wheel.steering]
        self.commanded = (*driven, *dict.fromkeys(steered))
        self._indices = np.array([self.joints.index(name) for name in self.commanded])
        self.reference: DriveReference | None = None
        self.load: Callable[[Array, Array], Array] | None = None

    # -- joints and wheels ---------------------------------------------------------------------------------------------

    def _wheels_of(self, joints: Array) -> tuple[Array, Array]:
        """Return joint values (joints,) as values about the axles and about the upward normal, (n,) each."""
        steering = np.where(self._has_steering, joints[self._steering], 0.0)
        return self.base.turn * joints[: len(self.base.wheels)], self.base.up * steering

    def steering_angles(self, joints: Array) -> Array:
        """Return the steering angles (n,) from positions (joints,) of `joints`."""
        return self._wheels_of(joints)[1]

    def about_axles(self, joints: Array) -> Array:
        """Return values (joints,) of `joints` as values (n,) about the axles."""
        return self._wheels_of(joints)[0]

    def _joints_of(self, axles: Array, steering: Array) -> Array:
        """Return the joint values of the commanded joints."""
        joints = np.zeros(len(self.joints))
        joints[: len(axles)] = self.base.turn * axles
        mask = self._has_steering
        joints[self._steering[mask]] = (self.base.up * steering)[mask]
        return np.asarray(joints[self._indices])

    # -- running -------------------------------------------------------------------------------------------------------

    def restart(self, state: JointValues, pose: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> None:
        """Start at a pose, with the present motion and, if measured, the present efforts of the joints."""
        self.odometry.reset(pose)
        self.resume(state, 0.0)

    def resume(self, state: JointValues, dt: float) -> None:
        """Resume with the present motion of the joints after a pause of dt s; the odometry continues."""
        turns, angles = self._wheels_of(state.position)
        speeds, rates = self._wheels_of(state.velocity)
        self.odometry.step(dt, turns, speeds, angles, rates)
        self.drive.reset(angles, self.odometry.rolling)
        self.servo.reset(None if state.effort is None else self._wheels_of(state.effort)[0])
        self._turns = turns.copy()
        self._carried = np.zeros(len(self.base.wheels))
        self.reference = None

    def step(self, wanted: Array, dt: float, state: JointValues) -> JointValues:
        """Return positions, velocities and efforts of the commanded joints.

        Args:
            wanted: (3,) twist of the base, finite.
            dt: since the last call, s.
            state: measured now.
        """
        turns, angles = self._wheels_of(state.position)
        speeds, rates = self._wheels_of(state.velocity)
        self.odometry.step(dt, turns, speeds, angles, rates)
        reference = self.drive.step(wanted, dt, angles)
        forward, part = self.servo.feedforward(reference, angles)
        if part < 1.0:
            reference = self.drive.withdraw(reference, part, dt, angles)
        self.reference = reference
        forward = forward + self.base.turning_torques(reference.twist) + self._load_torques(reference, angles)
        drive = self.servo.drive_torques(reference, forward, dt, speeds, angles)
        steering = self.servo.steering_torques(reference, drive, dt, angles, rates)
        leading = self._turns + reference.wheel_speeds * dt
        self._turns = np.clip(leading, turns - LEASH, turns + LEASH)
        return JointValues(
            self._joints_of(self._turns, reference.steering_angles),
            self._joints_of(reference.wheel_speeds, reference.steering_rates),
            self._joints_of(drive, steering),
        )

    def _load_torques(self, reference: DriveReference, angles: Array) -> Array:
        """Return the torques (n,) about the axles of an arm and a slope; the last ones if unknown."""
        if self.load is None:
            return np.zeros(len(self.base.wheels))
        wrench = self.load(reference.twist, reference.acceleration)
        if np.isfinite(wrench).all():
            self._carried = self.servo.load_torques(wrench, reference, angles)
        return self._carried

    @property
    def infeasible(self) -> tuple[str, ...]:
        """Texts that name the rejected parts of the last command."""
        texts = self.reference.rejected if self.reference else ()
        return (*texts, self.servo.rejected) if self.servo.rejected else texts
