"""Frequency response of one input to one output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array

POINTS = 400
SLOWEST, FASTEST = 1e-3, 1e5
"""Bounds of the frequencies that are chosen from the poles, Hz."""


@dataclass(frozen=True, eq=False)
class Bode:
    """Gain and phase over frequency.

    Attributes:
        hertz: (k,).
        response: (k,) complex, unit of the output per unit of the input.
    """

    hertz: Array
    response: NDArray[np.complex128]

    @property
    def gain(self) -> Array:
        """(k,) magnitude of the response."""
        return np.abs(self.response)

    @property
    def decibels(self) -> Array:
        """(k,) 20 log10 of the gain; -inf for a gain of zero."""
        with np.errstate(divide='ignore'):
            return np.asarray(20 * np.log10(self.gain))

    @property
    def phase(self) -> Array:
        """(k,) unwrapped phase, rad."""
        return np.unwrap(np.angle(self.response))


def bode(A: Array, b: Array, c: Array, d: float, poles: NDArray[np.complex128], hertz: ArrayLike | None = None) -> Bode:
    """Return c (j 2 pi f - A)^-1 b + d.

    Args:
        A: (n, n) of the model.
        b: (n,) column of its input.
        c: (n,) row of its output.
        d: feedthrough.
        poles: (n,) of A.
        hertz: (k,) frequencies above zero; None: chosen from the poles.

    Raises:
        ValueError: a frequency that is not above zero and finite.
    """
    chosen = _range(poles) if hertz is None else np.atleast_1d(np.asarray(hertz, float))
    if not (np.isfinite(chosen) & (chosen > 0)).all():
        raise ValueError('expected frequencies above zero')
    eye = np.eye(len(A))
    response = np.array([c @ np.linalg.solve(2j * np.pi * f * eye - A, b) + d for f in chosen], dtype=np.complex128)
    return Bode(chosen, response)


def _range(poles: NDArray[np.complex128]) -> Array:
    sizes = np.abs(poles) / (2 * np.pi)
    moving = sizes[sizes > SLOWEST]
    low, high = (moving.min() / 10, moving.max() * 10) if moving.size else (0.01, 100.0)
    return np.geomspace(max(low, SLOWEST), min(high, FASTEST), POINTS)
