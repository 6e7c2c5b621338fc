"""Compiled systems of machines: named states, inputs, parameters and outputs, and simulation by any integrator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import CompiledModule
from dyn_nodes.compile.integrators.inputs import Inputs
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.tree import BaseForm
from dyn_nodes.simulation.assembly import Actuation
from dyn_nodes.simulation.events import Watcher
from dyn_nodes.simulation.march import run_system
from dyn_nodes.simulation.names import NamedVectors
from dyn_nodes.simulation.run import SystemRun
from dyn_nodes.simulation.settings import Settings
from dyn_nodes.simulation.tree_dynamics import TreeDynamics

if TYPE_CHECKING:
    from dyn_nodes.constraints import ConstraintBlocks


class System(NamedVectors):
    """Compiled system of a machine without or with constraints.

    Args:
        machine: the machine.
        actuation: `hydraulic`: inputs are voltages, with valves, oil and pumps; `effort`: inputs are joint efforts.
        base: form of a free base; with constraints `quaternion`.
        audit: append states that integrate the work of actuators, suspension and friction, J. With constraints, work
            and heat are always states.

    Attributes:
        machine: the machine; None: blocks without a machine. stance: its data for stability measures.
        state_names, input_names, parameter_names, output_names: the order of the vectors x, u, p, y.
        dynamics: kernels and evaluation of the rates.
        constraints: `dynamics` if the system has constraints (`constrained.ConstrainedDynamics`), else None.
        delays: dead time of each input (n,), s; None: no dead times.
        switches: whether there are discrete states (stick flags of Karnopp friction), updated after every fixed step;
            they need a method of `settings.FIXED`.
        time_index: index of the time in a state; None: time is no state.

    Raises:
        ValueError: constraints with another form of the base, or with an audit.
    """

    def __init__(
        self,
        machine: Machine,
        actuation: Actuation = 'hydraulic',
        base: BaseForm = 'quaternion',
        audit: bool = False,
    ) -> None:
        if not machine.needs_constraints:
            self._take(TreeDynamics(machine, actuation, base, audit))
            return
        from dyn_nodes.simulation.machine_rows import machine_dynamics  # slow import, needed by few machines

        if base != 'quaternion' or audit:
            raise ValueError(f'{machine.name}: expected base quaternion and no audit beside constraints')
        self._take(machine_dynamics(machine, actuation))

    @classmethod
    def of(cls, dynamics: Any) -> System:
        """Return the system of dynamics, such as `TreeDynamics` of an assembly with special elements."""
        system = cls.__new__(cls)
        system._take(dynamics)
        return system

    @classmethod
    def of_blocks(
        cls,
        name: str,
        blocks: ConstraintBlocks,
        actuated: Sequence[str] = (),
        unilateral: Sequence[str] = (),
    ) -> System:
        """Return the system of a traced tree with constraints and without a machine; it has no outputs.

        Args:
            name: for display and for the cache.
            blocks: the traced system.
            actuated: velocities with an input each, of the same name, N or N m.
            unilateral: names of rows whose multiplier must not become negative; a run stops before.
        """
        from dyn_nodes.simulation.constrained import ConstrainedDynamics

        return cls.of(ConstrainedDynamics(name, blocks, actuated, unilateral))

    def _take(self, dynamics: Any) -> None:
        self.dynamics = dynamics
        self.constraints: Any = None if dynamics.blocks is None else dynamics
        self.name, self.machine, self.stance = dynamics.name, dynamics.machine, dynamics.stance
        self.actuation, self.base, self.audit = dynamics.actuation, dynamics.base, dynamics.audit
        self.state_names, self.input_names = dynamics.state_names, dynamics.input_names
        self.parameter_names = dynamics.parameter_names
        self.nq, self.nv, self.delays = dynamics.nq, dynamics.nv, dynamics.delays
        self.switches, self.time_index = dynamics.switches, dynamics.time_index

    @property
    def output_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the outputs; with constraints they are traced at the first use."""
        names: tuple[str, ...] = self.dynamics.output_names
        return names

    @property
    def blocks(self) -> Any:
        """Traced system with constraints; None without constraints."""
        return None if self.constraints is None else self.constraints.blocks

    @property
    def scales(self) -> Mapping[str, float]:
        """Typical magnitudes of states by name, if not 1."""
        scales: Mapping[str, float] = self.dynamics.scales
        return scales

    @property
    def module(self) -> CompiledModule:
        """The compiled kernels."""
        compiled: CompiledModule = self.dynamics.module
        return compiled

    @property
    def codes(self) -> NDArray[np.int64]:
        """Addresses of the kernels of a tree, for the integrators; with constraints use the codes of a solver."""
        codes: NDArray[np.int64] = self.dynamics.codes
        return codes

    @property
    def defaults(self) -> Array:  # type: ignore[override]
        """(n,) default parameters, from the machine file or the blocks."""
        values: Array = self.dynamics.defaults
        return values

    def state(self, q: ArrayLike, v: ArrayLike, p: ArrayLike | Mapping[str, float] | None = None) -> Array:
        """Return a state from positions (nq,) and velocities (nv,) that satisfy the constraints.

        States of elements have their initial values, or those in p if they are parameters of the system. Raises
        ValueError for vectors of another length.
        """
        shapes = np.shape(q), np.shape(v)
        if shapes != ((self.nq,), (self.nv,)):
            raise ValueError(
                f'{self.name}: expected {self.nq} positions and {self.nv} velocities, '
                f'found shapes {shapes[0]} and {shapes[1]}'
            )
        return np.asarray(self.dynamics.state(q, v, self.parameter_vector(p)))

    def rhs(self, x: Array, u: Array, p: Array) -> Array:
        """Return dx/dt (n,), without stabilization of constraints; NaN if it is undefined."""
        self.check(x, u, p)
        rate: Array = self.dynamics.rhs(x, u, p)
        return rate

    def outputs(self, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs at a state, in the order of `output_names`."""
        self.check(x, u, p)
        y: Array = self.dynamics.outputs(x, u, p)
        return y

    def jacobians(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Return the exact partial derivatives of dx/dt by x (n, n) and u (n, m)."""
        self.check(x, u, p)
        jacobians: tuple[Array, Array] = self.dynamics.jacobians(x, u, p)
        return jacobians

    def guard_limit(self, settings: Settings) -> float:
        """Return the least permitted cosine of the tilt in a run."""
        return float(self.dynamics.guard_limit(settings))

    def solver_from(self, x: Array, u: Array, p: Array, settings: Settings) -> Any:
        """Return the solver of runs from a state, with `codes`, and `reason` of a status without rates."""
        return self.dynamics.solver_from(x, u, p, settings)

    def watcher(self, x: Array, u: Array, p: Array, capacity: int) -> Watcher:
        """Return the watcher for the events of runs from a state."""
        return Watcher.at(self.module, x, u, p, capacity)

    def run(
        self,
        x0: ArrayLike,
        times: ArrayLike,
        inputs: Inputs | None = None,
        p: ArrayLike | Mapping[str, float] | None = None,
        settings: Settings | None = None,
    ) -> SystemRun:
        """Simulate from a state at times[0] through `times`.

        A step ends exactly at every sample and at every jump or kink of the inputs, with the one-sided limits there
        (yesiloglu-2007, G4); in between, fixed steps are equal and at most as long as the step of the settings.

        Args:
            x0: (n,) state.
            times: (t,) increasing sample times, s.
            inputs: by name; None: zero.
            p: parameters (k,), or values that replace defaults by name.
            settings: of the integrator.

        Raises:
            ValueError: a vector of another length; times that do not increase; a step that is not above zero; an
                adaptive method with discrete states or `watch`; constraints that the chosen method cannot solve.
            KeyError: an input that the system does not have.
        """
        return run_system(self, x0, times, inputs, p, settings)
