"""Pinocchio's model of the same machine in this project's conventions.

Ours: a free base's velocity is [angular; linear] in base axes, its quaternion x, y, z, w; joints in the order of the
URDF. Pinocchio's: [linear; angular]; joints in alphabetical order of siblings; a continuous joint is cos and sin.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin

SWAP = np.r_[3:6, 0:3]
"""Rows of a 6-vector [linear; angular] in the order [angular; linear]."""


def robot_file(path: str) -> Path:
    """Return a file of the package example-robot-data (a cmeel package like `pin`)."""
    site = Path(pin.__file__).parents[4]
    return site / 'share' / 'example-robot-data' / 'robots' / path


class Pinocchio:
    """Independent model for a `RigidBodyModel` of the machine loaded from `urdf`."""

    def __init__(self, urdf: str | Path, rigid):
        free = rigid.tree.free
        self.model = pin.buildModelFromUrdf(str(urdf), *([pin.JointModelFreeFlyer()] if free else []))
        self.rigid = rigid
        joints = rigid.velocity_names[6:] if free else rigid.velocity_names
        self._joints = [self.model.joints[self.model.getJointId(name)] for name in joints]
        base = [3, 4, 5, 0, 1, 2] if free else []
        self.at = np.array(base + [joint.idx_v for joint in self._joints])
        assert sorted(self.at) == list(range(self.model.nv)), 'another set of joints'
        self.data = self.model.createData()

    def with_payload(self, link: str, position, mass: float) -> None:
        """Add a point mass to a link."""
        frame = self.model.frames[self.model.getFrameId(link)]
        point = pin.Inertia(mass, np.asarray(position, dtype=float), np.zeros((3, 3)))
        self.model.appendBodyToJoint(frame.parentJoint, point, frame.placement)
        self.data = self.model.createData()

    def set_gravity(self, gravity) -> None:
        self.model.gravity.linear = np.asarray(gravity, dtype=float)

    def q(self, q):
        result = np.zeros(self.model.nq)
        free = 7 if self.rigid.tree.free else 0
        result[:free] = q[:free]
        for joint, angle in zip(self._joints, q[free:]):
            result[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
        return result

    def v(self, v):
        """Return velocities, accelerations or generalized forces in Pinocchio's order."""
        result = np.empty(self.model.nv)
        result[self.at] = v
        return result

    def back(self, v):
        return np.asarray(v)[self.at]

    def matrix_back(self, matrix):
        return np.asarray(matrix)[np.ix_(self.at, self.at)]

    def mass_matrix(self, q):
        upper = np.triu(pin.crba(self.model, self.data, self.q(q)))
        return self.matrix_back(upper + np.triu(upper, 1).T)

    def inverse_dynamics(self, q, v, a):
        return self.back(pin.rnea(self.model, self.data, self.q(q), self.v(v), self.v(a)))

    def forward_dynamics(self, q, v, tau):
        return self.back(pin.aba(self.model, self.data, self.q(q), self.v(v), self.v(tau)))

    def forward_dynamics_derivatives(self, q, v, tau):
        """Return the derivatives by tangent of q, by v, by tau."""
        pin.computeABADerivatives(self.model, self.data, self.q(q), self.v(v), self.v(tau))
        by_tau = np.triu(self.data.Minv)
        by_tau = by_tau + np.triu(by_tau, 1).T
        return tuple(self.matrix_back(m) for m in (self.data.ddq_dq, self.data.ddq_dv, by_tau))

    def link_pose(self, link, q):
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        return self.data.oMf[self.model.getFrameId(link)].homogeneous

    def jacobian(self, link, q):
        frame = self.model.getFrameId(link)
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return pin.computeFrameJacobian(self.model, self.data, self.q(q), frame, world)[SWAP][:, self.at]

    def frame_acceleration(self, link, q, v, a):
        """Return the classical acceleration [angular; linear] of a link's origin, world axes."""
        pin.forwardKinematics(self.model, self.data, self.q(q), self.v(v), self.v(a))
        frame = self.model.getFrameId(link)
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return pin.getFrameClassicalAcceleration(self.model, self.data, frame, world).vector[SWAP]

    def momentum(self, q, v):
        return pin.computeCentroidalMomentum(self.model, self.data, self.q(q), self.v(v)).vector[SWAP]

    def center_of_mass(self, q):
        return pin.centerOfMass(self.model, self.data, self.q(q)).copy()

    def energy(self, q, v):
        kinetic = pin.computeKineticEnergy(self.model, self.data, self.q(q), self.v(v))
        return kinetic, pin.computePotentialEnergy(self.model, self.data, self.q(q))

    def step(self, q, v, time):
        """Return positions after `time` at constant velocity, on Pinocchio's manifold."""
        return pin.integrate(self.model, self.q(q), self.v(v) * time)
