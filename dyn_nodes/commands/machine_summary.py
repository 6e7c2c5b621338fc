"""Properties of a machine and its state at rest, as plain numbers for a table or JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dyn_nodes.commands.build_check import CheckedStart, checked_start
from dyn_nodes.commands.rigid_check import rigid_ground_summary
from dyn_nodes.commands.static_loads import StaticLoad, static_loads
from dyn_nodes.elements import actuator_element
from dyn_nodes.model.electric import ElectricRecord
from dyn_nodes.model.equilibrium import NoEquilibriumError, Stance, gravity_in_ground, stance_at
from dyn_nodes.model.machine import Actuator, Joint, Machine
from dyn_nodes.model.posture import center_of_mass, initial_positions, link_poses, rotation_about
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.multibody.actuators import ActuatorElement
from dyn_nodes.multibody.base_motion import initial_velocities
from dyn_nodes.simulation.constrained_machine import ConstrainedMachine
from dyn_nodes.stability.at_rest import contact_at_rest, stands_on_springs, support_at_rest
from dyn_nodes.stability.equilibrium.gear import running_gear
from dyn_nodes.stability.equilibrium.standing import standing_supports
from dyn_nodes.stability.equilibrium.tipping import tipping_load

ROUND_OFF = 1e-12
BASE_FREEDOMS = {'fixed': 0, 'planar': 3, 'free': 6}


def machine_summary(machine: Machine) -> dict[str, Any]:
    """Return the facts of a machine, SI units; None means "no limit".

    `rigid_ground` is None without contacts.
    `static` contains centre of mass, support polygon, wheel loads and stability margins in the initial posture, see
    `static_summary`.
    """
    rest = _start(machine)
    start = rest.constrained if rest is not None else None
    if rest is not None and machine.supports:
        machine = _posed(machine, rest.joints)
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    mass, center = center_of_mass(machine.links, poses, machine.payload)
    base_freedoms = BASE_FREEDOMS[machine.base.attachment]
    loads = static_loads(machine, rest)
    return {
        'name': machine.name,
        'sources': list(machine.sources),
        'degrees_of_freedom': {
            'base': base_freedoms,
            'joints': len(machine.movable_joints),
            'total': base_freedoms + len(machine.movable_joints),
        },
        'base': {'link': machine.base.link, 'attachment': machine.base.attachment},
        'mass': machine.total_mass,
        'payload': None if machine.payload is None else _payload(machine),
        'total_mass': mass,
        'center_of_mass': _list(center),
        'links': [
            {'name': link.name, 'mass': link.mass, 'com': _list(link.com), 'principal_moments': _moments(link.inertia)}
            for link in machine.links
        ],
        'joints': [_joint(machine, joint, loads.get(joint.name)) for joint in machine.joints],
        'actuators': [_actuator(machine, actuator, loads) for actuator in machine.actuators],
        'initial_velocities': _initial_velocities(machine, start),
        'static': static_summary(machine, rest),
        'rigid_ground': rigid_ground_summary(machine) if machine.supports else None,
        'constraints': None if start is None else constraint_summary(start),
        'assumed': dict(machine.assumed),
    }


def _initial_velocities(machine: Machine, start: ConstrainedMachine | None) -> dict[str, float]:
    """Return the nonzero initial velocities by name, consistent with the constraints."""
    if start is not None:
        velocities = dict(zip(start.system.blocks.tree.velocity_names, (float(value) for value in start.v)))
    else:
        velocities = initial_velocities(machine, matrix_of_rpy(machine.initial.pose[3:]))
    return {name: value for name, value in velocities.items() if abs(value) > ROUND_OFF}


def _start(machine: Machine) -> CheckedStart | None:
    """Return the start of the plant of a machine; None if the machine does not rest there."""
    try:
        return checked_start(machine)
    except NoEquilibriumError:
        return None


def _posed(machine: Machine, joints: Mapping[str, float]) -> Machine:
    """Return the machine with the joint positions of the start as initial positions."""
    return replace(machine, initial=replace(machine.initial, joint_positions=dict(joints)))


def constraint_summary(start: ConstrainedMachine) -> dict[str, Any]:
    """Return the analysis of the constraints of a machine at its start."""
    analysis = start.analysis
    return {
        'topology': analysis.topology,
        'velocities': analysis.velocities,
        'rows': analysis.rows,
        'rank': analysis.rank,
        'mobility': analysis.mobility,
        'actuators': analysis.actuators,
        'underactuation': analysis.underactuation,
        'redundant': list(analysis.redundant),
        'indeterminate': [name for name, unique in analysis.forces_unique.items() if not unique],
    }


def static_summary(machine: Machine, start: CheckedStart | None = None) -> dict[str, Any] | None:
    """Return how a machine stands on its springs at the start.

    None for a fixed base, without springs, or with loads or wheels by constraint.

    Keys: `stands`, and if true `base_height`, `pitch`, `roll`, `center_of_mass`, `zmp`, `wheels`
    (name -> load in N, share, compression in m, contact in m), `raised` (supports in the air, gaps in m), `tipping` (of
    the payload: loads in kg, see `_tipping`), `support_polygon` (corners in m), `edges` (names) and
    `margins` (measure -> value, unit, values and names of edges, wheels or ends). Positions are in axes of the ground,
    the base link above the origin.

    Args:
        machine: the machine.
        start: of its plant; None to compute it.
    """
    if not stands_on_springs(machine):
        return None
    if start is None or not machine.initial.settle:
        start = _start(replace(machine, initial=replace(machine.initial, settle=True)))
    if start is None:
        return {'stands': False}
    machine = _posed(machine, start.joints)
    stance = stance_at(machine, start.joints, *(float(value) for value in start.pose[2:5]))
    total = float(stance.loads.sum())
    summary: dict[str, Any] = {
        'stands': True,
        'base_height': stance.height,
        'pitch': stance.pitch,
        'roll': stance.roll,
        'center_of_mass': _list(stance.center),
        'zmp': _list(stance.zmp),
        'weight': total,
        'wheels': {contact.name: _standing(machine, contact.name, stance) for contact in machine.ground_contacts},
    }
    if machine.base.attachment == 'free':
        summary |= _margins(machine, stance)
    return summary | {'raised': _raised(machine, stance), 'tipping': _tipping(machine)}


def _raised(machine: Machine, stance: Stance) -> dict[str, float]:
    """Return the gaps, m, above the ground of the supports that do not carry the machine, by name."""
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    up = (rotation_about(np.eye(3)[1], stance.pitch) @ rotation_about(np.eye(3)[0], stance.roll))[2]
    gaps = {}
    for support, carries in zip(machine.supports, standing_supports(machine)):
        if not carries:
            point = poses[support.link][:3, :3] @ support.position + poses[support.link][:3, 3]
            gaps[support.name] = stance.height + float(up @ point) - support.free_length
    return gaps


def _tipping(machine: Machine) -> dict[str, Any] | None:
    """Return how the machine tips in its initial posture as its payload grows; None without a payload.

    Keys: `first_lift_off`, `load` (first loss of equilibrium) and `fall` in kg or None; `axis` and `fall_axis`, names
    of the contacts about which the machine tips, and `stages`.
    """
    if machine.payload is None:
        return None
    try:
        tipping = tipping_load(running_gear(machine), gravity_in_ground(machine))
    except ValueError:
        return None
    return {
        'first_lift_off': _finite(tipping.first_lift_off),
        'load': _finite(tipping.load),
        'fall': _finite(tipping.fall),
        'axis': [] if tipping.axis is None else list(tipping.axis.names),
        'fall_axis': [] if tipping.fall_axis is None else list(tipping.fall_axis.names),
        'stages': [stage._asdict() for stage in tipping.stages],
    }


def _standing(machine: Machine, name: str, stance: Stance) -> dict[str, Any]:
    """Return load, share, greatest compression and centre of pressure of a wheel or another contact at rest."""
    contact = contact_at_rest(machine, name, stance)
    return {
        'load': contact.load,
        'share': contact.load / float(stance.loads.sum()),
        'compression': contact.compression,
        'contact': _list(contact.point),
    }


def _margins(machine: Machine, stance: Stance) -> dict[str, Any]:
    at_rest = support_at_rest(machine, stance)
    return {
        'support_polygon': [_list(corner[:2]) for corner in at_rest.support.feet],
        'edges': list(at_rest.edge_names),
        'margins': {
            name: {
                'value': _finite(margin.value),
                'unit': margin.unit,
                'valid': margin.valid,
                'edges': [_finite(float(value)) for value in margin.edges],
                'names': list(at_rest.names(name)),
            }
            for name, margin in at_rest.margins().items()
        },
    }


def _payload(machine: Machine) -> dict[str, Any] | None:
    payload = machine.payload
    if payload is None:
        return None
    return {
        'link': payload.link,
        'position': _list(payload.position),
        'mass': payload.mass,
        'limit': payload.limit,
    }


def _joint(machine: Machine, joint: Joint, load: StaticLoad | None) -> dict[str, Any]:
    return {
        'name': joint.name,
        'type': joint.type,
        'parent': joint.parent,
        'child': joint.child,
        'lower': _finite(joint.lower),
        'upper': _finite(joint.upper),
        'velocity_limit': _finite(joint.velocity_limit),
        'effort_limit': _finite(joint.effort_limit),
        'initial': machine.initial.joint_positions.get(joint.name, 0.0) if joint.movable else None,
        'static_load': None if load is None else load.facts,
    }


def _actuator(machine: Machine, actuator: Actuator, loads: Mapping[str, StaticLoad]) -> dict[str, Any]:
    pump = machine.pump_of(actuator.name)
    start = machine.initial.joint_positions.get(actuator.joint, 0.0)
    element, joint = actuator_element(actuator), machine.joint(actuator.joint)
    return {
        'name': actuator.name,
        'type': actuator.kind,
        'joint': actuator.joint,
        'pump': None if pump is None else pump.name,
        'locked_stiffness': float(element.locked_stiffness(start)),
        **element.summary(joint.lower, joint.upper, start),
        **(_held(actuator, element, loads, start) if isinstance(actuator, ElectricRecord) else {}),
        **({} if pump is None else {'flow': pump.flow, 'relief_pressure': pump.relief_pressure}),
    }


def _held(
    actuator: Actuator, element: ActuatorElement, loads: Mapping[str, StaticLoad], start: float
) -> dict[str, Any]:
    """Return effort and current of a motor that hold its joint at the start; None if the machine does not rest."""
    effort = loads[actuator.joint].load if actuator.joint in loads else None
    current = None if effort is None else element.at_rest(start, effort)[0]
    return {'holding_effort': effort, 'holding_current': current}


def _moments(inertia: np.ndarray) -> list[float]:
    return [float(value) for value in np.linalg.eigvalsh(inertia)]


def _list(values: np.ndarray) -> list[float]:
    return [float(value) for value in values]


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
