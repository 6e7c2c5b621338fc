"""Hybrid systems: modes with different equations of motion, surfaces between modes, jumps at the surfaces.

A model defines its modes. A run consists of compiled stretches: fixed steps of the classical Runge-Kutta method on one
grid. If a surface value falls to zero within a step, bisection locates the instant to round-off. The model's
`transition` then returns the next mode, state and parameters, and the events. Other events, such as the opening of a
relief valve, are recorded without a transition.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.compile.integrators import modes as loops
from dyn_nodes.compile.integrators.inputs import Inputs
from dyn_nodes.elements.command_delay import input_delays
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.tree import BaseForm
from dyn_nodes.simulation.assembly import Actuation, Assembly
from dyn_nodes.simulation.events import Event, Watcher
from dyn_nodes.simulation.guards.checks import not_judged
from dyn_nodes.simulation.names import NamedVectors
from dyn_nodes.simulation.run import SystemRun

MOST_EVENTS = 10_000
END = 'end'
"""Name of the mode that ends the run."""
NEVER = 1e9
DROP_PARAMETERS = ('drop_tilt', 'drop_time')
"""Parameters: tilt of the base, rad, and time, s, at which the payload is released."""


@dataclass(frozen=True, eq=False)
class Step:
    """Result of a transition: the run continues in `mode` from `x` with `p`, or ends with END."""

    mode: str
    x: Array
    p: Array
    events: tuple[Event, ...]


class Ground(NamedTuple):
    """Arguments of a mode for the compiled stretches.

    Attributes:
        kernel: active rows, for `integrators.modes`, or NO_GROUND for a mode with its own right-hand side.
        surfaces: names of the surfaces.
    """

    kernel: tuple[Any, ...]
    surfaces: Sequence[str]


class HybridError(UserError, RuntimeError):
    """The model does not cover an event; the message contains the event and its time."""


@dataclass(eq=False)
class HybridRun(SystemRun):
    """Result of a run through modes.

    Attributes:
        modes: (t,) index of the mode in `system.modes`.
        parameter_sets: the parameter vectors used.  parameter_index: (t,) index of the vector in use.
        events: changes of mode, state or parameters, in the order of time.
        observed: events without a transition (relief valves), in the order of time.
    """

    modes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    parameter_sets: list[Array] = field(default_factory=list)
    parameter_index: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    observed: list[Event] = field(default_factory=list)

    @property
    def overturned(self) -> bool:
        """Whether the base tilted beyond the machine's limit."""
        return self.status == 'overturned'

    def in_mode(self, name: str) -> NDArray[np.bool_]:
        """Return a mask (t,) of the samples in a mode."""
        return self.modes == self.system.modes.index(name)

    @property
    def log(self) -> list[Event]:
        """Events and observations in the order of time."""
        return sorted([*self.events, *self.observed], key=lambda event: event.time)

    def of_kind(self, kind: str) -> list[Event]:
        """Return the events and observations of a kind."""
        return [event for event in self.log if event.kind == kind]

    def parameters_at(self, instant: int) -> Array:
        """Return the parameters (n,) at a sample, by its index."""
        return self.parameter_sets[self.parameter_index[instant]]

    @cached_property
    def all_outputs(self) -> Array:
        """(t, k) outputs, each in the mode of its sample."""
        outputs, rows = self.system.output_vector, enumerate(zip(self.modes, self.states, self.u))
        return np.array([outputs(self.system.modes[m], x, u, self.parameters_at(k)) for k, (m, x, u) in rows])


