"""Can a body of this shape have this mass, and a machine of this size?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from dyn_nodes.model.machine import Array, Machine
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.model.problems import Report
from dyn_nodes.model.shapes import Shapes
from dyn_nodes.model.xml_source import parse_xml, read_urdf_text

LEAST_DENSITY, GREATEST_DENSITY = 1.0, 30_000.0
"""Of a link over the hull of its shapes, kg/m3: air has 1.2, platinum 21,450."""
LEAST_OF_A_CUBE = 0.01
"""Mass of a machine over the cube of its greatest extent, kg/m3; tower cranes have 0.05 and more."""
LEAST_SHARE = 0.005
"""Of the machine's mass: lighter links are often drawn as anything."""


def check_masses(machine: Machine, shapes: Shapes, lines: Mapping[str, int], report: Report) -> None:
    """Warn of masses that can not be right.

    Args:
        machine: the machine.
        shapes: of its links.
        lines: of the links in the URDF, by name.
        report: of the URDF.
    """
    for link in machine.links:
        points, radii = shapes.points(link.name)
        volume = hull_volume(points, radii)
        if link.mass <= LEAST_SHARE * machine.total_mass or volume <= 0.0:
            continue
        density = link.mass / volume
        if not LEAST_DENSITY <= density <= GREATEST_DENSITY:
            expected = f'{LEAST_DENSITY:g} to {GREATEST_DENSITY:g} kg/m3 over the hull of its shapes'
            found = f'{link.mass:.4g} kg in {volume:.4g} m3, {density:.4g} kg/m3'
            report.warn(lines.get(link.name), f'link {link.name}, mass', expected, found)
    extent = greatest_extent(machine, shapes)
    least = LEAST_OF_A_CUBE * extent**3
    if 0.0 < machine.total_mass < least:
        found = f'{machine.total_mass:.4g} kg (are the masses in tonnes, or the lengths in millimetres?)'
        report.warn(0, 'masses', f'at least {least:.3g} kg of a machine that measures {extent:.3g} m', found)


def lines_of(urdf: str, tag: str) -> dict[str, int]:
    """Return the lines of the elements of a tag (`link`, `joint`) in a URDF file by name; none if it can't be read."""
    aside = Report(urdf)
    text = read_urdf_text(Path(urdf), aside)
    root = None if text is None else parse_xml(text, aside)
    return {} if root is None else {(e.get('name') or '').strip(): int(e.sourceline or 0) for e in root.iter(tag)}


def hull_volume(points: Array, radii: Array) -> float:
    """Return the volume, m3, of the convex hull of points (n, 3); of balls (radius > 0) at least their own."""
    balls = float((4.0 / 3.0 * np.pi * radii**3).sum())
    sides = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=np.float64)
    around = (points[:, None] + radii[:, None, None] * sides).reshape(-1, 3)
    try:
        return max(balls, float(ConvexHull(np.unique(around, axis=0)).volume))
    except (QhullError, ValueError):
        return balls


def greatest_extent(machine: Machine, shapes: Shapes) -> float:
    """Return the greatest side of the box around shapes, joints and mass centres in the initial posture, m."""
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    parts = []
    for link in machine.links:
        pose = poses[link.name]
        points, radii = shapes.points(link.name)
        own = np.concatenate([points, np.zeros((1, 3)), link.com[None] if link.mass > 0.0 else np.zeros((0, 3))])
        placed = own @ pose[:3, :3].T + pose[:3, 3]
        reach = np.concatenate([radii, np.zeros(len(own) - len(radii))])[:, None]
        parts += [placed - reach, placed + reach]
    return float(np.ptp(np.concatenate(parts), axis=0).max())
