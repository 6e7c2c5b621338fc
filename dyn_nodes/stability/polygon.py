"""The support polygon: order of the contact points, checks, and the geometry of its edges.

Edge i runs from contact point i to contact point i + 1 (the last one back to the first), counter-clockwise seen from
above. The machine is therefore on the left of every edge, and a *positive* rotation about an edge overturns it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.errors import UserError
from dyn_nodes.model.rotations import cross, length
from dyn_nodes.stability._states import UP, Array, as_states, contiguous, kernel

COLLINEAR = 1e-9  # sine of a turn below this is a straight line
SIDES = ('front', 'left', 'rear', 'right')
_FAULTS = {
    1: 'two neighbouring contact points coincide when seen from above (points {i} and {j})',
    2: 'the contact points are not a convex polygon counter-clockwise seen from above (turn at point {j}); '
    'sort them with support_order()',
    3: 'the contact points lie on one line: there is no support polygon',
}


class PolygonError(UserError, ValueError):
    """Contact points do not form a support polygon."""


def horizontal_axes(up: ArrayLike) -> tuple[Array, Array]:
    """Return two unit vectors (3,), (3,) that span the horizontal plane, right-handed with `up` (3,)."""
    normal = unit_vector(up, 'up')
    first = cross(np.eye(3)[np.argmin(np.abs(normal))], normal)
    first /= length(first)
    return first, cross(normal, first)


def unit_vector(vector: ArrayLike, name: str) -> Array:
    """Return the vector (3,) scaled to length 1. Raises ValueError if it is zero or not finite."""
    array = contiguous(vector)
    size = length(array) if array.shape == (3,) else 0.0
    if not 0.0 < size < math.inf:
        raise ValueError(f'{name}: expected a finite vector of 3 numbers that is not zero, found {array.tolist()}')
    return array / size


def support_order(points: ArrayLike, up: ArrayLike = UP) -> NDArray[np.intp]:
    """Return the indices of the contact points on the support polygon, counter-clockwise seen from above.

    The polygon is the convex hull of the points projected along `up` (abo-shanab-2003, section 2.2). Points inside it
    or on the line between two others are not corners and are omitted.

    Args:
        points: (w, 3) contact points, m, any order.
        up: (3,) direction against gravity.

    Returns:
        (n,) indices, n >= 3; the first point has the least projected coordinates.

    Raises:
        ValueError: fewer than three points, points not finite, or all on one line.
    """
    array = contiguous(points)
    if array.ndim != 2 or array.shape[1] != 3 or array.shape[0] < 3:
        raise ValueError(f'points: expected shape (w, 3) with w >= 3, found {array.shape}')
    if not np.isfinite(array).all():
        raise ValueError(f'points: point {int(np.argmin(np.isfinite(array).all(axis=1)))} is not finite')
    flat = array @ np.column_stack(horizontal_axes(up))
    projected = flat.tolist()
    order = sorted(range(len(projected)), key=projected.__getitem__)
    lower, upper = _half_hull(projected, order), _half_hull(projected, order[::-1])
    hull = lower[:-1] + upper[:-1]
    if len(hull) < 3:
        raise ValueError('points: ' + _FAULTS[3])
    first = hull.index(min(hull))
    return np.array(hull[first:] + hull[:first], dtype=np.intp)


def _half_hull(points: list[list[float]], order: list[int]) -> list[int]:
    """Return the lower chain of the convex hull in an order (Andrew's monotone chain), without straight turns."""
    chain: list[int] = []
    for index in order:
        x, y = points[index]
        while len(chain) > 1:
            (x0, y0), (x1, y1) = points[chain[-2]], points[chain[-1]]
            turn = (x1 - x0) * (y - y1) - (y1 - y0) * (x - x1)
            if turn > COLLINEAR * math.hypot(x1 - x0, y1 - y0) * math.hypot(x - x1, y - y1):
                break
            chain.pop()
        if not chain or points[chain[-1]] != points[index]:
            chain.append(index)
    return chain


def polygon_states(feet: ArrayLike, up: ArrayLike, **others: ArrayLike) -> tuple[list[Array], bool]:
    """Add a leading dimension of 1 or t to feet, others, each (3,) or (t, 3), and up, and check the polygon.

    Returns:
        The arrays in this order, and True if no input was a batch.

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
    """
    vectors: dict[str, tuple[ArrayLike, tuple[int | str, ...]]] = {
        name: (values, (3,)) for name, values in others.items()
    }
    arrays, single = as_states(feet=(feet, ('n', 3)), **vectors, up=(up, (3,)))
    check_polygon(arrays[0], arrays[-1])
    return arrays, single


def check_polygon(feet: Array, up: Array, first: int = 0) -> None:
    """Check the support polygons of a batch.

    Args:
        feet: (t or 1, n, 3), m.
        up: (t or 1, 3).
        first: number of the first state, for the message.

    Raises:
        ValueError: fewer than three points.
        PolygonError: a polygon has no area, repeated points, or is not convex and counter-clockwise. Points that are
            not finite pass the check; the measures are then not valid.
    """
    if feet.shape[1] < 3:
        raise ValueError(f'feet: a support polygon needs at least 3 contact points, found {feet.shape[1]}')
    state, vertex, fault = polygon_fault_kernel(feet, up)
    if fault:
        n = feet.shape[1]
        where = f' in state {first + state}' if feet.shape[0] > 1 or up.shape[0] > 1 else ''
        raise PolygonError(f'feet{where}: ' + _FAULTS[fault].format(i=vertex, j=(vertex + 1) % n))


def polygon_fault(feet: Array, up: Array, names: Sequence[str]) -> str:
    """Return why the ground points of wheels form no support polygon, with the names of the wheels; '' if they do.

    Args:
        feet: (n, 3) ground points in the order of the polygon, m.
        up: (3,) unit vector against the direction of view.
        names: n names.
    """
    _, vertex, fault = polygon_fault_kernel(np.ascontiguousarray(feet[np.newaxis]), contiguous(up)[np.newaxis])
    if not fault:
        return ''
    n = len(names)
    near = [names[(vertex + k) % n] for k in range(3)]
    if fault == 1:
        return f'the ground points of {near[0]} and {near[1]} coincide'
    if fault == 3:
        return f'the ground points of {", ".join(names)} lie on one line'
    flat = (feet @ np.column_stack(horizontal_axes(up))).tolist()
    crossed = _crossing(flat)
    if crossed is not None:
        a, b = (f'from {names[k]} to {names[(k + 1) % n]}' for k in crossed)
        return f'the ground points of the wheels cross: the edges {a} and {b} intersect'
    if sum(flat[k - 1][0] * flat[k][1] - flat[k - 1][1] * flat[k][0] for k in range(n)) < 0.0:
        return f'the ground points of {", ".join(names)} are in reverse order: the ground is seen from below'
    return f'the ground point of {near[1]} is not a corner between {near[0]} and {near[2]}'


def _crossing(corners: list[list[float]]) -> tuple[int, int] | None:
    """Return the indices of the first two edges of a polygon (n, 2) that intersect; None if none do."""

    def side(a: list[float], b: list[float], c: list[float]) -> float:
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    n = len(corners)
    for i in range(n):
        for j in range(i + 2, n - (i == 0)):
            a, b, c, d = corners[i], corners[i + 1], corners[j], corners[(j + 1) % n]
            if side(a, b, c) * side(a, b, d) < 0.0 and side(c, d, a) * side(c, d, b) < 0.0:
                return i, j
    return None


@kernel
def polygon_fault_kernel(feet, up):
    """Return the first fault of a batch of polygons: (state, vertex, code); code 0 without a fault."""
    n = feet.shape[1]
    for s in range(max(feet.shape[0], up.shape[0])):
        f = feet[s if feet.shape[0] > 1 else 0]
        u = up[s if up.shape[0] > 1 else 0]
        turning = 0.0
        bend = 0.0
        for i in range(n):
            j = (i + 1) % n
            k = (i + 2) % n
            ax, ay, az = _horizontal(f, i, j, u)
            bx, by, bz = _horizontal(f, j, k, u)
            scale = np.sqrt((ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz))
            if np.isnan(scale):
                bend = np.nan
                break
            if ax * ax + ay * ay + az * az == 0.0:
                return s, i, 1
            sine = u[0] * (ay * bz - az * by) + u[1] * (az * bx - ax * bz) + u[2] * (ax * by - ay * bx)
            cosine = ax * bx + ay * by + az * bz
            if sine < -COLLINEAR * scale:
                return s, i, 2
            if abs(sine) <= COLLINEAR * scale and cosine < 0.0:
                return s, i, 3
            bend = max(bend, sine / scale if scale > 0.0 else 0.0)
            turning += np.arctan2(sine, cosine)
        if np.isnan(bend):
            continue
        if bend <= COLLINEAR:
            return s, 0, 3
        if turning > 2.0 * np.pi + 1e-3:  # a star: all turns to the left, more than one revolution
            return s, 0, 2
    return 0, 0, 0


@kernel
def _horizontal(feet, i, j, up):
    """Return the vector from point i to point j without its component along `up`."""
    x = feet[j, 0] - feet[i, 0]
    y = feet[j, 1] - feet[i, 1]
    z = feet[j, 2] - feet[i, 2]
    along = x * up[0] + y * up[1] + z * up[2]
    return x - along * up[0], y - along * up[1], z - along * up[2]


@kernel
def edge_inward(feet, i, normal):
    """Return the unit vector in the plane across `normal` that points from edge i to the inside."""
    return chord_inward(feet, i, (i + 1) % feet.shape[0], normal)


@kernel
def chord_inward(feet, i, j, normal):
    """Return the unit vector in the plane across `normal` that points to the left of the line from foot i to foot j."""
    x, y, z = _horizontal(feet, i, j, normal)
    length = np.sqrt(x * x + y * y + z * z)
    return (
        (normal[1] * z - normal[2] * y) / length,
        (normal[2] * x - normal[0] * z) / length,
        (normal[0] * y - normal[1] * x) / length,
    )


@kernel
def edge_direction(feet, i):
    """Return the unit vector along edge i, in space (an edge may be inclined)."""
    j = (i + 1) % feet.shape[0]
    x = feet[j, 0] - feet[i, 0]
    y = feet[j, 1] - feet[i, 1]
    z = feet[j, 2] - feet[i, 2]
    length = np.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


@kernel
def edge_moment(feet, i, point, force, moment):
    """Return the moment about edge i of a force at a point and a couple; a positive moment overturns the machine."""
    ex, ey, ez = edge_direction(feet, i)
    x = point[0] - feet[i, 0]
    y = point[1] - feet[i, 1]
    z = point[2] - feet[i, 2]
    return (
        ex * (y * force[2] - z * force[1] + moment[0])
        + ey * (z * force[0] - x * force[2] + moment[1])
        + ez * (x * force[1] - y * force[0] + moment[2])
    )


@kernel
def plane_normal(feet, normal):
    """Write the unit normal of the plane through the contact points (Newell's rule) into `normal` (3,)."""
    normal[:] = 0.0
    n = feet.shape[0]
    for i in range(n):
        j = (i + 1) % n
        for k in range(3):
            a = (k + 1) % 3
            b = (k + 2) % 3
            normal[k] += (feet[i, a] - feet[j, a]) * (feet[i, b] + feet[j, b])
    normal /= np.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)


