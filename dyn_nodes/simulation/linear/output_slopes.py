"""Exact derivatives of named outputs of a system by its state and inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.simulation.outputs import traced_outputs

OutputSlopes = Callable[[Array, Array, Array], tuple[Array, Array]]
"""Function of state, inputs and parameters; returns derivatives (l, N) by the state and (l, m) by the inputs."""
UNDETERMINED = 1e-9
"""Relative change of an output by multipliers without effect on the motion, above which it has no derivative."""


def tree_outputs(system: Any, names: Sequence[str]) -> OutputSlopes:
    """Return the derivatives of outputs of a system without constraints."""
    if not names:
        return _nothing
    plant = system.dynamics.assembly()
    all_names, values = traced_outputs(plant)
    chosen = values[[all_names.index(name) for name in names]]
    slopes = [ca.densify(ca.jacobian(chosen, by)) for by in (plant.x, plant.u)]
    traced = ca.Function('output_slopes', [plant.x, plant.u, plant.p], slopes)

    def at(x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        by_x, by_u = traced(x, u, p)
        return np.array(by_x), np.array(by_u)

    return at


def _nothing(x: Array, u: Array, p: Array) -> tuple[Array, Array]:
    return np.zeros((0, len(x))), np.zeros((0, len(u)))


def constrained_outputs(system: Any, names: Sequence[str]) -> OutputSlopes:
    """Return the derivatives of outputs of a system with constraints.

    Outputs depend on accelerations and multipliers, whose derivatives follow from [M, -J^T; J, 0] d(a, lambda) =
    d(f - M a + J^T lambda, gamma - J a).
    """
    if not names:
        return _nothing
    return _ConstrainedSlopes(system.constraints, names)


class _ConstrainedSlopes:
    def __init__(self, system: Any, names: Sequence[str]) -> None:
        self.system, self.names = system, tuple(names)
        blocks, nv = system.blocks, system.blocks.tree.nv
        x, u, p = system._symbols
        a, multipliers = ca.SX.sym('a', nv), ca.SX.sym('multipliers', blocks.m)
        tau = ca.SX(nv, 1)
        driven = system.driven_indices.tolist()
        tau[driven] = u[: len(driven)]
        chosen = system.traced_outputs(names, a, multipliers, tau)
        values = system._traced(chosen, a, multipliers, u)
        efforts, gaps = blocks.residuals(a, multipliers)
        rest = system._traced(ca.vertcat(efforts, gaps), a, multipliers)
        rest[driven] += u[: len(driven)]
        held = ca.vertcat(a, multipliers)
        slopes = [ca.densify(ca.jacobian(part, by)) for part in (values, rest) for by in (x, u, held)]
        self._traced = ca.Function('output_slopes', [x, u, p, held], slopes)

    def __call__(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        system = self.system
        blocks = system.blocks_at(x, u, p)
        a, multipliers = system.solver(blocks).solution(x, u, p)
        held = np.concatenate([a, multipliers])
        by_x, by_u, by_held, rest_x, rest_u, rest_held = (np.array(part) for part in self._traced(x, u, p, held))
        self._demand_determined(blocks.J, by_held)
        # rest(x, u, held) = 0 on every motion; with dependent rows any solution is valid
        change = -np.linalg.lstsq(rest_held, np.hstack([rest_x, rest_u]), rcond=1e-13)[0]
        moved = by_held @ change
        return by_x + moved[:, : len(x)], by_u + moved[:, len(x) :]

    def _demand_determined(self, J: Array, by_held: Array) -> None:
        spare = Subspaces(J).dependencies
        if not spare.size:
            return
        loose = np.abs(by_held[:, J.shape[1] :] @ spare).max(axis=1)
        for name, value, row in zip(self.names, loose, by_held):
            if value > UNDETERMINED * max(1.0, float(np.abs(row).max())):
                raise ValueError(
                    f'output {name}: expected one that the state determines, found a reaction of constraints that '
                    'depend on each other'
                )
