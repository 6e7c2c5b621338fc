"""Numerical rank and subspaces of a constraint Jacobian (yesiloglu-2007, G9)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dyn_nodes.common.arrays import Array

RANK_TOLERANCE = 1e-10
"""Singular values below this fraction of the greatest count as zero."""


def rank_of(matrix: Array, tolerance: float = RANK_TOLERANCE) -> int:
    """Return the rank by singular values, relative to the greatest one."""
    if not matrix.size:
        return 0
    values = np.linalg.svd(matrix, compute_uv=False)
    return int(np.count_nonzero(values > tolerance * values[0])) if values[0] > 0 else 0


@dataclass(frozen=True, eq=False)
class Subspaces:
    """The four subspaces of J (m, n) by singular values.

    Attributes:
        J: the matrix.
        tolerance: relative threshold of the rank.
    """

    J: Array
    tolerance: float = RANK_TOLERANCE

    @cached_property
    def _svd(self) -> tuple[Array, Array, Array, int]:
        m, n = self.J.shape
        if m == 0:
            return np.zeros((0, 0)), np.zeros(0), np.eye(n), 0
        U, s, Vt = np.linalg.svd(self.J)
        rank = int(np.count_nonzero(s > self.tolerance * s[0])) if s.size and s[0] > 0 else 0
        return U, s, Vt, rank

    @property
    def rank(self) -> int:
        """Return the number of independent rows."""
        return self._svd[3]

    @property
    def singular_values(self) -> Array:
        """Return all singular values, descending."""
        return self._svd[1]

    @property
    def condition(self) -> float:
        """Return the greatest over the least singular value of the independent rows; 1 without rows."""
        _, s, _, rank = self._svd
        return float(s[0] / s[rank - 1]) if rank else 1.0

    @property
    def weakest_row(self) -> int:
        """Return the index of the row with the greatest part in the least independent combination of rows."""
        U, _, _, rank = self._svd
        return int(np.argmax(np.abs(U[:, max(rank, 1) - 1])))

    @property
    def row_basis(self) -> Array:
        """Return (m, r) orthonormal independent combinations of the rows."""
        U, _, _, rank = self._svd
        return U[:, :rank]

    @property
    def dependencies(self) -> Array:
        """Return (m, m - r) orthonormal combinations of the rows that vanish: null space of J^T."""
        U, _, _, rank = self._svd
        return U[:, rank:]

    @property
    def motions(self) -> Array:
        """Return (n, n - r) orthonormal basis of the velocities that J allows: the orthogonal complement."""
        _, _, Vt, rank = self._svd
        return Vt[rank:].T

    @property
    def pseudo_inverse(self) -> Array:
        """Return (n, m) J+, without singular values below the threshold."""
        U, s, Vt, rank = self._svd
        return Vt[:rank].T @ ((U[:, :rank] / s[:rank]).T)
