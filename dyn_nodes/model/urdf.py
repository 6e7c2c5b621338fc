"""URDF text -> links and joints."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from lxml import etree

from dyn_nodes.model.machine import Array, Joint, Link, frozen_array
from dyn_nodes.model.problems import Report
from dyn_nodes.model.tree import order_tree
from dyn_nodes.model.urdf_checks import Outline, check_elements, leave_out_free_root
from dyn_nodes.model.xml_source import parse_xml


@dataclass(frozen=True)
class Urdf:
    """What a URDF says of a machine: links root first, joint i moves links[i + 1]; `text` is the URDF itself."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    outline: Outline
    text: str


def read_urdf(text: str, report: Report) -> Urdf | None:
    """Return the links and joints of a URDF, or None after recording every fault."""
    root = parse_xml(text, report)
    if root is None:
        return None
    if leave_out_free_root(root, report):
        text = str(etree.tostring(root, encoding='unicode'))
    outline = check_elements(root, report)
    order = order_tree(outline, report)
    if report.failed or order is None:
        return None
    try:
        robot = _read_with_yourdfpy(root)
        links_by_name = {link.name: _link(link) for link in robot.links}
        joints_by_name = {joint.name: _joint(joint) for joint in robot.joints}
    except Exception as error:  # a third-party reader may stumble over what the checks do not know
        report.add(0, 'document', 'a URDF that yourdfpy reads', f'{type(error).__name__}: {error}')
        return None
    links = tuple(links_by_name[name] for name in order[0])
    joints = tuple(joints_by_name[name] for name in order[1])
    return None if report.failed else Urdf(outline.name, links, joints, outline, text)


def _read_with_yourdfpy(root: etree._Element) -> Any:
    """Return yourdfpy's Robot. Shapes are left out: nothing here needs them, and meshes are slow."""
    import yourdfpy  # takes 0.2 s: not paid by those who import this package only

    for link in root.findall('link'):
        for shape in link.findall('visual') + link.findall('collision'):
            link.remove(shape)
        link.set('name', (link.get('name') or '').strip())
    for joint in root.findall('joint'):
        joint.set('name', (joint.get('name') or '').strip())
        for end in ('parent', 'child'):
            reference = joint.find(end)
            if reference is not None:
                reference.set('link', (reference.get('link') or '').strip())
        for unused in joint.findall('mimic') + joint.findall('calibration') + joint.findall('safety_controller'):
            joint.remove(unused)
    for material in root.findall('material'):
        root.remove(material)
    text = etree.tostring(root)
    model = yourdfpy.URDF.load(io.BytesIO(text), build_scene_graph=False, load_meshes=False)
    return model.robot


def _link(source: Any) -> Link:
    inertial = source.inertial
    if inertial is None or inertial.mass is None:
        return Link(source.name, 0.0, frozen_array(np.zeros(3), (3,)), frozen_array(np.zeros((3, 3)), (3, 3)))
    pose = np.eye(4) if inertial.origin is None else np.asarray(inertial.origin, dtype=np.float64)
    rotation = pose[:3, :3]
    tensor = np.zeros((3, 3)) if inertial.inertia is None else np.asarray(inertial.inertia, dtype=np.float64)
    about_axes = _symmetric(rotation @ tensor @ rotation.T)
    return Link(source.name, float(inertial.mass), frozen_array(pose[:3, 3], (3,)), frozen_array(about_axes, (3, 3)))


def _joint(source: Any) -> Joint:
    axis = np.array([1.0, 0.0, 0.0]) if source.axis is None else np.asarray(source.axis, dtype=np.float64)
    origin = np.eye(4) if source.origin is None else source.origin
    length = float(np.linalg.norm(axis))
    limit, dynamics = source.limit, source.dynamics
    bounded = source.type in ('revolute', 'prismatic')
    return Joint(
        name=source.name,
        type=source.type,
        parent=source.parent,
        child=source.child,
        origin=frozen_array(origin, (4, 4)),
        axis=frozen_array(axis / length if length > 0 else axis, (3,)),
        lower=_or(limit and limit.lower, 0.0) if bounded else -math.inf,
        upper=_or(limit and limit.upper, 0.0) if bounded else math.inf,
        velocity_limit=_or(limit and limit.velocity, math.inf),
        effort_limit=_or(limit and limit.effort, math.inf),
        damping=_or(dynamics and dynamics.damping, 0.0),
        friction=_or(dynamics and dynamics.friction, 0.0),
    )


def _or(value: float | None, default: float) -> float:
    return default if value is None else float(value)


def _symmetric(matrix: Array) -> Array:
    return np.asarray(0.5 * (matrix + matrix.T))
