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
from typing import Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.compile.tape import Tape
from dyn_nodes.constraints import Blocks, ConstraintBlocks, _run_loops, constrained_dynamics
from dyn_nodes.constraints._dense_loops import OPERATOR, REDUCED
from dyn_nodes.constraints.linear import RANK_TOLERANCE, Subspaces
from dyn_nodes.constraints.solve import definite
from dyn_nodes.loops import guarded
from dyn_nodes.multibody.elements import Watch
from dyn_nodes.simulation.constrained_run import ConstrainedRun, index_of
from dyn_nodes.simulation.events import Watched, watch_surfaces
from dyn_nodes.simulation.trace import Inputs

Array = NDArray[np.float64]
StepMethod = Literal['auto', 'operator', 'reduced']
ENTRY = """
from numba import carray, cfunc


@cfunc(types.intp(types.voidptr, types.intp, types.voidptr, types.intp, types.voidptr, types.intp), cache=True)
def blocks_entry(x, states, p, parameters, out, size):
    if states != {n} or parameters != {m} or size != {size}:
        return 1
{call}
    return 0
"""
CALL = '    blocks_at(carray(x, {n}, np.float64), carray(p, {m}, np.float64), carray(out, {size}, np.float64))'
# an exception does not leave a callback: the guard zones' is handed on as a number
GUARDED_CALL = f"""    try:
    {CALL}
    except Exception:
        return 2"""


def _entry_text(states: int, parameters: int, size: int) -> str:
    """Return the text of the callback of a system's kernel; it returns 0, 1 for a wrong length, 2 for a guard zone."""
    sizes = {'n': states, 'm': parameters, 'size': size}
    return ENTRY.format(call=(GUARDED_CALL if guarded() else CALL).format(**sizes), **sizes)


@dataclass(frozen=True)
class Stabilization:
    """Baumgarte's return to the constraints: damping ratio and frequency, 1/s (yesiloglu-2007, G3)."""

    zeta: float = 1.0
    omega: float = 10.0


