"""Sampled runs: states and outputs by name, energy balance, forces and drift of constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile.integrators.inputs import Inputs
from dyn_nodes.compile.integrators.tables import inputs_beside
from dyn_nodes.simulation.events import Event
from dyn_nodes.simulation.guards.checks import NO_BOOKS, OVERTURNED, Books, Check, books_of
from dyn_nodes.simulation.names import index_of


@dataclass(eq=False)
class SystemRun:
    """Result of a simulation.

    Attributes:
        times: (t,) s.  states: (t, n).
        status: `done`, `inaccurate` (a check of its guard failed), `diverged`, `overturned`, `step too small`, or the
            reason why dx/dt is undefined.
        last: final state.  end_time: s.
        counts: steps accepted and rejected by an adaptive method.
        events: watched events, in the order of time (`Settings.watch`).
        detail: reason of a status other than `done`.
        solver: of the constraints in this run, needed by `constrained`, `force` and further members; None: no
            constraints.
        step: of fixed steps, s; at most the step of the settings.
        refined_for: state whose fast motion required shorter steps than specified; '': none.
        checks: of the guard, with measured and allowed values, or the reason why it was not judged.
    """

    system: Any
    times: Array
    states: Array
    inputs: Inputs
    parameters: Array
    status: str
    last: Array
    end_time: float
    counts: dict[str, int] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    detail: str = ''
    solver: Any = None
    step: float = np.nan
    refined_for: str = ''
    checks: tuple[Check, ...] = ()

    @property
    def overturned(self) -> bool:
        """Whether the base tilted beyond the machine's limit."""
        return self.status == OVERTURNED

    @cached_property
    def u(self) -> Array:
        """(t, m) inputs from each time on, after dead times; at the last time the inputs before it."""
        return inputs_beside(*self.inputs.aligned(self.system.input_names, self.system.delays), self.times)

    @property
    def q(self) -> Array:
        """(t, nq) positions."""
        return self.states[:, : self.system.nq]

    @property
    def v(self) -> Array:
        """(t, nv) velocities."""
        return self.states[:, self.system.nq : self.system.nq + self.system.nv]

    def parameters_at(self, instant: int) -> Array:
        """Return the parameters (n,) at a sample, by its index."""
        return self.parameters

    def state(self, name: str) -> Array:
        """Return one state over time."""
        return self.states[:, self.system.index('state', name)]

    def position(self, name: str) -> Array:
        """Return (t,) of a generalized position by name. Raises KeyError."""
        return self.q[:, index_of(self.system.state_names[: self.system.nq], name)]

    def velocity(self, name: str) -> Array:
        """Return (t,) of a generalized velocity by name. Raises KeyError."""
        return self.v[:, index_of(self._velocity_names, name)]

    def acceleration(self, name: str) -> Array:
        """Return (t,) of a generalized acceleration by name. Raises KeyError."""
        return self.a[:, index_of(self._velocity_names, name)]

    @property
    def _velocity_names(self) -> list[str]:
        nq, nv = self.system.nq, self.system.nv
        return [name.removesuffix('_rate') for name in self.system.state_names[nq : nq + nv]]

    @cached_property
    def all_outputs(self) -> Array:
        """(t, k) outputs, in the order of `system.output_names`."""
        if self.solver is None:
            return np.array([self.system.outputs(x, u, self.parameters) for x, u in zip(self.states, self.u)])
        rows = zip(self.states, self.u, self.a, self.multipliers)
        outputs = self.constrained.outputs_of
        return np.array([outputs(x, u, self.parameters, a, forces) for x, u, a, forces in rows])

    def output(self, name: str) -> Array:
        """Return one output over time."""
        return self.all_outputs[:, self.system.index('output', name)]

    def outputs(self, prefix: str, suffixes: Sequence[str] = ('x', 'y', 'z')) -> Array:
        """Return several outputs `<prefix>_<suffix>` side by side, (t, n)."""
        return np.column_stack([self.output(f'{prefix}_{suffix}') for suffix in suffixes])

    # -- energy --------------------------------------------------------------------------------------------------------

    @cached_property
    def books(self) -> Books | None:
        """The account of energy and gaps; None: the model has none."""
        return books_of(self.system.module, self.states, self.parameters, self.system.state_names)

    @property
    def _account(self) -> Books:
        if self.books is None:
            raise ValueError(f'{self.system.name}: {NO_BOOKS}')
        return self.books

    @property
    def work(self) -> Array:
        """(t,) work of actuators and moving constraints on the system, J."""
        return self.state('work')

    @property
    def heat(self) -> Array:
        """(t,) energy dissipated by dampers and friction, J."""
        return self.state('heat')

    @property
    def kinetic(self) -> Array:
        """(t,) kinetic energy, J."""
        return self._account.kinetic

    @property
    def potential(self) -> Array:
        """(t,) potential energy of gravity, springs and oil, J."""
        return self._account.potential

    @property
    def energy_balance(self) -> Array:
        """(t,) energy plus heat less work, relative to the start, J: the error of the integrator."""
        return self._account.balance

    # -- constraints -------------------------------------------------------------------------------------------------

    @cached_property
    def _solution(self) -> tuple[Array, Array]:
        if self.solver is None:
            a = [self.output(f'{name}_acceleration') for name in self._velocity_names]
            return np.column_stack([np.empty((len(self.times), 0)), *a]), np.zeros((len(self.times), 0))
        solution: tuple[Array, Array] = self.solver.solutions(self.states, self.u, self.parameters)
        return solution

    @property
    def a(self) -> Array:
        """(t, nv) accelerations."""
        return self._solution[0]

    @property
    def multipliers(self) -> Array:
        """(t, m) forces of the constraints; m is 0 without constraints."""
        return self._solution[1]

    @property
    def constrained(self) -> Any:
        """Dynamics with constraints. Raises ValueError without constraints."""
        if self.solver is None:
            raise ValueError(f'{self.system.name}: expected a system with constraints')
        return self.system.constraints

    def force(self, constraint: str) -> Array:
        """Return the multipliers (t, rows) of a constraint. Raises KeyError that lists the valid names."""
        slices: dict[str, slice] = self.constrained.blocks.slices
        if constraint not in slices:
            raise KeyError(f'unknown constraint {constraint!r}; known: {", ".join(slices)}')
        return self.multipliers[:, slices[constraint]]

    @property
    def z(self) -> Array:
        """(t, nz) states of the elements, in the order of `blocks.parameters.states`."""
        return self.states[:, self.constrained.element_slice]

    @cached_property
    def p(self) -> Array:
        """(n,) parameters of the blocks at the start."""
        return np.asarray(self.constrained.numbers(self.parameters, self.states[0]))

    @cached_property
    def _monitor(self) -> dict[str, Array]:
        return dict(self.constrained.monitor(self.states, self.parameters))

    @property
    def momentum(self) -> Array:
        """(t, 6) momentum [about the world's origin; linear] of all bodies, kg m2/s and kg m/s."""
        return self._monitor['momentum']

    @property
    def residual(self) -> Array:
        """(t, m) errors at position level, m or rad."""
        return self._monitor['residual']

    @property
    def slip(self) -> Array:
        """(t, m) J v - sigma, m/s or rad/s."""
        return self._monitor['slip']

    @cached_property
    def condition(self) -> Array:
        """(t,) condition number of the independent rows.

        It grows without bound near a position with dependent rows. Forces, and the effect of the integrator's drift on
        them, grow in proportion: check it before you interpret a peak of a force.
        """
        condition: Array = self.constrained.conditions(self.states, self.u, self.parameters)
        return condition
