"""The system of a machine with constraints: the names and vectors that `System` gives to a machine without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.constraints import ConstraintBlocks
from dyn_nodes.elements.command_delay import input_delays
from dyn_nodes.model.contact import ContactRecord
from dyn_nodes.model.machine import Base, Machine
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.simulation.assembly import COMMON_PARAMETERS, Actuation
from dyn_nodes.simulation.constrained import ConstrainedSystem
from dyn_nodes.simulation.constrained_outputs import ConstrainedOutputs, wheels_of
from dyn_nodes.simulation.march import NO_GUARD
from dyn_nodes.simulation.settings import Settings

Array = NDArray[np.float64]
ABSENT = ('payload_mass', 'joint_stop_scale')
"""Common parameters that are zero where a machine has none; the others are factors."""


@dataclass(frozen=True)
class _Wheel:
    name: str
    corner: bool = True


@dataclass(frozen=True)
class _Stance:
    """The part of a machine that a balance reads: its base, its wheels, on springs or by constraint, other contacts."""

    name: str
    base: Base
    wheels: tuple[_Wheel, ...]
    contacts: tuple[ContactRecord, ...]

    @property
    def supports(self) -> tuple[Any, ...]:
        """Wheels, and the springs of other contacts."""
        return (*self.wheels, *(support for own in self.contacts for support in own.supports))


class ConstrainedMachineSystem(ConstrainedSystem):
    """The system of a machine with constraints.

    Args:
        machine: as loaded.
        blocks: its traced system.
        actuated: joints that take efforts; their inputs are `<joint>/effort`.
        stands: on wheels, so that it may overturn.
        actuation: of the joints.

    Attributes:
        record: the machine as loaded; `machine` is the part of it that a balance reads.
    """

    def __init__(
        self, machine: Machine, blocks: ConstraintBlocks, actuated: Sequence[str], stands: bool, actuation: Actuation
    ) -> None:
        common = {name: float(name not in ABSENT) for name in COMMON_PARAMETERS}
        base = blocks.tree.frame(machine.base.link)
        upright = blocks.state.frame_pose(base).R[2, 2] if stands else None
        pressing = [f'{name}/normal' for name in wheels_of(machine)]
        super().__init__(machine.name, blocks, actuated, pressing, common, upright)
        self.actuation: Actuation = actuation
        self.input_names = (*(f'{name}/effort' for name in actuated), *blocks.inputs)
        self.delays = input_delays(machine, self.input_names)
        names = (*(wheel.name for wheel in machine.wheels), *wheels_of(machine))
        self.machine = _Stance(machine.name, machine.base, tuple(_Wheel(name) for name in names), machine.contacts)
        self.record = machine

    def guard_limit(self, settings: Settings) -> float:
        """Return the least cosine of the tilt."""
        return float(np.cos(self.record.overturn_angle)) if settings.stop_at_overturn else NO_GUARD

    @cached_property
    def _observed(self) -> ConstrainedOutputs:
        return ConstrainedOutputs(self.record, self.blocks)

    @cached_property
    def output_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the outputs."""
        return tuple(self._observed.names)

    def traced_outputs(
        self, names: Sequence[str], a: Expression, multipliers: Expression, tau: Expression
    ) -> Expression:
        """Return some outputs as expressions of the blocks, accelerations, multipliers and generalized efforts."""
        return self._observed.traced(names, a, multipliers, tau)

    def outputs_of(self, x: Array, u: Array, p: Array, a: Array, multipliers: Array) -> Array:
        """Return the outputs at a state from its accelerations (nv,) and multipliers (m,)."""
        nq, nv = self.nq, self.nv
        return self._observed.evaluate(x[:nq], x[nq : nq + nv], a, multipliers, self.efforts(u), self.numbers(p, x))

    def efforts(self, u: Array) -> Array:
        """Return the efforts (nv,) along the velocities of the actuated joints under inputs."""
        tau = np.zeros(self.nv)
        tau[self.driven_places] = u[: len(self.actuated)]
        return tau

    def outputs(self, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs at a state, in the order of `output_names`, without stabilization."""
        self.check(x, u, p)
        return self.outputs_of(x, u, p, *self.solver(self.blocks_at(x, u, p)).solution(x, u, p))
