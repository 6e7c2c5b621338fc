"""Recovery by a supervisor: the arm is pulled back some time after a wheel lifts or a margin falls below a limit."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.share import find_resource
from dyn_nodes.control import RecoverOn, SupervisedTask, VoltageProfile, load_voltage_profile
from dyn_nodes.simulation import Inputs, Settings, initial_state
from dyn_nodes.stability.observers import balance_observer
from dyn_nodes.studies.abo_shanab_2003.spatial_runs import SPACING, STEP, SpatialRun, inputs_run, system
from dyn_nodes.studies.framework import StudyRun, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ARMS = ('boom', 'stick')
CLOCK = 8.8
DURATION = 24.0
REPORT = 0.02
"""Period of the margin messages of dynamics_node, s."""
DELAYS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.6, 2.0)
PEAKS = (7.930, 7.764, 7.833, 8.075, None, None, 9.878, None, 14.100)
"""Peak rotation by delay, computed by this engine, deg; None: not checked."""
LIMITS = (0.3, 0.15, 0.1)


class Reaction(NamedTuple):
    """A reaction to the lift-off or to a zero-moment-point degree below a limit, and its delay, s."""

    below: float | None
    delay: float


class Causes(NamedTuple):
    """Times of the causes without recovery, s: first lift-off, and margins below their limits."""

    lift_off: float
    margins: dict[float, float]


@lru_cache(maxsize=1)
def task() -> VoltageProfile:
    """Return the task of the demonstration."""
    return load_voltage_profile(find_resource('config/tasks/pick_and_place_recovery.yaml'))


def inputs_of(course: VoltageProfile | SupervisedTask) -> Inputs:
    """Return the voltages of a task in its current state."""
    grid = course.knot_times
    volts = np.array([course.evaluate(float(time), ARMS) for time in grid])
    return Inputs(grid, {f'{name}/voltage': column for name, column in zip(ARMS, volts.T)})


@lru_cache(maxsize=1)
def causes() -> Causes:
    """Return the times at which tipping is detectable, up to the end of the reach."""
    plant = system()
    p = plant.parameters()
    times: Array = np.arange(round(9.5 / SPACING) + 1, dtype=np.float64) * SPACING
    inputs = inputs_of(task().without_recovery())
    run = plant.run(initial_state(plant, p), times, inputs, p, Settings(step=STEP, watch=True))
    lifted = min(event.time for event in run.events if event.kind == 'lift_off')
    observer = balance_observer(plant, ('zmp',))
    stride = round(REPORT / SPACING)
    reports, states = run.times[::stride], run.states[::stride]
    volts = inputs.at(reports, plant.input_names)
    degrees = np.full(len(reports), np.inf)
    for k, (x, u) in enumerate(zip(states, volts)):
        balance = observer.observe(plant.outputs(x, u, p), p[:3]) if observer is not None else None
        if balance is not None and reports[k] >= task().segments[0].start:
            degrees[k] = balance.margins['zmp'].value
    margins = {limit: float(reports[np.flatnonzero(degrees < limit)[0]]) for limit in LIMITS}
    return Causes(lifted, margins)


def reaction_case(reaction: Reaction) -> SpatialRun:
    """Run the reach and pull the arm back with the delay after the cause."""
    below, delay = reaction
    if below is None:
        supervised = SupervisedTask(task(), RecoverOn('lift_off', delay=delay))
        supervised.record_event('lift_off', causes().lift_off, causes().lift_off)
    else:
        supervised = SupervisedTask(task(), RecoverOn(measure='zmp', below=below, delay=delay))
        supervised.record_measure('zmp', np.nextafter(below, -np.inf), causes().margins[below])
    return inputs_run(inputs_of(supervised), DURATION)


@study('abo-shanab-2003/recovery', '3-D: the arm is pulled back after the lift-off of a wheel, or after a margin')
def recovery(s: StudyRun) -> None:
    """Check the recovery of example 2, started by measured events instead of by the clock."""
    lifted, where = causes().lift_off, 'this engine'
    s.near('first lift-off, s', 'E10', 8.38, lifted, relative=0.03)
    by_clock = reaction_case(Reaction(None, CLOCK - lifted))
    s.near('as late as by the clock: peak, deg', 'section 6.8', 8.55, by_clock.peak, relative=0.03)
    s.near('as late as by the clock: time of the peak, s', 'section 6.8', 10.68, by_clock.peak_time, absolute=0.03)
    runs = s.map(reaction_case, [Reaction(None, delay) for delay in DELAYS], 'delays after lift-off')
    peaks = [run.peak for run in runs]
    for delay, expected, run in zip(DELAYS, PEAKS, runs):
        if expected is not None:
            s.near(f'{delay:g} s after lift-off: peak, deg', where, expected, run.peak, relative=0.005)
    s.holds('up to 0.8 s after lift-off it recovers', where, all(np.isfinite(peaks[: DELAYS.index(0.8) + 1])))
    s.holds('from 1 s after lift-off it overturns', where, not any(np.isfinite(peaks[DELAYS.index(1.0) :])))
    s.rising('beyond 0.1 s, a later reaction gives a greater peak', where, peaks[1 : DELAYS.index(0.8) + 1])
    s.holds(
        'braking the reach at once tips it farther than completing the reach',
        where,
        peaks[0] > peaks[1],
        expected='0 s above 0.1 s',
        value=peaks[:2],
    )
    early = s.map(reaction_case, [Reaction(limit, 0.3) for limit in LIMITS], 'limits of the margin')
    for limit, run in zip(LIMITS, early):
        s.holds(f'0.3 s after the zero moment point degree is below {limit:g} it recovers', where, not run.overturned)
    s.holds(
        'a margin of 0.1 is not reached before the wheel lifts, and does not reduce the rotation',
        where,
        abs(causes().margins[0.1] - lifted) < 0.1 and early[LIMITS.index(0.1)].peak > peaks[1],
        expected=f'above {peaks[1]:.2f} deg',
        value=early[LIMITS.index(0.1)].peak,
    )
    s.holds(
        'a margin of 0.15 keeps the rotation below half of the rotation after a reaction to the lift-off',
        where,
        early[LIMITS.index(0.15)].peak < 0.5 * peaks[DELAYS.index(0.3)],
        expected=f'below {0.5 * peaks[DELAYS.index(0.3)]:.2f} deg',
        value=early[LIMITS.index(0.15)].peak,
    )
    s.figure('recovery', 'Peak of the base rotation by the delay after lift-off', lambda: _draw(peaks))


def _draw(peaks: list[float]) -> Figure:
    from matplotlib.figure import Figure as Drawn

    figure = Drawn(figsize=(6.4, 3.6), layout='constrained')
    axes = figure.subplots()
    shown = [(delay, peak) for delay, peak in zip(DELAYS, peaks) if np.isfinite(peak)]
    axes.plot(*zip(*shown), 'o-', color='#2f6f8f')
    lost = [delay for delay, peak in zip(DELAYS, peaks) if not np.isfinite(peak)]
    axes.plot(lost, [max(peak for _, peak in shown)] * len(lost), 'x', color='#b0413e', label='overturns')
    axes.set(xlabel='delay after lift-off, s', ylabel='peak rotation of the base, deg')
    axes.legend(frameon=False)
    return figure
