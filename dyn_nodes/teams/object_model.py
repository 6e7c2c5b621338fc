"""Traced equations of an object of a team: mass a + load = forces of the hands, in positions of its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.teams.deformable.lattice import Lattice

SCALES = ('mass_scale', 'stiffness_scale', 'damping_scale')
"""Parameters of an object: factors on the values of its file."""


class ObjectMotion(NamedTuple):
    """Traced motion of an object.

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
    """Traced equations of an object at a state; r = 3m + k coordinates.

    Attributes:
        mass: (r, r) kg. load: (r,) elastic and viscous forces and velocity terms, less weight, N.
        inner_rates: (s,) of the further states.
        energy: kinetic and potential, J. heat: power of its damping, W.
        momentum: (6,) angular about the world's origin, kg m2/s, and linear, kg m/s.
    """

    mass: Expression
    load: Expression
    inner_rates: Expression
    energy: Expression
    heat: Expression
    momentum: Expression


class ObjectModel(Protocol):
    """Interface of the equations of an object."""

    @property
    def nodes(self) -> int:
        """Number m of its nodes, held or free."""

    @property
    def vibrations(self) -> int:
        """Number k of its vibrations."""

    @property
    def inner(self) -> tuple[str, ...]:
        """Names of further states."""

    def inner_start(self, position: Array) -> Array:
        """Return the initial further states (s,) with nodes at positions (m, 3)."""

    def equations(self, motion: ObjectMotion, gravity: Expression, scales: Expression) -> ObjectEquations:
        """Return the equations under gravity (3,) with factors (3,) in the order of `SCALES`."""


@dataclass(frozen=True, eq=False)
class LatticeModel:
    """Equations of rods between nodes."""

    lattice: Lattice
    vibrations = 0
    inner: tuple[str, ...] = ()

    @property
    def nodes(self) -> int:
        """Number of its nodes."""
        return len(self.lattice.nodes)

    def inner_start(self, position: Array) -> Array:
        """Return an empty array: a lattice has no further states."""
        return np.zeros(0)

    def equations(self, motion: ObjectMotion, gravity: Expression, scales: Expression) -> ObjectEquations:
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