class HybridModel(NamedVectors, ABC):
    """Base class of machines with modes. A model sets the attributes in its `__init__`.

    Attributes:
        machine: the machine.
        actuation: of the joints.
        modes: names; a run stores their indices.
        first_mode: mode in which a run from rest starts.
        codes: addresses of the kernels, for `integrators.modes`.
        watches: metadata of the values of the watch kernels.
        state_names, input_names, parameter_names, output_names: the order of x, u, p, y.
    """

    actuation: Actuation
    base: BaseForm = 'quaternion'
    audit = False
    modes: tuple[str, ...]
    first_mode: str
    codes: NDArray[np.int64]
    watches: Sequence[Any]

    @abstractmethod
    def transition(self, mode: str, reached: Sequence[str], t: float, x: Array, u: Array, p: Array) -> Step:
        """Return the transition at reached surfaces.

        Args:
            mode: before the transition.
            reached: names of the surfaces, at least one; `drop` also at the time of a payload release.
            t: s.
            x: state there; may be changed in place.
            u: inputs there.
            p: parameters before the transition; must not be changed in place.

        Raises:
            HybridError: the model does not cover this event.
        """

    @abstractmethod
    def assembly(self, mode: str) -> Assembly:
        """Return the traced plant of a mode, in the coordinates of the state."""

    @abstractmethod
    def ground(self, mode: str, x: Array, u: Array, p: Array) -> Ground:
        """Return the active rows of a mode from a state on, and the names of its surfaces."""

    @abstractmethod
    def output_vector(self, mode: str, x: Array, u: Array, p: Array) -> Array:
        """Return all outputs at a state, in the order of `output_names`."""

    @abstractmethod
    def watch(self, mode: str) -> Any:
        """Return the watch kernel of a mode."""

    def take(self, meta: Mapping[str, Any]) -> None:
        """Set names and defaults from the metadata of compiled kernels."""
        self.name, self.watches = self.machine.name, meta['watches']
        self.state_names, self.input_names = tuple(meta['states']), tuple(meta['inputs'])
        self.parameter_names, self.output_names = tuple(meta['parameters']), tuple(meta['outputs'])
        self.defaults = np.array(meta['defaults'])
        self.nq, self.nv = int(meta['nq']), int(meta['nv'])
        self.delays = input_delays(self.machine, self.input_names)

    @property
    def stance(self) -> Machine:
        """The machine that stability measures use."""
        return self.machine

    def appointed(self, p: Array) -> float:
        """Return the time at which the payload is released, s."""
        return float(p[self.index('parameter', 'drop_time')])

    def drop_payload(self, mode: str, t: float, x: Array, p: Array) -> Step:
        """Release the payload: its mass becomes zero, the state does not change (spec 2.25)."""
        dropped = p.copy()
        index = self.index('parameter', 'payload_mass')
        dropped[index] = 0.0
        dropped[[self.index('parameter', name) for name in DROP_PARAMETERS]] = NEVER
        details = {'mass': float(p[index]), 'mass_after': 0.0}
        if 'base_pitch' in self.state_names:
            details['pitch'] = float(x[self.index('state', 'base_pitch')])
        return Step(mode, x, dropped, (Event(t, 'payload_drop', mode, mode, details),))

    def outputs(self, mode: str, x: Array, u: Array, p: Array) -> dict[str, float]:
        """Return all outputs at a state, by name."""
        return dict(zip(self.output_names, self.output_vector(mode, x, u, p).tolist()))

    def run(
        self, x0: Array, mode: str, times: Array, inputs: Inputs, p: Array | None = None, step: float = 1e-3
    ) -> HybridRun:
        """Simulate from x0 in a mode at times[0] through `times`, evenly spaced by a multiple of `step`, s.

        Raises:
            ValueError: vectors of another length; a step that does not divide the spacing.
            HybridError: the model does not cover an event, or there are more than MOST_EVENTS.
        """
        p = self.parameter_vector(p)
        times = np.ascontiguousarray(times, dtype=np.float64)
        x = np.array(x0, dtype=np.float64)
        self.check(x, np.empty(len(self.input_names)), p)
        stride = _stride(times, step)
        stepper = Stepper(self, x, mode, p, MOST_EVENTS)
        count = len(times)
        trace = Trace(stride, np.full((count, len(x)), np.nan), np.zeros(count, np.int64), np.zeros(count, np.int64))
        trace.states[0], trace.modes[0] = x, self.modes.index(mode)
        knots, table = inputs.aligned(self.input_names, self.delays)
        stepper.watch_from(inputs_at(times[0], knots, table))
        ticks = stepper.advance(float(times[0]), step, stride * (count - 1), knots, table, trace)
        kept = ticks // stride + 1
        return HybridRun(
            self,
            times[:kept],
            trace.states[:kept],
            inputs,
            p,
            stepper.status,
            stepper.x,
            float(times[-1]) if stepper.status == 'done' else stepper.time,
            events=stepper.events,
            detail=stepper.reason,
            step=step,
            checks=not_judged('no account of energy goes through impacts and changes of mode'),
            modes=trace.modes[:kept],
            parameter_sets=stepper.sets,
            parameter_index=trace.sets[:kept],
            observed=stepper.observed,
        )


