"""Checks of the machine YAML against the URDF."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from dyn_nodes.model.actuator import ActuatorRecord
from dyn_nodes.model.bodies import Joint, Link
from dyn_nodes.model.config import Config
from dyn_nodes.model.constraint_config import check_constraints
from dyn_nodes.model.hand import check_hands
from dyn_nodes.model.hydraulic import check_pumps
from dyn_nodes.model.limits import MANY_TURNS, NAME, angle_remark, length_remark
from dyn_nodes.model.posture import center_of_mass, link_poses
from dyn_nodes.model.problems import Report, did_you_mean, number
from dyn_nodes.model.rolling import check_rolling
from dyn_nodes.model.urdf import Urdf
from dyn_nodes.model.wheel import Wheel

OUTSIDE = 1e-9  # rad or m
ORIGIN = (0.0, 0.0, 0.0)


def check_config(config: Config, urdf: Urdf, report: Report) -> None:
    """Check every part of the YAML against the URDF and the parts against each other."""
    links = {link.name: link for link in urdf.links}
    joints = {joint.name: joint for joint in urdf.joints}
    _check_base(config, urdf, report)
    _check_initial(config, joints, report)
    _check_velocities(config, joints, report)
    _check_payload(config, links, report)
    for wheel in config.wheels:
        _check_wheel(wheel, links, config, report)
        if wheel.rolling is not None:
            check_rolling(wheel.name, wheel, joints, config, report)
    for contact in config.contacts:
        contact.check(links, joints, config.source_map, report)
    _check_names_of_contacts(config, report)
    movers: dict[str, str] = {}
    for actuator in config.actuators:
        _check_actuator(actuator, joints, movers, config, report)
    _check_moved_joints(config, movers, report)
    check_pumps(config.pumps, config.actuators, config.source_map, report)
    _check_reactions(config, joints, report)
    check_hands(config.grasps, links, config.source_map, report)
    _check_terrain(config, report)
    held = (config.constraints, config.loads, config.joint_classes)
    check_constraints(*held, links, joints, config.locked, report)
    if not report.failed:
        _check_support(config, urdf, report)


def _check_base(config: Config, urdf: Urdf, report: Report) -> None:
    root = urdf.links[0].name
    if config.base.link not in ('', root):
        expected = f'the root link of the URDF, {root}'
        report.add(config.line('base.link'), 'base.link', expected, repr(config.base.link))
    for axis, value in zip(('roll', 'pitch'), config.slope):
        if abs(value) >= math.pi / 2:
            report.add(config.line(f'slope.{axis}'), f'slope.{axis}', 'a slope below pi/2 rad', number(value))
    if config.overturn_angle > math.pi:
        line = config.line('overturn_angle')
        report.add(line, 'overturn_angle', 'at most pi rad', number(config.overturn_angle))


def _check_terrain(config: Config, report: Report) -> None:
    braked = [wheel.name for wheel in config.wheels if wheel.rolling is None]
    if config.terrain and (braked or not config.supports):
        actual = f'{braked[0]!r}, which has none' if braked else 'no wheels'
        report.add(
            config.line('terrain'), 'terrain', 'wheels with `rolling`, because braked wheels need a plane', actual
        )


def _check_names_of_contacts(config: Config, report: Report) -> None:
    wheels = {wheel.name for wheel in config.wheels}
    for contact in config.contacts:
        if contact.name in wheels:
            where = f'contacts.{contact.name}'
            report.add(config.line(where), where, 'a name that no wheel has', f'wheels.{contact.name}')


def _check_reactions(config: Config, joints: Mapping[str, Joint], report: Report) -> None:
    for k, name in enumerate(config.reactions):
        where = f'reactions.{name}'
        line = config.line(where)
        if name not in joints:
            report.add(line, 'reactions', 'joints of the URDF', did_you_mean(name, joints))
        elif not re.match(NAME, name):
            expected = 'joints named with letters, digits and underscores (the topic is joint_reactions/<name>)'
            report.add(line, 'reactions', expected, repr(name))
        elif name in config.reactions[:k]:
            report.add(line, 'reactions', 'every joint once', f'{name!r} twice')


def _check_initial(config: Config, joints: Mapping[str, Joint], report: Report) -> None:
    movable = {name: joint for name, joint in joints.items() if joint.movable}
    for name, value in config.initial.joint_positions.items():
        where = f'initial.joint_positions.{name}'
        line = config.line(where)
        joint = movable.get(name)
        if joint is None:
            actual = f'{name!r}, which is fixed' if name in joints else did_you_mean(name, movable)
            report.add(line, where, 'a movable joint of the URDF', actual)
            continue
        remark = length_remark(value) if joint.type == 'prismatic' else angle_remark(value)
        if remark and (joint.type != 'continuous' or abs(value) > MANY_TURNS):
            report.add(line, where, 'a position in m' if joint.type == 'prismatic' else 'an angle in rad', remark)
        elif not joint.lower - OUTSIDE <= value <= joint.upper + OUTSIDE:
            expected = f'a position within the limits {number(joint.lower)} to {number(joint.upper)}'
            report.add(line, where, expected, number(value))
    for name, joint in movable.items():
        if name not in config.initial.joint_positions and not joint.lower <= 0.0 <= joint.upper:
            expected = f'a position within the limits {number(joint.lower)} to {number(joint.upper)}'
            line = config.line('initial.joint_positions')
            report.warn(line, f'initial.joint_positions.{name}', expected, 'nothing, so it starts at 0')


def _check_velocities(config: Config, joints: Mapping[str, Joint], report: Report) -> None:
    for name, value in config.initial.joint_velocities.items():
        where = f'initial.joint_velocities.{name}'
        joint = joints.get(name)
        if joint is None or not joint.movable:
            movable = {other.name: other for other in joints.values() if other.movable}
            actual = f'{name!r}, which is fixed' if joint is not None else did_you_mean(name, movable)
            report.add(config.line(where), where, 'a movable joint of the URDF', actual)
        elif name in config.locked and value != 0.0:
            report.add(config.line(where), where, 'no velocity of a locked joint', number(value))
        elif abs(value) > joint.velocity_limit:
            expected = f'at most the limit of the joint, {number(joint.velocity_limit)}'
            report.add(config.line(where), where, expected, number(value))
    twist, attachment = config.initial.base_twist, config.base.attachment
    (x, y, z), (roll, pitch, yaw) = twist.linear or ORIGIN, twist.angular or ORIGIN
    stuck = {'free': [], 'planar': [y, roll, yaw], 'fixed': [x, y, z, roll, pitch, yaw]}[attachment]
    if any(stuck):
        expected = 'no motion of a fixed base' if attachment == 'fixed' else 'a motion in the plane: x, z and pitch'
        report.add(config.line('initial.base_twist'), 'initial.base_twist', expected, 'another')


def _check_payload(config: Config, links: Mapping[str, Link], report: Report) -> None:
    payload = config.payload
    if payload is None:
        return
    if payload.link not in links:
        actual = did_you_mean(payload.link, links)
        report.add(config.line('payload.link'), 'payload.link', 'a link of the URDF', actual)
    if payload.mass > payload.limit:
        expected = f'at most the limit, {number(payload.limit)} kg'
        report.add(config.line('payload.mass'), 'payload.mass', expected, f'{number(payload.mass)} kg')


def _check_wheel(wheel: Wheel, links: Mapping[str, Link], config: Config, report: Report) -> None:
    where = f'wheels.{wheel.name}.link'
    if wheel.link not in links:
        report.add(config.line(where), config.written(where), 'a link of the URDF', did_you_mean(wheel.link, links))
    friction, where = wheel.friction, f'wheels.{wheel.name}.friction.kinetic'
    if friction is not None and friction.kinetic > friction.static:
        expected = f'kinetic friction at most the static {number(friction.static)}'
        report.add(config.line(where), config.written(where), expected, number(friction.kinetic))


def _check_actuator(
    actuator: ActuatorRecord, joints: Mapping[str, Joint], movers: dict[str, str], config: Config, report: Report
) -> None:
    where = f'actuators.{actuator.name}'
    joint = joints.get(actuator.joint)
    line = config.line(f'{where}.joint')
    if joint is None:
        movable = [name for name, other in joints.items() if other.movable]
        report.add(line, f'{where}.joint', 'a joint of the URDF', did_you_mean(actuator.joint, movable))
        return
    if not joint.movable:
        report.add(line, f'{where}.joint', 'a movable joint', f'{joint.name!r}, which is fixed')
        return
    if joint.name in movers:
        expected = f'one actuator on joint {joint.name} (actuators.{movers[joint.name]} is one)'
        report.add(line, f'{where}.joint', expected, 'a second one')
    movers.setdefault(joint.name, actuator.name)
    actuator.check(joint, config.source_map, report)


def _check_moved_joints(config: Config, movers: Mapping[str, str], report: Report) -> None:
    """Report joints with an actuator whose class or prescribed motion excludes a drive.

    Args:
        config: of the machine; locked joints have another check.
        movers: actuators by joint.
        report: gets the problems.
    """
    for entry in config.joint_classes:
        if entry.joint in movers and entry.kind not in ('actuated', 'locked'):
            expected = f'class actuated of a joint that actuators.{movers[entry.joint]} moves'
            report.add(entry.line, f'joints.{entry.joint}', expected, repr(entry.kind))
    for constraint in config.constraints:
        if constraint.moved_joint in movers:
            actual = f'{constraint.moved_joint!r}, which actuators.{movers[constraint.moved_joint]} moves'
            report.add(constraint.line, f'constraints.{constraint.name}.joint', 'a joint without actuator', actual)


def _check_support(config: Config, urdf: Urdf, report: Report) -> None:
    attachment, wheels, line = config.base.attachment, config.supports, config.line('wheels')
    if attachment == 'fixed':
        if wheels:
            report.warn(line, 'wheels', 'no wheels on a fixed base', f'{len(wheels)}, which carry nothing')
        return
    least = 3 if attachment == 'free' else 2
    rolling = [entry.first for entry in config.rigid_wheels]
    if not wheels and (config.gravity == 0 or rolling):
        return
    if not wheels:
        report.warn(config.line('base.attachment'), 'wheels', f'at least {least}', 'none: the machine has no support')
        return
    standing = [(mount.link, mount.position) for mount in wheels] + [(mount.link, mount.position) for mount in rolling]
    if len(standing) < least:
        report.add(line, 'wheels', f'at least {least} for a {attachment} base', str(len(standing)))
        return
    poses = link_poses(urdf.links, urdf.joints, config.initial.joint_positions)
    points = np.array([poses[link][:3, :3] @ position + poses[link][:3, 3] for link, position in standing])
    spread = points[:, :2] - points[:, :2].mean(axis=0)
    sizes = np.linalg.svd(spread, compute_uv=False) if attachment == 'free' else np.abs(spread[:, :1]).max(axis=0)
    if sizes[-1] < 1e-6 * max(1.0, float(sizes[0])):
        expected = 'wheels that span an area' if attachment == 'free' else 'wheels apart along x'
        report.add(line, 'wheels', expected, 'wheels on one line' if attachment == 'free' else 'wheels at one x')
        return
    mass, center = center_of_mass(urdf.links, poses, config.payload)
    if mass > 0 and not rolling:
        _check_posture(config, points, center, mass * config.gravity, report)


def _check_posture(config: Config, points: np.ndarray, center: np.ndarray, weight: float, report: Report) -> None:
    above = [support.key for support, point in zip(config.supports, points) if point[2] > center[2]]
    if above:
        expected = 'an attachment below the centre of mass'
        report.warn(config.line(above[0]), f'{above[0]}.position', expected, 'one above it')
    carried = sum(support.stiffness * support.free_length for support in config.supports)
    if carried < weight:
        expected = f'wheels that carry the weight, {number(weight)} N, before their struts are fully compressed'
        report.warn(config.line('wheels'), 'wheels', expected, f'{number(carried)} N (stiffness times free length)')
