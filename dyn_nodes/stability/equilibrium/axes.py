"""Tipping axes of a machine in one position: its tipping motions and the resistance against each.

A tipping motion lifts some supports and leaves all others on the ground: it is an extreme ray of the displacements that
no support and no joint stop prevents, with rigid springs and tyres. For a machine that stands as one body these motions
are the turns about the edges of the support polygon; with a pivoted axle some axes pass through the pivot (ISO 8813,
ISO 22915).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.stability.equilibrium.balance import new_balance
from dyn_nodes.stability.equilibrium.gear import RunningGear
from dyn_nodes.stability.equilibrium.states import balance_kernel
from dyn_nodes.stability.polygon import support_order

TOUCHING = 1e-9
"""Rate of a support or a stop in a motion, m or rad per unit, below which it does not move."""
AT_STOP = 1e-4
"""Distance of a joint from its limit, rad or m, within which it is at its stop."""
SAME, NEAR = 1e-6, 2e-3
"""Tolerance of equal axes, and of the distance of a point from an axis through it, m or rad."""
MOST_ROWS = 5000
"""Greatest number of tried combinations of supports and stops."""


class Bodies(NamedTuple):
    """Poses and masses of the bodies of a gear.

    Attributes:
        rotation, origin: (n, 3, 3) and (n, 3), m, in axes of the ground.
        axis: (n, 3) of the joints.
        mass, center: (n,) kg and (n, 3) m, of each body together with all bodies beyond it.
        compression: (c,) of the supports, m.
        beyond: (n, n) 1 if a body (row) is moved by a joint (column), else 0.
        lean: (2,) gravity along the ground over gravity along its normal.
    """

    rotation: Array
    origin: Array
    axis: Array
    mass: Array
    center: Array
    compression: Array
    beyond: Array
    lean: Array = np.zeros(2)


class Axis(NamedTuple):
    """One axis: angle from x, rad; motion (n,); line (2, 3), m; names of its points; the body that tips."""

    angle: float
    motion: Array
    line: Array
    names: tuple[str, ...]
    body: int


@dataclass(frozen=True, eq=False)
class TippingAxes:
    """The tipping axes of a machine in one position, counter-clockwise.

    Attributes:
        motions: (e, n) displacements of the joints of the gear; the body that tips turns by 1 rad.
        lifts: (e, c) rate of each support, m/rad.
        weights: (e, 3) rate of the mass moment of the machine, kg m/rad: its scalar product with gravity is the work.
        lines: (e, 2, 3) two points of each axis, m; seen from the first towards the second, the machine is on the left.
        fixed: (e,) True if the axis is fixed in the machine: it passes through two points of supports or pivots.
        leaves_stop: (e,) True if a joint leaves its stop as the machine tips.
        names: of the supports or pivots on each axis.
        tipping: (e,) body that tips.
    """

    motions: Array
    lifts: Array
    weights: Array
    lines: Array
    fixed: NDArray[np.bool_]
    leaves_stop: NDArray[np.bool_]
    names: tuple[tuple[str, ...], ...]
    tipping: NDArray[np.intp]

    @property
    def directions(self) -> Array:
        """(e, 3) unit vectors along the axes, seen from above."""
        along = self.lines[:, 1] - self.lines[:, 0]
        along[:, 2] = 0.0
        return np.asarray(along / np.linalg.norm(along, axis=1, keepdims=True))


def bodies_at(running: RunningGear, q: Array, payload: float) -> Bodies:
    """Return the bodies at a position (n,) of the gear with a payload, kg."""
    at = new_balance(running.gear)
    balance_kernel(running.gear, q, float(payload), np.array([0.0, 0.0, -1.0]), np.zeros(running.gear.rows), at)
    rotation, origin, axis, mass, center = (
        at.bodies[name].copy() for name in ('rotation', 'origin', 'axis', 'mass', 'center')
    )
    beyond = np.eye(len(mass))
    for j, parent in enumerate(running.gear.joints['parent'].tolist()):
        if parent >= 0:
            beyond[j] += beyond[parent]
    return Bodies(rotation, origin, axis, mass, center, at.compression.copy(), beyond)


def point_rates(running: RunningGear, bodies: Bodies, body: int, point: Array) -> Array:
    """Return the displacement (n, 3) of a point (3,) of a body by a unit of each joint."""
    return np.asarray(_rates_of_points(running, bodies, np.array([body]), point[None])[0])


def _rates_of_points(running: RunningGear, bodies: Bodies, of: NDArray[np.intp], points: Array) -> Array:
    """Return the displacements (k, n, 3) of points (k, 3) of bodies (k,) by a unit of each joint."""
    sliding = running.gear.joints['sliding'].astype(bool)[:, None]
    rates = np.where(sliding, bodies.axis, _cross(bodies.axis, points[:, None] - bodies.origin))
    return np.asarray(rates * bodies.beyond[of][..., None])


def _cross(a: Array, b: Array) -> Array:
    """Return a x b along the last axis; several times faster than NumPy's function for few vectors."""
    result = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
        np.subtract(a[..., j] * b[..., k], a[..., k] * b[..., j], out=result[..., i])
    return result


