"""Stiffness, damping and mass of all elements of a mesh at once: linear tetrahedra and bricks of eight nodes.

Bricks are integrated at 2 x 2 x 2 Gauss points. With incompatible modes (Taylor, Beresford and Wilson 1976) they bend
without shear locking.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import CORNERS, Mesh

GAUSS = CORNERS / np.sqrt(3.0)
SMALLEST = 1e-12
"""Volume of an element over the cube of its size below which it counts as zero."""


class InvertedElementError(UserError, ValueError):
    """An element has no volume, or a negative one.

    Attributes:
        element: its index.
    """

    def __init__(self, element: int, volume: float) -> None:
        super().__init__(f'element {element}: expected a positive volume, found {volume:.6g} m3')
        self.element = element


class ElementMatrices(NamedTuple):
    """Matrices of all elements with k corners.

    Attributes:
        stiffness, damping: (e, 3k, 3k), N/m and N s/m; rows are x, y, z of the first node, then of the second.
        mass: (e, k, k) kg, equal in every direction.
        volume: (e,) m3.
    """

    stiffness: Array
    damping: Array
    mass: Array
    volume: Array


def element_matrices(mesh: Mesh, material: Material, incompatible: bool = True) -> ElementMatrices:
    """Return the matrices of all elements.

    Args:
        mesh: of tetrahedra or bricks.
        material: of all elements.
        incompatible: add incompatible modes to bricks.

    Raises:
        InvertedElementError: an element without a positive volume.
    """
    corners = mesh.nodes[mesh.elements]
    if mesh.kind == 'tetrahedron':
        return _tetrahedra(corners, material)
    return _bricks(corners, material, incompatible)


def strain_rows(gradients: Array) -> Array:
    """Return (..., 6, 3k) strains by displacements of k nodes, from gradients (..., k, 3) of shape functions, 1/m."""
    count = gradients.shape[-2]
    rows = np.zeros((*gradients.shape[:-2], 6, count, 3))
    x, y, z = gradients[..., 0], gradients[..., 1], gradients[..., 2]
    rows[..., 0, :, 0], rows[..., 1, :, 1], rows[..., 2, :, 2] = x, y, z
    rows[..., 3, :, 0], rows[..., 3, :, 1] = y, x
    rows[..., 4, :, 1], rows[..., 4, :, 2] = z, y
    rows[..., 5, :, 0], rows[..., 5, :, 2] = z, x
    return rows.reshape(*gradients.shape[:-2], 6, 3 * count)


def _require_volume(volume: Array, corners: Array) -> None:
    size = np.ptp(corners, axis=1).max(axis=1)
    bad = np.flatnonzero(volume <= SMALLEST * size**3)
    if bad.size:
        raise InvertedElementError(int(bad[0]), float(volume[bad[0]]))


def _tetrahedra(corners: Array, material: Material) -> ElementMatrices:
    edges = corners[:, 1:] - corners[:, :1]
    volume = np.linalg.det(edges) / 6.0
    _require_volume(volume, corners)
    three = np.swapaxes(np.linalg.inv(edges), 1, 2)
    rows = strain_rows(np.concatenate([-three.sum(axis=1, keepdims=True), three], axis=1))
    mass = material.density * volume[:, None, None] / 20.0 * (1.0 + np.eye(4))
    weight = volume[:, None, None]
    stiffness = weight * (np.swapaxes(rows, 1, 2) @ material.elasticity @ rows)
    damping = weight * (np.swapaxes(rows, 1, 2) @ material.viscosity @ rows)
    return ElementMatrices(stiffness, damping, mass, volume)


def brick_shapes(points: Array) -> tuple[Array, Array]:
    """Return shape functions (p, 8) of a brick at natural coordinates (p, 3), and their gradients (p, 8, 3) there."""
    factors = 1.0 + points[:, None, :] * CORNERS
    values = factors.prod(axis=2) / 8.0
    gradients = np.empty((len(points), 8, 3))
    for axis in range(3):
        others = np.delete(factors, axis, axis=2).prod(axis=2)
        gradients[..., axis] = others * CORNERS[:, axis] / 8.0
    return values, gradients


def _bricks(corners: Array, material: Material, incompatible: bool) -> ElementMatrices:
    values, natural = brick_shapes(GAUSS)
    jacobian = np.einsum('eni,pnj->epij', corners, natural)
    weight = np.linalg.det(jacobian)
    _require_volume(weight.min(axis=1), corners)
    rows = strain_rows(np.einsum('pnj,epji->epni', natural, np.linalg.inv(jacobian)))
    mass = material.density * np.einsum('ep,pi,pj->eij', weight, values, values)
    if incompatible:
        rows = np.concatenate([rows, _incompatible_rows(corners, weight)], axis=-1)
    stiffness = _integrated(rows, material.elasticity, weight)
    damping = _integrated(rows, material.viscosity, weight)
    if incompatible:
        whole = _with_modes(stiffness)
        stiffness, damping = (np.swapaxes(whole, 1, 2) @ matrix @ whole for matrix in (stiffness, damping))
    return ElementMatrices(stiffness, damping, mass, weight.sum(axis=1))


def _with_modes(stiffness: Array) -> Array:
    """Return (e, 33, 24) displacements and amplitudes of the incompatible modes, by static condensation."""
    inner = np.linalg.solve(stiffness[:, 24:, 24:], stiffness[:, 24:, :24])
    return np.concatenate([np.broadcast_to(np.eye(24), (len(inner), 24, 24)), -inner], axis=1)


def corner_strains(mesh: Mesh, material: Material) -> Array:
    """Return (e, k, 6, 3k) strains at the k corners of elements by displacements of their nodes.

    Bricks include their incompatible modes: a plate of one brick in thickness has bending strains without shear.
    """
    corners = mesh.nodes[mesh.elements]
    if mesh.kind == 'tetrahedron':
        three = np.swapaxes(np.linalg.inv(corners[:, 1:] - corners[:, :1]), 1, 2)
        rows = strain_rows(np.concatenate([-three.sum(axis=1, keepdims=True), three], axis=1))
        return np.repeat(rows[:, None], 4, axis=1)
    rows, weight = _brick_rows(corners, GAUSS)
    whole = _with_modes(_integrated(rows, material.elasticity, weight))
    return np.asarray(_brick_rows(corners, CORNERS)[0] @ whole[:, None])


def _brick_rows(corners: Array, points: Array) -> tuple[Array, Array]:
    """Return (e, p, 6, 33) strains at natural points (p, 3), incompatible modes last, and (e, p) volume there."""
    _, natural = brick_shapes(points)
    jacobian = np.einsum('eni,pnj->epij', corners, natural)
    weight = np.linalg.det(jacobian)
    rows = strain_rows(np.einsum('pnj,epji->epni', natural, np.linalg.inv(jacobian)))
    return np.concatenate([rows, _incompatible_rows(corners, weight, points)], axis=-1), weight


def _integrated(rows: Array, law: Array, weight: Array) -> Array:
    weighted = (weight[..., None, None] * (law @ rows)).reshape(len(rows), -1, rows.shape[-1])
    return np.swapaxes(rows.reshape(len(rows), -1, rows.shape[-1]), 1, 2) @ weighted


def _incompatible_rows(corners: Array, weight: Array, points: Array = GAUSS) -> Array:
    """Return (e, p, 6, 9) strains of the modes 1 - xi^2; with the Jacobian of the centre they pass the patch test."""
    _, natural = brick_shapes(np.zeros((1, 3)))
    centre = np.einsum('eni,nj->eij', corners, natural[0])
    scale = np.linalg.det(centre)[:, None] / weight
    slopes = -2.0 * points[:, :, None] * np.eye(3)  # (p, mode, natural axis)
    gradients = np.einsum('pmj,eji->epmi', slopes, np.linalg.inv(centre)) * scale[..., None, None]
    return strain_rows(gradients)
