"""Systems with constraints, compiled: the whole step is machine code, factorization included.

    system = ConstrainedSystem('four_bar', blocks, actuated=('crank',))
    run = system.run(system.state(q, v), np.linspace(0, 2, 201), Inputs.constant({'crank': 4.0}))
    run.force('grasp_1'), run.energy_balance

The constraints are kept by the exactness of the accelerations; drift is that of the integrator (fourth order in the
step). Baumgarte stabilization is an option. A rank that changes, a contact that would pull, dependent rows that
contradict each other end a run with a status: they are reported, not integrated over.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.constraints import Blocks
from dyn_nodes.constraints._dense_loops import OPERATOR, REDUCED
from dyn_nodes.constraints.linear import RANK_TOLERANCE, Subspaces
from dyn_nodes.constraints.solve import definite
from dyn_nodes.simulation.constrained_kernels import ConstraintKernels
from dyn_nodes.simulation.constrained_solver import Solver
from dyn_nodes.simulation.events import Watcher
from dyn_nodes.simulation.march import NO_GUARD, run_system
from dyn_nodes.simulation.run import Run
from dyn_nodes.simulation.settings import Settings, Stabilization, StepMethod
from dyn_nodes.simulation.trace import Inputs

Array = NDArray[np.float64]
WORK_SCALE = 1e5
"""Usual size of work and heat, J."""


class ConstrainedSystem(ConstraintKernels):
    """A system of a tree, constraints and forces that runs in compiled steps.

    A state is [q, v, states of elements, time, work, heat]: s, and J since the start.

    Attributes:
        delays: dead time of each input (n,), s; None: there is none.
    """

    delays: Array | None = None
    machine: Any = None
    """The part of a machine that a balance reads; None: the blocks are no machine's."""

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
                self.module,
                self._sizes,
                marks,
                self._moving,
                self.blocks.row_names,
                rank,
                chosen,
                settings,
                derivatives,
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

    def conditions(self, states: Array, u: Array, p: Array) -> Array:
        """Return the condition number (t,) of the independent rows at states (t, n) under inputs (t, k)."""
        return np.array([Subspaces(self.blocks_at(x, own, p).J).condition for x, own in zip(states, u)])

    def solver_from(self, x: Array, u: Array, p: Array, settings: Settings) -> Solver:
        """Return how the constraints are solved in runs from a state."""
        tolerance = RANK_TOLERANCE if settings.rank_tolerance is None else settings.rank_tolerance
        implicit = settings.method == 'rodas3'
        return self.solver(self.blocks_at(x, u, p), settings.solve, settings.stabilization, tolerance, implicit)

    def run(
        self,
        x0: ArrayLike,
        times: ArrayLike,
        inputs: Inputs | None = None,
        p: ArrayLike | Mapping[str, float] | None = None,
        settings: Settings | None = None,
    ) -> Run:
        """Simulate from a state, such as one of `state`, at times[0] through `times`. See `System.run`.

        Raises:
            ValueError: as there; method `operator` for dependent rows or a singular mass matrix.
        """
        return run_system(self, x0, times, inputs, p, settings)

    @property
    def switches(self) -> bool:
        """There are discrete states."""
        return bool(self.blocks.discrete.any())

    def guard_limit(self, settings: Settings) -> float:
        """Return what the guard has to stay above in a run."""
        return NO_GUARD

    @property
    def scales(self) -> dict[str, float]:
        """Usual sizes of states by name, where they are not 1."""
        return {own.name: own.scale for own in self.blocks.element_states} | dict.fromkeys(('work', 'heat'), WORK_SCALE)
