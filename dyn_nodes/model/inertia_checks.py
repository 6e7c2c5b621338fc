"""Checks of inertia tensors: can a rigid body have them?"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from dyn_nodes.model.limits import LARGEST_GYRATION
from dyn_nodes.model.machine import Array, Joint, Link
from dyn_nodes.model.posture import inertia_along, link_poses
from dyn_nodes.model.problems import Report

ROUNDING = 1e-9  # relative; a principal moment this far below zero is rounding
LEAST_INERTIA = 1e-12  # kg m2; less is zero
TRIANGLE_TOLERANCE = 1e-3  # relative; numbers in a file are rounded


def check_inertia(
    tensor: Array, mass: float, line: int | None, where: str, report: Report, rides_on_another: bool = False
) -> None:
    """Check an inertia tensor (3, 3) about the mass centre, kg m2, of a body of `mass` kg.

    Problems: a principal moment below zero, a size that looks like kg mm2. Warnings: the triangle inequality
    (each principal moment is at most the sum of the others), no inertia with a mass, inertia without mass.
    For a link that `rides_on_another`, held by a fixed joint, a moment below zero is a warning: both are one body.
    """
    where = f'{where}, inertia'
    largest = float(np.max(np.abs(tensor)))
    if math.sqrt(largest / max(mass, 1.0)) > LARGEST_GYRATION:
        report.add(line, where, 'kg m2', f'{largest:.6g} with {mass:.6g} kg, which looks like kg mm2')
        return
    moments = np.linalg.eigvalsh(tensor)
    if moments[0] < -_rounding(largest):
        record = report.warn if rides_on_another else report.add
        record(line, where, 'a positive definite tensor', f'principal moments {_list(moments)}')
        return
    if mass <= 0 and largest > LEAST_INERTIA:
        report.warn(line, where, 'no inertia without mass', f'principal moments {_list(moments)}')
    elif mass > 0 and largest <= LEAST_INERTIA:
        report.warn(line, where, 'a positive definite tensor', f'zero, a point of {mass:.6g} kg')
    elif mass > 0 and moments[0] <= _rounding(largest):
        report.warn(line, where, 'a positive definite tensor', f'principal moments {_list(moments)}, a thin rod')
    elif mass > 0 and moments[2] > (moments[0] + moments[1]) * (1.0 + TRIANGLE_TOLERANCE):
        expected = 'principal moments that satisfy the triangle inequality'
        report.warn(line, where, expected, f'{_list(moments)}, which no rigid body has')


def _rounding(largest: float) -> float:
    return ROUNDING * largest + LEAST_INERTIA


def _list(moments: Iterable[float]) -> str:
    return ', '.join(f'{moment:.6g}' for moment in moments)


def check_moved_inertia(
    links: Sequence[Link],
    joints: Sequence[Joint],
    lines: Mapping[str, int],
    report: Report,
    ends: Collection[str] = (),
) -> None:
    """Check that every joint moves inertia; otherwise the mass matrix is singular.

    A massless link is legal if a link further out has mass, or if a constraint makes it move other links; it causes a
    warning. The links between the joints of a universal or ball joint cause none.

    Args:
        links: of the machine.
        joints: of the machine.
        lines: of the joints in the URDF, by name.
        report: of the URDF.
        ends: links connected to others by a constraint.
    """
    poses = link_poses(links, joints, {})
    by_name = {link.name: link for link in links}
    subtree: dict[str, list[Link]] = {link.name: [link] for link in links}
    rigid = {link.name: [link] for link in links}  # a link and the links fixed to it
    for joint in reversed(joints):
        subtree[joint.parent] += subtree[joint.child]
        if not joint.movable:
            rigid[joint.parent] += rigid[joint.child]
    for joint in (joint for joint in joints if not joint.movable):
        _check_composite(joint, by_name, rigid, poses, lines, report)
    for joint in joints:
        if not joint.movable:
            continue
        moved = inertia_along(joint, subtree[joint.child], poses)
        where = f'link {joint.child}'
        mass = f'a mass (joint {joint.name} moves it)'
        if moved <= 0.0 and any(link.name in ends for link in subtree[joint.child]):
            report.warn(lines.get(joint.name), where, mass, '0 kg; only links that constraints move with it have mass')
        elif moved <= 0.0:
            unit = 'mass' if joint.type == 'prismatic' else 'inertia about the axis'
            expected = f'inertia on the links that joint {joint.name} moves'
            report.add(lines.get(joint.name), where, expected, f'no {unit} (a missing <inertial>?)')
        elif sum(link.mass for link in rigid[joint.child]) <= 0.0 and not _compound(joint.child, joints):
            report.warn(lines.get(joint.name), where, mass, '0 kg; only links further out have mass')


def _compound(link: str, joints: Sequence[Joint]) -> bool:
    """Return whether a link is inside a universal or ball joint: the joints on it are at its origin."""
    carried = [joint for joint in joints if joint.parent == link]
    return bool(carried) and all(joint.movable and not joint.origin[:3, 3].any() for joint in carried)


def _check_composite(
    joint: Joint,
    by_name: Mapping[str, Link],
    rigid: Mapping[str, Sequence[Link]],
    poses: Mapping[str, Array],
    lines: Mapping[str, int],
    report: Report,
) -> None:
    """Check the body that consists of fixed links if the link alone has an impossible inertia."""
    tensor = by_name[joint.child].inertia
    if np.linalg.eigvalsh(tensor)[0] >= -_rounding(float(np.max(np.abs(tensor)))):
        return
    bodies = rigid[joint.parent]
    masses = np.array([link.mass for link in bodies])
    centres = np.array([poses[link.name][:3, :3] @ link.com + poses[link.name][:3, 3] for link in bodies])
    middle = masses @ centres / max(float(masses.sum()), 1e-300)
    total = np.zeros((3, 3))
    for link, centre in zip(bodies, centres - middle):
        rotation = poses[link.name][:3, :3]
        total += rotation @ link.inertia @ rotation.T
        total += link.mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    moments = np.linalg.eigvalsh(total)
    if moments[0] < -_rounding(float(np.max(np.abs(total)))):
        where = f'link {joint.child}, inertia'
        expected = f'a positive definite tensor of {joint.parent} with the links fixed to it'
        report.add(lines.get(joint.name), where, expected, f'principal moments {_list(moments)}')
