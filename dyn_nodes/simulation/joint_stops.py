"""Stops at the limits of a machine's joints, as stiff as what they have to stop is heavy."""

from __future__ import annotations

import numpy as np

from dyn_nodes.forces.joint_stop import JointStop
from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.model.posture import initial_positions, link_poses

FREQUENCY = 15.0
"""Of the stopped body on its stop, Hz: a fixed step of a millisecond follows it."""
DAMPING_RATIO = 0.7


def joint_stops(machine: Machine) -> tuple[JointStop, ...]:
    """Return the stops of all movable joints with limits.

    The inertia that counts is that of everything beyond the joint in the initial posture, payload included, on a parent
    that stands still: on one that gives way the stop is harder, never softer.
    """
    stops = []
    rate = 2 * np.pi * FREQUENCY
    for joint in machine.movable_joints:
        inertia = moved_inertia(machine, joint)
        if np.isfinite([joint.lower, joint.upper]).any() and inertia > 0.0:
            stiffness, damping = inertia * rate**2, 2 * DAMPING_RATIO * inertia * rate
            stops.append(JointStop(joint.name, joint.lower, joint.upper, stiffness, damping))
    return tuple(stops)


def moved_inertia(machine: Machine, joint: Joint) -> float:
    """Return the inertia about a joint's axis, kg m2 (prismatic: the mass, kg), of what it moves at the start."""
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    moved = {joint.child}
    for other in machine.joints:
        if other.parent in moved:
            moved.add(other.child)
    pose = poses[joint.child]
    axis, origin = pose[:3, :3] @ joint.axis, pose[:3, 3]
    bodies = [
        (
            link.mass,
            poses[link.name][:3, :3] @ link.com + poses[link.name][:3, 3],
            poses[link.name][:3, :3],
            link.inertia,
        )
        for link in machine.links
        if link.name in moved
    ]
    payload = machine.payload
    if payload is not None and payload.link in moved:
        place = poses[payload.link]
        bodies.append((payload.mass, place[:3, :3] @ payload.position + place[:3, 3], np.eye(3), np.zeros((3, 3))))
    if joint.type == 'prismatic':
        return float(sum(mass for mass, *_ in bodies))
    total = 0.0
    for mass, com, R, inertia in bodies:
        lever = np.cross(axis, com - origin)
        total += mass * float(lever @ lever) + float(axis @ R @ inertia @ R.T @ axis)
    return total
