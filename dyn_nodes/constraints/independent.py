"""Choice of independent joint rates: mobility from the rank, good conditioning by pivoting (saha-1991, 3.3).

The dependent rates follow from J_D v_D = sigma - J_I v_I, so J_D must be far from singular. Columns of J have units;
they are compared per unit of kinetic energy, sqrt(M_jj), if the joint moves mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.constraints.linear import RANK_TOLERANCE

WORST_CONDITION = 1e9
"""Condition number of J_D, its columns scaled, beyond which named rates do not count as independent."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Independent and dependent joint rates.

    Attributes:
        independent, dependent: indices of velocities, ascending; n and rank of them.
        rows: rows of J that determine the dependent ones, rank of them.
        J_D: (rank, rank) of these rows and columns, columns per unit of kinetic energy and rows of length one.
    """

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    rows: tuple[int, ...]
    J_D: Array

    @cached_property
    def condition(self) -> float:
        """Return the condition number of J_D: how well the independent rates determine the others."""
        return float(np.linalg.cond(self.J_D)) if self.J_D.size else 1.0


def scales(M: Array) -> Array:
    """Return rates of equal kinetic energy (nv,); joints without mass get the median of the others."""
    diagonal = np.diag(M).copy()
    heavy = diagonal > 0
    diagonal[~heavy] = np.median(diagonal[heavy]) if heavy.any() else 1.0
    return 1 / np.sqrt(diagonal)


def scaled_rows(J: Array, scale: Array) -> Array:
    """Return J per unit of kinetic energy, every row of length one; rows of round-off only become zero."""
    scaled = J * scale
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    significant = lengths > RANK_TOLERANCE * lengths.max(initial=0.0)
    return np.asarray(np.where(significant, scaled, 0.0) / np.where(significant, lengths, 1.0))


def choose_independent(J: Array, M: Array, prefer: Sequence[int] = (), tolerance: float = RANK_TOLERANCE) -> Partition:
    """Return a partition with independent rates chosen by pivoting.

    The greatest remaining columns become dependent, one after the other (QR with column pivoting), so that J_D is well
    conditioned. Preferred rates become dependent only if the others do not reach the rank.

    Args:
        J: (m, nv) constraint rows.
        M: (nv, nv) mass matrix, for the scale of the columns.
        prefer: indices of rates to keep independent, such as the actuated ones.
        tolerance: tolerance of the rank, relative to the greatest pivot.
    """
    scaled = scaled_rows(J, scales(M))
    rank = _rank(scaled, tolerance)
    wanted = set(prefer)
    others = [k for k in range(J.shape[1]) if k not in wanted]
    dependent = _pivots(scaled, others, rank, 1 / WORST_CONDITION)
    if len(dependent) < rank:
        dependent += _more(scaled, dependent, sorted(wanted), rank - len(dependent))
    return _partition(scaled, dependent, rank)


def named_independent(J: Array, M: Array, independent: Sequence[int], names: Sequence[str]) -> Partition:
    """Return the partition with these independent rates.

    Raises:
        MethodError: their number is not the mobility, or they do not determine the others here; names the free ones.
    """
    scaled = scaled_rows(J, scales(M))
    rank = _rank(scaled, RANK_TOLERANCE)
    mobility = J.shape[1] - rank
    listed = ', '.join(names[k] for k in independent) or 'none'
    if len(set(independent)) != len(independent) or len(independent) != mobility:
        raise MethodError(
            f'expected {mobility} independent velocities, as many as the mobility, found {listed or "none"}'
        )
    dependent = [k for k in range(J.shape[1]) if k not in set(independent)]
    values = np.linalg.svd(scaled[:, dependent], compute_uv=False)[:rank] if rank else np.ones(1)
    if values[-1] * WORST_CONDITION < values[0]:
        free = np.abs(np.linalg.svd(scaled[:, dependent])[2][-1])
        movable = [names[dependent[k]] for k in np.argsort(-free) if free[k] > 0.1 * free.max()]
        raise MethodError(
            f'velocities {listed} do not determine the others here: {", ".join(movable[:6])} can still move'
        )
    return _partition(scaled, dependent, rank)


def _rank(scaled: Array, tolerance: float) -> int:
    values = np.linalg.svd(scaled, compute_uv=False) if scaled.size else np.zeros(0)
    return int(np.count_nonzero(values > tolerance * values[0])) if values.size and values[0] > 0 else 0


def _pivots(matrix: Array, columns: Sequence[int], most: int, tolerance: float) -> list[int]:
    """Return at most `most` independent ones of these columns, greatest remainders first."""
    if not columns or not most:
        return []
    R, order = qr(matrix[:, columns], mode='r', pivoting=True)
    sizes = np.abs(np.diag(R))
    count = int(np.count_nonzero(sizes > tolerance * max(float(sizes[0]), np.finfo(float).tiny)))
    return [columns[k] for k in order[: min(count, most)]]


def _more(matrix: Array, chosen: list[int], columns: Sequence[int], count: int) -> list[int]:
    """Return further columns, greatest remainders beside the chosen ones first."""
    basis = np.linalg.qr(matrix[:, chosen])[0] if chosen else np.zeros((len(matrix), 0))
    rest = matrix - basis @ (basis.T @ matrix)
    return _pivots(rest, columns, count, 0.0)


def _partition(scaled: Array, dependent: Sequence[int], rank: int) -> Partition:
    chosen = sorted(dependent)
    free = tuple(k for k in range(scaled.shape[1]) if k not in set(chosen))
    if not rank:
        return Partition(free, (), (), np.zeros((0, 0)))
    J_D = scaled[:, chosen]
    rows = sorted(int(k) for k in qr(J_D.T, mode='r', pivoting=True)[1][:rank])
    return Partition(free, tuple(chosen), tuple(rows), J_D[rows])
