"""Drawn shapes of objects: rods in the colours of their strain, surfaces in the colours of their stress."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.simulation.cosimulation.held_object import HeldObject, strains
from dyn_nodes.teams.deformable.lattice import Lattice
from dyn_nodes.teams.deformable.skin import Skin, skin_of
from dyn_nodes.teams.team import TeamObject

FULL_COLOUR = 1e-3
"""Strain at which a rod is drawn in the full colour of tension (red) or compression (blue)."""
LEAST_STRESS = 1.0
"""Greatest stress below which a surface is drawn without stress, Pa."""


class Drawn(NamedTuple):
    """An object at an instant.

    Attributes:
        points: (k, 3) ends of lines, or corners of triangles, in the world, m.
        colours: (k, 3) 0 to 1.
        text: the greatest strain or stress, for display.
    """

    points: Array
    colours: Array
    text: str


class ObjectShape(Protocol):
    """A shape that follows an object.

    Attributes:
        item: the object.
        triangles: whether the points are corners of triangles, not ends of lines.
    """

    item: HeldObject
    triangles: bool

    def strain(self) -> tuple[list[str], Array]:
        """Return the names and values of the present strains."""

    def drawn(self) -> Drawn:
        """Return the present shape."""


class RodShape:
    """The rods of a lattice."""

    triangles = False

    def __init__(self, item: HeldObject, lattice: Lattice) -> None:
        self.item, self.lattice = item, lattice

    def strain(self) -> tuple[list[str], Array]:
        """Return the names of the rods, by their nodes, and their strains."""
        return [f'{i}-{j}' for i, j in self.lattice.rods], strains(self.lattice, self.item.position)

    def drawn(self) -> Drawn:
        """Return the ends of the rods; green without strain, red in tension, blue in compression."""
        strain = self.strain()[1]
        share = np.clip(strain / FULL_COLOUR, -1.0, 1.0)
        colours = np.stack([np.maximum(share, 0.0), 1.0 - np.abs(share), np.maximum(-share, 0.0)], axis=1)
        points = self.item.position[self.lattice.rods.ravel()]
        return Drawn(points, np.repeat(colours, 2, axis=0), f'strain up to {np.abs(strain).max():.2g}')


class SkinShape:
    """The surface of finite elements, in the colours of the von Mises stress over its greatest since the start."""

    triangles = True

    def __init__(self, item: HeldObject, skin: Skin, young_modulus: float) -> None:
        self.item, self.skin, self.young_modulus = item, skin, young_modulus
        self.greatest = LEAST_STRESS

    def strain(self) -> tuple[list[str], Array]:
        """Return the greatest von Mises stress over Young's modulus."""
        stress = self.skin.at(self.item.position, self.item.amplitudes, self.item.gravity)[1]
        return ['greatest'], np.array([stress.max() / self.young_modulus])

    def drawn(self) -> Drawn:
        """Return the triangles; blue without stress, green at half of the greatest stress, red at the greatest."""
        points, stress = self.skin.at(self.item.position, self.item.amplitudes, self.item.gravity)
        self.greatest = max(self.greatest, float(stress.max()))
        share = stress / self.greatest
        colours = np.stack([np.clip(2.0 * share - 1.0, 0.0, 1.0), 1.0 - np.abs(2.0 * share - 1.0),
                            np.clip(1.0 - 2.0 * share, 0.0, 1.0)], axis=1)  # fmt: skip
        corners = self.skin.faces.ravel()
        text = f'stress up to {_pascal(float(stress.max()))}, red: {_pascal(self.greatest)}'
        return Drawn(points[corners], colours[corners], text)


def _pascal(stress: float) -> str:
    for size, unit in ((1e6, 'MPa'), (1e3, 'kPa')):
        if stress >= size:
            return f'{stress / size:.3g} {unit}'
    return f'{stress:.3g} Pa'


def shape_of(held: TeamObject, item: HeldObject) -> ObjectShape:
    """Return the shape of an object of a team."""
    if held.model == 'lattice':
        return RodShape(item, held.item.lattice)
    return SkinShape(item, skin_of(held.item), held.item.material.young_modulus)
