"""Hybrid systems: modes with their own equations of motion, surfaces between them, jumps across.

A model names its modes. Each has kernels `rhs_<mode>`, `surfaces_<mode>` and `outputs_<mode>` in one compiled module. A
run goes through compiled stretches: fixed steps of the classical Runge-Kutta method on one grid; where a surface value
falls to zero within a step, the step is halved until the instant is known to round-off. There the model's `transition`
decides: the mode, the state and the parameters that go on, and the events to be kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dyn_nodes.compile import CompiledModule
from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation import drivers, hybrid_drivers
from dyn_nodes.simulation.assembly import gravity_vector
from dyn_nodes.simulation.command_delay import input_delays
from dyn_nodes.simulation.system import UnknownNameError
from dyn_nodes.simulation.trace import Inputs

Array = NDArray[np.float64]
MOST_EVENTS = 10_000
END = 'end'
"""A mode that ends the run."""


@dataclass(frozen=True)
class Event:
    """Something that happened at an instant.

    Attributes:
        time: s.
        kind: `lift_off`, `touch_down`, `impact`, `payload_drop`, `overturned`, ...
        before, after: modes.
        details: numbers and lists by name, such as the velocity jumps of an impact.
    """

    time: float
    kind: str
    before: str
    after: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Step:
    """What a model wants after a surface was reached: go on in `mode` from `x` with `p`; or END."""

    mode: str
    x: Array
    p: Array
    events: tuple[Event, ...]


class HybridError(RuntimeError):
    """The model does not cover what happens; the message says what and when."""


@dataclass(eq=False)
class HybridRun:
    """What a run gave.

    Attributes:
        times: (t,) s.  states: (t, n).
        modes: (t,) index of the mode in `model.modes`.
        parameter_sets: the parameter vectors used.  parameter_index: (t,) which one.
        events: in the order of time.
        status: `done`, `overturned`, `diverged`.
        end_time: s.  last: state at the very end.
    """

    model: HybridModel
    times: Array
    states: Array
    modes: NDArray[np.int64]
    inputs: Inputs
    parameter_sets: list[Array]
    parameter_index: NDArray[np.int64]
    events: list[Event]
    status: str
    end_time: float
    last: Array

    @property
    def overturned(self) -> bool:
        """True where the base turned beyond the machine's limit."""
        return self.status == 'overturned'

    def state(self, name: str) -> Array:
        """Return one state over time."""
        return self.states[:, self.model.index('state', name)]

    def in_mode(self, name: str) -> NDArray[np.bool_]:
        """Tell when the run was in a mode."""
        return self.modes == self.model.modes.index(name)

    def of_kind(self, kind: str) -> list[Event]:
        """Return the events of a kind."""
        return [event for event in self.events if event.kind == kind]

    @cached_property
    def _outputs(self) -> Array:
        u = self.inputs.at(self.times, self.model.input_names)
        rows = np.empty((len(self.times), len(self.model.output_names)))
        for k, (x, row) in enumerate(zip(self.states, rows)):
            kernel = self.model.kernel('outputs', self.model.modes[self.modes[k]])
            kernel(x, u[k], self.parameter_sets[self.parameter_index[k]], row)
        return rows

    def output(self, name: str) -> Array:
        """Return one output over time."""
        return self._outputs[:, self.model.index('output', name)]


