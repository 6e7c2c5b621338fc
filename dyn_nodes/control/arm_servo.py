"""Computed torque for some joints of a machine with other drives of its base and other joints: an arm on a vehicle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.drive_dynamics import CarriedPayload
from dyn_nodes.control.servo import free_push
from dyn_nodes.control.trajectory import JointReference
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel

STEEPEST = 0.5
"""Greatest inclination of a base at rest, rad."""
CONSISTENT = 0.01
"""Greatest residual of the measured efforts at the estimated attitude, relative to the efforts on a level base."""
ROUNDS, PROBE = 4, 1e-4
LEAST_SEEN = 1e-3
"""Relative sensitivity of the efforts to a direction of tilt below which this direction is left level."""


class ArmServo(CarriedPayload):
    """Efforts that move joints along a reference with a chosen bandwidth and damping ratio.

    effort = inverse dynamics on the moving vehicle + L (wn^2 (q_ref - q) + 2 zeta wn (qd_ref - qd)), with the apparent
    inertia L of the joints while all other coordinates are free, as in `JointServo`: on the ground the loop is slower
    than wn, never faster. The attitude of the base is constant, see `restart`.

    Args:
        machine: with a free base.
        joints: n of its movable joints.
        bandwidth: wn, rad/s.
        damping_ratio: zeta.

    Attributes:
        tilt: (2,) roll and pitch of the base that the efforts account for, rad.

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
        self._joint_indices = np.array([names.index(name) for name in joints], dtype=np.intp)
        self._indices = self._first[1] + self._joint_indices
        self._limits = np.array([machine.joint(name).effort_limit for name in joints])
        self._parameters = self.model.parameters()
        self._q = self.model.neutral()
        self._v, self._a = np.zeros(self.model.nv), np.zeros(self.model.nv)
        self.tilt = np.zeros(2)

    def restart(self, positions: Array, efforts: Array | None) -> None:
        """Estimate the attitude of the base at which measured efforts hold the joints at rest.

        A suspension deflects and ground is not level, and no other sensor measures it. The base is taken as level if
        the efforts hold the joints at no attitude within `STEEPEST`, as with drives that report no efforts.

        Args:
            positions: of all movable joints, in the machine's order.
            efforts: of all movable joints, or None.
        """
        self._lean(np.zeros(2))
        if efforts is None:
            return
        held, level = np.asarray(efforts)[self._joint_indices], self._holding(positions, self.tilt)
        tilt = np.zeros(2)
        for _ in range(ROUNDS):
            here = self._holding(positions, tilt)
            columns = [(self._holding(positions, tilt + step) - here) / PROBE for step in PROBE * np.eye(2)]
            tilt = tilt + np.linalg.pinv(np.column_stack(columns), rcond=LEAST_SEEN) @ (held - here)
            if not np.linalg.norm(tilt) <= STEEPEST:
                break
        else:
            missed = np.linalg.norm(held - self._holding(positions, tilt))
            if missed <= CONSISTENT * np.linalg.norm(level):
                self._lean(tilt)
                return
        self._lean(np.zeros(2))

    def _lean(self, tilt: Array) -> None:
        """Set the inclination of the base, roll and pitch (2,), rad."""
        self.tilt = tilt
        angle = float(np.linalg.norm(tilt))
        self._q[3:5], self._q[5], self._q[6] = 0.5 * np.sinc(0.5 * angle / np.pi) * tilt, 0.0, np.cos(0.5 * angle)

    def _holding(self, positions: Array, tilt: Array) -> Array:
        """Return the efforts (n,) that hold the joints on a base at rest."""
        self._lean(tilt)
        self._q[self._first[0] :] = positions
        still = np.zeros(self.model.nv)
        return np.asarray(self.model.inverse_dynamics(self._q, still, still, self._parameters)[self._indices])

    def efforts(
        self, positions: Array, velocities: Array, twist: Array, acceleration: Array, reference: JointReference
    ) -> Array:
        """Return the efforts (n,), within the limits of the joints, N m or N.

        Args:
            positions: of all movable joints, in the machine's order.
            velocities: of all movable joints.
            twist: (3,) vx, vy, wz of the base.
            acceleration: (3,) rates of the twist's components.
            reference: of the n joints.
        """
        first_q, first_v = self._first
        self._q[first_q:], self._v[first_v:] = positions, velocities
        self._v[[3, 4, 2]], self._a[[3, 4, 2]] = twist, acceleration
        self._a[self._indices] = reference.acceleration
        M = self.model.mass_matrix(self._q, self._parameters)
        forward = self.model.inverse_dynamics(self._q, self._v, self._a, self._parameters)[self._indices]
        wn = self.bandwidth
        wanted = wn**2 * (reference.position - positions[self._joint_indices])
        wanted += 2.0 * self.damping_ratio * wn * (reference.velocity - velocities[self._joint_indices])
        return np.clip(forward + free_push(M, self._indices, wanted), -self._limits, self._limits)
