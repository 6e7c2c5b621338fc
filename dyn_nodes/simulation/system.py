"""A machine that runs: named states, inputs, parameters and outputs, and compiled integrators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dyn_nodes import integrators
from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.integrators import ADAPTIVE, codes_of, run_rk4, run_rk4_watched
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.tree import BaseForm
from dyn_nodes.simulation.assembly import Actuation, Assembly, gravity_vector, has_discrete_states
from dyn_nodes.simulation.command_delay import input_delays
from dyn_nodes.simulation.events import Event, Watched, Watcher, watch_surfaces
from dyn_nodes.simulation.names import NamedVectors
from dyn_nodes.simulation.outputs import traced_outputs
from dyn_nodes.simulation.trace import Inputs, Run

Array = NDArray[np.float64]
Method = Literal['rk4', 'dopri5', 'adams', 'rodas3']
_NO_GUARD = -2.0
MOST_EVENTS = 10_000
"""Kept of one run."""
_WORK_SCALE = 1e5
"""Usual size of the audited work, J."""


@dataclass(frozen=True)
class Settings:
    """How a run is integrated.

    Attributes:
        method: `rk4` (fixed step), `dopri5` (adaptive, explicit), `adams` (explicit, variable
            order: fewest evaluations of a smooth system), `rodas3` (adaptive, implicit, exact Jacobian).
        step: of rk4, s; first step of the adaptive methods.
        rtol, atol: of the adaptive methods; atol counts in units of a state's usual size (1 MPa, 1 mm of spool, ...).
        stop_at_overturn: end the run when the base tilts beyond the machine's `overturn_angle`.
        watch: locate lift-off and touch-down of the wheels, overturning, opening and closing of the reliefs; rk4 only.
    """

    method: Method = 'rk4'
    step: float = 1e-3
    rtol: float = 1e-6
    atol: float = 1e-6
    stop_at_overturn: bool = True
    watch: bool = False


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

    def settings_tolerance(self, settings: Settings) -> Array:
        """Return the absolute tolerance of each state."""
        scales = np.array([self.scales.get(name, 1.0) for name in self.state_names])
        return scales * settings.atol

    def run(
        self,
        x0: Array,
        times: Array,
        inputs: Inputs,
        p: Array | None = None,
        settings: Settings | None = None,
    ) -> Run:
        """Simulate from x0 at times[0] through `times` (rising, evenly spaced for rk4), s.

        Raises:
            ValueError: a vector of another length; times that do not rise; a step of rk4 that does not divide their
                spacing.
            KeyError: an input that the system does not have.
        """
        settings = settings or Settings()
        if self.switches and settings.method != 'rk4':
            raise ValueError(f'{self.machine.name}: expected method rk4 with Karnopp friction, found {settings.method}')
        p = self.parameters() if p is None else p
        times = np.ascontiguousarray(times, dtype=np.float64)
        if times.ndim != 1 or len(times) == 0 or not np.all(np.diff(times) > 0):
            raise ValueError('expected at least one time, and rising times')
        x = np.array(x0, dtype=np.float64)
        self.check(x, np.empty(len(self.input_names)), p)
        trace = np.full((len(times), len(x)), np.nan)
        trace[0] = x
        limit = float(np.cos(self.machine.overturn_angle)) if settings.stop_at_overturn else _NO_GUARD
        knots, table = inputs.aligned(self.input_names, self.delays)
        events: list[Event] = []
        counts: dict[str, int] = {}
        if settings.method == 'rk4':
            watcher = self.watcher(x, table[0], p, MOST_EVENTS) if settings.watch else None
            status, reached, end = self._run_rk4(
                x, times, knots, table, p, limit, settings.step, trace, watcher, events
            )
        elif settings.watch:
            raise ValueError(f'{self.machine.name}: expected method rk4 to watch for events, found {settings.method}')
        else:
            implicit = settings.method == 'rodas3'
            status, reached, accepted, rejected = ADAPTIVE[settings.method](
                codes_of(self.module, self.implicit) if implicit else self.codes,
                x,
                times,
                knots,
                table,
                p,
                limit,
                settings.rtol,
                self.settings_tolerance(settings),
                settings.step,
                1e-12,
                trace,
            )
            counts = {'accepted': accepted, 'rejected': rejected}
            end = float(times[min(reached, len(times) - 1)])
        return Run(
            self, times[:reached], trace[:reached], inputs, p, integrators.STATUS[status], x, end, counts, events
        )

    def watcher(self, x: Array, u: Array, p: Array, capacity: int) -> Watcher:
        """Return what keeps the events of runs that begin at a state."""
        return Watcher.at(self.module, x, u, p, capacity)

    def _run_rk4(
        self,
        x: Array,
        times: Array,
        knots: Array,
        table: Array,
        p: Array,
        limit: float,
        step: float,
        trace: Array,
        watcher: Watcher | None,
        events: list[Event],
    ) -> tuple[int, int, float]:
        spacing = np.diff(times)
        stride = round(float(spacing[0]) / step) if len(spacing) else 1
        if len(spacing) and (stride < 1 or np.abs(spacing - stride * step).max() > 1e-9 * step * stride):
            raise ValueError(
                f'expected times spaced by a multiple of the step {step:g} s, found spacings of '
                f'{spacing.min():g} to {spacing.max():g} s'
            )
        steps = stride * (len(times) - 1)
        arguments = (self.codes, x, float(times[0]), step, steps, knots, table, p, limit, stride, trace)
        if watcher is None:
            status, taken = run_rk4(*arguments)
        else:
            status, taken, count = run_rk4_watched(*arguments, watcher.positive, watcher.found)
            events += watcher.events(count)
        # the state after a step that diverged is not kept
        kept = taken - 1 if status == integrators.DIVERGED else taken
        return status, kept // stride + 1, float(times[0] + taken * step)
