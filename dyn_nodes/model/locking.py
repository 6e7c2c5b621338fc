"""Joints that the machine YAML holds for good: fixed joints from then on, at their initial position."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from lxml import etree

from dyn_nodes.model.config import Config
from dyn_nodes.model.machine import Joint, frozen_array
from dyn_nodes.model.posture import joint_transform
from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.urdf import Urdf

HELD = ('locked', 'pseudo')
"""Classes of joints that do not move."""


def check_locked(config: Config, urdf: Urdf, report: Report) -> None:
    """Check that every locked joint is a movable joint of the URDF that nothing else in the YAML drives."""
    movable = [joint.name for joint in urdf.joints if joint.movable]
    driven = {actuator.joint: actuator.name for actuator in config.actuators}
    for k, name in enumerate(config.locked):
        line = config.line(f'locked.{name}')
        if name not in movable:
            found = f'{name!r}, which is fixed' if name in urdf.outline.joints else did_you_mean(name, movable)
            report.add(line, 'locked', 'movable joints of the URDF', found)
        elif name in config.locked[:k]:
            report.add(line, 'locked', 'every joint once', f'{name!r} twice')
        elif name in driven:
            report.add(line, 'locked', 'joints without actuator', f'{name!r}, which actuator {driven[name]!r} moves')


def warn_of_idle_friction(config: Config, urdf: Urdf, report: Report) -> None:
    """Warn of dry friction in joints that the YAML holds: there it has no effect.

    Args:
        config: of the YAML.
        urdf: before :func:`lock_joints`.
        report: of the YAML.
    """
    held = {name: f'locked.{name}' for name in config.locked}
    held |= {entry.joint: f'joints.{entry.joint}' for entry in config.joint_classes if entry.kind in HELD}
    for joint in urdf.joints:
        if joint.friction > 0.0 and joint.name in held:
            found = f'friction of {joint.friction:g} in the URDF, which has no effect in a joint that is held'
            report.warn(config.line(held[joint.name]), f'{held[joint.name]}', 'a joint without friction', found)


def locked_positions(config: Config, urdf: Urdf) -> dict[str, float]:
    """Return the position of every locked joint, rad or m: initial, or where the followed joint puts a mimic."""
    initial = config.initial.joint_positions
    positions = {}
    for name in config.locked:
        leader, multiplier, offset = urdf.outline.mimic.get(name, ('', 0.0, 0.0))
        positions[name] = initial.get(name, multiplier * initial.get(leader, 0.0) + offset)
    return positions


def lock_joints(urdf: Urdf, positions: dict[str, float]) -> Urdf:
    """Return the URDF with joints made fixed at positions, rad or m, by name."""
    joints = tuple(_locked(joint, positions[joint.name]) if joint.name in positions else joint for joint in urdf.joints)
    return replace(urdf, joints=joints)


def _locked(joint: Joint, position: float) -> Joint:
    origin = frozen_array(joint_transform(joint, position), (4, 4))
    return Joint(joint.name, 'fixed', joint.parent, joint.child, origin, joint.axis)


def lock_in_text(text: str, urdf: Urdf, locked: tuple[str, ...]) -> str:
    """Return the text of a URDF in which locked joints are fixed ones: what RViz and others then show is the machine.

    Args:
        text: the URDF.
        urdf: after :func:`lock_joints`.
        locked: names of the joints.
    """
    if not locked:
        return text
    from scipy.spatial.transform import Rotation  # takes longer than reading a machine, which seldom has such joints

    root = etree.fromstring(text.encode('utf-8'))
    origins = {joint.name: joint.origin for joint in urdf.joints if joint.name in locked}
    for element in root.findall('joint'):
        pose = origins.get((element.get('name') or '').strip())
        if pose is None:
            continue
        for tag in ('origin', 'axis', 'limit', 'dynamics', 'mimic', 'calibration', 'safety_controller'):
            for child in element.findall(tag):
                element.remove(child)
        element.set('type', 'fixed')
        matrix = np.array(pose[:3, :3])  # SciPy before 1.13 refuses read-only arrays
        rpy = Rotation.from_matrix(matrix).as_euler('xyz')
        xyz, turn = (' '.join(f'{value + 0.0:.15g}' for value in values) for values in (pose[:3, 3], rpy))
        etree.SubElement(element, 'origin', {'xyz': xyz, 'rpy': turn})
    return str(etree.tostring(root, encoding='unicode'))
