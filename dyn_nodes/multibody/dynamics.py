"""Inverse and forward dynamics of a tree, as expressions: Newton-Euler, composite and articulated bodies.

Generalized forces act along the generalized velocities; external forces are spatial forces [moment; force] on a body,
at its origin and in its axes. Gravity enters as an upward acceleration of the world (Featherstone 2008, ch. 5 to 7).
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from dyn_nodes.multibody.kinematics import TreeState, unit_motion
from dyn_nodes.multibody.spatial import Expression, Force, Inertia, Motion, cross, solve_inertia, solve_symmetric

ExternalForces = Mapping[int, Force]
NO_FORCES: ExternalForces = {}


def _world_acceleration(gravity: Expression) -> Motion:
    return Motion(ca.SX(3, 1), -gravity)


def _to_child(state: TreeState, index: int, accelerations: list[Motion], gravity: Expression) -> Motion:
    """Return the acceleration of the parent, or of the upward accelerated world, at a body's frame."""
    body = state.tree.bodies[index]
    source = _world_acceleration(gravity) if body.parent < 0 else accelerations[body.parent]
    pose = state.joint_poses[index]
    if body.parent < 0:
        # the world does not rotate: its acceleration is equal at every point
        return Motion(ca.SX(3, 1), pose.unrotate(source.v))
    return source.to_child(pose)


def body_accelerations(state: TreeState, a: Expression, gravity: Expression) -> list[Motion]:
    """Return the spatial acceleration of each body in its axes, less gravity, for generalized accelerations a (nv,)."""
    result: list[Motion] = []
    for index, body in enumerate(state.tree.bodies):
        joint_acceleration = (
            Motion(a[body.v : body.v + 3], a[body.v + 3 : body.v + 6])
            if body.kind == 'free'
            else unit_motion(body).scaled(a[body.v])
        )
        carried = _to_child(state, index, result, gravity)
        result.append(carried + state.velocity_products[index] + joint_acceleration)
    return result


def inverse_dynamics(
    state: TreeState, a: Expression, gravity: Expression, external: ExternalForces = NO_FORCES
) -> Expression:
    """Return the generalized forces (nv,) for accelerations `a` (recursive Newton-Euler).

    Args:
        state: positions and velocities.
        a: (nv,) generalized accelerations.
        gravity: (3,) in the world, m/s2.
        external: spatial force on a body by its index.
    """
    forces = []
    for index, acceleration in enumerate(body_accelerations(state, a, gravity)):
        inertia, velocity = state.inertias[index], state.velocities[index]
        force = inertia @ acceleration + velocity.cross_force(inertia @ velocity)
        forces.append(force - external[index] if index in external else force)
    tau = [ca.SX(0)] * state.tree.nv
    for index in reversed(range(len(forces))):
        body = state.tree.bodies[index]
        if body.kind == 'free':
            tau[body.v : body.v + 6] = ca.vertsplit(forces[index].stacked())
        else:
            tau[body.v] = forces[index].power(unit_motion(body))
            if body.armature:
                tau[body.v] += body.armature * a[body.v]
        if body.parent >= 0:
            forces[body.parent] = forces[body.parent] + forces[index].to_parent(state.joint_poses[index])
    return ca.densify(ca.vertcat(*tau))


def bias_force(state: TreeState, gravity: Expression, external: ExternalForces = NO_FORCES) -> Expression:
    """Return C(q, v) + G(q) (nv,): the generalized forces at zero acceleration."""
    return inverse_dynamics(state, ca.SX(state.tree.nv, 1), gravity, external)


def mass_matrix(state: TreeState) -> Expression:
    """Return the (nv, nv) mass matrix by composite rigid bodies; entries across branches are structurally zero."""
    tree = state.tree
    composite = list(state.inertias)
    entries = ca.SX(tree.nv, tree.nv)
    for index in reversed(range(len(tree.bodies))):
        parent = tree.bodies[index].parent
        if parent >= 0:
            composite[parent] = composite[parent] + composite[index].to_parent(state.joint_poses[index])
    for index, body in enumerate(tree.bodies):
        if body.kind == 'free':
            entries[body.v : body.v + 6, body.v : body.v + 6] = composite[index].matrix()
            continue
        motion = unit_motion(body)
        force = composite[index] @ motion
        entries[body.v, body.v] = force.power(motion) + body.armature
        carrier = index
        while tree.bodies[carrier].parent >= 0:
            force = force.to_parent(state.joint_poses[carrier])
            carrier = tree.bodies[carrier].parent
            above = tree.bodies[carrier]
            block = force.stacked() if above.kind == 'free' else force.power(unit_motion(above))
            rows = slice(above.v, above.v + block.shape[0])
            entries[rows, body.v] = block
            entries[body.v, rows] = block.T
    return ca.densify(entries)


