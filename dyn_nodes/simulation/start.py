"""Initial states of runs for every machine: at rest on its wheels or with closed loops, joints held by the oil."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.base_motion import base_tilt
from dyn_nodes.simulation.initial import settle, state_of_rest
from dyn_nodes.simulation.system import System

if TYPE_CHECKING:
    from dyn_nodes.simulation.constrained_machine import ConstrainedMachine


class Start(NamedTuple):
    """The start of a machine: its state (n,), and the efforts of all joints that hold it at rest, N m or N."""

    x: Array
    efforts: Array


def start_of(
    system: System, p: Array | None = None, joints: Mapping[str, float] | None = None, pose: Array | None = None
) -> Start:
    """Return the start: at rest with the joints at given positions, then with the velocities of the machine file.

    Args:
        system: of a machine.
        p: parameters; None: the defaults.
        joints: positions by name, instead of the machine's; with constraints the other joints follow.
        pose: (6,) initial guess of the base pose: x, y, z, roll, pitch, yaw; not used with constraints.

    Raises:
        NoEquilibriumError: the machine cannot rest there, or is overturned there.
        MachineError: the constraints cannot be met.
        ValueError: a cylinder at its dead centre.
    """
    p = system.parameters() if p is None else p
    machine, movable = system.machine, system.machine.movable_joints
    if system.constraints is not None:
        x, efforts = assembled(system, joints).state_at_rest(p)
        check_upright(machine, base_tilt(machine.base.attachment, x))
        return Start(x, np.array([efforts.get(joint.name, 0.0) for joint in movable]))
    rest = settle(system, p, joints, pose)
    check_upright(machine, tilt_of(rest.pose))
    return Start(state_of_rest(system, rest, moves=True), rest.holding[system.nv - len(movable) :])


def check_upright(machine: Machine, tilt: float) -> None:
    """Raise NoEquilibriumError if a machine on wheels is overturned at its start.

    Args:
        machine: the machine.
        tilt: of the base, rad.
    """
    if machine.supports and machine.base.attachment != 'fixed' and tilt > machine.overturn_angle:
        raise NoEquilibriumError(
            f'{machine.name}: overturned at the start: expected a tilt of the base of at most '
            f'{machine.overturn_angle:.4g} rad, found {tilt:.4g}'
        )


def tilt_of(pose: Array) -> float:
    """Return the tilt of a base, rad, in a pose (6,): x, y, z, roll, pitch, yaw."""
    return float(np.arccos(np.cos(pose[3]) * np.cos(pose[4])))


def assembled(system: System, joints: Mapping[str, float] | None = None) -> ConstrainedMachine:
    """Return the machine of a system with constraints, with closed loops; the same object for the same joints.

    Raises MachineError: the constraints cannot be met.
    """
    return _assembled(system, tuple((joints or {}).items()))


@lru_cache(maxsize=16)
def _assembled(system: System, joints: tuple[tuple[str, float], ...]) -> ConstrainedMachine:
    from dyn_nodes.simulation.constrained_machine import constrained_machine  # slow import, needed by few machines

    return constrained_machine(system.machine, dict(joints), system.actuation, system)


def initial_state(
    system: System, p: Array | None = None, joints: Mapping[str, float] | None = None, pose: Array | None = None
) -> Array:
    """Return the initial state (spec G5). Arguments and errors: see `start_of`."""
    return start_of(system, p, joints, pose).x
