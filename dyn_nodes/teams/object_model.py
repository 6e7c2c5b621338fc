"""An object of a team as traced equations: mass a + load = forces of the hands, in positions of its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.teams.deformable.lattice import Lattice

SCALES = ('mass_scale', 'stiffness_scale', 'damping_scale')
"""Parameters of an object: factors of what its file says."""


class Motion(NamedTuple):
    """How an object moves, traced.

    Attributes:
        position, velocity: (3m,) of its nodes in the world, m and m/s.
        amplitudes, rates: (k,) of its vibrations.
        inner: (s,) further states.
    """

    position: Expression
    velocity: Expression
    amplitudes: Expression
    rates: Expression
    inner: Expression


class ObjectEquations(NamedTuple):
    """An object at a state, traced; r = 3m + k coordinates.

    Attributes:
        mass: (r, r) kg. load: (r,) elastic and viscous forces and velocity terms, less weight, N.
        inner_rates: (s,) of the further states.
        energy: kinetic and potential, J. heat: of its damping, W.
        momentum: (6,) about the world's origin, kg m2/s, and linear, kg m/s.
    """

    mass: Expression
    load: Expression
    inner_rates: Expression
    energy: Expression
    heat: Expression
    momentum: Expression


class ObjectModel(Protocol):
    """Equations of an object, and where it starts."""

    @property
    def nodes(self) -> int:
        """Number m of its nodes that hands hold, or that move freely."""

    @property
    def vibrations(self) -> int:
        """Number k of its vibrations."""

    @property
    def inner(self) -> tuple[str, ...]:
        """Names of further states."""

    def inner_start(self, position: Array) -> Array:
        """Return their start (s,) with nodes at positions (m, 3)."""

    def equations(self, motion: Motion, gravity: Expression, scales: Expression) -> ObjectEquations:
        """Return the equations under gravity (3,) and with the factors `SCALES` (3,)."""


@dataclass(frozen=True, eq=False)
class LatticeModel:
    """Rods between nodes."""

    lattice: Lattice
    vibrations = 0
    inner: tuple[str, ...] = ()

    @property
    def nodes(self) -> int:
        """Number of its nodes."""
        return len(self.lattice.nodes)

    def inner_start(self, position: Array) -> Array:
        """Return nothing."""
        return np.zeros(0)

    def equations(self, motion: Motion, gravity: Expression, scales: Expression) -> ObjectEquations:
        """Return the equations of the lattice (tanner-1998, C14)."""
        lattice, m = self.lattice, self.nodes
        P, W = ca.reshape(motion.position, 3, m), ca.reshape(motion.velocity, 3, m)
        lumped = scales[0] * ca.SX(lattice.lumped_mass)
        load = -ca.mtimes(gravity, lumped.T)
        elastic, heat = ca.SX(0), ca.SX(0)
        for (i, j), k, c, rest in zip(lattice.rods, lattice.stiffness, lattice.damping, lattice.lengths):
            along = P[:, int(j)] - P[:, int(i)]
            length = ca.sqrt(ca.sumsqr(along))
            along = along / length
            rate = ca.dot(along, W[:, int(j)] - W[:, int(i)])
            stiffness, damping = scales[1] * k, scales[2] * c
            pull = (stiffness * (length - rest) + damping * rate) * along
            load[:, int(i)] -= pull
            load[:, int(j)] += pull
            elastic += 0.5 * stiffness * (length - rest) ** 2
            heat += damping * rate**2
        matrix = ca.SX(ca.DM(lattice.mass)) * scales[0]
        momenta = ca.mtimes(W, matrix)
        first = ca.mtimes(P, lumped)
        about = sum((ca.cross(P[:, k], momenta[:, k]) for k in range(m)), ca.SX(3, 1))
        return ObjectEquations(
            mass=ca.kron(matrix, ca.SX.eye(3)),
            load=ca.vec(load),
            inner_rates=ca.SX(0, 1),
            energy=ca.vertcat(0.5 * ca.dot(W, momenta), elastic - ca.dot(first, gravity)),
            heat=heat,
            momentum=ca.vertcat(about, ca.sum2(momenta)),
        )
