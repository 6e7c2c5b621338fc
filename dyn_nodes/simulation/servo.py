"""Joints driven to positions: computed torque. It also stands in for the load-holding valves of a silent actuator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation.rigid_body import RigidBodyModel

Array = NDArray[np.float64]


def free_push(M: Array, places: NDArray[np.intp], wanted: Array) -> Array:
    """Return the efforts (n,) that give joints at `places` wanted accelerations (n,) while all else gives way freely.

    The inertia they feel then is (S M^-1 S^T)^-1, of the mass matrix M (nv, nv).
    """
    return np.asarray(np.linalg.solve(np.linalg.inv(M)[np.ix_(places, places)], wanted))


class JointServo:
    """Efforts that move joints to a reference with a chosen bandwidth and damping ratio.

    effort = bias force + L (wn^2 (q_ref - q) + 2 zeta wn (qd_ref - qd)), where L is the inertia that the joints feel on
    a base that gives way freely, (S M^-1 S^T)^-1. On the ground they feel more, never less: the loop is then slower
    than wn, but never faster than a sampled effort can follow.

    Args:
        machine: the machine.
        bandwidth: wn, rad/s.
        damping_ratio: zeta.
    """

    def __init__(self, machine: Machine, bandwidth: float = 40.0, damping_ratio: float = 1.0) -> None:
        self.model = RigidBodyModel(machine)
        self.bandwidth, self.damping_ratio = bandwidth, damping_ratio
        names = [joint.name for joint in machine.movable_joints]
        first = self.model.nv - len(names)
        self._driven = np.array([names.index(joint.name) for joint in machine.actuated_joints], dtype=np.intp)
        self._places = first + self._driven
        self.count = len(names)
        self._parameters = self.model.parameters()

    def efforts(
        self, q: Array, v: Array, target: Array, target_velocity: Array, gravity: Array, payload: float
    ) -> Array:
        """Return the joint efforts (n,) at positions q (nq,) and velocities v (nv,) of the whole machine.

        Those of joints that nothing drives are zero.

        Args:
            q: positions of the tree.
            v: velocities of the tree.
            target: (n,) of the joints, rad or m.
            target_velocity: (n,) of the joints, rad/s or m/s.
            gravity: (3,) m/s2.
            payload: kg.
        """
        n, wn = self.count, self.bandwidth
        self._parameters[:3], self._parameters[3] = gravity, payload
        joints = slice(self.model.nv - n, self.model.nv)
        bias = self.model.inverse_dynamics(q, v, np.zeros(self.model.nv), self._parameters)[joints]
        error, rate_error = target - q[len(q) - n :], target_velocity - v[joints]
        wanted = wn**2 * error + 2 * self.damping_ratio * wn * rate_error
        efforts = np.zeros(n)
        push = free_push(self.model.mass_matrix(q, self._parameters), self._places, wanted[self._driven])
        efforts[self._driven] = bias[self._driven] + push
        return efforts