class HybridModel(ABC):
    """A machine with modes. A model sets the attributes in its `__init__` and defines `transition`.

    Attributes:
        machine: the machine.
        modes: names; their places are the numbers in a run.
        module: compiled kernels and drivers.
        surface_names: of the values of `surfaces_<mode>`, by mode; a surface is reached at zero from above.
        state_names, input_names, parameter_names, output_names: the order of x, u, p, y.
    """

    machine: Machine
    modes: tuple[str, ...]
    module: CompiledModule
    surface_names: Mapping[str, Sequence[str]]
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    parameter_names: tuple[str, ...]
    output_names: tuple[str, ...]

    @abstractmethod
    def transition(self, mode: str, reached: Sequence[str], t: float, x: Array, u: Array, p: Array) -> Step:
        """Return how to go on where surfaces were reached.

        Args:
            mode: up to now.
            reached: names of the surfaces, at least one.
            t: s.
            x: state there; may be changed in place.
            u: inputs there.
            p: parameters up to now; not to be changed in place.

        Raises:
            HybridError: the model does not cover this.
        """

    def take(self, module: CompiledModule, modes: Sequence[str]) -> None:
        """Adopt a compiled module and the names stored beside it."""
        meta = module.meta
        self.module, self.modes = module, tuple(modes)
        self.surface_names = meta['surfaces']
        self.state_names, self.input_names = tuple(meta['states']), tuple(meta['inputs'])
        self.parameter_names, self.output_names = tuple(meta['parameters']), tuple(meta['outputs'])
        self._defaults = np.array(meta['defaults'])

    def kernel(self, kind: Literal['rhs', 'surfaces', 'outputs'], mode: str) -> Any:
        """Return a compiled kernel of a mode."""
        return getattr(self.module, f'{kind}_{mode}')

    def index(self, kind: Literal['state', 'input', 'parameter', 'output'], name: str) -> int:
        """Return the place of a name. Raises UnknownNameError."""
        known: tuple[str, ...] = getattr(self, f'{kind}_names')
        try:
            return known.index(name)
        except ValueError:
            raise UnknownNameError(kind, name, known) from None

    def parameters(self, values: Mapping[str, float] | None = None, slope: float | None = None) -> Array:
        """Return a parameter vector: the machine's own values, changed by name.

        Args:
            values: by name.
            slope: of the ground, rad; positive: the front is downhill.
        """
        p = self._defaults.copy()
        if slope is not None:
            p[:3] = gravity_vector(self.machine.gravity, (0.0, slope))
        for name, value in (values or {}).items():
            p[self.index('parameter', name)] = value
        return p

    def outputs(self, mode: str, x: Array, u: Array, p: Array) -> dict[str, float]:
        """Return all outputs at a state, by name."""
        y = np.empty(len(self.output_names))
        self.kernel('outputs', mode)(*(np.ascontiguousarray(v, dtype=np.float64) for v in (x, u, p)), y)
        return dict(zip(self.output_names, y.tolist()))

    def run(
        self, x0: Array, mode: str, times: Array, inputs: Inputs, p: Array | None = None, step: float = 1e-3
    ) -> HybridRun:
        """Simulate from x0 in a mode at times[0] through `times`, evenly spaced by a multiple of `step`, s.

        Raises:
            ValueError: vectors of another length; a step that does not divide the spacing.
            HybridError: the model does not cover what happens, or events never end.
        """
        p = self.parameters() if p is None else np.array(p, dtype=np.float64)
        times = np.ascontiguousarray(times, dtype=np.float64)
        x = np.array(x0, dtype=np.float64)
        if x.shape != (len(self.state_names),) or p.shape != (len(self.parameter_names),):
            raise ValueError(
                f'{self.machine.name}: expected {len(self.state_names)} states and {len(self.parameter_names)} '
                f'parameters, found shapes {x.shape} and {p.shape}'
            )
        stride = _stride(times, step)
        return _Runner(self, times, stride, step, inputs, x, p).run(mode)


