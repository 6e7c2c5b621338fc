"""Meshes of tetrahedra or bricks: boxes, refinement, volume and surface."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array, Indices

ElementKind = Literal['brick', 'tetrahedron']
ELEMENT_KINDS: tuple[ElementKind, ...] = ('brick', 'tetrahedron')
CORNERS = np.array(
    [(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1), (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)], dtype=float
)
"""Corners of a brick in its natural coordinates, in the order of VTK and meshio."""
BRICK_FACES = np.array([(0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)])
TETRAHEDRON_FACES = np.array([(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)])
"""Faces, counter-clockwise from outside."""
SIX_TETRAHEDRA = np.array([(0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6)])
"""A brick, cut along its diagonal from corner 0 to corner 6."""
EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
EIGHT_TETRAHEDRA = np.array(
    [(0, 4, 5, 6), (4, 1, 7, 8), (5, 7, 2, 9), (6, 8, 9, 3), (4, 5, 6, 8), (4, 5, 8, 7), (5, 6, 8, 9), (5, 7, 9, 8)]
)
"""Parts of a tetrahedron with corners 0 to 3 and midpoints 4 to 9 of `EDGES`."""


class Mesh(NamedTuple):
    """Nodes and elements of one kind.

    Attributes:
        nodes: (n, 3) positions, m.
        elements: (e, 4) tetrahedra or (e, 8) bricks, indices of nodes in the order of VTK and meshio.
    """

    nodes: Array
    elements: Indices

    @property
    def kind(self) -> ElementKind:
        """Kind of all elements."""
        return 'tetrahedron' if self.elements.shape[1] == 4 else 'brick'

    @property
    def faces(self) -> Indices:
        """(f, 3) or (f, 4) faces of all elements; an inner face appears twice."""
        table = TETRAHEDRON_FACES if self.kind == 'tetrahedron' else BRICK_FACES
        return self.elements[:, table].reshape(-1, table.shape[1])

    @property
    def surface(self) -> Indices:
        """(s, 3) or (s, 4) faces that belong to one element."""
        faces = self.faces
        _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
        return faces[np.sort(first[count == 1])]


def box_mesh(size: ArrayLike, divisions: tuple[int, int, int], kind: ElementKind = 'brick') -> Mesh:
    """Return a box about the origin.

    Args:
        size: (3,) lengths along x, y and z, m.
        divisions: bricks along x, y and z, at least one each.
        kind: of the elements; six tetrahedra replace a brick.
    """
    counts = np.asarray(divisions) + 1
    steps = [np.linspace(-0.5, 0.5, count) * length for count, length in zip(counts, np.asarray(size, dtype=float))]
    nodes = np.stack(np.meshgrid(*steps, indexing='ij'), axis=-1).reshape(-1, 3)
    number = np.arange(len(nodes)).reshape(counts)
    cells = np.stack(np.meshgrid(*(np.arange(n) for n in divisions), indexing='ij'), axis=-1).reshape(-1, 1, 3)
    corners = cells + ((CORNERS + 1.0) / 2.0).astype(int)
    bricks = number[corners[..., 0], corners[..., 1], corners[..., 2]]
    return Mesh(nodes, bricks if kind == 'brick' else bricks[:, SIX_TETRAHEDRA].reshape(-1, 4))


def refined(mesh: Mesh) -> Mesh:
    """Return the mesh with every element cut into eight; the old nodes come first."""
    points, parts = _brick_parts() if mesh.kind == 'brick' else _tetrahedron_parts()
    # a new node is the mean of corners; two elements share it if they share those corners
    padded = np.append(mesh.elements, np.full((len(mesh.elements), 1), -1), axis=1)
    means = np.sort(padded[:, points], axis=2).reshape(-1, points.shape[1])
    unique, number = np.unique(means, axis=0, return_inverse=True)
    old = (unique >= 0).sum(axis=1) == 1
    position = np.empty(len(unique), dtype=np.int64)
    position[old] = unique[old].max(axis=1)
    position[~old] = len(mesh.nodes) + np.arange(np.count_nonzero(~old))
    weight = (unique >= 0)[..., None]
    nodes = np.concatenate([mesh.nodes, ((mesh.nodes[unique] * weight).sum(axis=1) / weight.sum(axis=1))[~old]])
    local = position[number.reshape(-1)].reshape(len(mesh.elements), len(points))
    return Mesh(nodes, local[:, parts].reshape(-1, parts.shape[1]))


def _brick_parts() -> tuple[Indices, Indices]:
    """Return the 27 points of a brick, each the mean of some corners (-1: none), and its eight parts."""
    grid = np.stack(np.meshgrid(*[(-1, 0, 1)] * 3, indexing='ij'), axis=-1).reshape(-1, 1, 3)
    near = np.all((grid == 0) | (grid == CORNERS), axis=2)
    points = np.where(near, np.arange(8), -1)
    cells = ((CORNERS + 1) / 2).astype(int)
    corner = cells[:, None] + cells
    return points, corner @ np.array([9, 3, 1])


def _tetrahedron_parts() -> tuple[Indices, Indices]:
    """Return corners and midpoints of a tetrahedron as means of corners (-1: none), and its eight parts."""
    corners = [(corner, -1) for corner in range(4)]
    return np.array(corners + list(EDGES)), EIGHT_TETRAHEDRA


def face_areas(mesh: Mesh, faces: Indices) -> Array:
    """Return (f,) areas of faces, m2; a face of a brick counts as two triangles."""
    corners = mesh.nodes[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2.0
    if faces.shape[1] == 4:
        area += np.linalg.norm(np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 0]), axis=1) / 2.0
    return area
