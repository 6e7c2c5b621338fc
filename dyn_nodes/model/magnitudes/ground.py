"""Relations of wheels, tracks, friction and terrain to their loads and to the size of the machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dyn_nodes.model.magnitudes.geometry import Geometry
from dyn_nodes.model.magnitudes.limits import limits_of
from dyn_nodes.model.magnitudes.relation import Quantity, Relation, relation
from dyn_nodes.model.wheel import Wheel


def contacts(geometry: Geometry, loads: Mapping[str, float]) -> Iterator[Relation]:
    """Yield the relations of wheels, tracks, wheels by constraint and terrain.

    Args:
        geometry: of the machine.
        loads: normal force of each wheel and contact at rest, N; empty if the machine does not rest.
    """
    machine = geometry.machine
    for wheel in machine.wheels:
        yield from _contact(f'wheels.{wheel.name}', wheel, loads.get(wheel.name, 0.0), geometry)
        if wheel.rolling is not None:
            yield from _rolling(wheel, geometry)
            yield from _drive(wheel.link, wheel.free_length, loads.get(wheel.name, 0.0), geometry)
    for contact in machine.contacts:
        yield from _contact(f'contacts.{contact.name}', contact, loads.get(contact.name, 0.0), geometry)
        yield from contact.relations(geometry.extent)
    for entry in machine.rigid_wheels:
        radius = Quantity(f'constraints.{entry.name}.radius', entry.radius, 'm (radius)')
        yield from _radius(radius, entry.first.link, np.array(entry.axis), entry.first.position, geometry)
        yield from _coefficient(f'constraints.{entry.name}.friction', entry.friction or 0.0)
    for rise in machine.terrain:
        height = Quantity(f'terrain.{rise.name}.height', rise.height, 'm')
        length = Quantity(f'terrain.{rise.name}.length', rise.length, 'm')
        yield from relation(
            'a height over the size of the machine', '', 1e-5, 2.0, (height, 1.0), factor=1.0 / geometry.extent
        )
        yield from relation('a height over its length', '', 1e-4, 3.0, (height, 1.0), (length, -1.0))
        width = Quantity(f'terrain.{rise.name}.width', rise.width or 0.0, 'm')
        yield from relation('a width over its length', '', 1e-2, 100.0, (width, 1.0), (length, -1.0))


def _contact(key: str, contact: Any, load: float, geometry: Geometry) -> Iterator[Relation]:
    stiffness = Quantity(f'{key}.stiffness', contact.stiffness, 'N/m')
    damping = Quantity(f'{key}.damping', contact.damping, 'N s/m')
    free = Quantity(f'{key}.free_length', contact.free_length, 'm')
    position = Quantity(f'{key}.position', float(np.linalg.norm(contact.position)), 'm')
    gravity = geometry.machine.gravity
    yield from relation(
        'a distance from its link over the size of the machine',
        '',
        0.0,
        1.5,
        (position, 1.0),
        factor=1.0 / geometry.extent,
    )
    yield from relation(
        'a free length over the size of the machine', '', 1e-4, 0.8, (free, 1.0), factor=1.0 / geometry.extent
    )
    share = geometry.mass * gravity / max(len(geometry.machine.ground_contacts), 1)
    carried, wider = (load, 1.0) if load > 0.0 else (share, 10.0)  # in the air, or the machine is not at rest
    if 0.0 < carried < math.inf:
        yield from relation(
            'a compression at rest over its free length',
            '',
            1e-5 / wider,
            0.7 * wider,
            (stiffness, -1.0),
            (free, -1.0),
            factor=carried,
        )
        yield from relation(
            'a damping ratio with the load that it carries',
            '',
            2e-3 / wider,
            10.0 * wider,
            (damping, 1.0),
            (stiffness, -0.5),
            factor=0.5 / math.sqrt(carried / gravity),
        )
    friction = contact.friction
    if friction is None:
        return
    yield from _coefficient(f'{key}.friction.static', friction.static)
    yield from _coefficient(f'{key}.friction.kinetic', friction.kinetic)
    yield from friction.relations(f'{key}.friction', free, load, gravity)


def _coefficient(where: str, value: float) -> Iterator[Relation]:
    yield from relation('a friction coefficient', '', 0.01, 2.0, (Quantity(where, value, ''), 1.0))


def _rolling(wheel: Wheel, geometry: Geometry) -> Iterator[Relation]:
    assert wheel.rolling is not None
    free = Quantity(f'wheels.{wheel.name}.free_length', wheel.free_length, 'm (radius)')
    yield from _radius(free, wheel.link, np.array(wheel.rolling.axis), wheel.position, geometry)
    if wheel.rolling.roller_angle is None:
        length = Quantity(f'wheels.{wheel.name}.rolling.relaxation_length', wheel.rolling.relaxation_length, 'm')
        yield from relation(
            'a relaxation length over the radius of its wheel', '', 0.02, 20.0, (length, 1.0), (free, -1.0)
        )


def _drive(link: str, radius: float, load: float, geometry: Geometry) -> Iterator[Relation]:
    """Yield the relation of the torque of a wheel to its load."""
    joint = next(joint for joint in geometry.machine.joints if joint.child == link)
    _, effort = limits_of(joint)
    yield from relation(
        'a force at its rim over the load that it carries',
        '',
        5e-3,
        100.0,
        (effort, 1.0),
        factor=1.0 / (radius * load) if load > 0.0 else 0.0,
    )


def _radius(
    radius: Quantity, link: str, axis: np.ndarray, centre: np.ndarray, geometry: Geometry
) -> Iterator[Relation]:
    drawn = geometry.across(link, axis, centre)
    if drawn > 0.0:
        yield from relation('a radius over the radius of its shape', '', 0.6, 1.6, (radius, 1.0), factor=1.0 / drawn)
