"""Reader of a URDF: text -> links and joints.

The elements are checked before. yourdfpy reads the shapes for pictures (`dyn_nodes.viewer.robot`); numbers need
neither meshes nor a scene.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from lxml import etree

from dyn_nodes.model.limits import limit_or_none
from dyn_nodes.model.machine import Array, Joint, Link, frozen_array
from dyn_nodes.model.problems import Report
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.model.tree import order_tree
from dyn_nodes.model.urdf_checks import UNSPECIFIED_LIMIT, Outline, check_elements, leave_out_free_root
from dyn_nodes.model.xml_source import Element, parse_xml


@dataclass(frozen=True)
class Urdf:
    """Data of a URDF: links root first, joint i moves links[i + 1]; `text` is the URDF itself."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    outline: Outline
    text: str


def read_urdf(text: str, report: Report) -> Urdf | None:
    """Return the links and joints of a URDF; None with faults, which are all reported."""
    before = len(report.warnings)
    root = parse_xml(text, report)
    if root is None:
        return None
    if leave_out_free_root(root, report) or len(report.warnings) > before:
        text = str(etree.tostring(root, encoding='unicode'))
    outline = check_elements(root, report)
    order = order_tree(outline, report)
    if report.failed or order is None:
        return None
    links_by_name = {link.name: link for link in map(_link, root.findall('link'))}
    joints_by_name = {joint.name: joint for joint in map(_joint, root.findall('joint'))}
    links = tuple(links_by_name[name] for name in order[0])
    joints = tuple(joints_by_name[name] for name in order[1])
    return None if report.failed else Urdf(outline.name, links, joints, outline, text)


def _link(element: Element) -> Link:
    name, inertial = (element.get('name') or '').strip(), element.find('inertial')
    if inertial is None:
        return Link(name, 0.0, frozen_array(np.zeros(3), (3,)), frozen_array(np.zeros((3, 3)), (3, 3)))
    pose, inertia, mass = _origin(inertial), inertial.find('inertia'), inertial.find('mass')
    xx, yy, zz, xy, xz, yz = (_number(inertia, key, 0.0) for key in ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz'))
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    rotation = pose[:3, :3]
    about_axes = _symmetric(rotation @ tensor @ rotation.T)
    return Link(name, _number(mass, 'value', 0.0), frozen_array(pose[:3, 3], (3,)), frozen_array(about_axes, (3, 3)))


def _joint(element: Element) -> Joint:
    kind = element.get('type') or ''
    axis = _vector(element.find('axis'), 'xyz', (1.0, 0.0, 0.0))
    length = float(np.linalg.norm(axis))
    limit, dynamics = element.find('limit'), element.find('dynamics')
    bounded = kind in ('revolute', 'prismatic')
    ends = {end: (element.find(end).get('link') or '').strip() for end in ('parent', 'child')}  # type: ignore[union-attr]
    return Joint(
        name=(element.get('name') or '').strip(),
        type=kind,  # type: ignore[arg-type]  # the checks accept these four
        parent=ends['parent'],
        child=ends['child'],
        origin=frozen_array(_origin(element), (4, 4)),
        axis=frozen_array(axis / length if length > 0 else axis, (3,)),
        lower=limit_or_none(_number(limit, 'lower', 0.0), kind == 'revolute') if bounded else -math.inf,
        upper=limit_or_none(_number(limit, 'upper', 0.0), kind == 'revolute') if bounded else math.inf,
        velocity_limit=_greatest(limit, 'velocity'),
        effort_limit=_greatest(limit, 'effort'),
        damping=_number(dynamics, 'damping', 0.0),
        friction=_number(dynamics, 'friction', 0.0),
    )


def _origin(element: Element) -> Array:
    """Return the pose (4, 4) of an element's origin in its parent; identity without origin."""
    origin, pose = element.find('origin'), np.eye(4)
    pose[:3, :3] = matrix_of_rpy(_vector(origin, 'rpy', (0.0, 0.0, 0.0)))
    pose[:3, 3] = _vector(origin, 'xyz', (0.0, 0.0, 0.0))
    return pose


def _vector(element: Element | None, key: str, default: tuple[float, float, float]) -> Array:
    text = None if element is None else element.get(key)
    return np.array(default if text is None else [float(word) for word in text.split()])


def _number(element: Element | None, key: str, default: float) -> float:
    text = None if element is None else element.get(key)
    return default if text is None else float(text)


def _greatest(limit: Element | None, key: str) -> float:
    value = _number(limit, key, math.inf)
    return math.inf if value == UNSPECIFIED_LIMIT else value


def _symmetric(matrix: Array) -> Array:
    return np.asarray(0.5 * (matrix + matrix.T))
