"""A deformable object: mesh, material, grasps, and the models derived from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.teams.deformable.condensation import Condensed, HeldBody, condensed
from dyn_nodes.teams.deformable.finite_elements import FiniteElements, assemble
from dyn_nodes.teams.deformable.grasps import Grasp
from dyn_nodes.teams.deformable.lattice import Lattice, lag, lattice_of_volume, simplest_rods
from dyn_nodes.teams.deformable.lattice_fit import MassFit, StiffnessFit, fit_masses, fit_stiffness
from dyn_nodes.teams.deformable.material import Material
from dyn_nodes.teams.deformable.mesh import Mesh

PAIR = 2
"""Number of grasps with one rod between them, whose stiffness follows from its volume."""


@dataclass(frozen=True)
class DeformableObject:
    """An object that hands hold.

    Attributes:
        name: of the object.
        material: of all elements.
        mesh: of its body.
        grasps: for hands.
        model: `finite_elements` or `rods`.
        vibrations: number of vibrations of the reduced body.
    """

    name: str
    material: Material
    mesh: Mesh
    grasps: tuple[Grasp, ...]
    model: str = 'finite_elements'
    vibrations: int = 0

    @property
    def positions(self) -> Array:
        """(m, 3) positions of the grasps without load, m."""
        return np.array([grasp.position for grasp in self.grasps])

    @cached_property
    def body(self) -> FiniteElements:
        """Free body of finite elements."""
        return assemble(self.mesh, self.material)

    @cached_property
    def held(self) -> HeldBody:
        """Body with prescribed motion of its grasps."""
        return HeldBody(self.body, self.grasps)

    @cached_property
    def reduced(self) -> Condensed:
        """Body in coordinates of its grasps."""
        return condensed(self.body, self.grasps, self.vibrations, self.held)

    @cached_property
    def masses(self) -> MassFit:
        """Masses of rods between the grasps."""
        body = self.body
        rods = simplest_rods(self.positions)
        return fit_masses(self.positions, rods, body.total_mass, body.center_of_mass, body.second_moment)

    @cached_property
    def stiffnesses(self) -> StiffnessFit:
        """Stiffnesses of rods between the grasps, without the vibrations."""
        size = 3 * len(self.grasps)
        return fit_stiffness(self.positions, simplest_rods(self.positions), self.reduced.stiffness[:size, :size])

    @cached_property
    def lattice(self) -> Lattice:
        """Rods between the grasps: with two grasps one rod of the body's volume, else the best fit to the body."""
        rods, masses = simplest_rods(self.positions), self.masses
        if len(self.grasps) == PAIR:
            bar = lattice_of_volume(self.positions, rods, [self.body.total_mass], self.material)
            return bar._replace(rod_mass=masses.rods, node_mass=masses.nodes)
        stiffness = self.stiffnesses.rods
        damping = stiffness * lag(self.material)
        return Lattice(self.positions, rods, stiffness, damping, masses.rods, masses.nodes)
