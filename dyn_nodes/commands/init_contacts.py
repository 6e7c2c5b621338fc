"""Where a machine of which only the URDF is known touches the ground."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model.limits import NAME
from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.model.shapes import Shapes

Array = NDArray[np.float64]
WHEEL = re.compile(r'wheel|cast[eo]r|tyre|tire|track|roller', re.IGNORECASE)
FOOT = re.compile(r'foot|feet|toe|outrigger|stabili[sz]er|jack|(^|_)(leg|sole)(_|$)', re.IGNORECASE)
TRACK = re.compile(r'track|crawler', re.IGNORECASE)
LONG = 1.5
"""A track is longer than it is high by this factor; it stands on both its ends."""
LEVEL = 0.3
"""A wheel's axis has at most this component along the vertical."""
NEAR_GROUND, LEAST_NEAR = 0.03, 0.02
"""A contact reaches down to the lowest one within this part of the machine's height, and at least within 2 cm."""
SAME = 0.06
"""Contacts nearer to each other than this part of the machine's extent are one."""
FOOT_HEIGHT = 0.05
"""The strut of a foot or corner begins this far above the ground, m."""
SLAB = 0.1
"""The corners of a base are sought in this lowest part of its height."""
THIN = 0.1
"""Contacts whose least extent is below this part of their greatest lie on a line."""


@dataclass(frozen=True, eq=False)
class Contact:
    """A point where the machine stands.

    Attributes:
        name: of the wheel in the YAML.
        link: that carries it.
        position: (3,) of the attachment in the frame of `link`, m.
        free_length: height of the attachment over the common ground plane, m.
        ground: (3,) of the contact in the frame of the root link, m.
        joints: that spin or steer it.
        how: it was found.
    """

    name: str
    link: str
    position: Array
    free_length: float
    ground: Array
    joints: tuple[str, ...]
    how: str


@dataclass(frozen=True, eq=False)
class _Place:
    link: str
    low: float
    middle: Array  # of the shape, in the root frame
    foot: Array  # lowest point, in the root frame
    joints: tuple[str, ...]
    carrier: str
    wheel: bool
    how: str
    end: str = ''  # of a track: front or rear


def find_contacts(machine: Machine, shapes: Shapes, poses: Mapping[str, Array]) -> tuple[list[Contact], str]:
    """Return where a machine stands, and how that was found; an empty list where nothing can be said.

    Wheels (continuous joints with a level axis, or names) and feet (names) that reach the ground, if at least three of
    them span an area; else four corners of the body that the root link is part of. The area is never larger than the
    shapes are.
    """
    clouds = {link.name: _cloud(shapes, link.name, poses[link.name]) for link in machine.links}
    clouds = {name: cloud for name, cloud in clouds.items() if len(cloud)}
    if not clouds:
        return [], 'no link has a shape that could be read'
    everything = np.concatenate(list(clouds.values()))
    near = max(NEAR_GROUND * float(np.ptp(everything[:, 2])), LEAST_NEAR)
    places = _places(machine, clouds, poses)
    lowest = min((place.low for place in places), default=0.0)
    low = [place for place in places if place.low - lowest <= near]
    found = _distinct(low, SAME * float(np.ptp(everything[:, :2], axis=0).max()))
    if _span_an_area(found):
        contacts = [_contact(place, poses) for place in found]
        how = f'{len(contacts)} wheels or feet that reach within {near:.3f} m of the lowest of them'
    else:
        contacts = _corners(machine, clouds, poses)
        how = 'four corners of the lowest part of the base body: no three wheels or feet were found that span an area'
        if len(contacts) < 3:
            return [], 'neither three wheels or feet nor a base body with a shape were found'
        above = float(contacts[0].ground[2] - everything[:, 2].min())
        if above > near:
            return [], f'no three wheels or feet were found, and the base body ends {above:.2f} m above the lowest link'
    plane = min(float(contact.ground[2]) for contact in contacts)
    return _named([_on(contact, plane) for contact in contacts]), how


def _cloud(shapes: Shapes, link: str, pose: Array) -> Array:
    """Return corner points of a link in the root frame; of a ball its lowest, highest and outermost points."""
    points, radii = shapes.points(link)
    placed = points @ pose[:3, :3].T + pose[:3, 3]
    balls = [center + radius * side for center, radius in zip(placed, radii) if radius > 0 for side in _SIDES]
    return np.concatenate([placed[radii <= 0], np.array(balls).reshape(-1, 3)])


