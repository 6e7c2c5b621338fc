"""Holonomic or not: what constraints J(theta) rates = 0 leave reachable, by Lie brackets; and the loops of a graph.

The rows are given as they stand, so that a set whose single rows look nonholonomic and integrate together is told
apart (saha-1991, 1.1 and 3.4; spec 2.1 and 2.9).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.multibody.spatial import Expression

Array = NDArray[np.float64]
Point = TypeVar('Point', bound=Hashable)
RANK = 1e-9


@dataclass(frozen=True)
class Classification:
    """What a set of constraints is.

    Attributes:
        degrees_of_freedom: independent motions at an instant.
        growth: dimension reachable by motions, then with brackets of ever higher order.
        configurations: numbers needed to say where the system is: the last of `growth`, holonomic rows given.
        holonomic, nonholonomic: how many independent rows are of either kind.
    """

    degrees_of_freedom: int
    growth: tuple[int, ...]
    configurations: int
    holonomic: int
    nonholonomic: int


def classify(
    rows: Callable[[Expression], Expression], coordinates: int, point: ArrayLike, independent: Sequence[int]
) -> Classification:
    """Classify the constraints J(theta) d(theta)/dt = 0 near a generic point.

    Args:
        rows: J (m, coordinates) as an expression of theta.
        coordinates: number of theta.
        point: (coordinates,) where ranks are taken.
        independent: the coordinates whose rates are free; the others' follow from J. As many as degrees of freedom.

    Raises:
        ValueError: the chosen rates do not determine the others at the point.
    """
    theta = ca.SX.sym('theta', coordinates)
    J = ca.densify(ca.SX(rows(theta)))
    at = np.asarray(point, dtype=float)
    dependent = [k for k in range(coordinates) if k not in set(independent)]
    numbers = np.array(ca.Function('J', [theta], [J])(at))
    rank = int(np.linalg.matrix_rank(numbers, tol=RANK))
    kept = _independent_rows(numbers)
    if len(kept) != len(dependent) or np.linalg.matrix_rank(numbers[np.ix_(kept, dependent)], tol=RANK) < rank:
        raise ValueError(
            f'rank {rank} of {coordinates} coordinates: rates {list(independent)} do not determine the others'
        )
    fields = []
    solved = -ca.solve(J[kept, dependent], J[kept, list(independent)])
    for column in range(len(independent)):
        field = ca.SX(coordinates, 1)
        field[independent[column]] = 1
        for k, row in enumerate(dependent):
            field[row] = solved[k, column]
        fields.append(field)
    return _grow(theta, fields, at, rank)


def _independent_rows(J: Array) -> list[int]:
    """Rows of full rank, the first ones that add to it."""
    kept: list[int] = []
    for k in range(J.shape[0]):
        if np.linalg.matrix_rank(J[[*kept, k]], tol=RANK) > len(kept):
            kept.append(k)
    return kept


def _grow(theta: Expression, fields: list[Expression], at: Array, rank: int) -> Classification:
    base, span, newest = list(fields), list(fields), list(fields)
    growth = [_dimension(theta, span, at)]
    while True:
        brackets = [
            ca.mtimes(ca.jacobian(g, theta), f) - ca.mtimes(ca.jacobian(f, theta), g) for f in base for g in newest
        ]
        span = [*span, *brackets]
        size = _dimension(theta, span, at)
        if size == growth[-1]:
            break
        growth.append(size)
        newest = brackets
    holonomic = len(at) - growth[-1]
    return Classification(growth[0], tuple(growth), growth[-1], holonomic, rank - holonomic)


def _dimension(theta: Expression, fields: list[Expression], at: Array) -> int:
    values = np.array(ca.Function('fields', [theta], [ca.densify(ca.horzcat(*fields))])(at))
    return int(np.linalg.matrix_rank(values, tol=RANK))


def fundamental_loops(edges: Sequence[tuple[Point, Point]]) -> list[list[Point]]:
    """Return the independent cycles of a connected graph, each as its points in order (eq. 3.42).

    Args:
        edges: pairs of points, a joint each.

    Raises:
        ValueError: no edges, or a graph in several parts.
    """
    if not edges:
        raise ValueError('expected at least one edge')
    neighbours: dict[Point, list[tuple[Point, int]]] = {}
    for k, (a, b) in enumerate(edges):
        neighbours.setdefault(a, []).append((b, k))
        neighbours.setdefault(b, []).append((a, k))
    root = edges[0][0]
    parent: dict[Point, Point | None] = {root: None}
    used: set[int] = set()
    queue = deque([root])
    while queue:
        here = queue.popleft()
        for there, k in neighbours[here]:
            if there not in parent:
                parent[there] = here
                used.add(k)
                queue.append(there)
    if len(parent) < len(neighbours):
        apart = sorted(str(point) for point in neighbours if point not in parent)
        raise ValueError(f'expected one connected graph, found {", ".join(apart)} apart from {root}')

    def upwards(point: Point) -> list[Point]:
        path = [point]
        while (above := parent[path[-1]]) is not None:
            path.append(above)
        return path

    loops = []
    for k, (a, b) in enumerate(edges):
        if k in used:
            continue
        left, right = upwards(a), upwards(b)
        shared = next(point for point in left if point in set(right))
        loops.append([*left[: left.index(shared) + 1], *reversed(right[: right.index(shared)])])
    return loops
