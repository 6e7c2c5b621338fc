"""Rank, mobility, underactuation and redundancy of a set of constraints at a position (yesiloglu-2007, C1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.linear import Subspaces, rank_of
from dyn_nodes.constraints.solve import UNIQUE, definite


@dataclass(frozen=True, eq=False)
class Analysis:
    """Counts of a constrained system at one position.

    Attributes:
        velocities: nv.  rows: m.  rank: rank of J.
        mobility: nv - rank, instantaneous degrees of freedom.
        mass_rank: rank of M; below nv if bodies without mass end a branch.
        actuators: number of actuators that are independent under the constraints.
        underactuation: mobility - actuators.
        redundant: rows whose removal does not change the motion, by name; only their number is unique.
        dependencies: combinations of rows that vanish, coefficients by row name, greatest is 1.
        forces_unique: by row name, whether its multiplier is determined.
        condition: condition number of the independent rows of J.
        topology: `serial`, `tree`, `closed` or `complex`.
        holonomic: no row constrains only velocities.
    """

    velocities: int
    rows: int
    rank: int
    mobility: int
    mass_rank: int
    actuators: int
    underactuation: int
    redundant: tuple[str, ...]
    dependencies: tuple[dict[str, float], ...]
    forces_unique: dict[str, bool]
    condition: float
    topology: str
    holonomic: bool

    def text(self) -> str:
        """Return the counts as text, one line each."""
        lines = [
            f'topology         {self.topology}, {"holonomic" if self.holonomic else "nonholonomic"}',
            f'velocities       {self.velocities}',
            f'constraint rows  {self.rows}, {self.rank} of them independent (condition number {self.condition:.4g})',
            f'mobility         {self.mobility}',
            f'actuators        {self.actuators} independent',
            f'underactuation   {self.underactuation}',
        ]
        if self.mass_rank < self.velocities:
            lines.append(f'mass matrix      rank {self.mass_rank} of {self.velocities}: some velocities move no mass')
        if self.redundant:
            lines.append(f'redundant rows   {len(self.redundant)}, for example {", ".join(self.redundant)}')
            open_rows = [name for name, unique in self.forces_unique.items() if not unique]
            lines.append(f'forces not unique (least norm is reported): {", ".join(open_rows)}')
        return '\n'.join(lines)


def analyse(
    system: ConstraintBlocks,
    q: ArrayLike,
    p: ArrayLike | Mapping[str, float] | None = None,
    actuated: Sequence[str] = (),
) -> Analysis:
    """Return the counts at a position.

    Args:
        system: blocks of the tree and its constraints.
        q: (nq,) positions.
        p: parameters, see `ConstraintBlocks.numbers`.
        actuated: names of the velocities with an actuator.

    Raises:
        KeyError: the tree has no such actuated velocity.
    """
    blocks = system.at(q, None, p)
    nv = system.tree.nv
    subspaces = Subspaces(blocks.J)
    selection = np.zeros((nv, len(actuated)))
    for column, name in enumerate(actuated):
        selection[system.tree.velocity_index(name), column] = 1.0
    actuators = rank_of(subspaces.motions.T @ selection)
    mobility = nv - subspaces.rank
    null = subspaces.dependencies
    unique = np.abs(null).max(axis=1, initial=0.0) < UNIQUE
    return Analysis(
        velocities=nv,
        rows=system.m,
        rank=subspaces.rank,
        mobility=mobility,
        mass_rank=nv if definite(blocks.M) else rank_of(blocks.M),
        actuators=actuators,
        underactuation=mobility - actuators,
        redundant=tuple(system.row_names[k] for k in _removable(null)),
        dependencies=tuple(_relations(null, system.row_names)),
        forces_unique=dict(zip(system.row_names, (bool(flag) for flag in unique))),
        condition=subspaces.condition,
        topology=topology(system),
        holonomic=bool(system.holonomic.all()),
    )


def arm_class(
    system: ConstraintBlocks, q: ArrayLike, constraint: str, joints: Sequence[str]
) -> Literal['redundant', 'full', 'deficient']:
    """Return whether an arm's joints can move its tip along every row of a constraint.

    `deficient`: not along all rows, generally or at a present singularity; `full`: along all rows, each in one way;
    `redundant`: in several ways.

    Args:
        system: blocks of the tree and its constraints.
        q: (nq,) positions.
        constraint: name of the constraint at the tip.
        joints: names of the arm's velocities.

    Raises:
        KeyError: an unknown constraint or velocity.
    """
    if constraint not in system.slices:
        raise KeyError(f'unknown constraint {constraint!r}; known: {", ".join(system.slices)}')
    columns = [system.tree.velocity_index(name) for name in joints]
    J = system.at(q).J[system.slices[constraint]][:, columns]
    rank = rank_of(J)
    if rank < len(J):
        return 'deficient'
    return 'redundant' if len(columns) > rank else 'full'


def topology(system: ConstraintBlocks) -> str:
    """Return how bodies and loops are connected (yesiloglu-2007, pp. 1 and 2).

    `serial`: one branch; `tree`: several; `closed`: every body is part of one group of loops; `complex`: loops and
    bodies outside of them, or groups of loops that share no body.
    """
    groups = _loop_groups(system)
    bodies = system.tree.bodies
    if not groups:
        children = [body.parent for body in bodies]
        return 'serial' if len(set(children)) == len(children) else 'tree'
    inside = set().union(*groups)
    return 'closed' if len(groups) == 1 and inside >= set(range(len(bodies))) else 'complex'


def _loop_groups(system: ConstraintBlocks) -> list[set[int]]:
    """Return the bodies of every group of loops, from end to end; groups that share a body are joined."""
    bodies = system.tree.bodies
    groups: list[set[int]] = []
    for constraint in system.constraints:
        part = getattr(constraint, 'of', constraint)
        if not hasattr(part, 'first') or not hasattr(part, 'second'):
            continue
        chains = []
        for index in (part.first.body, part.second.body):
            chain = set()
            while index >= 0:
                chain.add(index)
                index = bodies[index].parent
            chains.append(chain)
        common = chains[0] & chains[1]
        loop = (chains[0] | chains[1]) - common
        if common:
            loop.add(max(common))
        joined = [group for group in groups if group & loop]
        groups = [group for group in groups if not group & loop] + [loop.union(*joined)]
    return groups


def _removable(null: Array) -> list[int]:
    """Return rows that can be removed together: one for every dependency, greatest part in it first."""
    rest = null.copy()
    chosen: list[int] = []
    while rest.shape[1]:
        row = int(np.argmax(np.linalg.norm(rest, axis=1)))
        chosen.append(row)
        # remove the direction of this row, keep an orthonormal basis of the remainder
        direction = rest[row] / np.linalg.norm(rest[row])
        basis = np.linalg.svd(direction[None, :])[2][1:]
        rest = rest @ basis.T
    return sorted(chosen)


def _relations(null: Array, names: Sequence[str]) -> list[dict[str, float]]:
    """Return dependencies in reduced echelon form, with few rows each."""
    rest = null.copy()
    for column, row in enumerate(_pivots(rest)):
        rest[:, column] /= rest[row, column]
        for other in range(rest.shape[1]):
            if other != column:
                rest[:, other] -= rest[row, other] * rest[:, column]
    relations = []
    for column in rest.T:
        scaled = column / column[int(np.argmax(np.abs(column)))]
        relations.append({names[k]: float(scaled[k]) for k in range(len(names)) if abs(scaled[k]) > UNIQUE})
    return relations


def _pivots(matrix: Array) -> list[int]:
    """Eliminate the columns of a matrix in place, by Gauss; return the pivot row of each."""
    rows: list[int] = []
    for column in range(matrix.shape[1]):
        row = int(np.argmax(np.abs(matrix[:, column])))
        rows.append(row)
        for later in range(column + 1, matrix.shape[1]):
            matrix[:, later] -= matrix[row, later] / matrix[row, column] * matrix[:, column]
    return rows
