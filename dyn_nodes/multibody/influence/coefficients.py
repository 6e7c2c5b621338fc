"""Influence coefficients of named parameters by named coordinates, and their transfer to other coordinates.

    Coefficients                u by phi: G (P, M), H (P, M, M), D (P, M, M, M)
    q_by_phi.inverse()          phi by q (3-15, 3-19, 3-47)
    u_by_phi.by(phi_by_q)       u by q: chain rule (3-22, 3-26)
    .rows, .columns, .stacked   select parameters, hold coordinates, combine sets

The chain rule needs no inverse, so the same code serves hand coordinates, closed loops, legs, left and right inverses.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.multibody.influence.algebra import bilinear, cubic, dot_product, quadratic, sandwich, transposed

FLAGGED = 1e8
"""Condition number of G from which a transfer emits a warning."""
REJECTED = 1e12
"""Condition number of G from which a transfer is rejected."""


class SingularTransferError(UserError, ValueError):
    """Coordinates do not determine the motion in this position.

    Attributes:
        coordinate: determined by the others, or not changed by any motion.
        condition: condition number of G.
    """

    def __init__(self, message: str, coordinate: str, condition: float) -> None:
        super().__init__(message)
        self.coordinate = coordinate
        self.condition = condition


class IllConditionedTransferWarning(UserWarning):
    """Coordinates that are close to singular in this position."""


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Influence coefficients of P parameters by M coordinates.

    Attributes:
        parameters, coordinates: names.
        G: (P, M) du_p / dphi_n (2-7).
        H: (P, M, M) dG[p, n] / dphi_m at [p, m, n] (2-27), not symmetric for angular velocities.
        D: (P, M, M, M) dH[p, m, n] / dphi_l at [p, l, m, n] (2-44), or None for two orders.

    Raises:
        ValueError: arrays whose shapes do not fit the names.
    """

    parameters: tuple[str, ...]
    coordinates: tuple[str, ...]
    G: Array
    H: Array
    D: Array | None = None

    def __post_init__(self) -> None:
        P, M = len(self.parameters), len(self.coordinates)
        arrays = {'G': (self.G, (P, M)), 'H': (self.H, (P, M, M))}
        if self.D is not None:
            arrays['D'] = (self.D, (P, M, M, M))
        for name, (array, shape) in arrays.items():
            if array.shape != shape:
                raise ValueError(f'{name}: expected shape {shape}, found {array.shape}')

    @property
    def condition(self) -> float:
        """Condition number of G, without scaling of units."""
        return float(np.linalg.cond(self.G)) if self.G.size else 1.0

    @classmethod
    def identity(cls, names: Sequence[str], order: int = 3) -> Coefficients:
        """Return the coefficients of coordinates by themselves."""
        return cls.picked(names, names, order)

    @classmethod
    def picked(cls, parameters: Sequence[str], coordinates: Sequence[str], order: int = 3) -> Coefficients:
        """Return the coefficients of some of the coordinates: rows of the unit matrix. Other names have zero rows."""
        n = len(coordinates)
        G = np.zeros((len(parameters), n))
        for row, name in enumerate(parameters):
            if name in coordinates:
                G[row, list(coordinates).index(name)] = 1.0
        higher = np.zeros((len(parameters), n, n))
        D = np.zeros((len(parameters), n, n, n)) if order > 2 else None
        return cls(tuple(parameters), tuple(coordinates), G, higher, D)

    @classmethod
    def stacked(cls, parts: Sequence[Coefficients]) -> Coefficients:
        """Return the parameters of all parts by their common coordinates.

        Raises:
            ValueError: parts with different coordinates.
        """
        first = parts[0]
        if any(part.coordinates != first.coordinates for part in parts):
            raise ValueError('expected parts by the same coordinates')
        D = None
        third = [part.D for part in parts if part.D is not None]
        if len(third) == len(parts):
            D = np.concatenate(third)
        names = tuple(name for part in parts for name in part.parameters)
        G, H = (np.concatenate([getattr(part, name) for part in parts]) for name in 'GH')
        return cls(names, first.coordinates, G, H, D)

    def renamed(self, parameters: Sequence[str]) -> Coefficients:
        """Return the coefficients with other names of the parameters."""
        return Coefficients(tuple(parameters), self.coordinates, self.G, self.H, self.D)

    def rows(self, names: Sequence[str]) -> Coefficients:
        """Return the coefficients of some parameters. Raises KeyError, listing the names, for an unknown one."""
        at = [_index(name, self.parameters, 'parameter') for name in names]
        D = None if self.D is None else self.D[at]
        return Coefficients(tuple(names), self.coordinates, self.G[at], self.H[at], D)

    def columns(self, names: Sequence[str]) -> Coefficients:
        """Return the coefficients by some coordinates, all others held. Raises KeyError for an unknown one."""
        at = [_index(name, self.coordinates, 'coordinate') for name in names]
        H = self.H[np.ix_(range(len(self.H)), at, at)]
        D = None if self.D is None else self.D[np.ix_(range(len(self.D)), at, at, at)]
        return Coefficients(self.parameters, tuple(names), self.G[:, at], H, D)

    def velocity(self, v: ArrayLike) -> Array:
        """Return G v (P,) for rates v (M,) (2-7)."""
        return np.asarray(self.G @ np.asarray(v, float))

    def acceleration(self, v: ArrayLike, a: ArrayLike) -> Array:
        """Return G a + v^T H v (P,) (2-27)."""
        return np.asarray(self.G @ np.asarray(a, float) + quadratic(v, self.H))

    def jerk(self, v: ArrayLike, a: ArrayLike, j: ArrayLike) -> Array:
        """Return G j + a^T (H + 2 H^T) v + (v^T D v) v (P,) (2-44). Raises ValueError without D."""
        D = self._third('jerk')
        turned = bilinear(a, self.H + 2 * transposed(self.H), v)
        return np.asarray(self.G @ np.asarray(j, float) + turned + cubic(v, D))

    def require_parameters(self, parameters: tuple[str, ...]) -> None:
        """Raise ValueError unless these are coefficients of the parameters."""
        if self.parameters != parameters:
            raise ValueError(f'expected coefficients of {", ".join(parameters)}, found {", ".join(self.parameters)}')

    def by(self, inner: Coefficients) -> Coefficients:
        """Return the parameters by the coordinates of `inner` (3-22, 3-26).

        Args:
            inner: these coordinates by the new ones, in this order.

        Raises:
            ValueError: `inner` has other parameters.
        """
        inner.require_parameters(self.coordinates)
        H = sandwich(inner.G, self.H) + dot_product(self.G, inner.H)
        D = None
        if self.D is not None and inner.D is not None:
            A, B = inner.G, inner.H
            D = np.einsum('plmn,lc,mb,na->pcba', self.D, A, A, A, optimize=True)
            D += np.einsum('pmn,mcb,na->pcba', self.H, B, A, optimize=True)
            D += np.einsum('pmn,mb,nca->pcba', self.H, A, B, optimize=True)
            D += np.einsum('pmn,mc,nba->pcba', self.H, A, B, optimize=True)
            D += dot_product(self.G, inner.D)
        return Coefficients(self.parameters, inner.coordinates, self.G @ inner.G, H, D)

    def inverse(self, left: bool = False) -> Coefficients:
        """Return the coordinates by the parameters (3-15, 3-19; with the third order).

        Args:
            left: allow more parameters than coordinates: the left inverse, for dependent parameters, as in a movable
                overconstrained loop (p. 166).

        Raises:
            SingularTransferError: G is not square or its condition number reaches `REJECTED`; names a parameter.

        Warns:
            IllConditionedTransferWarning: a condition number above `FLAGGED`.
        """
        judge_transfer(self, left)
        A = np.linalg.pinv(self.G) if left else np.linalg.inv(self.G)
        return self.inverse_by(A)

    def inverse_by(self, A: ArrayLike) -> Coefficients:
        """Return the coordinates by the parameters for an inverse of G.

        Args:
            A: (M, P), A G = 1 (a left inverse) or G A = 1 (any right inverse; 4-68, 4-72).
        """
        B = np.asarray(A, float)
        first = sandwich(B, self.H)
        H = -dot_product(B, first)
        D = None
        if self.D is not None:
            inner = np.einsum('rlmn,lc,mb,na->rcba', self.D, B, B, B, optimize=True)
            inner += np.einsum('rmn,mcb,na->rcba', self.H, H, B, optimize=True)
            inner += np.einsum('rmn,mb,nca->rcba', self.H, B, H, optimize=True)
            D = -np.einsum('icr,rba->icba', H, first, optimize=True) - dot_product(B, inner)
        return Coefficients(self.coordinates, self.parameters, B, H, D)

    def _third(self, kind: str) -> Array:
        if self.D is None:
            raise ValueError(f'{kind}: expected coefficients of third order, found two orders; use order=3')
        return self.D