@kernel
def inradius(feet, normal):
    """Return the radius of the largest circle in the polygon, seen along `normal`.

    It is the largest r with a centre at least r inside every edge: a linear program in three unknowns, whose solution
    touches three edges. Every triple of edges is tried.
    """
    n = feet.shape[0]
    lines = np.empty((n, 3))
    ux, uy, uz = edge_inward(feet, np.int64(0), normal)  # with a literal Numba compiles it twice
    vx = normal[1] * uz - normal[2] * uy
    vy = normal[2] * ux - normal[0] * uz
    vz = normal[0] * uy - normal[1] * ux
    scale = 0.0
    for i in range(n):
        mx, my, mz = edge_inward(feet, i, normal)
        lines[i, 0] = mx * ux + my * uy + mz * uz
        lines[i, 1] = mx * vx + my * vy + mz * vz
        lines[i, 2] = mx * (feet[i, 0] - feet[0, 0]) + my * (feet[i, 1] - feet[0, 1]) + mz * (feet[i, 2] - feet[0, 2])
        for k in range(3):
            scale = max(scale, abs(feet[i, k] - feet[0, k]))
    best = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            for k in range(j + 1, n):
                radius, x, y = _equidistant(lines, i, j, k)
                if radius <= best:
                    continue
                inside = True
                for edge in range(n):
                    if lines[edge, 0] * x + lines[edge, 1] * y - lines[edge, 2] < radius - 1e-9 * scale:
                        inside = False
                        break
                if inside:
                    best = radius
    return best


