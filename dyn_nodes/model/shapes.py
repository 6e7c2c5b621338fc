"""Corner points of the collision (or visual) geometry of links, meshes included."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from scipy.spatial import ConvexHull, QhullError

from dyn_nodes.common.share import MeshError, find_mesh, mesh_parts
from dyn_nodes.model.machine import Array
from dyn_nodes.model.rotations import matrix_of_rpy

BOX = np.array(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5])).reshape(3, -1).T
"""Corners (8, 3) of a cube of side 1."""
NOT_FOUND = ('a file', 'none')
"""Expected and actual text for a missing mesh."""
RIM = 24
"""Number of points on each end of a cylinder."""


class Shapes:
    """Points of every link, computed at the first use, because meshes are slow.

    Attributes:
        faults: expected and actual text of meshes that are missing or cannot be read, by link and name.
    """

    def __init__(self, urdf: str, directories: Sequence[str | Path] = ()) -> None:
        root = etree.fromstring(urdf.encode('utf-8'))
        self._links = {(link.get('name') or '').strip(): link for link in root.findall('link')}
        self._directories = directories
        self._cached_points: dict[str, tuple[Array, Array]] = {}
        self._meshes: dict[str, Array] = {}
        self.faults: dict[tuple[str, str], tuple[str, str]] = {}

    @property
    def warnings(self) -> list[str]:
        """The faults, one line each."""
        return [
            f'link {link}: mesh not found: {name}'
            if (expected, actual) == NOT_FOUND
            else f'link {link}: {Path(name).name}: expected {expected}, found {actual}'
            for (link, name), (expected, actual) in self.faults.items()
        ]

    def read_meshes(self) -> None:
        """Read every mesh of the URDF, including visual ones, to complete `faults`."""
        for link, element in self._links.items():
            for kind in ('collision', 'visual'):
                for shape in element.findall(f'{kind}/geometry/mesh'):
                    self._mesh(shape, link)

    def points(self, link: str) -> tuple[Array, Array]:
        """Return points (n, 3), m, in the frame of a link and the radius (n,) of the ball around each, m.

        The convex hull of the balls is the convex hull of the shapes; only points of spheres have radii above 0.
        """
        if link not in self._cached_points:
            element = self._links[link]
            parts = [self._points(shape, link) for shape in element.findall('collision')]
            parts = [pair for pair in parts if len(pair[0])]
            if not parts:
                parts = [self._points(shape, link) for shape in element.findall('visual')]
            none = (np.zeros((0, 3)), np.zeros(0))
            points, radii = zip(*parts) if parts else ((none[0],), (none[1],))
            self._cached_points[link] = (np.concatenate(points), np.concatenate(radii))
        return self._cached_points[link]

    def drawn(self, link: str) -> Array:
        """Return points (n, 3), m, of the visual shapes of a link without meshes, in its frame; spheres as centres."""
        visuals = self._links[link].findall('visual')
        parts = [self._points(visual, link)[0] for visual in visuals if visual.find('geometry/mesh') is None]
        return np.concatenate([np.zeros((0, 3)), *parts])

    def _points(self, element: Any, link: str) -> tuple[Array, Array]:
        points, radii = self._geometry_points(element.find('geometry'), link)
        origin = element.find('origin')
        if origin is not None and len(points):
            points = points @ matrix_of_rpy(_numbers(origin.get('rpy'))).T + _numbers(origin.get('xyz'))
        return points, radii

    def _geometry_points(self, geometry: Any, link: str) -> tuple[Array, Array]:
        for shape in geometry if geometry is not None else ():
            if shape.tag == 'box':
                return BOX * _numbers(shape.get('size')), np.zeros(8)
            if shape.tag in ('cylinder', 'capsule'):
                return _cylinder(float(shape.get('radius')), float(shape.get('length')))
            if shape.tag == 'sphere':
                return np.zeros((1, 3)), np.array([float(shape.get('radius'))])
            if shape.tag == 'mesh':
                points = self._mesh(shape, link)
                return points, np.zeros(len(points))
        return np.zeros((0, 3)), np.zeros(0)

    def _mesh(self, shape: Any, link: str) -> Array:
        name = shape.get('filename') or ''
        try:
            if name not in self._meshes:
                self._meshes[name] = _vertices(name, self._directories)
        except MeshError as error:
            self.faults[link, name] = error.expected, error.found
            return np.zeros((0, 3))
        scale = shape.get('scale')
        return _corners(self._meshes[name] * (_numbers(scale) if scale else 1.0))


def _vertices(name: str, directories: Sequence[str | Path]) -> Array:
    """Return the vertices (n, 3) of a mesh. Raises MeshError."""
    path = find_mesh(name, directories)
    if path is None:
        raise MeshError(*NOT_FOUND)
    vertices = [np.asarray(getattr(part, 'vertices', []), np.float64).reshape(-1, 3) for part in mesh_parts(path)]
    return np.concatenate(vertices)


def _cylinder(radius: float, length: float) -> tuple[Array, Array]:
    angle = np.arange(RIM) * 2.0 * np.pi / RIM
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(RIM)])
    half = np.array([0.0, 0.0, 0.5 * length])
    return np.concatenate([ring - half, ring + half]), np.zeros(2 * RIM)


def _corners(points: Array) -> Array:
    """Return the corners of the convex hull; all points if they are in a plane."""
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        return points


def _numbers(text: str | None) -> Array:
    return np.array([float(word) for word in text.split()]) if text else np.zeros(3)
