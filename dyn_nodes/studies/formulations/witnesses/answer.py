"""Result type of the independent formulations, and their common preconditions and helpers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.constraints.independent import Partition, choose_independent
from dyn_nodes.multibody.spatial import Expression


@dataclass(frozen=True, eq=False)
class Answer:
    """Accelerations (nv,) and multipliers (m,) of the rows, if the formulation computes them."""

    acceleration: Array
    multipliers: Array | None = None


Witness = Callable[[Array, Array, Array], Answer]
"""Function of q (nq,), v (nv,) that meets the constraints, and joint efforts tau (nv,), with default parameters.

Raises MethodError if the formulation does not apply at this state.
"""


def reject_quasi_velocities(system: ConstraintBlocks, formulation: str) -> None:
    """Raise MethodError for a free body: Lagrange's equations need velocities that are rates of coordinates."""
    free = [body.name for body in system.tree.bodies if body.kind == 'free']
    if free:
        raise MethodError(
            f'{formulation}: expected coordinates whose rates are the velocities, found the free body {free[0]}; '
            'write it as a chain of joints'
        )


def reject_moving_constraints(system: ConstraintBlocks, formulation: str) -> None:
    """Raise MethodError for time-dependent (acatastatic) rows: these formulations assume J v = 0."""
    moving = [name for k, name in enumerate(system.row_names) if not system.rows.sigma[k].is_zero()]
    if moving:
        raise MethodError(f'{formulation}: expected constraints at rest, found the row {moving[0]} that moves in time')


@dataclass(frozen=True, eq=False)
class RigidPart:
    """A rigid body or a payload: body index; mass, kg; mass centre (3,), m, and central tensor in body axes."""

    body: int
    mass: Expression
    centre: Expression
    central: Expression


def rigid_parts(system: ConstraintBlocks) -> list[RigidPart]:
    """Return all parts with mass; the payload is a separate particle."""
    parts = [
        RigidPart(k, ca.SX(body.mass), ca.SX(body.com), ca.SX(body.inertia))
        for k, body in enumerate(system.tree.bodies)
        if not body.massless
    ]
    payload = system.tree.payload
    if payload is not None and payload.body >= 0:
        parts.append(RigidPart(payload.body, ca.SX(system.state.payload_mass), ca.SX(payload.p), ca.SX(3, 3)))
    return parts


def rate_of(expression: Expression, system: ConstraintBlocks, a: Expression) -> Expression:
    """Return the time derivative of an expression of q and v at accelerations a (nv,)."""
    return ca.jtimes(expression, ca.vertcat(system.q, system.v), ca.vertcat(system.v, a))


def partition_at(J: Array, M: Array) -> Partition:
    """Return a well-conditioned choice of independent rates."""
    return choose_independent(J, M)


def complement_of(partition: Partition, J: Array, gamma: Array) -> tuple[Array, Array]:
    """Return N (nv, n) with J N = 0, unit in the independent rates, and a_0 (nv,) with J a_0 = gamma, zero in them."""
    rows, free, held = list(partition.rows), list(partition.independent), list(partition.dependent)
    N, start = np.zeros((J.shape[1], len(free))), np.zeros(J.shape[1])
    N[free, range(len(free))] = 1.0
    if held:
        J_D = J[np.ix_(rows, held)]
        N[held] = -np.linalg.solve(J_D, J[np.ix_(rows, free)])
        start[held] = np.linalg.solve(J_D, gamma[rows])
    return N, start
