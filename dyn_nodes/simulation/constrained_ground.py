"""Motion of a plant with constraints through its periods.

The accelerations satisfy the constraints; Baumgarte stabilization keeps the drift small, as in all runs. A state
without accelerations ends the run with a reason: a change of rank, contradicting rows, a motion without mass, a wheel
that lifts off.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import ForceObserver
from dyn_nodes.constraints.kane import mount_of
from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation.assembly import Actuation
from dyn_nodes.simulation.compliant_ground import CompliantGround
from dyn_nodes.simulation.constrained import ConstrainedDynamics
from dyn_nodes.simulation.guards.endings import OPENED
from dyn_nodes.simulation.period import PlantStoppedError
from dyn_nodes.simulation.settings import Settings
from dyn_nodes.simulation.start import assembled
from dyn_nodes.simulation.system import System


class ConstrainedGround(CompliantGround):
    """Motion of a plant with constraints, with or without springs on the ground.

    Args:
        machine: with constraints.
        actuation: of the joints.

    Attributes:
        underactuation: mobility less independent actuators, at the start.

    Raises:
        MachineError: the constraints cannot be satisfied from the initial position, or a reaction is requested at a
            fixed joint beyond which a contact or constraint holds a link that does not move.
        ValueError: a cylinder at its dead centre.
    """

    def __init__(self, machine: Machine, actuation: Actuation) -> None:
        super().__init__(machine, System(machine, actuation))
        self._rows: ConstrainedDynamics = self.system.constraints
        self.underactuation = assembled(self.system).analysis.underactuation

    def start(self, x: Array, u: Array, p: Array, guarded: bool, step: float) -> None:
        """Start from a state with steps, s; the rank of the constraints there is the expected one."""
        self.solver = self._rows.solver_from(x, u, p, Settings(step=step))
        super().start(x, u, p, guarded, step)

    @property
    def codes(self) -> NDArray[np.int64]:
        """Addresses of the kernels."""
        return self.solver.codes

    def rhs(self, x: Array, u: Array, p: Array) -> Array:
        """Return dx/dt (n,); NaN if it is undefined."""
        return self.solver.rates(x, u, p)

    def solution(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Return accelerations (nv,) and multipliers (m,)."""
        return self.solver.solution(x, u, p)

    def outputs(self, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs."""
        return self._rows.outputs_of(x, u, p, *self.solution(x, u, p))

    def stopped(self, status: int, x: Array, p: Array) -> PlantStoppedError:
        """Return the error of a status without dx/dt."""
        kind, text = self.solver.reason(status)
        text = f'{self.machine.name}: at t = {x[self._rows.time_index]:.4f} s: {text or kind}'
        if kind != OPENED:
            text += f'; {self._rows.trouble(x, np.zeros(len(self._rows.input_names)), p)}'
        return PlantStoppedError(kind.replace(' ', '_'), text)

    def joint_reactions(self, x: Array, u: Array, p: Array, y: Array) -> Array:
        """Return the wrenches (joints, 6) of parent on child at the joints `reactions` of the machine, N and N m."""
        system = self.system
        tree, q, v = system.blocks.tree, x[: system.nq], x[system.nq : system.nq + system.nv]
        forces = self._observer.forces(q, v, *self.solution(x, u, p), self._rows.efforts(u), self._rows.numbers(p, x))
        result = np.empty((len(self.machine.reactions), 6))
        mounts = iter(forces.mounts)
        for row, name in zip(result, self.machine.reactions):
            link = tree.frame(self.machine.joint(name).child)
            turn = forces.axes[link.body] @ link.R if link.body >= 0 else link.R
            wrench = forces.wrench(name) if self.machine.joint(name).movable else next(mounts)
            row[:3], row[3:] = turn.T @ wrench[3:], turn.T @ wrench[:3]
        return result

    @cached_property
    def _observer(self) -> ForceObserver:
        fixed = [name for name in self.machine.reactions if not self.machine.joint(name).movable]
        tree = self.system.blocks.tree
        return ForceObserver(self.system.blocks, [mount_of(self.machine, tree, name) for name in fixed])
