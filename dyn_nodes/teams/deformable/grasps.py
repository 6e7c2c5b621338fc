"""Grasps: patches of a body whose mean displacement equals the motion of a hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dyn_nodes.common.arrays import Array
from dyn_nodes.teams.deformable.elements import element_matrices
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import Indices, Mesh, face_areas

TOLERANCE = 1e-6
"""Tolerance of the border of a patch, over the body's size."""
COLLINEAR = 1e-6
"""Ratio of least to greatest extent of grasps below which they lie on a line."""
DEPENDENT = 1e-9
"""Eigenvalue of the products of unit averages below which grasps are dependent, over their number."""
UNIT = Material(young_modulus=1.0, poisson_ratio=0.0, density=1.0)


class Grasp(NamedTuple):
    """A grasp that follows the mean displacement of a patch and transmits force alone, like a ball joint.

    Attributes:
        name: of the grasp.
        nodes: (k,) of the mesh.
        weights: (k,) of their displacements; sum 1.
        position: (3,) weighted mean of the nodes without displacement, m.
    """

    name: str
    nodes: Indices
    weights: Array
    position: Array


def patch(mesh: Mesh, position: ArrayLike, size: ArrayLike = (0.0, 0.0, 0.0), name: str = '') -> Grasp:
    """Return the grasp of the part of a body in a box along its axes.

    Displacements are averaged over the volume of the elements inside; without elements inside over the area of the
    surface inside; without surface inside over the nodes inside. A force at the grasp is distributed in the same way.

    Args:
        mesh: of the body.
        position: (3,) centre of the box, m.
        size: (3,) lengths of the box, m.
        name: of the grasp.

    Raises:
        ValueError: no node lies in the box.
    """
    center, half = np.asarray(position, dtype=float), np.asarray(size, dtype=float) / 2.0
    inside = np.all(np.abs(mesh.nodes - center) <= half + TOLERANCE * np.ptp(mesh.nodes, axis=0).max(), axis=1)
    if not inside.any():
        nearest = mesh.nodes[np.argmin(np.linalg.norm(mesh.nodes - center, axis=1))]
        raise ValueError(f'expected a box with at least one node, found none; the nearest is at {_spelled(nearest)}')
    weights = _shares(mesh, inside)
    nodes = np.flatnonzero(weights)
    weights = weights[nodes] / weights.sum()
    return Grasp(name, nodes, weights, weights @ mesh.nodes[nodes])


def fixed_points(grasp: Grasp, nodes: Array) -> tuple[Grasp, Grasp, Grasp]:
    """Return three ball grasps that together hold position and orientation of a patch.

    The displacement of the patch is approximated by the best linear fit to its weighted nodes, s = mean + gradient
    times the distance along its two principal axes. A grasp is the value of this fit at a point of an ellipse about the
    middle:

        weight_ak = weight_k (1 + sqrt(2) cos(a) x_k / X + sqrt(2) sin(a) y_k / Y),  a = 0, 2 pi / 3, 4 pi / 3

    with x, y the coordinates of the nodes along these axes and X, Y their root mean squares. The points follow rigid
    motions of the body exactly, and the middle of the points is the middle of the patch.

    Args:
        grasp: of the patch.
        nodes: (n, 3) of the body, m.

    Raises:
        ValueError: the nodes of the patch are on a line, so its orientation about the line is undefined.
    """
    from_middle = nodes[grasp.nodes] - grasp.position
    size, axes = np.linalg.eigh((grasp.weights * from_middle.T) @ from_middle)
    extent = np.sqrt(np.maximum(size, 0.0))
    if extent[1] <= COLLINEAR * np.ptp(nodes, axis=0).max():
        raise ValueError(f'expected a patch with an area, found {len(grasp.nodes)} nodes on a line')
    points = []
    for k in range(3):
        angle = 2.0 * np.pi * k / 3.0
        share = np.ones(len(grasp.nodes))
        for part, axis in ((np.cos(angle), 2), (np.sin(angle), 1)):
            share = share + np.sqrt(2.0) * part * (from_middle @ axes[:, axis]) / extent[axis]
        weights = grasp.weights * share
        points.append(Grasp(f'{grasp.name}.{k + 1}', grasp.nodes, weights, weights @ nodes[grasp.nodes]))
    return points[0], points[1], points[2]


def _shares(mesh: Mesh, inside: NDArray[np.bool_]) -> Array:
    """Return the shares (n,) of the nodes in the part of the body inside."""
    elements = mesh.elements[inside[mesh.elements].all(axis=1)]
    if len(elements):
        masses = element_matrices(Mesh(mesh.nodes, elements), UNIT, incompatible=False).mass.sum(axis=2)
        return _summed(elements, masses, len(mesh.nodes))
    faces = mesh.surface
    faces = faces[inside[faces].all(axis=1)]
    if len(faces):
        share = np.repeat(face_areas(mesh, faces)[:, None] / faces.shape[1], faces.shape[1], axis=1)
        return _summed(faces, share, len(mesh.nodes))
    return inside.astype(float)


def _summed(nodes: Indices, values: Array, count: int) -> Array:
    return np.bincount(nodes.ravel(), values.ravel(), minlength=count).astype(float)


def averages(grasps: Sequence[Grasp], count: int) -> sparse.csr_matrix:
    """Return (3m, 3n) displacements of m grasps by displacements of n nodes."""
    rows = np.repeat(np.arange(len(grasps)), [len(grasp.nodes) for grasp in grasps])
    nodes = np.concatenate([grasp.nodes for grasp in grasps])
    weights = np.concatenate([grasp.weights for grasp in grasps])
    one = sparse.csr_matrix((weights, (rows, nodes)), shape=(len(grasps), count))
    return sparse.kron(one, sparse.eye(3), format='csr')


def dependent(grasps: Sequence[Grasp], count: int) -> tuple[int, tuple[int, ...]] | None:
    """Return the first of m grasps that depends on the previous ones, and the previous grasps that share its nodes.

    Return None if hands can move all grasps independently. `count` is the number of nodes of the body.
    """
    rows = sparse.vstack([averages([grasp], count)[::3] for grasp in grasps]).tocsr()
    rows = sparse.diags(1.0 / np.sqrt(np.asarray(rows.power(2).sum(axis=1)).ravel())) @ rows
    products = (rows @ rows.T).toarray()
    if not len(grasps) or _rank(products) == len(grasps):
        return None
    first = next(k for k in range(len(grasps)) if _rank(products[: k + 1, : k + 1]) <= k)
    return first, tuple(int(k) for k in np.flatnonzero(products[first, :first]))


def _rank(products: Array) -> int:
    return int(np.linalg.matrix_rank(products, tol=DEPENDENT * len(products), hermitian=True))


def on_a_line(positions: ArrayLike) -> bool:
    """Return whether a body held at grasps (m, 3) can turn about a line through them."""
    points = np.asarray(positions, dtype=float)
    if len(points) < 3:
        return True
    extent = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(extent[1] <= COLLINEAR * extent[0])


def _spelled(point: Array) -> str:
    return f'[{", ".join(f"{value:.4g}" for value in point)}]'
