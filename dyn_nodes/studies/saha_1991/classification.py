"""Classification of constraints J(theta) rates = 0 as holonomic or not by Lie brackets, and loops of a graph.

All rows are classified together, which detects sets whose single rows appear nonholonomic but are jointly integrable
(saha-1991, 1.1 and 3.4; spec 2.1 and 2.9). `classify_system` classifies a traced system.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.elimination import choose, traced_complement
from dyn_nodes.constraints.independent import choose_independent
from dyn_nodes.multibody.spatial import Expression

Point = TypeVar('Point', bound=Hashable)
RANK = 1e-9


@dataclass(frozen=True)
class Classification:
    """Classification of a set of constraints.

    Attributes:
        degrees_of_freedom: independent motions at an instant.
        growth: dimension reachable by motions, then with brackets of increasing order.
        configurations: number of configuration coordinates: the last of `growth`.
        holonomic, nonholonomic: numbers of independent rows of either kind.
    """

    degrees_of_freedom: int
    growth: tuple[int, ...]
    configurations: int
    holonomic: int
    nonholonomic: int


def classify(
    rows: Callable[[Expression], Expression], coordinates: int, point: ArrayLike, independent: Sequence[int]
) -> Classification:
    """Return the classification of the constraints J(theta) d(theta)/dt = 0 near a generic point.

    Args:
        rows: J (m, coordinates) as an expression of theta.
        coordinates: number of coordinates theta.
        point: (coordinates,) point at which ranks are evaluated.
        independent: coordinates with free rates, one per degree of freedom; J determines the other rates.

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


def classify_system(system: ConstraintBlocks, q: ArrayLike) -> Classification:
    """Return the classification of the constraints of a traced system near a generic position that meets them.

    The rows determine the motions, with independent rates by pivoting; residuals of rows are ignored.

    Args:
        system: of coordinates whose rates are the velocities: no free bodies.
        q: (nq,) position.

    Raises:
        ValueError: a free body, or time-dependent constraints, which need time as a coordinate.
    """
    free = [body.name for body in system.tree.bodies if body.kind == 'free']
    if free:
        raise ValueError(f'{free[0]}: expected a chain of joints, found a free body, whose velocities are not rates')
    if not catastatic(system):
        raise ValueError('expected constraints at rest; classify rows that move by themselves with the time beside q')
    at = np.asarray(q, dtype=float)
    blocks = system.at(at)
    partition = choose_independent(blocks.J, blocks.M)
    elimination = choose(system, [at], independent=partition.independent)
    N, _, _ = traced_complement(system, elimination)
    # substitute the parameters, which are not coordinates
    N = ca.substitute(ca.densify(N), system.parameters.vector, ca.DM(system.parameters.values()))
    return _grow(system.q, ca.horzsplit(N), at, len(partition.dependent))


def catastatic(system: ConstraintBlocks) -> bool:
    """Return True if no row of a system is time-dependent: J v = 0."""
    return all(system.rows.sigma[k].is_zero() for k in range(system.m))


def _independent_rows(J: Array) -> list[int]:
    """Return the first rows that have full rank."""
    kept: list[int] = []
    for k in range(J.shape[0]):
        if np.linalg.matrix_rank(J[[*kept, k]], tol=RANK) > len(kept):
            kept.append(k)
    return kept


def _grow(theta: Expression, fields: list[Expression], at: Array, rank: int) -> Classification:
    # near a regular point the kept fields span the reached directions; others add nothing to later brackets
    span = _values(theta, fields, at)
    newest, growth = list(fields), [int(np.linalg.matrix_rank(span, tol=RANK))]
    while newest:
        # each of the first brackets appears twice, with both signs
        first = len(growth) == 1
        pairs = [(f, g) for i, f in enumerate(fields) for j, g in enumerate(newest) if not first or i < j]
        brackets = [ca.jtimes(g, theta, f) - ca.jtimes(f, theta, g) for f, g in pairs]
        newest = []
        for bracket, value in zip(brackets, _values(theta, brackets, at).T):
            wider = np.column_stack([span, value])
            if np.linalg.matrix_rank(wider, tol=RANK) > growth[-1] + len(newest):
                span = wider
                newest.append(bracket)
        if newest:
            growth.append(growth[-1] + len(newest))
    holonomic = len(at) - growth[-1]
    return Classification(growth[0], tuple(growth), growth[-1], holonomic, rank - holonomic)


def _values(theta: Expression, fields: list[Expression], at: Array) -> Array:
    """Return the numeric columns at a point."""
    if not fields:
        return np.zeros((len(at), 0))
    return np.array(ca.Function('fields', [theta], [ca.densify(ca.horzcat(*fields))])(at))


def fundamental_loops(edges: Sequence[tuple[Point, Point]]) -> list[list[Point]]:
    """Return the independent cycles of a connected graph, each as its points in order (eq. 3.42).

    Args:
        edges: pairs of points, one joint each.

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
