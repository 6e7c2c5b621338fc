"""Facts of a deformable object: frequencies, stiffness, sag, and residuals of its rods."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.teams.deformable.condensation import HeldBody, condensed
from dyn_nodes.teams.deformable.deformable_object import DeformableObject
from dyn_nodes.teams.deformable.grasps import patch
from dyn_nodes.teams.deformable.lattice_fit import MassFit, StiffnessFit
from dyn_nodes.teams.deformable.mesh import refined

GRAVITY = np.array([0.0, 0.0, -9.81])
"""Gravity in axes of the object, m/s2."""
SEEN = 1e-9
"""Ratio of a stiffness to the greatest one below which it counts as zero."""
SETTLED = 0.02
"""Greatest change of a stiffness by a refinement of a mesh that is fine enough."""


class ObjectFacts(NamedTuple):
    """Facts that `dyn-nodes object check` prints; SI units.

    Attributes:
        nodes, elements: counts of the mesh.
        volume, mass: m3 and kg.
        center_of_mass: (3,) m.
        inertia: (3, 3) about it, kg m2.
        free_frequencies: (k,) of the free body, Hz.
        held_frequencies: (k,) with the grasps at rest, Hz.
        stiffness: eigenvalues of the stiffness between the grasps, N/m, without rigid motions.
        sag: (3,) greatest displacement under its weight, with the grasps at rest, m.
        sag_at: (3,) node with this displacement, m.
        grasp_forces: grasp -> (3,) force of the hand that holds the weight, N.
        reduced_mass_residual: error of the translational mass of the reduced body, kg.
        masses: fit of rods.
        stiffnesses: fit of rods; None with two grasps.
    """

    nodes: int
    elements: int
    volume: float
    mass: float
    center_of_mass: Array
    inertia: Array
    free_frequencies: Array
    held_frequencies: Array
    stiffness: Array
    sag: Array
    sag_at: Array
    grasp_forces: dict[str, Array]
    reduced_mass_residual: float
    masses: MassFit
    stiffnesses: StiffnessFit | None


def object_facts(item: DeformableObject, frequencies: int = 6) -> ObjectFacts:
    """Return the facts of an object.

    Args:
        item: of a file.
        frequencies: number of free and of held frequencies.
    """
    body, held = item.body, item.held
    count = min(frequencies, len(item.mesh.nodes) - len(item.grasps) - 6)
    displacement, force = held.solve(body.load(GRAVITY))
    moved = displacement.reshape(-1, 3)
    lowest = int(np.argmax(np.linalg.norm(moved, axis=1)))
    along = np.zeros((3 * len(item.grasps), 3))
    along[:] = np.tile(np.eye(3), (len(item.grasps), 1))
    size = len(along)
    carried = along.T @ item.reduced.mass[:size, :size] @ along
    return ObjectFacts(
        nodes=len(item.mesh.nodes),
        elements=len(item.mesh.elements),
        volume=body.volume,
        mass=body.total_mass,
        center_of_mass=body.center_of_mass,
        inertia=body.inertia,
        free_frequencies=body.frequencies(count) / (2.0 * np.pi) if count > 0 else np.zeros(0),
        held_frequencies=held.vibrations(count)[0] / (2.0 * np.pi) if count > 0 else np.zeros(0),
        stiffness=_stiffnesses(item.reduced.stiffness[:size, :size]),
        sag=moved[lowest],
        sag_at=item.mesh.nodes[lowest],
        grasp_forces=dict(zip((grasp.name for grasp in item.grasps), force.reshape(-1, 3))),
        reduced_mass_residual=float(np.abs(carried - body.total_mass * np.eye(3)).max()),
        masses=item.masses,
        stiffnesses=item.stiffnesses if len(item.grasps) > 2 else None,
    )


def _stiffnesses(matrix: Array) -> Array:
    values = np.linalg.eigvalsh(matrix)
    return values[values > SEEN * values[-1]]


def refinement(item: DeformableObject) -> Array:
    """Return the relative change of the stiffnesses between the grasps if every element is cut into eight.

    A patch contains the new nodes in the box of its old nodes.
    """
    finer = refined(item.mesh)
    grasps = []
    for grasp in item.grasps:
        low, high = (edge(item.mesh.nodes[grasp.nodes], axis=0) for edge in (np.min, np.max))
        grasps.append(patch(finer, (low + high) / 2.0, high - low, grasp.name))
    other = replace(item, mesh=finer, grasps=tuple(grasps))
    size = 3 * len(grasps)
    values = condensed(other.body, other.grasps, held=HeldBody(other.body, other.grasps)).stiffness[:size, :size]
    before = _stiffnesses(item.reduced.stiffness[:size, :size])
    return _stiffnesses(values)[-len(before) :] / before - 1.0
