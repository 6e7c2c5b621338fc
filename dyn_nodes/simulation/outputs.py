"""Named outputs of a plant at one state."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from dyn_nodes.elements.forces.joint import joint_motion
from dyn_nodes.elements.wheel import XYZ
from dyn_nodes.multibody import TreeState
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.simulation.assembly import Assembly
from dyn_nodes.stability.equilibrium.standing import observed_joints, position_output


def traced_outputs(plant: Assembly) -> tuple[list[str], Expression]:
    """Return names and expressions of all outputs.

    `load_force_*`, `load_moment_*`: resultant of gravity and inertia of the whole machine at its centre of mass, which
    is the reversed ground reaction. The stability measures use them.
    """
    names: list[str] = []
    values: list[Expression] = []

    def add(new_names: Sequence[str], *expressions: Expression) -> None:
        names.extend(new_names)
        values.extend(expressions)

    for joint, effort in plant.joint_efforts.items():
        add([f'{joint}/drive_effort'], effort)
    for joint in observed_joints(plant.standing):
        add([position_output(joint)], joint_motion(plant.state, joint).position)
    add([f'{name}_acceleration' for name in plant.tree.velocity_names], plant.accelerations)
    for element in plant.elements:
        outputs = element.outputs(plant.state, plant.symbols)
        add(list(outputs), *outputs.values())
    outputs = balance_outputs(plant.state, *plant.ground_wrench)
    outputs |= dict(zip(('kinetic_energy', 'potential_energy', 'suspension_energy'), plant.stored_energies))
    outputs |= attitude_outputs(plant.base_rotation)
    add(list(outputs), *outputs.values())
    return names, ca.densify(ca.vertcat(*values))


def balance_outputs(state: TreeState, force: Expression, moment: Expression) -> dict[str, Expression]:
    """Return the outputs that stability measures use, by name.

    Args:
        state: of the machine.
        force: (3,) ground reaction, N.
        moment: (3,) of the ground reaction about the centre of mass, N m.
    """
    com, momentum = state.center_of_mass, state.momentum
    result = {'mass': state.mass}
    for name, vector in (
        ('center_of_mass', com),
        ('center_of_mass_velocity', momentum.f / state.mass),
        ('angular_momentum', momentum.n),
        ('load_force', -force),
        ('load_moment', -moment),
    ):
        result |= {f'{name}_{axis}': vector[k] for k, axis in enumerate(XYZ)}
    return result


def attitude_outputs(R: Expression) -> dict[str, Expression]:
    """Return tilt, roll, pitch and yaw, rad, of a base orientation R (3, 3) in the world, by name."""
    return {
        'tilt': ca.atan2(ca.sqrt(R[2, 0] ** 2 + R[2, 1] ** 2 + 1e-300), R[2, 2]),
        'roll': ca.atan2(R[2, 1], R[2, 2]),
        'pitch': ca.atan2(-R[2, 0], ca.sqrt(R[2, 1] ** 2 + R[2, 2] ** 2 + 1e-300)),
        'yaw': ca.atan2(R[1, 0], R[0, 0]),
    }
