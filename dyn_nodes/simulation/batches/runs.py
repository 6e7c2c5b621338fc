"""Batches of runs of one system: many runs of `System.run` in one call.

A tree is simulated with rk4 and rk3 by vector kernels, one run per lane, on all cores and without the interpreter.
`takes_lanes` returns whether a system and settings qualify; others run one by one, on all cores if their kernels
release the interpreter.

A run in a lane has the same steps and branches as a single run, except for rounding: its kernels are fused differently,
and their sine, cosine and exponential differ in the last digit. It does not depend on the other runs of the batch: on
one computer, a run has the same bits in any batch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import CompiledModule, integrators
from dyn_nodes.compile.integrators import codes_of
from dyn_nodes.compile.integrators.codes import PLACES, STIFF
from dyn_nodes.compile.integrators.lanes import Made, run_lanes
from dyn_nodes.compile.lanes import lane_count
from dyn_nodes.compile.module import lane_module, wide_kernel
from dyn_nodes.simulation import Inputs, Settings, System, SystemRun
from dyn_nodes.simulation.batches.plan import Course, course_of, plan_of
from dyn_nodes.simulation.events import EVENT_COLUMNS, Watcher
from dyn_nodes.simulation.guards.endings import conclude
from dyn_nodes.simulation.guards.fastest_motion import TooFastError
from dyn_nodes.simulation.march import checked_times, codes_for, fitted, too_fast
from dyn_nodes.simulation.settings import FIXED

EVENTS = 512
"""Greatest number of events of a run in a lane; a run with more is repeated alone."""
OF_LANES = ('rhs', 'guard', 'watch', 'switch', 'stiff', 'outputs')
BLOCK = 4
"""Number of runs per lane in a task of a thread: a lane whose run ends early continues with the next run."""


def takes_lanes(system: System, settings: Settings) -> bool:
    """Return whether runs of a system use the vector lanes.

    Systems with constraints, which need a solve in every step, systems with modes and adaptive steps do not.
    """
    return system.constraints is None and system.time_index is None and settings.method in FIXED


def run_batch(
    system: System,
    x0: ArrayLike,
    times: ArrayLike,
    inputs: Inputs | Sequence[Inputs] | None = None,
    p: ArrayLike | Mapping[str, float] | None = None,
    settings: Settings | None = None,
    threads: int = 0,
) -> list[SystemRun]:
    """Simulate many runs from their states at times[0] through `times`, like `System.run`.

    Args:
        system: of all of them.
        x0: (r, n) states, or (n,) for all.
        times: (t,) increasing sample times, s.
        inputs: of all runs, or of each; None: zero.
        p: (r, k) parameters; for all runs (k,), or values that replace defaults by name.
        settings: of the integrator.
        threads: number of threads; 0: one per core.

    Raises:
        ValueError: arrays with other numbers of runs or columns; errors of `System.run`.
        KeyError: unknown input.
    """
    settings = settings or Settings()
    input_sets = [inputs or Inputs.constant()] if inputs is None or isinstance(inputs, Inputs) else list(inputs)
    shared = system.parameter_vector(p) if p is None or isinstance(p, Mapping) or np.ndim(p) == 1 else p
    states, parameters = np.atleast_2d(np.array(x0, dtype=float)), np.atleast_2d(np.array(shared, dtype=float))
    count = max(len(states), len(parameters), len(input_sets))
    states, parameters = _for_all(states, count, 'states'), _for_all(parameters, count, 'parameters')
    if len(input_sets) not in (1, count):
        raise ValueError(f'inputs: expected 1 or {count}, found {len(input_sets)}')
    for x, values in zip(states, parameters):
        system.check(x, np.empty(len(system.input_names)), values)
    threads = threads or os.cpu_count() or 1
    stops = checked_times(system, times, settings)
    every = input_sets * count if len(input_sets) == 1 else input_sets
    if takes_lanes(system, settings):
        return _in_lanes(system, states, stops, every, parameters, settings, threads)

    def alone(k: int) -> Callable[[], SystemRun]:
        return lambda: system.run(states[k], stops, every[k], parameters[k], settings)

    return _shared_out(threads, [alone(k) for k in range(count)])


def _for_all(rows: Array, count: int, name: str) -> Array:
    if len(rows) not in (1, count):
        raise ValueError(f'{name}: expected 1 or {count} rows, found {len(rows)}')
    return np.array(np.broadcast_to(rows, (count, rows.shape[1])), order='C')


def _shared_out(threads: int, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return the results of tasks that run in threads."""
    if threads == 1 or len(tasks) == 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(threads) as pool:
        return [future.result() for future in [pool.submit(task) for task in tasks]]


def lane_kernels(module: CompiledModule) -> CompiledModule:
    """Return the vector kernels of a compiled tree for the lanes of this processor."""
    return lane_module(module, tuple(name for name in OF_LANES if name in module.kernels), lane_count())


