"""A box as a grid of springs along edges and face diagonals of cubic cells: isotropic, with Poisson's ratio 1/4."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.teams.deformable.lattice import Lattice, lag
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import CORNERS, box_mesh

POISSON_RATIO = 0.25
"""Poisson's ratio of every grid with equal springs along edges and diagonals (Cauchy)."""
SPRING = 0.4
"""Stiffness of a spring inside the grid, over Young's modulus times the edge of a cell."""
CUBIC = 1e-9
"""Relative difference between the edges of a cell below which it counts as cubic."""


def spring_grid(size: ArrayLike, divisions: tuple[int, int, int], material: Material) -> Lattice:
    """Return a box about the origin.

    Args:
        size: (3,) lengths along x, y and z, m.
        divisions: cells along x, y and z.
        material: its Poisson's ratio is replaced by 1/4.

    Raises:
        ValueError: cells that are not cubic.
    """
    edges = np.asarray(size, dtype=float) / divisions
    if np.ptp(edges) > CUBIC * edges.max():
        raise ValueError(f'expected cubic cells, found {" x ".join(f"{edge:.6g}" for edge in edges)} m')
    mesh, edge = box_mesh(size, divisions), float(edges[0])
    lines = [(i, j) for i, j in combinations(range(8), 2) if np.abs(CORNERS[i] - CORNERS[j]).sum() <= 4]
    # a cell has a quarter of the spring along its edge and half of the spring across its face
    share = np.array([0.25 if np.abs(CORNERS[i] - CORNERS[j]).sum() == 2 else 0.5 for i, j in lines])
    pairs = np.sort(mesh.elements[:, np.array(lines)].reshape(-1, 2), axis=1)
    rods, index = np.unique(pairs, axis=0, return_inverse=True)
    count = np.bincount(index.ravel(), np.tile(share, len(mesh.elements))).astype(float)
    stiffness: Array = SPRING * material.young_modulus * edge * count
    corners = np.bincount(mesh.elements.ravel(), minlength=len(mesh.nodes)).astype(float)
    lumps: Array = material.density * edge**3 / 8.0 * corners
    return Lattice(mesh.nodes, rods, stiffness, stiffness * lag(material), np.zeros(len(rods)), lumps)
