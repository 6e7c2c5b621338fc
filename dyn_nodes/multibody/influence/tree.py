"""Influence coefficients of the points and bodies of a tree, one state or a batch (freeman-1985, 2.3 to 2.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody.influence.coefficients import Coefficients
from dyn_nodes.multibody.influence_loops import nests
from dyn_nodes.multibody.tree import Frame, Tree

POINT = ('x', 'y', 'z')
ROTATION = ('rx', 'ry', 'rz')


@dataclass(frozen=True, eq=False)
class Batch:
    """Coefficients of several points or bodies in several states: N states, P points, n joints, world axes.

    Attributes:
        G: (N, P, 3, n).
        H: (N, P, 3, n, n), or None below order 2.
        D: (N, P, 3, n, n, n), or None below order 3.
        positions: (N, P, 3) of the points, m; None for rotations.
    """

    G: Array
    H: Array | None
    D: Array | None
    positions: Array | None = None


def reject_free_bodies(tree: Tree) -> None:
    """Raise ValueError for a free body, whose velocities are not rates of coordinates."""
    for body in tree.bodies:
        if body.kind == 'free':
            raise ValueError(
                f'{body.name}: expected revolute and prismatic joints, found a free body; write it as six joints'
            )


def second(batch: Batch) -> Array:
    """Return H of a batch. Raises ValueError below order 2."""
    if batch.H is None:
        raise ValueError('expected coefficients of second order, found the first alone')
    return batch.H


class TreeCoefficients:
    """Closed nests of cross products for a tree of revolute and prismatic joints (tables 2-3 to 2-5).

    Args:
        tree: without free bodies; `build_tree(machine, 'virtual_chain')` represents a free base by six joints.

    Raises:
        ValueError: a free body, whose velocities are not rates of coordinates.
    """

    def __init__(self, tree: Tree) -> None:
        reject_free_bodies(tree)
        self.tree = tree
        n = len(tree.bodies)
        self.parent = np.array([body.parent for body in tree.bodies], dtype=np.int64)
        self.kind = np.array([int(body.kind == 'prismatic') for body in tree.bodies], dtype=np.int64)
        self._axis = np.array([body.axis for body in tree.bodies]).reshape(n, 3)
        self._p0 = np.array([body.p0 for body in tree.bodies]).reshape(n, 3)
        self._R0 = np.array([body.R0 for body in tree.bodies]).reshape(n, 3, 3)
        self.path, self.count = np.zeros((n, n), dtype=np.int64), np.zeros(n, dtype=np.int64)
        for k in range(n):
            joints = self._joints_to(k)
            self.path[k, : len(joints)], self.count[k] = joints, len(joints)

    def _joints_to(self, body: int) -> list[int]:
        joints: list[int] = []
        while body >= 0:
            joints.append(body)
            body = int(self.parent[body])
        return joints[::-1]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of the coordinates."""
        return self.tree.velocity_names

    def poses(self, q: ArrayLike) -> tuple[Array, Array, Array]:
        """Return rotation (N, n, 3, 3), origin (N, n, 3) and joint axis (N, n, 3) of all bodies in the world.

        Args:
            q: (N, n) joint positions, rad or m.
        """
        positions = np.ascontiguousarray(q, dtype=np.float64)
        n = len(self.parent)
        if positions.ndim != 2 or positions.shape[1] != n:
            raise ValueError(f'expected q of shape (N, {n}), found {positions.shape}')
        N = len(positions)
        turn, origin, axis = np.zeros((N, n, 3, 3)), np.zeros((N, n, 3)), np.zeros((N, n, 3))
        nests.place_bodies(self.parent, self.kind, self._axis, self._R0, self._p0, positions, turn, origin, axis)
        return turn, origin, axis

    def points(self, q: ArrayLike, bodies: Sequence[int], points: ArrayLike, order: int = 3) -> Batch:
        """Return the coefficients of points in a batch of states.

        Args:
            q: (N, n) joint positions.
            bodies: (P) index of the body of each point.
            points: (P, 3) in the axes of its body, m.
            order: 1: G, 2: G and H, 3: G, H and D.
        """
        return self.points_at(self.poses(q), bodies, points, order)

    def rotations(self, q: ArrayLike, bodies: Sequence[int], order: int = 3) -> Batch:
        """Return the coefficients of the angular velocities of bodies in a batch; arguments as for `points`."""
        return self.rotations_at(self.poses(q), bodies, order)

    def points_at(
        self, poses: tuple[Array, Array, Array], bodies: Sequence[int], points: ArrayLike, order: int
    ) -> Batch:
        """Return `points` for poses (the result of `poses`)."""
        body = np.asarray(bodies, dtype=np.int64)
        local = np.ascontiguousarray(points, dtype=np.float64).reshape(len(body), 3)
        self._check(body)
        G, H, D = self._empty(len(poses[0]), len(body), order)
        where = np.zeros(G.shape[:3])
        nests.points(self.kind, self.path, self.count, *poses, body, local, order, where, G, H, D)
        return Batch(G, H if order > 1 else None, D if order > 2 else None, where)

    def rotations_at(self, poses: tuple[Array, Array, Array], bodies: Sequence[int], order: int) -> Batch:
        """Return `rotations` for poses (the result of `poses`)."""
        body = np.asarray(bodies, dtype=np.int64)
        self._check(body)
        G, H, D = self._empty(len(poses[0]), len(body), order)
        nests.rotations(self.kind, self.path, self.count, poses[2], body, order, G, H, D)
        return Batch(G, H if order > 1 else None, D if order > 2 else None)

    def _check(self, body: NDArray[np.int64]) -> None:
        n = len(self.parent)
        if body.size and (body.min() < 0 or body.max() >= n):
            raise ValueError(f'expected bodies from 0 to {n - 1}, found {body.min()} to {body.max()}')

    def _empty(self, N: int, P: int, order: int) -> tuple[Array, Array, Array]:
        if order not in (1, 2, 3):
            raise ValueError(f'order: expected 1, 2 or 3, found {order}')
        n = len(self.parent)
        sizes = [n if order >= k else 0 for k in (2, 3)]
        return (
            np.zeros((N, P, 3, n)),
            np.zeros((N, P, 3, sizes[0], sizes[0])),
            np.zeros((N, P, 3, sizes[1], sizes[1], sizes[1])),
        )

    def at(self, q: ArrayLike, order: int = 3) -> TreePosition:
        """Return the tree at joint positions q (n,), with coefficients of two or three orders."""
        return TreePosition(self, np.array(q, dtype=np.float64), order)


