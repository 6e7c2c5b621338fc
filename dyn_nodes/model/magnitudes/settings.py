"""Relations of payload, gravity, start, springs, loads and motions of a machine YAML to the size of the machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from dyn_nodes.model.constraint import ConstraintRecord, JointClass, Load
from dyn_nodes.model.magnitudes.geometry import Geometry
from dyn_nodes.model.magnitudes.relation import Quantity, Relation, relation
from dyn_nodes.model.posture import moved_inertia, moved_links


def settings(geometry: Geometry, loads: Mapping[str, float]) -> Iterator[Relation]:
    """Yield the relations of all keys except contacts and actuators.

    Args:
        geometry: of the machine.
        loads: normal force of each wheel and contact at rest, N; empty if the machine does not rest.
    """
    machine = geometry.machine
    yield from relation('a gravity', 'm/s2', 1.5, 26.0, (Quantity('gravity', machine.gravity, 'm/s2'), 1.0))
    yield from _start(geometry)
    yield from _payload(geometry)
    for hand in machine.grasps:
        point = Quantity(f'grasps.{hand.name}.point', float(np.linalg.norm(hand.point)), 'm')
        yield from _near('a distance from its link', point, geometry)
    for entry in machine.joint_classes:
        if entry.kind == 'flexible':
            yield from _spring(entry, geometry, loads)
    for load in machine.loads:
        yield from _load(load, geometry)
    for constraint in machine.constraints:
        yield from _motion(constraint, geometry)


def _near(name: str, length: Quantity, geometry: Geometry, most: float = 1.5) -> Iterator[Relation]:
    yield from relation(
        f'{name} over the size of the machine', '', 0.0, most, (length, 1.0), factor=1.0 / geometry.extent
    )


def _start(geometry: Geometry) -> Iterator[Relation]:
    machine = geometry.machine
    initial, on_ground = machine.initial, bool(machine.supports or machine.rigid_wheels)
    if on_ground:
        height = Quantity('initial.base_position', initial.base_position[2], 'm')
        yield from _near('a height above the ground', height, geometry, 5.0)
    for name, value in initial.joint_positions.items():
        if machine.joint(name).type == 'continuous':
            start = Quantity(f'initial.joint_positions.{name}', value, 'rad')
            yield from relation('a start within a turn', 'rad', 0.0, 2.02 * math.pi, (start, 1.0))
    twist = initial.base_twist
    speed = Quantity('initial.base_twist.linear', float(np.linalg.norm(twist.linear or 0.0)), 'm/s')
    yield from relation('a speed', 'm/s', 0.0, 60.0, (speed, 1.0))
    rate = Quantity('initial.base_twist.angular', float(np.linalg.norm(twist.angular or 0.0)), 'rad/s')
    yield from relation('a speed of its ends', 'm/s', 0.0, 30.0, (rate, 1.0), factor=geometry.extent)
    for name, value in initial.joint_velocities.items():
        slides = machine.joint(name).type == 'prismatic'
        velocity = Quantity(f'initial.joint_velocities.{name}', value, 'm/s' if slides else 'rad/s')
        yield from relation(
            'a speed of its ends', 'm/s', 0.0, 60.0, (velocity, 1.0), factor=1.0 if slides else geometry.extent
        )


def _payload(geometry: Geometry) -> Iterator[Relation]:
    machine = geometry.machine
    payload = machine.payload
    if payload is None:
        return
    mass, limit = Quantity('payload.mass', payload.mass, 'kg'), Quantity('payload.limit', payload.limit, 'kg')
    yield from relation('a mass over its limit', '', 0.005, 1.0, (mass, 1.0), (limit, -1.0))
    yield from relation('a limit over the mass of the machine', '', 1e-3, 5.0, (limit, 1.0), factor=1.0 / geometry.mass)
    yield from _near(
        'a distance from its link', Quantity('payload.position', float(np.linalg.norm(payload.position)), 'm'), geometry
    )


def _spring(entry: JointClass, geometry: Geometry, loads: Mapping[str, float]) -> Iterator[Relation]:
    machine = geometry.machine
    joint = machine.joint(entry.joint)
    slides, key = joint.type == 'prismatic', f'joints.{entry.joint}'
    stiffness = Quantity(f'{key}.stiffness', entry.stiffness, 'N/m' if slides else 'N m/rad')
    damping = Quantity(f'{key}.damping', entry.damping, 'N s/m' if slides else 'N m s/rad')
    inertia = moved_inertia(machine, joint, geometry.poses) + machine.armature(joint.name) or math.inf
    yield from relation(
        'a frequency of its spring',
        'Hz',
        0.02,
        1e5,
        (stiffness, 0.5),
        factor=1.0 / (2.0 * math.pi * math.sqrt(inertia)),
    )
    yield from relation(
        'a damping ratio with the moved inertia',
        '',
        1e-3,
        50.0,
        (damping, 1.0),
        (stiffness, -0.5),
        factor=0.5 / math.sqrt(inertia),
    )
    beyond = moved_links(machine, joint)
    carried = sum(loads.get(contact.name, 0.0) for contact in machine.ground_contacts if contact.link in beyond)
    if slides:
        yield from relation(
            'a deflection below its load over the size of the machine',
            '',
            1e-6,
            0.5,
            (stiffness, -1.0),
            factor=carried / geometry.extent,
        )


def _load(load: Load, geometry: Geometry) -> Iterator[Relation]:
    machine, key = geometry.machine, f'loads.{load.name}'
    mass = Quantity(f'{key}.mass', load.mass, 'kg')
    inertia = Quantity(f'{key}.inertia', float(np.linalg.eigvalsh(load.inertia)[-1]), 'kg m2')
    ends = [end for constraint in machine.constraints for end in constraint.ends if end.link == load.name]
    reach = max((float(np.linalg.norm(end.position - load.com)) for end in ends), default=0.0)
    if reach > 0.0:
        yield from relation(
            'a radius of gyration over the reach of its constraints',
            '',
            0.03,
            5.0,
            (inertia, 0.5),
            (mass, -0.5),
            factor=1.0 / reach,
        )
    yield from relation('a mass over the mass of the machine', '', 1e-3, 100.0, (mass, 1.0), factor=1.0 / geometry.mass)
    yield from _near(
        'a distance from its frame', Quantity(f'{key}.com', float(np.linalg.norm(load.com)), 'm'), geometry
    )
    yield from _near(
        'a distance', Quantity(f'{key}.position', float(np.linalg.norm(load.position)), 'm'), geometry, 10.0
    )


def _motion(constraint: ConstraintRecord, geometry: Geometry) -> Iterator[Relation]:
    if constraint.motion is None:
        return
    name, profile = constraint.motion
    key = f'constraints.{constraint.name}.{name}'
    slides = not constraint.moved_joint or geometry.machine.joint(constraint.moved_joint).type == 'prismatic'
    unit, span = ('m', geometry.extent) if slides else ('rad', 2.0 * math.pi)
    frequency = Quantity(f'{key}.frequency', profile.frequency, 'Hz')
    amplitude = Quantity(f'{key}.amplitude', profile.amplitude, unit)
    yield from relation('a frequency', 'Hz', 1e-3, 20.0, (frequency, 1.0))
    for name, value in (('amplitude', profile.amplitude), ('height', profile.height), ('offset', profile.offset)):
        yield from relation(
            f'a{"n" if name[0] in "ao" else ""} {name} over the size of the machine, or a turn',
            '',
            0.0,
            2.0,
            (Quantity(f'{key}.{name}', value, unit), 1.0),
            factor=1.0 / span,
        )
    values = max((abs(value) for value in profile.values), default=0.0)
    yield from relation(
        'values over the size of the machine, or a turn',
        '',
        0.0,
        10.0,
        (Quantity(f'{key}.values', values, unit), 1.0),
        factor=1.0 / span,
    )
    yield from relation(
        'a speed over the size of the machine, or a turn',
        '1/s',
        0.0,
        30.0,
        (frequency, 1.0),
        (amplitude, 1.0),
        factor=2.0 * math.pi / span,
    )
    duration = Quantity(f'{key}.duration', profile.duration, 's')
    yield from relation('a duration', 's', 1e-3, 120.0, (duration, 1.0))
