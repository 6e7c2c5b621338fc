"""Numerical models of bodies between hands: rods, or finite elements reduced to the held points.

The equation of motion is d(mass v)/dt + pulls = forces of the hands, in the positions of the nodes and the amplitudes
of the vibrations.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.teams.deformable.condensation import Condensed
from dyn_nodes.teams.deformable.corotation import CorotatedBody
from dyn_nodes.teams.deformable.lattice import Lattice


class MovingBody(Protocol):
    """A body with n nodes and k vibrations: r = 3n + k coordinates, nodes first."""

    @property
    def nodes(self) -> Array:
        """(n, 3) positions of the nodes without load, m."""

    @property
    def vibrations(self) -> int:
        """Number k of vibrations."""

    def mass(self, position: Array) -> Array:
        """Return the mass matrix (r, r), kg, with nodes at positions (n, 3)."""

    def pulls(self, position: Array, velocity: Array, amplitudes: Array, gravity: Array) -> Array:
        """Return elastic and viscous forces, and -d(kinetic energy)/dx, less weight (r,), N.

        Args:
            position: (n, 3) of the nodes, m.
            velocity: (r,) m/s.
            amplitudes: (k,) of the vibrations.
            gravity: (3,) m/s2.
        """

    def settled(self, position: Array, gravity: Array) -> Array:
        """Return the amplitudes (k,) in equilibrium with nodes at positions (n, 3)."""

    def slopes(self, position: Array, period: float) -> Array:
        """Return the derivatives (r, r) of the pulls in the middle of a period by the velocities at its end, N s/m.

        The geometric stiffness of finite elements, smaller by a factor of the strain, is neglected.
        """


class MovingLattice:
    """Body of rods between nodes."""

    vibrations = 0

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self._mass = np.asarray(np.kron(lattice.mass.toarray(), np.eye(3)), dtype=np.float64)

    @property
    def nodes(self) -> Array:
        """(n, 3) positions of the nodes without load, m."""
        return self.lattice.nodes

    def mass(self, position: Array) -> Array:
        """Return the mass matrix (3n, 3n), kg."""
        return self._mass

    def pulls(self, position: Array, velocity: Array, amplitudes: Array, gravity: Array) -> Array:
        """Return the pulls of the rods less weight (3n,), N."""
        weight = np.outer(self.lattice.lumped_mass, gravity)
        return np.asarray(self.lattice.forces(position, velocity.reshape(-1, 3)) - weight).ravel()

    def settled(self, position: Array, gravity: Array) -> Array:
        """Return an empty array."""
        return np.zeros(0)

    def slopes(self, position: Array, period: float) -> Array:
        """Return the exact derivatives (3n, 3n) from stiffness and damping along the rods."""
        lattice, count = self.lattice, len(position)
        first, second = lattice.rods.T
        along = position[second] - position[first]
        length = np.linalg.norm(along, axis=1)
        along = along / length[:, None]
        outer = along[:, :, None] * along[:, None, :]
        tension = lattice.stiffness * (length - lattice.lengths)
        across = (tension / length)[:, None, None] * (np.eye(3) - outer)
        blocks = 0.25 * period * (lattice.stiffness[:, None, None] * outer + across)
        blocks = blocks + 0.5 * lattice.damping[:, None, None] * outer
        result = np.zeros((count, 3, count, 3))
        for block, i, j in zip(blocks, first, second):
            result[i, :, i] += block
            result[j, :, j] += block
            result[i, :, j] -= block
            result[j, :, i] -= block
        return result.reshape(3 * count, 3 * count)


class MovingCondensed:
    """Finite elements reduced to points. Raises ValueError for points on a line."""

    def __init__(self, reduced: Condensed) -> None:
        self.body = CorotatedBody(reduced)

    @property
    def nodes(self) -> Array:
        """(n, 3) positions of the nodes without load, m."""
        return self.body.reduced.positions.reshape(-1, 3)

    @property
    def vibrations(self) -> int:
        """Number of vibrations."""
        return len(self.body.reduced.frequencies)

    def mass(self, position: Array) -> Array:
        """Return the mass matrix (r, r) in the world, kg."""
        return self.body.mass(position)

    def pulls(self, position: Array, velocity: Array, amplitudes: Array, gravity: Array) -> Array:
        """Return the pulls less weight (r,), N."""
        size = position.size
        return self.body.pulls(position, velocity[:size], amplitudes, velocity[size:], gravity)

    def settled(self, position: Array, gravity: Array) -> Array:
        """Return the amplitudes (k,) at rest."""
        size, still = position.size, np.zeros(self.vibrations)
        load = self.body.pulls(position, np.zeros(size), still, still, gravity)[size:]
        return np.asarray(-np.linalg.solve(self.body.reduced.stiffness[size:, size:], load), dtype=np.float64)

    def slopes(self, position: Array, period: float) -> Array:
        """Return the derivatives (r, r) from stiffness and damping in body axes, rotated into the world."""
        reduced, R = self.body.reduced, self.body.axes(position).R
        slopes = 0.25 * period * reduced.stiffness + 0.5 * reduced.damping
        size = position.size
        turn = np.eye(len(slopes))
        turn[:size, :size] = np.kron(np.eye(len(position)), R)
        return turn @ slopes @ turn.T


def moving_body(body: Lattice | Condensed) -> MovingBody:
    """Return the numerical model of a body."""
    return MovingLattice(body) if isinstance(body, Lattice) else MovingCondensed(body)
