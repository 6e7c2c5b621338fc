"""A sampled run of a system with constraints: motion, forces, energy balance and drift by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.constraints import ConstraintBlocks
from dyn_nodes.constraints.linear import Subspaces

Array = NDArray[np.float64]


class Monitored(Protocol):
    """A system with constraints that gives energy, momentum and drift along a run."""

    @property
    def blocks(self) -> ConstraintBlocks:
        """Its matrices."""

    @property
    def element_places(self) -> NDArray[np.intp]:
        """Places of the states of the elements among the parameters of the blocks."""

    def monitor(self, times: Array, q: Array, v: Array, p: Array, z: Array) -> dict[str, Array]:
        """Return what is watched at every sample, by name."""


@dataclass(frozen=True, eq=False)
class ConstrainedRun:
    """What came of a run, sampled.

    Attributes:
        system: that ran.
        times: (t,) s.
        q, v, a: (t, nq), (t, nv), (t, nv) positions, velocities, accelerations.
        multipliers: (t, m).
        work, heat: (t,) work done on the system by actuators and moving constraints, heat of dampers, J.
        p: parameters.
        status: `done`, or why the run ended early at `end` s; `detail` says more.
        end: time reached, s.
        z: (t, nz) states of the elements, in the order of `blocks.parameters.states`.
        counts: steps accepted and rejected by an adaptive method.
    """

    system: Monitored
    times: Array
    q: Array
    v: Array
    a: Array
    multipliers: Array
    work: Array
    heat: Array
    p: Array
    status: str
    end: float
    detail: str = ''
    z: Array = field(default_factory=lambda: np.zeros((0, 0)))
    counts: dict[str, int] = field(default_factory=dict)

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
        slices = self.system.blocks.slices
        if constraint not in slices:
            raise KeyError(f'unknown constraint {constraint!r}; known: {", ".join(slices)}')
        return self.multipliers[:, slices[constraint]]

    @cached_property
    def _monitor(self) -> dict[str, Array]:
        return self.system.monitor(self.times, self.q, self.v, self.p, self.z)

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
        numbers = self.p.copy()
        found = np.empty(len(self.times))
        for k, (time, q, v, z) in enumerate(zip(self.times, self.q, self.v, self.z)):
            numbers[0], numbers[self.system.element_places] = time, z
            found[k] = Subspaces(self.system.blocks.at(q, v, numbers).J).condition
        return found


def index_of(names: Sequence[str], name: str) -> int:
    """Return the place of a name. Raises KeyError that lists the known ones."""
    if name not in names:
        raise KeyError(f'unknown name {name!r}; known: {", ".join(names)}')
    return list(names).index(name)
