"""The dynamic model T = I* a + v^T P* v - T^L in any coordinates (freeman-1985, 2.8 to 2.10 and 2.16 of its spec)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.multibody.influence.algebra import dot_product, quadratic, sandwich, turning_power
from dyn_nodes.multibody.influence.coefficients import Coefficients
from dyn_nodes.multibody.influence.tree import TreePosition, second

SINGULAR_INERTIA = 1e-13
"""Eigenvalue of I*, relative to the greatest, up to which a motion counts as free of inertia."""
STILL = np.zeros(3)


class SingularInertiaError(UserError, ValueError):
    """A motion of the coordinates has no inertia: its acceleration is undefined (p. 61 excludes the case)."""


@dataclass(frozen=True, eq=False)
class TransferredModel:
    """A dynamic model in M named coordinates.

    Attributes:
        coordinates: names.
        inertia: I* (M, M) effective inertia (2-196).
        power: P* (M, M, M), plane k contributes to the load at coordinate k (2-197); not symmetrized.
        load: T^L (M,) of the applied loads, gravity included (2-147).
    """

    coordinates: tuple[str, ...]
    inertia: Array
    power: Array
    load: Array

    @classmethod
    def empty(cls, coordinates: Sequence[str]) -> TransferredModel:
        """Return a model without bodies."""
        n = len(coordinates)
        return cls(tuple(coordinates), np.zeros((n, n)), np.zeros((n, n, n)), np.zeros(n))

    def __add__(self, other: TransferredModel) -> TransferredModel:
        """Return the sum of two models in the same coordinates (4-48). Raises ValueError for other coordinates."""
        if other.coordinates != self.coordinates:
            raise ValueError(
                f'expected a model in {", ".join(self.coordinates)}, found one in {", ".join(other.coordinates)}'
            )
        return TransferredModel(
            self.coordinates, self.inertia + other.inertia, self.power + other.power, self.load + other.load
        )

    def by(self, inner: Coefficients) -> TransferredModel:
        """Return the model in other coordinates (3-34 to 3-36, as G^T I G, G^T (G^T . P) G + G^T I . H, G^T T^L).

        The form needs no inverse and also holds if `inner` has fewer coordinates than this model.

        Args:
            inner: these coordinates by the new ones, in this order.

        Raises:
            ValueError: `inner` has other parameters.
        """
        inner.require_parameters(self.coordinates)
        G = inner.G
        power = sandwich(G, dot_product(G.T, self.power)) + dot_product(G.T @ self.inertia, inner.H)
        return TransferredModel(inner.coordinates, G.T @ self.inertia @ G, power, G.T @ self.load)

    def columns(self, names: Sequence[str]) -> TransferredModel:
        """Return the model in some coordinates, all others held (4-31)."""
        at = [self.coordinates.index(name) for name in names]
        return TransferredModel(
            tuple(names), self.inertia[np.ix_(at, at)], self.power[np.ix_(at, at, at)], self.load[at]
        )

    def with_load(self, where: Coefficients, load: ArrayLike) -> TransferredModel:
        """Return the model with an additional load (P,): forces at a point, moments on a body (2-125)."""
        added = where.G.T @ np.asarray(load, float)
        return TransferredModel(self.coordinates, self.inertia, self.power, self.load + added)

    def velocity_load(self, v: ArrayLike) -> Array:
        """Return v^T P* v (M,)."""
        return quadratic(v, self.power)

    def effort(self, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the required efforts of the inputs T = I* a + v^T P* v - T^L (M,) (2-198)."""
        return np.asarray(self.inertia @ np.asarray(a, float) + self.velocity_load(v) - self.load)

    def acceleration(self, v: ArrayLike, effort: ArrayLike) -> Array:
        """Return the accelerations (M,) under the efforts of the inputs (2-199).

        Raises:
            SingularInertiaError: a motion without inertia; names its coordinates.
        """
        values, vectors = np.linalg.eigh(self.inertia)
        if values.size and values[0] <= SINGULAR_INERTIA * max(float(values[-1]), np.finfo(float).tiny):
            share = np.abs(vectors[:, 0])
            names = [self.coordinates[k] for k in np.argsort(-share) if share[k] > 0.1 * share.max()]
            raise SingularInertiaError(
                f'{", ".join(names[:6])} can move without moving any inertia: the acceleration is undefined'
            )
        rest = np.asarray(effort, float) - self.velocity_load(v) + self.load
        return np.asarray(np.linalg.solve(self.inertia, rest))

    def kinetic_energy(self, v: ArrayLike) -> float:
        """Return v^T I* v / 2, J (2-140)."""
        rates = np.asarray(v, float)
        return float(0.5 * rates @ self.inertia @ rates)


