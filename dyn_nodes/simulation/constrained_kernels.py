"""Compiled kernels of a system with constraints: blocks, guard, watches, discrete states, Jacobian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.compile.tape import Tape
from dyn_nodes.constraints import Blocks, ConstraintBlocks
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.multibody.stiff_states import stiff_kernel
from dyn_nodes.simulation.events import watched
from dyn_nodes.simulation.guards.checks import BOOKS, LEAST_GRAVITY
from dyn_nodes.simulation.names import index_of

RUN_STATES = ('time', *BOOKS)


class ConstraintKernels:
    """Named vectors and machine code of a tree with constraints and elements.

    Args:
        name: for display and for the cache.
        blocks: the traced system.
        actuated: velocities with an input each, of the same name, N or N m.
        unilateral: names of rows whose multiplier must not become negative, such as a wheel's normal force; a run
            stops before.
        common: parameters that come first, with the values of those that the system does not have. Time, states and
            inputs of elements are then no parameters; None: all parameters of the blocks are parameters.
        upright: cosine of the tilt, for the guard of runs; None: no guard.

    Attributes:
        input_names: of the actuated velocities, then of the elements.
        state_names: positions, velocities (`<name>_rate`), states of elements, time, s, work and heat, J.
    """

    def __init__(
        self,
        name: str,
        blocks: ConstraintBlocks,
        actuated: Sequence[str] = (),
        unilateral: Sequence[str] = (),
        common: Mapping[str, float] | None = None,
        upright: Expression | None = None,
    ) -> None:
        self.name, self.blocks, self.actuated, self.upright = name, blocks, tuple(actuated), upright
        self._common, tree, names = common, blocks.tree, blocks.parameters.names
        self.input_names = (*self.actuated, *blocks.inputs)
        velocities = [tree.velocity_index(name) for name in self.actuated]
        self._drives = np.array([*velocities, *[-1] * len(blocks.inputs)], dtype=np.int64)
        self._pressing = np.zeros(blocks.m, dtype=bool)
        self._pressing[[index_of(blocks.row_names, name) for name in unilateral]] = True
        if common is not None:
            taken = {*names[:1], *common, *blocks.parameters.states, *blocks.inputs}
            names = (*common, *(name for name in names if name not in taken))
        self.parameter_names = names
        rates = (f'{name}_rate' for name in tree.velocity_names)
        self.state_names = (*tree.position_names, *rates, *blocks.parameters.states, *RUN_STATES)

    @property
    def nq(self) -> int:
        """Number of positions."""
        return self.blocks.tree.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.blocks.tree.nv

    @property
    def driven_indices(self) -> NDArray[np.int64]:
        """Indices of the actuated velocities, whose inputs come first."""
        return self._drives[: len(self.actuated)]

    @property
    def element_slice(self) -> slice:
        """Slice of the elements' states in the state."""
        start = self.blocks.tree.nq + self.blocks.tree.nv
        return slice(start, start + len(self.blocks.parameters.states))

    @property
    def time_index(self) -> int:
        """Index of the time in the state."""
        return self.element_slice.stop

    @cached_property
    def element_indices(self) -> NDArray[np.intp]:
        """Indices of the elements' states among the parameters of the blocks."""
        return self.blocks.parameters.state_indices

    @cached_property
    def _shared(self) -> tuple[list[int], list[int]]:
        """Indices of the common parameters of the blocks and the system: in the blocks, and in the system."""
        index = {name: k for k, name in enumerate(self.parameter_names)}
        pairs = [(k, index[name]) for k, name in enumerate(self.blocks.parameters.names) if name in index]
        return [k for k, _ in pairs], [k for _, k in pairs]

    def state(self, q: ArrayLike, v: ArrayLike, p: Array) -> Array:
        """Return a state from positions and velocities; states of elements are their initial values, or in p."""
        theirs, ours = self._shared
        numbers = self.blocks.parameters.values()
        numbers[theirs] = p[ours]
        parts = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64), numbers[self.element_indices]
        return np.concatenate([*parts, [numbers[0], 0.0, 0.0]])

    @property
    def defaults(self) -> Array:
        """(n,) default parameters, from the blocks."""
        theirs, ours = self._shared
        p = np.array([(self._common or {}).get(name, 0.0) for name in self.parameter_names])
        p[ours] = self.blocks.parameters.values()[theirs]
        return p

    def numbers(self, p: Array, x: Array) -> Array:
        """Return the parameters of the blocks, including time and states of elements; inputs of elements are zero."""
        theirs, ours = self._shared
        numbers = np.zeros(len(self.blocks.parameters.names))
        numbers[theirs] = p[ours]
        numbers[0], numbers[self.element_indices] = x[self.time_index], x[self.element_slice]
        return numbers

    @cached_property
    def _symbols(self) -> tuple[Expression, Expression, Expression]:
        sizes = len(self.state_names), len(self.input_names), len(self.parameter_names)
        return ca.SX.sym('x', sizes[0]), ca.SX.sym('u', sizes[1]), ca.SX.sym('p', sizes[2])

    def _traced(self, expression: Expression, *further: Expression) -> Expression:
        """Return an expression of the blocks and further symbols in terms of x, u and p."""
        blocks, (x, u, p) = self.blocks, self._symbols
        nq, nv = blocks.tree.nq, blocks.tree.nv
        names, (theirs, ours) = list(blocks.parameters.names), self._shared
        numbers = ca.SX(len(names), 1)
        numbers[theirs] = p[ours]
        numbers[0] = x[self.time_index]
        numbers[self.element_indices.tolist()] = x[self.element_slice]
        for k, command in enumerate(blocks.inputs):
            numbers[names.index(command)] = u[len(self.actuated) + k]
        symbols = [blocks.q, blocks.v, blocks.parameters.vector, *further]
        traced = ca.Function('traced', symbols, [ca.densify(expression)])
        return traced(x[:nq], x[nq : nq + nv], numbers, *further)

    def _function(self, name: str, expression: Expression, of_state_alone: bool = False) -> ca.Function:
        """Return an expression of the blocks as a kernel of x, u and p, or of x alone."""
        x, u, p = self._symbols
        return ca.Function(name, [x] if of_state_alone else [x, u, p], [self._traced(expression)])

    @cached_property
    def module(self) -> CompiledModule:
        """Kernels of the blocks, the guard, the watches and the discrete states."""
        blocks, rows = self.blocks, self.blocks.rows
        output = [
            blocks.state.position_rate,
            ca.vec(blocks.mass_matrix),
            blocks.bias,
            ca.vec(rows.jacobian.T),
            rows.gamma,
            rows.sigma,
            rows.residual,
            ca.SX(blocks.dissipated_power),
            ca.SX(blocks.supplied_power),
            blocks.element_rates,
        ]
        functions = {'blocks': self._function('blocks', ca.vertcat(*output))}
        x, _, p = self._symbols
        functions['inspect'] = ca.Function('inspect', [x, p], [self._traced(self._inspected)])
        if self.upright is not None:
            functions['guard'] = self._function('guard', self.upright, of_state_alone=True)
        rates, states = self._traced(blocks.element_rates), self.element_slice
        stiff, stiff_indices = stiff_kernel(self._symbols, rates, blocks.element_states, states.start)
        functions |= stiff
        watches, watch = watched(blocks.surfaces)
        if watches:
            functions['watch'] = self._function('watch', watch)
        if blocks.discrete.any():
            functions['switch'] = self._switch
        return build_module(
            f'{self.name}: constrained',
            [Tape.from_function(function).digest for function in functions.values()],
            lambda: (functions, {'watches': watches, 'stiff': stiff_indices}),
        )

    @cached_property
    def _inspected(self) -> Expression:
        """(4,) kinetic and potential energy, J, weight, N, and the greatest gap of a constraint, m or rad."""
        blocks, state = self.blocks, self.blocks.state
        weight = state.mass * ca.fmax(ca.norm_2(blocks.parameters.gravity), LEAST_GRAVITY)
        gap, residual = ca.SX(0), ca.densify(blocks.rows.residual)
        for rows in blocks.slices.values():
            gap = ca.fmax(gap, ca.norm_2(residual[rows]))
        return ca.vertcat(state.kinetic_energy, blocks.potential_energy, weight, gap)

    @cached_property
    def implicit(self) -> CompiledModule:
        """Kernel for the derivatives of dx/dt (`constraints._rates.jacobian`)."""
        blocks, rows, (x, u, p) = self.blocks, self.blocks.rows, self._symbols
        nv, m = blocks.tree.nv, blocks.m
        # accelerations, multipliers and the two Baumgarte coefficients, which are independent of the state
        held = ca.SX.sym('held', nv + m + 2)
        efforts, gaps = blocks.residuals(held[:nv], held[nv : nv + m])
        slip = ca.mtimes(rows.jacobian, blocks.v) - rows.sigma
        gaps = gaps - held[nv + m] * slip - held[nv + m + 1] * ca.SX(blocks.holonomic.astype(float)) * rows.residual
        parts = [efforts, gaps, blocks.state.position_rate, blocks.element_rates]
        parts += [ca.SX(blocks.dissipated_power), ca.SX(blocks.supplied_power), rows.sigma]
        values = self._traced(ca.vertcat(*parts), held)
        driven = self.driven_indices.tolist()
        values[driven] += u[: len(driven)]
        by_state = ca.densify(ca.vec(ca.densify(ca.jacobian(values, ca.vertcat(x, u)))))
        function = ca.Function('changes', [x, u, p, held], [by_state])
        key = [Tape.from_function(function).digest]
        return build_module(f'{self.name}: constrained_implicit', key, lambda: ({'changes': function}, {}))

    @property
    def _switch(self) -> ca.Function:
        """Function: the state with updated discrete states."""
        x, u, p = self._symbols
        after = ca.SX(x)
        for name, value in self.blocks.switched.items():
            after[self.state_names.index(name)] = self._traced(value)
        return ca.Function('switch', [x, u, p], [ca.densify(after)])

    @cached_property
    def _moving(self) -> bool:
        """Whether a constraint has a prescribed motion, so that it does work."""
        return not ca.SX(self.blocks.rows.sigma).is_zero()

    def blocks_at(self, x: Array, u: Array, p: Array) -> Blocks:
        """Return the blocks at a state from the compiled kernel, faster than `ConstraintBlocks.at`.

        Args:
            x: (n,) state.
            u: (k,) inputs.
            p: (l,) parameters.

        Raises:
            LengthError: a vector of another length.
        """
        nq, nv, m, _, size = self._sizes
        out = np.empty(size)
        self.module.blocks(x, u, p, out)
        ends = np.cumsum([nq, nv * nv, nv, m * nv, m, m])
        _, M, h, J, gamma, sigma, rest = np.split(out, ends)
        return Blocks(M.reshape(nv, nv), h, J.reshape(m, nv), gamma, sigma, rest[:m])

    @property
    def _sizes(self) -> tuple[int, int, int, int, int]:
        """Numbers of positions, velocities, rows, states of elements, and outputs of the kernel of the blocks."""
        nq, nv, m, states = self.blocks.tree.nq, self.blocks.tree.nv, self.blocks.m, len(self.blocks.parameters.states)
        return nq, nv, m, states, nq + nv * nv + nv + m * nv + 3 * m + 2 + states