@dataclass(frozen=True, eq=False)
class TreePosition:
    """A tree at joint positions.

    Attributes:
        model: the tree.
        q: (n,) rad or m.
        order: 2 or 3, of the coefficients.
    """

    model: TreeCoefficients
    q: Array
    order: int = 3

    @cached_property
    def poses(self) -> tuple[Array, Array, Array]:
        """Rotations (1, n, 3, 3), origins (1, n, 3) and joint axes (1, n, 3)."""
        return self.model.poses(self.q[None])

    def pose(self, frame: Frame) -> tuple[Array, Array]:
        """Return rotation (3, 3) and position (3,) of a frame in the world."""
        if frame.body < 0:
            return frame.R, frame.p
        turn, origin = self.poses[0][0, frame.body], self.poses[1][0, frame.body]
        return turn @ frame.R, origin + turn @ frame.p

    def point(self, frame: Frame, prefix: str = '') -> Coefficients:
        """Return the coefficients of the origin of a frame, `<prefix>x`, `y`, `z` in world axes (tables 2-3 to 2-5)."""
        names = tuple(prefix + name for name in POINT)
        if frame.body < 0:
            return Coefficients.picked(names, self.model.names, self.order)
        return self._single(names, self.model.points_at(self.poses, [frame.body], frame.p, self.order))

    def rotation(self, frame: Frame, prefix: str = '') -> Coefficients:
        """Return the coefficients of the angular velocity of a frame, `<prefix>rx`, `ry`, `rz` in world axes."""
        names = tuple(prefix + name for name in ROTATION)
        if frame.body < 0:
            return Coefficients.picked(names, self.model.names, self.order)
        return self._single(names, self.model.rotations_at(self.poses, [frame.body], self.order))

    def frame(self, frame: Frame, prefix: str = '') -> Coefficients:
        """Return the six coefficients of a frame in the order of the source: origin velocity, angular velocity."""
        return Coefficients.stacked([self.point(frame, prefix), self.rotation(frame, prefix)])

    def joints(self, names: Sequence[str]) -> Coefficients:
        """Return the coefficients of some joints by all of them. Raises KeyError for an unknown joint."""
        return Coefficients.identity(self.model.names, self.order).rows(names)

    def _single(self, names: tuple[str, ...], batch: Batch) -> Coefficients:
        n = len(self.model.names)
        H = batch.H[0, 0] if batch.H is not None else np.zeros((3, n, n))
        return Coefficients(names, self.model.names, batch.G[0, 0], H, batch.D[0, 0] if batch.D is not None else None)
