"""Margins of a machine whose joints give way: measures by tipping axis instead of by edge of the support polygon.

The moment that holds the machine against a tipping motion is the work of the ground reactions in it. A measure by edge
is evaluated on each axis alone. For this the centre of mass is moved along the ground until the moment of the weight
about the axis equals the moment of the moving bodies: parts that stay on the ground, such as a pivoted axle, do not
count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.measures import MEASURES
from dyn_nodes.stability._states import Array
from dyn_nodes.stability.equilibrium.axes import TippingAxes
from dyn_nodes.stability.polygon import numbered_sides
from dyn_nodes.stability.support import Margin, Support, function_of, margins
from dyn_nodes.stability.zmp import zmp_degree

FAR = 1e3
"""Half the side of the square that the axes cut, m."""


class AxisMoments(NamedTuple):
    """Moments that hold a machine against its tipping motions.

    Attributes:
        weight: (e,) moments of the weight at rest, N m.
        total: (e,) moments of the reactions, motion included, N m.
    """

    weight: Array
    total: Array


def axis_margins(
    support: Support,
    axes: TippingAxes,
    moments: AxisMoments,
    names: Iterable[str],
    counted: NDArray[np.bool_] | None = None,
) -> dict[str, Margin]:
    """Return the margins of a machine by its tipping axes.

    Args:
        support: the state; its polygon is `axis_polygon`.
        axes: e tipping axes.
        moments: about the axes.
        names: of measures. `conservative` and `admissible` need more than the axes and are not valid; if an axis is not
            fixed in the machine, measures by energy and by angle are not valid either.
        counted: (w,) wheels that count.
    """
    result = {}
    distance = moments.weight / (support.mass * support.gravity)
    for name in names:
        unit = MEASURES[name].unit
        if name == 'load_share':
            result[name] = margins(support, (name,), counted)[name]
        elif name == 'static':
            result[name] = _margin(distance, unit)
        elif name == 'net_moment':
            result[name] = _margin(moments.total, unit)
        elif name == 'longitudinal':
            result[name] = _longitudinal(support, axes, distance, unit)
        elif name == 'zmp':
            normal_force = float(support.normal_loads.sum()) if support.normal_loads is not None else 0.0
            corners = axis_polygon(axes, distance, support)
            if len(corners) < 3:
                result[name] = _margin(np.full(len(distance), -np.inf), unit)
                continue
            radius = float(zmp_degree(corners, corners.mean(axis=0), -support.up, up=support.up).inradius)
            edges = moments.total / (normal_force * radius) if normal_force > 0.0 else np.full(len(distance), -np.inf)
            result[name] = _margin(edges, unit)
        elif MEASURES[name].per == 'edge' and axes.fixed.all():
            result[name] = _by_axis(name, support, axes, moments, distance)
        else:
            result[name] = Margin(-np.inf, np.full(len(distance), np.nan), False, unit)
    return result


def _margin(edges: Array, unit: str) -> Margin:
    least = float(edges.min()) if len(edges) else -np.inf
    return Margin(least, edges, bool(np.isfinite(edges).all() and len(edges)), unit)


def name_axes(axes: TippingAxes, travel: Array) -> tuple[str, ...]:
    """Return the names of the axes by side of the machine, like `name_edges`."""
    outward = -_inward(axes)
    left = outward[:, 1] * travel[0] - outward[:, 0] * travel[1]
    return numbered_sides(outward[:, :2] @ travel[:2], left)


def _inward(axes: TippingAxes) -> Array:
    """Return (e, 3) unit vectors from each axis to the machine, along the ground."""
    along = axes.directions
    return np.column_stack([-along[:, 1], along[:, 0], np.zeros(len(along))])


def _longitudinal(support: Support, axes: TippingAxes, distance: Array, unit: str) -> Margin:
    """Return the distances to the nearest axis ahead and behind, along the direction of travel."""
    speed = _inward(axes) @ support.travel
    with np.errstate(divide='ignore'):
        way = distance / np.abs(speed)
    ahead, behind = way[speed < -1e-9].min(initial=np.inf), way[speed > 1e-9].min(initial=np.inf)
    return _margin(np.array([ahead, behind]), unit)


def _by_axis(name: str, support: Support, axes: TippingAxes, moments: AxisMoments, distance: Array) -> Margin:
    """Return a measure of an edge, evaluated on a triangle whose first edge is the axis."""
    along, inward = axes.directions, _inward(axes)
    first, second = axes.lines[:, 0], axes.lines[:, 1]
    width = np.linalg.norm(second - first, axis=1, keepdims=True)
    third = 0.5 * (first + second) + width * inward
    third[:, 2] = 0.0
    lean = support.up[:2] / support.up[2]
    below = support.com[:2] - support.com[2] * lean
    start = first[:, :2] - first[:, 2:] * lean
    shift = distance - ((below - start) * inward[:, :2]).sum(axis=1)
    com = support.com + shift[:, None] * inward
    edge = (second - first) / width
    held = -(edge * (np.cross(com - first, support.force) + support.moment)).sum(axis=1)
    # the edge may be inclined: its moment is the moment about the axis seen from above times the cosine
    level = (edge * along).sum(axis=1)
    batch = support.states._replace(
        feet=np.stack([first, second, third], axis=1),
        com=np.ascontiguousarray(com),
        moment=np.ascontiguousarray(support.moment + (held - moments.total * level)[:, None] * edge),
    )
    _, edges, valid = function_of(name)(batch)
    margin = _margin(np.array(edges)[:, 0], MEASURES[name].unit)
    return margin._replace(valid=margin.valid and bool(np.asarray(valid).all()))


def axis_polygon(axes: TippingAxes, distance: Array, support: Support) -> Array:
    """Return the corners (n, 3), m, of the area of the ground above which the centre of mass is held."""
    lean = support.up[:2] / support.up[2]
    below = support.com[:2] - support.com[2] * lean
    polygon = FAR * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]) + below
    for inward, margin in zip(_inward(axes)[:, :2], distance):
        polygon = _cut(polygon, (polygon - below) @ inward + margin)
    return np.column_stack([polygon, np.zeros(len(polygon))])


def _cut(polygon: Array, level: Array) -> Array:
    """Return the part of a convex polygon (n, 2) in which a linear level, (n,) at its corners, is positive."""
    corners = []
    for k in range(len(polygon)):
        last = k - 1
        if (level[k] > 0.0) != (level[last] > 0.0):
            share = level[last] / (level[last] - level[k])
            corners.append(polygon[last] + share * (polygon[k] - polygon[last]))
        if level[k] > 0.0:
            corners.append(polygon[k])
    return np.array(corners).reshape(-1, 2)