def judge_transfer(coefficients: Coefficients, left: bool = False) -> float:
    """Return the condition number of G; warn from `FLAGGED`, raise from `REJECTED` or for a wrong shape of G."""
    P, M = coefficients.G.shape
    if P < M or (P > M and not left):
        raise SingularTransferError(
            f'expected {M} coordinates, as many as the present ones, found {P}: {", ".join(coefficients.parameters)}',
            coefficients.parameters[-1] if P else '',
            np.inf,
        )
    condition = coefficients.condition
    if condition < FLAGGED:
        return condition
    guilty = dependent_coordinate(coefficients)
    if not condition < REJECTED:
        raise SingularTransferError(
            f'coordinate {guilty} does not determine the motion here: it depends on the others, or nothing moves it '
            f'(condition number {condition:.3g}, expected less than {REJECTED:.0e})',
            guilty,
            condition,
        )
    warnings.warn(
        f'coordinate {guilty} barely determines the motion here (condition number {condition:.3g})',
        IllConditionedTransferWarning,
        stacklevel=3,
    )
    return condition


def dependent_coordinate(coefficients: Coefficients) -> str:
    """Return the last parameter with the greatest component in the smallest singular direction of G^T."""
    share = np.abs(np.linalg.svd(coefficients.G)[0][:, min(coefficients.G.shape) - 1])
    return coefficients.parameters[int(np.flatnonzero(share > (1 - 1e-6) * share.max())[-1])]


def _index(name: str, names: Sequence[str], kind: str) -> int:
    if name not in names:
        raise KeyError(f'unknown {kind} {name!r}; known: {", ".join(names)}')
    return names.index(name)
