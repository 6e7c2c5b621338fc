"""Estimates contacts with the ground from the shapes and names in a URDF."""

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
"""Least ratio of length to height of a track, which gets a contact at both ends."""
LEVEL = 0.3
"""Greatest vertical component of a wheel's unit axis."""
NEAR_GROUND, LEAST_NEAR = 0.03, 0.02
"""Greatest height of a contact above the lowest one, over the machine's height; and its minimum, m."""
SAME = 0.06
"""Distance over the machine's extent below which contacts are merged."""
FOOT_HEIGHT = 0.05
"""Height of the upper end of the strut of a foot or corner above the ground, m."""
SLAB = 0.1
"""Lowest part of a track, over its height, that determines its ends."""
SOLES = (2e-3, 1e-2)
"""Heights of the sole above the lowest point, m; the first with a support area is used."""
LOSS = 0.04
"""Greatest distance of a sole from the polygon of its corners, over half the width of the support."""
THIN = 0.1
"""Ratio of least to greatest extent below which contacts lie on a line."""


@dataclass(frozen=True, eq=False)
class Contact:
    """A contact with the ground.

    Attributes:
        name: of the wheel in the YAML.
        link: that carries the wheel.
        position: (3,) of the attachment in the frame of `link`, m.
        free_length: height of the attachment over the common ground plane, m.
        ground: (3,) of the contact in the frame of the root link, m.
        joints: that spin or steer the wheel.
        how: text, how the contact was found.
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
    """Return the contacts of a machine, and how they were found; an empty list and the reason if there are none.

    Contacts are wheels (continuous joints with a level axis, or names) and feet (names) that reach the ground, if at
    least three of them span an area; else the corners of the base body. A wheel has one contact, a foot the necessary
    corners of its sole. The support area is within the shapes and at most by LOSS smaller.
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
    """Return corner points of a link in the root frame; for a ball its extreme points along the axes."""
    points, radii = shapes.points(link)
    in_root = points @ pose[:3, :3].T + pose[:3, 3]
    balls = [center + radius * side for center, radius in zip(in_root, radii) if radius > 0 for side in _SIDES]
    return np.concatenate([in_root[radii <= 0], np.array(balls).reshape(-1, 3)])


_SIDES = np.array([[0, 0, -1], [0, 0, 1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], dtype=np.float64)


def _candidates(machine: Machine, clouds: Mapping[str, Array], poses: Mapping[str, Array]) -> list[_Candidate]:
    """Return all links that may be wheels or feet, by their joints or names."""
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
    """Return the rear and front ends of a track on the ground; empty if the link is no track."""
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
    """Return the movable joints that spin and steer a wheel, and the link that carries these joints."""
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
    """Return the candidates in the order of the URDF; of nearby ones only the lowest."""
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
    """Return the points (n, 3) on the ground: below the middle of a wheel, or the sole of a foot."""
    points = candidate.middle[None].copy() if candidate.wheel else candidate.sole.copy()
    points[:, 2] = candidate.low
    return points


def _contacts(candidate: _Candidate, poses: Mapping[str, Array], tolerance: float) -> list[Contact]:
    """Return the contacts of a wheel or foot; a sole smaller than the tolerance, m, has one in its middle."""
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
    how = f'a corner of the sole of {root} and the links fixed to it'
    result = []
    for k, corner in enumerate(corners(sole, LOSS * half_width(sole))):
        position = _in_frame(poses[root], np.array([*corner, low + FOOT_HEIGHT]))
        result.append(Contact(f'corner_{k + 1}', root, position, FOOT_HEIGHT, np.array([*corner, low]), (), how))
    return _by_side(result)


def _by_side(contacts: list[Contact]) -> list[Contact]:
    """Return four contacts with the names of their sides if these differ; else the contacts."""
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
    """Return half the least width of the convex hull of points (n, 2), m; 0 for points on a line."""
    outline = _outline(points)
    if len(outline) < 3:
        return 0.0
    along = np.roll(outline, -1, axis=0) - outline
    normals = np.column_stack([-along[:, 1], along[:, 0]]) / np.linalg.norm(along, axis=1)[:, None]
    return 0.5 * float(np.ptp(outline @ normals.T, axis=0).min())


def corners(points: Array, tolerance: float) -> Array:
    """Return few corners (m, 2), counter-clockwise, of the convex hull of points (n, 2).

    The hull extends beyond the polygon of these corners by at most the tolerance, m.
    """
    outline = _outline(points)
    kept = list(range(len(outline)))
    while len(kept) > 3:
        losses = [_loss(outline, kept[:k] + kept[k + 1 :]) for k in range(len(kept))]
        least = int(np.argmin(np.round(losses, 9)))  # of equal losses the first: removes every second corner of a ring
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
    """Return the corners (m, 2) of the convex hull of points (n, 2), counter-clockwise; all points if on a line."""
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError):
        return points


def _in_frame(pose: Array, point: Array) -> Array:
    return np.asarray(pose[:3, :3].T @ (point - pose[:3, 3]))


def _on(contact: Contact, plane: float) -> Contact:
    """Return the contact with its free length measured from the common ground plane."""
    return replace(contact, free_length=contact.free_length + float(contact.ground[2]) - plane)


def _named(contacts: list[Contact]) -> list[Contact]:
    """Return the contacts with unique names that are valid in topics."""
    named: list[Contact] = []
    for k, contact in enumerate(contacts):
        name = re.sub(r'\W', '_', contact.name)
        name = name if re.match(NAME, name) else f'wheel_{name.strip("_")}'
        if not re.match(NAME, name) or any(other.name == name for other in named):
            name = f'wheel_{k + 1}'
        named.append(replace(contact, name=name))
    return named
