"""Forward kinematics, masses and inertias of a Machine in one posture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dyn_nodes.common.printing import near
from dyn_nodes.model.contact import Support
from dyn_nodes.model.machine import Array, Joint, Link, Machine, Payload

LEAST_RISE = 0.05
"""Least sine of the angle to the ground plane at which a contact moves up or down with a joint."""
LEAST_ARM = 1e-6
"""Least lever of a contact about a joint, m."""


def rotation_about(axis: Array, angle: float) -> Array:
    """Return the (3, 3) rotation by `angle` rad about the unit `axis` (Rodrigues)."""
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]], dtype=np.float64)
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross)


def joint_transform(joint: Joint, position: float) -> Array:
    """Return the (4, 4) pose of the child link in the parent link at a joint position, rad or m."""
    motion = np.eye(4)
    if joint.type in ('revolute', 'continuous'):
        motion[:3, :3] = rotation_about(joint.axis, position)
    elif joint.type == 'prismatic':
        motion[:3, 3] = position * joint.axis
    return np.asarray(joint.origin @ motion)


def link_poses(
    links: Sequence[Link], joints: Sequence[Joint], positions: Mapping[str, float], root_pose: Array | None = None
) -> dict[str, Array]:
    """Return the (4, 4) pose of every link in the frame of `root_pose` (None: of the root link).

    Args:
        links: root first.
        joints: in the order of links[1:].
        positions: by joint name, rad or m; 0 where absent.
        root_pose: (4, 4) pose of the root link.
    """
    poses = {links[0].name: np.eye(4) if root_pose is None else root_pose}
    for joint in joints:
        poses[joint.child] = poses[joint.parent] @ joint_transform(joint, positions.get(joint.name, 0.0))
    return poses


def center_of_mass(links: Sequence[Link], poses: Mapping[str, Array], payload: Payload | None) -> tuple[float, Array]:
    """Return the mass, kg, and the (3,) centre of mass, m, with the payload, in the frame of `poses`."""
    points = [poses[link.name][:3, :3] @ link.com + poses[link.name][:3, 3] for link in links]
    masses = [link.mass for link in links]
    if payload is not None:
        pose = poses[payload.link]
        points.append(pose[:3, :3] @ payload.position + pose[:3, 3])
        masses.append(payload.mass)
    total = float(sum(masses))
    if total <= 0:
        return 0.0, np.zeros(3)
    return total, np.asarray(np.array(masses) @ np.array(points) / total)


def initial_positions(machine: Machine) -> dict[str, float]:
    """Return the initial position of every movable joint, rad or m, by name."""
    return {joint.name: machine.initial.joint_positions.get(joint.name, 0.0) for joint in machine.movable_joints}


def joint_vector(machine: Machine, joints: Mapping[str, float] | None = None) -> Array:
    """Return the positions (n,) of the movable joints in order: initial ones, replaced by `joints`.

    Raises KeyError for a joint that the machine does not have.
    """
    chosen = initial_positions(machine)
    for name in joints or {}:
        if name not in chosen:
            raise KeyError(f'unknown joint {name!r}; known: {", ".join(chosen)}{near(name, chosen)}')
    return np.array([*(chosen | dict(joints or {})).values()], dtype=np.float64)


def carrying_links(machine: Machine) -> set[str]:
    """Return the names of the links with supports, and of the links between them and the base."""
    carrying = {support.link for support in machine.supports}
    for joint in reversed(machine.joints):
        if joint.child in carrying:
            carrying.add(joint.parent)
    return carrying


def moved_inertia(machine: Machine, joint: Joint, poses: Mapping[str, Array]) -> float:
    """Return the inertia that a joint moves about its axis, kg m2 (prismatic: the mass, kg), payload included.

    Args:
        machine: the machine.
        joint: of it, movable.
        poses: of its links.
    """
    return _inertia_of(machine, joint, moved_links(machine, joint), poses)


def moved_mass(machine: Machine, joint: Joint) -> float:
    """Return the mass that a joint moves, kg, with the greatest payload."""
    moved, payload = moved_links(machine, joint), machine.payload
    held = payload.limit if payload is not None and payload.link in moved else 0.0
    return float(sum(link.mass for link in machine.links if link.name in moved)) + held


def carrying_inertia(machine: Machine, joint: Joint, poses: Mapping[str, Array]) -> float:
    """Return the inertia of the links that a joint does not move; see `moved_inertia`."""
    return _inertia_of(machine, joint, {link.name for link in machine.links} - moved_links(machine, joint), poses)


def _inertia_of(machine: Machine, joint: Joint, moved: set[str], poses: Mapping[str, Array]) -> float:
    payload = machine.payload if machine.payload is not None and machine.payload.link in moved else None
    return inertia_along(joint, [link for link in machine.links if link.name in moved], poses, payload)


def inertia_along(
    joint: Joint, moved: Sequence[Link], poses: Mapping[str, Array], payload: Payload | None = None
) -> float:
    """Return the inertia of links and a payload about a joint's axis, kg m2 (prismatic: their mass, kg)."""
    bodies = [(link.mass, link.com, link.inertia, poses[link.name]) for link in moved]
    if payload is not None:
        bodies.append((payload.mass, payload.position, np.zeros((3, 3)), poses[payload.link]))
    if joint.type == 'prismatic':
        return float(sum(mass for mass, *_ in bodies))
    axis, origin = poses[joint.child][:3, :3] @ joint.axis, poses[joint.child][:3, 3]
    masses, coms, inertias, frames = (np.array(part) for part in zip(*bodies))
    centres = np.einsum('kij,kj->ki', frames[:, :3, :3], coms) + frames[:, :3, 3]
    arms = np.cross(axis, centres - origin)
    turned = axis @ frames[:, :3, :3]
    return float(masses @ np.einsum('ki,ki->k', arms, arms) + np.einsum('ki,kij,kj->', turned, inertias, turned))


