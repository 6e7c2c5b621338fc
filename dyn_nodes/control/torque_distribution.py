"""Torques of redundant drives: least effort, between limits (saha-1991, 3.6 and 4.4.3).

    drives = TorqueDistribution(L, lower=-limit, upper=limit)
    torques = drives(wrench)

L (n, m) maps the m speeds of the machine to the speeds of n drives; by the balance of power w = L' t. Without limits
the solution is t = W^-1 L (L' W^-1 L)^-1 w (eq. 3.57). Limits have two sides; the printed (4.88) has one, and would let
a motor exceed its torque in the other direction (spec, F19).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.control._active_set import DONE, INFEASIBLE, active_set, workspace


class InfeasibleDemandError(UserError, ValueError):
    """No torques within the limits give the wrench.

    Attributes:
        wrench: (m,) wanted.
        fraction: greatest part of it, in the same direction, that the drives can give; 0 to 1.
        binding: names of the drives at a limit there.
    """

    def __init__(self, wrench: Array, fraction: float, binding: tuple[str, ...]) -> None:
        self.wrench, self.fraction, self.binding = wrench, fraction, binding
        asked = ', '.join(f'{value:.6g}' for value in wrench)
        at = f'; at their limits there: {", ".join(binding)}' if binding else ''
        super().__init__(
            f'no torques within the limits give the wrench ({asked}); expected at most {fraction:.4g} of it{at}'
        )


class TorqueDistribution:
    """The torques of n drives that give a wrench of m components with the least weighted effort 1/2 t' W t.

    Args:
        L: (n, m) drive speeds per speed of the machine, full column rank.
        lower, upper: (n,) or one number for all, N m (N for a prismatic drive); default: no limit. Both zero for a
            feathered drive.
        weights: (n,) positive, or (n, n) symmetric positive definite; default: all one.
        names: of the drives, for messages.

    Attributes:
        at_limit: (n,) of the last call: -1 at the lower limit, 0 free, 1 at the upper one.

    Raises:
        ValueError: shapes that do not match, a rank below m (these drives cannot give every wrench), limits in the
            wrong order, weights that are not positive definite, a number that is not finite.
    """

    def __init__(
        self,
        L: ArrayLike,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        weights: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        L = np.array(L, dtype=float)
        if L.ndim != 2 or not np.isfinite(L).all():
            raise ValueError(f'expected L as a finite matrix (drives, speeds of the machine), found shape {L.shape}')
        n, m = L.shape
        if np.linalg.matrix_rank(L) < m:
            raise ValueError(f'L of rank {np.linalg.matrix_rank(L)}: {n} drives cannot give every wrench of {m}')
        self.names = tuple(names) if names is not None else tuple(f'drive {k + 1}' for k in range(n))
        if len(self.names) != n:
            raise ValueError(f'expected {n} names of drives, found {len(self.names)}')
        self._A = np.ascontiguousarray(L.T)
        self._lower, self._upper = self._limit('lower', lower), self._limit('upper', upper)
        for name, low, high in zip(self.names, self._lower, self._upper):
            if not low <= high:
                raise ValueError(f'{name}: expected lower limit <= upper limit, found {low:g} and {high:g}')
        self._W = self._weights(weights)
        self.at_limit = np.zeros(n, dtype=np.int64)
        fixed = np.concatenate([self._W.ravel(), self._A.ravel(), self._lower, self._upper])
        self._data = np.concatenate([fixed, np.empty(workspace(n, m) - len(fixed))])

    def _limit(self, which: str, limit: ArrayLike) -> Array:
        value = np.asarray(limit, dtype=float)
        n = len(self.names)
        if value.shape not in ((), (n,)) or np.isnan(value).any():
            raise ValueError(f'expected one {which} limit or one per drive ({n}), found {value!r}')
        return np.array(np.broadcast_to(value, (n,)))

    def _weights(self, weights: ArrayLike | None) -> Array:
        n = len(self.names)
        W = np.eye(n) if weights is None else np.array(weights, dtype=float)
        W = np.diag(W) if W.ndim == 1 else W
        if W.shape != (n, n) or not np.isfinite(W).all() or not np.array_equal(W, W.T):
            raise ValueError(f'expected {n} weights or a symmetric matrix ({n}, {n}), found {weights!r}')
        try:
            np.linalg.cholesky(W)
        except np.linalg.LinAlgError:
            raise ValueError('expected positive definite weights') from None
        return W

    def __call__(self, wrench: ArrayLike) -> Array:
        """Return the torques (n,) for a wrench (m,) = L' t.

        Raises:
            InfeasibleDemandError: no torques within the limits give it.
            ValueError: a wrench of another size or with numbers that are not finite.
        """
        m, n = self._A.shape
        w = np.ascontiguousarray(wrench, dtype=np.float64)
        if w.shape != (m,) or not math.isfinite(sum(w.tolist())):
            raise ValueError(f'expected a finite wrench of {m} components, found {wrench!r}')
        torque = np.empty(n)
        status = active_set(self._data, w, torque, self.at_limit)
        if status == INFEASIBLE:
            raise self._infeasible(w)
        if status != DONE:
            raise ArithmeticError(f'torque distribution: the active-set method did not end (status {status})')
        return torque

    def _infeasible(self, w: Array) -> InfeasibleDemandError:
        """Return the error with the greatest feasible part of the wrench, by a linear program."""
        from scipy.optimize import linprog

        n = len(self.names)
        bounds = [*zip(self._lower, self._upper), (0.0, 1.0)]
        equalities = np.hstack([self._A, -w[:, None]])
        solution = linprog(np.r_[np.zeros(n), -1.0], A_eq=equalities, b_eq=np.zeros(len(w)), bounds=bounds)
        if not solution.success:
            return InfeasibleDemandError(w, 0.0, self.names)
        torque, fraction = solution.x[:-1], float(solution.x[-1])
        near = 1e-9 * np.maximum(np.abs(torque), 1e-9)
        binding = [
            name
            for name, t, low, high, close in zip(self.names, torque, self._lower, self._upper, near)
            if t - low <= close or high - t <= close
        ]
        return InfeasibleDemandError(w, fraction, tuple(binding))
