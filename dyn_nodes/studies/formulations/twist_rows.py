"""Constraints linear in the twists of the bodies, A t = sigma (saha-1991, 3.1 to 3.11, 3.18).

Every joint of the tree gives six rows [A_parent A_body] of rank five: for a revolute pair E (omega - omega_p) and the
velocity of their common point, for a prismatic one omega - omega_p and E (dc - dc_p - omega_p x rho). Rolling contacts,
loops, locks and couplings give rows of full rank. The rows act on the mass-centre twists of `twists`; constraint
wrenches are A^T lambda.
"""

from __future__ import annotations

import casadi as ca

from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.rows import Rows
from dyn_nodes.multibody.elements import total_force
from dyn_nodes.multibody.kinematics import ExplodedState
from dyn_nodes.multibody.spatial import Expression, skew
from dyn_nodes.multibody.tree import Body
from dyn_nodes.studies.formulations.twists import MassCentreTwists


def pair_rows(twists: MassCentreTwists, index: int) -> tuple[Expression, Expression | None]:
    """Return [A_ii] and [A_i,parent] (6, 6) of the joint that carries a body; the second is None for a root.

    Raises:
        ValueError: a free body, which has no pair.
    """
    body = twists.state.tree.bodies[index]
    if body.kind == 'free':
        raise ValueError(f'{body.name}: expected a body with a pair, found a free body')
    E, one, zero = skew(twists.joint_axis(body, index)), ca.SX.eye(3), ca.SX(3, 3)
    if body.kind == 'revolute':
        body_block = _blocks(E, zero, skew(twists.arms[index]), one)
    else:
        body_block = _blocks(one, zero, zero, E)
    return body_block, None if body.parent < 0 else _parent_block(twists, index, body)


def _parent_block(twists: MassCentreTwists, index: int, body: Body) -> Expression:
    E, one, zero = skew(twists.joint_axis(body, index)), ca.SX.eye(3), ca.SX(3, 3)
    carrier = twists.centre_position(body.parent)
    if body.kind == 'revolute':
        return _blocks(-E, zero, skew(twists.state.poses[index].p - carrier), -one)
    rho = twists.centre_position(index) - carrier
    return _blocks(-one, zero, ca.mtimes(E, skew(rho)), -E)


def _blocks(a: Expression, b: Expression, c: Expression, d: Expression) -> Expression:
    return ca.vertcat(ca.horzcat(a, b), ca.horzcat(c, d))


def held_bodies(system: ConstraintBlocks) -> list[int]:
    """Return the bodies that a pair holds, in order; the k-th has rows 6 k to 6 k + 5 of `pair_matrix`."""
    return [k for k, body in enumerate(system.tree.bodies) if body.kind != 'free']


def pair_matrix(system: ConstraintBlocks, twists: MassCentreTwists) -> Expression:
    """Return A of the pairs (6 pairs, 6 r)."""
    held = held_bodies(system)
    result = ca.SX(6 * len(held), 6 * len(system.tree.bodies))
    for position, index in enumerate(held):
        rows = slice(6 * position, 6 * position + 6)
        body_block, above = pair_rows(twists, index)
        result[rows, 6 * index : 6 * index + 6] = body_block
        if above is not None:
            parent = system.tree.bodies[index].parent
            result[rows, 6 * parent : 6 * parent + 6] = above
    return ca.densify(result)


def constraint_matrix(system: ConstraintBlocks, twists: MassCentreTwists) -> Expression:
    """Return A of all constraints (m, 6 r): loops, rolling contacts, locks; A T = J of the joint rates.

    Constraints on joint rates are expressed by the twists on both sides of the joint.
    """
    exploded = ExplodedState(system.tree, system.q, system.v, system.state.payload_mass)
    parts = [constraint.rows(exploded, system.parameters) for constraint in system.constraints]
    rows = Rows.stacked(parts, exploded.width)
    nv = system.tree.nv
    on_joints = ca.mtimes(rows.jacobian[:, :nv], twists.rates_per_twist)
    return ca.densify(on_joints + ca.mtimes(rows.jacobian[:, nv:], twists.origins_per_twist))


def element_wrenches(system: ConstraintBlocks, twists: MassCentreTwists) -> Expression:
    """Return the wrenches (6 r,) of springs, dampers and tyres on the bodies at their mass centres."""
    exploded = ExplodedState(system.tree, system.q, system.v, system.state.payload_mass)
    total = ca.SX(exploded.width, 1)
    for element in system.forces:
        total = total + total_force(element, exploded, system.parameters)
    nv = system.tree.nv
    return ca.densify(ca.mtimes(twists.per_effort, total[:nv]) + ca.mtimes(twists.origins_per_twist.T, total[nv:]))
