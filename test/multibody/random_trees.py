"""Random trees of links as arrays, and the same tree in Pinocchio, link by link."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from dyn_nodes.studies.formulations.chain import LinkArrays

SWAP = np.r_[3:6, 0:3]
"""Rows of a 6-vector [linear; angular] in the order [angular; linear], and vice versa."""


def random_rotation(rng):
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return turn * np.sign(np.linalg.det(turn))


def random_unit(rng):
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def random_inertia(rng, size=0.1):
    """Return the central inertia of a random cloud of points, which is always physical."""
    points = size * rng.normal(size=(5, 3))
    second = points.T @ points
    return np.trace(second) * np.eye(3) - second


def random_tree(rng, n, kinds=('revolute', 'prismatic'), free=False, branching=0.3, massless=0.0, roots=1):
    """Return keyword arguments of `LinkArrays`. The last link of every branch has mass."""
    parent, kind = [], []
    for k in range(n):
        root = k < roots
        parent.append(-1 if root else (int(rng.integers(k)) if rng.random() < branching else k - 1))
        kind.append('free' if root and free else str(rng.choice(list(kinds))))
    leaf = np.ones(n, dtype=bool)
    leaf[[p for p in parent if p >= 0]] = False
    mass = rng.uniform(0.5, 2.0, size=n)
    inertia = np.array([random_inertia(rng) for _ in range(n)])
    light = (rng.random(n) < massless) & ~leaf & (np.array(kind) != 'free')
    mass[light], inertia[light] = 0.0, 0.0
    return {
        'parent': parent,
        'kind': kind,
        'axis': np.array([random_unit(rng) for _ in range(n)]),
        'R': np.array([random_rotation(rng) for _ in range(n)]),
        'p': 0.3 * rng.normal(size=(n, 3)),
        'mass': mass,
        'com': 0.1 * rng.normal(size=(n, 3)),
        'inertia': inertia,
    }


def random_state(rng, tree: LinkArrays):
    """Return positions (unit quaternions), velocities and efforts."""
    q, v, tau = rng.normal(size=tree.nq), rng.normal(size=tree.nv), rng.normal(size=tree.nv)
    for at, free in zip(tree.at_q, tree.kind == 2):
        if free:
            q[at + 3 : at + 7] /= np.linalg.norm(q[at + 3 : at + 7])
    return q, v, tau


class PinocchioTree:
    """Independent model for `LinkArrays` with the same arguments."""

    def __init__(self, tree: LinkArrays, gravity=(0.0, 0.0, 0.0), **arrays):
        self.model, self.tree = pin.Model(), tree
        self.model.gravity.linear = np.asarray(gravity, dtype=float)
        joints = []
        for k, kind in enumerate(arrays['kind']):
            axis = arrays['axis'][k]
            make = {
                'revolute': lambda axis=axis: pin.JointModelRevoluteUnaligned(axis),
                'prismatic': lambda axis=axis: pin.JointModelPrismaticUnaligned(axis),
                'free': pin.JointModelFreeFlyer,
            }[kind]
            placement = pin.SE3.Identity() if kind == 'free' else pin.SE3(arrays['R'][k], arrays['p'][k])
            above = arrays['parent'][k]
            joints.append(self.model.addJoint(joints[above] if above >= 0 else 0, make(), placement, f'joint {k}'))
            inertia = pin.Inertia(float(arrays['mass'][k]), arrays['com'][k], arrays['inertia'][k])
            self.model.appendBodyToJoint(joints[k], inertia, pin.SE3.Identity())
        self.joints, self.data = joints, self.model.createData()
        order = []
        for k, joint in enumerate(joints):
            at = self.model.joints[joint].idx_v
            order.extend(at + SWAP if arrays['kind'][k] == 'free' else [at])
        self.order = np.array(order)
        self.indices = np.concatenate([np.arange(self.model.joints[j].nq) + self.model.joints[j].idx_q for j in joints])

    def q(self, q):
        result = np.empty(self.model.nq)
        result[self.indices] = q
        return result

    def v(self, v):
        result = np.empty(self.model.nv)
        result[self.order] = v
        return result

    def forward_dynamics(self, q, v, tau, external=None):
        extra = []
        if external is not None:
            pin.forwardKinematics(self.model, self.data, self.q(q))
            extra = [[pin.Force.Zero()] * self.model.njoints]
            for joint, wrench in zip(self.joints, external):
                turn = self.data.oMi[joint].rotation.T
                extra[0][joint] = pin.Force(turn @ wrench[3:], turn @ wrench[:3])
        return pin.aba(self.model, self.data, self.q(q), self.v(v), self.v(tau), *extra)[self.order]

    def inverse_dynamics(self, q, v, a):
        return pin.rnea(self.model, self.data, self.q(q), self.v(v), self.v(a))[self.order]

    def mass_matrix(self, q):
        """Return M by unit accelerations: `crba` requires the links of a branch in sequence, `LinkArrays` does not."""
        gravity, still = self.model.gravity, np.zeros(self.tree.nv)
        self.model.gravity = pin.Motion.Zero()
        columns = [self.inverse_dynamics(q, still, unit) for unit in np.eye(self.tree.nv)]
        self.model.gravity = gravity
        return np.array(columns).T

    def jacobian(self, q, body, point):
        """Return the Jacobian (6, nv), [angular; linear], of a point of a link, world axes."""
        frame = pin.Frame(f'tip {self.model.nframes}', self.joints[body], pin.SE3(np.eye(3), point), pin.OP_FRAME)
        frame = self.model.addFrame(frame)
        data = self.model.createData()
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        columns = pin.computeFrameJacobian(self.model, data, self.q(q), frame, world)
        return columns.reshape(6, -1)[SWAP][:, self.order]

    def tip_acceleration(self, q, v, a, body, point):
        """Return the classical acceleration (6,) [angular; linear] of a point of a link, world axes."""
        frame = pin.Frame(f'tip {self.model.nframes}', self.joints[body], pin.SE3(np.eye(3), point), pin.OP_FRAME)
        frame = self.model.addFrame(frame)
        data = self.model.createData()
        pin.forwardKinematics(self.model, data, self.q(q), self.v(v), self.v(a))
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return pin.getFrameClassicalAcceleration(self.model, data, frame, world).vector[SWAP]