def fill_outputs(runs: Sequence[SystemRun]) -> None:
    """Compute `u` and `all_outputs` of runs of one system in one call, if the system `takes_lanes`."""
    if not runs or not takes_lanes(runs[0].system, Settings()):
        return
    system = runs[0].system
    inputs_of: dict[tuple[int, int], Array] = {}
    for run in runs:
        key = id(run.inputs), len(run.times)
        if key not in inputs_of:
            inputs_of[key] = run.u
        run.__dict__['u'] = inputs_of[key]
    x, u = np.concatenate([run.states for run in runs]), np.concatenate([run.u for run in runs])
    counts = [len(run.times) for run in runs]
    p = np.repeat([run.parameters for run in runs], counts, axis=0)
    y = np.empty((len(x), len(system.output_names)))
    wide_kernel(lane_kernels(system.module), 'outputs').fill(x, u, p, y)
    for run, outputs in zip(runs, np.split(y, np.cumsum(counts)[:-1])):
        run.__dict__['all_outputs'] = outputs


def _lane_codes(system: System, settings: Settings) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the addresses of the vector kernels and of the scalar kernels."""
    wide = codes_for(codes_of(lane_kernels(system.module)), settings)
    if wide[STIFF] == 0:
        wide = wide[:PLACES].copy()
    return wide, codes_for(system.codes, settings)


def _in_lanes(
    system: System,
    states: Array,
    stops: Array,
    inputs: Sequence[Inputs],
    parameters: Array,
    settings: Settings,
    threads: int,
) -> list[SystemRun]:
    first = [series.aligned(system.input_names, system.delays)[1][0] for series in inputs]
    runs: dict[int, SystemRun] = {}
    fits: dict[int, tuple[Settings, str]] = {}
    for k, (x, u, p) in enumerate(zip(states, first, parameters)):
        try:
            fits[k] = fitted(system, system.solver_from(x, u, p, settings), x, u, p, settings)
        except TooFastError as error:
            runs[k] = too_fast(system, stops, x.copy(), inputs[k], p, error)
    if fits:
        chosen = list(fits)
        arguments = states[chosen], stops, [inputs[k] for k in chosen], [first[k] for k in chosen], parameters[chosen]
        runs |= zip(chosen, _marched(system, *arguments, settings, list(fits.values()), threads))
    return [runs[k] for k in range(len(states))]


def _marched(
    system: System,
    states: Array,
    stops: Array,
    inputs: Sequence[Inputs],
    first: Sequence[Array],
    parameters: Array,
    settings: Settings,
    fits: Sequence[tuple[Settings, str]],
    threads: int,
) -> list[SystemRun]:
    """Return the runs in lanes; `fits` are the settings of each run and the state that requires its step."""
    lanes, count = lane_count(), len(states)
    wide, single = _lane_codes(system, settings)
    courses, of_run = _courses(system, inputs, stops, [fit.step for fit, _ in fits])
    watchers = [system.watcher(x, u, p, 0) for x, u, p in zip(states, first, parameters)] if settings.watch else []
    made = _room(states, stops, watchers)
    plan, limit = plan_of(courses, of_run), system.guard_limit(settings)
    share = lanes * min(BLOCK, max(1, -(-count // (lanes * threads))))

    def task(start: int) -> Callable[[], None]:
        return lambda: run_lanes(wide, single, lanes, plan, made, parameters, limit, start, min(start + share, count))

    _shared_out(threads, [task(start) for start in range(0, count, share)])
    return [_run(system, k, stops, inputs[k], parameters[k], fits[k], made, watchers) for k in range(count)]


def _courses(
    system: System, inputs: Sequence[Inputs], stops: Array, steps: Sequence[float]
) -> tuple[list[Course], NDArray[np.intp]]:
    """Return the courses, and the index of the course of each run; equal inputs and steps share a course."""
    course_numbers: dict[tuple[int, float], int] = {}
    courses: list[Course] = []
    keys = [(id(series), step) for series, step in zip(inputs, steps)]
    for series, key in zip(inputs, keys):
        if key not in course_numbers:
            course_numbers[key] = len(courses)
            courses.append(course_of(*series.aligned(system.input_names, system.delays), stops, key[1]))
    return courses, np.array([course_numbers[key] for key in keys], dtype=np.intp)


def _room(states: Array, stops: Array, watchers: Sequence[Watcher]) -> Made:
    count, n = states.shape
    trace = np.full((count, len(stops), n), np.nan)
    trace[:, 0] = states
    positive = np.array([watcher.positive for watcher in watchers]) if watchers else np.ones((count, 0), np.bool_)
    return Made(
        states.copy(),
        trace,
        np.ones(count, np.int64),
        np.full(count, integrators.DONE),
        np.full(count, stops[0]),
        positive,
        np.zeros((count, EVENTS if positive.shape[1] else 0, EVENT_COLUMNS)),
        np.zeros(count, np.int64),
    )


def _run(
    system: System,
    k: int,
    stops: Array,
    inputs: Inputs,
    p: Array,
    fit: tuple[Settings, str],
    made: Made,
    watchers: Sequence[Watcher],
) -> SystemRun:
    settings, refined_for = fit
    if made.events[k] > EVENTS:
        return system.run(made.trace[k, 0], stops, inputs, p, settings)
    events = []
    if watchers:
        watchers[k].table = made.found[k]
        events = watchers[k].events(int(made.events[k]))
    status, kept = int(made.status[k]), int(made.kept[k])
    end = float(stops[-1] if status == integrators.DONE else made.time[k])
    times, states = stops[:kept], made.trace[k, :kept]
    run = SystemRun(
        system, times, states, inputs, p, '', made.x[k], end, {}, events, '', None, settings.step, refined_for
    )
    conclude(run, status)
    return run
