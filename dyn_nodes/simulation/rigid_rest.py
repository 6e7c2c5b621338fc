"""Equilibrium of a machine on rigid ground: on feet with the weight between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.unilateral import NO_PULL, ClosedContacts, ContactProblem
from dyn_nodes.model.equilibrium import NoEquilibriumError
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import joint_vector
from dyn_nodes.multibody.base_motion import base_coordinates
from dyn_nodes.simulation.initial import hold_joints
from dyn_nodes.simulation.rigid_assembly import ROWS

TOUCHING = 1e-8
"""Greatest gap of a contact that touches the ground, m."""
ITERATIONS = 30
INCREMENT = 1e-6
"""Increment of a pose for derivatives of the gaps, m or rad."""


class GroundModel(Protocol):
    """Part of the model of a machine on rigid ground that `RigidRest` uses."""

    machine: Machine
    module: Any
    contacts: tuple[str, ...]
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    nq: int
    nv: int

    def problem(self, x: Array, u: Array, p: Array) -> tuple[ContactProblem, Array]:
        """Return the blocks at a state and the errors of the rows."""


class RigidRest:
    """A machine at rest on rigid ground.

    Args:
        model: of the machine.
        p: parameters.
    """

    def __init__(self, model: GroundModel, p: Array) -> None:
        self.model, self.p = model, p
        self._still = np.zeros(len(model.input_names))

    def state(self, joints: Mapping[str, float] | None) -> Array:
        """Return the state at rest with actuators that hold the joints. Errors: see `initial_state` of the model."""
        model = self.model
        angles = joint_vector(model.machine, joints)
        x = np.zeros(len(model.state_names))
        x[model.nq - len(angles) : model.nq] = angles
        size = 2 if model.machine.base.attachment == 'planar' else 3
        for feet in combinations(range(len(model.contacts)), size):
            if self._put_on(feet, x) and self._carried(x):
                hold_joints(model, x, angles, self.holding(x))
                return x
        raise NoEquilibriumError(f'{model.machine.name}: no rest on the ground in this posture: it tips')

    def touching(self, x: Array) -> tuple[int, ...]:
        """Return the contacts that touch the ground."""
        return tuple(k for k, gap in enumerate(self._gaps(x)) if gap <= TOUCHING)

    def holding(self, x: Array) -> Array:
        """Return the forces (nv,) that hold the machine at rest, less the ground forces: the efforts of the joints."""
        state, multipliers, _ = self._statics(x)
        full, _ = self.model.problem(x, self._still, self.p)
        return np.asarray(self._needed(x) - full.J.T @ self._of_base(x).shared(state, multipliers))

    def _gaps(self, x: Array) -> Array:
        return self.model.problem(x, self._still, self.p)[1][ROWS - 1 :: ROWS]

    def _put_on(self, feet: Sequence[int], x: Array) -> bool:
        """Place the base of x, in place, on some feet; return whether no other foot penetrates the ground."""
        machine, touching = self.model.machine, list(feet)
        pose = machine.initial.pose
        pose[3:5] = 0.0
        free = [2, 4] if machine.base.attachment == 'planar' else [2, 3, 4]
        base = self.model.nq - len(machine.movable_joints)

        def gaps(pose: Array) -> Array:
            x[:base] = base_coordinates(machine.base.attachment, pose)
            return self._gaps(x)

        for _ in range(ITERATIONS):
            error = gaps(pose)[touching]
            if np.abs(error).max() < 1e-13:
                break
            steps = INCREMENT * np.eye(len(pose))[free]
            slopes = [(gaps(pose + step)[touching] - gaps(pose - step)[touching]) / (2 * INCREMENT) for step in steps]
            pose[free] -= np.linalg.lstsq(np.column_stack(slopes), error, rcond=1e-9)[0]
            if not np.isfinite(pose).all() or np.abs(pose[3:5]).max() > 0.5 * np.pi:
                return False
        residual = gaps(pose)
        return bool(residual.min() >= -TOUCHING and np.abs(residual[touching]).max() <= TOUCHING)

    def _carried(self, x: Array) -> bool:
        """Return whether the ground carries the base without tension."""
        state, multipliers, missed = self._statics(x)
        scale = max(1.0, float(np.abs(multipliers).max(initial=0.0)))
        return bool(missed <= 1e-6 * scale and (state.facets @ multipliers >= -NO_PULL * scale).all())

    def _statics(self, x: Array) -> tuple[ClosedContacts, Array, float]:
        """Return the touching contacts, the multipliers that hold the base, and the greatest residual force."""
        problem = self._of_base(x)
        state = problem.closed(self.touching(x))
        J = problem.J[state.rows]
        multipliers = np.linalg.lstsq(J.T, -problem.load, rcond=1e-12)[0]
        return state, multipliers, float(np.abs(J.T @ multipliers + problem.load).max(initial=0.0))

    def _of_base(self, x: Array) -> ContactProblem:
        """Return the equilibrium of the base with held joints."""
        problem, _ = self.model.problem(x, self._still, self.p)
        part = slice(0, self.model.nv - len(self.model.machine.movable_joints))
        return replace(problem, M=problem.M[part, part], load=-self._needed(x)[part], J=problem.J[:, part])

    def _needed(self, x: Array) -> Array:
        """Return the generalized forces (nv,) that hold the machine at rest at x."""
        result = np.empty(self.model.nv)
        self.model.module.holding(x, self.p, result)
        return result
