"""Inertials of links without one, from the volume of their shapes at a uniform density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from lxml import etree

from dyn_nodes.analysis.urdf_edit import with_elements
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.share import MeshError, find_mesh, mesh_parts
from dyn_nodes.model.rotations import matrix_of_rpy


class ShapeInertiaError(UserError, ValueError):
    """Inertials that cannot be computed: no link without one has a volume, or the mass is too small."""


@dataclass(frozen=True, eq=False)
class Solid:
    """Volume, m3, its centre (3,), m, and second moments about the centre (3, 3), m5: an inertia at density 1."""

    volume: float
    center: Array
    inertia: Array

    def moved(self, rotation: Array, position: Array) -> Solid:
        """Return the solid in the axes of another frame."""
        return Solid(self.volume, rotation @ self.center + position, rotation @ self.inertia @ rotation.T)


@dataclass(frozen=True, eq=False)
class FilledUrdf:
    """Text of a URDF with inertials.

    Attributes:
        urdf: its text.
        masses: of the links that received an inertial, kg.
        density: kg/m3.
        hulls: links with a mesh that is not closed: its convex hull counts.
    """

    urdf: str
    masses: dict[str, float]
    density: float
    hulls: tuple[str, ...]


def fill_inertials(
    urdf: str, directories: Sequence[str | Path], density: float | None = None, mass: float | None = None
) -> FilledUrdf:
    """Return a URDF whose links without inertial have one from their collision (else visual) shapes.

    Overlapping shapes of a link count twice.

    Args:
        urdf: text.
        directories: that may contain its meshes.
        density: kg/m3, or None if `mass` is specified.
        mass: of the whole machine, kg; the links share what the present inertials leave, by volume.

    Raises:
        ShapeInertiaError: no link without inertial has a shape with a volume; or a mass that is not above the present
            one.
        MeshError: a mesh that is missing or cannot be read.
    """
    root = etree.fromstring(urdf.encode('utf-8'))
    present, solids, hulls = 0.0, dict[str, Solid](), list[str]()
    for link in root.findall('link'):
        name, element = (link.get('name') or '').strip(), link.find('inertial/mass')
        kilograms = float(element.get('value') or 0.0) if element is not None else 0.0
        present += kilograms
        if kilograms > 0.0:
            continue
        shapes = link.findall('collision') or link.findall('visual')
        parts = [solid for shape in shapes for solid in _solids(shape, directories, name, hulls)]
        if parts and sum(part.volume for part in parts) > 0.0:
            solids[name] = _sum(parts)
    if not solids:
        raise ShapeInertiaError('expected at least one link without inertial and with a shape, found none')
    volume = sum(solid.volume for solid in solids.values())
    if density is None:
        if mass is None or mass <= present:
            raise ShapeInertiaError(
                f'--mass: expected more than the {present:g} kg of the present inertials, found {mass}'
            )
        density = (mass - present) / volume
    lines = ''.join(
        f'<link name={quoteattr(name)}>{_inertial(solid, density)}</link>' for name, solid in solids.items()
    )
    masses = {name: density * solid.volume for name, solid in solids.items()}
    return FilledUrdf(with_elements(urdf, lines), masses, density, tuple(dict.fromkeys(hulls)))


def _inertial(solid: Solid, density: float) -> str:
    tensor = density * solid.inertia
    center = ' '.join(f'{value:.9g}' for value in solid.center)
    terms = {'ixx': (0, 0), 'ixy': (0, 1), 'ixz': (0, 2), 'iyy': (1, 1), 'iyz': (1, 2), 'izz': (2, 2)}
    numbers = ' '.join(f'{name}="{tensor[index]:.9g}"' for name, index in terms.items())
    mass = density * solid.volume
    return f'<inertial><origin xyz="{center}"/><mass value="{mass:.9g}"/><inertia {numbers}/></inertial>'


def _sum(parts: Sequence[Solid]) -> Solid:
    """Return solids as one, by the parallel-axis theorem."""
    volume = sum(part.volume for part in parts)
    center = np.sum([part.volume * part.center for part in parts], axis=0) / volume
    inertia = np.zeros((3, 3))
    for part in parts:
        arm = part.center - center
        inertia += part.inertia + part.volume * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Solid(volume, center, inertia)


def _solids(shape: Any, directories: Sequence[str | Path], link: str, hulls: list[str]) -> list[Solid]:
    """Return the solids of a shape in the frame of its link; adds the link to `hulls` if a mesh is not closed."""
    origin = shape.find('origin')
    rotation, position = np.eye(3), np.zeros(3)
    if origin is not None:
        rotation, position = matrix_of_rpy(_numbers(origin.get('rpy'))), _numbers(origin.get('xyz'))
    solids = [solid for element in shape.find('geometry') for solid in _geometry(element, directories, link, hulls)]
    return [solid.moved(rotation, position) for solid in solids]


def _geometry(element: Any, directories: Sequence[str | Path], link: str, hulls: list[str]) -> list[Solid]:
    if element.tag == 'box':
        x, y, z = _numbers(element.get('size'))
        moments = x * y * z / 12.0 * np.array([y**2 + z**2, x**2 + z**2, x**2 + y**2])
        return [Solid(float(x * y * z), np.zeros(3), np.diag(moments))]
    if element.tag == 'sphere':
        radius = float(element.get('radius'))
        volume = 4.0 / 3.0 * np.pi * radius**3
        return [Solid(volume, np.zeros(3), 0.4 * volume * radius**2 * np.eye(3))]
    if element.tag == 'cylinder':
        radius, length = float(element.get('radius')), float(element.get('length'))
        volume, across = np.pi * radius**2 * length, (3.0 * radius**2 + length**2) / 12.0
        return [Solid(volume, np.zeros(3), volume * np.diag([across, across, 0.5 * radius**2]))]
    return _mesh(element, directories, link, hulls) if element.tag == 'mesh' else []


def _mesh(element: Any, directories: Sequence[str | Path], link: str, hulls: list[str]) -> list[Solid]:
    name = element.get('filename') or ''
    path = find_mesh(name, directories)
    if path is None:
        raise MeshError(f'the mesh {name} of link {link}', 'none')
    scale, solids = element.get('scale'), []
    for part in mesh_parts(path):
        if not hasattr(part, 'volume'):
            continue
        if scale:
            part.apply_scale(_numbers(scale))
        if not part.is_volume:
            hulls.append(link)
            part = part.convex_hull
        properties = part.mass_properties
        solids.append(Solid(float(properties['volume']), np.array(properties['center_mass']), properties['inertia']))
    return [solid for solid in solids if solid.volume > 0.0]


def _numbers(text: str | None) -> Array:
    return np.array([float(word) for word in text.split()]) if text else np.zeros(3)
