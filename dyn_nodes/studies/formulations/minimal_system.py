"""Compiled constrained systems in minimal form: fast while the choice of independent motions is sound.

    system = MinimalSystem('platform', blocks, [q], actuated=('left_drive', 'right_drive'))
    a = system.accelerations(q, v, u)
    legs = MinimalSystem('platform', blocks, [q], independent=('leg_1', 'leg_2', 'leg_3'))
    forces = legs.inverse_dynamics(q, rates, accelerations)

`System.of_blocks` determines the rank in every stage and computes the multipliers; this class unrolls the elimination
and only checks that it stays sound. `minimal_run` simulates it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.compile.tape import Tape
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.elimination import Elimination, choose, traced_acceleration, traced_complement
from dyn_nodes.constraints.errors import MethodError


class MinimalSystem:
    """A constrained system with its elimination unrolled.

    Args:
        name: for messages and for the cache.
        blocks: the traced system.
        positions: (nq,) each, for which the choice of independent motions is made.
        actuated: velocities with an input of the same name each, N or N m.
        independent: velocities that determine all others, such as the leg velocities of a parallel machine; empty:
            chosen by pivoting.

    Raises:
        MethodError: no choice is valid at all positions, or the independent velocities do not determine the motion.
        KeyError: a velocity that the tree does not have.
        ValueError: an element with states, such as dry friction.
    """

    def __init__(
        self,
        name: str,
        blocks: ConstraintBlocks,
        positions: Sequence[ArrayLike],
        actuated: Sequence[str] = (),
        independent: Sequence[str] = (),
    ) -> None:
        if blocks.parameters.states:
            raise ValueError(f'{name}: expected elements without states, found {", ".join(blocks.parameters.states)}')
        self.name, self.blocks, self.actuated = name, blocks, tuple(actuated)
        wanted = [blocks.tree.velocity_index(joint) for joint in independent]
        self.elimination: Elimination = choose(blocks, positions, independent=wanted)
        independent_indices = self.elimination.independent
        if wanted and len(independent_indices) != len(wanted):
            left = ', '.join(blocks.tree.velocity_names[k] for k in independent_indices if k not in wanted)
            raise MethodError(f'{name}: {", ".join(independent)} do not determine the motion: {left} can still move')
        self._order = [independent_indices.index(index) for index in wanted or independent_indices]
        self._actuated_indices = [blocks.tree.velocity_index(joint) for joint in actuated]

    @cached_property
    def module(self) -> CompiledModule:
        """Machine code of the equations of motion."""
        blocks = self.blocks
        nq, nv = blocks.tree.nq, blocks.tree.nv
        x, u = ca.SX.sym('x', nq + nv + 1), ca.SX.sym('u', len(self.actuated))
        p = ca.SX.sym('p', len(blocks.parameters.names))
        tau = ca.SX(nv, 1)
        for k, index in enumerate(self._actuated_indices):
            tau[index] = u[k]
        a, sound = traced_acceleration(blocks, self.elimination, tau - blocks.bias)
        rate = ca.vertcat(blocks.state.position_rate, a, 1)
        symbols = [blocks.q, blocks.v, blocks.parameters.vector]
        expressions = [x[:nq], x[nq : nq + nv], ca.vertcat(x[nq + nv], p[1:])]
        # time is the last state: a motion of the ground may depend on it
        rate, sound = ca.substitute([rate, sound], symbols, expressions)
        defaults = ca.DM(blocks.parameters.values())
        functions = {
            'rhs': ca.Function('rhs', [x, u, p], [ca.densify(rate)]),
            'guard': ca.Function('guard', [x], [ca.densify(ca.substitute(sound, p, defaults))]),
        }
        key = [Tape.from_function(function).digest for function in functions.values()]
        return build_module(f'{self.name}: minimal', key, lambda: (functions, {}))

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of the velocities that determine all others, in the order of `inverse_dynamics`."""
        names = self.blocks.tree.velocity_names
        return tuple(names[self.elimination.independent[k]] for k in self._order)

    @cached_property
    def inverse_module(self) -> CompiledModule:
        """Machine code `inverse(q, rates, accelerations, p, efforts)` of the inverse dynamics.

        Raises MethodError if a constraint is a function of time.
        """
        blocks, n = self.blocks, len(self._order)
        for k, name in enumerate(blocks.row_names):
            if not blocks.rows.sigma[k].is_zero():
                raise MethodError(f'{self.name}: expected constraints at rest, found the row {name} that moves')
        sizes = (n, n, len(blocks.parameters.names))
        rates, accelerations, p = (ca.SX.sym('given', size) for size in sizes)
        N, particular, _ = traced_complement(blocks, self.elimination)
        N = N[:, self._order]
        left, _ = blocks.residuals(particular + ca.mtimes(N, accelerations), ca.SX(blocks.m, 1))
        symbols, expressions = [blocks.v, blocks.parameters.vector], [ca.mtimes(N, rates), p]
        efforts = ca.substitute([ca.mtimes(N.T, -left)], symbols, expressions)[0]
        function = ca.Function('inverse', [blocks.q, rates, accelerations, p], [ca.densify(efforts)])
        key = [Tape.from_function(function).digest]
        return build_module(f'{self.name}: inverse', key, lambda: ({'inverse': function}, {}))

    def state(self, q: ArrayLike, v: ArrayLike, time: float = 0.0) -> Array:
        """Return the state (nq + nv + 1,) of the compiled functions. Raises ValueError for other lengths."""
        nq, nv = self.blocks.tree.nq, self.blocks.tree.nv
        if np.shape(q) != (nq,) or np.shape(v) != (nv,):
            raise ValueError(
                f'{self.name}: expected {nq} positions and {nv} velocities, '
                f'found shapes {np.shape(q)} and {np.shape(v)}'
            )
        x = np.empty(nq + nv + 1)
        x[:nq], x[nq:-1], x[-1] = q, v, time
        return x

    def accelerations(self, q: ArrayLike, v: ArrayLike, u: ArrayLike, p: ArrayLike | None = None) -> Array:
        """Return the accelerations (nv,) for the efforts u of the actuated velocities."""
        rate = np.empty(self.blocks.tree.nq + self.blocks.tree.nv + 1)
        efforts = np.asarray(u, dtype=float)
        if efforts.shape != (len(self.actuated),):
            raise ValueError(f'{self.name}: expected {len(self.actuated)} efforts, found shape {efforts.shape}')
        self.module.rhs(self.state(q, v), efforts, self.blocks.numbers(p), rate)
        return rate[self.blocks.tree.nq : -1]

    def inverse_dynamics(
        self, q: ArrayLike, rates: ArrayLike, accelerations: ArrayLike, p: ArrayLike | None = None
    ) -> Array:
        """Return the efforts (n,) at the `independent` velocities for their rates and accelerations (n,).

        Args:
            q: (nq,) positions that meet the constraints.
            rates: of the independent velocities; all others are computed.
            accelerations: of the independent velocities.
            p: parameters; None: the defaults.

        Raises:
            ValueError: a vector of another length.
        """
        vectors = [np.array(part, dtype=np.float64) for part in (q, rates, accelerations)]
        n = len(self._order)
        if [vector.shape for vector in vectors] != [(self.blocks.tree.nq,), (n,), (n,)]:
            shapes = ', '.join(str(vector.shape) for vector in vectors)
            nq = self.blocks.tree.nq
            raise ValueError(f'{self.name}: expected {nq} positions, {n} rates and {n} accelerations, found {shapes}')
        efforts = np.empty(n)
        self.inverse_module.inverse(*vectors, self.blocks.numbers(p), efforts)
        return efforts

    def soundness(self, q: ArrayLike, v: ArrayLike) -> float:
        """Return the soundness of the elimination at a state; it is invalid below zero."""
        value = np.empty(1)
        self.module.guard(self.state(q, v), value)
        return float(value[0])
