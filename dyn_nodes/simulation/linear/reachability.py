"""Controllability by the staircase form with orthogonal transformations, and the Hautus test of each pole.

The rank of [B, AB, A^2 B, ...] is no numerical test, because powers of a stiff A have columns that differ by hundreds
of decades. The staircase form needs one singular value decomposition per step and no powers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array

TOLERANCE = 1e-12
"""Singular value, relative to the norm of [A, B] times the order of the model, that counts as zero."""


@dataclass(frozen=True, eq=False)
class Reachability:
    """Controllable (or observable) part of a model.

    Attributes:
        rank: dimension of this part.
        order: of the model.
        unreached: (order - rank,) poles of the remaining part, 1/s.
        rest: names of the states with the greatest share in the remaining part, at most one per dimension.
        distances: pole and its distance: least singular value of [A - pole, B], inputs of unit norm, relative to the
            norm of A. A change of A by this distance makes the pole uncontrollable.
    """

    rank: int
    order: int
    unreached: NDArray[np.complex128]
    rest: tuple[str, ...]
    distances: tuple[tuple[complex, float], ...]

    @property
    def complete(self) -> bool:
        """Whether the model is completely controllable."""
        return self.rank == self.order


def reachability(A: Array, B: Array, names: Sequence[str]) -> Reachability:
    """Return the controllability of A (n, n) from the columns of B (n, m), states in comparable units."""
    n = len(A)
    size = float(np.linalg.norm(A, 2)) if n else 0.0
    columns = np.linalg.norm(B, axis=0)
    inputs = B[:, columns > 0] / columns[columns > 0] * (size or 1.0)
    rank, turned, basis = staircase(A, inputs, TOLERANCE * max(n, 1) * (size or 1.0))
    unreached = np.linalg.eigvals(turned[rank:, rank:]).astype(np.complex128)
    share = np.linalg.norm(basis[:, rank:], axis=1)
    order = np.argsort(-share, kind='stable')[: n - rank]
    distances = []
    for pole in np.linalg.eigvals(A):
        if pole.imag < 0:
            continue
        test = np.hstack([A - pole * np.eye(n), inputs])
        distances.append((complex(pole), float(np.linalg.svd(test, compute_uv=False)[-1] / (size or 1.0))))
    return Reachability(rank, n, unreached, tuple(names[k] for k in order), tuple(distances))


def staircase(A: Array, B: Array, tolerance: float) -> tuple[int, Array, Array]:
    """Return the controllable dimension, Q^T A Q with this part first, and the orthogonal Q (n, n)."""
    n = len(A)
    turned, basis, block, done = A.copy(), np.eye(n), B, 0
    while done < n and block.size:
        U, values, _ = np.linalg.svd(block)
        rank = int(np.count_nonzero(values > tolerance))
        if rank == 0:
            break
        turned[done:] = U.T @ turned[done:]
        turned[:, done:] = turned[:, done:] @ U
        basis[:, done:] = basis[:, done:] @ U
        done, before = done + rank, done
        block = turned[done:, before:done]
    return done, turned, basis
