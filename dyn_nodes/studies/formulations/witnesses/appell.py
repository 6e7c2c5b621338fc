"""Gibbs-Appell: the energy of acceleration, differentiated by the independent accelerations (saha-1991, 2.28).

S = sum m |ac|^2 / 2 + alpha . I alpha / 2 + alpha . (omega x I omega) of all bodies. Velocities and accelerations are
time derivatives of mass centres and rotation matrices; no Jacobian or bias of the recursions is used.
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.multibody.spatial import Expression, cross
from dyn_nodes.studies.formulations.witnesses.answer import (
    Answer,
    Witness,
    complement_of,
    partition_at,
    rate_of,
    reject_moving_constraints,
    reject_quasi_velocities,
    rigid_parts,
)


class AccelerationEnergy:
    """S of a system as an expression of q, v and the independent accelerations u: a = N u + a_0."""

    def __init__(self, system: ConstraintBlocks) -> None:
        reject_quasi_velocities(system, 'gibbs_appell')
        reject_moving_constraints(system, 'gibbs_appell')
        self.system, self.a = system, ca.SX.sym('a', system.tree.nv)
        self._compiled: dict[int, ca.Function] = {}

    def _by_time(self, expression: Expression) -> Expression:
        return rate_of(expression, self.system, self.a)

    @cached_property
    def energy(self) -> Expression:
        """S, W/s, for accelerations a of all joints."""
        total = 0.5 * ca.dot(self.system.tree.armatures, self.a**2)
        for part in rigid_parts(self.system):
            pose = self.system.state.poses[part.body]
            acceleration = self._by_time(self._by_time(pose.p + ca.mtimes(pose.R, part.centre)))
            rates = ca.mtimes(self._by_time(pose.R), pose.R.T)
            omega = ca.vertcat(rates[2, 1], rates[0, 2], rates[1, 0])
            alpha = self._by_time(omega)
            J = ca.mtimes(ca.mtimes(pose.R, part.central), pose.R.T)
            moment = 0.5 * ca.mtimes(J, alpha) + cross(omega, ca.mtimes(J, omega))
            total = total + 0.5 * part.mass * ca.dot(acceleration, acceleration) + ca.dot(alpha, moment)
        return total

    def derivatives(self, n: int) -> ca.Function:
        """Return d2S/du2 and dS/du at u = 0 for n independent accelerations."""
        if n not in self._compiled:
            nv = self.system.tree.nv
            u, N, start = ca.SX.sym('u', n), ca.SX.sym('N', nv, n), ca.SX.sym('start', nv)
            energy = ca.substitute(self.energy, self.a, ca.densify(ca.mtimes(N, u) + start))
            slope = ca.gradient(energy, u)
            outputs = [ca.jacobian(slope, u), ca.substitute(slope, u, ca.SX.zeros(n))]
            inputs = [self.system.q, self.system.v, N, start, self.system.parameters.vector]
            self._compiled[n] = ca.Function('appell', inputs, [ca.densify(part) for part in outputs])
        return self._compiled[n]

    @cached_property
    def forces(self) -> ca.Function:
        """Generalized forces of gravity and elements (nv,), J (m, nv), -dJ/dt v."""
        system = self.system
        weight = -ca.gradient(system.state.potential_energy(system.parameters.gravity), system.q)
        J = system.rows.jacobian
        gamma = -ca.jtimes(ca.mtimes(J, system.v), system.q, system.v)
        inputs = [system.q, system.v, system.parameters.vector]
        outputs = [weight + system.applied, J, gamma, system.mass_matrix]
        return ca.Function('forces', inputs, [ca.densify(part) for part in outputs])


def gibbs_appell(system: ConstraintBlocks) -> Witness:
    """Return Gibbs-Appell equations: dS/du = efforts along the independent rates."""
    traced = AccelerationEnergy(system)
    p = system.parameters.values()

    def solve(q: Array, v: Array, tau: Array) -> Answer:
        force, J, gamma, M = (np.array(part) for part in traced.forces(q, v, p))
        J = J.reshape(system.m, system.tree.nv)
        N, start = complement_of(partition_at(J, M), J, gamma.ravel())
        second, first = (np.array(part) for part in traced.derivatives(N.shape[1])(q, v, N, start, p))
        u = np.linalg.solve(second, N.T @ (tau + force.ravel()) - first.ravel())
        return Answer(N @ u + start)

    return solve