def yielding_joints(machine: Machine, positions: Mapping[str, float]) -> list[str]:
    """Return the passive joints that move under weight, springs and ground until the machine rests.

    These are flexible joints, joints that raise or lower a contact, and joints without dry friction and without
    contacts beyond them. Others keep their position: a castor's vertical axis, the axle of a wheel.

    Args:
        machine: the machine.
        positions: of the joints by name, rad or m.
    """
    idle = [joint for joint in machine.movable_joints if joint.name in machine.idle_joints]
    if not idle:
        return []
    sprung = {entry.joint for entry in machine.joint_classes if entry.kind == 'flexible' and entry.stiffness > 0.0}
    poses = link_poses(machine.links, machine.joints, positions)
    yielding = []
    for joint in idle:
        moved = moved_links(machine, joint)
        supports = [support for support in machine.supports if support.link in moved]
        points = attachment_points(supports, poses)
        if joint.name in sprung or (_raises(joint, poses, points) if points else joint.friction == 0.0):
            yielding.append(joint.name)
    return yielding


def attachment_points(supports: Sequence[Support], poses: Mapping[str, Array]) -> list[Array]:
    """Return the points (3,) at which springs are attached to their links, in the frame of the poses, m."""
    return [poses[support.link][:3, :3] @ support.position + poses[support.link][:3, 3] for support in supports]


def moved_links(machine: Machine, joint: Joint) -> set[str]:
    """Return the names of the links that a joint moves."""
    moved = {joint.child}
    for other in machine.joints:
        if other.parent in moved:
            moved.add(other.child)
    return moved


def _raises(joint: Joint, poses: Mapping[str, Array], points: Sequence[Array]) -> bool:
    """Return whether a joint moves a point up or down: not if its axis is upright or passes through the point."""
    axis = poses[joint.child][:3, :3] @ joint.axis
    if joint.type == 'prismatic':
        return bool(abs(axis[2]) > LEAST_RISE)
    arms = np.cross(axis, np.array(points) - poses[joint.child][:3, 3])
    lengths = np.linalg.norm(arms, axis=1)
    return bool((np.abs(arms[:, 2]) > np.maximum(LEAST_RISE * lengths, LEAST_ARM)).any())


def hanging_joints(machine: Machine) -> list[str]:
    """Return the hanging joints, such as hooks: passive in the URDF (effort 0), without friction and without wheels.

    Joints with a class in the machine YAML start at their initial position instead.
    """
    carrying = carrying_links(machine)
    classes, idle = {entry.joint for entry in machine.joint_classes}, machine.idle_joints
    loose = [joint for joint in machine.movable_joints if joint.name in idle and joint.name not in classes]
    return [j.name for j in loose if j.effort_limit == 0.0 and j.friction == 0.0 and j.child not in carrying]
