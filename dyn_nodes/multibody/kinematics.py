"""Positions, velocities, Jacobians, centre of mass, energy and momentum of a tree, as expressions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from dyn_nodes.multibody.spatial import Expression, Force, Inertia, Motion, Pose, cross, dot, quaternion_rate, skew
from dyn_nodes.multibody.tree import Body, Frame, Tree


def unit_motion(body: Body) -> Motion:
    """Return the motion of a unit joint velocity in the body frame (one-degree-of-freedom joints)."""
    axis, zero = ca.SX(body.axis), ca.SX(3, 1)
    return Motion(axis, zero) if body.kind == 'revolute' else Motion(zero, axis)


def joint_motion(body: Body, v: Expression) -> Motion:
    """Return the body's velocity relative to its parent, in the body frame, for the velocity vector `v` (nv,)."""
    if body.kind == 'free':
        return Motion(v[body.v : body.v + 3], v[body.v + 3 : body.v + 6])
    return unit_motion(body).scaled(v[body.v])


def _moment(arm: Expression, force: Expression, torque: Expression | None) -> Expression:
    """Return the moment of a force at an arm plus a torque."""
    return cross(arm, force) if torque is None else cross(arm, force) + torque


@dataclass(frozen=True, eq=False)
class TreeState:
    """A tree at a position (and velocity): every quantity is traced once and shared.

    Attributes:
        q: (nq,) generalized positions.  v: (nv,) generalized velocities; zero if only positions matter.
        payload_mass: kg, point mass at the tree's payload frame.
    """

    tree: Tree
    q: Expression
    v: Expression
    payload_mass: Expression | float = 0.0

    @cached_property
    def joint_poses(self) -> list[Pose]:
        """Pose of each body frame in its parent's."""
        return [body.pose(self.q) for body in self.tree.bodies]

    @cached_property
    def poses(self) -> list[Pose]:
        """Pose of each body frame in the world."""
        poses: list[Pose] = []
        for body, local in zip(self.tree.bodies, self.joint_poses):
            poses.append(local if body.parent < 0 else poses[body.parent] @ local)
        return poses

    @cached_property
    def velocities(self) -> list[Motion]:
        """Spatial velocity of each body at its origin, in its axes."""
        result: list[Motion] = []
        for body, local in zip(self.tree.bodies, self.joint_poses):
            relative = joint_motion(body, self.v)
            result.append(relative if body.parent < 0 else result[body.parent].to_child(local) + relative)
        return result

    @cached_property
    def velocity_products(self) -> list[Motion]:
        """Acceleration of each body at zero generalized acceleration of its joint, relative to its parent."""
        result = []
        for body, velocity in zip(self.tree.bodies, self.velocities):
            still = body.kind == 'free' or body.parent < 0
            result.append(
                Motion(ca.SX(3, 1), ca.SX(3, 1)) if still else velocity.cross_motion(joint_motion(body, self.v))
            )
        return result

    @cached_property
    def inertias(self) -> list[Inertia]:
        """Rigid inertia of each body at its origin, payload included."""
        result = [body.rigid_inertia() for body in self.tree.bodies]
        payload = self.tree.payload
        if payload is not None and payload.body >= 0:
            point = Inertia.rigid(ca.SX(self.payload_mass), ca.SX(payload.p), ca.SX(3, 3))
            result[payload.body] = result[payload.body] + point
        return result

    @property
    def position_rate(self) -> Expression:
        """(nq,) rate of the generalized positions."""
        parts: list[Expression] = []
        for body, pose in zip(self.tree.bodies, self.poses):
            if body.kind != 'free':
                parts.append(self.v[body.v])
                continue
            omega, linear = self.v[body.v : body.v + 3], self.v[body.v + 3 : body.v + 6]
            parts.append(ca.mtimes(pose.R, linear))
            parts.append(quaternion_rate(self.q[body.q + 3 : body.q + 7], omega))
        return ca.vertcat(*parts)

    def frame_pose(self, frame: Frame) -> Pose:
        """Return the pose of a frame in the world."""
        local = Pose(ca.SX(frame.R), ca.SX(frame.p))
        return local if frame.body < 0 else self.poses[frame.body] @ local

    def body_pose(self, body: int) -> Pose:
        """Return the pose of a body in the world; the identity for the world, body -1."""
        return self.poses[body] if body >= 0 else Pose(ca.SX.eye(3), ca.SX(3, 1))

    def point_velocity(self, body: int, point: Expression) -> Expression:
        """Return the world velocity (3,) of a point (3,) of a body, given in the body frame."""
        if body < 0:
            return ca.SX(3, 1)
        velocity = self.velocities[body]
        return ca.mtimes(self.poses[body].R, velocity.v + cross(velocity.w, point))

    def angular_velocity(self, body: int) -> Expression:
        """Return the world angular velocity (3,) of a body."""
        if body < 0:
            return ca.SX(3, 1)
        return ca.mtimes(self.poses[body].R, self.velocities[body].w)

    def frame_velocity(self, frame: Frame) -> Motion:
        """Return the velocity of a frame in world axes: angular velocity, and velocity of its origin."""
        if frame.body < 0:
            return Motion(ca.SX(3, 1), ca.SX(3, 1))
        velocity, R = self.velocities[frame.body], self.poses[frame.body].R
        at_point = velocity.v + cross(velocity.w, ca.SX(frame.p))
        return Motion(ca.mtimes(R, velocity.w), ca.mtimes(R, at_point))

    def supports(self, body: int) -> list[int]:
        """Return the bodies from the root to `body`, itself included."""
        chain: list[int] = []
        while body >= 0:
            chain.append(body)
            body = self.tree.bodies[body].parent
        return chain[::-1]

    @property
    def width(self) -> int:
        """Number of columns of a Jacobian: nv, or more for an `ExplodedState`."""
        return self.tree.nv

    def jacobian(self, frame: Frame) -> Expression:
        """Return the (6, nv) Jacobian of a frame: [angular; linear] velocity of its origin in world axes."""
        columns = [ca.SX(6, 1)] * self.tree.nv
        if frame.body < 0:
            return ca.horzcat(*columns)
        point = self.frame_pose(frame).p
        for index in self.supports(frame.body):
            body, pose = self.tree.bodies[index], self.poses[index]
            arm = point - pose.p
            if body.kind == 'free':
                for k in range(3):
                    axis = pose.R[:, k]
                    columns[body.v + k] = ca.vertcat(axis, cross(axis, arm))
                    columns[body.v + 3 + k] = ca.vertcat(ca.SX(3, 1), axis)
                continue
            axis = ca.mtimes(pose.R, ca.SX(body.axis))
            revolute = body.kind == 'revolute'
            columns[body.v] = ca.vertcat(axis, cross(axis, arm)) if revolute else ca.vertcat(ca.SX(3, 1), axis)
        return ca.densify(ca.horzcat(*columns))

    def effort_of(
        self, body: int, point: Expression, force: Expression, torque: Expression | None = None
    ) -> Expression:
        """Return J^T wrench (width,): the effort of a force (3,) at a point (3,) of a body plus a torque (3,).

        Force, point and torque are in the world frame.
        """
        result = ca.SX(self.tree.nv, 1)
        for index in self.supports(body):
            link, pose = self.tree.bodies[index], self.poses[index]
            local = pose.unrotate(force)
            if link.kind == 'prismatic':
                result[link.v] = dot(ca.SX(link.axis), local)
                continue
            moment = pose.unrotate(_moment(point - pose.p, force, torque))
            if link.kind == 'revolute':
                result[link.v] = dot(ca.SX(link.axis), moment)
            else:
                result[link.v : link.v + 3], result[link.v + 3 : link.v + 6] = moment, local
        return result

    def jacobian_rate_times_velocity(self, frame: Frame) -> Expression:
        """Return dJ/dt v (6,): acceleration [angular; linear] of a frame's origin at zero generalized acceleration."""
        if frame.body < 0:
            return ca.densify(ca.SX(6, 1))
        acceleration = self.bias_accelerations[frame.body]
        velocity, R = self.velocities[frame.body], self.poses[frame.body].R
        point = ca.SX(frame.p)
        at_point = velocity.v + cross(velocity.w, point)
        # spatial acceleration of the point plus the velocity term of the classical acceleration
        linear = acceleration.v + cross(acceleration.w, point) + cross(velocity.w, at_point)
        return ca.densify(ca.vertcat(ca.mtimes(R, acceleration.w), ca.mtimes(R, linear)))

    @cached_property
    def bias_accelerations(self) -> list[Motion]:
        """Spatial acceleration of each body, in its axes, at zero generalized acceleration and without gravity."""
        result: list[Motion] = []
        for body, local, product in zip(self.tree.bodies, self.joint_poses, self.velocity_products):
            result.append(product if body.parent < 0 else result[body.parent].to_child(local) + product)
        return result

    @cached_property
    def mass(self) -> Expression:
        """Total mass of the moving bodies, payload included, kg."""
        return sum((inertia.M[0, 0] for inertia in self.inertias), ca.SX(0))

    @cached_property
    def center_of_mass(self) -> Expression:
        """(3,) centre of mass of the moving bodies in the world, m."""
        moment = ca.SX(3, 1)
        for inertia, pose in zip(self.inertias, self.poses):
            first = ca.vertcat(inertia.H[2, 1], inertia.H[0, 2], inertia.H[1, 0])
            moment = moment + inertia.M[0, 0] * pose.p + ca.mtimes(pose.R, first)
        return moment / self.mass

    @cached_property
    def kinetic_energy(self) -> Expression:
        """Kinetic energy, spinning rotors included, J."""
        bodies = ((inertia @ velocity).power(velocity) for inertia, velocity in zip(self.inertias, self.velocities))
        rotors = (body.armature * self.v[body.v] ** 2 for body in self.tree.bodies if body.armature)
        return 0.5 * sum((*bodies, *rotors), ca.SX(0))

    def potential_energy(self, gravity: Expression) -> Expression:
        """Return -m g . c, J, for the gravity vector (3,) in the world, m/s2."""
        return -self.mass * dot(gravity, self.center_of_mass)

    @cached_property
    def momentum(self) -> Force:
        """Momentum in world axes: angular about the centre of mass (kg m2/s) and linear (kg m/s)."""
        total = Force(ca.SX(3, 1), ca.SX(3, 1))
        for inertia, velocity, pose in zip(self.inertias, self.velocities, self.poses):
            total = total + (inertia @ velocity).to_parent(pose)
        return Force(total.n - cross(self.center_of_mass, total.f), total.f)


