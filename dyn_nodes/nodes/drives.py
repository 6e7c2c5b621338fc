"""Inverse dynamics of a machine in the joints of its motors, and inertia in the joints of its valves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.drive_dynamics import DriveDynamics, LoopDrives, OpenLoopError, TreeDrives, TreeInertia
from dyn_nodes.model.machine import Machine


def drive_dynamics(machine: Machine, joints: Sequence[str]) -> DriveDynamics:
    """Return the inverse dynamics of a machine, a tree or with closed loops, in some joints.

    Raises:
        ValueError: a joint that no drive moves, or drives that do not determine the motion.
    """
    if not machine.needs_constraints:
        return TreeDrives(machine, joints)
    from dyn_nodes.simulation.constrained_machine import constrained_machine  # a large import that few machines need

    start = constrained_machine(machine)
    return LoopDrives(machine.name, start.system.blocks, start.q, joints)


def drive_inertia(machine: Machine, joints: Sequence[str]) -> Callable[[Array], Array]:
    """Return a function that returns the inertia (n, n) of n driven joints at their positions (n,).

    The base is held by the ground and the payload is the greatest one. The inertia is zero if the drives do not
    determine the motion of closed loops, and where these do not close.
    """
    fixed = replace(machine, base=replace(machine.base, attachment='fixed'))
    none = np.zeros((len(joints), len(joints)))
    if fixed.needs_constraints:
        try:
            drives: DriveDynamics | TreeInertia = drive_dynamics(fixed, joints)
        except ValueError:
            return lambda positions: none
    else:
        drives = TreeInertia(fixed, joints)
    if machine.payload is not None:
        limit = machine.payload.limit
        drives.payload = max(machine.payload.mass, limit or 0.0)

    def inertia(positions: Array) -> Array:
        try:
            return drives.apparent_inertia(positions)
        except OpenLoopError:
            return none

    return inertia
