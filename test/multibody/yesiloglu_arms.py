"""The arms of yesiloglu-2007, sections 6.1 to 6.3 of its specification (parameter set P-S7 and the prismatic arms)."""

from __future__ import annotations

import numpy as np

from dyn_nodes.studies.formulations.chain import LinkArrays
from dyn_nodes.studies.yesiloglu_2007.operators import Link, Operators, Tip, rotation

X, Y, Z = np.eye(3)
AXES = {'x': X, 'y': Y, 'z': Z}
GRAVITY = np.array([0.0, 0.0, -9.81])
BASE = Link('base', -1, (), np.eye(3), np.zeros(3), 40.0, np.array([0.05, -0.02, 0.1]), np.diag([3.0, 4.0, 5.0]), True)
BASE_ROTATION = rotation(Z, 0.4) @ rotation(Y, -0.3) @ rotation(X, 0.2)
BASE_VELOCITY = np.array([0.1, -0.2, 0.3, 0.4, 0.1, -0.3])
BASE_WRENCH = np.array([0.5, -1.0, 0.25, 2.0, -3.0, 1.0])


def quaternion_of(R):
    """Return the quaternion (x, y, z, w) of a rotation by an angle not near pi."""
    w = 0.5 * np.sqrt(1 + np.trace(R))
    return np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 4 * w * w]) / (4 * w)


BASE_POSE = np.concatenate([[1.0, 2.0, 3.0], quaternion_of(BASE_ROTATION)])


def joint_link(name, parent, letter, p, mass, com, k, kind='revolute'):
    inertia = np.diag([0.05, 0.06, 0.02]) / k
    return Link(name, parent, ((kind, AXES[letter]),), np.eye(3), np.array(p), mass, np.array(com), inertia)


def seven_joints():
    """Return the arm P-S7 on its base."""
    links = [BASE]
    for k, letter in enumerate('zyxyzyx', start=1):
        p = (0.1, 0.0, 0.3) if k == 1 else (0.01 * k, 0.02, 0.25)
        links.append(joint_link(f'joint {k}', k - 1, letter, p, 6 - 0.6 * k, (0.02, 0.001 * k, 0.12), k))
    return links


SEVEN = {
    'q': np.concatenate([BASE_POSE, [0.3, -0.5, 0.7, 0.2, -0.4, 0.6, -0.1]]),
    'v': np.concatenate([BASE_VELOCITY, [0.5, -0.2, 0.3, 0.1, -0.6, 0.4, 0.2]]),
    'tau': np.concatenate([BASE_WRENCH, [1.0, -2.0, 3.0, -1.0, 0.5, 0.25, -0.75]]),
}
SEVEN_TIP = Tip(7, np.array([0.0, 0.0, 0.2]))


def two_arms():
    """Return the base with two arms with prismatic joints, 6.2."""
    links = [BASE]
    for side, letters in ((0.3, 'yzx'), (-0.3, 'zyx')):
        for k, letter in enumerate(letters, start=1):
            prismatic = (letters, k) in (('yzx', 2), ('zyx', 3))
            p = (side, 0.0, 0.2) if k == 1 else (0.05, 0.02, 0.3)
            parent = 0 if k == 1 else len(links) - 1
            kind = 'prismatic' if prismatic else 'revolute'
            links.append(joint_link(f'{letters} {k}', parent, letter, p, 5.0 - k, (0.02, 0.01, 0.15), k, kind))
    return links


TWO_ARMS = {
    'q': np.concatenate([BASE_POSE, [0.3, 0.1, -0.5, 0.7, 0.2, 0.15]]),
    'v': np.concatenate([BASE_VELOCITY, [0.5, -0.2, 0.3, 0.1, -0.6, 0.4]]),
    'tau': np.concatenate([BASE_WRENCH, [1.0, -2.0, 0.3, -1.0, 0.5, 0.25]]),
}


def operators(links, state, tips=()):
    return Operators(links, state['q'], state['v'], tips)


def arrays(links):
    """Return the arguments of `LinkArrays` (and of `PinocchioTree`) for links of one axis each."""
    return {
        'parent': [link.parent for link in links],
        'kind': ['free' if link.free else link.axes[0][0] for link in links],
        'axis': np.array([Z if link.free else link.axes[0][1] for link in links]),
        'R': np.array([link.R for link in links]),
        'p': np.array([link.p for link in links]),
        'mass': np.array([link.mass for link in links]),
        'com': np.array([link.com for link in links]),
        'inertia': np.array([link.inertia for link in links]),
    }


class WorldVelocities:
    """A free-floating tree of `LinkArrays` in the source's velocities (world axes)."""

    def __init__(self, links):
        self.tree = LinkArrays(**arrays(links))

    @staticmethod
    def turn(q):
        x, y, z, w = q[3:7]
        k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        return np.eye(3) + 2 * (w * k + k @ k) / (q[3:7] @ q[3:7])

    def in_base_axes(self, q, v):
        """Return velocities with the base in its axes."""
        R = self.turn(q)
        return np.concatenate([R.T @ v[:3], R.T @ v[3:6], v[6:]])

    def accelerations(self, q, v, tau, gravity):
        R, local = self.turn(q), self.in_base_axes(q, v)
        a = self.tree.forward_dynamics(q, local, self.in_base_axes(q, tau), gravity)
        return np.concatenate([R @ a[:3], R @ (a[3:6] + np.cross(local[:3], local[3:6])), a[6:]])

    def rates(self, x):
        """Return the rates of positions and velocities without forces."""
        q, v = x[: self.tree.nq], x[self.tree.nq :]
        a, (x_, y_, z_, w_), (wx, wy, wz) = self.accelerations(q, v, np.zeros(len(v)), np.zeros(3)), q[3:7], v[:3]
        turning = 0.5 * np.array([
            w_ * wx + wy * z_ - wz * y_, w_ * wy + wz * x_ - wx * z_, w_ * wz + wx * y_ - wy * x_,
            -(wx * x_ + wy * y_ + wz * z_),
        ])  # fmt: skip
        return np.concatenate([v[3:6], turning, v[6:], a])