def _push_rates(running: RunningGear, bodies: Bodies, points: Array) -> Array:
    """Return the work (c, n), by joint, of a ground reaction of 1 N parallel to gravity at each support."""
    supports = running.gear.supports
    of = supports['body'].astype(np.intp)
    feet = np.where(supports['at_attachment'].astype(bool)[:, None], points, points * (1.0, 1.0, 0.0))
    lifted, slipped = (_rates_of_points(running, bodies, of, at) for at in (points, feet))
    return np.asarray(lifted[..., 2] + slipped[..., :2] @ bodies.lean)


def support_points(running: RunningGear, bodies: Bodies) -> Array:
    """Return the attachments (c, 3) of the supports, m."""
    supports = running.gear.supports
    return (
        np.einsum('kij,kj->ki', bodies.rotation[supports['body']], supports['point']) + bodies.origin[supports['body']]
    )


def carrying_supports(compression: Array) -> NDArray[np.bool_]:
    """Return (c,) True for supports that carry, or would before the machine moves by more than its springs yield."""
    return np.asarray(compression > -max(float(compression.max(initial=0.0)), 0.0))


def tipping_axes(
    running: RunningGear, q: Array, payload: float, gravity: Array, carrying: NDArray[np.bool_]
) -> TippingAxes:
    """Return the tipping axes of a machine at a position of its gear.

    Args:
        running: the gear.
        q: (n,) position.
        payload: kg.
        gravity: (3,) in axes of the ground, m/s2.
        carrying: (c,) supports that count.
    """
    bodies = bodies_at(running, q, payload)
    bodies = bodies._replace(lean=np.array([gravity[0] / gravity[2], gravity[1] / gravity[2]]))
    points = support_points(running, bodies)
    rates = _push_rates(running, bodies, points)
    fixed = _equalities(running, q, bodies)
    basis = _null_space(fixed) if len(fixed) else np.eye(len(q))
    rows = np.vstack([rates[_corners(running, points, carrying)], _stops(running, q)])
    motions = _rays(rows @ basis) @ basis.T
    masses = bodies.mass.copy()
    for j, parent in enumerate(running.gear.joints['parent'].tolist()):
        if parent >= 0:
            masses[parent] -= bodies.mass[j]
    axes = (_axis(running, bodies, points, masses, motion) for motion in motions)
    ordered = sorted(axes, key=lambda axis: axis.angle)
    merged = _merged(ordered)
    motions = np.array([axis.motion for axis in merged]).reshape(-1, len(q))
    stops = _stops(running, q)
    return TippingAxes(
        motions,
        motions @ rates.T,
        motions @ mass_rates(running, bodies),
        np.array([axis.line for axis in merged]).reshape(-1, 2, 3),
        np.array([len(axis.names) > 1 for axis in merged], dtype=bool),
        (motions @ stops.T > TOUCHING).any(axis=1),
        tuple(axis.names for axis in merged),
        np.array([axis.body for axis in merged], dtype=np.intp),
    )


