"""Voltages of electric motors that move the joints of a machine along trajectories, or hold them where they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.control.motion import PositionMotion
from dyn_nodes.control.motor_law import MotorLaw
from dyn_nodes.control.servo import free_push
from dyn_nodes.control.trajectory import JointTrajectory
from dyn_nodes.model.machine import Actuator, Machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel

Array = NDArray[np.float64]


class MotorMotion:
    """Computed torque on motors: V = R i + n k w with the current of the effort that the wanted acceleration takes.

        a = a_ref + 2 zeta wn (v_ref - v) + wn^2 (q_ref - q),  effort = inverse dynamics of a,  rotors included

    The back-emf is that of the rate in the middle of the time for which a voltage is held, v + a h / 2: with that of
    its beginning the motor would brake what it has just accelerated. The base is taken as level and at rest.

    Args:
        machine: without constraints.
        motors: n of its actuators, one for every joint that moves.
        bandwidth: wn, rad/s.
        damping_ratio: zeta.
        hold: time h for which a voltage is held, s.

    Raises:
        ValueError: constraints, a joint that no motor moves, or an actuator that is no electric motor.
    """

    def __init__(
        self, machine: Machine, motors: Sequence[Actuator], bandwidth: float, damping_ratio: float, hold: float
    ) -> None:
        self.law = MotorLaw(motors)
        if machine.needs_constraints:
            raise ValueError(f'{machine.name}: expected a machine without constraints for voltages by computed torque')
        names = [joint.name for joint in machine.movable_joints]
        left = [name for name in names if name not in self.law.joint_names]
        if left:
            raise ValueError(f'{machine.name}: expected a motor on every joint that moves, found none on {left[0]}')
        self.bandwidth, self.damping_ratio, self.hold = bandwidth, damping_ratio, hold
        self.model = RigidBodyModel(machine)
        first = self.model.nv - len(names)
        self._places = np.array([first + names.index(name) for name in self.law.joint_names], dtype=np.intp)
        self._positions_at = self._places + self.model.nq - self.model.nv
        self._parameters, self._q = self.model.parameters(), self.model.neutral()
        self._v, self._a = np.zeros(self.model.nv), np.zeros(self.model.nv)
        self._reference = PositionMotion(self.law.joint_names)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints that a trajectory must name, in the order of the voltages."""
        return self.law.joint_names

    def restart(self, positions: Array) -> None:
        """Hold the joints at these positions (n,)."""
        self._reference.restart(positions)

    def follow(self, trajectory: JointTrajectory, time: float, positions: Array, velocities: Array) -> None:
        """Follow a trajectory from now on. Raises ValueError for other joints."""
        self._reference.follow(trajectory, time, positions, velocities)

    def interrupt(self, time: float, positions: Array) -> bool:
        """Stop a trajectory where the joints are; return whether there was one."""
        return self._reference.interrupt(time, positions)

    def phase(self, time: float) -> str:
        """Return the name of what is going on."""
        return self._reference.phase(time)

    def voltages(self, time: float, positions: ArrayLike, velocities: ArrayLike) -> Array:
        """Return one voltage per motor (n,), within the limits, V. Needs `restart` first.

        Args:
            time: now, s.
            positions: (n,) measured, rad or m.
            velocities: (n,) measured, rad/s or m/s.
        """
        q, v = np.asarray(positions, dtype=float), np.asarray(velocities, dtype=float)
        reference = self._reference.sample(time)
        feedback = self.bandwidth**2 * (reference.position - q)
        feedback += 2.0 * self.damping_ratio * self.bandwidth * (reference.velocity - v)
        self._q[self._positions_at], self._v[self._places] = q, v
        self._a[self._places] = reference.acceleration
        forward = self.model.inverse_dynamics(self._q, self._v, self._a, self._parameters)[self._places]
        M = self.model.mass_matrix(self._q, self._parameters)
        efforts = forward + free_push(M, self._places, feedback)
        return self.law.voltages(efforts, v + 0.5 * self.hold * (reference.acceleration + feedback))
