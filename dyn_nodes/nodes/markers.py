"""RViz markers of stability: polygon, forces, critical edge, zero moment point, text of the margins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dyn_nodes.measures import BANDS, CAUTION, DANGER, MEASURES, OK, Levels
from dyn_nodes.middleware import message
from dyn_nodes.stability.balance import Balance

Marker = message('visualization_msgs/msg/Marker')
MarkerArray = message('visualization_msgs/msg/MarkerArray')
Point = message('geometry_msgs/msg/Point')
ColorRGBA = message('std_msgs/msg/ColorRGBA')

ARROW, SPHERE, LINE_STRIP, LINE_LIST, TEXT = 0, 2, 4, 5, 9
DELETE = 2
"""Action of a marker that removes it."""
SPAN = 5.0
"""Greatest distance between contacts, m, of a machine that is drawn with the sizes of this module."""
GREEN, YELLOW, RED, BLUE = (
    (0.0, 0.6, 0.5, 1.0),
    (0.95, 0.9, 0.25, 1.0),
    (0.84, 0.1, 0.1, 1.0),
    (0.0, 0.45, 0.7, 1.0),
)
COLOURS = {OK: GREEN, CAUTION: YELLOW, DANGER: RED}
TEXT_COLOURS = {OK: (0.1, 0.1, 0.12, 1.0), CAUTION: (0.6, 0.32, 0.0, 1.0), DANGER: (0.7, 0.05, 0.05, 1.0)}
"""Colours of the text, readable on the pale background of the layouts."""
TEXT_HEIGHT = 0.35
"""Height of the letters of a machine with `SPAN`, m."""
GROUND_CLEARANCE = 0.02


def marker_array(balance: Balance, levels: Mapping[str, Levels], frame: str, stamp: Any, weight: float) -> Any:
    """Return the markers of one instant in the ground's frame, in the colours of the worst band of the margins.

    Sizes are proportional to the greatest distance between contacts; the arrow of the weight, N, has this length.
    Without gravity the weight is 0, and arrows are scaled for 1 N.
    """
    offsets = balance.points[:, None, :2] - balance.points[None, :, :2]
    span = float(np.linalg.norm(offsets, axis=2).max()) or 1.0
    bands = {name: levels[name].band(margin.value) for name, margin in balance.margins.items()}
    band = max(bands.values(), key=BANDS.index, default=OK)
    markers = [
        _polygon(balance),
        _critical_edge(balance, band),
        *_forces(balance, span / (weight or 1.0)),
        _point('center_of_mass', 0, balance.center_of_mass, BLUE, 0.25),
    ]
    if np.isfinite(balance.zmp).all():
        markers.append(_point('zmp', 0, (*balance.zmp, GROUND_CLEARANCE), COLOURS[band], 0.2))
    else:
        removed = _marker('zmp', 0, SPHERE, BLUE, (0.0, 0.0, 0.0))
        removed.action = DELETE
        markers.append(removed)
    markers.append(_text(balance, bands, band, 3.0 * span / SPAN))
    for marker in markers:
        marker.header.frame_id, marker.header.stamp = frame, stamp
        for axis in 'xyz':
            setattr(marker.scale, axis, getattr(marker.scale, axis) * span / SPAN)
    return MarkerArray(markers=markers)


def _marker(namespace: str, number: int, kind: int, colour: tuple[float, float, float, float], size: Any) -> Any:
    marker = Marker()
    marker.ns, marker.id, marker.type, marker.action = namespace, number, kind, 0
    marker.pose.orientation.w = 1.0
    marker.scale.x, marker.scale.y, marker.scale.z = (float(s) for s in size)
    marker.color = ColorRGBA(r=colour[0], g=colour[1], b=colour[2], a=colour[3])
    return marker


def _at(values: Any) -> Any:
    x, y, z = values
    return Point(x=float(x), y=float(y), z=float(z))


def _raised(point: Any) -> tuple[float, float, float]:
    return float(point[0]), float(point[1]), float(point[2]) + GROUND_CLEARANCE


def _polygon(balance: Balance) -> Any:
    marker = _marker('support_polygon', 0, LINE_STRIP, GREEN, (0.05, 0.0, 0.0))
    corners = balance.corners
    marker.points = [_at(_raised(point)) for point in (*corners, corners[0])]
    return marker


def _critical_edge(balance: Balance, band: str) -> Any:
    """Return the marker of the edge with the least value of the last measure by edge."""
    by_edge = [m for name, m in balance.margins.items() if balance.names(name) == balance.edge_names]
    marker = _marker('critical_edge', 0, LINE_LIST, RED if band == DANGER else YELLOW, (0.09, 0.0, 0.0))
    if by_edge:
        start, end = balance.edge_lines[int(np.argmin(by_edge[-1].edges))]
        marker.points = [_at(_raised(start)), _at(_raised(end))]
    return marker


def _forces(balance: Balance, metres_per_newton: float) -> list[Any]:
    markers = []
    for number, (point, force, axes) in enumerate(zip(balance.points, balance.forces, balance.axes)):
        load = float(force[2])
        marker = _marker('ground_reactions', number, ARROW, RED if load <= 0.0 else GREEN, (0.08, 0.16, 0.2))
        length = max(load * metres_per_newton, 1e-3)
        marker.points = [_at(point), _at(point + length * axes[:, 2])]
        markers.append(marker)
    return markers


def _point(namespace: str, number: int, position: Any, colour: tuple[float, float, float, float], size: float) -> Any:
    marker = _marker(namespace, number, SPHERE, colour, (size, size, size))
    marker.pose.position = _at(position)
    return marker


def _text(balance: Balance, bands: Mapping[str, str], band: str, height: float) -> Any:
    marker = _marker('margins', 0, TEXT, TEXT_COLOURS[band], (0.0, 0.0, TEXT_HEIGHT))
    marker.pose.position = _at(
        (balance.center_of_mass[0], balance.center_of_mass[1], balance.center_of_mass[2] + height)
    )
    lines = []
    for name, margin in balance.margins.items():
        measure, word = MEASURES[name], '' if bands[name] == OK else f', {bands[name]}'
        value = measure.display(margin.value) if margin.valid else 'not valid'
        lines.append(f'{measure.label}: {value} ({balance.critical_edge(name)}{word})')
    marker.text = '\n'.join(lines)
    return marker
