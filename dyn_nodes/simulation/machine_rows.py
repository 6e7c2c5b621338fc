"""The constraints of a machine as rows: with its tree and its elements they become dynamics."""

from __future__ import annotations

from dyn_nodes.constraints import ConstraintBlocks, Coupling, Distance, Lock, Loop, Prescribed, RollingWheel
from dyn_nodes.constraints.profiles import motion_of
from dyn_nodes.constraints.rows import Constraint
from dyn_nodes.elements.actuators import ActuatorForces, actuator_elements
from dyn_nodes.elements.contacts import contact_elements
from dyn_nodes.elements.overturning import Overturning
from dyn_nodes.forces.joint_elements import joint_elements
from dyn_nodes.forces.joint_spring import rest_position
from dyn_nodes.model.constraint import WORLD, End, MachineConstraint
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import Frame, Tree, build_tree
from dyn_nodes.multibody.elements import ForceElement
from dyn_nodes.simulation.assembly import Actuation, gravity_vector
from dyn_nodes.simulation.constrained import ConstrainedDynamics
from dyn_nodes.simulation.constrained_outputs import wheels_of


def machine_dynamics(machine: Machine, actuation: Actuation) -> ConstrainedDynamics:
    """Return the dynamics of a machine with constraints; nothing is assembled or compiled yet."""
    tree = build_tree(machine)
    constraints = [*machine_constraints(machine, tree)]
    constraints += [
        Lock(entry.joint, entry.joint, rest_position(machine, entry)) for entry in machine.joint_classes if entry.held
    ]
    payload = machine.payload.mass if machine.payload is not None else 0.0
    gravity = gravity_vector(machine.gravity, machine.slope)
    inside = ActuatorForces(machine, actuator_elements(machine) if actuation == 'hydraulic' else ())
    elements = (*contact_elements(machine), *joint_elements(machine), inside, *_watched(machine))
    blocks = ConstraintBlocks(tree, constraints, elements, gravity, payload)
    moved = {own.joint for own in inside.actuators}
    actuated = tuple(joint.name for joint in machine.actuated_joints if joint.name not in moved)
    pressing = [f'{name}/normal' for name in wheels_of(machine)]
    return ConstrainedDynamics(machine.name, blocks, actuated, pressing, machine, actuation, bool(_watched(machine)))


def machine_constraints(machine: Machine, tree: Tree) -> tuple[Constraint, ...]:
    """Return what `constraints` of the YAML say, as rows on a tree with these links and joints."""
    return tuple(_constraint(entry, tree) for entry in machine.constraints)


def _watched(machine: Machine) -> tuple[ForceElement, ...]:
    """Return what watches the tilt of a machine on wheels."""
    stands = machine.supports or machine.rigid_wheels
    if any(wheel.first is not None and wheel.first.link == machine.base.link for wheel in machine.rigid_wheels):
        return ()  # a base that is a wheel turns over as it rolls
    return (Overturning(machine.base.link, machine.overturn_angle),) if stands else ()


def _frame(end: End, tree: Tree) -> Frame:
    """Return the frame of an end in its body."""
    if end.link == WORLD:
        return Frame(-1, end.rotation, end.position)
    link = tree.frame(end.link)
    return Frame(link.body, link.R @ end.rotation, link.p + link.R @ end.position)


def _constraint(entry: MachineConstraint, tree: Tree) -> Constraint:
    if entry.kind == 'lock':
        return Lock(entry.name, entry.joint, entry.position)
    if entry.kind == 'coupling':
        return Coupling(entry.name, dict(entry.coefficients), entry.offset)
    if entry.kind == 'prescribed':
        assert entry.profile is not None
        return Prescribed(Lock(entry.name, entry.joint), motion_of(entry.profile))
    assert entry.first is not None
    first = _frame(entry.first, tree)
    if entry.kind == 'wheel':
        ground = None if entry.ground is None else motion_of(entry.ground)
        return RollingWheel(entry.name, first, entry.axis, entry.radius, ground)
    assert entry.second is not None
    second = _frame(entry.second, tree)
    if entry.kind == 'distance':
        return Distance(entry.name, first, second, entry.length)
    if entry.kind == 'planar':
        return Loop(entry.name, first, second, ('ry', 'x', 'z'))
    along = {'hinge': Loop.hinge, 'slider': Loop.slider, 'line': Loop.on_line, 'plane': Loop.on_plane}
    if entry.kind in along:
        loop = along[entry.kind](entry.name, first, second, entry.axis)
        return loop if entry.profile is None else Prescribed(loop, motion_of(entry.profile))
    return Loop.frame(entry.name, first, second) if entry.kind == 'frame' else Loop.point(entry.name, first, second)