def mass_rates(running: RunningGear, bodies: Bodies) -> Array:
    """Return the rate (n, 3) of the mass moment of the machine by each joint, kg m."""
    sliding = running.gear.joints['sliding'].astype(bool)[:, None]
    turned = _cross(bodies.axis, bodies.center - bodies.origin)
    return np.asarray(bodies.mass[:, None] * np.where(sliding, bodies.axis, turned))


def _merged(axes: list[Axis]) -> list[Axis]:
    """Return axes with equal lines of the same body merged; their motions are averaged."""
    groups: list[list[Axis]] = []
    for axis in axes:
        same = next((group for group in groups if _is_same(group[0], axis)), None)
        if same is None:
            groups.append([axis])
        else:
            same.append(axis)
    return [group[0]._replace(motion=np.mean([axis.motion for axis in group], axis=0)) for group in groups]


def _is_same(one: Axis, two: Axis) -> bool:
    if one.body != two.body:
        return False
    along = one.line[1] - one.line[0]
    along = along / np.linalg.norm(along[:2])
    turned = abs(np.angle(np.exp(1j * (one.angle - two.angle))))
    return turned < SAME and _beside(two.line[0], one.line[0], along) < SAME


def _equalities(running: RunningGear, q: Array, bodies: Bodies) -> Array:
    """Return rows (m, n) that a rigid motion must satisfy: constraints, and sprung joints, which count as rigid."""
    gear = running.gear
    at = new_balance(gear)
    balance_kernel(gear, q, 0.0, np.array([0.0, 0.0, -1.0]), np.zeros(gear.rows), at)
    sprung = np.eye(len(q))[gear.joints['spring'] > 0.0]
    return np.vstack([at.rows.copy(), sprung])


def _stops(running: RunningGear, q: Array) -> Array:
    """Return rows (s, n) of the joints at their stops; admissible motions have rates of 0 or more."""
    joints = running.gear.joints
    lower, upper = q - joints['lower'] < AT_STOP, joints['upper'] - q < AT_STOP
    return np.vstack([np.eye(len(q))[lower], -np.eye(len(q))[upper]])


