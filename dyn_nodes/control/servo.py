"""Joints driven to positions: computed torque. It also stands in for the load-holding valves of a silent actuator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.rigid_body import RigidBodyModel

Array = NDArray[np.float64]


def free_push(M: Array, places: NDArray[np.intp], wanted: Array) -> Array:
    """Return the efforts (n,) that give joints at `places` wanted accelerations (n,) while all else gives way freely.

    The inertia they feel then is (S M^-1 S^T)^-1, of the mass matrix M (nv, nv).
    """
    return np.asarray(np.linalg.solve(free_response(M, places), wanted))


def free_response(M: Array, places: NDArray[np.intp]) -> Array:
    """Return S M^-1 S^T (n, n): accelerations of joints at `places` for efforts on them while all else is free."""
    return np.asarray(np.linalg.inv(M)[np.ix_(places, places)])


class PresentMotion(NamedTuple):
    """How the joints of a machine move at an instant.

    Attributes:
        efforts: (n,) of their drives, N m or N.
        accelerations: (n,) under these efforts, rad/s2 or m/s2.
        stops: (n,) efforts of the stops at their limits, N m or N.
    """

    efforts: Array
    accelerations: Array
    stops: Array


class ServoTask(NamedTuple):
    """A machine and where its joints are to go.

    Attributes:
        q: (nq,) positions of the whole machine.
        v: (nv,) velocities of the whole machine.
        target: (n,) of the joints, rad or m.
        target_velocity: (n,) of the joints, rad/s or m/s.
        gravity: (3,) m/s2.
        payload: kg.
    """

    q: Array
    v: Array
    target: Array
    target_velocity: Array
    gravity: Array
    payload: float


class JointServo:
    """Efforts that move joints to a reference with a chosen bandwidth and damping ratio.

    effort = still + L (wn^2 (q_ref - q) + 2 zeta wn (qd_ref - qd)), where `still` leaves the joints without
    acceleration and L is the inertia that the joints feel on a base that gives way freely, (S M^-1 S^T)^-1: the least
    that they can feel, so that the loop is never faster than a sampled effort can follow.

    Args:
        machine: the machine.
        bandwidth: wn, rad/s.
        damping_ratio: zeta.
    """

    def __init__(self, machine: Machine, bandwidth: float = 40.0, damping_ratio: float = 1.0) -> None:
        self.model = RigidBodyModel(machine)
        self.bandwidth, self.damping_ratio = bandwidth, damping_ratio
        names = [joint.name for joint in machine.movable_joints]
        self.count = len(names)
        self._driven = np.array([names.index(joint.name) for joint in machine.actuated_joints], dtype=np.intp)
        self._places = self.model.nv - self.count + self._driven
        self._parameters = self.model.parameters()

    def wanted(self, task: ServoTask) -> Array:
        """Return the accelerations (n,) that lead the joints to their target, rad/s2 or m/s2."""
        error = task.target - task.q[len(task.q) - self.count :]
        rate_error = task.target_velocity - task.v[len(task.v) - self.count :]
        return self.bandwidth**2 * error + 2 * self.damping_ratio * self.bandwidth * rate_error

    def response(self, q: Array, payload: float) -> Array:
        """Return S M^-1 S^T (d, d) of the driven joints at positions q (nq,) with a payload, kg."""
        self._parameters[3] = payload
        return free_response(self.model.mass_matrix(q, self._parameters), self._places)

    def efforts(self, task: ServoTask) -> Array:
        """Return the efforts (n,) of joints that touch nothing, on a base that does not accelerate, N m or N.

        Those of joints that nothing drives are zero.
        """
        self._parameters[:3], self._parameters[3] = task.gravity, task.payload
        bias = self.model.inverse_dynamics(task.q, task.v, np.zeros(self.model.nv), self._parameters)
        wanted = self.wanted(task)[self._driven]
        efforts = np.zeros(self.count)
        efforts[self._driven] = bias[self._places] + np.linalg.solve(self.response(task.q, task.payload), wanted)
        return efforts

    def stiff_efforts(self, task: ServoTask, now: PresentMotion, stiff: NDArray[np.bool_]) -> Array:
        """Return efforts (n,) that include all forces on the joints but those of their stops.

        Args:
            task: the machine and the target.
            now: how the joints move now.
            stiff: (d,) of the driven joints; the others get `efforts`.
        """
        efforts, driven = self.efforts(task), self._driven
        if not stiff.any():
            return efforts
        wanted = self.wanted(task)
        response = self.response(task.q, task.payload)[stiff]
        change = np.where(stiff, now.stops[driven], efforts[driven] - now.efforts[driven])
        rest = (wanted - now.accelerations)[driven][stiff] - response[:, ~stiff] @ change[~stiff]
        change[stiff] += np.linalg.solve(response[:, stiff], rest)
        efforts[driven[stiff]] = (now.efforts[driven] + change)[stiff]
        return efforts
