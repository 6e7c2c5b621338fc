"""Lagrange's equations by automatic differentiation of the kinetic and potential energy (saha-1991, 2.11 to 2.16).

The recursions for mass matrix, bias and dJ/dt v are not used: M and the velocity terms are derivatives of energies,
dJ/dt is the derivative of the rows.
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.constraints.independent import scales
from dyn_nodes.constraints.linear import rank_of
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.studies.formulations.witnesses.answer import (
    Answer,
    Witness,
    complement_of,
    partition_at,
    reject_moving_constraints,
    reject_quasi_velocities,
)


class LagrangianSystem:
    """Energies of a system and their derivatives.

    Raises:
        MethodError: velocities that are not rates of coordinates, or time-dependent constraints.
    """

    def __init__(self, system: ConstraintBlocks, formulation: str) -> None:
        reject_quasi_velocities(system, formulation)
        reject_moving_constraints(system, formulation)
        self.system, self.q, self.v = system, system.q, system.v
        self.kinetic = system.state.kinetic_energy
        self.potential = system.potential_energy

    @property
    def lagrangian(self) -> Expression:
        """L = T - V, J."""
        return self.kinetic - self.potential

    @property
    def dissipative(self) -> Expression:
        """(nv,) forces of the elements without potential energy: dampers."""
        system = self.system
        stored = sum((part.potential_energy(system.state, system.parameters) for part in system.forces), ca.SX(0))
        return system.applied + ca.gradient(stored, self.q)

    @cached_property
    def matrices(self) -> ca.Function:
        """M, h, J, -dJ/dt v of M a + h = tau + J^T lambda, J a = -dJ/dt v."""
        momentum = ca.gradient(self.kinetic, self.v)
        M = ca.jacobian(momentum, self.v)
        h = ca.jtimes(momentum, self.q, self.v) - ca.gradient(self.lagrangian, self.q) - self.dissipative
        J = self.system.rows.jacobian
        slip = ca.mtimes(J, self.v)
        outputs = [M, h, J, -ca.jtimes(slip, self.q, self.v)]
        inputs = [self.q, self.v, self.system.parameters.vector]
        return ca.Function('lagrange', inputs, [ca.densify(part) for part in outputs])

    def at(self, q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
        """Return M (nv, nv), h (nv,), J (m, nv), gamma (m,)."""
        M, h, J, gamma = (np.array(part) for part in self.matrices(q, v, self.system.parameters.values()))
        return M, h.ravel(), J.reshape(self.system.m, self.system.tree.nv), gamma.ravel()


def multipliers(system: ConstraintBlocks) -> Witness:
    """Return Lagrange's equations with multipliers: all nv + m equations at once, unreduced (2.14 to 2.16)."""
    traced = LagrangianSystem(system, 'multipliers')

    def solve(q: Array, v: Array, tau: Array) -> Answer:
        M, h, J, gamma = traced.at(q, v)
        n, m = len(M), len(J)
        if rank_of(np.vstack([M, J])) < n:
            raise MethodError('multipliers: a motion that the constraints allow moves no mass')
        # scale the unknowns: rates per unit of kinetic energy, and one factor for all rows
        unit = scales(M)
        size = max(float(np.abs(J * unit).max(initial=0.0)), np.finfo(float).tiny)
        rows = J * unit / size
        matrix = np.block([[M * np.outer(unit, unit), -rows.T], [rows, np.zeros((m, m))]])
        # rows may be redundant: least norm of undetermined multipliers
        unknowns = np.linalg.lstsq(matrix, np.concatenate([unit * (tau - h), gamma / size]), rcond=1e-13)[0]
        return Answer(unit * unknowns[:n], unknowns[n:] / size)

    return solve


def maggi(system: ConstraintBlocks) -> Witness:
    """Return Maggi's equations: Lagrange's expressions combined along the allowed motions."""
    traced = LagrangianSystem(system, 'maggi')

    def solve(q: Array, v: Array, tau: Array) -> Answer:
        M, h, J, gamma = traced.at(q, v)
        N, start = complement_of(partition_at(J, M), J, gamma)
        return Answer(N @ np.linalg.solve(N.T @ M @ N, N.T @ (tau - h - M @ start)) + start)

    return solve
