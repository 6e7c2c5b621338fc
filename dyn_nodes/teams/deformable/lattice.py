"""A body as a lattice of rods between nodes: central forces, for any rotation of the body (tanner-1998, 4.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.spatial import Delaunay

from dyn_nodes.common.arrays import Array
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import Indices

FEW = 4
"""Greatest number of nodes with rods between all pairs."""


class Lattice(NamedTuple):
    """Nodes, and rods that stretch.

    Attributes:
        nodes: (n, 3) positions without stress, m.
        rods: (e, 2) nodes at the ends.
        stiffness, damping: (e,) N/m and N s/m.
        rod_mass: (e,) kg, uniform along the rod.
        node_mass: (n,) lumps, kg.
    """

    nodes: Array
    rods: Indices
    stiffness: Array
    damping: Array
    rod_mass: Array
    node_mass: Array

    @property
    def lengths(self) -> Array:
        """(e,) lengths without stress, m."""
        return np.linalg.norm(self.nodes[self.rods[:, 1]] - self.nodes[self.rods[:, 0]], axis=1)

    @property
    def mass(self) -> sparse.csr_matrix:
        """(n, n) consistent mass, kg: thirds of a rod at its ends and sixths between them, equal in every direction."""
        matrix = self.rod_mass[:, None, None] / 6.0 * (1.0 + np.eye(2))
        rows, columns = np.repeat(self.rods, 2, axis=1).ravel(), np.tile(self.rods, (1, 2)).ravel()
        size = (len(self.nodes), len(self.nodes))
        return sparse.csr_matrix((matrix.ravel(), (rows, columns)), shape=size) + sparse.diags(self.node_mass)

    @property
    def lumped_mass(self) -> Array:
        """(n,) lumped mass, kg: half of every rod at each end."""
        halves = np.repeat(self.rod_mass / 2.0, 2)
        return self.node_mass + np.bincount(self.rods.ravel(), halves, minlength=len(self.nodes))

    @property
    def linear_stiffness(self) -> sparse.csr_matrix:
        """(3n, 3n) stiffness for small displacements, N/m; unlike the lattice it strains under large rotations."""
        along = self.nodes[self.rods[:, 1]] - self.nodes[self.rods[:, 0]]
        pulls = np.concatenate([-along, along], axis=1) / self.lengths[:, None]
        indices = (3 * self.rods[..., None] + np.arange(3)).reshape(len(self.rods), 6)
        rows = np.repeat(np.arange(len(self.rods)), 6)
        size = (len(self.rods), 3 * len(self.nodes))
        stretch = sparse.csr_matrix((pulls.ravel(), (rows, indices.ravel())), shape=size)
        return (stretch.T @ sparse.diags(self.stiffness) @ stretch).tocsr()

    def forces(self, position: ArrayLike, velocity: ArrayLike | None = None) -> Array:
        """Return (n, 3) forces that deform the lattice, elastic and viscous, N.

        Args:
            position: (n, 3) m.
            velocity: (n, 3) m/s; None: zero.
        """
        pull, along = self._tension(position, velocity)
        force = np.empty((len(self.nodes), 3))
        for axis in range(3):
            both = np.stack([-pull * along[:, axis], pull * along[:, axis]], axis=1)
            force[:, axis] = np.bincount(self.rods.ravel(), both.ravel(), minlength=len(self.nodes))
        return force

    def _tension(self, position: ArrayLike, velocity: ArrayLike | None) -> tuple[Array, Array]:
        first, second = self.rods.T
        points = np.asarray(position, dtype=float)
        along = points[second] - points[first]
        length = np.linalg.norm(along, axis=1)
        along = along / length[:, None]
        pull = self.stiffness * (length - self.lengths)
        if velocity is not None:
            speed = np.asarray(velocity, dtype=float)
            pull = pull + self.damping * np.einsum('ij,ij->i', along, speed[second] - speed[first])
        return pull, along

    def energy(self, position: ArrayLike) -> float:
        """Return the elastic energy, J."""
        points = np.asarray(position, dtype=float)
        length = np.linalg.norm(points[self.rods[:, 1]] - points[self.rods[:, 0]], axis=1)
        return float(0.5 * self.stiffness @ (length - self.lengths) ** 2)

    def lost_power(self, position: ArrayLike, velocity: ArrayLike) -> float:
        """Return the power dissipated by damping, W."""
        points, speed = np.asarray(position, dtype=float), np.asarray(velocity, dtype=float)
        along = points[self.rods[:, 1]] - points[self.rods[:, 0]]
        relative = speed[self.rods[:, 1]] - speed[self.rods[:, 0]]
        rate = np.einsum('ij,ij->i', along, relative) / np.linalg.norm(along, axis=1)
        return float(self.damping @ rate**2)


def lattice_of_volume(nodes: ArrayLike, rods: Indices, rod_mass: ArrayLike, material: Material) -> Lattice:
    """Return rods with the cross-section of their mass: k = E A / L, c = k (c_d / E + retardation).

    Args:
        nodes: (n, 3) m.
        rods: (e, 2) ends.
        rod_mass: (e,) kg.
        material: of the rods, in uniaxial stress.
    """
    points, masses = np.asarray(nodes, dtype=float), np.asarray(rod_mass, dtype=float)
    square = ((points[rods[:, 1]] - points[rods[:, 0]]) ** 2).sum(axis=1)
    stiffness = material.young_modulus * masses / (material.density * square)
    return Lattice(points, rods, stiffness, stiffness * lag(material), masses, np.zeros(len(points)))


def lag(material: Material) -> float:
    """Return the ratio of viscous to elastic stress, for unit strain rate and strain, in uniaxial stress, s."""
    return material.damping / material.young_modulus + material.retardation


def simplest_rods(nodes: ArrayLike) -> Indices:
    """Return rods (e, 2): between all pairs of up to four nodes, else along the edges of Delaunay tetrahedra.

    Nodes in one plane are connected along triangles.
    """
    points = np.asarray(nodes, dtype=float)
    if len(points) <= FEW:
        return np.array([(i, j) for i in range(len(points)) for j in range(i + 1, len(points))], dtype=np.int64)
    _, extent, axes = np.linalg.svd(points - points.mean(axis=0))
    flat = extent[2] <= 1e-9 * extent[0]
    cells = Delaunay((points - points.mean(axis=0)) @ axes[:2].T if flat else points).simplices
    width = cells.shape[1]
    pairs = np.concatenate([cells[:, (i, j)] for i in range(width) for j in range(i + 1, width)])
    return np.unique(np.sort(pairs, axis=1), axis=0).astype(np.int64)


def chain(length: float, count: int, mass: float, stiffness: float, damping: float = 0.0) -> Lattice:
    """Return a prismatic bar along x about the origin as rods in a row.

    Args:
        length: m.
        count: of the rods.
        mass: of the bar, kg.
        stiffness: of the bar from end to end, N/m.
        damping: of the bar from end to end, N s/m.
    """
    nodes = np.zeros((count + 1, 3))
    nodes[:, 0] = np.linspace(-length / 2.0, length / 2.0, count + 1)
    rods = np.stack([np.arange(count), np.arange(1, count + 1)], axis=1)
    each = np.ones(count)
    return Lattice(
        nodes, rods, each * stiffness * count, each * damping * count, each * mass / count, np.zeros(count + 1)
    )
