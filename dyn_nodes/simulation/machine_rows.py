"""Dynamics of a machine with constraints, from its tree, its constraint rows and its elements."""

from __future__ import annotations

from dyn_nodes.constraints import ConstraintBlocks, Lock
from dyn_nodes.constraints.rows import Constraint
from dyn_nodes.elements.actuators import ActuatorForces, actuator_elements
from dyn_nodes.elements.contacts import contact_elements
from dyn_nodes.elements.forces.joint_elements import joint_elements
from dyn_nodes.elements.forces.joint_spring import rest_position
from dyn_nodes.elements.hand import held_wrenches
from dyn_nodes.elements.overturning import Overturning
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import Tree, build_tree
from dyn_nodes.multibody.elements import ForceElement
from dyn_nodes.simulation.assembly import Actuation, gravity_vector
from dyn_nodes.simulation.constrained import ConstrainedDynamics


def machine_dynamics(machine: Machine, actuation: Actuation) -> ConstrainedDynamics:
    """Return the dynamics of a machine with constraints, before assembly and compilation."""
    tree = build_tree(machine)
    constraints: list[Constraint] = [*machine_constraints(machine, tree)]
    constraints += [
        Lock(entry.joint, entry.joint, rest_position(machine, entry)) for entry in machine.joint_classes if entry.held
    ]
    payload = machine.payload.mass if machine.payload is not None else 0.0
    gravity = gravity_vector(machine.gravity, machine.slope)
    inside = ActuatorForces(machine, actuator_elements(machine) if actuation == 'hydraulic' else ())
    pushed = (*_watched(machine), *held_wrenches(machine))
    elements = (*contact_elements(machine), *joint_elements(machine), inside, *pushed)
    blocks = ConstraintBlocks(tree, constraints, elements, gravity, payload)
    moved = {actuator.joint for actuator in inside.actuators}
    actuated = tuple(joint.name for joint in machine.actuated_joints if joint.name not in moved)
    pressing = [f'{wheel.name}/normal' for wheel in machine.rigid_wheels]
    return ConstrainedDynamics(machine.name, blocks, actuated, pressing, machine, actuation, bool(_watched(machine)))


def machine_constraints(machine: Machine, tree: Tree) -> tuple[Constraint, ...]:
    """Return the rows of the section `constraints` of the YAML, on a tree with these links and joints."""
    return tuple(entry.on(tree) for entry in machine.constraints)


def _watched(machine: Machine) -> tuple[ForceElement, ...]:
    """Return the element that monitors the tilt of a machine on wheels."""
    on_wheels = machine.supports or machine.rigid_wheels
    if any(wheel.first.link == machine.base.link for wheel in machine.rigid_wheels):
        return ()  # a base that is a wheel turns over as it rolls
    return (Overturning(machine.base.link, machine.overturn_angle),) if on_wheels else ()
