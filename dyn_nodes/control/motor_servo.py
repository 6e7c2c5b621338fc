"""Voltages of electric motors for accelerations of the joints that they move: inverse dynamics and the motors' law."""

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

    The current i is that of the efforts of inverse dynamics for the reference's acceleration, and of those that the
    feedback asks for while the base gives way freely. Its rate di/dt is that of the reference (2-240 of freeman-1985:
    feed-forward to the third order). The back-emf is that of v + a h / 2: with that of the beginning the motor would
    brake what it has just accelerated. The base is taken as level and at rest.

    Args:
        machine: with the motors.
        motors: n of its actuators, one for every joint that moves.
        hold: time h for which a voltage is held, s.
        drives: inverse dynamics in the joints of the motors, in their order; None: of a machine without constraints.

    Raises:
        ValueError: constraints without `drives`, a joint that no motor moves, or an actuator that is no electric motor.
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
        """Return the inertia (n, n) that the motors feel on a base that gives way freely."""
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
            feedback: (n,) accelerations beside the reference's that bring the joints to it.

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
