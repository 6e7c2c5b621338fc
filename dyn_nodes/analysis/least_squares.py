"""Weighted least squares with intervals that are valid for persistent residuals: jackknife over blocks of time.

The residuals of overlapping windows are correlated, and so are the residuals of an inexact model. The jackknife over
blocks much longer than any correlation needs no model of it (Wu 1986; "CR3" of econometrics). Prior information enters
as separate rows with its uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from dyn_nodes.common.arrays import Array

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Estimate:
    """Result of a linear problem.

    Attributes:
        values: (k,) estimates.
        covariance: (k, k) covariance of the estimates.
        freedom: degrees of freedom of Student's distribution.
        rest: (m,) residuals, weighted.
    """

    values: Array
    covariance: Array
    freedom: float
    rest: Array

    @property
    def errors(self) -> Array:
        """Standard errors (k,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def half_widths(self) -> Array:
        """Half widths (k,) of the intervals of 95 %."""
        return self.errors * float(student.ppf(0.5 + 0.5 * LEVEL, self.freedom))


def solve(
    rows: Array, right: Array, blocks: NDArray[np.intp], prior: Array | None = None, mean: Array | None = None
) -> Estimate:
    """Return the solution of rows x = right.

    Args:
        rows: (m, k) weighted matrix.
        right: (m,) weighted right-hand side.
        blocks: (m,) number of the block of time of each row.
        prior: (k,) prior standard deviations, inf without prior information; None without any.
        mean: (k,) prior means; None for 0.
    """
    k = rows.shape[1]
    information = np.zeros(k) if prior is None else 1.0 / prior**2
    mean = np.zeros(k) if mean is None else mean
    size = np.sqrt(np.maximum((rows**2).sum(axis=0) + information, 1e-300))
    scaled, precision = rows / size, information / size**2
    normal = scaled.T @ scaled + np.diag(precision)
    inverse = np.linalg.pinv(normal, rcond=1e-13, hermitian=True)
    values = inverse @ (scaled.T @ right + precision * (size * mean))
    rest = right - scaled @ values
    moves = []
    for block in np.unique(blocks):
        part = scaled[blocks == block]
        without = normal - part.T @ part
        moves.append(np.linalg.lstsq(without, part.T @ rest[blocks == block], rcond=1e-13)[0])
    count, spread = len(moves), np.array(moves)
    covariance = (count - 1) / max(count, 1) * spread.T @ spread + inverse @ np.diag(precision) @ inverse
    scale = np.outer(size, size)
    return Estimate(values / size, covariance / scale, max(count - 1.0, 1.0), rest)