@kernel
def _equidistant(lines, i, j, k):
    """Return (r, x, y) of the point at the same signed distance r from three lines; r = -1 if it does not exist."""
    a, b, c = lines[i, 0] - lines[k, 0], lines[i, 1] - lines[k, 1], lines[i, 2] - lines[k, 2]
    d, e, f = lines[j, 0] - lines[k, 0], lines[j, 1] - lines[k, 1], lines[j, 2] - lines[k, 2]
    determinant = a * e - b * d
    if abs(determinant) < 1e-12:
        return -1.0, 0.0, 0.0
    x = (c * e - b * f) / determinant
    y = (a * f - c * d) / determinant
    return lines[k, 0] * x + lines[k, 1] * y - lines[k, 2], x, y


def name_edges(feet: ArrayLike, travel: ArrayLike = (1.0, 0.0, 0.0), up: ArrayLike = UP) -> tuple[str, ...]:
    """Return the names of the edges by side of the machine: `front`, `left`, `rear`, `right`.

    Args:
        feet: (n, 3) contact points in the order of the polygon, m.
        travel: (3,) forward direction of the machine.
        up: (3,) direction against gravity.

    Returns:
        n names; edges on the same side are numbered, `front_1`, `front_2`.
    """
    points, normal = contiguous(feet), unit_vector(up, 'up')
    ahead = unit_vector(contiguous(travel) - np.dot(travel, normal) * normal, 'travel')
    edges = np.roll(points, -1, axis=0) - points
    return numbered_sides(edges @ cross(normal, ahead), -edges @ ahead)


def numbered_sides(forward: Array, left: Array) -> tuple[str, ...]:
    """Return the names of the sides to which directions (n,), forward and left, point; equal names are numbered."""
    outward = zip(forward.tolist(), left.tolist())
    sides = [SIDES[round(math.atan2(aside, ahead) / (math.pi / 2)) % 4] for ahead, aside in outward]
    numbers = [sides[: i + 1].count(side) for i, side in enumerate(sides)]
    return tuple(side if sides.count(side) == 1 else f'{side}_{k}' for side, k in zip(sides, numbers))
