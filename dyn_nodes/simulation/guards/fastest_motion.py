"""Fastest motion of a system about a state, which bounds the fixed steps of an integrator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError

STABLE = 2.5
"""Stability limit of rate times step of classical Runge-Kutta: 2.78 for decay, 2.83 for oscillation, less a reserve."""
RESERVE = 1.1
"""Safety factor of the step in the stability check."""
SLOW = 1.0
"""Rate times step below which a motion is not checked: it grows with the machine itself, or by round-off."""
BEYOND = 6.0
"""Rate times step beyond which no formula is stable."""
INCREMENT = 1e-7
"""Increment of a state for differences, relative to its scale: small against the state, large against round-off."""
SQUARINGS = 4
"""Number of squarings of the matrix whose norm bounds the rates: the bound exceeds the greatest by less than 2."""
MOST_SUBSTEPS = 1000
"""Greatest number of integration steps in an exchange period or in the specified step."""


class FastestMotion(NamedTuple):
    """Eigenvalue of greatest magnitude of the linearized system.

    Attributes:
        rate: its magnitude, 1/s.
        state: name of the state with the greatest share in the eigenvector, in units of the scales.
    """

    rate: float
    state: str


class Division(NamedTuple):
    """Division of a step into shorter ones that follow the fastest motion.

    Attributes:
        parts: number of shorter steps; 1: the step is short enough.
        motion: that requires the division.
    """

    parts: int
    motion: FastestMotion


class TooFastError(UserError, ValueError):
    """The fastest motion requires more steps than permitted."""


@dataclass(frozen=True, eq=False)
class Linearization:
    """Linearized system about a state, by central differences of the rates, without a compiled Jacobian.

    Attributes:
        matrix: (n, n) partial derivatives of the rates in units of the typical magnitudes, 1/s; None: not finite.
        names: of the states.
        stiff: (m,) indices of the states that the integrator solves for implicitly.
    """

    matrix: Array | None
    names: Sequence[str]
    stiff: Sequence[int] = ()

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        scales: Mapping[str, float],
        rates: Callable[[Array], Array],
        x: Array,
        stiff: Sequence[int] = (),
    ) -> Linearization:
        """Return the linearization.

        Args:
            names: of the states.
            scales: typical magnitudes of states by name, if not 1.
            rates: dx/dt (n,) at a state (n,).
            x: (n,) state.
            stiff: indices of the states that the integrator solves for implicitly.
        """
        sizes = np.array([max(float(scales.get(name, 1.0)), abs(value)) for name, value in zip(names, x)])
        columns = []
        for k, size in enumerate(sizes):
            step = np.zeros(len(sizes))
            step[k] = INCREMENT * size
            columns.append((rates(x + step) - rates(x - step)) / (2.0 * INCREMENT))
        matrix = np.column_stack(columns) / sizes[:, None] if columns else np.zeros((0, 0))
        return cls(matrix if np.isfinite(matrix).all() else None, names, stiff)

    def fastest(self, step: float = 0.0) -> FastestMotion:
        """Return the fastest motion; with a step, s, the rates of implicit states are limited by it."""
        if self.matrix is None or not self.matrix.size:
            return FastestMotion(0.0, '')
        values, vectors = np.linalg.eig(self._slowed(self.matrix, step))
        greatest = int(np.argmax(np.abs(values)))
        return FastestMotion(float(abs(values[greatest])), self.names[int(np.argmax(np.abs(vectors[:, greatest])))])

    def division(self, owner: str, step: float, damped: bool = False, most: int = MOST_SUBSTEPS) -> Division:
        """Return the required division of a step, s.

        Args:
            owner: name of the machine.
            step: of the integrator, s.
            damped: steps of `rk3` instead of `rk4`.
            most: greatest number of parts.

        Raises:
            TooFastError: more parts would be needed.
        """
        count = 1
        while True:
            more = self._parts(step / count, damped)
            if more == 1:
                return Division(count, self.fastest(step / count) if count > 1 else FastestMotion(0.0, ''))
            count *= more
            if count > most:
                fastest = self.fastest(step)
                raise TooFastError(
                    f'{owner}: {fastest.state} moves with a rate of {fastest.rate:.3g} 1/s, for which steps of '
                    f'{STABLE / fastest.rate:.2g} s would be needed: expected more inertia, or less stiffness and '
                    'damping'
                )

    def _parts(self, step: float, damped: bool) -> int:
        if self.matrix is None:
            return 1
        matrix = self._slowed(self.matrix, step)
        if bound_on_rates(matrix) * step * RESERVE <= SLOW:
            return 1
        values = np.linalg.eigvals(matrix) * step * RESERVE
        count = max(1, int(min(np.abs(values).max() / BEYOND, 10 * MOST_SUBSTEPS)))
        while count <= MOST_SUBSTEPS and not is_stable(values / count, damped):
            count += 1
        return count

    def _slowed(self, matrix: Array, step: float) -> Array:
        """Return the matrix with the rates of implicit states limited to at most 1 / step."""
        stiff = list(self.stiff)
        if step > 0.0 and stiff:
            matrix = matrix.copy()
            rates = np.abs(matrix[np.ix_(stiff, stiff)]).sum(axis=1)
            matrix[stiff] /= (1.0 + step * rates)[:, None]
        return matrix


def bound_on_rates(matrix: Array) -> float:
    """Return a bound on the magnitudes of the eigenvalues of a matrix, from the norm of one of its powers."""
    size = float(np.linalg.norm(matrix))
    if not matrix.size or size == 0.0:
        return 0.0
    power, exponent, logarithm = matrix / size, 1, np.log(size)
    for _ in range(SQUARINGS):
        power, exponent = power @ power, 2 * exponent
        norm = float(np.linalg.norm(power))
        if norm == 0.0:
            return 0.0
        power, logarithm = power / norm, logarithm + np.log(norm) / exponent
    return float(np.exp(logarithm))


def is_stable(values: NDArray[Any], damped: bool) -> bool:
    """Return whether a fixed step is stable.

    Args:
        values: (n,) eigenvalues times the step.
        damped: a step of `rk3` instead of `rk4` (`integrators.classical`).
    """
    near = values[np.abs(values) > SLOW]
    growth = 1.0 + near * (1.0 + near / 2.0 * (1.0 + near / 3.0 * (1.0 + near * (0.125 if damped else 0.25))))
    decays = near.real <= 0.0
    return bool((np.abs(growth[decays]) <= 1.0).all() and (np.abs(near[~decays]) <= STABLE).all())
