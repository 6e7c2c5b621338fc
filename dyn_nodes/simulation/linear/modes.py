"""Modes of a linear model: frequency, damping ratio, shape and participation of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array

REAL = 1e-9
"""Real or imaginary part of a pole, relative to its magnitude, that counts as zero."""
ORIGIN = 1e-8
"""Magnitude of a pole, relative to the norm of A, that counts as zero: double poles are exact to sqrt(epsilon)."""


@dataclass(frozen=True, eq=False)
class Mode:
    """A real pole, a pair of conjugate poles, or all poles at the origin.

    Attributes:
        pole: 1/s, imaginary part not negative.
        shape: (n,) complex amplitudes of the states in units of their typical magnitudes, the greatest 1. For poles at
            the origin it has no meaning beyond the participation.
        participation: (n,) share of each state, sum 1, without units: |left x right eigenvector|; for poles at the
            origin the diagonal of the projector on their invariant subspace.
        state_names: of shape and participation.
        count: number of poles: 1, 2, or the number of poles at the origin.
    """

    pole: complex
    shape: NDArray[np.complex128]
    participation: Array
    state_names: tuple[str, ...]
    count: int = 1

    @property
    def oscillates(self) -> bool:
        """Whether this is a pair of conjugate poles."""
        return abs(self.pole.imag) > REAL * abs(self.pole)

    @property
    def grows(self) -> bool:
        """Whether the real part is above zero by more than the rounding of an undamped oscillation."""
        return self.pole.real > REAL * abs(self.pole)

    @property
    def frequency(self) -> float:
        """Natural frequency |pole| / 2 pi, Hz; 0 for a real pole."""
        return abs(self.pole) / (2 * np.pi) if self.oscillates else 0.0

    @property
    def damping_ratio(self) -> float:
        """Minus real part over magnitude: 1 for a stable real pole, -1 for an unstable one, 0 at the origin."""
        return -self.pole.real / abs(self.pole) if self.pole else 0.0

    @property
    def time_constant(self) -> float:
        """Time in which the mode decays (or grows, if negative) by a factor e, s; infinite on the imaginary axis."""
        return -1.0 / self.pole.real if abs(self.pole.real) > REAL * abs(self.pole) else float('inf')

    def main_states(self, count: int = 3) -> list[tuple[str, float]]:
        """Return names and shares of the states with the greatest participation."""
        order = np.argsort(-self.participation, kind='stable')[:count]
        return [(self.state_names[k], float(self.participation[k])) for k in order]

    def as_dict(self) -> dict[str, Any]:
        """Return the mode as numbers and names, for JSON; the shape as [magnitude, phase in rad] by state."""
        decay = self.time_constant
        return {
            'pole': [self.pole.real, self.pole.imag],
            'poles': self.count,
            'frequency_hz': self.frequency,
            'damping_ratio': self.damping_ratio,
            'time_constant_s': decay if np.isfinite(decay) else None,
            'participation': dict(zip(self.state_names, self.participation.tolist())),
            'shape': {
                name: [abs(amplitude), float(np.angle(amplitude))]
                for name, amplitude in zip(self.state_names, self.shape.tolist())
            },
        }


def modes(A: Array, names: Sequence[str]) -> list[Mode]:
    """Return the modes of A (n, n), states in comparable units, in ascending magnitude of the poles."""
    from scipy.linalg import eig

    if not len(A):
        return []
    values, left, right = eig(A, left=True, right=True)
    still = np.abs(values) <= origin_of(A)
    result = [_at_origin(A, int(still.sum()), names)] if still.any() else []
    for k in np.lexsort((values.real, np.abs(values))):
        pole = complex(values[k])
        if still[k] or pole.imag < -REAL * abs(pole):
            continue  # the conjugate represents both
        share = np.abs(left[:, k].conj() * right[:, k])
        shape = right[:, k] / right[np.argmax(np.abs(right[:, k])), k]
        real = abs(pole.imag) <= REAL * abs(pole)
        eigenvalue = complex(pole.real) if real else pole
        result.append(
            Mode(eigenvalue, shape.astype(np.complex128), share / share.sum(), tuple(names), 1 if real else 2)
        )
    return result


def origin_of(A: Array) -> float:
    """Return the magnitude below which poles of A (n, n) count as zero, 1/s."""
    return ORIGIN * float(np.linalg.norm(A, 2)) if A.size else 0.0


def _at_origin(A: Array, count: int, names: Sequence[str]) -> Mode:
    """Return the poles at the origin as one mode, because eigenvectors of a defective group have no meaning."""
    from scipy.linalg import schur, solve_sylvester

    limit = origin_of(A)
    T, Q, size = schur(A.astype(np.complex128), 'complex', sort=lambda value: bool(abs(value) <= limit))
    rest = solve_sylvester(T[:size, :size], -T[size:, size:], T[:size, size:])
    share = np.abs(np.einsum('ki,ki->k', Q[:, :size] @ np.hstack([np.eye(size), rest]), Q.conj()))
    share = share / max(float(share.sum()), np.finfo(float).tiny)
    shape = (share / max(float(share.max()), np.finfo(float).tiny)).astype(np.complex128)
    return Mode(0j, shape, share, tuple(names), count)
