"""Constraints of a running plant: health, reactions, poses of loads, and the servo of the driven joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import Blocks
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.constraints.solve import UNIQUE
from dyn_nodes.control.constrained_servo import ConstrainedServo
from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation.constrained_ground import ConstrainedGround
from dyn_nodes.simulation.events import Event
from dyn_nodes.simulation.guards.checks import GREATEST_GAP
from dyn_nodes.simulation.period import PlantStoppedError
from dyn_nodes.stability.balance import contact_axes

BROKEN = 1e-3
"""Constraint error that ends the run, m or rad."""


@dataclass(frozen=True, eq=False)
class ConstraintHealth:
    """State of the constraints at one instant.

    Attributes:
        rows, rank: numbers of rows and of independent rows.
        mobility: velocities less rank. underactuation: mobility less independent actuators, at the start.
        condition: condition number of the independent rows; it grows without bound near dependent rows.
        drift: greatest error at position level, m or rad. slip: at velocity level, m/s or rad/s.
        indeterminate: names of the rows whose force is not unique (the force of least norm is reported).
    """

    rows: int
    rank: int
    mobility: int
    underactuation: int
    condition: float
    drift: float
    slip: float
    indeterminate: tuple[str, ...]


class RunningPlant(Protocol):
    """Part of a plant that `PlantConstraints` uses."""

    machine: Machine
    x: Array
    u: Array
    p: Array
    actuated: tuple[str, ...]

    @property
    def time(self) -> float:
        """Simulated time, s."""

    def outputs(self) -> Array:
        """Return all current outputs."""

    def note(self, event: Event) -> None:
        """Store an event."""


class PlantConstraints:
    """Constraints of a running plant.

    Args:
        plant: the plant.
        ground: of the plant.

    Attributes:
        system: that is integrated.
        loops: constraints with a reaction between two ends.
        wheels: names of the wheels that are constraints.
        servo: of the driven joints.
    """

    def __init__(self, plant: RunningPlant, ground: ConstrainedGround) -> None:
        self.plant, self.ground, self.system = plant, ground, ground.system
        self.loops = plant.machine.loops
        self.wheels = tuple(wheel.name for wheel in plant.machine.rigid_wheels)
        tree = self.system.blocks.tree
        self.servo = ConstrainedServo(plant.machine, [tree.velocity_index(name) for name in plant.actuated])
        self._drifted = False

    def reset(self) -> None:
        """Reset the report of a drift."""
        self._drifted = False

    def check(self, drift: float) -> None:
        """Store an event once if the drift, m or rad, exceeds GREATEST_GAP.

        Raises PlantStoppedError if the drift exceeds BROKEN.
        """
        if drift > BROKEN:
            where = f'{self.plant.machine.name}: at t = {self.plant.time:.4f} s'
            raise PlantStoppedError('constraint_drift', f'{where}: {_drifted_apart(drift)}')
        if drift > GREATEST_GAP and not self._drifted:
            self._drifted = True
            details = {'drift': drift, 'text': _drifted_apart(drift)}
            self.plant.note(Event(self.plant.time, 'constraint_drift', details=details))

    def blocks(self) -> Blocks:
        """Return the current matrices and residuals of the constraints."""
        return self.system.constraints.blocks_at(self.plant.x, self.plant.u, self.plant.p)

    def _output(self, name: str) -> float:
        return float(self.plant.outputs()[self.system.index('output', name)])

    def health(self) -> ConstraintHealth:
        """Return the current state of the constraints."""
        drift = self._output('constraint_drift')
        spaces = Subspaces(self.blocks().J)
        open_rows = np.abs(spaces.dependencies).max(axis=1, initial=0.0) >= UNIQUE
        blocks = self.system.blocks
        return ConstraintHealth(
            rows=blocks.m,
            rank=spaces.rank,
            mobility=self.system.nv - spaces.rank,
            underactuation=self.ground.underactuation,
            condition=spaces.condition,
            drift=drift,
            slip=self._output('constraint_slip'),
            indeterminate=tuple(name for name, is_open in zip(blocks.row_names, open_rows) if is_open),
        )

    def solution(self) -> tuple[Array, Array]:
        """Return the current accelerations (nv,) and multipliers (m,)."""
        return self.ground.solution(self.plant.x, self.plant.u, self.plant.p)

    def load_poses(self) -> dict[str, tuple[Array, Array]]:
        """Return position (3,), m, and quaternion (x, y, z, w) of every load in the ground's frame, by name."""
        return {load.name: self._load_pose(load) for load in self.plant.machine.loads}

    def _load_pose(self, load: Any) -> tuple[Array, Array]:
        tree, x = self.system.blocks.tree, self.plant.x
        if load.motion == 'free':
            at = tree.bodies[tree.body(load.name)].q
            turn = x[at + 3 : at + 7]
            return x[at : at + 3], turn / np.linalg.norm(turn)
        along, up, pitch = (x[tree.position_names.index(f'{load.name}_{part}')] for part in ('x', 'z', 'pitch'))
        return np.array([along, 0.0, up]), np.array([0.0, np.sin(0.5 * pitch), 0.0, np.cos(0.5 * pitch)])

    def reaction(self, name: str) -> Array:
        """Return force, N, and torque, N m, (6,) on the first link of a loop at its end, in the axes of the end."""
        start = self.system.index('output', f'{name}/force_x')
        return self.plant.outputs()[start : start + 6]

    def ground_reaction(self, wheel: str) -> tuple[Array, Array, Array]:
        """Return the force of the ground on a wheel by constraint, in the axes of its contact.

        Returns:
            ground point (3,), m; axes (3, 3) of the contact: columns ahead, left, normal; force (3,) along them, N.
        """
        y, index = self.plant.outputs(), self.system.index
        at = index('output', f'{wheel}/point_x')
        components = ('friction_longitudinal', 'friction_lateral', 'normal_force')
        force = np.array([y[index('output', f'{wheel}/{name}')] for name in components])
        first = index('output', f'{wheel}/longitudinal_x')
        return y[at : at + 3], contact_axes(y[first : first + 3], y[first + 3 : first + 6]), force


def _drifted_apart(drift: float) -> str:
    return f'constraints have drifted apart by {drift:.3g} m or rad'
