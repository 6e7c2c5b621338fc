"""Masses, inertias, lengths and limits of a URDF against each other."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dyn_nodes.model.bodies import Joint, Link
from dyn_nodes.model.inertia_checks import LEAST_INERTIA
from dyn_nodes.model.magnitudes.geometry import LEAST_REACH, Geometry, hull_volume
from dyn_nodes.model.magnitudes.limits import PLACEHOLDER_RATE, limit_or_none, limits_of
from dyn_nodes.model.magnitudes.relation import Quantity, Relation, relation
from dyn_nodes.model.posture import moved_inertia

STANDARD_GRAVITY = 9.81
"""m/s2; of a machine that is modelled without gravity."""
LEAST_SHARE = 0.005
"""Of the machine's mass: the density of lighter links is not judged, which are often drawn as anything."""


def links(geometry: Geometry) -> Iterator[Relation]:
    """Yield the relations of all links."""
    bodies = [link for link in geometry.machine.links if link.mass > 0.0]
    largest = max((_largest(link) for link in bodies), default=0.0)
    for link in bodies:
        heavy = link.mass > LEAST_SHARE * geometry.machine.total_mass
        yield from _link(link, geometry, heavy, heavy or _largest(link) > LEAST_SHARE * largest)
    yield from _lengths(geometry)


def _largest(link: Link) -> float:
    return float(np.linalg.eigvalsh(link.inertia)[-1])


def _link(link: Link, geometry: Geometry, heavy: bool, counts: bool) -> Iterator[Relation]:
    mass = Quantity(f'link {link.name}, mass', link.mass, 'kg')
    inertia = Quantity(f'link {link.name}, inertia', _largest(link), 'kg m2')
    shape = Quantity(f'link {link.name}, geometry', geometry.size(link.name), 'm')
    com = Quantity(f'link {link.name}, inertial', float(np.linalg.norm(link.com)), 'm')
    reach, has_shape = geometry.reach(link), shape.value > 0.0
    drawn = not np.array_equal(link.inertia, np.eye(3))  # a placeholder
    if counts and drawn and inertia.value > LEAST_INERTIA:
        about = 'its shape' if has_shape else 'its joints'
        reach = max(reach, LEAST_REACH * geometry.extent)
        length = ((shape, -1.0),) if has_shape else ()
        yield from relation(
            f'a radius of gyration over the reach of {about}', '', 0.025, 6.0, (inertia, 0.5), (mass, -0.5), *length,
            factor=1.0 / reach if not length else shape.value / reach,
        )  # fmt: skip
    if has_shape:
        volume = hull_volume(*geometry.shapes.points(link.name))
        if heavy and volume > 0.0:
            yield from relation(
                'a density over the hull of its shapes', 'kg/m3', 1.0, 3e4, (mass, 1.0), (shape, -3.0),
                factor=shape.value**3 / volume,
            )  # fmt: skip
        box = geometry.box(link.name)
        assert box is not None
        outside = np.linalg.norm(np.maximum(0.0, np.maximum(box[0] - link.com, link.com - box[1])))
        if outside > 0.0 and com.value > 0.0:
            yield from relation(
                'a distance from its shape over its size', '', 0.0, 2.0, (com, 1.0), (shape, -1.0),
                factor=outside / com.value,
            )  # fmt: skip


def _lengths(geometry: Geometry) -> Iterator[Relation]:
    lengths = geometry.lengths
    order = sorted(lengths.values(), reverse=True)
    for place, length in lengths.items() if len(order) > 1 else ():
        others = order[1] if length == order[0] else order[0]
        yield from relation(
            'a length over the greatest of the others', '', 0.0, 30.0, (Quantity(place, length, 'm'), 1.0),
            factor=1.0 / others,
        )  # fmt: skip
    for joint in geometry.machine.joints:
        origin = Quantity(f'joint {joint.name}, origin', float(np.linalg.norm(joint.origin[:3, 3])), 'm')
        apart = geometry.distance_apart(joint)
        if apart > 0.0 and origin.value > 0.0:
            yield from relation(
                'a distance of the shapes of both links over the greater one', '', 0.0, 5.0, (origin, 1.0),
                factor=apart / origin.value,
            )  # fmt: skip


def joints(geometry: Geometry) -> Iterator[Relation]:
    """Yield the relations of all movable joints that can be driven."""
    for joint in geometry.machine.movable_joints:
        yield from _joint(joint, geometry)


def _joint(joint: Joint, geometry: Geometry) -> Iterator[Relation]:
    slides, name = joint.type == 'prismatic', f'joint {joint.name}, limit'
    velocity, effort = limits_of(joint)
    travel = joint.upper - joint.lower
    if slides:
        yield from relation('a travel over the size of the machine', '', 0.0, 3.0, (Quantity(name, travel, 'm'), 1.0),
                            factor=1.0 / geometry.extent)  # fmt: skip
    machine, extent = geometry.machine, geometry.extent
    way = travel if slides else min(travel, 2.0 * math.pi)
    inertia = moved_inertia(machine, joint, geometry.poses) + machine.armature(joint.name)
    yield from relation('a way to its greatest speed over its range', '', 0.0, 30.0, (velocity, 2.0), (effort, -1.0),
                        factor=0.5 * inertia / way if way else 0.0)  # fmt: skip
    yield from relation('a time to its greatest speed', 's', 0.0, 15.0, (velocity, 1.0), (effort, -1.0), factor=inertia)
    reach = 1.0 if slides else max(_reach(joint, geometry), 1e-3)
    gravity = machine.gravity or STANDARD_GRAVITY
    yield from relation('a speed over that of a fall by the size of the machine', '', 1e-5, 13.0, (velocity, 1.0),
                        factor=reach / math.sqrt(gravity * extent))  # fmt: skip
    if not slides:
        yield from relation('a turn in the time of a fall by the size of the machine', '', 1e-4, 150.0 if joint.type == 'continuous' else 40.0,
                            (velocity, 1.0), factor=math.sqrt(extent / gravity))  # fmt: skip
    yield from relation('an effort over weight times size of the machine' if not slides else 'an effort over the weight of the machine', '', 3e-5, 50.0,
                        (effort, 1.0), factor=1.0 / (machine.total_mass * gravity * (1.0 if slides else extent)))  # fmt: skip
    usual = velocity._replace(value=limit_or_none(velocity.value, 0.1 * PLACEHOLDER_RATE))
    damping = Quantity(f'joint {joint.name}, dynamics damping', joint.damping, f'{effort.unit} s/{"m" if slides else "rad"}')
    friction = Quantity(f'joint {joint.name}, dynamics friction', joint.friction, effort.unit)
    yield from relation('a damping at its greatest speed over its effort limit', '', 1e-9, 3.0, (damping, 1.0), (usual, 1.0), (effort, -1.0))
    yield from relation('a friction over its effort limit', '', 1e-9, 1.0, (friction, 1.0), (effort, -1.0))


def _reach(joint: Joint, geometry: Geometry) -> float:
    """Return the greatest distance of the axis from what the link of a joint carries next, m."""
    child = joint.child
    centre, axis = np.zeros(3), joint.axis
    arms = geometry.joints_on(child)
    arms = arms - np.outer(arms @ axis, axis)
    return max(geometry.across(child, axis, centre), float(np.linalg.norm(arms, axis=1).max()))