_SIDES = np.array([[0, 0, -1], [0, 0, 1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], dtype=np.float64)


def _places(machine: Machine, clouds: Mapping[str, Array], poses: Mapping[str, Array]) -> list[_Place]:
    """Return every link that looks like a wheel or a foot."""
    mover = {joint.child: joint for joint in machine.joints}
    result = []
    for link in machine.links[1:]:
        cloud = clouds.get(link.name)
        if cloud is None:
            continue
        joint = mover[link.name]
        endless = joint.type in ('continuous', 'revolute') and np.isinf([joint.lower, joint.upper]).all()
        rolls = endless and abs(float((poses[joint.child][:3, :3] @ joint.axis)[2])) < LEVEL
        if rolls:
            how = f'{link.name} turns about a level axis without limits'
        elif WHEEL.search(link.name) or FOOT.search(link.name):
            how = f'the name of {link.name}'
        else:
            continue
        wheel = rolls or bool(WHEEL.search(link.name))
        low = float(cloud[:, 2].min())
        middle = 0.5 * (cloud.min(axis=0) + cloud.max(axis=0))
        foot = cloud[cloud[:, 2] < low + 2e-3].mean(axis=0)
        joints, carrier = _steered(link.name, mover) if wheel else ((), link.name)
        ends = _track_ends(link.name, cloud)
        for end, point in ends.items():
            how = f'the {end} end of the track {link.name}'
            result.append(_Place(link.name, low, point, point, joints, carrier, False, how, f'_{end}'))
        if ends:
            continue
        result.append(_Place(link.name, low, middle, foot, joints, carrier, wheel, how))
    return result


def _track_ends(link: str, cloud: Array) -> dict[str, Array]:
    """Return where a track ends on the ground, by name; nothing for what is no track."""
    span = np.ptp(cloud, axis=0)
    if not TRACK.search(link) or span[0] < LONG * span[2] or span[0] < span[1]:
        return {}
    low = float(cloud[:, 2].min())
    sole = cloud[cloud[:, 2] < low + SLAB * float(span[2])]
    across = 0.5 * float(sole[:, 1].min() + sole[:, 1].max())
    return {
        'rear': np.array([float(sole[:, 0].min()), across, low]),
        'front': np.array([float(sole[:, 0].max()), across, low]),
    }


def _steered(link: str, mover: Mapping[str, Joint]) -> tuple[tuple[str, ...], str]:
    """Return the movable joints that spin and steer a wheel, and the link that carries them all."""
    joints: list[str] = []
    carrier = link
    while carrier in mover:
        joint = mover[carrier]
        turns = joint.type in ('continuous', 'revolute') and (not joints or WHEEL.search(joint.name + joint.child))
        if not turns and not (joint.type == 'fixed' and not joints):
            break
        joints += [joint.name] if joint.movable else []
        carrier = joint.parent
    return tuple(joints), carrier


def _distinct(places: list[_Place], near: float) -> list[_Place]:
    """Return the lowest of those that are near to each other, in the order of the URDF."""
    kept: list[_Place] = []
    for place in sorted(places, key=lambda place: place.low):
        if all(np.linalg.norm(place.middle[:2] - other.middle[:2]) > near for other in kept):
            kept.append(place)
    return [place for place in places if place in kept]


def _span_an_area(places: list[_Place]) -> bool:
    if len(places) < 3:
        return False
    points = np.array([_below(place)[:2] for place in places])
    extents = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(extents[1] > THIN * extents[0])


def _below(place: _Place) -> Array:
    """Return the contact point: below the middle of a wheel, at the lowest point of a foot."""
    return np.array([*(place.middle[:2] if place.wheel else place.foot[:2]), place.low])


def _contact(place: _Place, poses: Mapping[str, Array]) -> Contact:
    ground = _below(place)
    height = float(place.middle[2]) if place.wheel else place.low + FOOT_HEIGHT
    attachment = np.array([ground[0], ground[1], height])
    position = _in_frame(poses[place.carrier], attachment)
    name = (re.sub(r'_?link$', '', place.link) or place.link) + place.end
    return Contact(name, place.carrier, position, height - place.low, ground, place.joints, place.how)


def _corners(machine: Machine, clouds: Mapping[str, Array], poses: Mapping[str, Array]) -> list[Contact]:
    root = machine.links[0].name
    rigid = {root}
    for joint in machine.joints:
        if not joint.movable and joint.parent in rigid:
            rigid.add(joint.child)
    own = [clouds[name] for name in rigid if name in clouds]
    if not own:
        return []
    points = np.concatenate(own)
    low, high = float(points[:, 2].min()), float(points[:, 2].max())
    slab = points[points[:, 2] <= low + max(SLAB * (high - low), 1e-3)]
    contacts: list[Contact] = []
    for name, direction in (
        ('front_right', (1, -1)),
        ('front_left', (1, 1)),
        ('rear_right', (-1, -1)),
        ('rear_left', (-1, 1)),
    ):
        corner = slab[np.argmax(slab[:, :2] @ np.array(direction))]
        ground = np.array([corner[0], corner[1], low])
        position = _in_frame(poses[root], np.array([corner[0], corner[1], low + FOOT_HEIGHT]))
        how = f'a corner of {root} and what is fixed to it'
        if all(np.linalg.norm(ground[:2] - other.ground[:2]) > 1e-3 for other in contacts):
            contacts.append(Contact(name, root, position, FOOT_HEIGHT, ground, (), how))
    return contacts


def _in_frame(pose: Array, point: Array) -> Array:
    return np.asarray(pose[:3, :3].T @ (point - pose[:3, 3]))


def _on(contact: Contact, plane: float) -> Contact:
    """Return the contact with the length of its strut from the common ground plane."""
    return replace(contact, free_length=contact.free_length + float(contact.ground[2]) - plane)


def _named(contacts: list[Contact]) -> list[Contact]:
    """Return the contacts with names that can be part of a topic, each its own."""
    named: list[Contact] = []
    for k, contact in enumerate(contacts):
        name = re.sub(r'\W', '_', contact.name)
        name = name if re.match(NAME, name) else f'wheel_{name.strip("_")}'
        if not re.match(NAME, name) or any(other.name == name for other in named):
            name = f'wheel_{k + 1}'
        named.append(replace(contact, name=name))
    return named
