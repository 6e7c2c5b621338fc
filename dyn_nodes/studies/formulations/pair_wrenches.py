"""Wrenches of joints and constraints, computed from the motion: w = A^T lambda (saha-1991, 3.24; spec 2.12).

The multipliers of the constraints follow from the components of the wrenches w along the joints of the tree; the
wrench of every joint then balances its body and all bodies beyond it. With redundant constraints neither need be
unique: the multipliers then have least norm, and every number is marked as determined or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.constraints.solve import UNIQUE


@dataclass(frozen=True, eq=False)
class ConstraintWrenches:
    """Wrenches that do no work.

    Attributes:
        multipliers: (m,) of the constraints' rows, forces on the system, as in `Solution`.
        unique: (m,) whether a multiplier is determined.
        pairs: by joint, the wrench [moment; force] (6,) of the carrier on the moved body, at that body's mass centre
            in world axes, without the joint effort.
        pairs_unique: by joint, (6,) whether a component is determined.
        left_over: greatest residual along the joints, N or N m; zero for true accelerations.
        slices: rows by name of the constraint.
    """

    multipliers: Array
    unique: NDArray[np.bool_]
    pairs: dict[str, Array]
    pairs_unique: dict[str, NDArray[np.bool_]]
    left_over: float
    slices: dict[str, slice]

    @property
    def forces(self) -> dict[str, Array]:
        """Multipliers by name of the constraint."""
        return {name: self.multipliers[rows] for name, rows in self.slices.items()}


def recovered(system: ConstraintBlocks, rows: Array, tree: Array, centres: Array, wrench: Array) -> ConstraintWrenches:
    """Return the constraint wrenches behind the non-working wrenches of all bodies.

    Args:
        system: traced.
        rows: A (m, 6 r) of the constraints.
        tree: (6 r, nv) twists per joint rate.
        centres: (r, 3) mass centres in the world, m.
        wrench: (6 r,) M dt/dt + dM/dt t less the working wrenches.
    """
    spaces = Subspaces(rows @ tree)
    along = tree.T @ wrench
    multipliers = spaces.pseudo_inverse.T @ along
    free = spaces.dependencies
    # joint wrenches: first column; other columns: their change with each free combination of multipliers
    rest = np.column_stack([wrench - rows.T @ multipliers, rows.T @ free])
    loads = _down_the_tree(system, rest, centres)
    size = max(1.0, float(np.abs(rows).max(initial=0.0)))
    return ConstraintWrenches(
        multipliers,
        np.abs(free).max(axis=1, initial=0.0) < UNIQUE,
        {name: load[:, 0] for name, load in loads.items()},
        {name: np.abs(load[:, 1:]).max(axis=1, initial=0.0) < UNIQUE * size for name, load in loads.items()},
        float(np.abs(along - spaces.J.T @ multipliers).max(initial=0.0)),
        system.slices,
    )


def _down_the_tree(system: ConstraintBlocks, wrenches: Array, centres: Array) -> dict[str, Array]:
    """Return for each joint the wrench of its body and all bodies beyond it, at the body's mass centre, per column."""
    carried = wrenches.copy()
    loads = {}
    for index in reversed(range(len(system.tree.bodies))):
        body = system.tree.bodies[index]
        load = carried[6 * index : 6 * index + 6]
        if body.kind != 'free':
            loads[body.name] = load.copy()
        if body.parent >= 0:
            above = slice(6 * body.parent, 6 * body.parent + 6)
            arm = centres[index] - centres[body.parent]
            carried[above] += np.vstack([load[:3] + np.cross(arm, load[3:], axisb=0).T, load[3:]])
    return loads
