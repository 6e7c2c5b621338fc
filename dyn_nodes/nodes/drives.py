"""Inverse dynamics of a machine in the joints of its motors, for the nodes that control these."""

from __future__ import annotations

from collections.abc import Sequence

from dyn_nodes.control.drive_dynamics import DriveDynamics, LoopDrives, TreeDrives
from dyn_nodes.model.machine import Machine


def drive_dynamics(machine: Machine, joints: Sequence[str]) -> DriveDynamics:
    """Return the inverse dynamics in joints of a machine, of a tree or with closed loops.

    Raises:
        ValueError: a joint that none of them moves, or drives that do not determine the motion.
    """
    if not machine.needs_constraints:
        return TreeDrives(machine, joints)
    from dyn_nodes.simulation.constrained_machine import constrained_machine  # much to import for the few that need it

    start = constrained_machine(machine)
    return LoopDrives(machine.name, start.system.blocks, start.q, joints)
