"""Relations between masses, inertias, lengths and limits of a URDF."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterator

import numpy as np

from dyn_nodes.model.bodies import Joint, Link
from dyn_nodes.model.inertia_checks import LEAST_INERTIA
from dyn_nodes.model.magnitudes.geometry import LEAST_REACH, Geometry, hull_volume
from dyn_nodes.model.magnitudes.limits import PLACEHOLDER_RATE, limit_or_none, limits_of
from dyn_nodes.model.magnitudes.relation import Quantity, Relation, relation
from dyn_nodes.model.posture import moved_inertia, moved_mass

LEAST_GROUP = 3
"""Least number of joints for a comparison with their median."""
STANDARD_GRAVITY = 9.81
"""Gravity, m/s2, for machines that are modelled without gravity."""
LEAST_SHARE = 0.005
"""Least share of the machine's mass for a check of density: shapes of lighter links are often not realistic."""
NEGLIGIBLE_SHARE = 1e-5
"""Share of the machine's mass below which a link is a frame with placeholder values."""


def links(geometry: Geometry) -> Iterator[Relation]:
    """Yield the relations of all links."""
    bodies = [link for link in geometry.machine.links if link.mass > 0.0]
    largest = max((_largest(link) for link in bodies), default=0.0)
    moved = {joint.child for joint in geometry.machine.movable_joints}
    for link in bodies:
        yield from _link(link, geometry, largest, moved)
    yield from _lengths(geometry)


def _largest(link: Link) -> float:
    return float(np.linalg.eigvalsh(link.inertia)[-1])


def _gyration_range(share: float, of_inertia: float, moves: bool) -> tuple[float, float]:
    """Return the range of the radius of gyration over the reach; wide for light links, which are often placeholders.

    Args:
        share: of the machine's mass.
        of_inertia: inertia over the largest one of the machine.
        moves: whether a joint moves the link.
    """
    if max(share, of_inertia) <= LEAST_SHARE:
        return 0.0, 9.0 if moves else 12.0 if share > NEGLIGIBLE_SHARE else math.inf
    return (0.08 if share > 2.0 * LEAST_SHARE else 0.025), 6.0


def _link(link: Link, geometry: Geometry, largest: float, moved: Collection[str]) -> Iterator[Relation]:
    mass = Quantity(f'link {link.name}, mass', link.mass, 'kg')
    inertia = Quantity(f'link {link.name}, inertia', _largest(link), 'kg m2')
    shape = Quantity(f'link {link.name}, geometry', geometry.size(link.name), 'm')
    com = Quantity(f'link {link.name}, inertial', float(np.linalg.norm(link.com)), 'm')
    share, has_shape = link.mass / geometry.mass, shape.value > 0.0
    if inertia.value > LEAST_INERTIA and not np.array_equal(link.inertia, np.eye(3)):  # a placeholder
        reach = max(geometry.reach(link), LEAST_REACH * geometry.extent)
        low, high = _gyration_range(share, inertia.value / largest, link.name in moved)
        about, length = ('its shape', ((shape, -1.0),)) if has_shape else ('its joints', ())
        yield from relation(
            f'a radius of gyration over the reach of {about}',
            '',
            low,
            high,
            (inertia, 0.5),
            (mass, -0.5),
            *length,
            factor=(shape.value if has_shape else 1.0) / reach,
        )
    if has_shape:
        volume = hull_volume(*geometry.shapes.points(link.name))
        if max(share, inertia.value / largest if largest else 0.0) > LEAST_SHARE and volume > 0.0:
            yield from relation(
                'a density over the hull of its shapes',
                'kg/m3',
                1.0,
                3e4,
                (mass, 1.0),
                (shape, -3.0),
                factor=shape.value**3 / volume,
            )
        box = geometry.box(link.name)
        assert box is not None
        outside = np.linalg.norm(np.maximum(0.0, np.maximum(box[0] - link.com, link.com - box[1])))
        if outside > 0.0 and com.value > 0.0:
            yield from relation(
                'a distance from its shape over its size',
                '',
                0.0,
                2.0,
                (com, 1.0),
                (shape, -1.0),
                factor=outside / com.value,
            )


def _lengths(geometry: Geometry) -> Iterator[Relation]:
    lengths = geometry.lengths
    order = sorted(lengths.values(), reverse=True)
    for where, length in lengths.items() if len(order) > 1 else ():
        others = order[1] if length == order[0] else order[0]
        yield from relation(
            'a length over the greatest of the others',
            '',
            0.0,
            30.0,
            (Quantity(where, length, 'm'), 1.0),
            factor=1.0 / others,
        )
    for link in geometry.machine.links:
        drawn, size = geometry.drawn_size(link.name), geometry.size(link.name)
        yield from relation(
            'a size over the size of its collision shapes',
            '',
            0.0,
            6.0,
            (Quantity(f'link {link.name}, visual', drawn, 'm'), 1.0),
            factor=1.0 / max(size, LEAST_REACH * geometry.extent) if size else 0.0,
        )
    for joint in geometry.machine.joints:
        origin = Quantity(f'joint {joint.name}, origin', float(np.linalg.norm(joint.origin[:3, 3])), 'm')
        apart = geometry.distance_apart(joint)
        if apart > 0.0 and origin.value > 0.0:
            yield from relation(
                'a distance of the shapes of both links over the greater one',
                '',
                0.0,
                5.0,
                (origin, 1.0),
                factor=apart / origin.value,
            )


