"""Isotropy of the drives of a platform, and isotropic layouts (saha-1991, ch. 5).

The matrix L_A (driven, 3) maps [yaw rate, vx, vy] to hub rates. Its first column has another unit than the others and
is divided by a characteristic length, so all entries are 1/m. The layout is isotropic if the columns of the scaled
matrix are orthogonal and equally long: L' L = sigma^2 1.

The length is a choice of the designer: a layout that is isotropic at some length treats motions equally only for a
vehicle of about that size (spec 6.4: table 4.2 is isotropic at 0.1 m, far less than the vehicle).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody.omni_vehicle import OmniVehicle, OmniWheel

Norm = Literal['2', 'frobenius']
RANK = 1e-12


def condition_number(L: ArrayLike, norm: Norm = '2') -> float:
    """Return the condition number of a matrix; infinity without full column rank.

    Args:
        L: (n, k).
        norm: `2`: ratio of the extreme singular values; `frobenius`: |L| |L^+| with the norm that is 1 for the identity
            (eq. 5.1, 5.2).
    """
    values = np.linalg.svd(np.asarray(L, dtype=float), compute_uv=False)
    if values[-1] <= RANK * values[0]:
        return float('inf')
    if norm == '2':
        return float(values[0] / values[-1])
    return float(np.sqrt(np.sum(values**2) * np.sum(values**-2.0)) / len(values))


def scaled(L: ArrayLike, length: float) -> Array:
    """Return L (n, 3) with its yaw column divided by the characteristic length, m."""
    return np.asarray(L, dtype=float) / np.array([length, 1.0, 1.0])


def characteristic_length(L: ArrayLike) -> float:
    """Return the length, m, at which the Frobenius condition number of the scaled matrix is least (eq. 5.7, spec G15).

    With G = L' L and its inverse H the square of the number is (G11 / c^2 + G22 + G33) (c^2 H11 + H22 + H33) / 9 at a
    length c, with its minimum at c^4 = G11 (H22 + H33) / (H11 (G22 + G33)). For orthogonal columns, the last two
    equally long, this is |first column| / |second|.

    Raises:
        ValueError: L does not have full column rank.
    """
    rates = np.asarray(L, dtype=float)
    if not np.isfinite(condition_number(rates)):
        raise ValueError('these drives cannot produce every motion: expected L of rank 3')
    gram = rates.T @ rates
    inverse = np.linalg.inv(gram)
    power = gram[0, 0] * (inverse[1, 1] + inverse[2, 2]) / (inverse[0, 0] * (gram[1, 1] + gram[2, 2]))
    return float(power**0.25)


def isotropy_residual(L: ArrayLike, length: float, sigma: float | None = None) -> Array:
    """Return the six conditions (6,), zero for an isotropic layout: [R1, R4, R6 - sigma^2, R2, R3, R5] (eq. 5.10).

    Args:
        L: (n, 3) hub rates per twist.
        length: characteristic, m.
        sigma: 1/m; default: the root mean square of the columns.
    """
    gram = scaled(L, length).T @ scaled(L, length)
    square = np.trace(gram) / 3.0 if sigma is None else sigma**2
    return np.r_[np.diag(gram) - square, gram[0, 1], gram[0, 2], gram[1, 2]]


def isotropic_angle(ratio: float) -> float:
    """Return xi = alpha + beta - delta, rad, of isotropic symmetric layouts, for ratio = d / L (eq. 5.18).

    Raises:
        ValueError: ratio below 1/sqrt(2), for which no angle exists.
    """
    if not ratio >= np.sqrt(0.5) * (1 - 1e-12):
        raise ValueError(f'expected distance / characteristic length >= 1/sqrt(2), found {ratio:g}: no isotropic angle')
    return float(np.arctan2(1.0, np.sqrt(max(2.0 * ratio**2 - 1.0, 0.0))))


def wheel_condition(roller: float, ratio: float, norm: Norm = '2') -> float:
    """Return the condition number of the matrix Theta of one wheel, for ratio = roller radius / wheel radius (5.4)."""
    theta = np.array([[1.0, ratio * np.cos(roller)], [0.0, -ratio * np.sin(roller)]])
    return condition_number(theta, norm)


@dataclass(frozen=True)
class Layout:
    """A synthesized layout.

    Attributes:
        wheels: the wheels.
        length: characteristic, m.  sigma: 1/m.
        condition: of the scaled matrix, 2-norm.
        residual: greatest of the six conditions over sigma^2.
    """

    wheels: tuple[OmniWheel, ...]
    length: float
    sigma: float
    condition: float
    residual: float

    @property
    def isotropic(self) -> bool:
        """True if the condition number is 1 within 1e-6."""
        return self.condition < 1.0 + 1e-6


def symmetric_layout(
    count: int, roller: float, hub: float, direction: float, distance: float, radius: float, roller_radius: float
) -> tuple[OmniWheel, ...]:
    """Return `count` wheels at turns of 2 pi / count, otherwise equal; angles of the first wheel, rad."""
    turns = 2.0 * np.pi / count * np.arange(count)
    return tuple(OmniWheel(roller, hub + t, direction + t, distance, radius, roller_radius) for t in turns)


def synthesize(
    wheels: Sequence[OmniWheel],
    length: float | None = None,
    tries: int = 20,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Layout:
    """Return the layout closest to isotropy with the positions and radii of the wheels, by hub and roller angles.

    Minimizes the six conditions from the initial angles and from random ones (p. 133). Rollers stay at least 20 degrees
    away from the hub axis.

    Args:
        wheels: three or more, with positions and initial angles.
        length: characteristic, m; default: free.
        tries: number of starts, the first from `wheels`.
        seed: of the random starts.
        progress: called with the number of starts done.

    Raises:
        ValueError: fewer than three wheels.
    """
    if len(wheels) < 3:
        raise ValueError(f'expected three or more wheels, found {len(wheels)}')
    count, random = len(wheels), np.random.default_rng(seed)
    edge = np.deg2rad(20.0)
    low = np.r_[np.full(count, edge), np.full(count, -np.inf), -6.0]
    high = np.r_[np.full(count, np.pi - edge), np.full(count, np.inf), 6.0]
    start = np.r_[[w.roller % np.pi for w in wheels], [w.hub for w in wheels], 0.0]
    mean = max(float(np.mean([w.distance for w in wheels])), 1e-3)

    def layout(x: Array) -> tuple[tuple[OmniWheel, ...], float]:
        turned = tuple(
            OmniWheel(a, b, w.direction, w.distance, w.radius, w.roller_radius)
            for w, a, b in zip(wheels, x[:count], x[count : 2 * count])
        )
        return turned, (mean * float(np.exp(x[-1])) if length is None else length)

    def residual(x: Array) -> Array:
        turned, characteristic = layout(x)
        L = OmniVehicle(turned).L
        return isotropy_residual(L, characteristic) / (
            np.trace(scaled(L, characteristic).T @ scaled(L, characteristic)) / 3.0
        )

    best: tuple[float, Array] | None = None
    for attempt in range(tries):
        if attempt:
            start = np.r_[random.uniform(edge, np.pi - edge, count), random.uniform(-np.pi, np.pi, count), 0.0]
        fit = least_squares(residual, np.clip(start, low, high), bounds=(low, high), xtol=1e-15, ftol=1e-15)
        if best is None or fit.cost < best[0] - 1e-20:
            best = (float(fit.cost), fit.x)
        if progress:
            progress(attempt + 1)
        if best[0] < 1e-24:
            break
    assert best is not None
    turned, characteristic = layout(best[1])
    matrix = scaled(OmniVehicle(turned).L, characteristic)
    worst = float(np.abs(residual(best[1])).max())
    return Layout(
        turned, characteristic, float(np.sqrt(np.trace(matrix.T @ matrix) / 3.0)), condition_number(matrix), worst
    )
