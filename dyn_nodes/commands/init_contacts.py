"""Where a machine of which only the URDF is known touches the ground."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.limits import NAME
from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.model.shapes import Shapes

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
"""The ends of a track are sought in this lowest part of its height."""
SOLES = (2e-3, 1e-2)
"""Height of what touches the ground above the lowest point, m: the first by which a base stands on an area."""
LOSS = 0.04
"""Greatest distance by which the corners of a sole stay inside it, of half the width of the support."""
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
class _Candidate:
    link: str
    low: float
    middle: Array  # of the shape, in the root frame
    sole: Array  # (n, 3) points that touch the ground, in the root frame
    joints: tuple[str, ...]
    carrier: str
    wheel: bool
    how: str
    end: str = ''  # of a track: front or rear


def find_contacts(machine: Machine, shapes: Shapes, poses: Mapping[str, Array]) -> tuple[list[Contact], str]:
    """Return where a machine stands, and how that was found; an empty list where nothing can be said.

    Wheels (continuous joints with a level axis, or names) and feet (names) that reach the ground, if at least three of
    them span an area; else the corners of the body that the root link is part of. A wheel has one contact, a foot the
    corners of its sole that the support needs. The area is never larger than the shapes are, and by LOSS smaller.
    """
    clouds = {link.name: _cloud(shapes, link.name, poses[link.name]) for link in machine.links}
    clouds = {name: cloud for name, cloud in clouds.items() if len(cloud)}
    if not clouds:
        return [], 'no link has a shape that could be read'
    everything = np.concatenate(list(clouds.values()))
    near = max(NEAR_GROUND * float(np.ptp(everything[:, 2])), LEAST_NEAR)
    candidates = _candidates(machine, clouds, poses)
    lowest = min((candidate.low for candidate in candidates), default=0.0)
    low = [candidate for candidate in candidates if candidate.low - lowest <= near]
    distinct = _distinct(low, SAME * float(np.ptp(everything[:, :2], axis=0).max()))
    if _span_an_area(distinct):
        tolerance = LOSS * half_width(np.concatenate([_below(candidate)[:, :2] for candidate in distinct]))
        contacts = [contact for candidate in distinct for contact in _contacts(candidate, poses, tolerance)]
        how = f'{len(distinct)} wheels or feet that reach within {near:.3f} m of the lowest of them'
    else:
        contacts = _corners(machine, clouds, poses)
        how = 'corners of the sole of the base body: no three wheels or feet were found that span an area'
        if len(contacts) < 3:
            return [], 'neither three wheels or feet nor a base body with a flat sole were found'
        above = float(contacts[0].ground[2] - everything[:, 2].min())
        if above > near:
            return [], f'no three wheels or feet were found, and the base body ends {above:.2f} m above the lowest link'
    plane = min(float(contact.ground[2]) for contact in contacts)
    return _named([_on(contact, plane) for contact in contacts]), how


def _cloud(shapes: Shapes, link: str, pose: Array) -> Array:
    """Return corner points of a link in the root frame; of a ball its lowest, highest and outermost points."""
    points, radii = shapes.points(link)
    in_root = points @ pose[:3, :3].T + pose[:3, 3]
    balls = [center + radius * side for center, radius in zip(in_root, radii) if radius > 0 for side in _SIDES]
    return np.concatenate([in_root[radii <= 0], np.array(balls).reshape(-1, 3)])


_SIDES = np.array([[0, 0, -1], [0, 0, 1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], dtype=np.float64)


def _candidates(machine: Machine, clouds: Mapping[str, Array], poses: Mapping[str, Array]) -> list[_Candidate]:
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
        sole = cloud[cloud[:, 2] < low + SOLES[0]]
        joints, carrier = _steered(link.name, mover) if wheel else ((), link.name)
        ends = _track_ends(link.name, cloud)
        for end, point in ends.items():
            how = f'the {end} end of the track {link.name}'
            result.append(_Candidate(link.name, low, point, point[None], joints, carrier, False, how, f'_{end}'))
        if ends:
            continue
        result.append(_Candidate(link.name, low, middle, sole, joints, carrier, wheel, how))
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


def _distinct(candidates: list[_Candidate], near: float) -> list[_Candidate]:
    """Return the lowest of those that are near to each other, in the order of the URDF."""
    kept: list[_Candidate] = []
    for candidate in sorted(candidates, key=lambda candidate: candidate.low):
        if all(np.linalg.norm(candidate.middle[:2] - other.middle[:2]) > near for other in kept):
            kept.append(candidate)
    return [candidate for candidate in candidates if candidate in kept]


def _span_an_area(candidates: list[_Candidate]) -> bool:
    if len(candidates) < 3:
        return False
    points = np.array([_below(candidate)[:, :2].mean(axis=0) for candidate in candidates])
    extents = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(extents[1] > THIN * extents[0])


def _below(candidate: _Candidate) -> Array:
    """Return the points (n, 3) that touch the ground: below the middle of a wheel, the sole of a foot."""
    points = candidate.middle[None].copy() if candidate.wheel else candidate.sole.copy()
    points[:, 2] = candidate.low
    return points


def _contacts(candidate: _Candidate, poses: Mapping[str, Array], tolerance: float) -> list[Contact]:
    """Return the contacts of a wheel or foot: one in the middle of a sole that is smaller than a tolerance, m."""
    points = _below(candidate)
    middle = points.mean(axis=0)
    if np.linalg.norm(points[:, :2] - middle[:2], axis=1).max() <= tolerance:
        points = middle[None]
    else:
        points = np.insert(corners(points[:, :2], tolerance), 2, candidate.low, axis=1)
    height = float(candidate.middle[2]) if candidate.wheel else candidate.low + FOOT_HEIGHT
    name = (re.sub(r'_?link$', '', candidate.link) or candidate.link) + candidate.end
    result = []
    for k, ground in enumerate(points):
        contact = name if len(points) == 1 else f'{name}_{k + 1}'
        how = candidate.how if len(points) == 1 else f'{candidate.how}, a corner of its sole'
        position = _in_frame(poses[candidate.carrier], np.array([ground[0], ground[1], height]))
        result.append(
            Contact(contact, candidate.carrier, position, height - candidate.low, ground, candidate.joints, how)
        )
    return result


def _corners(machine: Machine, clouds: Mapping[str, Array], poses: Mapping[str, Array]) -> list[Contact]:
    root = machine.links[0].name
    rigid = {root}
    for joint in machine.joints:
        if not joint.movable and joint.parent in rigid:
            rigid.add(joint.child)
    bodies = [clouds[name] for name in rigid if name in clouds]
    if not bodies:
        return []
    points = np.concatenate(bodies)
    low = float(points[:, 2].min())
    soles = (points[points[:, 2] <= low + height][:, :2] for height in SOLES)
    sole = next((area for area in soles if half_width(area) > 0.5e-3), None)
    if sole is None:
        return []
    how = f'a corner of the sole of {root} and what is fixed to it'
    result = []
    for k, corner in enumerate(corners(sole, LOSS * half_width(sole))):
        position = _in_frame(poses[root], np.array([*corner, low + FOOT_HEIGHT]))
        result.append(Contact(f'corner_{k + 1}', root, position, FOOT_HEIGHT, np.array([*corner, low]), (), how))
    return _by_side(result)


def _by_side(contacts: list[Contact]) -> list[Contact]:
    """Return four contacts named by their sides, where each is on another; else the contacts."""
    middle = np.mean([contact.ground for contact in contacts], axis=0)
    sides = {'front_right': (1, -1), 'front_left': (1, 1), 'rear_right': (-1, -1), 'rear_left': (-1, 1)}
    named: dict[str, Contact] = {}
    for contact in contacts:
        along, left = np.sign(contact.ground[:2] - middle[:2])
        named |= {name: contact for name, side in sides.items() if side == (along, left)}
    if len(contacts) != 4 or len(named) != 4:
        return contacts
    return [replace(named[name], name=name) for name in sides]


def half_width(points: Array) -> float:
    """Return half the least width of the convex hull of points (n, 2), m; 0 where they lie on a line."""
    outline = _outline(points)
    if len(outline) < 3:
        return 0.0
    along = np.roll(outline, -1, axis=0) - outline
    normals = np.column_stack([-along[:, 1], along[:, 0]]) / np.linalg.norm(along, axis=1)[:, None]
    return 0.5 * float(np.ptp(outline @ normals.T, axis=0).min())


def corners(points: Array, tolerance: float) -> Array:
    """Return few corners (m, 2), counter-clockwise, of the convex hull of points (n, 2), none of them beyond it.

    No point of the hull is further than the tolerance, m, from the polygon of the corners.
    """
    outline = _outline(points)
    kept = list(range(len(outline)))
    while len(kept) > 3:
        losses = [_loss(outline, kept[:k] + kept[k + 1 :]) for k in range(len(kept))]
        least = int(np.argmin(np.round(losses, 9)))  # of equal ones the first: every second corner of a ring goes
        if losses[least] > tolerance:
            break
        del kept[least]
    return outline[kept]


def _loss(outline: Array, kept: list[int]) -> float:
    """Return the greatest distance, m, of the corners of an outline (n, 2) from the polygon of those kept."""
    polygon = outline[kept]
    along = np.roll(polygon, -1, axis=0) - polygon
    outward = np.column_stack([along[:, 1], -along[:, 0]]) / np.linalg.norm(along, axis=1)[:, None]
    return float((outline @ outward.T - (polygon * outward).sum(axis=1)).max())


def _outline(points: Array) -> Array:
    """Return the corners (m, 2) of the convex hull of points (n, 2), counter-clockwise; all points of a line."""
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        return points


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
