"""Simulation of a system through given times by any integrator; steps end at each time and at kinks of the inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import integrators
from dyn_nodes.compile.integrators import ADAPTIVE, run_rk4, run_rk4_watched, run_rk32
from dyn_nodes.compile.integrators.addresses import with_damped_steps, without_stiff
from dyn_nodes.compile.integrators.inputs import Inputs
from dyn_nodes.compile.integrators.tables import stretches
from dyn_nodes.simulation.events import Event, Watcher
from dyn_nodes.simulation.guards.endings import conclude
from dyn_nodes.simulation.guards.fastest_motion import Linearization, TooFastError
from dyn_nodes.simulation.run import SystemRun
from dyn_nodes.simulation.settings import FIXED, WATCHING, Settings

LEAST_STEP = 1e-12
"""Least step of the adaptive methods except rk32, s."""
SHORTEST = 1e-10
"""Step that rk32 accepts with any error, s, as the rates may jump there."""
OF_ELEMENTS = 10.0
"""Tolerance of rk32 for pressures, spools and other states with a typical magnitude, relative to positions: the
midpoint rule, with which rk32 compares a step, is that much less accurate for them."""
MOST_EVENTS = 10_000
"""Greatest number of events stored per run."""
NO_GUARD = -2.0
"""Limit of the cosine of the tilt that is never reached."""
ON_GRID = 1e-9
"""Permitted distance of a time from the grid of steps, relative to the step."""


class MarchingSystem(Protocol):
    """Part of a `System` that a run uses."""

    name: str
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    delays: Array | None
    switches: bool
    time_index: int | None
    dynamics: Any

    @property
    def scales(self) -> Mapping[str, float]:
        """Typical magnitudes of states by name, if not 1."""

    def check(self, x: Array, u: Array, p: Array) -> None:
        """Raise ValueError for vectors of another length."""

    def parameter_vector(self, p: ArrayLike | Mapping[str, float] | None) -> Array:
        """Return parameters (n,): a vector as it is, else the defaults, changed by name."""

    def rhs(self, x: Array, u: Array, p: Array) -> Array:
        """Return dx/dt (n,)."""

    def guard_limit(self, settings: Settings) -> float:
        """Return the lower limit of the guard."""

    def solver_from(self, x: Array, u: Array, p: Array, settings: Settings) -> Any:
        """Return the solver of runs from a state, with `codes`, and `reason` of a status without rates."""

    def watcher(self, x: Array, u: Array, p: Array, capacity: int) -> Watcher:
        """Return the watcher for the events of runs from a state."""


def run_system(
    system: MarchingSystem,
    x0: ArrayLike,
    times: ArrayLike,
    inputs: Inputs | None,
    p: ArrayLike | Mapping[str, float] | None,
    settings: Settings | None,
) -> SystemRun:
    """Simulate from x0 at times[0] through `times`. Arguments and errors: see `System.run`."""
    settings, p = settings or Settings(), system.parameter_vector(p)
    stops = checked_times(system, times, settings)
    x = np.array(x0, dtype=np.float64)
    system.check(x, np.empty(len(system.input_names)), p)
    if system.time_index is not None:
        x[system.time_index] = stops[0]
    trace = np.full((len(stops), len(x)), np.nan)
    trace[0] = x
    inputs = inputs or Inputs.constant()
    knots, table = inputs.aligned(system.input_names, system.delays)
    solver = system.solver_from(x, table[0], p, settings)
    try:
        settings, refined_for = fitted(system, solver, x, table[0], p, settings)
    except TooFastError as error:
        return too_fast(system, stops, x, inputs, p, error)
    watcher = system.watcher(x, table[0], p, MOST_EVENTS) if settings.watch else None
    march = March(system, codes_for(solver.codes, settings), p, settings, watcher)
    kept, status = 1, integrators.DONE
    for since, until, part_knots, part_table in _stretches(knots, table, stops, settings):
        inner = stops[np.searchsorted(stops, since, 'right') : np.searchsorted(stops, until)]
        states, status = march.through(x, since, np.append(inner, until), part_knots, part_table)
        is_sample = kept + len(inner) < len(stops) and stops[kept + len(inner)] == until
        sampled = states[: len(inner) + is_sample]
        trace[kept : kept + len(sampled)] = sampled
        kept += len(sampled)
        if status != integrators.DONE:
            break
    end = float(stops[-1]) if status == integrators.DONE else march.time
    run = SystemRun(
        system,
        stops[:kept],
        trace[:kept],
        inputs,
        p,
        '',
        x,
        end,
        march.counts,
        march.events,
        '',
        solver if solver.rank is not None else None,
        settings.step if settings.method in FIXED else np.nan,
        refined_for,
    )
    conclude(run, status, solver)
    return run


def fitted(
    system: MarchingSystem, solver: Any, x: Array, u: Array, p: Array, settings: Settings
) -> tuple[Settings, str]:
    """Return the settings with fixed steps short enough for the fastest motion, and its state or '' if unchanged.

    Raises TooFastError if the steps would be too many.
    """
    if settings.method not in FIXED:
        return settings, ''
    rates = system.rhs if solver.rank is None else solver.rates
    stiff = system.dynamics.module.meta.get('stiff', ()) if settings.stiff == 'implicit' else ()
    about = Linearization.of(system.state_names, system.scales, lambda near: rates(near, u, p), x, stiff)
    division = about.division(system.name, settings.step, settings.method == 'rk3')
    if division.parts == 1:
        return settings, ''
    return replace(settings, step=settings.step / division.parts), division.motion.state


def too_fast(
    system: MarchingSystem, stops: Array, x: Array, inputs: Inputs, p: Array, error: TooFastError
) -> SystemRun:
    """Return a run that ends at its start, because no acceptable step follows the fastest motion."""
    status, states = integrators.STATUS[integrators.STEP_TOO_SMALL], x.reshape(1, -1).copy()
    return SystemRun(system, stops[:1], states, inputs, p, status, x, float(stops[0]), detail=str(error))


def codes_for(codes: NDArray[np.int64], settings: Settings) -> NDArray[np.int64]:
    """Return the addresses of the kernels of a system that suit the stiff states and the method of the settings."""
    codes = codes if settings.stiff == 'implicit' else without_stiff(codes)
    return with_damped_steps(codes) if settings.method in ('rk3', 'rk32') else codes


def checked_times(system: MarchingSystem, times: ArrayLike, settings: Settings) -> Array:
    """Return the times of a run. Raises ValueError if they do not increase or the settings do not suit the system."""
    stops = np.ascontiguousarray(times, dtype=np.float64)
    if stops.ndim != 1 or len(stops) == 0 or not np.all(np.diff(stops) > 0):
        raise ValueError('expected at least one time, and rising times')
    if not settings.step > 0:
        raise ValueError(f'expected a step above zero, found {settings.step:g} s')
    if (settings.watch or system.switches) and settings.method not in WATCHING:
        allowed = f'{", ".join(WATCHING[:-1])} or {WATCHING[-1]}'
        purpose = 'to watch for events' if settings.watch else 'with discrete states'
        raise ValueError(f'{system.name}: expected method {allowed} {purpose}, found {settings.method}')
    return stops


def is_smooth(knots: Array, stops: Array, step: float | None) -> bool:
    """Return whether no input jumps between the first and last stop and, with a step, steps end at all knots."""
    near = knots[(knots >= stops[0]) & (knots <= stops[-1])]
    if len(stops) < 2 or not np.all(np.diff(near) > 0):
        return False
    offsets = np.concatenate([stops, near]) - stops[0]
    return step is None or bool(
        np.abs(offsets / step - np.round(offsets / step)).max() <= ON_GRID * max(1.0, float(offsets.max()) / step)
    )


def _stretches(
    knots: Array, table: Array, stops: Array, settings: Settings
) -> Iterator[tuple[float, float, Array, Array]]:
    """Yield the stretches (from, to, knots, table) of a run: one if all steps end at the knots."""
    start, end = float(stops[0]), float(stops[-1])
    grid = settings.step if settings.method in FIXED else None  # adams detects kinks
    if settings.method in (*FIXED, 'adams') and is_smooth(knots, stops, grid):
        yield start, end, knots, table
        return
    yield from stretches(knots, table, start, end)


class March:
    """Advances a state of a system.

    Args:
        system: that is simulated.
        codes: addresses of its kernels.
        p: parameters.
        settings: of the integrator.
        watcher: for the events of fixed steps; None: no events.

    Attributes:
        time: of the state, s.
        counts: steps accepted and rejected by an adaptive method.
        events: so far.
    """

    def __init__(
        self, system: MarchingSystem, codes: NDArray[np.int64], p: Array, settings: Settings, watcher: Watcher | None
    ) -> None:
        self._codes, self._p, self._time_index, self._settings = codes, p, system.time_index, settings
        self._tolerance = np.array([settings.atol * system.scales.get(name, 1.0) for name in system.state_names])
        self._limit, self._watcher = system.guard_limit(settings), watcher
        if settings.method == 'rk32':
            self._tolerance *= [OF_ELEMENTS if name in system.scales else 1.0 for name in system.state_names]
        self.events: list[Event] = []
        self.time = np.nan
        self.counts: dict[str, int] = {} if settings.method in FIXED else {'accepted': 0, 'rejected': 0}

    def through(self, x: Array, since: float, ends: Array, knots: Array, table: Array) -> tuple[Array, int]:
        """Advance x in place from a time, s, through increasing times; return states (t, n) there and the status."""
        self._set_time(x, since)
        times = np.array([since, *ends])
        trace = np.full((len(times), len(x)), np.nan)
        advance = self._fixed if self._settings.method in FIXED else self._adaptive
        reached, status = advance(x, times, knots, table, trace)
        if self._time_index is not None and status != integrators.DIVERGED:
            self.time = float(x[self._time_index])
        return trace[1:reached], status

    def _set_time(self, x: Array, time: float) -> None:
        if self._time_index is not None:
            x[self._time_index] = time

    def _fixed(self, x: Array, times: Array, knots: Array, table: Array, trace: Array) -> tuple[int, int]:
        step, spacing = self._settings.step, np.diff(times)
        stride = max(1, round(float(spacing[0]) / step))
        if np.abs(spacing - stride * step).max() <= ON_GRID * step * stride:
            status, taken = self._steps(x, times[0], step, stride * len(spacing), knots, table, stride, trace)
            if status == integrators.DONE:
                self._set_time(x, times[-1])
            # the state after a diverged step is not stored
            return (taken - (status == integrators.DIVERGED)) // stride + 1, status
        for k, (since, until) in enumerate(pairwise(times)):
            self._set_time(x, since)
            count = max(1, int(np.ceil((until - since) / step - ON_GRID)))
            status, taken = self._steps(x, since, (until - since) / count, count, knots, table, 0, trace)
            if status == integrators.DONE or (status == integrators.GUARDED and taken == count):
                trace[k + 1] = x
            if status != integrators.DONE:
                return k + 1 + (status == integrators.GUARDED and taken == count), status
        return len(times), integrators.DONE

    def _steps(
        self, x: Array, since: float, h: float, count: int, knots: Array, table: Array, stride: int, trace: Array
    ) -> tuple[int, int]:
        arguments = (self._codes, x, float(since), h, count, knots, table, self._p, self._limit, stride, trace)
        if self._watcher is None:
            status, taken = run_rk4(*arguments)
        else:
            status, taken, event_count = run_rk4_watched(*arguments, self._watcher.positive, self._watcher.table)
            self.events += self._watcher.events(event_count)
        self.time = float(since + taken * h)
        return status, taken

    def _adaptive(self, x: Array, times: Array, knots: Array, table: Array, trace: Array) -> tuple[int, int]:
        settings = self._settings
        arguments = (self._codes, x, times, knots, table, self._p, self._limit, settings.rtol, self._tolerance)
        first = min(settings.step, float(times[-1] - times[0]))
        if settings.method == 'rk32':
            watcher = self._watcher or Watcher((), 0)
            watched = watcher.positive, watcher.table
            status, reached, accepted, rejected, events = run_rk32(*arguments, first, SHORTEST, trace, *watched)
            self.events += watcher.events(events)
        else:
            status, reached, accepted, rejected = ADAPTIVE[settings.method](*arguments, first, LEAST_STEP, trace)
        self.counts['accepted'] += accepted
        self.counts['rejected'] += rejected
        self.time = float(times[min(reached, len(times) - 1)])
        return reached, status
