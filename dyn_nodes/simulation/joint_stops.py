"""Stops at the limits of a machine's joints, as stiff as what they have to stop is heavy."""

from __future__ import annotations

import numpy as np

from dyn_nodes.forces.joint_stop import JointStop
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses, moved_inertia

FREQUENCY = 15.0
"""Of the stopped body on its stop, Hz: a fixed step of a millisecond follows it."""
DAMPING_RATIO = 0.7


def joint_stops(machine: Machine) -> tuple[JointStop, ...]:
    """Return the stops of all movable joints with limits.

    The inertia that counts is that of everything beyond the joint in the initial posture, payload included, on a parent
    that stands still: on one that gives way the stop is harder, never softer.
    """
    stops = []
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    rate = 2 * np.pi * FREQUENCY
    for joint in machine.movable_joints:
        inertia = moved_inertia(machine, joint, poses)
        if np.isfinite([joint.lower, joint.upper]).any() and inertia > 0.0:
            stiffness, damping = inertia * rate**2, 2 * DAMPING_RATIO * inertia * rate
            stops.append(JointStop(joint.name, joint.lower, joint.upper, stiffness, damping))
    return tuple(stops)
