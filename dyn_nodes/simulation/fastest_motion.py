"""The fastest motion of a system about a state, which bounds the step of an explicit integrator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
STABLE = 2.5
"""Rate times step up to which classical Runge-Kutta is stable: 2.78 for decay, 2.83 for oscillation, less a reserve."""
INCREMENT = 1e-7
"""Of a state, over its scale: small against the states and large against round-off."""


MOST_SUBSTEPS = 1000
"""Integration steps in an exchange period, beyond which a machine is taken to be wrong."""


class FastestMotion(NamedTuple):
    """The eigenvalue of greatest magnitude of the linearized system.

    Attributes:
        rate: its magnitude, 1/s.
        state: name of the state that has the greatest part in it, over the scales of the states.
    """

    rate: float
    state: str


class Rates(Protocol):
    """A system, as its fastest motion asks for it."""

    state_names: Sequence[str]
    scales: Mapping[str, float]

    def rhs(self, x: Array, u: Array, p: Array) -> Array:
        """Return dx/dt."""


def fastest_motion(system: Rates, x: Array, u: Array, p: Array) -> FastestMotion:
    """Return the fastest motion about a state, by central differences of the rates: no Jacobian is compiled for it.

    Args:
        system: names, usual sizes and rates of the states.
        x: (n,) state.
        u: inputs.
        p: parameters.
    """
    names, scales = system.state_names, system.scales
    sizes = np.array([max(float(scales.get(name, 1.0)), abs(value)) for name, value in zip(names, x)])
    columns = []
    for k, size in enumerate(sizes):
        step = np.zeros(x.shape[0])
        step[k] = INCREMENT * size
        columns.append((system.rhs(x + step, u, p) - system.rhs(x - step, u, p)) / (2.0 * INCREMENT))
    scaled = np.column_stack(columns) / sizes[:, None] if columns else np.zeros((0, 0))
    if not columns or not np.isfinite(scaled).all():
        return FastestMotion(0.0, '')
    values, vectors = np.linalg.eig(scaled)
    greatest = int(np.argmax(np.abs(values)))
    part = int(np.argmax(np.abs(vectors[:, greatest])))
    return FastestMotion(float(abs(values[greatest])), names[part])


def substeps_for(machine: str, found: FastestMotion, period: float) -> int:
    """Return the integration steps in an exchange period, s, that follow the fastest motion of a machine.

    Raises:
        ValueError: no sensible number of steps does.
    """
    needed = int(np.ceil(found.rate * period / STABLE))
    if needed > MOST_SUBSTEPS:
        raise ValueError(
            f'{machine}: {found.state} moves with a rate of {found.rate:.3g} 1/s, for which steps of '
            f'{STABLE / found.rate:.2g} s would be needed: expected more inertia, or less stiffness and damping'
        )
    return needed
