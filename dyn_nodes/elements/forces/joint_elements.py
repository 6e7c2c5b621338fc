"""List of the elements on a machine's joints, for trees and for machines with constraints."""

from __future__ import annotations

from dyn_nodes.elements.forces.joint_damping import JointDamping
from dyn_nodes.elements.forces.joint_friction import joint_frictions
from dyn_nodes.elements.forces.joint_spring import joint_springs
from dyn_nodes.elements.forces.joint_stop import joint_stops
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.elements import ForceElement


def joint_elements(machine: Machine) -> tuple[ForceElement, ...]:
    """Return springs of flexible joints, damping, dry friction, and stops at the limits of all movable joints."""
    damping = (JointDamping(joint.name, joint.damping) for joint in machine.movable_joints if joint.damping != 0.0)
    return (*joint_springs(machine).values(), *damping, *joint_frictions(machine), *joint_stops(machine))
