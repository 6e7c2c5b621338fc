"""Computed torque for joints with target positions, also instead of the load-holding valves of a timed-out actuator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.drive_limits import (
    DrivenJoints,
    Flags,
    JointTask,
    ServoEfforts,
    ServoInput,
    ServoOutput,
    servo_output,
)
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel


def free_push(M: Array, indices: NDArray[np.intp], wanted: Array) -> Array:
    """Return the efforts (n,) for wanted accelerations (n,) of joints at `indices`, all other coordinates free.

    Their apparent inertia then is (S M^-1 S^T)^-1, of the mass matrix M (nv, nv).
    """
    return np.asarray(np.linalg.solve(free_response(M, indices), wanted))


def free_response(M: Array, indices: NDArray[np.intp]) -> Array:
    """Return S M^-1 S^T (n, n): accelerations of joints at `indices` per effort on them, all other coordinates free."""
    return np.asarray(np.linalg.inv(M)[np.ix_(indices, indices)])


class PresentMotion(NamedTuple):
    """Efforts and accelerations of the joints of a machine at an instant.

    Attributes:
        efforts: (n,) of their drives, N m or N.
        accelerations: (n,) under these efforts, rad/s2 or m/s2.
        stops: (n,) efforts of the stops at their limits, N m or N.
    """

    efforts: Array
    accelerations: Array
    stops: Array


class ServoTask(NamedTuple):
    """State of a machine and targets of its joints.

    Attributes:
        q: (nq,) positions of the whole machine.
        v: (nv,) velocities of the whole machine.
        joints: state and target of the joints.
        gravity: (3,) m/s2.
        payload: kg.
    """

    q: Array
    v: Array
    joints: JointTask
    gravity: Array
    payload: float


class JointServo:
    """Efforts that move joints to a reference with a chosen bandwidth and damping ratio, within their limits.

    effort = still + L (wn^2 (q_ref - q) + 2 zeta wn (qd_ref - qd)), where `still` leaves the joints without
    acceleration and L = (S M^-1 S^T)^-1 is the apparent inertia of the joints on a free base. It is the least apparent
    inertia, so that the loop is never faster than a sampled effort can follow. Speeds and efforts stay within the
    limits of the joints, see `drive_limits`.

    Args:
        machine: the machine.
        bandwidth: wn, rad/s.
        damping_ratio: zeta.
    """

    def __init__(self, machine: Machine, bandwidth: float = 40.0, damping_ratio: float = 1.0) -> None:
        self.model = RigidBodyModel(machine)
        self._joints = DrivenJoints(machine, bandwidth, damping_ratio)
        self._indices = self.model.nv - len(machine.movable_joints) + self._joints.driven
        self._parameters = self.model.parameters()

    def response(self, q: Array, payload: float) -> Array:
        """Return S M^-1 S^T (d, d) of the driven joints at positions q (nq,) with a payload, kg."""
        self._parameters[3] = payload
        return free_response(self.model.mass_matrix(q, self._parameters), self._indices)

    def efforts(self, task: ServoTask) -> ServoEfforts:
        """Return the efforts of joints without contact, on a base without acceleration."""
        asked, response = self._joints.input_of(task.joints), self.response(task.q, task.payload)
        return self._joints.efforts_of(task.joints, self._loose(task, asked, response))

    def _loose(self, task: ServoTask, asked: ServoInput, response: Array) -> ServoOutput:
        self._parameters[:3], self._parameters[3] = task.gravity, task.payload
        bias = self.model.inverse_dynamics(task.q, task.v, np.zeros(self.model.nv), self._parameters)
        return servo_output(asked, bias[self._indices], response, task.joints.brakes)

    def stiff_efforts(self, task: ServoTask, now: PresentMotion, stiff: Flags) -> ServoEfforts:
        """Return efforts that compensate all forces on the joints except the forces of their stops.

        Args:
            task: the machine and the target.
            now: the present motion of the joints.
            stiff: (d,) of the driven joints; the others get `efforts`.
        """
        asked, driven = self._joints.input_of(task.joints), self._joints.driven
        whole = self.response(task.q, task.payload)
        output = ServoOutput.none(len(driven)) if stiff.all() else self._loose(task, asked, whole)
        if stiff.any():
            change = output.efforts - now.efforts[driven]
            moved = now.accelerations[driven[stiff]] + whole[np.ix_(stiff, ~stiff)] @ change[~stiff]
            response = whole[np.ix_(stiff, stiff)]
            still = (now.efforts + now.stops)[driven[stiff]] - np.linalg.solve(response, moved)
            output.put(stiff, servo_output(asked.of(stiff), still, response, task.joints.brakes))
        return self._joints.efforts_of(task.joints, output)
