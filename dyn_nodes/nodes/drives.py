"""Inverse dynamics of a machine in the joints of its motors."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_nodes.control.drive_dynamics import DriveDynamics, LoopDrives, TreeDrives
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
