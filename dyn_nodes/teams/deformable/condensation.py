"""Reduction of a body to the motion of its grasps and its slowest vibrations with the grasps at rest.

Guyan (1965); Craig and Bampton (1968).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg import qr

from dyn_nodes.common.arrays import Array
from dyn_nodes.teams.deformable.finite_elements import FiniteElements, factors_of, orthonormal, slowest
from dyn_nodes.teams.deformable.grasps import Grasp, averages

FREE = 1e-9
"""Singular value, over the greatest, below which the grasps do not determine a rigid motion of the body."""


class Condensed(NamedTuple):
    """A body in coordinates of its grasps, and of its vibrations with the grasps at rest.

    The first 3m coordinates are displacements of the grasps, the others amplitudes of vibrations with a mass of 1 kg.

    Attributes:
        grasps: m grasps.
        positions: (3m,) of the grasps without displacement, m.
        mass, stiffness, damping: (r, r).
        shapes: (3n, r) displacements of the nodes by coordinates.
        frequencies: (r - 3m,) of the vibrations, rad/s.
        weights: (n,) masses of the nodes, kg.
        first_moment: (3,) of mass about the origin, without displacement, kg m.
    """

    grasps: tuple[Grasp, ...]
    positions: Array
    mass: Array
    stiffness: Array
    damping: Array
    shapes: Array
    frequencies: Array
    weights: Array
    first_moment: Array

    def load(self, gravity: ArrayLike) -> Array:
        """Return the loads (r,) of gravity (3,) in axes of the body, N."""
        return self.shapes.T @ np.outer(self.weights, np.asarray(gravity, dtype=float)).ravel()


class HeldBody:
    """A body whose grasps have prescribed displacements: one factorization of its stiffness serves every load.

    Args:
        body: of finite elements.
        grasps: at least one. If the body can still turn about a line through them, the turn is kept at zero.
    """

    def __init__(self, body: FiniteElements, grasps: Sequence[Grasp]) -> None:
        self.body = body
        self.grasps = tuple(grasps)
        self.average = averages(grasps, len(body.mesh.nodes))
        self._mass = body.full_mass
        self._turns = self._unseen_turns()
        # springs at the grasps make the stiffness regular; prescribed displacements do not depend on them
        springs = sparse.vstack([self.average, self._pins()]).tocsr()
        scale = body.stiffness.diagonal().mean() / np.asarray(springs.power(2).sum(axis=1)).ravel()
        self._springs = scale[: self.average.shape[0]]
        self._factors = factors_of(body.stiffness + springs.T @ sparse.diags(scale) @ springs)
        self._unit = self._factors.solve(self.average.T.toarray())
        self._compliance = self.average @ self._unit

    def _unseen_turns(self) -> Array:
        """Return the rigid motions (3n, u) that the grasps do not determine, orthonormal in mass."""
        motions = self.body.rigid_motions
        motions = orthonormal(motions, self._mass)
        _, size, right = np.linalg.svd(self.average @ motions)
        return motions @ right[np.count_nonzero(size > FREE * size[0]) :].T

    def _pins(self) -> sparse.csr_matrix:
        """Return rows of single displacements that fix the undetermined motions; no load acts on these."""
        count = self._turns.shape[1]
        columns = qr(self._turns.T, mode='r', pivoting=True)[1][:count] if count else []
        return sparse.eye(self.average.shape[1], format='csr')[columns]

    def _without_turns(self, displacement: Array) -> Array:
        return displacement - self._turns @ (self._turns.T @ (self._mass @ displacement))

    @property
    def shapes(self) -> Array:
        """(3n, 3m) displacements of the nodes for unit displacements of the grasps, without other load."""
        return self._without_turns(self._unit @ np.linalg.inv(self._compliance))

    def solve(self, load: Array, displacement: ArrayLike | None = None) -> tuple[Array, Array]:
        """Return displacements of the nodes (3n,), and forces of the hands on the body (3m,), N.

        Args:
            load: (3n,) on the nodes, N; the part that accelerates an undetermined turn is removed.
            displacement: (3m,) of the grasps, m; None: zero.
        """
        load = load - self._mass @ (self._turns @ (self._turns.T @ load))
        loose = self._factors.solve(load)
        wanted = np.zeros(len(self._compliance)) if displacement is None else np.asarray(displacement, dtype=float)
        held = np.linalg.solve(self._compliance, wanted - self.average @ loose)
        # forces that hold the body and the springs, less the forces of the springs
        return self._without_turns(loose + self._unit @ held), held - self._springs * wanted

    def vibrations(self, count: int) -> tuple[Array, Array]:
        """Return the lowest angular frequencies (count,) with the grasps at rest, rad/s, and their shapes (3n, count).

        Shapes are orthogonal in mass, 1 kg each.
        """
        values, shapes = slowest(self.body.stiffness, self._mass, lambda load: self.solve(load)[0], count, 0.0)
        return np.sqrt(values), shapes


def condensed(
    body: FiniteElements, grasps: Sequence[Grasp], vibrations: int = 0, held: HeldBody | None = None
) -> Condensed:
    """Return a body reduced to its grasps.

    Args:
        body: of finite elements.
        grasps: m grasps. With fewer than three, or with all on a line, the turn about the line is lost.
        vibrations: number of retained vibrations with the grasps at rest; without them the interior follows the grasps
            quasi-statically.
        held: `HeldBody` of the same body and grasps, if it exists already.
    """
    held = HeldBody(body, grasps) if held is None else held
    shapes, frequencies = held.shapes, np.zeros(0)
    if vibrations:
        frequencies, modes = held.vibrations(vibrations)
        shapes = np.concatenate([shapes, modes], axis=1)
    stiffness, damping, mass = (
        shapes.T @ (matrix @ shapes) for matrix in (body.stiffness, body.damping, body.full_mass)
    )
    return Condensed(
        tuple(grasps),
        np.concatenate([grasp.position for grasp in grasps]),
        (mass + mass.T) / 2.0,
        (stiffness + stiffness.T) / 2.0,
        (damping + damping.T) / 2.0,
        shapes,
        frequencies,
        np.asarray(body.mass.sum(axis=0)).ravel(),
        body.total_mass * body.center_of_mass,
    )