@dataclass(eq=False)
class ConstrainedSystem:
    """A system of a tree, constraints and forces that runs in compiled steps.

    Attributes:
        name: for people and for the cache.
        blocks: the traced system.
        actuated: velocities with an input each, of the same name, N or N m.
        input_names: of the actuated velocities, then those of the elements' inputs.
        unilateral: names of rows whose multiplier may not become negative, such as a wheel's normal force; a run
            stops where one would.
    """

    name: str
    blocks: ConstraintBlocks
    actuated: Sequence[str] = ()
    unilateral: Sequence[str] = ()
    _places: NDArray[np.int64] = field(init=False)
    _watched: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        tree, names = self.blocks.tree, self.blocks.parameters.names
        self.input_names = (*self.actuated, *self.blocks.inputs)
        self.command_places = np.array([names.index(name) for name in self.blocks.inputs], dtype=np.int64)
        velocities = np.array([tree.velocity_index(name) for name in self.actuated], dtype=np.int64)
        self._places = np.concatenate([velocities, -1 - self.command_places])
        self._watched = np.array([index_of(self.blocks.row_names, name) for name in self.unilateral], dtype=np.int64)

    @property
    def element_slice(self) -> slice:
        """Place of the elements' states in the state [q, v, z, work, heat]."""
        start = self.blocks.tree.nq + self.blocks.tree.nv
        return slice(start, start + len(self.blocks.parameters.states))

    @cached_property
    def element_places(self) -> NDArray[np.intp]:
        """Places of the elements' states among the parameters."""
        return self.blocks.parameters.state_places

    @property
    def size(self) -> int:
        """Length of the state [q, v, z, work, heat]."""
        return self.element_slice.stop + 2

    def state(self, q: ArrayLike, v: ArrayLike, p: ArrayLike) -> Array:
        """Return the state at positions and velocities; the elements' states are those among the parameters p."""
        own = np.asarray(p, dtype=np.float64)[self.element_places]
        return np.concatenate([np.asarray(q, float), np.asarray(v, float), own, [0.0, 0.0]])

    @cached_property
    def module(self) -> CompiledModule:
        """Machine code of the step."""
        blocks, rows = self.blocks, self.blocks.rows
        output = ca.vertcat(
            blocks.state.position_rate,
            ca.vec(blocks.mass_matrix),
            blocks.bias,
            ca.vec(rows.jacobian.T),
            rows.gamma,
            rows.sigma,
            rows.residual,
            ca.SX(blocks.dissipated_power),
            ca.SX(blocks.supplied_power),
            blocks.element_changes,
        )
        parts = ca.Function('parts', [blocks.q, blocks.v, blocks.parameters.vector], [ca.densify(output)])
        nq, nv = blocks.tree.nq, blocks.tree.nv
        x, p = ca.SX.sym('x', self.size), ca.SX.sym('p', len(blocks.parameters.names))
        numbers = ca.SX(p)
        numbers[self.element_places.tolist()] = x[self.element_slice]
        given = [x[:nq], x[nq : nq + nv], numbers]
        functions = {'blocks': ca.Function('blocks', [x, p], [parts(*given)])}
        if blocks.surfaces:
            watched = Watched()
            watch_surfaces(watched, blocks.surfaces)
            known = [blocks.q, blocks.v, blocks.parameters.vector]
            functions['watch'] = ca.Function('watch', [x, p], [ca.substitute([watched.expression], known, given)[0]])
        return build_module(
            f'{self.name}: constrained',
            [Tape.from_function(function).digest for function in functions.values()],
            lambda: (functions, {}),
            drivers=[_entry_text(x.numel(), p.numel(), output.numel())],
        )

    @property
    def watches(self) -> tuple[Watch, ...]:
        """Those of the elements, in the order of `watched`."""
        return tuple(surface.watch for surface in self.blocks.surfaces)

    def watched(self, x: Array, p: Array) -> Array:
        """Return (2 n,) the values of the watches at a state, then the numbers that are reported with their events."""
        values = np.empty(2 * len(self.watches))
        if len(values):
            self.module.watch(np.ascontiguousarray(x), np.ascontiguousarray(p), values)
        return values

    def blocks_at(self, q: Array, v: Array, p: Array) -> Blocks:
        """Return the blocks at a state from the compiled kernel: `ConstraintBlocks.at` for use in a loop.

        Args:
            q: (nq,) positions.
            v: (nv,) velocities.
            p: (n,) all parameters.

        Raises:
            ValueError: a vector of another length.
        """
        nq, nv, m = self.blocks.tree.nq, self.blocks.tree.nv, self.blocks.m
        sizes = (nq, nv, len(self.blocks.parameters.names))
        if tuple(len(part) for part in (q, v, p)) != sizes:
            raise ValueError(f'expected {sizes} positions, velocities and parameters')
        out = np.empty(self._numbers)
        self.module.blocks(self.state(q, v, p), np.ascontiguousarray(p), out)
        ends = np.cumsum([nq, nv * nv, nv, m * nv, m, m])
        _, M, h, J, gamma, sigma, rest = np.split(out, ends)
        return Blocks(M.reshape(nv, nv), h, J.reshape(m, nv), gamma, sigma, rest[:m])

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
    ) -> ConstrainedRun:
        """Simulate from q, v at times[0] through `times` by classical Runge-Kutta steps.

        A step ends exactly at every sample and at every knot of the inputs, where the limits of both sides count
        (yesiloglu-2007, G4); in between steps are equal and at most `step` long.

        Args:
            q: (nq,) position that meets the constraints (see `assemble`).
            v: (nv,) velocity that meets them (see `projected_velocity`).
            times: (t,) rising sample times, s.
            inputs: efforts by name of the actuated velocities, commands by that of the input; None: zero.
            p: parameters, see `ConstraintBlocks.numbers`.
            step: s.
            method: `operator` (independent rows, regular mass matrix), `reduced`, or the first that applies.
            stabilization: None: off.
            tolerance: relative, of the rank; a larger one, such as 1e-2, ends the run at some distance from a position
                in which rows depend on each other.

        Raises:
            ValueError: vectors of another length, times that do not rise, a step that is not above zero.
            KeyError: an input that the system does not have.
        """
        stops = np.ascontiguousarray(times, dtype=np.float64)
        if stops.ndim != 1 or len(stops) == 0 or not np.all(np.diff(stops) > 0):
            raise ValueError('expected at least one time, and rising times')
        if not step > 0:
            raise ValueError(f'expected a step above zero, found {step:g} s')
        numbers = np.array(self.blocks.numbers(p))
        numbers[0] = stops[0]
        start = self.blocks.at(q, v, numbers)
        x = self.state(q, v, numbers)
        rank, chosen = self.plan(start, method, tolerance)
        edges, starts, ends = _segments(inputs or Inputs.constant(), self.input_names, stops)
        grid = np.union1d(stops, edges[(edges > stops[0]) & (edges < stops[-1])])
        sample = np.where(np.isin(grid, stops), np.searchsorted(stops, grid), -1)
        trace = np.full((len(stops), len(x)), np.nan)
        a, forces = np.full((len(stops), self.blocks.tree.nv), np.nan), np.full((len(stops), self.blocks.m), np.nan)
        zeta, omega = (0.0, 0.0) if stabilization is None else (stabilization.zeta, stabilization.omega)
        nq, nv = self.blocks.tree.nq, self.blocks.tree.nv
        how = np.array([tolerance, zeta, omega])
        status, kept, end, found = self.call(
            x, numbers, grid, sample.astype(np.int64), step, edges, starts, ends, how, chosen, rank, trace, a, forces
        )
        trace = trace[:kept]
        return ConstrainedRun(
            self,
            stops[:kept],
            trace[:, :nq],
            trace[:, nq : nq + nv],
            a[:kept],
            forces[:kept],
            trace[:, -2],
            trace[:, -1],
            numbers,
            _run_loops.STATUS[status],
            float(end),
            self.detail(int(status), int(found), rank),
            trace[:, self.element_slice],
        )

    def call(
        self,
        x: Array,
        p: Array,
        stops: Array,
        sample: NDArray[np.int64],
        step: float,
        edges: Array,
        starts: Array,
        ends: Array,
        how: Array,
        method: int,
        rank: int,
        trace: Array,
        accelerations: Array,
        forces: Array,
    ) -> tuple[int, int, float, int]:
        """Call the compiled run (`constraints._run_loops.run`) with this system's own part of its arguments."""
        return _run_loops.run(
            self.module.blocks_entry.ctypes,
            x,
            p,
            stops,
            sample,
            float(step),
            edges,
            starts,
            ends,
            self._places,
            self.blocks.holonomic,
            self.blocks.discrete,
            self._moving,
            self._watched,
            how,
            method,
            rank,
            self._numbers,
            trace,
            accelerations,
            forces,
        )

    def slope(self, x: Array, time: float, u: Array, p: Array, how: Array, method: int, rate: Array) -> int:
        """Write dx/dt of a state to `rate`; return the rank or an error's number, as `call` finds it in a step."""
        a, multipliers = np.empty(self.blocks.tree.nv), np.zeros(self.blocks.m)
        return int(
            _run_loops.slope(
                self.module.blocks_entry.ctypes,
                time,
                x,
                u,
                p,
                np.empty(self._numbers),
                self._places,
                self.blocks.holonomic,
                self.blocks.discrete,
                self._moving,
                False,
                how,
                method,
                rate,
                a,
                multipliers,
            )
        )

    @property
    def _numbers(self) -> int:
        """Length of what the kernel writes."""
        nq, nv, m = self.blocks.tree.nq, self.blocks.tree.nv, self.blocks.m
        return nq + nv * nv + nv + m * nv + 3 * m + 2 + len(self.element_places)

    @cached_property
    def _moving(self) -> bool:
        """Whether a constraint moves by itself, so that it does work."""
        return not ca.SX(self.blocks.rows.sigma).is_zero()

    def plan(self, start: Blocks, method: StepMethod, tolerance: float) -> tuple[int, int]:
        """Return the rank at a start and the number of the method for `call`. Raises ValueError as `run` does."""
        rank = Subspaces(start.J, tolerance).rank
        fits = rank == self.blocks.m and definite(start.M)
        if method == 'operator' and not fits:
            raise ValueError(
                f'{self.name}: method operator expects a regular mass matrix and {self.blocks.m} independent rows, '
                f'found rank {rank}'
            )
        return rank, OPERATOR if method == 'operator' or (method == 'auto' and fits) else REDUCED

    def detail(self, status: int, found: int, rank: int) -> str:
        """Return what is to be said of a status of `call`: the rank, the contact; or ''."""
        if status == _run_loops.RANK_CHANGED:
            return f'the rank of the constraints went from {rank} to {found}: motion beyond this point is not continued'
        if status == _run_loops.LIFTED:
            return f'{self.blocks.row_names[found]} would pull'
        return ''

    def solution(self, run: ConstrainedRun, index: int, tau: ArrayLike) -> Any:
        """Return `constrained_dynamics` at a sample of a run, for checks against the compiled step."""
        p = run.p.copy()
        p[0] = run.times[index]
        return constrained_dynamics(self.blocks, run.q[index], run.v[index], tau, p)


def _segments(inputs: Inputs, names: tuple[str, ...], stops: Array) -> tuple[Array, Array, Array]:
    """Edges (k + 1,), and values (k, n) at the start and the end of every segment; a jump has no segment."""
    knots, table = inputs.aligned(names)
    before, after = min(knots[0], stops[0]) - 1.0, max(knots[-1], stops[-1]) + 1.0
    knots = np.concatenate([[before], knots, [after]])
    table = np.vstack([table[:1], table, table[-1:]])
    real = np.flatnonzero(np.diff(knots) > 0)
    edges = np.append(knots[real], knots[-1])
    return edges, np.ascontiguousarray(table[real]), np.ascontiguousarray(table[real + 1])