class ExplodedState(TreeState):
    """A tree state whose Jacobians treat bodies as separate, to resolve forces by body.

    A Jacobian has nv + 6 nb columns: joint columns, used by locks, couplings and joint springs only, and the velocity
    [angular; linear] of every body's origin in world axes. J^T lambda of a constraint is therefore the effort on the
    joints, followed by the wrench [moment; force] on every body, at its origin in world axes.
    """

    @property
    def width(self) -> int:
        """Number of columns of a Jacobian."""
        return self.tree.nv + 6 * len(self.tree.bodies)

    def jacobian(self, frame: Frame) -> Expression:
        """Return the (6, nv + 6 nb) Jacobian of a frame: [angular; linear] velocity of its origin in world axes."""
        result = ca.SX(6, self.width)
        if frame.body >= 0:
            arm = self.frame_pose(frame).p - self.poses[frame.body].p
            start = self.tree.nv + 6 * frame.body
            result[0:3, start : start + 3] = ca.SX.eye(3)
            result[3:6, start : start + 3] = -skew(arm)
            result[3:6, start + 3 : start + 6] = ca.SX.eye(3)
        return ca.densify(result)

    def effort_of(
        self, body: int, point: Expression, force: Expression, torque: Expression | None = None
    ) -> Expression:
        """Return (nv + 6 nb,) the wrench on this body of a force (3,) at a point (3,) and a torque (3,).

        Force, point and torque are in the world frame.
        """
        result = ca.SX(self.width, 1)
        start = self.tree.nv + 6 * body
        result[start : start + 3] = _moment(point - self.poses[body].p, force, torque)
        result[start + 3 : start + 6] = force
        return result
