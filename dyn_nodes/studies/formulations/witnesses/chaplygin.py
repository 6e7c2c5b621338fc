"""Reduced Lagrangians: the equations of Chaplygin and Voronec, and Hamilton's for the former (saha-1991, 2.17 to 2.37).

The dependent rates are eliminated *before* differentiation, v_D = U(q) v_I, which gives L*. Where the rates are not
integrable, d/dt dL*/dv_I - dL*/dq_I is then wrong by the bracket sum_i p_Di [du_i/dq_I - (du_i/dq_I)^T] v_I, u_i the
i-th row of U and p_Di = dL/dv_Di (2.25; spec F2, F3). Chaplygin's form holds where neither U nor L contains a dependent
coordinate; Voronec's follows them along the motion, d/dq_I + U^T d/dq_D, and holds for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.elimination import choose, traced_complement
from dyn_nodes.constraints.errors import MethodError
from dyn_nodes.constraints.independent import choose_independent
from dyn_nodes.constraints.linear import Subspaces
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.studies.formulations.witnesses.answer import Answer, Witness
from dyn_nodes.studies.formulations.witnesses.lagrange import LagrangianSystem

DEPENDS = 1e-9
"""Least derivative, relative to the greatest one, that counts as a dependence on a coordinate."""
WORST_CHOICE = 200.0
"""Greatest accepted condition number of the equations for the dependent rates."""
SOUND = 30.0
"""Least pivot with which U is still exact, in units of `elimination.VANISHED` of its size at the choice."""


class ReducedLagrangian:
    """L*(q, v_I) with the terms of the reduced equations.

    Args:
        traced: energies.
        q: (nq,) where the pivots of the elimination are chosen.
        independent: indices of the independent rates.
        followed: d/dq includes the dependent coordinates (Voronec), or they are assumed not to appear (Chaplygin).
    """

    def __init__(self, traced: LagrangianSystem, q: Array, independent: Sequence[int], followed: bool) -> None:
        system = traced.system
        elimination = choose(system, [q], independent=independent)
        self.traced, self.independent = traced, list(elimination.independent)
        self.dependent = [k for k in range(system.tree.nv) if k not in set(self.independent)]
        self.N, _, self.checks = traced_complement(system, elimination)
        self.v = ca.SX.sym('v_I', len(self.independent))
        self.velocities = ca.densify(ca.mtimes(self.N, self.v))
        self.along = self.N if followed else ca.SX(np.eye(system.tree.nv)[:, self.independent])
        self.lagrangian = self._reduced(traced.lagrangian)
        self.momentum = ca.gradient(self.lagrangian, self.v)
        self.dependent_momenta = self._reduced(ca.gradient(traced.lagrangian, traced.v)[self.dependent])
        self.dissipative = ca.mtimes(self.N.T, self._reduced(traced.dissipative))

    def _reduced(self, expression: Expression) -> Expression:
        return ca.substitute(expression, self.traced.v, self.velocities)

    def by_position(self, expression: Expression) -> Expression:
        """Return the derivatives by the independent coordinates, one column each."""
        return ca.mtimes(ca.jacobian(expression, self.traced.q), self.along)

    @property
    def bracket(self) -> Expression:
        """(n,) the sum that is zero for integrable constraints."""
        total = ca.SX(len(self.independent), 1)
        for index, momentum in zip(self.dependent, ca.vertsplit(self.dependent_momenta)):
            slope = self.by_position(self.N[index, :].T)
            total = total + ca.mtimes(slope - slope.T, self.v) * momentum
        return total

    @property
    def start(self) -> Expression:
        """(nv,) accelerations at zero independent accelerations, dN/dt v_I, by differentiation of N."""
        return ca.jtimes(self.velocities, self.traced.q, self.velocities)

    def function(self, name: str, outputs: Sequence[Expression]) -> Callable[[Array, Array], list[Array]]:
        """Return a function of q and all rates that evaluates the outputs numerically."""
        numbers = self.traced.system.parameters.values()
        inputs = [self.traced.q, self.v, self.traced.system.parameters.vector]
        function = ca.Function(name, inputs, [ca.densify(ca.SX(part)) for part in outputs])
        return lambda q, v: [np.array(part) for part in function(q, v[self.independent], numbers)]

    @cached_property
    def _soundness(self) -> ca.Function:
        checks = ca.vertcat(*self.checks) if self.checks else ca.SX(0, 1)
        return ca.Function('checks', [self.traced.q, self.traced.system.parameters.vector], [ca.densify(checks)])

    def sound(self, q: Array) -> bool:
        """Return True if no pivot of the elimination is small here and the dependent rows are still dependent."""
        values = np.array(self._soundness(q, self.traced.system.parameters.values())).ravel()
        # a dependent row's check is at most its tolerance, a pivot's is far above it
        return bool(np.all((values > SOUND) | ((values > 0) & (values < 1e-6))))


def essential_coordinates(traced: LagrangianSystem, q: Array) -> list[int]:
    """Return the movable coordinates on which L or the allowed motions depend at q.

    U depends on a coordinate exactly if dJ/dq_k N is not zero.
    """
    system = traced.system
    _, _, J, _ = traced.at(q, np.zeros(system.tree.nv))
    N = Subspaces(J).motions
    rng = np.random.default_rng(0)
    v = N @ rng.normal(size=N.shape[1])
    inputs = [traced.q, traced.v, system.parameters.vector]
    slopes = ca.jacobian(ca.mtimes(system.rows.jacobian, traced.v), traced.q)
    function = ca.Function('slopes', inputs, [slopes, ca.gradient(traced.lagrangian, traced.q)])
    numbers = system.parameters.values()
    slope, force = (np.array(part) for part in function(q, v, numbers))
    free = rng.normal(size=system.tree.nv)
    force = np.abs(force.ravel()) + np.abs(np.array(function(q, free, numbers)[1]).ravel())
    size = np.abs(slope).max(axis=0, initial=0.0)
    moves = np.abs(N).max(axis=1, initial=0.0) > DEPENDS
    depends = (size > DEPENDS * max(1.0, float(size.max()))) | (force > DEPENDS * max(1.0, float(force.max())))
    return [int(k) for k in np.flatnonzero(depends & moves)]


def chaplygin_choice(traced: LagrangianSystem, q: Array, formulation: str) -> list[int]:
    """Return independent rates for Chaplygin's form: all coordinates that appear, then others up to the mobility.

    Raises:
        MethodError: the rates of the coordinates that appear depend on each other, or hardly determine the others.
    """
    names = traced.system.tree.velocity_names
    M, _, J, _ = traced.at(q, np.zeros(len(names)))
    wanted = essential_coordinates(traced, q)
    partition = choose_independent(J, M, wanted)
    listed = ', '.join(names[k] for k in wanted)
    if not set(wanted) <= set(partition.independent):
        raise MethodError(
            f'{formulation}: L and the constraints contain the coordinates {listed}, whose rates depend on each other; '
            "Voronec's equations apply"
        )
    if partition.condition > WORST_CHOICE:
        raise MethodError(
            f'{formulation}: L and the constraints contain the coordinates {listed}, whose rates hardly determine the '
            f"others here (condition number {partition.condition:.3g}); Voronec's equations apply"
        )
    return list(partition.independent)


def _family(make: Callable[[Array], tuple[ReducedLagrangian, Witness]]) -> Witness:
    """Return equations that are traced again if the existing eliminations have small pivots at a position."""
    traced: list[tuple[ReducedLagrangian, Witness]] = []

    def solve(q: Array, v: Array, tau: Array) -> Answer:
        for reduced, witness in traced:
            if reduced.sound(q):
                return witness(q, v, tau)
        traced.append(make(q))
        return traced[-1][1](q, v, tau)

    return solve


def _equations(reduced: ReducedLagrangian, bracket: bool = True) -> Witness:
    """Return d/dt dL*/dv_I - dL*/dq_I - bracket = efforts (2.25)."""
    p = reduced.momentum
    rest = ca.mtimes(reduced.by_position(p), reduced.v) - reduced.by_position(reduced.lagrangian).T
    rest = rest - reduced.dissipative - (reduced.bracket if bracket else 0)
    numbers = reduced.function('reduced', [ca.jacobian(p, reduced.v), rest, reduced.N, reduced.start])

    def solve(q: Array, v: Array, tau: Array) -> Answer:
        inertia, h, N, start = numbers(q, v)
        return Answer(N @ np.linalg.solve(inertia, N.T @ tau - h.ravel()) + start.ravel())

    return solve


def chaplygin(system: ConstraintBlocks, bracket: bool = True) -> Witness:
    """Return Chaplygin's equations (2.25).

    Args:
        system: traced.
        bracket: False leaves Lagrange's equations, which are wrong for nonholonomic constraints; for tests.
    """
    traced = LagrangianSystem(system, 'chaplygin')

    def make(q: Array) -> tuple[ReducedLagrangian, Witness]:
        reduced = ReducedLagrangian(traced, q, chaplygin_choice(traced, q, 'chaplygin'), followed=False)
        return reduced, _equations(reduced, bracket)

    return _family(make)


def voronec(system: ConstraintBlocks) -> Witness:
    """Return Voronec's equations: Chaplygin's with the dependent coordinates followed along the motion."""
    traced = LagrangianSystem(system, 'voronec')

    def make(q: Array) -> tuple[ReducedLagrangian, Witness]:
        M, _, J, _ = traced.at(q, np.zeros(system.tree.nv))
        reduced = ReducedLagrangian(traced, q, choose_independent(J, M).independent, followed=True)
        return reduced, _equations(reduced)

    return _family(make)


def hamilton(system: ConstraintBlocks) -> Witness:
    """Return Hamilton's equations with the bracket (2.34 to 2.37; signs as corrected, spec F4, F5).

    H(q, p) = p I^-1 p / 2 + V; dp/dt = efforts - dH/dq_I + bracket. They apply where Chaplygin's equations apply.
    """
    traced = LagrangianSystem(system, 'hamilton')

    def make(q: Array) -> tuple[ReducedLagrangian, Witness]:
        reduced = ReducedLagrangian(traced, q, chaplygin_choice(traced, q, 'hamilton'), followed=False)
        return reduced, _canonical(reduced)

    return _family(make)


def _canonical(reduced: ReducedLagrangian) -> Witness:
    inertia = ca.jacobian(reduced.momentum, reduced.v)
    p = ca.SX.sym('p', inertia.shape[0])
    hamiltonian = 0.5 * ca.dot(p, ca.solve(inertia, p)) + reduced.traced.potential
    slope = ca.substitute(reduced.by_position(hamiltonian).T, p, ca.densify(reduced.momentum))
    change = ca.mtimes(ca.reshape(reduced.by_position(ca.vec(inertia)) @ reduced.v, inertia.shape), reduced.v)
    force = reduced.dissipative + reduced.bracket - slope - change
    numbers = reduced.function('canonical', [inertia, force, reduced.N, reduced.start])

    def solve(q: Array, v: Array, tau: Array) -> Answer:
        matrix, drive, N, start = numbers(q, v)
        # p = I v_I, so dv_I/dt = I^-1 (dp/dt - dI/dt v_I)
        return Answer(N @ np.linalg.solve(matrix, N.T @ tau + drive.ravel()) + start.ravel())

    return solve