class _Runner:
    """One run: the loop around the compiled stretches."""

    def __init__(
        self, model: HybridModel, times: Array, stride: int, step: float, inputs: Inputs, x: Array, p: Array
    ) -> None:
        self.model, self.times, self.inputs, self.stride, self.step = model, times, inputs, stride, step
        self.x, self.sets = x, [p]
        delays = input_delays(model.machine, model.input_names)
        self.knots, self.table = inputs.aligned(model.input_names, delays)
        count = len(times)
        self.trace = np.full((count, len(x)), np.nan)
        self.mode_trace, self.set_trace = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.events: list[Event] = []

    def run(self, mode: str) -> HybridRun:
        """Go to the end of `times`, or to where the model ends the run."""
        model, t, tick, last = self.model, float(self.times[0]), 0, self.stride * (len(self.times) - 1)
        self._sample(mode, tick)
        status = 'done'
        while tick < last:
            code, t, tick, flags = model.module.run_stretch(
                model.modes.index(mode),
                self.x,
                t,
                float(self.times[0]),
                self.step,
                tick,
                last,
                len(model.surface_names[mode]),
                self.knots,
                self.table,
                self.sets[-1],
                self.stride,
                self.trace,
                self.mode_trace,
                self.set_trace,
                len(self.sets) - 1,
            )
            if code == hybrid_drivers.DIVERGED:
                status = 'diverged'
                break
            if code == hybrid_drivers.REACHED:
                mode = self._cross(mode, flags, t)
                if mode == END:
                    status = self.events[-1].kind
                    break
        kept = tick // self.stride + 1
        if status == 'done':
            t = float(self.times[-1])
        return HybridRun(
            model,
            self.times[:kept],
            self.trace[:kept],
            self.mode_trace[:kept],
            self.inputs,
            self.sets,
            self.set_trace[:kept],
            self.events,
            status,
            t,
            self.x,
        )

    def _sample(self, mode: str, tick: int) -> None:
        place = tick // self.stride
        self.trace[place] = self.x
        self.mode_trace[place], self.set_trace[place] = self.model.modes.index(mode), len(self.sets) - 1

    def _cross(self, mode: str, flags: int, t: float) -> str:
        names = self.model.surface_names[mode]
        reached = [name for k, name in enumerate(names) if flags >> k & 1]
        u = self.inputs.at(np.array([t]), self.model.input_names)[0]
        step = self.model.transition(mode, reached, t, self.x, u, self.sets[-1])
        if step.p is not self.sets[-1]:
            self.sets.append(step.p)
        self.x[:] = step.x
        self.events.extend(step.events)
        if len(self.events) > MOST_EVENTS:
            raise HybridError(f'{self.model.machine.name}: more than {MOST_EVENTS} events by t = {t:.6f} s')
        return step.mode


def _stride(times: Array, step: float) -> int:
    spacing = np.diff(times)
    if times.ndim != 1 or len(times) < 2 or not np.all(spacing > 0):
        raise ValueError('expected at least two times, and rising times')
    stride = round(float(spacing[0]) / step)
    if stride < 1 or np.abs(spacing - stride * step).max() > 1e-9 * step * stride:
        raise ValueError(
            f'expected times spaced by a multiple of the step {step:g} s, found spacings of '
            f'{spacing.min():g} to {spacing.max():g} s'
        )
    return stride


def dispatchers(modes: Sequence[str]) -> list[Any]:
    """Return the texts of the drivers of a hybrid module, for `build_module`."""

    def choose(kind: str, arguments: str) -> str:
        lines = [f'\n\n@njit(cache=True)\ndef {kind}_of(mode, {arguments}):']
        pointers = ', '.join(f'data_pointer({name})' for name in arguments.split(', '))
        for k, mode in enumerate(modes):
            lines.append(f'    {"if" if k == 0 else "elif"} mode == {k}:\n        {kind}_{mode}_at({pointers})')
        return '\n'.join(lines) + '\n'

    return [
        drivers.table_input,
        drivers.sound,
        choose('rhs', 'x, u, p, y'),
        choose('surfaces', 'x, u, p, y'),
        hybrid_drivers.rk4_step,
        hybrid_drivers.lowest,
        hybrid_drivers.run_stretch,
    ]


def kernels(
    rhs: Mapping[str, ca.SX],
    surfaces: Mapping[str, ca.SX],
    outputs: Mapping[str, ca.SX],
    variables: list[ca.SX],
) -> dict[str, ca.Function]:
    """Return the functions of all modes under the names that a hybrid module wants."""
    functions = {}
    for kind, by_mode in (('rhs', rhs), ('surfaces', surfaces), ('outputs', outputs)):
        for mode, expression in by_mode.items():
            functions[f'{kind}_{mode}'] = ca.Function(f'{kind}_{mode}', variables, [ca.densify(expression)])
    return functions
