"""How wheels and feet share a load as springs: the compliance of the ground points, suspension joints included."""

from __future__ import annotations

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses

PROBE = 1e-6
"""Of a joint, rad or m."""
MOVES = 1e-6
"""Way of a ground point per unit of a joint from which on the joint carries it, m/rad or 1."""


def ground_compliance(machine: Machine) -> Array:
    """Return how far each support yields under the normal forces on all (s, s), m/N, in the initial posture.

    A joint with a spring between base and wheel yields, too; what drives other joints holds them.

    Args:
        machine: on s springs, `Machine.supports`.

    Raises:
        ValueError: a joint that nothing holds lies between base and wheel: there springs do not give the share.
    """
    result = np.diag([1.0 / own.stiffness for own in machine.supports])
    stiffness = {own.joint: own.stiffness for own in machine.joint_classes if own.kind == 'flexible'}
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
    """Return how far the supports (s,) go up per unit of a joint."""
    start = initial_positions(machine)

    def heights(change: float) -> Array:
        poses = link_poses(machine.links, machine.joints, {**start, joint: start[joint] + change})
        return np.array([poses[own.link][2, :3] @ own.position + poses[own.link][2, 3] for own in machine.supports])

    return (heights(PROBE) - heights(-PROBE)) / (2.0 * PROBE)
