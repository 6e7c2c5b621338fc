"""Locked joints, which loading makes fixed at their initial position.

`locked` in the machine YAML lists them. `class: locked` in `joints` and constraints of kind `lock` are added to the
list, with a warning. A row holds a locked joint only if its reaction is published on a machine with constraints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree

from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.config import Config
from dyn_nodes.model.constraint import ConstraintRecord, JointClass
from dyn_nodes.model.posture import carrying_links, initial_positions, joint_transform
from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.schema import frozen_array
from dyn_nodes.model.urdf import Urdf

if TYPE_CHECKING:
    from dyn_nodes.model.machine import Machine


@dataclass(frozen=True)
class Lock:
    """A locked joint.

    Attributes:
        joint: name.
        where: dotted key that locks it.
        line: of the key.
        position: locked position, rad or m; None: initial position.
    """

    joint: str
    where: str
    line: int
    position: float | None = None


def locks_of(config: Config) -> tuple[Lock, ...]:
    """Return the locked joints of all ways to lock a joint."""
    listed = (Lock(name, 'locked', config.line(f'locked.{name}')) for name in config.locked)
    classes = (
        Lock(entry.joint, f'joints.{entry.joint}', entry.line, entry.rest)
        for entry in config.joint_classes
        if entry.kind == 'locked'
    )
    constraints = (
        Lock(entry.held_joint, f'constraints.{entry.name}', entry.line, entry.locked_position)
        for entry in config.constraints
        if entry.locked_position is not None
    )
    return (*listed, *classes, *constraints)


def check_locked(config: Config, urdf: Urdf, report: Report) -> None:
    """Check that every locked joint is a movable joint of the URDF without actuator."""
    movable = [joint.name for joint in urdf.joints if joint.movable]
    driven = {actuator.joint: actuator.name for actuator in config.actuators}
    for k, name in enumerate(config.locked):
        line = config.line(f'locked.{name}')
        if name not in movable:
            actual = f'{name!r}, which is fixed' if name in urdf.outline.joints else did_you_mean(name, movable)
            report.add(line, 'locked', 'movable joints of the URDF', actual)
        elif name in config.locked[:k]:
            report.add(line, 'locked', 'every joint once', f'{name!r} twice')
    for lock in locks_of(config):
        if lock.joint in driven and lock.joint in movable:
            actual = f'{lock.joint!r}, which actuator {driven[lock.joint]!r} moves'
            report.add(lock.line, lock.where, 'joints without actuator', actual)


def gather_locks(config: Config, report: Report) -> Config:
    """Return a valid configuration with all locked joints in `locked`, at their initial positions.

    Other ways to lock a joint cause warnings. Couplings with locked joints keep the joints that move.

    Args:
        config: checked, without faults.
        report: of the YAML; receives couplings that locked joints violate.
    """
    locks = locks_of(config)
    if not locks:
        return config
    held = {lock.joint for lock in locks}
    for lock in locks:
        if lock.where != 'locked':
            actual = f'{lock.joint!r} locked in another way, which does the same'
            report.warn(lock.line, lock.where, 'locked joints in the list `locked`', actual)
    positions = {lock.joint: lock.position for lock in locks if lock.position is not None}
    initial = replace(config.initial, joint_positions={**config.initial.joint_positions, **positions})
    constraints = _beside_locked(config, {name: initial.joint_positions.get(name, 0.0) for name in held}, report)
    classes = tuple(entry for entry in config.joint_classes if entry.joint not in held)
    rows: tuple[str, ...] = ()
    if constraints or config.loads or any(entry.held for entry in classes):
        rows = tuple(lock.joint for lock in locks if lock.joint in config.reactions)
    lines = {lock.joint: lock.line for lock in locks}
    return replace(
        config,
        initial=initial,
        constraints=constraints,
        joint_classes=(*classes, *(JointClass(name, 'locked', line=lines[name]) for name in rows)),
        locked=tuple(lock.joint for lock in locks if lock.joint not in rows),
    )


def _beside_locked(config: Config, positions: Mapping[str, float], report: Report) -> tuple[ConstraintRecord, ...]:
    """Return the constraints without locks, and couplings without the locked joints."""
    kept = (entry.beside_locked(positions, report) for entry in config.constraints)
    return tuple(entry for entry in kept if entry is not None)


def warn_of_idle_friction(config: Config, urdf: Urdf, report: Report) -> None:
    """Warn of dry friction in joints that the YAML holds, where it has no effect.

    Args:
        config: of the YAML.
        urdf: before :func:`lock_joints`.
        report: of the YAML.
    """
    held = {lock.joint: (lock.where, lock.line) for lock in locks_of(config)}
    held |= {entry.joint: (f'joints.{entry.joint}', entry.line) for entry in config.joint_classes if entry.held}
    for joint in urdf.joints:
        if joint.friction > 0.0 and joint.name in held:
            where, line = held[joint.name]
            where = f'locked.{joint.name}' if where == 'locked' else where
            actual = f'friction of {joint.friction:g} in the URDF, which has no effect in a joint that is held'
            report.warn(line, where, 'a joint without friction', actual)


def locked_positions(config: Config, urdf: Urdf) -> dict[str, float]:
    """Return the position of every locked joint, rad or m: the initial one, or as a mimic joint's leader defines."""
    initial, mimics = config.initial.joint_positions, urdf.outline.mimic
    positions = {}
    for name in config.locked:
        multiplier, offset, leader = 1.0, 0.0, name
        while leader not in initial and leader in mimics:
            offset += multiplier * mimics[leader].offset
            multiplier *= mimics[leader].multiplier
            leader = mimics[leader].leader
        positions[name] = multiplier * initial.get(leader, 0.0) + offset
    return positions


