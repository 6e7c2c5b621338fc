"""Distribution of a load on wheels and feet as springs: the compliance of the ground points, with suspension joints."""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses

PROBE = 1e-6
"""Change of a joint for numerical derivatives, rad or m."""
MOVES = 1e-6
"""Displacement of a ground point per unit of a joint above which the joint carries it, m/rad or 1."""


def ground_compliance(machine: Machine) -> Array:
    """Return the compliance of the supports (s, s), m/N: displacements by normal forces, in the initial posture.

    A joint with a spring between base and wheel yields, too; driven joints are held by their drives.

    Args:
        machine: on s springs, `Machine.supports`.

    Raises:
        ValueError: a joint without drive or spring is between base and wheel, so that springs do not determine the
            share.
    """
    result = np.diag([1.0 / support.stiffness for support in machine.supports])
    stiffness = {joint.joint: joint.stiffness for joint in machine.joint_classes if joint.kind == 'flexible'}
    for joint in (*stiffness, *(name for name in machine.idle_joints if name not in stiffness)):
        ways = _ways(machine, joint)
        if np.abs(ways).max(initial=0.0) <= MOVES:
            continue
        if not stiffness.get(joint):
            raise ValueError(
                f'{machine.name}: expected a spring at joint {joint!r} between base and wheels, found none'
            )
        result += np.outer(ways, ways) / stiffness[joint]
    return np.asarray(result)


def _ways(machine: Machine, joint: str) -> Array:
    """Return the upward displacements of the supports (s,) per unit of a joint."""
    start = initial_positions(machine)

    def heights(change: float) -> Array:
        poses = link_poses(machine.links, machine.joints, {**start, joint: start[joint] + change})
        return np.array([poses[s.link][2, :3] @ s.position + poses[s.link][2, 3] for s in machine.supports])

    return (heights(PROBE) - heights(-PROBE)) / (2.0 * PROBE)
