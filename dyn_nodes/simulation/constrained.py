"""Systems with constraints, compiled: the whole step is machine code, factorization included.

    system = ConstrainedSystem('four_bar', blocks, actuated=('crank',))
    run = system.run(q, v, np.linspace(0, 2, 201), Inputs.constant({'crank': 4.0}), step=5e-3)
    run.force('grasp_1'), run.energy_balance

The constraints are kept by the exactness of the accelerations; drift is that of the integrator (fourth order in the
step). Baumgarte stabilization is an option. A rank that changes, a contact that would pull, dependent rows that
contradict each other end a run with a status: they are reported, not integrated over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes import integrators
from dyn_nodes.constraints import Blocks
from dyn_nodes.constraints._dense_loops import OPERATOR, REDUCED
from dyn_nodes.constraints.linear import RANK_TOLERANCE, Subspaces
from dyn_nodes.constraints.solve import definite
from dyn_nodes.simulation.constrained_kernels import ConstraintKernels
from dyn_nodes.simulation.constrained_run import ConstrainedRun
from dyn_nodes.simulation.constrained_solver import Solver, StepMethod, reason
from dyn_nodes.simulation.events import Watcher
from dyn_nodes.simulation.march import March
from dyn_nodes.simulation.system import MOST_EVENTS, Settings
from dyn_nodes.simulation.trace import Inputs, inputs_beside, stretches

Array = NDArray[np.float64]
NO_GUARD = -2.0
WORK_SCALE = 1e5
"""Usual size of work and heat, J."""


@dataclass(frozen=True)
class Stabilization:
    """Baumgarte's return to the constraints: damping ratio and frequency, 1/s (yesiloglu-2007, G3)."""

    zeta: float = 1.0
    omega: float = 10.0


class ConstrainedSystem(ConstraintKernels):
    """A system of a tree, constraints and forces that runs in compiled steps.

    A state is [q, v, states of elements, time, work, heat]: s, and J since the start.

    Attributes:
        delays: dead time of each input (n,), s; None: there is none.
    """

    delays: Array | None = None

    def watcher(self, x: Array, u: Array, p: Array, capacity: int) -> Watcher:
        """Return what keeps the events of runs that begin at a state."""
        return Watcher.at(self.module, x, u, p, capacity)

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
        marks = self._drives, self.blocks.holonomic, self._pressing
        settings = tolerance, zeta, omega
        key = (rank, chosen, *settings, implicit)
        if key not in self._solvers:  # it has no state, and takes some milliseconds to make
            derivatives = self.implicit if implicit else None
            self._solvers[key] = Solver(
                self.module, self._sizes, marks, self._moving, rank, chosen, settings, derivatives
            )
        return self._solvers[key]

    @cached_property
    def _solvers(self) -> dict[tuple[float, ...], Solver]:
        return {}

    def rhs(self, x: Array, u: Array, p: Array) -> Array:
        """Return dx/dt (n,) at a state, without stabilization; NaN where there is none."""
        self.check(x, u, p)
        return self.solver(self.blocks_at(x, u, p)).rates(x, u, p)

    def jacobians(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Return the exact partial derivatives of dx/dt by x (n, n) and by u (n, k), without stabilization."""
        self.check(x, u, p)
        return self.solver(self.blocks_at(x, u, p), implicit=True).jacobians(x, u, p)

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

    def monitor(self, states: Array, p: Array) -> dict[str, Array]:
        """Return energies, momentum, residual and slip at states (t, n) under parameters (k,): (t, ...) each."""
        numbers = np.array([self.numbers(p, x) for x in states]).T
        results = self._monitor(states[:, : self.nq].T, states[:, self.nq : self.nq + self.nv].T, numbers)
        names = ('kinetic', 'potential', 'momentum', 'residual', 'slip')
        return {name: np.array(part).T.reshape(len(states), -1) for name, part in zip(names, results)}

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
            settings: of the integrator; None: rk4 with `step`.

        Raises:
            ValueError: vectors of another length, times that do not rise, a step that is not above zero, an adaptive
                method with discrete states.
            KeyError: an input that the system does not have.
        """
        settings = settings or Settings(step=step)
        stops = self._checked(times, settings)
        given = self.given_parameters(p)
        numbers = self.starting_numbers(given, stops[0])
        x = self.state(q, v, numbers)
        implicit = settings.method == 'rodas3'
        solver = self.solver(self.blocks.at(q, v, numbers), method, stabilization, tolerance, implicit)
        inputs = inputs or Inputs.constant()
        knots, table = inputs.aligned(self.input_names, self.delays)
        watcher = self.watcher(x, table[0], given, MOST_EVENTS) if settings.watch else None
        scales = np.array([self.scales.get(name, 1.0) for name in self.state_names])
        march = March(solver.codes, given, self.time_place, settings, scales, self.guard_limit(settings), watcher)
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
        end = float(stops[-1]) if status == integrators.DONE else march.time
        run = ConstrainedRun(
            self, stops[:kept], trace[:kept], inputs, given, ended[0], x, end, march.counts, march.events
        )
        run.a, run.multipliers, run.detail = a, multipliers, ended[1]
        return run

    def _checked(self, times: ArrayLike, settings: Settings) -> Array:
        """Return the times of a run. Raises ValueError for some that do not rise, or settings that do not fit."""
        stops = np.ascontiguousarray(times, dtype=np.float64)
        if stops.ndim != 1 or len(stops) == 0 or not np.all(np.diff(stops) > 0):
            raise ValueError('expected at least one time, and rising times')
        if not settings.step > 0:
            raise ValueError(f'expected a step above zero, found {settings.step:g} s')
        if settings.watch and settings.method != 'rk4':
            raise ValueError(f'{self.name}: expected method rk4 to watch for events, found {settings.method}')
        if self.blocks.discrete.any() and settings.method != 'rk4':
            raise ValueError(f'{self.name}: expected method rk4 with discrete states, found {settings.method}')
        return stops

    def guard_limit(self, settings: Settings) -> float:
        """Return what the guard has to stay above in a run."""
        return NO_GUARD

    @property
    def scales(self) -> dict[str, float]:
        """Usual sizes of states by name, where they are not 1."""
        return {own.name: own.scale for own in self.blocks.element_states} | dict.fromkeys(('work', 'heat'), WORK_SCALE)

    def reason(self, status: int, rank: int) -> tuple[str, str]:
        """Return the kind of a status without dx/dt, and more to say about it or ''; `rank` is the expected one."""
        return reason(status, rank, self.blocks.row_names)
