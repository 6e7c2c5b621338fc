"""Voltages of electric motors for accelerations of their joints: inverse dynamics and the motors' law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.drive_dynamics import DriveDynamics, TreeDrives
from dyn_nodes.control.motor_law import MotorLaw
from dyn_nodes.control.trajectory import JointReference
from dyn_nodes.model.machine import Actuator, Machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel


class MotorServo:
    """V = L di/dt + R i + n k w in the middle of the time for which a voltage is held, rotors included.

    The current i follows from inverse dynamics for the reference's acceleration, plus the efforts of the feedback on a
    free base. Its rate di/dt is the rate of the reference's current (2-240 of freeman-1985: feedforward to the third
    order). The back-emf is taken at the speed v + a h / 2 of the middle of the hold: at v it would brake the motion.
    The base is taken as level and at rest.

    Args:
        machine: with the motors.
        motors: n of its actuators, one for every joint that moves.
        hold: time h for which a voltage is held, s.
        drives: inverse dynamics in the joints of the motors, in their order; None: of a machine without constraints.

    Raises:
        ValueError: constraints without `drives`, a joint without a motor, or an actuator that is not an electric motor.
    """

    def __init__(
        self, machine: Machine, motors: Sequence[Actuator], hold: float, drives: DriveDynamics | None = None
    ) -> None:
        self.law, self.hold = MotorLaw(motors), hold
        self.drives = TreeDrives(machine, self.law.joint_names) if drives is None else drives

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints in the order of the voltages."""
        return self.law.joint_names

    @property
    def model(self) -> RigidBodyModel:
        """The rigid bodies of a tree. Raises TypeError for closed loops."""
        if not isinstance(self.drives, TreeDrives):
            raise TypeError('expected the dynamics of a tree')
        return self.drives.model

    @property
    def payload(self) -> float:
        """Mass in the implement that the efforts carry, kg."""
        return self.drives.payload

    @payload.setter
    def payload(self, mass: float) -> None:
        self.drives.payload = mass

    def forward(self, reference: JointReference) -> Array:
        """Return the efforts (n,) of a motion, N m or N."""
        return self.drives.efforts(*reference, np.zeros(len(reference.position)))

    def apparent_inertia(self, positions: Array) -> Array:
        """Return the apparent inertia (n, n) at the motors on a free base."""
        return self.drives.apparent_inertia(positions)

    def voltages(
        self,
        state: tuple[ArrayLike, ArrayLike],
        reference: JointReference,
        ahead: JointReference | None,
        feedback: ArrayLike,
    ) -> Array:
        """Return one voltage per motor (n,), within the limits, V.

        Args:
            state: (n,) measured positions and rates.
            reference: now.
            ahead: the reference a hold later; None: the current of the reference counts as constant.
            feedback: (n,) accelerations added to the reference's.

        Raises:
            OpenLoopError: closed loops that do not close at these positions.
        """
        q, v = (np.asarray(part, dtype=np.float64) for part in state)
        extra = np.asarray(feedback, dtype=np.float64)
        slope = np.zeros(len(q)) if ahead is None else self._current_rate(reference, ahead)
        efforts = self.drives.efforts(q, v, reference.acceleration, extra)
        middle = v + 0.5 * self.hold * (reference.acceleration + extra)
        return self.law.voltages(efforts, middle, slope, 0.5 * self.hold)

    def _current_rate(self, reference: JointReference, ahead: JointReference) -> Array:
        """Return the rate (n,) of the current of the reference, A/s."""
        law = self.law
        growth = self.forward(ahead) - self.forward(reference) + law.viscous * (ahead.velocity - reference.velocity)
        return np.asarray(growth / (law.gain * self.hold))