def warn_of_mimics(config: Config, urdf: Urdf, report: Report) -> None:
    """Warn of mimic joints that the YAML neither couples nor locks: they do not follow their leader.

    Args:
        config: of the YAML.
        urdf: of the machine.
        report: of the URDF.
    """
    coupled = {joint for entry in config.constraints for joint in entry.coupled_joints}
    held = coupled | {lock.joint for lock in locks_of(config)}
    for joint in urdf.joints:
        mimic = urdf.outline.mimic.get(joint.name)
        if mimic is not None and joint.movable and joint.name not in held:
            expected = 'a coupling or a lock of it in the machine YAML, as `dyn-nodes init` writes them'
            report.warn(
                mimic.line, f'joint {joint.name}', expected, f'mimic of {mimic.leader!r}, which is not enforced'
            )


def lock_joints(urdf: Urdf, positions: dict[str, float]) -> Urdf:
    """Return the URDF with joints made fixed at positions, rad or m, by name."""
    joints = tuple(_locked(joint, positions[joint.name]) if joint.name in positions else joint for joint in urdf.joints)
    return replace(urdf, joints=joints)


def _locked(joint: Joint, position: float) -> Joint:
    origin = frozen_array(joint_transform(joint, position), (4, 4))
    return Joint(joint.name, 'fixed', joint.parent, joint.child, origin, joint.axis)


def parked_joints(machine: Machine) -> tuple[str, ...]:
    """Return the driven joints that move a machine over the ground: wheels, steering, sprockets of tracks."""
    carrying, drives = carrying_links(machine), {name for contact in machine.contacts for name in contact.drives}
    driven = machine.actuated_joints
    return tuple(joint.name for joint in driven if joint.child in carrying or joint.name in drives)


def parked(machine: Machine) -> Machine:
    """Return a machine whose `parked_joints` brakes hold at their initial positions; their actuators are removed.

    A machine without other driven joints stays as it is.
    """
    names, first = parked_joints(machine), initial_positions(machine)
    if not names or all(joint.name in names for joint in machine.actuated_joints):
        return machine
    joints = (_locked(joint, first[joint.name]) if joint.name in names else joint for joint in machine.joints)
    actuators = (actuator for actuator in machine.actuators if actuator.joint not in names)
    movable = {name: value for name, value in machine.initial.joint_positions.items() if name not in names}
    initial = replace(machine.initial, joint_positions=movable)
    return replace(machine, joints=tuple(joints), actuators=tuple(actuators), initial=initial)


def lock_in_text(text: str, urdf: Urdf, locked: tuple[str, ...]) -> str:
    """Return the text of a URDF with locked joints as fixed ones, so that RViz shows the machine.

    Args:
        text: the URDF.
        urdf: after :func:`lock_joints`.
        locked: names of the joints.
    """
    if not locked:
        return text
    from scipy.spatial.transform import Rotation  # slow import, rarely needed

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
        matrix = np.array(pose[:3, :3])  # SciPy before 1.13 rejects read-only arrays
        rpy = Rotation.from_matrix(matrix).as_euler('xyz')
        xyz, turn = (' '.join(f'{value + 0.0:.15g}' for value in values) for values in (pose[:3, 3], rpy))
        etree.SubElement(element, 'origin', {'xyz': xyz, 'rpy': turn})
    return str(etree.tostring(root, encoding='unicode'))
