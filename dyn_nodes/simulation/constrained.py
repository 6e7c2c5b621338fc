"""Systems with constraints, compiled: the whole step is machine code, factorization included.

    system = ConstrainedSystem('four_bar', blocks, actuated=('crank',))
    run = system.run(q, v, np.linspace(0, 2, 201), Inputs.constant({'crank': 4.0}), step=5e-3)
    run.force('grasp_1'), run.energy_balance

The constraints are kept by the exactness of the accelerations; drift is that of the integrator (fourth order in the
step). Baumgarte stabilization is an option. A rank that changes, a contact that would pull, dependent rows that
contradict each other end a run with a status: they are reported, not integrated over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes import integrators
from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.compile.tape import Tape
from dyn_nodes.constraints import Blocks, ConstraintBlocks, constrained_dynamics
from dyn_nodes.constraints._dense_loops import OPERATOR, REDUCED
from dyn_nodes.constraints.linear import RANK_TOLERANCE, Subspaces
from dyn_nodes.constraints.solve import definite
from dyn_nodes.multibody.spatial import Expression
from dyn_nodes.simulation.constrained_run import ConstrainedRun, index_of
from dyn_nodes.simulation.constrained_solver import Solver, StepMethod, reason
from dyn_nodes.simulation.events import Watched, Watcher, watch_surfaces
from dyn_nodes.simulation.march import March
from dyn_nodes.simulation.system import Settings
from dyn_nodes.simulation.trace import Inputs, inputs_beside, stretches

Array = NDArray[np.float64]
WORK_SCALE = 1e5
"""Usual size of work and heat, J."""
OWN_STATES = ('time', 'work', 'heat')


@dataclass(frozen=True)
class Stabilization:
    """Baumgarte's return to the constraints: damping ratio and frequency, 1/s (yesiloglu-2007, G3)."""

    zeta: float = 1.0
    omega: float = 10.0


