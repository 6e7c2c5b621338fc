"""A sampled run of a system with constraints: motion, forces, energy balance and drift by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.simulation.trace import Run

Array = NDArray[np.float64]


@dataclass(eq=False)
class ConstrainedRun(Run):
    """A run of a system with constraints: beside what every run has, the forces of constraints and what to check.

    Attributes:
        a: (t, nv) accelerations.
        multipliers: (t, m).
        detail: more to say about the status.
    """

    system: Any
    a: Array = field(default_factory=lambda: np.zeros((0, 0)))
    multipliers: Array = field(default_factory=lambda: np.zeros((0, 0)))
    detail: str = ''

    @property
    def q(self) -> Array:
        """(t, nq) positions."""
        return self.states[:, : self.system.nq]

    @property
    def v(self) -> Array:
        """(t, nv) velocities."""
        return self.states[:, self.system.nq : self.system.nq + self.system.nv]

    @property
    def z(self) -> Array:
        """(t, nz) states of the elements, in the order of `blocks.parameters.states`."""
        return self.states[:, self.system.element_slice]

    @property
    def work(self) -> Array:
        """(t,) work done on the system by actuators and moving constraints, J."""
        return self.states[:, -2]

    @property
    def heat(self) -> Array:
        """(t,) heat of dampers and friction, J."""
        return self.states[:, -1]

    @property
    def end(self) -> float:
        """Time reached, s."""
        return self.end_time

    @cached_property
    def p(self) -> Array:
        """(n,) parameters of the blocks at the start."""
        return np.asarray(self.system.starting_numbers(self.parameters, self.times[0]))

    @cached_property
    def _outputs(self) -> Array:
        u = self.inputs.at(self.times, self.system.input_names)
        rows = zip(self.states, u, self.a, self.multipliers)
        return np.array([self.system.outputs_of(x, own, self.parameters, a, forces) for x, own, a, forces in rows])

    def position(self, name: str) -> Array:
        """Return (t,) of a generalized position by name. Raises KeyError."""
        return self.q[:, index_of(self.system.blocks.tree.position_names, name)]

    def velocity(self, name: str) -> Array:
        """Return (t,) of a generalized velocity by name. Raises KeyError."""
        return self.v[:, index_of(self.system.blocks.tree.velocity_names, name)]

    def acceleration(self, name: str) -> Array:
        """Return (t,) of a generalized acceleration by name. Raises KeyError."""
        return self.a[:, index_of(self.system.blocks.tree.velocity_names, name)]

    def force(self, constraint: str) -> Array:
        """Return (t, rows) multipliers of a constraint. Raises KeyError that lists the known ones."""
        slices: dict[str, slice] = self.system.blocks.slices
        if constraint not in slices:
            raise KeyError(f'unknown constraint {constraint!r}; known: {", ".join(slices)}')
        return self.multipliers[:, slices[constraint]]

    @cached_property
    def _monitor(self) -> dict[str, Array]:
        return dict(self.system.monitor(self.states, self.parameters))

    @property
    def kinetic(self) -> Array:
        """(t,) kinetic energy, J."""
        return self._monitor['kinetic'].ravel()

    @property
    def potential(self) -> Array:
        """(t,) potential energy of gravity and springs, J."""
        return self._monitor['potential'].ravel()

    @property
    def energy_balance(self) -> Array:
        """(t,) energy plus heat less work, relative to the start, J: zero but for the integrator's error."""
        total = self.kinetic + self.potential + self.heat - self.work
        return total - total[0]

    @property
    def momentum(self) -> Array:
        """(t, 6) momentum [about the world's origin; linear] of all bodies, kg m2/s and kg m/s."""
        return self._monitor['momentum']

    @property
    def residual(self) -> Array:
        """(t, m) errors at position level, m or rad."""
        return self._monitor['residual']

    @property
    def slip(self) -> Array:
        """(t, m) J v - sigma, m/s or rad/s."""
        return self._monitor['slip']

    @cached_property
    def condition(self) -> Array:
        """(t,) condition number of the independent rows.

        Where it rises without bound the mechanism comes to a position in which rows depend on each other. Forces grow
        there in proportion, and so does the share of the integrator's drift in them: look at this before believing a
        peak.
        """
        found = np.empty(len(self.times))
        for k, (q, v, x) in enumerate(zip(self.q, self.v, self.states)):
            numbers = self.system.numbers(self.parameters, x)
            found[k] = Subspaces(self.system.blocks.at(q, v, numbers).J).condition
        return found


def index_of(names: Sequence[str], name: str) -> int:
    """Return the place of a name. Raises KeyError that lists the known ones."""
    if name not in names:
        raise KeyError(f'unknown name {name!r}; known: {", ".join(names)}')
    return list(names).index(name)
