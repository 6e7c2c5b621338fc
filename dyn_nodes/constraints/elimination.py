"""Minimal equations of a constrained system as straight-line code: a natural orthogonal complement.

The rows J a = gamma are solved for as many accelerations as they determine, a_D = g - G a_I; then N = [1; -G] spans the
motions that they allow, and N^T M N a_I = N^T (load - M a_0) remains (saha-1991, 3.29; yesiloglu-2007, G9). The pivots
are chosen once, from numbers at a few positions, with little fill-in; the elimination itself is traced, so that every
structural zero of J and M is exploited.

A fixed choice can fail along a motion: a pivot may vanish, and dependent rows may become independent. `soundness` is
negative there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.multibody.spatial import Expression, solve_symmetric

VANISHED = 1e-3
"""Least allowed size of a pivot, as a share of its size at the first position."""
DEPENDENT = 1e-7
"""Greatest entry of a row that counts as dependent, after elimination."""
NEAR = 0.1
"""Least size of a chosen pivot, as a share of the greatest entry."""


@dataclass(frozen=True, eq=False)
class Elimination:
    """Pivots, independent velocities and dependent rows of an elimination.

    Attributes:
        pivots: (row, velocity) in the order of elimination.
        sizes: sizes of the pivots at the first position.
        independent: velocities that remain, in order.
        dependent: rows that depend on the others.
    """

    pivots: tuple[tuple[int, int], ...]
    sizes: tuple[float, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]


def choose(
    system: ConstraintBlocks,
    positions: Sequence[ArrayLike],
    p: ArrayLike | None = None,
    independent: Sequence[int] = (),
) -> Elimination:
    """Return the pivots of an elimination.

    Args:
        system: traced system.
        positions: (nq,) each, satisfying the constraints; a pivot must be large enough at all of them.
        p: parameters.
        independent: indices of velocities that must remain.

    Raises:
        MethodError: the rank differs between the positions: no choice is valid for all.
    """
    matrices = [system.at(q, p=p).J.copy() for q in positions]
    scale = max(float(np.abs(matrices[0]).max(initial=0.0)), 1e-300)
    structure = _pattern(system) != 0.0
    rows, columns = set(range(system.m)), set(range(system.tree.nv)) - set(independent)
    pivots: list[tuple[int, int]] = []
    sizes: list[float] = []
    while rows and columns:
        least = np.min([np.abs(J) for J in matrices], axis=0)
        greatest = max((least[i, j] for i in rows for j in columns), default=0.0)
        if greatest < 1e-9 * scale:
            break
        candidates = [(i, j) for i in rows for j in columns if least[i, j] >= NEAR * greatest]

        # least fill-in (Markowitz), then the greatest entry
        below = {j: sum(bool(structure[k, j]) for k in rows) - 1 for j in columns}
        beside = {i: sum(bool(structure[i, k]) for k in columns) - 1 for i in rows}
        _, _, i, j = min((below[j] * beside[i], -float(least[i, j]), i, j) for i, j in candidates)
        pivots.append((i, j))
        sizes.append(abs(float(matrices[0][i, j])))
        for J in matrices:
            for k in range(system.m):
                if k != i and J[k, j] != 0.0:
                    J[k] -= J[k, j] / J[i, j] * J[i]
                    J[k, j] = 0.0
        for k in range(system.m):
            if k != i and structure[k, j]:
                structure[k] |= structure[i]
        rows.discard(i)
        columns.discard(j)
    remainder = max((float(np.abs(J[list(rows)]).max(initial=0.0)) for J in matrices), default=0.0)
    if remainder > DEPENDENT * scale:
        raise MethodError(
            f'elimination: the rank of the rows differs between the positions ({len(pivots)} at all of them); '
            'no choice of independent velocities is valid for all'
        )
    remaining = columns | set(independent)
    return Elimination(tuple(pivots), tuple(sizes), tuple(sorted(remaining)), tuple(sorted(rows)))


def _pattern(system: ConstraintBlocks) -> Array:
    """Return the structural non-zeros of J (m, nv)."""
    return np.array(ca.DM(ca.sparsify(system.rows.jacobian).sparsity(), 1.0).full())


def traced_acceleration(
    system: ConstraintBlocks, elimination: Elimination, load: Expression
) -> tuple[Expression, Expression]:
    """Return the accelerations (nv,) and the soundness of the choice, as expressions.

    Args:
        system: traced system.
        elimination: elimination of the system.
        load: (nv,) tau - h.

    The soundness is the least of two kinds of checks: each pivot over VANISHED times its first size, less one, and
    DEPENDENT less the size of each remaining entry of the dependent rows.
    """
    N, particular, checks = traced_complement(system, elimination)
    M = ca.sparsify(system.mass_matrix)
    MN = ca.mtimes(M, N)
    inertia, rest = ca.mtimes(N.T, MN), ca.mtimes(N.T, load - ca.mtimes(M, particular))
    a = particular + ca.mtimes(N, solve_symmetric(inertia, ca.densify(rest)))
    sound = ca.SX(1) if not checks else checks[0]
    for check in checks[1:]:
        sound = ca.fmin(sound, check)
    return ca.densify(a), ca.densify(sound)


def traced_complement(
    system: ConstraintBlocks, elimination: Elimination
) -> tuple[Expression, Expression, list[Expression]]:
    """Return N (nv, n), the accelerations (nv,) at zero independent ones, and checks that must stay above zero.

    Args:
        system: traced system.
        elimination: elimination of the system.
    """
    n = system.tree.nv
    rows = [dict(row) for row in _entries(system)]
    gamma = [system.rows.gamma[i] for i in range(system.m)]
    checks: list[Expression] = []
    for (i, j), size in zip(elimination.pivots, elimination.sizes):
        pivot = rows[i][j]
        if not ca.SX(pivot).is_constant():
            checks.append(ca.fabs(pivot) / (VANISHED * size) - 1)
        inverse = 1 / pivot
        rows[i] = {k: value * inverse for k, value in rows[i].items() if k != j}
        gamma[i] = gamma[i] * inverse
        for k in range(system.m):
            if k == i or j not in rows[k]:
                continue
            factor = rows[k].pop(j)
            for column, value in rows[i].items():
                rows[k][column] = rows[k].get(column, ca.SX(0)) - factor * value
            gamma[k] = gamma[k] - factor * gamma[i]
    for i in elimination.dependent:
        checks += [DEPENDENT - ca.fabs(value) for value in rows[i].values()]
    dependent = {j: i for i, j in elimination.pivots}
    index = {j: k for k, j in enumerate(elimination.independent)}
    N, particular = ca.SX(n, len(index)), ca.SX(n, 1)
    for j, k in index.items():
        N[j, k] = 1
    for j, i in dependent.items():
        particular[j] = gamma[i]
        for column, value in rows[i].items():
            N[j, index[column]] = -value
    return N, particular, checks


def _entries(system: ConstraintBlocks) -> list[dict[int, Expression]]:
    """Return the structural non-zeros of J by row."""
    J = ca.sparsify(system.rows.jacobian)
    rows: list[dict[int, Expression]] = [{} for _ in range(system.m)]
    for i, j in zip(*J.sparsity().get_triplet()):
        rows[i][j] = J[i, j]
    return rows
