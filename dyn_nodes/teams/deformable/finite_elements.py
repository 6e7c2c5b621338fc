"""A free body of finite elements: mass, stiffness, damping, gravity, strains (tanner-1998, eq. 4.1, corrected)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import linalg

from dyn_nodes.common.arrays import Array
from dyn_nodes.teams.deformable.elements import brick_shapes, element_matrices, strain_rows
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import Mesh

SPARE = 4
"""Number of frequencies computed beyond the requested ones: the last of equal ones may converge late."""
SHIFT = 1e-3
"""Eigenvalue shift, over the least ratio of nodal stiffness to mass; the stiffness of a free body is singular."""


class FiniteElements(NamedTuple):
    """A body in coordinates of its nodes: x, y, z of the first, then of the second.

    Attributes:
        mesh: nodes and elements.
        material: of all elements.
        mass: (n, n) kg, consistent, equal in every direction.
        stiffness, damping: (3n, 3n) N/m and N s/m.
        volume: m3.
    """

    mesh: Mesh
    material: Material
    mass: sparse.csr_matrix
    stiffness: sparse.csr_matrix
    damping: sparse.csr_matrix
    volume: float

    @property
    def total_mass(self) -> float:
        """Mass of the body, kg."""
        return float(self.mass.sum())

    @property
    def center_of_mass(self) -> Array:
        """(3,) centre of mass, m."""
        return np.asarray(self.mass.sum(axis=0)).ravel() @ self.mesh.nodes / self.total_mass

    @property
    def second_moment(self) -> Array:
        """(3, 3) second moment of mass about the centre of mass, kg m2."""
        arm = self.mesh.nodes - self.center_of_mass
        return arm.T @ (self.mass @ arm)

    @property
    def inertia(self) -> Array:
        """(3, 3) inertia tensor about the centre of mass, kg m2."""
        moment = self.second_moment
        return np.trace(moment) * np.eye(3) - moment

    @property
    def full_mass(self) -> sparse.csr_matrix:
        """(3n, 3n) mass matrix, kg."""
        return sparse.kron(self.mass, sparse.eye(3), format='csr')

    @property
    def rigid_motions(self) -> Array:
        """(3n, 6) displacements by unit translations and by small unit turns about the centre of mass."""
        return rigid_motions(self.mesh.nodes - self.center_of_mass)

    def load(self, gravity: ArrayLike) -> Array:
        """Return the weights (3n,) of the nodes under gravity (3,), N."""
        return np.outer(np.asarray(self.mass.sum(axis=0)).ravel(), np.asarray(gravity, dtype=float)).ravel()

    def frequencies(self, count: int) -> Array:
        """Return the lowest angular frequencies of the free body without its rigid motions, ascending, rad/s."""
        mass = self.full_mass
        shift = -SHIFT * float((self.stiffness.diagonal() / mass.diagonal()).min())
        factors = factors_of(self.stiffness - shift * mass)
        rigid = orthonormal(self.rigid_motions, mass)

        def answer(load: Array) -> Array:
            displacement = factors.solve(load)
            return displacement - rigid @ (rigid.T @ (mass @ displacement))

        return np.sqrt(slowest(self.stiffness, mass, answer, count, shift)[0])

    def strains(self, displacement: ArrayLike) -> Array:
        """Return (e, 6) strains at the element centres by displacements (3n,), without incompatible modes."""
        corners = self.mesh.nodes[self.mesh.elements]
        if self.mesh.kind == 'tetrahedron':
            three = np.swapaxes(np.linalg.inv(corners[:, 1:] - corners[:, :1]), 1, 2)
            gradients = np.concatenate([-three.sum(axis=1, keepdims=True), three], axis=1)
        else:
            natural = brick_shapes(np.zeros((1, 3)))[1][0]
            gradients = natural @ np.linalg.inv(np.einsum('eni,nj->eij', corners, natural))
        nodal = np.asarray(displacement, dtype=float).reshape(-1, 3)[self.mesh.elements].reshape(len(corners), -1)
        return np.einsum('eij,ej->ei', strain_rows(gradients), nodal)


def factors_of(matrix: sparse.spmatrix) -> linalg.SuperLU:
    """Return sparse factors of a symmetric, positive definite matrix."""
    return linalg.splu(
        matrix.tocsc(), permc_spec='MMD_AT_PLUS_A', diag_pivot_thresh=0.0, options={'SymmetricMode': True}
    )


def orthonormal(motions: Array, mass: sparse.csr_matrix) -> Array:
    """Return motions (3n, k) with the same span that are orthogonal in mass, with 1 kg each."""
    unit = motions / np.sqrt(np.einsum('ij,ij->j', motions, mass @ motions))
    return unit @ np.linalg.inv(np.linalg.cholesky(unit.T @ (mass @ unit))).T


def slowest(
    stiffness: sparse.csr_matrix, mass: sparse.csr_matrix, answer: Callable[[Array], Array], count: int, shift: float
) -> tuple[Array, Array]:
    """Return the lowest squares (count,) of angular frequencies and their shapes (3n, count) with a mass of 1 kg.

    Args:
        stiffness: (3n, 3n).
        mass: (3n, 3n).
        answer: displacement (3n,) under a load, with stiffness - shift mass, without excluded motions.
        count: requested number.
        shift: below the lowest square, (rad/s)^2.
    """
    # a fixed start vector: a random one changes the last digits
    start = answer(mass @ np.cos(np.arange(mass.shape[0]) ** 2.0))
    more = min(count + SPARE, mass.shape[0] - 1)
    inverse = linalg.LinearOperator(mass.shape, matvec=answer, dtype=np.float64)
    values, shapes = linalg.eigsh(stiffness, more, mass, sigma=shift, OPinv=inverse, v0=start, ncv=2 * more + 20)
    order = np.argsort(values)[:count]
    return np.maximum(values[order], 0.0), shapes[:, order]


def rigid_motions(arms: Array) -> Array:
    """Return (3n, 6) displacements of points at arms (n, 3) by unit translations and small unit turns."""
    moves = np.zeros((len(arms), 3, 6))
    moves[:, :, :3] = np.eye(3)
    moves[:, :, 3:] = np.cross(np.eye(3)[None], arms[:, None]).swapaxes(1, 2)
    return moves.reshape(-1, 6)


def assemble(mesh: Mesh, material: Material, incompatible: bool = True) -> FiniteElements:
    """Return the body of a mesh.

    Args:
        mesh: all of its nodes belong to elements.
        material: of all elements.
        incompatible: add incompatible modes to bricks, which then bend without locking.

    Raises:
        InvertedElementError: an element without a positive volume.
    """
    matrices = element_matrices(mesh, material, incompatible)
    count = len(mesh.nodes)
    indices = (3 * mesh.elements[..., None] + np.arange(3)).reshape(len(mesh.elements), -1)
    return FiniteElements(
        mesh,
        material,
        _gathered(matrices.mass, mesh.elements, count),
        _gathered(matrices.stiffness, indices, 3 * count),
        _gathered(matrices.damping, indices, 3 * count),
        float(matrices.volume.sum()),
    )


def _gathered(matrices: Array, indices: NDArray[np.int64], size: int) -> sparse.csr_matrix:
    width = indices.shape[1]
    rows, columns = np.repeat(indices, width, axis=1).ravel(), np.tile(indices, (1, width)).ravel()
    return sparse.csr_matrix((matrices.ravel(), (rows, columns)), shape=(size, size))
