"""Internal forces of a constrained system from its motion: the integrated force observer (yesiloglu-2007, C19).

It computes the wrench of every joint and of the constraints on every body, and two checks: the momentum of each body,
differentiated exactly along the motion, against all wrenches on it; and the transmitted effort of each joint along its
axis against the applied effort.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.kane.mounts import Mount
from dyn_nodes.constraints.rows import Rows
from dyn_nodes.multibody.dynamics import body_accelerations
from dyn_nodes.multibody.elements import total_force
from dyn_nodes.multibody.kinematics import ExplodedState, unit_motion
from dyn_nodes.multibody.spatial import Expression, Force, Inertia, Motion, cross


@dataclass(frozen=True, eq=False)
class Forces:
    """Forces at one state or at several (t, ...); wrenches are [moment; force] in world axes at a body's origin.

    Attributes:
        bodies: names.
        joint: (..., nb, 6) wrench of the carrying body (its equivalent for a free body) on each body.
        contact: (..., nb, 6) wrench of all constraints and force elements on each body.
        body_residual: (..., nb, 6) rate of momentum about the world's origin less all wrenches.
        joint_residual: (..., nv) transmitted effort along a joint's freedom less the applied effort.
        axes: (..., nb, 3, 3) axes of each body in the world, columns x, y, z.
        mounts: (..., k, 6) wrench of the carrying body on an arm, at the origin of each mount in world axes.
    """

    bodies: tuple[str, ...]
    joint: Array
    contact: Array
    body_residual: Array
    joint_residual: Array
    axes: Array
    mounts: Array

    def wrench(self, body: str) -> Array:
        """Return the wrench (..., 6) of a joint. Raises KeyError that lists the joints."""
        if body not in self.bodies:
            raise KeyError(f'unknown joint {body!r}; known: {", ".join(self.bodies)}')
        return self.joint[..., self.bodies.index(body), :]

    @property
    def residual(self) -> float:
        """Return the greatest entry of both checks, N or N m."""
        return float(max(np.abs(self.body_residual).max(initial=0.0), np.abs(self.joint_residual).max(initial=0.0)))


class ForceObserver:
    """Observer that traces the forces of a system once and evaluates them in `forces`.

    Args:
        system: system whose constraints and elements build Jacobians from `state.jacobian`, see `Constraint`.
        mounts: fixed joints at which wrenches are wanted; no constraint or element may act on links that are part of
            the carrying body in the tree.
    """

    def __init__(self, system: ConstraintBlocks, mounts: Sequence[Mount] = ()) -> None:
        self.system, self.mounts = system, tuple(mounts)

    def forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        multipliers: ArrayLike,
        tau: ArrayLike,
        p: ArrayLike | Mapping[str, float] | None = None,
        times: ArrayLike | None = None,
    ) -> Forces:
        """Return the forces at a state, or at the rows of a run.

        Args:
            q: (..., nq) positions.
            v: (..., nv) velocities.
            a: (..., nv) accelerations.
            multipliers: (..., m) constraint forces.
            tau: (..., nv) generalized forces of actuators.
            p: parameters, see `ConstraintBlocks.numbers`.
            times: (...) replaces the parameter `time`.
        """
        columns = [np.atleast_2d(np.asarray(part, dtype=np.float64)).T for part in (q, v, a, multipliers, tau)]
        count = columns[0].shape[1]
        numbers = np.repeat(self.system.numbers(p)[:, None], count, axis=1)
        if times is not None:
            numbers[0] = np.asarray(times, dtype=np.float64)
        results = [np.array(part).T for part in self._function(*columns, numbers)]
        nb = len(self.system.tree.bodies)
        shaped = [part.reshape(count, nb, 6) for part in results[:3]] + [results[3]]
        shaped.append(results[4].reshape(count, nb, 3, 3))
        shaped.append(results[5].reshape(count, len(self.mounts), 6))
        if np.ndim(q) == 1:
            shaped = [part[0] for part in shaped]
        return Forces(tuple(body.name for body in self.system.tree.bodies), *shaped)

    @cached_property
    def _function(self) -> ca.Function:
        system = self.system
        nv = system.tree.nv
        a, tau, multipliers = ca.SX.sym('a', nv), ca.SX.sym('tau', nv), ca.SX.sym('multipliers', system.m)
        state = ExplodedState(system.tree, system.q, system.v, system.state.payload_mass)
        parts = [constraint.rows(state, system.parameters) for constraint in system.constraints]
        pull = ca.mtimes(Rows.stacked(parts, state.width).jacobian.T, multipliers)
        for force in system.forces:
            pull = pull + total_force(force, state, system.parameters)
        efforts, contact = tau + pull[:nv], ca.reshape(pull[nv:], 6, -1)
        joint, along = self._transmitted(a, contact)
        outputs = [
            ca.vec(ca.horzcat(*joint)),
            ca.vec(contact),
            ca.vec(self._momentum_check(a, joint, contact)),
            along - efforts,
            ca.vertcat(*(ca.vec(ca.SX(pose.R).T) for pose in system.state.poses)),
            ca.vertcat(ca.SX(0, 1), *(self._mounted(mount, a, joint) for mount in self.mounts)),
        ]
        inputs = [system.q, system.v, a, multipliers, tau, system.parameters.vector]
        return ca.Function('observer', inputs, [ca.densify(part) for part in outputs])

    def _transmitted(self, a: Expression, contact: Expression) -> tuple[list[Expression], Expression]:
        """Return the joints' wrenches, world axes, at each body's origin, and their part along each freedom (nv,)."""
        state = self.system.state
        bodies, poses = self.system.tree.bodies, state.poses
        wrenches: list[Expression] = []
        for index, acceleration in enumerate(body_accelerations(state, a, self.system.parameters.gravity)):
            inertia, velocity, R = state.inertias[index], state.velocities[index], poses[index].R
            rate = inertia @ acceleration + velocity.cross_force(inertia @ velocity)
            world = ca.vertcat(ca.mtimes(R, rate.n), ca.mtimes(R, rate.f))
            wrenches.append(world - contact[:, index])
        along = ca.SX(self.system.tree.nv, 1)
        for index in reversed(range(len(bodies))):
            body, wrench = bodies[index], wrenches[index]
            local = Force(ca.mtimes(poses[index].R.T, wrench[0:3]), ca.mtimes(poses[index].R.T, wrench[3:6]))
            if body.kind == 'free':
                along[body.v : body.v + 6] = local.stacked()
            else:
                along[body.v] = local.power(unit_motion(body)) + body.armature * a[body.v]
            if body.parent >= 0:
                arm = poses[index].p - poses[body.parent].p
                carried = ca.vertcat(wrench[0:3] + cross(arm, wrench[3:6]), wrench[3:6])
                wrenches[body.parent] = wrenches[body.parent] + carried
        return wrenches, along

    def _mounted(self, mount: Mount, a: Expression, joint: list[Expression]) -> Expression:
        """Return the wrench (6,) [moment; force] on an arm at its mount, from the wrenches of its first joints."""
        state, tree, carrier = self.system.state, self.system.tree, mount.frame.body
        point = state.frame_pose(mount.frame).p
        moment, force = ca.SX(3, 1), ca.SX(3, 1)
        for index in (k for k in sorted(mount.bodies) if tree.bodies[k].parent not in mount.bodies):
            moment = moment + joint[index][0:3] + cross(state.poses[index].p - point, joint[index][3:6])
            force = force + joint[index][3:6]
        masses = [(ca.SX(link.mass), ca.SX(link.com), ca.SX(link.inertia)) for link in mount.fixed]
        if mount.payload and tree.payload is not None:
            masses.append((ca.SX(state.payload_mass), ca.SX(tree.payload.p), ca.SX(3, 3)))
        for mass in masses:
            torque, push = self._inertial(Inertia.rigid(*mass), carrier, a)
            arm = (state.poses[carrier].p if carrier >= 0 else ca.SX(3, 1)) - point
            moment, force = moment + torque + cross(arm, push), force + push
        return ca.vertcat(moment, force)

    def _inertial(self, inertia: Inertia, body: int, a: Expression) -> tuple[Expression, Expression]:
        """Return the moment at a body's origin and the force, world axes, that move and carry a mass fixed in it."""
        state, gravity = self.system.state, self.system.parameters.gravity
        if body < 0:
            still = inertia @ Motion(ca.SX(3, 1), -gravity)
            return still.n, still.f
        velocity, R = state.velocities[body], state.poses[body].R
        rate = inertia @ body_accelerations(state, a, gravity)[body] + velocity.cross_force(inertia @ velocity)
        return ca.mtimes(R, rate.n), ca.mtimes(R, rate.f)

    def _momentum_check(self, a: Expression, joint: list[Expression], contact: Expression) -> Expression:
        """Return (6, nb) the differentiated momentum of each body about the world's origin, less all wrenches on it."""
        state, gravity = self.system.state, self.system.parameters.gravity
        bodies, poses = self.system.tree.bodies, state.poses
        columns = []
        for index, (inertia, velocity, pose) in enumerate(zip(state.inertias, state.velocities, poses)):
            momentum = (inertia @ velocity).to_parent(pose).stacked()
            rate = ca.jtimes(momentum, self.system.q, state.position_rate) + ca.jtimes(momentum, self.system.v, a)
            mass = inertia.M[0, 0]
            first = ca.vertcat(inertia.H[2, 1], inertia.H[0, 2], inertia.H[1, 0])
            weight = ca.vertcat(cross(mass * pose.p + ca.mtimes(pose.R, first), gravity), mass * gravity)
            wrench = joint[index] + contact[:, index]
            total = weight + ca.vertcat(wrench[0:3] + cross(pose.p, wrench[3:6]), wrench[3:6])
            for child, body in enumerate(bodies):
                if body.parent == index:
                    moment = joint[child][0:3] + cross(poses[child].p, joint[child][3:6])
                    total = total - ca.vertcat(moment, joint[child][3:6])
            columns.append(rate - total)
        return ca.horzcat(*columns)