def joints(geometry: Geometry) -> Iterator[Relation]:
    """Yield the relations of the limits of all movable joints."""
    turning = [joint for joint in geometry.machine.movable_joints if joint.type != 'prismatic']
    wheels = {wheel.link for wheel in geometry.machine.wheels}
    for joint in geometry.machine.movable_joints:
        yield from _joint(joint, geometry)
    for group in (
        [joint for joint in turning if joint.child not in wheels],
        [joint for joint in turning if joint.child in wheels],
    ):
        yield from _beside_others([limits_of(joint)[0] for joint in group])


def _beside_others(velocities: list[Quantity]) -> Iterator[Relation]:
    """Yield the relations of velocity limits to their median."""
    finite = [limit for limit in velocities if math.isfinite(limit.value) and limit.value > 0.0]
    median = statistics.median(limit.value for limit in finite) if len(finite) >= LEAST_GROUP else 0.0
    for limit in finite if median else ():
        yield from relation('a speed over the median of such joints', '', 0.01, 5.0, (limit, 1.0), factor=1.0 / median)


def _joint(joint: Joint, geometry: Geometry) -> Iterator[Relation]:
    machine, extent, slides = geometry.machine, geometry.extent, joint.type == 'prismatic'
    gravity = machine.gravity or STANDARD_GRAVITY
    velocity, effort = limits_of(joint)
    usual = velocity._replace(value=limit_or_none(velocity.value, 0.1 * PLACEHOLDER_RATE))
    travel = joint.upper - joint.lower
    if slides:
        yield from relation(
            'a travel over the size of the machine',
            '',
            0.0,
            3.0,
            (Quantity(f'joint {joint.name}, limit', travel, 'm'), 1.0),
            factor=1.0 / extent,
        )
    elif joint.type == 'revolute' and machine.idle_joints.get(joint.name) == 'free':
        limit = Quantity(f'joint {joint.name}, limit', max(-joint.lower, joint.upper), 'rad')
        yield from relation('a turn of a joint without drive', 'rad', 0.0, 1.01 * math.pi, (limit, 1.0))
    way = travel if slides else min(travel, 2.0 * math.pi)
    mass, inertia = moved_mass(machine, joint), moved_inertia(machine, joint, geometry.poses)
    yield from relation(
        'a distance to its greatest speed over its range',
        '',
        0.0,
        30.0,
        (velocity, 2.0),
        (effort, -1.0),
        factor=0.5 * inertia / way if way else 0.0,
    )
    yield from relation('a time to its greatest speed', 's', 0.0, 15.0, (velocity, 1.0), (effort, -1.0), factor=inertia)
    reach = 1.0 if slides else max(_reach(joint, geometry), 1e-3)
    turns = joint.type == 'revolute'
    for rate, fall, turn in ((velocity, 13.0, 40.0), (usual, 6.0, 18.0)):
        yield from relation(
            'a speed over the speed of a fall by the size of the machine',
            '',
            1e-5,
            fall if turns else 13.0,
            (rate, 1.0),
            factor=reach / math.sqrt(gravity * extent),
        )
        if not slides:
            yield from relation(
                'a turn in the time of a fall by the size of the machine',
                '',
                1e-4,
                turn if turns else 150.0,
                (rate, 1.0),
                factor=math.sqrt(extent / gravity),
            )
    reference = 'the weight of the machine' if slides else 'weight times size of the machine'
    yield from relation(
        f'an effort over {reference}',
        '',
        0.0,
        20.0 if turns else 50.0,
        (effort, 1.0),
        factor=1.0 / (geometry.mass * gravity * (1.0 if slides else extent)),
    )
    arm = 1.0 if slides or mass <= 0.0 else math.sqrt(inertia / mass)
    yield from relation(
        'an effort over the weight that it moves',
        '',
        0.04,
        math.inf,
        (effort, 1.0),
        factor=1.0 / (mass * gravity * arm) if mass * arm > 0.0 else 0.0,
    )
    damping = Quantity(
        f'joint {joint.name}, dynamics damping', joint.damping, f'{effort.unit} s/{"m" if slides else "rad"}'
    )
    friction = Quantity(f'joint {joint.name}, dynamics friction', joint.friction, effort.unit)
    yield from relation(
        'a damping at its greatest speed over its effort limit',
        '',
        1e-9,
        3.0,
        (damping, 1.0),
        (usual, 1.0),
        (effort, -1.0),
    )
    yield from relation('a friction over its effort limit', '', 1e-9, 1.0, (friction, 1.0), (effort, -1.0))


def _reach(joint: Joint, geometry: Geometry) -> float:
    """Return the greatest distance of the axis from the shapes and the joints of the moved link, m."""
    child = joint.child
    centre, axis = np.zeros(3), joint.axis
    arms = geometry.joints_on(child)
    arms = arms - np.outer(arms @ axis, axis)
    return max(geometry.across(child, axis, centre), float(np.linalg.norm(arms, axis=1).max()))
