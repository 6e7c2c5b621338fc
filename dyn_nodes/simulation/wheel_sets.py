"""Check of wheels by constraint: the vehicle must keep a motion in the plane (tanner-1998, C1)."""

from __future__ import annotations

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import ConstraintBlocks
from dyn_nodes.constraints.wheel_rank import wheel_rank
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.problems import MachineError, Problem


def rolling_rank(machine: Machine, blocks: ConstraintBlocks, q: Array) -> int | None:
    """Return the rank of the wheels' lateral rows; None if no wheel rolls by constraint, or the base is a wheel."""
    names = _wheels(machine)
    return wheel_rank(blocks, q, blocks.tree.frame(machine.base.link), names) if names else None


def reject_wheels_that_hold(machine: Machine, blocks: ConstraintBlocks, q: Array) -> None:
    """Raise MachineError with the name and line of the first excess wheel if the vehicle cannot move."""
    names, vehicle = _wheels(machine), machine.base.link
    if len(names) < 3 or wheel_rank(blocks, q, blocks.tree.frame(vehicle), names) < 3:
        return
    ranks = [wheel_rank(blocks, q, blocks.tree.frame(vehicle), names[: k + 1]) for k in range(len(names))]
    first = ranks.index(3)
    line = next(entry.line for entry in machine.constraints if entry.name == names[first])
    expected = 'wheels whose axles meet in a point or are parallel, so that the vehicle can move'
    others = ', '.join(names[:first])
    found = f'an axle that meets the axles of {others} in different points: rank 3 of the lateral rows'
    raise MachineError([Problem(machine.sources[-1], line, f'constraints.{names[first]}', expected, found)])


def _wheels(machine: Machine) -> list[str]:
    if machine.base.attachment != 'free':
        return []
    return [wheel.name for wheel in machine.rigid_wheels if wheel.first.link != machine.base.link]
