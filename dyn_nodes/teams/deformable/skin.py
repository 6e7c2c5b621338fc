"""The surface of a reduced body for drawing: positions and stresses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.teams.deformable.corotation import CorotatedBody
from dyn_nodes.teams.deformable.deformable_object import DeformableObject
from dyn_nodes.teams.deformable.elements import corner_strains
from dyn_nodes.teams.deformable.mesh import Indices, Mesh

MOST_TRIANGLES = 600
"""Greatest number of triangles of a drawn surface; a finer one is thinned."""
COARSER = 1.15


class Skin(NamedTuple):
    """Triangles of the surface, with displacements and stresses by coordinates of the reduced body.

    Attributes:
        body: the reduced body.
        positions: (v, 3) of the corners without load, from the middle of the grasps, m.
        faces: (f, 3) corners, counter-clockwise from outside.
        shapes: (v, 3, r + 3) displacements by coordinate, then by gravity along the axes of the body: static sag
            between the grasps, without the part of the vibrations.
        stresses: (v, 6, r + 3) stresses xx, yy, zz, xy, yz, zx by the same, Pa.
    """

    body: CorotatedBody
    positions: Array
    faces: Indices
    shapes: Array
    stresses: Array

    def at(
        self, position: ArrayLike, amplitudes: ArrayLike = (), gravity: ArrayLike = (0.0, 0.0, 0.0)
    ) -> tuple[Array, Array]:
        """Return corners (v, 3) in the world, m, and the stress of von Mises (v,) there, Pa.

        Args:
            position: (m, 3) of the grasps in the world, m.
            amplitudes: of the vibrations.
            gravity: (3,) in the world, m/s2.
        """
        here = self.body.axes(position)
        down = here.R.T @ np.asarray(gravity, dtype=float)
        q = np.concatenate([self.body.deformation(position, amplitudes), down])
        return here.center + (self.positions + self.shapes @ q) @ here.R.T, von_mises(self.stresses @ q)


def von_mises(stress: Array) -> Array:
    """Return the stress of von Mises (...,) of stresses (..., 6), Pa."""
    x, y, z, xy, yz, zx = np.moveaxis(stress, -1, 0)
    normal = (x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2
    return np.asarray(np.sqrt(0.5 * normal + 3.0 * (xy**2 + yz**2 + zx**2)))


def skin_of(item: DeformableObject, most: int = MOST_TRIANGLES) -> Skin:
    """Return the surface of an object of finite elements with at most `most` triangles.

    Raises ValueError if its grasps are on a line.
    """
    body = CorotatedBody(item.reduced)
    corners, faces = thinned(item.mesh, most)
    shapes = np.column_stack([item.reduced.shapes, _sags(item)])
    nodal = shapes.reshape(-1, 3, shapes.shape[1])
    stresses = _stresses(item, corners, nodal)
    return Skin(body, item.mesh.nodes[corners] - body.middle, faces, nodal[corners], stresses)


def _sags(item: DeformableObject) -> Array:
    """Return (3n, 3) displacements at rest per gravity along each axis, less the part of the vibrations, s2."""
    size, frequencies = len(item.reduced.positions), item.reduced.frequencies
    modes = item.reduced.shapes[:, size:]
    columns = []
    for axis in np.eye(3):
        load = item.body.load(axis)
        columns.append(item.held.solve(load)[0] - modes @ ((modes.T @ load) / frequencies**2))
    return np.column_stack(columns)


def _stresses(item: DeformableObject, corners: Indices, nodal: Array) -> Array:
    """Return stresses (v, 6, r) at the corners: means over the adjacent elements."""
    number = np.full(len(item.mesh.nodes), -1)
    number[corners] = np.arange(len(corners))
    near = item.mesh.elements[(number[item.mesh.elements] >= 0).any(axis=1)]
    strains = corner_strains(Mesh(item.mesh.nodes, near), item.material)
    moved = nodal[near].reshape(len(near), -1, nodal.shape[2])
    corner_of = number[near]
    drawn = corner_of >= 0
    element, corner = np.nonzero(drawn)
    stresses = item.material.elasticity @ (strains[element, corner] @ moved[element])
    total = np.zeros((len(corners), *stresses.shape[1:]))
    np.add.at(total, corner_of[drawn], stresses)
    return total / np.bincount(corner_of[drawn], minlength=len(corners))[:, None, None]


def thinned(mesh: Mesh, most: int) -> tuple[Indices, Indices]:
    """Return nodes (v,) of a surface with at most `most` triangles, and their triangles (f, 3).

    Of the nodes near one corner of a grid the nearest represents the others; the grid has two corners or more along
    every axis.
    """
    surface = mesh.surface
    triangles = np.concatenate([surface[:, [0, 1, 2]], surface[:, [0, 2, 3]]]) if surface.shape[1] == 4 else surface
    used = np.unique(triangles)
    low, extent = mesh.nodes[used].min(axis=0), np.ptp(mesh.nodes[used], axis=0)
    step = float(extent.max()) / np.sqrt(most)
    kept, faces = used, triangles
    while len(faces) > most:
        kept, faces = _clustered(mesh.nodes, used, triangles, low, extent, step)
        step *= COARSER
    number = np.zeros(len(mesh.nodes), dtype=np.int64)
    number[kept] = np.arange(len(kept))
    return kept, number[faces]


def _clustered(
    nodes: Array, used: Indices, triangles: Indices, low: Array, extent: Array, step: float
) -> tuple[Indices, Indices]:
    counts = np.maximum(1, np.round(extent / step))
    grid = (nodes[used] - low) / np.where(extent > 0.0, extent, 1.0) * counts
    near = np.round(grid)
    _, group = np.unique(near, axis=0, return_inverse=True)
    order = np.lexsort((np.linalg.norm(grid - near, axis=1), group.ravel()))
    first = order[np.unique(group.ravel()[order], return_index=True)[1]]
    representative = np.zeros(len(nodes), dtype=np.int64)
    representative[used] = used[first][group.ravel()]
    faces = representative[triangles]
    different = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    faces = faces[different]
    start = np.argmin(faces, axis=1)
    faces = np.take_along_axis(faces, (start[:, None] + np.arange(3)) % 3, axis=1)
    return np.unique(faces), np.unique(faces, axis=0)