@dataclass(eq=False)
class ConstrainedSystem:
    """A system of a tree, constraints and forces that runs in compiled steps.

    A state is [q, v, states of elements, time, work, heat]: s, and J since the start.

    Attributes:
        name: for people and for the cache.
        blocks: the traced system.
        actuated: velocities with an input each, of the same name, N or N m.
        input_names: of the actuated velocities, then those of the elements' inputs.
        unilateral: names of rows whose multiplier may not become negative, such as a wheel's normal force; a run
            stops where one would.
        common: parameters that come first, whether this system has them or not, with the values of those it has not.
            Time, states and inputs of elements are then no parameters; by default, all parameters of the blocks are.
        upright: cosine of the tilt that guards runs; None: nothing does.
    """

    name: str
    blocks: ConstraintBlocks
    actuated: Sequence[str] = ()
    unilateral: Sequence[str] = ()
    common: Mapping[str, float] | None = None
    upright: Expression | None = None
    _places: NDArray[np.int64] = field(init=False)
    _watched: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        tree = self.blocks.tree
        self.input_names = (*self.actuated, *self.blocks.inputs)
        velocities = [tree.velocity_index(name) for name in self.actuated]
        self._places = np.array([*velocities, *[-1] * len(self.blocks.inputs)], dtype=np.int64)
        self._watched = np.zeros(self.blocks.m, dtype=bool)
        self._watched[[index_of(self.blocks.row_names, name) for name in self.unilateral]] = True
        names = self.blocks.parameters.names
        if self.common is not None:
            taken = {*names[:1], *self.common, *self.blocks.parameters.states, *self.blocks.inputs}
            names = (*self.common, *(name for name in names if name not in taken))
        self.parameter_names: tuple[str, ...] = names
        rates = (f'{name}_rate' for name in tree.velocity_names)
        self.state_names = (*tree.position_names, *rates, *self.blocks.parameters.states, *OWN_STATES)

    @property
    def element_slice(self) -> slice:
        """Place of the elements' states in the state."""
        start = self.blocks.tree.nq + self.blocks.tree.nv
        return slice(start, start + len(self.blocks.parameters.states))

    @property
    def time_place(self) -> int:
        """Place of the time in the state."""
        return self.element_slice.stop

    @cached_property
    def element_places(self) -> NDArray[np.intp]:
        """Places of the elements' states among the parameters of the blocks."""
        return self.blocks.parameters.state_places

    @cached_property
    def _known(self) -> tuple[list[int], list[int]]:
        """Places of those parameters of the blocks that the system has too: in the blocks, and here."""
        own = {name: k for k, name in enumerate(self.parameter_names)}
        pairs = [(k, own[name]) for k, name in enumerate(self.blocks.parameters.names) if name in own]
        return [k for k, _ in pairs], [k for _, k in pairs]

    def state(self, q: ArrayLike, v: ArrayLike, numbers: ArrayLike | None = None) -> Array:
        """Return a state; time and states of elements are those among the numbers of the blocks."""
        given = np.asarray(self.blocks.numbers(None) if numbers is None else numbers, dtype=np.float64)
        parts = np.asarray(q, float), np.asarray(v, float), given[self.element_places]
        return np.concatenate([*parts, [given[0], 0.0, 0.0]])

    def parameters(self, values: Mapping[str, float] | None = None) -> Array:
        """Return the parameters (n,): the defaults of the blocks, changed by name. Raises KeyError."""
        theirs, ours = self._known
        p = np.array([(self.common or {}).get(name, 0.0) for name in self.parameter_names])
        p[ours] = self.blocks.parameters.values()[theirs]
        for name, value in (values or {}).items():
            p[index_of(self.parameter_names, name)] = value
        return p

    def numbers(self, p: Array, x: Array) -> Array:
        """Return the parameters of the blocks, time and states of elements included; their inputs are zero."""
        theirs, ours = self._known
        numbers = np.zeros(len(self.blocks.parameters.names))
        numbers[theirs] = p[ours]
        numbers[0], numbers[self.element_places] = x[self.time_place], x[self.element_slice]
        return numbers

    @cached_property
    def _symbols(self) -> tuple[Expression, Expression, Expression]:
        sizes = len(self.state_names), len(self.input_names), len(self.parameter_names)
        return ca.SX.sym('x', sizes[0]), ca.SX.sym('u', sizes[1]), ca.SX.sym('p', sizes[2])

    def _traced(self, expression: Expression, *further: Expression) -> Expression:
        """Return an expression of the blocks, and of further symbols, in x, u and p."""
        blocks, (x, u, p) = self.blocks, self._symbols
        nq, nv = blocks.tree.nq, blocks.tree.nv
        names, (theirs, ours) = list(blocks.parameters.names), self._known
        numbers = ca.SX(len(names), 1)
        numbers[theirs] = p[ours]
        numbers[0] = x[self.time_place]
        numbers[self.element_places.tolist()] = x[self.element_slice]
        for k, command in enumerate(blocks.inputs):
            numbers[names.index(command)] = u[len(self.actuated) + k]
        given = [blocks.q, blocks.v, blocks.parameters.vector, *further]
        traced = ca.Function('traced', given, [ca.densify(expression)])
        return traced(x[:nq], x[nq : nq + nv], numbers, *further)

    def _function(self, name: str, expression: Expression, of_state_alone: bool = False) -> ca.Function:
        """Return an expression of the blocks as a kernel of x, u and p, or of x alone."""
        x, u, p = self._symbols
        return ca.Function(name, [x] if of_state_alone else [x, u, p], [self._traced(expression)])

    @cached_property
    def module(self) -> CompiledModule:
        """Kernels of the blocks, and of what guards, watches and switches."""
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
        if self.upright is not None:
            functions['guard'] = self._function('guard', self.upright, of_state_alone=True)
        watched = Watched()
        watch_surfaces(watched, blocks.surfaces)
        if watched.watches:
            functions['watch'] = self._function('watch', watched.expression)
        if blocks.discrete.any():
            functions['switch'] = self._switch
        return build_module(
            f'{self.name}: constrained',
            [Tape.from_function(function).digest for function in functions.values()],
            lambda: (functions, {'watches': watched.watches}),
        )

    @cached_property
    def implicit(self) -> CompiledModule:
        """Kernel of what the derivatives of dx/dt are solved from (`constraints._rates.jacobian`)."""
        blocks, rows, (x, u, p) = self.blocks, self.blocks.rows, self._symbols
        nv, m = blocks.tree.nv, blocks.m
        # accelerations, multipliers, and Baumgarte's two coefficients, which do not change with the state
        held = ca.SX.sym('held', nv + m + 2)
        efforts, gaps = blocks.residuals(held[:nv], held[nv : nv + m])
        slip = ca.mtimes(rows.jacobian, blocks.v) - rows.sigma
        gaps = gaps - held[nv + m] * slip - held[nv + m + 1] * ca.SX(blocks.holonomic.astype(float)) * rows.residual
        parts = [efforts, gaps, blocks.state.position_rate, blocks.element_rates]
        parts += [ca.SX(blocks.dissipated_power), ca.SX(blocks.supplied_power), rows.sigma]
        values = self._traced(ca.vertcat(*parts), held)
        driven = self._places[: len(self.actuated)].tolist()
        values[driven] += u[: len(driven)]
        by_state = ca.densify(ca.vec(ca.densify(ca.jacobian(values, ca.vertcat(x, u)))))
        function = ca.Function('changes', [x, u, p, held], [by_state])
        key = [Tape.from_function(function).digest]
        return build_module(f'{self.name}: constrained_implicit', key, lambda: ({'changes': function}, {}))

    @property
    def _switch(self) -> ca.Function:
        """The state with its discrete states as after this instant."""
        x, u, p = self._symbols
        after = ca.SX(x)
        for name, value in self.blocks.switched.items():
            after[self.state_names.index(name)] = self._traced(value)
        return ca.Function('switch', [x, u, p], [ca.densify(after)])

    def watcher(self, x: Array, u: Array, p: Array, capacity: int) -> Watcher:
        """Return what keeps the events of runs that begin at a state."""
        watcher = Watcher(self.module.meta['watches'], capacity)
        if watcher.watches:
            values = np.empty(2 * len(watcher.watches))
            self.module.watch(x, u, p, values)
            watcher.begin(values)
        return watcher

    def blocks_at(self, x: Array, u: Array, p: Array) -> Blocks:
        """Return the blocks at a state from the compiled kernel: `ConstraintBlocks.at` for use in a loop.

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
        """Numbers of positions, velocities, rows, states of elements, and of what the kernel of the blocks writes."""
        nq, nv, m, own = self.blocks.tree.nq, self.blocks.tree.nv, self.blocks.m, len(self.blocks.parameters.states)
        return nq, nv, m, own, nq + nv * nv + nv + m * nv + 3 * m + 2 + own

    def solver(
        self,
        start: Blocks,
        method: StepMethod = 'auto',
        stabilization: Stabilization | None = None,
        tolerance: float = RANK_TOLERANCE,
        implicit: bool = False,
    ) -> Solver:
        """Return how the constraints are solved in runs from a start, whose rank is the one expected.

        With `implicit` the solver has the Jacobian of dx/dt, whose kernel may have to be compiled.

        Raises:
            ValueError: method `operator` for dependent rows or a singular mass matrix.
        """
        rank = Subspaces(start.J, tolerance).rank
        fits = rank == self.blocks.m and definite(start.M)
        if method == 'operator' and not fits:
            raise ValueError(
                f'{self.name}: method operator expects a regular mass matrix and {self.blocks.m} independent rows, '
                f'found rank {rank}'
            )
        chosen = OPERATOR if method == 'operator' or (method == 'auto' and fits) else REDUCED
        zeta, omega = (0.0, 0.0) if stabilization is None else (stabilization.zeta, stabilization.omega)
        marks = self._places, self.blocks.holonomic, self._watched
        settings = tolerance, zeta, omega
        derivatives = self.implicit if implicit else None
        return Solver(self.module, self._sizes, marks, self._moving, rank, chosen, settings, derivatives)

    def jacobians(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Return the exact partial derivatives of dx/dt by x (n, n) and by u (n, k), without stabilization."""
        return self.solver(self.blocks_at(x, u, p), implicit=True).jacobians(x, u, p)

    @cached_property
    def _moving(self) -> bool:
        """Whether a constraint moves by itself, so that it does work."""
        return not ca.SX(self.blocks.rows.sigma).is_zero()

    @cached_property
    def _monitor(self) -> ca.Function:
        blocks, rows = self.blocks, self.blocks.rows
        momentum = blocks.state.momentum
        about_origin = momentum.n + ca.cross(blocks.state.center_of_mass, momentum.f)
        slip = ca.mtimes(rows.jacobian, blocks.v) - rows.sigma
        outputs = [
            blocks.state.kinetic_energy,
            blocks.potential_energy,
            ca.vertcat(about_origin, momentum.f),
            rows.residual,
            slip,
        ]
        return ca.Function('monitor', [blocks.q, blocks.v, blocks.parameters.vector], outputs)

    def monitor(self, times: Array, q: Array, v: Array, p: Array, z: Array | None = None) -> dict[str, Array]:
        """Return energies, momentum, residual and slip at sampled states, (t, ...) each.

        Args:
            times: (t,) s.
            q: (t, nq) positions.
            v: (t, nv) velocities.
            p: (n,) parameters.
            z: (t, nz) states of the elements; None: those among the parameters.
        """
        numbers = np.repeat(p[:, None], len(times), axis=1)
        numbers[0] = times
        if z is not None:
            numbers[self.element_places] = z.T
        results = self._monitor(q.T, v.T, numbers)
        names = ('kinetic', 'potential', 'momentum', 'residual', 'slip')
        return {name: np.array(part).T.reshape(len(times), -1) for name, part in zip(names, results)}

    def run(
        self,
        q: ArrayLike,
        v: ArrayLike,
        times: ArrayLike,
        inputs: Inputs | None = None,
        p: ArrayLike | Mapping[str, float] | None = None,
        step: float = 5e-3,
        method: StepMethod = 'auto',
        stabilization: Stabilization | None = None,
        tolerance: float = RANK_TOLERANCE,
        settings: Settings | None = None,
    ) -> ConstrainedRun:
        """Simulate from q, v at times[0] through `times`.

        A step ends exactly at every sample and at every knot of the inputs, where the limits of both sides count
        (yesiloglu-2007, G4); in between, steps of rk4 are equal and at most `step` long.

        Args:
            q: (nq,) position that meets the constraints (see `assemble`).
            v: (nv,) velocity that meets them (see `projected_velocity`).
            times: (t,) rising sample times, s.
            inputs: efforts by name of the actuated velocities, commands by that of the input; None: zero.
            p: parameters, or those that differ from their default by name.
            step: of rk4, s.
            method: `operator` (independent rows, regular mass matrix), `reduced`, or the first that applies.
            stabilization: None: off.
            tolerance: relative, of the rank; a larger one, such as 1e-2, ends the run at some distance from a position
                in which rows depend on each other.
            settings: of the integrator; None: rk4 with `step`. Nothing is watched, and overturning does not end a run.

        Raises:
            ValueError: vectors of another length, times that do not rise, a step that is not above zero, an adaptive
                method with discrete states.
            KeyError: an input that the system does not have.
        """
        stops = np.ascontiguousarray(times, dtype=np.float64)
        if stops.ndim != 1 or len(stops) == 0 or not np.all(np.diff(stops) > 0):
            raise ValueError('expected at least one time, and rising times')
        settings = settings or Settings(step=step)
        if not settings.step > 0:
            raise ValueError(f'expected a step above zero, found {settings.step:g} s')
        if self.blocks.discrete.any() and settings.method != 'rk4':
            raise ValueError(f'{self.name}: expected method rk4 with discrete states, found {settings.method}')
        given = self._given(p)
        numbers = self._starting_numbers(given, stops[0])
        x = self.state(q, v, numbers)
        implicit = settings.method == 'rodas3'
        solver = self.solver(self.blocks.at(q, v, numbers), method, stabilization, tolerance, implicit)
        knots, table = (inputs or Inputs.constant()).aligned(self.input_names)
        march = March(solver.codes, given, self.time_place, settings, self._scales)
        trace, kept, status = np.full((len(stops), len(x)), np.nan), 1, integrators.DONE
        trace[0] = x
        for since, until, own_knots, own_table in stretches(knots, table, stops[0], stops[-1]):
            inside = stops[(stops > since) & (stops < until)]
            ends = np.array([*inside, until])
            states, status = march.through(x, since, ends, own_knots, own_table)
            sampled = states[np.isin(ends[: len(states)], stops[1:])]
            trace[kept : kept + len(sampled)] = sampled
            kept += len(sampled)
            if status != integrators.DONE:
                break
        ended = self.reason(status, solver.rank) if status < 0 else (integrators.STATUS[status], '')
        u = inputs_beside(knots, table, stops)
        a, multipliers = solver.solutions(trace[:kept], u[:kept], given)
        nq, nv, states = self.blocks.tree.nq, self.blocks.tree.nv, trace[:kept]
        return ConstrainedRun(
            self,
            stops[:kept],
            states[:, :nq],
            states[:, nq : nq + nv],
            a,
            multipliers,
            states[:, -2],
            states[:, -1],
            numbers,
            ended[0],
            float(stops[-1]) if status == integrators.DONE else march.time,
            ended[1],
            states[:, self.element_slice],
            march.counts,
        )

    @property
    def _scales(self) -> Array:
        """(n,) usual sizes of the states."""
        scales = np.ones(len(self.state_names))
        scales[self.element_slice] = [own.scale for own in self.blocks.element_states]
        scales[-2:] = WORK_SCALE
        return scales

    def reason(self, status: int, rank: int) -> tuple[str, str]:
        """Return the kind of a status without dx/dt, and more to say about it or ''; `rank` is the expected one."""
        return reason(status, rank, self.blocks.row_names)

    def _starting_numbers(self, p: Array, time: float) -> Array:
        """Return the parameters of the blocks at the start of a run; states of elements are their defaults or given."""
        theirs, ours = self._known
        numbers = self.blocks.parameters.values()
        numbers[theirs] = p[ours]
        numbers[0] = time
        return numbers

    def _given(self, p: ArrayLike | Mapping[str, float] | None) -> Array:
        if p is None or isinstance(p, Mapping):
            return self.parameters(p)
        given = np.array(p, dtype=np.float64)
        if given.shape != (len(self.parameter_names),):
            raise ValueError(f'expected p of {len(self.parameter_names)} numbers, found shape {given.shape}')
        return given

    def solution(self, run: ConstrainedRun, index: int, tau: ArrayLike) -> Any:
        """Return `constrained_dynamics` at a sample of a run, for checks against the compiled step."""
        p = run.p.copy()
        p[0] = run.times[index]
        return constrained_dynamics(self.blocks, run.q[index], run.v[index], tau, p)
