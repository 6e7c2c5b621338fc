"""Compiled dynamics of a tree with its elements: one straight-line kernel returns the rates."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.compile.integrators import codes_of
from dyn_nodes.elements.command_delay import input_delays
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.base_motion import tilted_beyond
from dyn_nodes.multibody.stiff_states import stiff_kernel
from dyn_nodes.multibody.tree import BaseForm
from dyn_nodes.simulation.assembly import (
    Actuation,
    Assembly,
    has_discrete_states,
    resting_states,
)
from dyn_nodes.simulation.events import watched
from dyn_nodes.simulation.guards.checks import BOOKS, OVERTURNED, WORK_SCALE
from dyn_nodes.simulation.march import NO_GUARD
from dyn_nodes.simulation.outputs import traced_outputs
from dyn_nodes.simulation.settings import Settings


class StraightRates(NamedTuple):
    """Rates of a system without constraints: they need no solver and are defined at every state."""

    codes: NDArray[np.int64]
    rank: None = None

    def reason(self, status: int) -> tuple[str, str]:
        """Raise RuntimeError, because the rates are defined at every state."""
        raise RuntimeError(f'expected rates at every state, found status {status}')


class TreeDynamics:
    """Dynamics of a machine without constraints. Arguments and attributes: see `System`."""

    blocks = None
    time_index: int | None = None

    def __init__(
        self,
        machine: Machine,
        actuation: Actuation = 'hydraulic',
        base: BaseForm = 'quaternion',
        audit: bool = False,
    ) -> None:
        self.name, self.machine, self.stance = machine.name, machine, machine
        self.actuation, self.base, self.audit = actuation, base, audit
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
        self.defaults = np.array(meta['defaults'])
        self.scales: dict[str, float] = meta['scales']

    def _build(self, kind: str, make: Any) -> CompiledModule:
        return build_module(f'{self.machine.name}: {kind}_{self.actuation}', self._key, make)

    def assembly(self) -> Assembly:
        """Return the symbolic plant."""
        return Assembly(self.machine, self.actuation, self.base, self.audit, books=True)

    def _functions(self) -> tuple[dict[str, ca.Function], dict[str, Any]]:
        plant = self.assembly()
        names, outputs = traced_outputs(plant)
        variables = [plant.x, plant.u, plant.p]
        functions = {
            'rhs': ca.Function('rhs', variables, [plant.rhs]),
            'outputs': ca.Function('outputs', variables, [outputs]),
            'guard': ca.Function('guard', [plant.x], [ca.densify(plant.upright)]),
            'inspect': ca.Function('inspect', [plant.x, plant.p], [plant.inspected]),
        }
        if self.switches:
            functions['switch'] = ca.Function('switch', variables, [plant.switched])
        states, elements = plant.element_states, plant.element_slice
        stiff, stiff_indices = stiff_kernel((plant.x, plant.u, plant.p), plant.rhs[elements], states, elements.start)
        functions |= stiff
        watches, watch = watched(plant.surfaces)
        functions['watch'] = ca.Function('watch', variables, [watch])
        meta = {
            'watches': watches,
            'stiff': stiff_indices,
            'states': plant.states.names,
            'inputs': plant.inputs.names,
            'parameters': plant.parameters.names,
            'outputs': names,
            'nq': plant.tree.nq,
            'nv': plant.tree.nv,
            'free': plant.tree.free,
            'defaults': plant.default_parameters().tolist(),
            'scales': {state.name: state.scale for state in plant.element_states}
            | dict.fromkeys([*BOOKS, *plant.states.names[plant.audit_slice]], WORK_SCALE),
        }
        return functions, meta

    @cached_property
    def implicit(self) -> CompiledModule:
        """Compiled kernels of the exact Jacobians."""

        def make() -> tuple[dict[str, ca.Function], dict[str, Any]]:
            plant = self.assembly()
            variables = [plant.x, plant.u, plant.p]
            jacobian = ca.densify(ca.vec(ca.densify(ca.jacobian(plant.rhs, plant.x))))
            inputs = ca.densify(ca.vec(ca.densify(ca.jacobian(plant.rhs, plant.u))))
            functions = {
                'jacobian': ca.Function('jacobian', variables, [jacobian]),
                'input_jacobian': ca.Function('input_jacobian', variables, [inputs]),
            }
            return functions, {}

        return self._build('implicit', make)

    def rhs(self, x: Array, u: Array, p: Array) -> Array:
        """Return dx/dt."""
        rate = np.empty(len(self.state_names))
        self.module.rhs(x, u, p, rate)
        return rate

    def outputs(self, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs at a state, in the order of `output_names`."""
        y = np.empty(len(self.output_names))
        self.module.outputs(x, u, p, y)
        return y

    def jacobians(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Return the exact partial derivatives of dx/dt by x (n, n) and u (n, m)."""
        n, m = len(self.state_names), len(self.input_names)
        by_x, by_u = np.empty(n * n), np.empty(n * m)
        self.implicit.jacobian(x, u, p, by_x)
        self.implicit.input_jacobian(x, u, p, by_u)
        return by_x.reshape(n, n, order='F'), by_u.reshape(n, m, order='F')

    def state(self, q: ArrayLike, v: ArrayLike, p: Array) -> Array:
        """Return a state from positions and velocities; states of elements have their initial values."""
        x = np.zeros(len(self.state_names))
        x[: self.nq], x[self.nq : self.nq + self.nv] = q, v
        for state in resting_states(self.machine):
            x[self.state_names.index(state.name)] = state.start
        return x

    def guarded(self, x: Array) -> tuple[str, str]:
        """Return status and reason of a run that the guard ended at a state."""
        return OVERTURNED, tilted_beyond(self.machine, x)

    def guard_limit(self, settings: Settings) -> float:
        """Return the least permitted cosine of the tilt in a run."""
        return float(np.cos(self.machine.overturn_angle)) if settings.stop_at_overturn else NO_GUARD

    def solver_from(self, x: Array, u: Array, p: Array, settings: Settings) -> StraightRates:
        """Return the rates of runs, the same for all starts."""
        return StraightRates(codes_of(self.module, self.implicit) if settings.method == 'rodas3' else self.codes)
