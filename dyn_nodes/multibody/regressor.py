"""Momentum of the joints of a tree as a linear function of its inertial parameters: exact, without accelerations.

The reference frame moves with the base link's origin and does not turn. In it gravity and the acceleration of the base
are one field, the specific force s that an accelerometer on the base measures, and

    T = kinetic energy relative to that origin,  U = sum m_i s . r_i,  L = T - U,
    d/dt dL/dv = dL/dq + e,

with e the efforts on the joints. L is linear in mass, first and second moments of mass of every body at the origin of
its frame (Atkeson, An, Hollerbach 1986), and so are both derivatives:

    dL/dv = P(q, v, omega) pi,  dL/dq = F(q, v, omega, s) pi.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody.kinematics import TreeState
from dyn_nodes.multibody.spatial import Expression, Inertia, Motion, Pose, dot, skew
from dyn_nodes.multibody.tree import Body, Tree

PARAMETERS = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
"""Parameters of a body in the axes of its frame: mass, kg; first moments, kg m; inertia about the origin, kg m2."""


def parameters_of(body: Body) -> Array:
    """Return the inertial parameters (10,) of a body."""
    c = body.com
    inertia = body.inertia + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([body.mass, *(body.mass * c), *inertia[np.triu_indices(3)]])


def inertia_of(parameters: Expression) -> Inertia:
    """Return the inertia of a body from its parameters (10,)."""
    moment = skew(parameters[1:4])
    ixx, ixy, ixz, iyy, iyz, izz = (parameters[k] for k in range(4, 10))
    J = ca.vertcat(ca.horzcat(ixx, ixy, ixz), ca.horzcat(ixy, iyy, iyz), ca.horzcat(ixz, iyz, izz))
    return Inertia(J, moment, parameters[0] * ca.SX.eye(3))


def mass_properties(parameters: Array) -> tuple[float, Array, Array]:
    """Return mass, centre of mass (3,) and inertia about it (3, 3) from parameters (10,); zeros without mass."""
    mass = float(parameters[0])
    inertia = np.zeros((3, 3))
    inertia[np.triu_indices(3)] = parameters[4:]
    inertia = inertia + np.triu(inertia, 1).T
    if mass == 0.0:
        return 0.0, np.zeros(3), inertia
    c = parameters[1:4] / mass
    return mass, c, inertia - mass * (c @ c * np.eye(3) - np.outer(c, c))


def nearest_possible(parameters: Array) -> Array:
    """Return the parameters (10,) of the rigid body closest to the given parameters.

    Mass, first and second moments of mass form a (4, 4) matrix that is positive semidefinite for every body (Wensing,
    Kim, Slotine 2018); its negative eigenvalues become 0. The matrix is scaled by the radius of gyration.
    """
    inertia = np.zeros((3, 3))
    inertia[np.triu_indices(3)] = parameters[4:]
    inertia = inertia + np.triu(inertia, 1).T
    mass = max(float(parameters[0]), 0.0)
    second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    length = np.sqrt(max(float(np.trace(second)), 0.0) / mass) if mass > 0.0 and np.trace(second) > 0.0 else 1.0
    moment = parameters[1:4, np.newaxis] / length
    pseudo = np.block([[second / length**2, moment], [moment.T, np.array([[parameters[0]]])]])
    values, axes = np.linalg.eigh(pseudo)
    if values[0] >= 0.0:
        return np.array(parameters, dtype=np.float64)
    pseudo = (axes * np.maximum(values, 0.0)) @ axes.T
    second = pseudo[:3, :3] * length**2
    inertia = np.trace(second) * np.eye(3) - second
    return np.array([pseudo[3, 3], *(pseudo[:3, 3] * length), *inertia[np.triu_indices(3)]])


class MomentumRegressor:
    """Traced momentum of the joints of a tree.

    Args:
        tree: with a free first body or a base fixed in the world; joints of one degree of freedom.

    Attributes:
        bodies: (n,) indices of the bodies that joints move, in the order of their parameters.
        names: of all parameters, `<body>.<parameter>` (10 n,).

    Raises:
        ValueError: a free body other than the first.
    """

    def __init__(self, tree: Tree) -> None:
        if any(body.kind == 'free' for body in tree.bodies[1:]):
            raise ValueError('expected joints of one degree of freedom besides the base, found another free body')
        self.tree = tree
        self.free = tree.free
        self.bodies = tuple(k for k, body in enumerate(tree.bodies) if body.kind != 'free')
        self.names = tuple(f'{tree.bodies[k].name}.{name}' for k in self.bodies for name in PARAMETERS)

    @property
    def start(self) -> Array:
        """Parameters (10 n,) of the tree."""
        return np.concatenate([parameters_of(self.tree.bodies[k]) for k in self.bodies])

    @cached_property
    def symbols(self) -> tuple[Expression, Expression, Expression, Expression]:
        """Positions q (n,) and speeds v (n,) of the joints, angular velocity of the base (3,), specific force (3,)."""
        n = len(self.bodies)
        return ca.SX.sym('q', n), ca.SX.sym('v', n), ca.SX.sym('omega', 3), ca.SX.sym('specific_force', 3)

    @cached_property
    def traced(self) -> tuple[Expression, Expression]:
        """P (n, 10 n) and F (n, 10 n), expressions of `symbols`."""
        q, v, _, _ = self.symbols
        parts = ca.SX.sym('parts', 10 * len(self.bodies))
        lagrangian = self._lagrangian(parts)
        momentum, push = (ca.jacobian(ca.gradient(lagrangian, x), parts) for x in (v, q))
        return ca.densify(momentum), ca.densify(push)

    @cached_property
    def rotors(self) -> Expression:
        """Momentum (n,) of the rotors of the joints, separate from the bodies."""
        v = self.symbols[1]
        return ca.vertcat(*(self.tree.bodies[k].armature * v[row] for row, k in enumerate(self.bodies)))

    def _lagrangian(self, parts: Expression) -> Expression:
        q, v, omega, specific_force = self.symbols
        still = ca.vertcat(ca.SX(3, 1), ca.SX([0, 0, 0, 1])) if self.free else ca.SX(0, 1)
        base = ca.vertcat(omega, ca.SX(3, 1)) if self.free else ca.SX(0, 1)
        state = TreeState(self.tree, ca.vertcat(still, q), ca.vertcat(base, v))
        energy = ca.SX(0)
        for row, k in enumerate(self.bodies):
            inertia = inertia_of(parts[10 * row : 10 * row + 10])
            energy += energy_of(inertia, state.velocities[k], state.poses[k], specific_force)
        return energy

    @cached_property
    def _torque(self) -> ca.Function:
        q, v, omega, specific_force = self.symbols
        a, alpha = ca.SX.sym('a', len(self.bodies)), ca.SX.sym('alpha', 3)
        momentum, push = self.traced
        flat = ca.vec(momentum)
        rate = ca.jtimes(flat, q, v) + ca.jtimes(flat, v, a) + ca.jtimes(flat, omega, alpha)
        return ca.Function(
            'torque', [q, v, a, omega, alpha, specific_force], [ca.reshape(rate, *momentum.shape) - push]
        )

    def torque(
        self,
        q: Sequence[float] | Array,
        v: Sequence[float] | Array,
        a: Sequence[float] | Array,
        omega: Sequence[float] | Array,
        alpha: Sequence[float] | Array,
        specific_force: Sequence[float] | Array,
    ) -> Array:
        """Return Y (n, 10 n): the efforts on the joints are Y pi, without rotors.

        Args:
            q: (n,) positions, rad or m.
            v: (n,) speeds.
            a: (n,) accelerations.
            omega: (3,) angular velocity of the base link in its axes, rad/s.
            alpha: (3,) its rate, rad/s2.
            specific_force: (3,) specific force at the base link's origin, in its axes, m/s2.
        """
        return np.array(self._torque(q, v, a, omega, alpha, specific_force))


def energy_of(inertia: Inertia, velocity: Motion, pose: Pose, specific_force: Expression) -> Expression:
    """Return T - U of a body, J: U is the potential of its mass in the field of the specific force."""
    first = ca.vertcat(inertia.H[2, 1], inertia.H[0, 2], inertia.H[1, 0])
    moment = inertia.M[0, 0] * pose.p + ca.mtimes(pose.R, first)
    return 0.5 * (inertia @ velocity).power(velocity) - dot(specific_force, moment)
