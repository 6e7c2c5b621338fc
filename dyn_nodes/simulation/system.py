"""A machine that runs: named states, inputs, parameters and outputs, and compiled integrators."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.elements.command_delay import input_delays
from dyn_nodes.integrators import codes_of
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.tree import BaseForm
from dyn_nodes.simulation.assembly import Actuation, Assembly, gravity_vector, has_discrete_states, resting_states
from dyn_nodes.simulation.events import Watched, Watcher, watch_surfaces
from dyn_nodes.simulation.march import NO_GUARD, run_system
from dyn_nodes.simulation.names import NamedVectors
from dyn_nodes.simulation.outputs import traced_outputs
from dyn_nodes.simulation.run import Run
from dyn_nodes.simulation.settings import Settings
from dyn_nodes.simulation.trace import Inputs

Array = NDArray[np.float64]
_WORK_SCALE = 1e5
"""Usual size of the audited work, J."""


class StraightRates(NamedTuple):
    """The rates of a system without constraints: they need no solve, and exist at every state."""

    codes: NDArray[np.int64]
    rank: None = None

    def reason(self, status: int) -> tuple[str, str]:
        """Return why a run stopped; none does."""
        raise RuntimeError(f'expected rates at every state, found status {status}')


class System(NamedVectors):
    """The compiled plant of a machine.

    Args:
        machine: the machine.
        actuation: `hydraulic`: voltages in, valves, oil and pumps inside; `effort`: joint efforts in.
        base: form of a free base.
        audit: append states that integrate the work of actuators, suspension and friction, J.

    Attributes:
        state_names, input_names, parameter_names, output_names: the order of the vectors x, u, p, y.
        codes: addresses of its kernels, for the integrators.
        scales: usual sizes of states by name, where they are not 1.
        switches: there are discrete states (stick flags of Karnopp friction), replaced after every step of rk4, which
            is the only method that takes them.
    """

    time_place: int | None = None
    """Place of the time in a state: it is no state here."""

    def __init__(
        self,
        machine: Machine,
        actuation: Actuation = 'hydraulic',
        base: BaseForm = 'quaternion',
        audit: bool = False,
    ) -> None:
        if machine.needs_constraints:
            raise ValueError(
                f'{machine.name}: expected a machine without constraints, loads and locked joints; '
                'dyn_nodes.simulation.constrained_machine runs one with them'
            )
        self.name, self.machine, self.actuation, self.base, self.audit = machine.name, machine, actuation, base, audit
        self._key = [machine_fingerprint(machine), actuation, base, str(audit)]
        self.switches = has_discrete_states(machine)
        self.module = self._build('plant', self._functions)
        self.codes = codes_of(self.module)
        meta = self.module.meta
        self.state_names: tuple[str, ...] = tuple(meta['states'])
        self.input_names: tuple[str, ...] = tuple(meta['inputs'])
        self.parameter_names: tuple[str, ...] = tuple(meta['parameters'])
        self.output_names: tuple[str, ...] = tuple(meta['outputs'])
        self.nq, self.nv = int(meta['nq']), int(meta['nv'])
        self.free: bool = bool(meta['free'])
        self.delays = input_delays(machine, self.input_names)
        self._defaults = np.array(meta['defaults'])
        self.scales: dict[str, float] = meta['scales']

    def _build(self, kind: str, make: Any) -> CompiledModule:
        return build_module(f'{self.machine.name}: {kind}_{self.actuation}', self._key, make)

    def _assembly(self) -> Assembly:
        return Assembly(self.machine, self.actuation, self.base, self.audit)

    def _functions(self) -> tuple[dict[str, ca.Function], dict[str, Any]]:
        plant = self._assembly()
        names, outputs = traced_outputs(plant)
        variables = [plant.x, plant.u, plant.p]
        functions = {
            'rhs': ca.Function('rhs', variables, [plant.rhs]),
            'outputs': ca.Function('outputs', variables, [outputs]),
            'guard': ca.Function('guard', [plant.x], [ca.densify(plant.upright)]),
        }
        if self.switches:
            functions['switch'] = ca.Function('switch', variables, [plant.switched])
        watched = Watched()
        watch_surfaces(watched, plant.surfaces)
        functions['watch'] = ca.Function('watch', variables, [watched.expression])
        meta = {
            'watches': watched.watches,
            'states': plant.states.names,
            'inputs': plant.inputs.names,
            'parameters': plant.parameters.names,
            'outputs': names,
            'nq': plant.tree.nq,
            'nv': plant.tree.nv,
            'free': plant.tree.free,
            'defaults': plant.default_parameters().tolist(),
            'scales': {own.name: own.scale for own in plant.element_states}
            | dict.fromkeys(plant.states.names[plant.audit_place], _WORK_SCALE),
        }
        return functions, meta

    @cached_property
    def implicit(self) -> CompiledModule:
        """Kernels of the exact Jacobians."""

        def make() -> tuple[dict[str, ca.Function], dict[str, Any]]:
            plant = self._assembly()
            variables = [plant.x, plant.u, plant.p]
            jacobian = ca.densify(ca.vec(ca.densify(ca.jacobian(plant.rhs, plant.x))))
            inputs = ca.densify(ca.vec(ca.densify(ca.jacobian(plant.rhs, plant.u))))
            functions = {
                'jacobian': ca.Function('jacobian', variables, [jacobian]),
                'input_jacobian': ca.Function('input_jacobian', variables, [inputs]),
            }
            return functions, {}

        return self._build('implicit', make)

    def parameters(self, values: Mapping[str, float] | None = None, slope: tuple[float, float] | None = None) -> Array:
        """Return a parameter vector: the machine's own values, changed by name; `slope` (roll, pitch), rad."""
        p = self._defaults.copy()
        if slope is not None:
            p[:3] = gravity_vector(self.machine.gravity, slope)
        for name, value in (values or {}).items():
            p[self.index('parameter', name)] = value
        return p

    def rhs(self, x: Array, u: Array, p: Array) -> Array:
        """Return dx/dt."""
        self.check(x, u, p)
        rate = np.empty(len(self.state_names))
        self.module.rhs(x, u, p, rate)
        return rate

    def outputs(self, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs at a state, in the order of `output_names`."""
        self.check(x, u, p)
        y = np.empty(len(self.output_names))
        self.module.outputs(x, u, p, y)
        return y

    def jacobians(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Return the exact partial derivatives of dx/dt by x (n, n) and by u (n, m)."""
        self.check(x, u, p)
        n, m = len(self.state_names), len(self.input_names)
        by_x, by_u = np.empty(n * n), np.empty(n * m)
        self.implicit.jacobian(x, u, p, by_x)
        self.implicit.input_jacobian(x, u, p, by_u)
        return by_x.reshape(n, n, order='F'), by_u.reshape(n, m, order='F')

    def state(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return a state from positions (nq,) and velocities (nv,); states of elements are those of their start."""
        x = np.zeros(len(self.state_names))
        x[: self.nq], x[self.nq : self.nq + self.nv] = q, v
        for own in resting_states(self.machine):
            x[self.index('state', own.name)] = own.start
        return x

    def guard_limit(self, settings: Settings) -> float:
        """Return the least cosine of the tilt in a run."""
        return float(np.cos(self.machine.overturn_angle)) if settings.stop_at_overturn else NO_GUARD

    def solver_from(self, x: Array, u: Array, p: Array, settings: Settings) -> StraightRates:
        """Return the rates of runs, wherever they start."""
        return StraightRates(codes_of(self.module, self.implicit) if settings.method == 'rodas3' else self.codes)

    def watcher(self, x: Array, u: Array, p: Array, capacity: int) -> Watcher:
        """Return what keeps the events of runs that begin at a state."""
        return Watcher.at(self.module, x, u, p, capacity)

    def run(
        self,
        x0: ArrayLike,
        times: ArrayLike,
        inputs: Inputs | None = None,
        p: ArrayLike | Mapping[str, float] | None = None,
        settings: Settings | None = None,
    ) -> Run:
        """Simulate from a state at times[0] through `times`.

        A step ends exactly at every sample and where inputs jump or bend, where the limits of both sides count
        (yesiloglu-2007, G4); in between, steps of rk4 are equal and at most as long as the settings say.

        Args:
            x0: (n,) state.
            times: (t,) rising sample times, s.
            inputs: by name; None: zero.
            p: parameters, or those that differ from their default by name.
            settings: of the integrator.

        Raises:
            ValueError: a vector of another length; times that do not rise; a step that is not above zero; an adaptive
                method with discrete states, or with events to watch for.
            KeyError: an input that the system does not have.
        """
        return run_system(self, x0, times, inputs, p, settings)