def rigid_body_model(
    centre: Coefficients,
    rotation: Coefficients,
    mass: float,
    inertia: ArrayLike,
    force: ArrayLike = STILL,
    moment: ArrayLike = STILL,
) -> TransferredModel:
    """Return the model of one rigid body in the coordinates of its coefficients (2-196, 2-197).

    Args:
        centre: of its mass centre, world axes.
        rotation: of its angular velocity, world axes.
        mass: kg.
        inertia: (3, 3) about the mass centre in world axes, kg m2.
        force: (3,) at the mass centre, N, world axes: weight and others.
        moment: (3,) N m, world axes.
    """
    II = np.asarray(inertia, float)
    Gc, Gr = centre.G, rotation.G
    angular = Gr.T @ II
    power = dot_product(mass * Gc.T, centre.H) + dot_product(angular, rotation.H) + turning_power(Gr, II)
    load = Gc.T @ np.asarray(force, float) + Gr.T @ np.asarray(moment, float)
    return TransferredModel(centre.coordinates, mass * Gc.T @ Gc + angular @ Gr, power, load)


def serial_model(
    position: TreePosition, gravity: ArrayLike = STILL, payload: float = 0.0, bodies: Sequence[int] | None = None
) -> TransferredModel:
    """Return the model of a tree in its joints: gravity is the force m g at each mass centre.

    Args:
        position: of the tree.
        gravity: (3,) world axes, m/s2.
        payload: kg, a particle at the payload point of the tree.
        bodies: indices of the included bodies; None: all.
    """
    tree, model = position.model.tree, position.model
    numbers = range(len(tree.bodies)) if bodies is None else tuple(bodies)
    parts = [(k, tree.bodies[k].mass, tree.bodies[k].com, tree.bodies[k].inertia) for k in numbers]
    parts = [part for part in parts if not tree.bodies[part[0]].massless]
    if payload and tree.payload is not None and tree.payload.body >= 0:
        parts.append((tree.payload.body, payload, tree.payload.p, np.zeros((3, 3))))
    total = _rotors(position, numbers)
    if not parts:
        return total
    owners = [part[0] for part in parts]
    centres = model.points_at(position.poses, owners, np.array([part[2] for part in parts]), 2)
    turns = model.rotations_at(position.poses, owners, 2)
    names, g = model.names, np.asarray(gravity, float)
    for k, (body, mass, _, inertia) in enumerate(parts):
        R = position.poses[0][0, body]
        centre = Coefficients(('x', 'y', 'z'), names, centres.G[0, k], second(centres)[0, k])
        rotation = Coefficients(('rx', 'ry', 'rz'), names, turns.G[0, k], second(turns)[0, k])
        total = total + rigid_body_model(centre, rotation, mass, R @ inertia @ R.T, mass * g)
    return total


def _rotors(position: TreePosition, numbers: Iterable[int]) -> TransferredModel:
    """Return the model of the rotors that drive bodies: their reflected inertia on the diagonal of I* (2-237)."""
    tree, counted = position.model.tree, set(numbers)
    diagonal = [body.armature if k in counted else 0.0 for k, body in enumerate(tree.bodies)]
    return replace(TransferredModel.empty(position.model.names), inertia=np.diag(diagonal))
