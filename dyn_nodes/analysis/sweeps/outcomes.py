"""Built-in outcomes of a run by name, each with its columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.simulation.run import SystemRun

if TYPE_CHECKING:
    from dyn_nodes.analysis.sweeps.sweep import Sweep

Cell = float | bool | str
AT_REST = 0.02
"""Speed of a joint below which it counts as at rest, rad/s or m/s."""
_PRESSURE = re.compile(r'/(\w*_)?pressure(_[ab])?$')


class Observed(NamedTuple):
    """Input of the outcomes.

    Attributes:
        run: sampled run.
        margins: (t,) values of the measures by name; empty if no outcome needs margins.
        loads: (t, w) normal force of every contact, N.
    """

    run: SystemRun
    margins: Mapping[str, Array]
    loads: Array


class SweepOutcome(NamedTuple):
    """A built-in outcome.

    Attributes:
        columns: name -> kind (`flag` or `number`) of its columns, by the measures of the sweep.
        values: values of a run, in the same order.
        meaning: description of the columns for the documentation.
    """

    columns: Callable[[Iterable[str]], Mapping[str, str]]
    values: Callable[[Observed], tuple[Cell, ...]]
    meaning: str


class _Named(Protocol):
    """Names of a system's signals."""

    state_names: tuple[str, ...]
    output_names: tuple[str, ...]


def signal(run: SystemRun, name: str) -> Array:
    """Return a state or an output (t,) of a run by name."""
    return run.state(name) if name in run.system.state_names else run.output(name)


def pressures(system: _Named) -> tuple[str, ...]:
    """Return the names of the pressures of lines and pumps."""
    return tuple(name for name in (*system.state_names, *system.output_names) if _PRESSURE.search(name))


def _overturned(seen: Observed) -> tuple[Cell, ...]:
    return (bool(seen.run.overturned),)


def lift_off_time(seen: Observed) -> float:
    """Return the first time at which a contact has no normal force, s; NaN if there is none."""
    events = [event.time for event in seen.run.events if event.kind == 'lift_off']
    up = (seen.loads <= 0.0).any(axis=1)
    sampled = [float(seen.run.times[np.argmax(up)])] if up.any() else []
    return min([*events, *sampled], default=float('nan'))


def _lift_off(seen: Observed) -> tuple[Cell, ...]:
    time = lift_off_time(seen)
    return bool(np.isfinite(time)), time


def _recovered(seen: Observed) -> tuple[Cell, ...]:
    supported = seen.run.status == 'done' and bool((seen.loads[-1] > 0.0).all())
    return (supported and bool(np.isfinite(lift_off_time(seen))),)


def _least_margin(seen: Observed) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for values in seen.margins.values():
        index = int(np.argmin(values))  # the first NaN, if any
        cells += [float(values[index]), float(seen.run.times[index])]
    return tuple(cells)


def _peak_pressure(seen: Observed) -> tuple[Cell, ...]:
    peaks = [float(signal(seen.run, name).max()) for name in pressures(seen.run.system)]
    return (max(peaks, default=float('nan')),)


def _cycle_time(seen: Observed) -> tuple[Cell, ...]:
    run = seen.run
    joints = [joint.name for joint in run.system.machine.movable_joints]
    rates = np.column_stack([run.state(f'{name}_rate') for name in joints])
    moving = np.flatnonzero((np.abs(rates) > AT_REST).any(axis=1))
    if run.status != 'done' or len(moving) == 0 or moving[-1] == len(run.times) - 1:
        return (0.0 if run.status == 'done' and len(moving) == 0 else float('nan'),)
    return (float(run.times[moving[-1] + 1]),)


def _greatest_tilt(seen: Observed) -> tuple[Cell, ...]:
    return (float(seen.run.output('tilt').max()),)


OUTCOMES: Mapping[str, SweepOutcome] = {
    'overturned': SweepOutcome(
        lambda _: {'overturned': 'flag'}, _overturned, "the base tilted beyond the machine's `overturn_angle`"
    ),
    'lift_off': SweepOutcome(
        lambda _: {'lifted': 'flag', 'lift_off_time': 'number'},
        _lift_off,
        'a contact left the ground, and the time of the first lift-off, s (located within the step of the integrator)',
    ),
    'recovered': SweepOutcome(
        lambda _: {'recovered': 'flag'}, _recovered, 'a contact left the ground, and at the end all are on it'
    ),
    'least_margin': SweepOutcome(
        lambda measures: {
            name: 'number' for measure in measures for name in (f'least_{measure}', f'least_{measure}_time')
        },
        _least_margin,
        'least margin of each of `measures` over the samples, in its unit, and its time, s',
    ),
    'peak_pressure': SweepOutcome(
        lambda _: {'peak_pressure': 'number'}, _peak_pressure, 'greatest pressure of a line or a pump, Pa'
    ),
    'cycle_time': SweepOutcome(
        lambda _: {'cycle_time': 'number'},
        _cycle_time,
        f'time after which no joint is faster than {AT_REST:g} rad/s (m/s), s; NaN if the run ends before',
    ),
    'greatest_tilt': SweepOutcome(
        lambda _: {'greatest_tilt': 'number'}, _greatest_tilt, "greatest angle of the base to the ground's normal, rad"
    ),
}
"""Built-in outcomes by name."""


def columns_of(sweep: Sweep) -> dict[str, str]:
    """Return name -> kind of the columns of the built-in outcomes of a sweep, in their order."""
    result: dict[str, str] = {}
    for name in OUTCOMES:
        if name in sweep.outcomes:
            result.update(OUTCOMES[name].columns(sweep.measures))
    return result
