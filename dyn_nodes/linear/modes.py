"""Modes of a linear model: frequency, damping ratio, shape, and the states that take part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
REAL = 1e-9
"""Imaginary part of a pole, relative to its size, that counts as zero."""


@dataclass(frozen=True, eq=False)
class Mode:
    """A real pole, or a pair of conjugate ones.

    Attributes:
        pole: 1/s, imaginary part not negative.
        shape: (n,) complex amplitudes of the states in units of their usual sizes, the greatest 1.
        participation: (n,) share of each state, sum 1; without units: |left x right eigenvector|.
        state_names: of both.
    """

    pole: complex
    shape: NDArray[np.complex128]
    participation: Array
    state_names: tuple[str, ...]

    @property
    def oscillates(self) -> bool:
        """Whether this is a pair of conjugate poles."""
        return abs(self.pole.imag) > REAL * abs(self.pole)

    @property
    def frequency(self) -> float:
        """Natural frequency |pole| / 2 pi, Hz; 0 for a real pole."""
        return abs(self.pole) / (2 * np.pi) if self.oscillates else 0.0

    @property
    def damping_ratio(self) -> float:
        """Minus real part over size of the pole: 1 for a stable real pole, -1 for an unstable one, 0 at the origin."""
        return -self.pole.real / abs(self.pole) if self.pole else 0.0

    @property
    def time_constant(self) -> float:
        """Time in which the mode falls (or grows, if negative) by e, s; infinite on the imaginary axis."""
        return -1.0 / self.pole.real if self.pole.real else float('inf')

    def main_states(self, count: int = 3) -> list[tuple[str, float]]:
        """Return the states with the greatest shares, and these."""
        order = np.argsort(-self.participation, kind='stable')[:count]
        return [(self.state_names[k], float(self.participation[k])) for k in order]

    def as_dict(self) -> dict[str, Any]:
        """Return the mode as numbers and names, for JSON; the shape as [size, phase in rad] by state."""
        decay = self.time_constant
        return {
            'pole': [self.pole.real, self.pole.imag],
            'frequency_hz': self.frequency,
            'damping_ratio': self.damping_ratio,
            'time_constant_s': decay if np.isfinite(decay) else None,
            'participation': dict(zip(self.state_names, self.participation.tolist())),
            'shape': {name: [abs(own), float(np.angle(own))] for name, own in zip(self.state_names, self.shape.tolist())},
        }


def modes(A: Array, names: Sequence[str]) -> list[Mode]:
    """Return the modes of A (n, n), states in comparable units, the slowest first."""
    from scipy.linalg import eig

    if not len(A):
        return []
    values, left, right = eig(A, left=True, right=True)
    found = []
    for k in np.lexsort((values.real, np.abs(values))):
        pole = complex(values[k])
        if pole.imag < -REAL * abs(pole):
            continue  # its conjugate stands for both
        share = np.abs(left[:, k].conj() * right[:, k])
        shape = right[:, k] / right[np.argmax(np.abs(right[:, k])), k]
        if abs(pole.imag) <= REAL * abs(pole):
            pole = complex(pole.real)
        found.append(Mode(pole, shape.astype(np.complex128), share / share.sum(), tuple(names)))
    return found
