"""Voltages of electric motors that move the joints of a machine along trajectories, or hold them in place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.drive_dynamics import DriveDynamics
from dyn_nodes.control.motion import PositionMotion
from dyn_nodes.control.motor_law import MotorLaw
from dyn_nodes.control.motor_servo import MotorServo
from dyn_nodes.control.trajectory import JointReference, JointTrajectory
from dyn_nodes.model.machine import Actuator, Machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel


class MotorLoop:
    """Computed torque on motors: `MotorServo` with the feedback a = 2 zeta wn (v_ref - v) + wn^2 (q_ref - q).

    Args:
        servo: of n motors.
        bandwidth: wn, rad/s.
        damping_ratio: zeta.
    """

    def __init__(self, servo: MotorServo, bandwidth: float, damping_ratio: float) -> None:
        self.servo, self.bandwidth, self.damping_ratio = servo, bandwidth, damping_ratio

    def voltages(
        self, reference: JointReference, ahead: JointReference | None, positions: ArrayLike, velocities: ArrayLike
    ) -> Array:
        """Return one voltage per motor (n,), within the limits, V.

        Args:
            reference: of the joints now.
            ahead: the reference a hold later; None: without the rate of the reference's current.
            positions: (n,) measured, rad or m.
            velocities: (n,) measured, rad/s or m/s.

        Raises:
            OpenLoopError: closed loops that do not close at these positions.
        """
        q, v = np.asarray(positions, dtype=float), np.asarray(velocities, dtype=float)
        feedback = self.bandwidth**2 * (reference.position - q)
        feedback += 2.0 * self.damping_ratio * self.bandwidth * (reference.velocity - v)
        return self.servo.voltages((q, v), reference, ahead, feedback)


class MotorMotion:
    """Joints on motors along a trajectory, by `MotorLoop`.

    Args:
        machine: with the motors.
        motors: n of its actuators, one for every joint that moves.
        bandwidth: wn, rad/s.
        damping_ratio: zeta.
        hold: time for which a voltage is held, s.
        drives: inverse dynamics in the joints of the motors; None: of a tree.

    Raises:
        ValueError: constraints without `drives`, a joint without a motor, or an actuator that is not an electric motor.
    """

    def __init__(
        self,
        machine: Machine,
        motors: Sequence[Actuator],
        bandwidth: float,
        damping_ratio: float,
        hold: float,
        drives: DriveDynamics | None = None,
    ) -> None:
        self.servo = MotorServo(machine, motors, hold, drives)
        self.loop = MotorLoop(self.servo, bandwidth, damping_ratio)
        self.reference = PositionMotion(self.law.joint_names)

    @property
    def law(self) -> MotorLaw:
        """The motors."""
        return self.servo.law

    @property
    def model(self) -> RigidBodyModel:
        """The machine's rigid bodies."""
        return self.servo.model

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints that a trajectory must name, in the order of the voltages."""
        return self.law.joint_names

    def restart(self, positions: Array) -> None:
        """Hold the joints at positions (n,)."""
        self.servo.drives.restart()
        self.reference.restart(positions)

    def follow(self, trajectory: JointTrajectory, time: float, positions: Array, velocities: Array) -> None:
        """Follow a trajectory from now on. Raises ValueError for other joints."""
        self.reference.follow(trajectory, time, positions, velocities)

    def reference_at(self, time: float) -> JointReference | None:
        """Return the reference of the joints at a time, None before the first `restart`."""
        return self.reference.reference_at(time)

    def interrupt(self, time: float, positions: Array) -> bool:
        """Stop a trajectory at the present positions; return whether there was one."""
        return self.reference.interrupt(time, positions)

    def phase(self, time: float) -> str:
        """Return the name of the present phase."""
        return self.reference.phase(time)

    def voltages(
        self, time: float, positions: ArrayLike, velocities: ArrayLike, efforts: ArrayLike | None = None
    ) -> Array:
        """Return one voltage per motor (n,), within the limits, V. Needs `restart` first.

        Args:
            time: now, s.
            positions: (n,) measured, rad or m.
            velocities: (n,) measured, rad/s or m/s.
            efforts: ignored.

        Raises:
            OpenLoopError: closed loops that do not close at these positions.
        """
        reference, ahead = self.reference.sample(time), self.reference.sample(time + self.servo.hold)
        return self.loop.voltages(reference, ahead, positions, velocities)
