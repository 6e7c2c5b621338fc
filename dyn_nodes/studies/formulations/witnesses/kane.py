"""Kane's equations: forces and inertia forces along partial velocities (saha-1991, 2.38 to 2.43).

Partial velocities are derivatives of each body's angular velocity and of its mass centre's velocity by the independent
rates, in the body's own axes.
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


class PartialVelocities:
    """Active and inertia forces of a system along the rates of all joints, and partial velocities of its bodies."""

    def __init__(self, system: ConstraintBlocks) -> None:
        reject_quasi_velocities(system, 'kane')
        reject_moving_constraints(system, 'kane')
        self.system, self.a, self.parts = system, ca.SX.sym('a', system.tree.nv), rigid_parts(system)

    @cached_property
    def velocities(self) -> list[tuple[Expression, Expression]]:
        """Angular velocity and velocity of the mass centre of every part with mass, in body axes."""
        motions = [(self.system.state.velocities[part.body], part.centre) for part in self.parts]
        return [(motion.w, motion.v + cross(motion.w, centre)) for motion, centre in motions]

    @cached_property
    def partial_velocities(self) -> Expression:
        """(6 parts, nv) V of all joints: partial angular velocities over partial velocities, in body axes (2.38)."""
        stacked = ca.vertcat(*(ca.vertcat(w, v) for w, v in self.velocities))
        return ca.densify(ca.jacobian(stacked, self.system.v))

    def _rate(self, expression: Expression) -> Expression:
        return rate_of(expression, self.system, self.a)

    @cached_property
    def wrenches(self) -> Expression:
        """(6 parts,) inertia forces w* and weights, at the mass centres in body axes."""
        result = []
        for (omega, velocity), part in zip(self.velocities, self.parts):
            alpha, linear = self._rate(omega), self._rate(velocity) + cross(omega, velocity)
            moment = ca.mtimes(part.central, alpha) + cross(omega, ca.mtimes(part.central, omega))
            weight = self.system.state.poses[part.body].unrotate(self.system.parameters.gravity)
            result += [-moment, part.mass * (weight - linear)]
        return ca.vertcat(*result)

    @cached_property
    def matrices(self) -> ca.Function:
        """d(V^T w)/da (nv, nv), V^T w (nv,) at a, applied forces (nv,), J, -dJ/dt v."""
        system = self.system
        total = ca.mtimes(self.partial_velocities.T, self.wrenches) - system.tree.armatures * self.a
        J = system.rows.jacobian
        gamma = -ca.jtimes(ca.mtimes(J, system.v), system.q, system.v)
        still = ca.substitute(total, self.a, ca.SX.zeros(system.tree.nv))
        outputs = [ca.jacobian(total, self.a), still, system.applied, J, gamma]
        inputs = [system.q, system.v, system.parameters.vector]
        return ca.Function('kane', inputs, [ca.densify(part) for part in outputs])


def kane(system: ConstraintBlocks) -> Witness:
    """Return Kane's equations: active and inertia forces along the independent rates sum to zero."""
    traced = PartialVelocities(system)
    p = system.parameters.values()

    def solve(q: Array, v: Array, tau: Array) -> Answer:
        slope, still, applied, J, gamma = (np.array(part) for part in traced.matrices(q, v, p))
        J = J.reshape(system.m, system.tree.nv)
        N, start = complement_of(partition_at(J, -slope), J, gamma.ravel())
        force = still.ravel() + slope @ start + applied.ravel() + tau
        return Answer(N @ np.linalg.solve(-N.T @ slope @ N, N.T @ force) + start)

    return solve
