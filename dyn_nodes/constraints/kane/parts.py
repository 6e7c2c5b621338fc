"""Partial velocities and accelerations of rigid bodies, by recursion from the roots of a tree (tanner-1998, 2.4).

All vectors are in world axes. Columns of partial velocities belong to the velocities v of the tree; partial velocities
of other speeds are combinations of these columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.rotations import matrix_of_quaternion
from dyn_nodes.multibody.tree import Body, Tree


def skew(vector: Array) -> Array:
    """Return the (3, 3) matrix of the cross product by a vector (3,)."""
    x, y, z = vector.tolist()
    return np.array([(0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)])


@dataclass(frozen=True, eq=False)
class Pose:
    """Pose of a body, and its partial velocities.

    Attributes:
        R, p: (3, 3) axes and (3,) origin in the world, m.
        turning, moving: (3, nv) partial angular velocities, and partial velocities of the origin.
    """

    R: Array
    p: Array
    turning: Array
    moving: Array

    def moving_at(self, point: Array) -> Array:
        """Return the partial velocities (3, nv) of the body's point at a position in the world (3,)."""
        return np.asarray(self.moving - skew(point - self.p) @ self.turning)


@dataclass(frozen=True, eq=False)
class Placement(Pose):
    """Pose and motion of a body at one state.

    Attributes:
        omega, alpha: (3,) angular velocity, and its rate at zero dv/dt, rad/s and rad/s2.
        acceleration: (3,) acceleration of the origin at zero dv/dt, m/s2.
    """

    omega: Array
    alpha: Array
    acceleration: Array

    def acceleration_at(self, point: Array) -> Array:
        """Return the acceleration (3,) of the body's point at a position in the world (3,), at zero dv/dt, m/s2."""
        arm, spin = point - self.p, skew(self.omega)
        return np.asarray(self.acceleration + skew(self.alpha) @ arm + spin @ (spin @ arm))


@dataclass(frozen=True, eq=False)
class Part:
    """A rigid body with mass, or a payload, at one state; world axes.

    Attributes:
        body: index in the tree; -1 if fixed in the world.
        mass: kg.  inertia: (3, 3) about its mass centre, kg m2.  centre: (3,) mass centre, m.
        turning, moving: (3, nv) partial angular velocities, and partial velocities of the mass centre.
        omega, alpha: (3,) angular velocity, and its rate at zero dv/dt, rad/s and rad/s2.
        acceleration: (3,) acceleration of the mass centre at zero dv/dt, m/s2.
    """

    body: int
    mass: float
    inertia: Array
    centre: Array
    turning: Array
    moving: Array
    omega: Array
    alpha: Array
    acceleration: Array

    def inertia_torque(self, alpha: Array) -> Array:
        """Return T* (3,), N m, at an angular acceleration (3,)."""
        return np.asarray(-self.inertia @ alpha - skew(self.omega) @ (self.inertia @ self.omega))


def ground(nv: int) -> Placement:
    """Return the placement of the world."""
    zero = np.zeros(3)
    return Placement(np.eye(3), zero, np.zeros((3, nv)), np.zeros((3, nv)), zero, zero, zero)


def poses(tree: Tree, q: Array) -> list[Pose]:
    """Return the poses of all bodies of a tree at positions q (nq,), in tree order."""
    result: list[Pose] = []
    world = ground(tree.nv)
    for body in tree.bodies:
        carrier = world if body.parent < 0 else result[body.parent]
        result.append(_free(body, q, tree.nv) if body.kind == 'free' else _joined(body, carrier, q))
    return result


def _free(body: Body, q: Array, nv: int) -> Pose:
    """Return the pose of a free body: velocities [angular; linear] are components along its axes."""
    turn = q[body.q + 3 : body.q + 7]
    R = matrix_of_quaternion(turn / np.linalg.norm(turn))
    turning, moving = np.zeros((3, nv)), np.zeros((3, nv))
    turning[:, body.v : body.v + 3] = moving[:, body.v + 3 : body.v + 6] = R
    return Pose(R, q[body.q : body.q + 3].copy(), turning, moving)


def _joined(body: Body, carrier: Pose, q: Array) -> Pose:
    R = carrier.R @ body.R0
    axis, p = R @ body.axis, carrier.p + carrier.R @ body.p0
    if body.kind == 'prismatic':
        p = p + q[body.q] * axis
        moving = carrier.moving_at(p)
        moving[:, body.v] = axis
        return Pose(R, p, carrier.turning, moving)
    turning = carrier.turning.copy()
    turning[:, body.v] = axis
    return Pose(R @ _about(body.axis, q[body.q]), p, turning, carrier.moving_at(p))


def placements(tree: Tree, at: list[Pose], v: Array) -> list[Placement]:
    """Return the placements of the bodies of a tree at their poses and velocities v (nv,)."""
    result: list[Placement] = []
    world = ground(tree.nv)
    for body, pose in zip(tree.bodies, at):
        pose_terms = pose.R, pose.p, pose.turning, pose.moving
        omega = pose.turning @ v
        if body.kind == 'free':
            result.append(Placement(*pose_terms, omega, np.zeros(3), skew(omega) @ (pose.moving @ v)))
            continue
        carrier = world if body.parent < 0 else result[body.parent]
        alpha, acceleration = carrier.alpha, carrier.acceleration_at(pose.p)
        if body.kind == 'prismatic':
            acceleration = acceleration + 2.0 * skew(carrier.omega) @ pose.moving[:, body.v] * v[body.v]
        else:
            alpha = alpha + skew(carrier.omega) @ pose.turning[:, body.v] * v[body.v]
        result.append(Placement(*pose_terms, omega, alpha, acceleration))
    return result


def _about(axis: Array, angle: float) -> Array:
    K = skew(axis)
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K)


def part_in(placement: Placement, body: int, mass: float, com: Array, inertia: Array) -> Part:
    """Return a part from its mass, kg, mass centre (3,), m, and central inertia (3, 3), kg m2, in axes of its body."""
    R, centre = placement.R, placement.p + placement.R @ com
    return Part(
        body,
        mass,
        R @ inertia @ R.T,
        centre,
        placement.turning,
        placement.moving_at(centre),
        placement.omega,
        placement.alpha,
        placement.acceleration_at(centre),
    )


def parts_of(tree: Tree, placed: list[Placement], payload_mass: float) -> list[Part]:
    """Return all parts with mass; the payload is a particle."""
    result = [
        part_in(placement, k, body.mass, body.com, body.inertia)
        for k, (body, placement) in enumerate(zip(tree.bodies, placed))
        if not body.massless
    ]
    payload = tree.payload
    if payload is not None and payload.body >= 0:
        result.append(part_in(placed[payload.body], payload.body, payload_mass, payload.p, np.zeros((3, 3))))
    return result
