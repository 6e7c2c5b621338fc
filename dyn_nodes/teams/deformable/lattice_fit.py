"""Masses and stiffnesses of rods that approximate a body, by non-negative least squares (tanner-1998, 4.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from dyn_nodes.common.arrays import Array
from dyn_nodes.teams.deformable.mesh import Indices

HARD = 1e3
"""Weight of mass and centre of mass over the weight of the second moments."""
MET = 1e-6
"""Permissible relative residual of mass and centre of mass of rods without lumps."""
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))


class MassFit(NamedTuple):
    """Masses of a lattice, and their residuals.

    Attributes:
        rods: (e,) kg.
        nodes: (n,) lumps, kg; zero if rods alone have the mass and the centre of mass of the body.
        mass_residual: kg.
        center_residual: distance between the centres of mass, m.
        inertia_residual: difference of the inertia tensors over the inertia of the body (Frobenius).
    """

    rods: Array
    nodes: Array
    mass_residual: float
    center_residual: float
    inertia_residual: float


class StiffnessFit(NamedTuple):
    """Stiffnesses of rods, and their residual.

    Attributes:
        rods: (e,) N/m.
        residual: difference of the stiffness matrices over the stiffness of the body (Frobenius).
    """

    rods: Array
    residual: float


def fit_masses(nodes: ArrayLike, rods: Indices, mass: float, center: ArrayLike, second_moment: ArrayLike) -> MassFit:
    """Return masses with the mass and the centre of mass of a body, and the best fit of its second moments.

    If rods cannot have that centre of mass, lumps at the nodes replace them.

    Args:
        nodes: (n, 3) of the lattice, m.
        rods: (e, 2) nodes at the ends.
        mass: of the body, kg.
        center: (3,) centre of mass of the body, m.
        second_moment: (3, 3) of mass about the centre, kg m2.
    """
    arms = np.asarray(nodes, dtype=float) - np.asarray(center, dtype=float)
    moment = np.asarray(second_moment, dtype=float)
    size = float(np.abs(arms).max())
    first, second = arms[rods[:, 0]], arms[rods[:, 1]]
    moments = _outer(first, first) + _outer(second, second) + (_outer(first, second) + _outer(second, first)) / 2.0
    columns = _mass_rows(np.ones(len(rods)), (first + second) / 2.0, moments / 3.0, size)
    wanted = _mass_rows(np.array([mass]), np.zeros((1, 3)), moment[None], size)[:, 0]
    masses = nnls(columns, wanted)[0]
    lumps = np.zeros(len(arms))
    if np.abs(columns @ masses - wanted)[:4].max() > MET * HARD * mass:
        masses = np.zeros(len(rods))
        columns = _mass_rows(np.ones(len(arms)), arms, _outer(arms, arms), size)
        lumps = nnls(columns, wanted)[0]
    rest = (columns @ (lumps if lumps.any() else masses) - wanted) * np.array([1.0 / HARD] * 4 + [1.0] * 6)
    gap = np.zeros((3, 3))
    for (i, j), value in zip(PAIRS, rest[4:] * size**2):
        gap[i, j] = gap[j, i] = value
    inertia = [np.trace(part) * np.eye(3) - part for part in (gap, moment)]
    size_of = [float(np.linalg.norm(part)) for part in inertia]
    off = size_of[0] / size_of[1] if size_of[1] > 0.0 else np.inf
    return MassFit(masses, lumps, float(abs(rest[0])), float(np.linalg.norm(rest[1:4]) * size / mass), off)


def _mass_rows(mass: Array, center: Array, moment: Array, size: float) -> Array:
    """Return (10, e) mass, first and second moments of parts, kg, with lengths over the size of the body."""
    first = HARD * center.T / size * mass
    return np.vstack([HARD * mass, first, np.stack([moment[:, i, j] for i, j in PAIRS]) / size**2])


def _outer(a: Array, b: Array) -> Array:
    return a[:, :, None] * b[:, None, :]


def fit_stiffness(nodes: ArrayLike, rods: Indices, stiffness: ArrayLike) -> StiffnessFit:
    """Return stiffnesses of rods between the grasps of a condensed body.

    Args:
        nodes: (m, d) in 2 or 3 dimensions, m.
        rods: (e, 2) nodes at the ends.
        stiffness: (dm, dm) of the body, N/m.
    """
    points, wanted = np.asarray(nodes, dtype=float), np.asarray(stiffness, dtype=float)
    columns = np.stack([stretch_of(points, rod)[:, None] * stretch_of(points, rod) for rod in rods], axis=-1)
    stiffnesses, rest = nnls(columns.reshape(-1, len(rods)), wanted.ravel())
    return StiffnessFit(stiffnesses, float(rest / np.linalg.norm(wanted)))


def stretch_of(nodes: Array, rod: Indices) -> Array:
    """Return (dm,) derivative of the length of a rod by displacements of the nodes."""
    along = nodes[rod[1]] - nodes[rod[0]]
    along = along / np.linalg.norm(along)
    row = np.zeros(nodes.shape)
    row[rod[0]], row[rod[1]] = -along, along
    return row.ravel()