def _corners(running: RunningGear, points: Array, carrying: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the carrying supports; of more than three on one body, those at the corners of their polygon."""
    corners: list[int] = []
    bodies = running.gear.supports['body']
    for body in np.unique(bodies):
        on_body = np.flatnonzero(carrying & (bodies == body))
        if len(on_body) > 3:
            try:
                on_body = on_body[support_order(points[on_body])]
            except ValueError:  # on one line
                along = points[on_body] @ (points[on_body[-1]] - points[on_body[0]])
                on_body = on_body[[int(np.argmin(along)), int(np.argmax(along))]]
        corners += [int(k) for k in on_body]
    return np.array(sorted(corners), dtype=np.intp)


def _null_space(rows: Array) -> Array:
    """Return an orthonormal basis (n, k) of the null space of rows (m, n)."""
    _, sizes, right = np.linalg.svd(rows)
    rank = int((sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300)).sum())
    return np.asarray(right[rank:].T)


def _rays(rows: Array) -> Array:
    """Return the extreme rays (e, k) of the cone rows s >= 0, without the null space of the rows."""
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    seen = np.linalg.svd(rows)[2][: np.linalg.matrix_rank(rows, 1e-9)].T if len(rows) else np.zeros((rows.shape[1], 0))
    reduced = rows @ seen
    size = reduced.shape[1]
    rays: list[Array] = []
    if not size:
        return np.zeros((0, rows.shape[1]))
    choices = list(islice(combinations(range(len(rows)), size - 1), MOST_ROWS))
    _, sizes, right = np.linalg.svd(reduced[np.array(choices, dtype=np.intp).reshape(len(choices), size - 1)])
    candidates = right[(sizes > 1e-9).all(axis=1), -1]
    rates = candidates @ reduced.T
    falls, rises = rates.min(axis=1) < -TOUCHING, rates.max(axis=1) > TOUCHING
    for ray in (np.where(rises, 1.0, -1.0)[:, None] * candidates)[~(falls & rises)]:
        if not any(np.abs(ray - other).max() < SAME for other in rays):
            rays.append(ray)
    return np.array(rays).reshape(-1, size) @ seen.T


def _axis(running: RunningGear, bodies: Bodies, points: Array, masses: Array, motion: Array) -> Axis:
    """Return the axis of a motion; masses: (n,) of the bodies alone, kg."""
    turning = ~running.gear.joints['sliding'].astype(bool)
    turns = bodies.beyond @ ((motion * turning)[:, None] * bodies.axis)
    speeds = np.linalg.norm(turns[:, :2], axis=1)
    body = int(np.argmax(masses * speeds * (np.arange(len(masses)) >= running.gear.base)))
    scale = float(speeds[body]) or 1.0
    motion, turn = motion / scale, turns[body] / scale
    direction = np.array([turn[0], turn[1], 0.0])
    # the work of a ground reaction at a point (x, y) is turn_x y - turn_y x + rise: zero on the axis
    below = np.array([bodies.origin[body][0], bodies.origin[body][1], 0.0])
    rates = point_rates(running, bodies, body, below)
    rise = float(motion @ (rates[:, 2] + rates[:, :2] @ bodies.lean))
    inward = np.array([-direction[1], direction[0], 0.0])
    foot = below - rise * inward
    through = _through(running, bodies, points, motion, body, foot, direction)
    line = np.array([point for _, point in through]) if through else np.array([foot, foot + direction])
    names = tuple(name for name, _ in through)
    return Axis(float(np.arctan2(direction[1], direction[0])), motion, line, names, body)


def _through(
    running: RunningGear, bodies: Bodies, points: Array, motion: Array, body: int, foot: Array, direction: Array
) -> list[tuple[str, Array]]:
    """Return the first and the last point of the machine on an axis, with their names."""
    joints = running.gear.joints
    points_on_axis: list[tuple[str, Array]] = []
    pivots: list[tuple[float, str, Array]] = []
    for k, point in enumerate(points):
        moves_along = _is_rigid_with(running, motion, int(running.gear.supports['body'][k]), body)
        if moves_along and _beside(point, foot, direction) < NEAR:
            points_on_axis.append((running.supports[k], np.array([point[0], point[1], 0.0])))
    for j in range(running.gear.base + 1, len(motion)):
        if joints['sliding'][j] or body not in (j, int(joints['parent'][j])):
            continue
        point = _crossing(bodies.origin[j], bodies.axis[j], foot, direction, bodies.lean)
        if point is not None:
            pivots.append((float(np.linalg.norm(point - bodies.origin[j])), running.joints[j], point))
    for _, name, point in sorted(pivots, key=lambda pivot: pivot[0]):  # the nearest of pivots on one line
        if all(np.linalg.norm(point - other) > SAME for _, other in points_on_axis):
            points_on_axis.append((name, point))
    points_on_axis.sort(key=lambda pair: float(pair[1] @ direction))
    if len(points_on_axis) < 2 or float((points_on_axis[-1][1] - points_on_axis[0][1]) @ direction) < 1e-3:
        return []
    return [points_on_axis[0], points_on_axis[-1]]


def _is_rigid_with(running: RunningGear, motion: Array, one: int, two: int) -> bool:
    """Return whether no joint between two bodies moves."""
    parent = running.gear.joints['parent']
    while one != two:
        if abs(motion[max(one, two)]) > TOUCHING:
            return False
        one, two = min(one, two), int(parent[max(one, two)])
    return True


def _beside(point: Array, foot: Array, direction: Array) -> float:
    """Return the distance, m, of a point from an axis, seen from above."""
    return abs(float(direction[0] * (point[1] - foot[1]) - direction[1] * (point[0] - foot[0])))


def _crossing(origin: Array, axis: Array, foot: Array, direction: Array, lean: Array) -> Array | None:
    """Return the point of a pivot's axis above a tipping axis, seen along gravity; None if they are parallel."""
    below, along = origin[:2] - origin[2] * lean, axis[:2] - axis[2] * lean
    sine = float(direction[0] * along[1] - direction[1] * along[0])
    beside = float(direction[0] * (below[1] - foot[1]) - direction[1] * (below[0] - foot[0]))
    if abs(sine) < 1e-3:
        return origin.copy() if abs(beside) < NEAR else None
    return np.asarray(origin - beside / sine * axis)
