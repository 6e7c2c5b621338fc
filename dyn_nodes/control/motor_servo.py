"""Voltages of electric motors for accelerations of the joints that they move: inverse dynamics and the motors' law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.control.motor_law import MotorLaw
from dyn_nodes.control.servo import free_push
from dyn_nodes.control.trajectory import JointReference
from dyn_nodes.model.machine import Actuator, Machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel

Array = NDArray[np.float64]


class MotorServo:
    """V = L di/dt + R i + n k w in the middle of the time for which a voltage is held, rotors included.

    The current i is that of the efforts of inverse dynamics for the reference's acceleration, and of those that the
    feedback asks for while the base gives way freely. Its rate di/dt is that of the reference (2-240 of freeman-1985:
    feed-forward to the third order). The back-emf is that of v + a h / 2: with that of the beginning the motor would
    brake what it has just accelerated. The base is taken as level and at rest.

    Args:
        machine: without constraints.
        motors: n of its actuators, one for every joint that moves.
        hold: time h for which a voltage is held, s.

    Raises:
        ValueError: constraints, a joint that no motor moves, or an actuator that is no electric motor.
    """

    def __init__(self, machine: Machine, motors: Sequence[Actuator], hold: float) -> None:
        self.law = MotorLaw(motors)
        if machine.needs_constraints:
            raise ValueError(f'{machine.name}: expected a machine without constraints for voltages by computed torque')
        names = [joint.name for joint in machine.movable_joints]
        left = [name for name in names if name not in self.law.joint_names]
        if left:
            raise ValueError(f'{machine.name}: expected a motor on every joint that moves, found none on {left[0]}')
        self.hold = hold
        self.model = RigidBodyModel(machine)
        first = self.model.nv - len(names)
        self._places = np.array([first + names.index(name) for name in self.law.joint_names], dtype=np.intp)
        self._positions_at = self._places + self.model.nq - self.model.nv
        self._parameters, self._q = self.model.parameters(), self.model.neutral()
        self._v, self._a = np.zeros(self.model.nv), np.zeros(self.model.nv)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints in the order of the voltages."""
        return self.law.joint_names

    @property
    def payload(self) -> float:
        """Mass in the implement that the efforts carry, kg."""
        return float(self._parameters[3])

    @payload.setter
    def payload(self, mass: float) -> None:
        self._parameters[3] = mass

    def forward(self, reference: JointReference) -> Array:
        """Return the efforts (n,) of a motion, N m or N."""
        self._q[self._positions_at], self._v[self._places] = reference.position, reference.velocity
        self._a[self._places] = reference.acceleration
        return np.asarray(
            self.model.inverse_dynamics(self._q, self._v, self._a, self._parameters)[self._places], dtype=np.float64
        )

    def felt_inertia(self, positions: Array) -> Array:
        """Return the inertia (n, n) that the motors feel on a base that gives way freely."""
        self._q[self._positions_at] = positions
        M = self.model.mass_matrix(self._q, self._parameters)
        return np.asarray(np.linalg.inv(np.linalg.inv(M)[np.ix_(self._places, self._places)]))

    def voltages(
        self,
        state: tuple[ArrayLike, ArrayLike],
        reference: JointReference,
        ahead: JointReference,
        feedback: ArrayLike,
    ) -> Array:
        """Return one voltage per motor (n,), within the limits, V.

        Args:
            state: (n,) measured positions and rates.
            reference: now.
            ahead: the reference a hold later.
            feedback: (n,) accelerations beside the reference's that bring the joints to it.
        """
        q, v = (np.asarray(part, dtype=np.float64) for part in state)
        extra = np.asarray(feedback, dtype=np.float64)
        law = self.law
        slope = (
            self.forward(ahead) - self.forward(reference) + law.viscous * (ahead.velocity - reference.velocity)
        ) / (law.gain * self.hold)
        efforts = self.forward(JointReference(q, v, reference.acceleration))
        M = self.model.mass_matrix(self._q, self._parameters)
        efforts = efforts + free_push(M, self._places, extra)
        middle = v + 0.5 * self.hold * (reference.acceleration + extra)
        return law.voltages(efforts, middle, slope, 0.5 * self.hold)
