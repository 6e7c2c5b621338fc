"""The natural orthogonal complement: minimal equations from twists without a decomposition of A (saha-1991, ch. 3).

    noc = natural_orthogonal_complement(blocks, independent=('left', 'right'))
    here = noc.at(q, v)
    here.T, here.T_rate, here.inertia, here.convective       # I a = C v + tau + gravity + elements
    here.accelerations(tau), here.wrenches(tau)

The twists of all bodies are t = T v_I with the rates of the independent joints: the tree defines them per joint rate,
the loops define the dependent rates. Then A T = 0, and T^T removes every constraint wrench from the stacked
Newton-Euler equations M dt/dt + dM/dt t = w. The wrenches are computed afterwards from the residuals.

The formulation shares no solver with `constrained_dynamics`: mass matrix and bias are sums over the bodies in world
axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.errors import ContradictoryConstraintsError
from dyn_nodes.constraints.independent import Partition, choose_independent, named_independent
from dyn_nodes.constraints.solve import CONTRADICTION, reject_massless
from dyn_nodes.studies.formulations import twist_rows
from dyn_nodes.studies.formulations.minimal_equations import MinimalEquations, StackedBodies
from dyn_nodes.studies.formulations.twists import MassCentreTwists


class NaturalOrthogonalComplement:
    """The formulation for one traced system.

    Args:
        system: a tree with its constraints and force elements.
        independent: names of the independent rates; empty: chosen at every state by pivoting.
        prefer: names of rates chosen first where they can be independent, such as the actuated ones.

    Raises:
        KeyError: a velocity that the tree does not have.
    """

    def __init__(self, system: ConstraintBlocks, independent: Sequence[str] = (), prefer: Sequence[str] = ()) -> None:
        self.system = system
        self._named = tuple(system.tree.velocity_index(name) for name in independent)
        self._preferred = tuple(system.tree.velocity_index(name) for name in prefer)
        self._twists = MassCentreTwists(system.state)

    @cached_property
    def _evaluate(self) -> ca.Function:
        system, twists = self.system, self._twists
        rows, state = system.rows, system.state
        outputs = [
            twists.per_rate, self._rate(twists.per_rate), twists.rate_at_constant_speed,
            ca.horzcat(*twists.central_inertias), ca.vertcat(*twists.masses), system.parameters.gravity,
            twist_rows.element_wrenches(system, twists), twists.per_effort,
            rows.jacobian, self._rate(rows.jacobian), rows.gamma, rows.sigma,
        ]  # fmt: skip
        return ca.Function('complement', [state.q, state.v, system.parameters.vector], [_flat(outputs)])

    @cached_property
    def _position(self) -> ca.Function:
        system = self.system
        outputs = [system.rows.jacobian, system.rows.sigma, system.mass_matrix]
        return ca.Function('position', [system.q, system.v, system.parameters.vector], [_flat(outputs)])

    @cached_property
    def _twist_rows(self) -> ca.Function:
        system, twists = self.system, self._twists
        outputs = [twist_rows.pair_matrix(system, twists), twist_rows.constraint_matrix(system, twists)]
        return ca.Function('rows', [system.q, system.v, system.parameters.vector], outputs)

    def _rate(self, matrix: ca.SX) -> ca.SX:
        """Return the exact time derivative along the motion."""
        flat, state, time = ca.vec(matrix), self.system.state, self.system.parameters.time
        rate = ca.jtimes(flat, state.q, state.position_rate) + ca.jacobian(flat, time)
        return ca.reshape(ca.densify(rate), matrix.shape[0], matrix.shape[1])

    def twist_rows(self, q: ArrayLike, p: ArrayLike | Mapping[str, float] | None = None) -> tuple[Array, Array]:
        """Return the rows A t = sigma of the pairs (6 pairs, 6 r) and of the constraints (m, 6 r) (3.18)."""
        tree = self.system.tree
        width = 6 * len(tree.bodies)
        matrices = self._twist_rows(_vector('q', q, tree.nq), np.zeros(tree.nv), self.system.numbers(p))
        pairs, rows = (np.array(part).reshape(-1, width) for part in matrices)
        return pairs, rows

    @cached_property
    def _loaded(self) -> ca.Function:
        system, twists = self.system, self._twists
        centres = [twists.centre_position(k) for k in range(len(system.tree.bodies))]
        outputs = [twist_rows.constraint_matrix(system, twists), ca.vertcat(*centres)]
        return ca.Function('loaded', [system.q, system.v, system.parameters.vector], [_flat(outputs)])

    def constraints_on_bodies(self, q: Array, p: Array) -> tuple[Array, Array]:
        """Return A of the constraints (m, 6 r) and the mass centres (r, 3), m."""
        tree, bodies = self.system.tree, len(self.system.tree.bodies)
        rows, centres = _parts(self._loaded(q, np.zeros(tree.nv), p), ((self.system.m, 6 * bodies), (3 * bodies,)))
        return rows, centres.reshape(bodies, 3)

    def mobility(self, q: ArrayLike, p: ArrayLike | Mapping[str, float] | None = None) -> int:
        """Return the number of independent rates at a position: nv less the rank of J."""
        return len(self.partition(q, p).independent)

    def partition(self, q: ArrayLike, p: ArrayLike | Mapping[str, float] | None = None) -> Partition:
        """Return the independent rates at a position. Raises MethodError if the named rates are not independent."""
        J, _, M = self._rows_at(_vector('q', q, self.system.tree.nq), self.system.numbers(p))
        return self._chosen(J, M)

    def _chosen(self, J: Array, M: Array) -> Partition:
        if self._named:
            return named_independent(J, M, self._named, self.system.tree.velocity_names)
        return choose_independent(J, M, self._preferred)

    def _rows_at(self, q: Array, p: Array) -> tuple[Array, Array, Array]:
        m, nv = self.system.m, self.system.tree.nv
        J, sigma, M = _parts(self._position(q, np.zeros(nv), p), ((m, nv), (m,), (nv, nv)))
        return J, sigma, M

    def at(self, q: ArrayLike, v: ArrayLike, p: ArrayLike | Mapping[str, float] | None = None) -> MinimalEquations:
        """Return the minimal equations at a state.

        Args:
            q: (nq,) positions that meet the constraints.
            v: (nv,) rates; the dependent ones are recomputed from the independent ones.
            p: parameters, see `ConstraintBlocks.numbers`.

        Raises:
            MethodError: the named rates are not independent here.
            ContradictoryConstraintsError: dependent rows ask for different accelerations.
            SingularMotionError: a motion that moves no mass.
        """
        tree, numbers = self.system.tree, self.system.numbers(p)
        position, rates = _vector('q', q, tree.nq), _vector('v', v, tree.nv)
        # make the rates consistent with the constraints first: the rates of T and J depend on them
        J, sigma, M = self._rows_at(position, numbers)
        partition = self._chosen(J, M)
        rates = _consistent(J, sigma, partition, rates)
        return self._equations(position, rates, numbers, partition, self._numbers(position, rates, numbers))

    def _numbers(self, q: Array, v: Array, p: Array) -> StackedBodies:
        tree, m = self.system.tree, self.system.m
        r, size = len(tree.bodies), 6 * len(tree.bodies)
        shapes = (
            (size, tree.nv), (size, tree.nv), (size,), (3, 3 * r), (r,), (3,), (size,), (size, tree.nv),
            (m, tree.nv), (m, tree.nv), (m,), (m,),
        )  # fmt: skip
        parts = _parts(self._evaluate(q, v, p), shapes)
        parts[3] = parts[3].reshape(3, r, 3).transpose(1, 0, 2)
        return StackedBodies(*parts)

    def _equations(self, q: Array, v: Array, p: Array, partition: Partition, parts: StackedBodies) -> MinimalEquations:
        N, N_rate, start = _complement(self.system, partition, parts)
        tree, rates = parts.tree, parts.inertia_rates(v)
        T, T_rate = tree @ N, parts.tree_rate @ N + tree @ N_rate
        rotors = N.T * self.system.tree.armatures
        inertia = T.T @ parts.weighed(T) + rotors @ N
        reject_massless(inertia, N, self.system.tree.velocity_names)
        convective = -T.T @ (parts.weighed(T_rate) + parts.turned(T, rates)) - rotors @ N_rate
        v_I = v[list(partition.independent)]
        # with time-dependent constraints dt/dt is not T a + dT/dt v_I alone
        whole = T.T @ (parts.weighed(tree @ start + parts.tree_bias) + parts.turned(tree @ v, rates)) + rotors @ start
        return MinimalEquations(
            self, q, v, p, partition, N, N_rate, T, T_rate, inertia, convective,
            T.T @ parts.weight, T.T @ parts.pushed, -(whole + convective @ v_I), start, parts,
        )  # fmt: skip


def natural_orthogonal_complement(
    system: ConstraintBlocks, independent: Sequence[str] = (), prefer: Sequence[str] = ()
) -> NaturalOrthogonalComplement:
    """Return the formulation of a system by its natural orthogonal complement, see `NaturalOrthogonalComplement`."""
    return NaturalOrthogonalComplement(system, independent, prefer)


def _consistent(J: Array, sigma: Array, partition: Partition, v: Array) -> Array:
    """Return v with the dependent rates computed from the independent ones."""
    rows, free, held = list(partition.rows), list(partition.independent), list(partition.dependent)
    result = v.copy()
    if held:
        result[held] = np.linalg.solve(J[np.ix_(rows, held)], sigma[rows] - J[np.ix_(rows, free)] @ v[free])
    return result


def _complement(system: ConstraintBlocks, partition: Partition, parts: StackedBodies) -> tuple[Array, Array, Array]:
    """Return N and dN/dt (nv, n), and the accelerations (nv,) at zero accelerations of the independent rates."""
    rows, free, held = list(partition.rows), list(partition.independent), list(partition.dependent)
    J, J_rate, gamma = parts.J, parts.J_rate, parts.gamma
    nv = J.shape[1]
    N, N_rate, start = np.zeros((nv, len(free))), np.zeros((nv, len(free))), np.zeros(nv)
    N[free, range(len(free))] = 1.0
    if held:
        J_D = J[np.ix_(rows, held)]
        N[held] = -np.linalg.solve(J_D, J[np.ix_(rows, free)])
        N_rate[held] = -np.linalg.solve(J_D, (J_rate @ N)[rows])
        start[held] = np.linalg.solve(J_D, gamma[rows])
    difference = J @ start - gamma
    if np.abs(difference).max(initial=0.0) > CONTRADICTION * max(1.0, float(np.abs(gamma).max(initial=0.0))):
        worst = system.row_names[int(np.argmax(np.abs(difference)))]
        raise ContradictoryConstraintsError(
            f'row {worst} depends on others and asks for an acceleration that differs from theirs by '
            f'{np.abs(difference).max():.3g}'
        )
    return N, N_rate, start


def _flat(outputs: Sequence[ca.SX]) -> ca.SX:
    """Return one vector: reading numbers from CasADi has a high cost per matrix and a low cost per entry."""
    return ca.vertcat(*(ca.vec(ca.densify(part)) for part in outputs))


def _parts(numbers: ca.DM, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    vector = np.array(numbers).ravel()
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    return [vector[a:b].reshape(shape, order='F') for a, b, shape in zip(ends[:-1], ends[1:], shapes)]


def _vector(name: str, values: ArrayLike, size: int) -> Array:
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (size,):
        raise ValueError(f'expected {name} of {size} numbers, found shape {vector.shape}')
    return vector