def forward_dynamics(
    state: TreeState, tau: Expression, gravity: Expression, external: ExternalForces = NO_FORCES
) -> Expression:
    """Return the generalized accelerations (nv,) by articulated bodies (Featherstone 2008, section 7.3).

    Args:
        state: positions and velocities.
        tau: (nv,) generalized forces.
        gravity: (3,) in the world, m/s2.
        external: spatial force on a body by its index.
    """
    tree = state.tree
    articulated: list[Inertia] = list(state.inertias)
    bias: list[Force] = []
    for index, (inertia, velocity) in enumerate(zip(state.inertias, state.velocities)):
        force = velocity.cross_force(inertia @ velocity)
        bias.append(force - external[index] if index in external else force)
    columns: dict[int, tuple[Force, Expression, Expression]] = {}
    for index in reversed(range(len(tree.bodies))):
        body = tree.bodies[index]
        if body.kind == 'free':
            continue
        motion = unit_motion(body)
        U = articulated[index] @ motion
        inverse_d = 1 / (U.power(motion) + body.armature)
        u = tau[body.v] - bias[index].power(motion)
        columns[index] = (U, inverse_d, u)
        if body.parent >= 0:
            local = state.joint_poses[index]
            reduced = articulated[index].without(motion, U, inverse_d, annihilates=not body.armature)
            force = bias[index] + reduced @ state.velocity_products[index] + U.scaled(u * inverse_d)
            articulated[body.parent] = articulated[body.parent] + reduced.to_parent(local)
            bias[body.parent] = bias[body.parent] + force.to_parent(local)
    return _accelerations(state, tau, gravity, articulated, bias, columns)


def _accelerations(
    state: TreeState,
    tau: Expression,
    gravity: Expression,
    articulated: list[Inertia],
    bias: list[Force],
    columns: dict[int, tuple[Force, Expression, Expression]],
) -> Expression:
    """Return the accelerations (nv,) by the outward pass of the articulated-body algorithm."""
    result = [ca.SX(0)] * state.tree.nv
    accelerations: list[Motion] = []
    for index, body in enumerate(state.tree.bodies):
        carried = _to_child(state, index, accelerations, gravity) + state.velocity_products[index]
        if body.kind == 'free':
            load = Force(tau[body.v : body.v + 3], tau[body.v + 3 : body.v + 6]) - bias[index]
            total = solve_inertia(articulated[index], load)
            result[body.v : body.v + 6] = ca.vertsplit(total.stacked() - carried.stacked())
            accelerations.append(total)
            continue
        U, inverse_d, u = columns[index]
        joint = inverse_d * (u - U.power(carried))
        result[body.v] = joint
        accelerations.append(carried + unit_motion(body).scaled(joint))
    return ca.densify(ca.vertcat(*result))


def forward_dynamics_mass_matrix(
    state: TreeState, tau: Expression, gravity: Expression, external: ExternalForces = NO_FORCES
) -> Expression:
    """Return the generalized accelerations (nv,) from M a = tau - bias, M factored along the tree's branches.

    The factorization L^T D L runs from the leaves to the root and preserves the structural zeros between branches
    (Featherstone 2008, section 6.5).
    """
    M = mass_matrix(state)
    load = tau - bias_force(state, gravity, external)
    order = list(reversed(range(state.tree.nv)))
    permuted = M[order, order]
    solution = solve_symmetric(permuted, load[order])
    return ca.densify(solution[order])


def spatial_force_at(pose_p: Expression, R: Expression, force: Expression, point: Expression) -> Force:
    """Return a world force (3,) at a world point (3,) as a spatial force at the body frame (R, pose_p)."""
    local = ca.mtimes(R.T, force)
    arm = ca.mtimes(R.T, point - pose_p)
    return Force(cross(arm, local), local)
