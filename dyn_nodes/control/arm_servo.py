"""Computed torque for some joints of a machine whose base and other joints have other drives: an arm on a vehicle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.control.servo import free_push
from dyn_nodes.control.trajectory import JointReference
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel

Array = NDArray[np.float64]


class ArmServo:
    """Efforts that move joints along a reference with a chosen bandwidth and damping ratio.

    effort = inverse dynamics on the moving vehicle + L (wn^2 (q_ref - q) + 2 zeta wn (qd_ref - qd)), with the inertia L
    that the joints feel while all else gives way freely, as in `JointServo`: on the ground the loop is slower than wn,
    never faster.

    Args:
        machine: with a free base.
        joints: n of its movable joints.
        bandwidth: wn, rad/s.
        damping_ratio: zeta.

    Raises:
        ValueError: another base, an unknown joint.
    """

    def __init__(
        self, machine: Machine, joints: Sequence[str], bandwidth: float = 20.0, damping_ratio: float = 1.0
    ) -> None:
        if machine.base.attachment != 'free':
            raise ValueError(f'{machine.name}: base.attachment: expected free, found {machine.base.attachment}')
        self.model = RigidBodyModel(machine)
        self.bandwidth, self.damping_ratio = bandwidth, damping_ratio
        names = [joint.name for joint in machine.movable_joints]
        self._first = self.model.nq - len(names), self.model.nv - len(names)
        self._own = np.array([names.index(name) for name in joints], dtype=np.intp)
        self._places = self._first[1] + self._own
        self._limits = np.array([machine.joint(name).effort_limit for name in joints])
        self._parameters = self.model.parameters()
        self._q = self.model.neutral()
        self._v, self._a = np.zeros(self.model.nv), np.zeros(self.model.nv)

    @property
    def payload(self) -> float:
        """Mass in the implement that the efforts hold, kg."""
        return float(self._parameters[3])

    @payload.setter
    def payload(self, mass: float) -> None:
        self._parameters[3] = mass

    def efforts(
        self, positions: Array, velocities: Array, twist: Array, acceleration: Array, reference: JointReference
    ) -> Array:
        """Return the efforts (n,), within the limits of the joints, N m or N.

        Args:
            positions: of all movable joints, in the machine's order.
            velocities: of all movable joints.
            twist: (3,) vx, vy, wz of the base, which is taken as level.
            acceleration: (3,) rates of the twist's components.
            reference: of the n joints.
        """
        first_q, first_v = self._first
        self._q[first_q:], self._v[first_v:] = positions, velocities
        self._v[[3, 4, 2]], self._a[[3, 4, 2]] = twist, acceleration
        self._a[self._places] = reference.acceleration
        M = self.model.mass_matrix(self._q, self._parameters)
        forward = self.model.inverse_dynamics(self._q, self._v, self._a, self._parameters)[self._places]
        wn = self.bandwidth
        wanted = wn**2 * (reference.position - positions[self._own])
        wanted += 2.0 * self.damping_ratio * wn * (reference.velocity - velocities[self._own])
        return np.clip(forward + free_push(M, self._places, wanted), -self._limits, self._limits)
