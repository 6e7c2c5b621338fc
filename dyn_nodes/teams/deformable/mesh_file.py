"""Meshes from files of Gmsh, VTK, Abaqus and others, by meshio, checked to be one closed body."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from dyn_nodes.common.errors import UserError
from dyn_nodes.common.readers import ReaderError, read_apart
from dyn_nodes.teams.deformable.mesh import Indices, Mesh

Blocks = list[tuple[str, Indices]]
"""Kind of elements, and their nodes (e, n)."""
SOLID = {'tetra': 4, 'hexahedron': 8}
FLAT = {'triangle': 3, 'quad': 4}
FARTHEST = 1e4
"""Greatest coordinate of a body, m."""
COINCIDENT = 1e-9
"""Distance between two nodes, over the size of the body, below which they coincide."""


class MeshFileError(UserError, ValueError):
    """A file does not contain the mesh of a body.

    Attributes:
        expected, found: parts of the message.
    """

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(f'expected {expected}, found {found}')
        self.expected, self.found = expected, found


def read_mesh(path: Path, scale: float = 1.0) -> Mesh:
    """Return the tetrahedra or the bricks of a file; faces, edges and points are ignored.

    Args:
        path: of a file in a format that meshio reads.
        scale: metres per unit of the file.

    Raises:
        MeshFileError: the file cannot be read, or is not one closed body.
    """
    points, blocks = _read(path)
    kinds = sorted({kind for kind, _ in blocks if kind in SOLID})
    if not kinds:
        raise MeshFileError('a closed body of tetrahedra or hexahedra', _describe_flat(blocks))
    if len(kinds) > 1:
        raise MeshFileError('elements of one kind', ' and '.join(kinds))
    elements = np.concatenate([data for kind, data in blocks if kind == kinds[0]])
    used, local = np.unique(elements, return_inverse=True)
    nodes = _positions(points, used, scale)
    mesh = _right_handed(Mesh(nodes, local.reshape(elements.shape)))
    fault = body_fault(mesh)
    if fault is not None:
        raise MeshFileError(*fault)
    return mesh


def _positions(points: NDArray[np.float64], used: Indices, scale: float) -> NDArray[np.float64]:
    """Return the positions of the nodes that elements use, m."""
    if points.ndim != 2 or points.shape[1] != 3:
        raise MeshFileError('three coordinates of every node', f'an array of the shape {points.shape}')
    if len(used) and not 0 <= used[0] <= used[-1] < len(points):
        raise MeshFileError(f'elements between the {len(points)} nodes', f'one with node {used[-1]}')
    nodes = points[used]
    outside = np.flatnonzero(~(np.abs(nodes) <= FARTHEST / scale).all(axis=1))  # NaN counts as outside
    if len(outside):
        coordinates = ', '.join(f'{value:g}' for value in nodes[outside[0]])
        raise MeshFileError(f'coordinates up to {FARTHEST / scale:g}', f'a node at {coordinates}')
    return nodes * scale


def _read(path: Path) -> tuple[NDArray[np.float64], Blocks]:
    """Return the points of a file, and kind and nodes of its blocks of elements."""
    if find_spec('meshio') is None:
        raise MeshFileError('the package meshio (pip install meshio)', 'none')
    if not path.is_file():
        raise MeshFileError('a file', f'none at {path}')
    try:
        ((points, blocks),) = read_apart(_parts, path)
    except ReaderError as error:
        raise MeshFileError('a mesh in a format that meshio reads', str(error)) from None
    return points, blocks


def _parts(path: Path) -> Iterator[tuple[NDArray[np.float64], Blocks]]:
    """Yield points and blocks, in a separate process."""
    import meshio

    try:
        read = meshio.read(path)
    except SystemExit:  # meshio exits with a message on standard output
        raise meshio.ReadError('no reader supports it') from None
    blocks = [(block.type, np.asarray(block.data, dtype=np.int64)) for block in read.cells]
    yield np.asarray(read.points, dtype=float), blocks


def _describe_flat(blocks: Blocks) -> str:
    """Return a description of a file without solid elements."""
    faces = [(kind, data) for kind, data in blocks if kind in FLAT]
    if not faces:
        return ', '.join(sorted({kind for kind, _ in blocks})) or 'nothing'
    edges = np.concatenate([_edges(data) for _, data in faces])
    _, count = np.unique(edges, axis=0, return_counts=True)
    opened = int(np.count_nonzero(count != 2))
    number = sum(len(data) for _, data in faces)
    if opened:
        return f'a surface of {number} faces that is not closed, with {opened} open edges'
    return f'a closed surface of {number} faces; a mesher such as Gmsh fills it'


def _edges(faces: Indices) -> Indices:
    return np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)


def _right_handed(mesh: Mesh) -> Mesh:
    """Return the mesh with the corners of mirrored elements reordered: some programs use the opposite order."""
    corners = mesh.nodes[mesh.elements]
    third = (1, 2, 3) if mesh.kind == 'tetrahedron' else (1, 3, 4)
    sides = [corners[:, i] - corners[:, 0] for i in third]
    mirrored = (np.cross(sides[0], sides[1]) * sides[2]).sum(axis=1) < 0.0
    elements = mesh.elements.copy()
    order = [0, 2, 1, 3] if mesh.kind == 'tetrahedron' else [4, 5, 6, 7, 0, 1, 2, 3]
    elements[mirrored] = elements[mirrored][:, order]
    return Mesh(mesh.nodes, elements)


def body_fault(mesh: Mesh) -> tuple[str, str] | None:
    """Return the expected and the actual property of a mesh for a message; None for one closed body."""
    _, count = np.unique(np.sort(mesh.faces, axis=1), axis=0, return_counts=True)
    if (count > 2).any():
        return 'faces of at most two elements', f'{np.count_nonzero(count > 2)} faces of more'
    twins = _coincident_nodes(mesh.nodes)
    if twins:
        return 'a closed mesh, without gaps between elements', f'{twins} nodes that coincide with another one'
    pieces = _pieces(mesh)
    if pieces > 1:
        return 'one body', f'{pieces} separate bodies'
    _, shared = np.unique(_edges(mesh.surface), axis=0, return_counts=True)
    if (shared != 2).any():
        return 'a closed surface', f'{np.count_nonzero(shared != 2)} edges where it touches itself'
    return None


def _coincident_nodes(nodes: NDArray[np.float64]) -> int:
    size = float(np.ptp(nodes, axis=0).max())
    cells = np.round((nodes - nodes.min(axis=0)) / (size * COINCIDENT * 10.0))
    return len(nodes) - len(np.unique(cells, axis=0))


def _pieces(mesh: Mesh) -> int:
    first = np.repeat(mesh.elements[:, :1], mesh.elements.shape[1], axis=1).ravel()
    size = (len(mesh.nodes), len(mesh.nodes))
    links = coo_matrix((np.ones(len(first)), (first, mesh.elements.ravel())), shape=size)
    return int(connected_components(links, directed=False)[0])