@dataclass(eq=False)
class Trace:
    """Storage of every `stride`-th step of a run: states (t, n), modes (t,), parameter sets (t,)."""

    stride: int
    states: Array
    modes: NDArray[np.int64]
    sets: NDArray[np.int64]


class Stepper:
    """Advances a hybrid model: the loop around the compiled stretches.

    Args:
        model: the model.
        x: state at the start.
        mode: at the start.
        p: parameters.
        capacity: greatest number of observed events stored per call of `advance`.

    Attributes:
        x, mode: current ones.  sets: the parameter vectors used; the last one is the current one.
        time: of the last event, or the end, s.
        events, observed: since the start, or since they were cleared.
        status: `done` (so far), `diverged`, or the kind of the event that ended the run.
        reason: of a status other than `done`, or ''.
    """

    def __init__(self, model: HybridModel, x: Array, mode: str, p: Array, capacity: int) -> None:
        self.model, self.x, self.mode, self.sets = model, x, mode, [p]
        self.time, self.status, self.reason = 0.0, 'done', ''
        self.events: list[Event] = []
        self.observed: list[Event] = []
        self.watcher = Watcher(model.watches, capacity)
        self.ground: Ground | None = None
        self._nothing = Trace(0, np.zeros((1, len(x))), np.zeros(1, np.int64), np.zeros(1, np.int64))

    def watch_from(self, u: Array) -> None:
        """Store the signs of the watched values at the current state with inputs u."""
        values = np.empty(2 * len(self.watcher.watches))
        self.model.watch(self.mode)(self.x, u, self.sets[-1], values)
        self.watcher.take_signs(values)

    def advance(
        self, start: float, step: float, steps: int, knots: Array, table: Array, trace: Trace | None = None
    ) -> int:
        """Advance by a number of steps on the grid start + k step, s; return the steps done before the run ended.

        Raises:
            HybridError: the model does not cover an event, or there are more than MOST_EVENTS.
        """
        model, tick = self.model, 0
        trace = trace or self._nothing
        self.time = start
        while tick < steps:
            if self.ground is None:
                u = inputs_at(self.time, knots, table)
                self.ground = model.ground(self.mode, self.x, u, self.sets[-1])
            code, self.time, tick, flags, count = loops.run_stretch(
                model.codes,
                model.modes.index(self.mode),
                self.x,
                self.time,
                start,
                step,
                tick,
                steps,
                model.appointed(self.sets[-1]),
                len(self.ground.surfaces),
                self.ground.kernel,
                knots,
                table,
                self.sets[-1],
                trace.stride or steps + 1,
                trace.states,
                trace.modes,
                trace.sets,
                len(self.sets) - 1,
                self.watcher.positive,
                self.watcher.table,
            )
            self.observed += self.watcher.events(count, self.mode, self.mode)
            if code == loops.DIVERGED:
                self.status = 'diverged'
                self.reason = f'at t = {self.time:.6g} s; a state left the range of numbers in mode {self.mode!r}'
                break
            if code != loops.DONE:
                reached = [name for k, name in enumerate(self.ground.surfaces) if flags >> k & 1]
                self._cross(reached if code == loops.REACHED else ['drop'], inputs_at(self.time, knots, table))
                if self.mode == END:
                    last = self.events[-1]
                    self.status, self.reason = last.kind, f'at t = {last.time:.6g} s; left mode {last.before!r}'
                    break
        return int(tick)

    def _cross(self, reached: Sequence[str], u: Array) -> None:
        step = self.model.transition(self.mode, reached, self.time, self.x, u, self.sets[-1])
        if step.p is not self.sets[-1]:
            self.sets.append(step.p)
        self.x[:] = step.x
        self.mode, self.ground = step.mode, None
        self.events.extend(step.events)
        if len(self.events) > MOST_EVENTS:
            raise HybridError(f'{self.model.machine.name}: more than {MOST_EVENTS} events by t = {self.time:.6f} s')


def inputs_at(t: float, knots: Array, table: Array) -> Array:
    """Return the inputs (n,) of a piecewise-linear table at a time; at a step the value after it."""
    after = int(np.searchsorted(knots, t, side='right'))
    if after == 0 or after == len(knots):
        return np.array(table[0 if after == 0 else -1])
    share = (t - knots[after - 1]) / (knots[after] - knots[after - 1])
    return np.asarray(table[after - 1] + share * (table[after] - table[after - 1]))


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
