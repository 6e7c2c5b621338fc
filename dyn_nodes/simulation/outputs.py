"""Named outputs of a plant: everything that is published, plotted or tested, at one state."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dyn_nodes.elements.wheel import XYZ
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.simulation.assembly import Assembly


def traced_outputs(plant: Assembly) -> tuple[list[str], Expression]:
    """Return names and expressions of all outputs.

    `load_force_*`, `load_moment_*`: gravity and inertia of the whole machine, as they would act at its centre of mass
    if the ground were taken away: the ground's forces reversed. They feed the stability measures.
    """
    names: list[str] = []
    values: list[Expression] = []

    def add(new_names: Sequence[str], *expressions: Expression) -> None:
        names.extend(new_names)
        values.extend(expressions)

    for joint, effort in plant.joint_efforts.items():
        add([f'{joint}/drive_effort'], effort)
    add([f'{name}_acceleration' for name in plant.tree.velocity_names], plant.accelerations)
    for element in plant.elements:
        own = element.outputs(plant.state, plant.symbols)
        add(list(own), *own.values())
    _add_balance(plant, add)
    _add_attitude(plant, add)
    return names, ca.densify(ca.vertcat(*values))


def _add_balance(plant: Assembly, add) -> None:  # type: ignore[no-untyped-def]
    state = plant.state
    com, momentum = state.center_of_mass, state.momentum
    force, moment = plant.ground_wrench
    add(['mass'], state.mass)
    add([f'center_of_mass_{axis}' for axis in XYZ], com)
    add([f'center_of_mass_velocity_{axis}' for axis in XYZ], momentum.f / state.mass)
    add([f'angular_momentum_{axis}' for axis in XYZ], momentum.n)
    add([f'load_force_{axis}' for axis in XYZ], -force)
    add([f'load_moment_{axis}' for axis in XYZ], -moment)
    add(['kinetic_energy', 'potential_energy', 'suspension_energy'], *plant.stored_energies)


def _add_attitude(plant: Assembly, add) -> None:  # type: ignore[no-untyped-def]
    R = plant.base_rotation
    level = ca.sqrt(R[2, 0] ** 2 + R[2, 1] ** 2 + 1e-300)
    add(['tilt'], ca.atan2(level, R[2, 2]))
    add(['roll'], ca.atan2(R[2, 1], R[2, 2]))
    add(['pitch'], ca.atan2(-R[2, 0], ca.sqrt(R[2, 1] ** 2 + R[2, 2] ** 2 + 1e-300)))
    add(['yaw'], ca.atan2(R[1, 0], R[0, 0]))
