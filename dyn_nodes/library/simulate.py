"""Runs of a machine: one compiled sweep if the inputs are tables, period by period if they come from a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.library.accurate import controlled, run_accurately
from dyn_nodes.library.carried import Conditions, are_assumed, not_at_rest, warn
from dyn_nodes.library.inputs import Drive, Values, table_of, task_profile, within
from dyn_nodes.library.machine_base import STEP
from dyn_nodes.library.motion import starts
from dyn_nodes.library.notice import shown
from dyn_nodes.library.run import Run
from dyn_nodes.library.simulator import RUNNING, Simulator, effort_limits, inputs_of, start_from, state_from
from dyn_nodes.library.vectors import number
from dyn_nodes.simulation import Inputs, Settings
from dyn_nodes.simulation.events import BEYOND, Event, overspeed
from dyn_nodes.simulation.guards.checks import judge
from dyn_nodes.simulation.run import SystemRun

if TYPE_CHECKING:
    from dyn_nodes.control import VoltageProfile
    from dyn_nodes.library.loaded import Loaded

TOLERANCE = 1e-6
"""Tolerance of controlled steps (`Settings.atol` of `rk32`)."""
LONGEST = 1e6
"""Maximum number of periods in a run."""


@dataclass(frozen=True, eq=False)
class Request:
    """Arguments of `Machine.simulate`."""

    duration: float | None
    voltage: Drive | None
    torque: Drive | None
    task: str | Path | VoltageProfile | None
    joints: Mapping[str, float] | ArrayLike | None
    x0: ArrayLike | None
    payload: float | None
    slope: float | tuple[float, float] | None
    period: float
    step: float | None
    accuracy: float | None = None

    @property
    def drive(self) -> tuple[str, Values | Callable[[float, Array], Values] | None]:
        """Kind (`torque` or `voltage`) and values of the driving inputs."""
        quantity, drive = ('torque', self.torque) if self.torque is not None else ('voltage', self.voltage)
        return quantity, {} if isinstance(drive, EllipsisType) else drive


def simulate(machine: Loaded, asked: Request) -> Run:
    """Run a machine; arguments and errors as for `Machine.simulate`."""
    owner = machine.name
    drives = [name for name in ('voltage', 'torque', 'task') if getattr(asked, name) is not None]
    if len(drives) > 1:
        raise ValueError(f'{owner}: expected one of voltage, torque and task, found {" and ".join(drives)}')
    step = STEP if asked.step is None else asked.step
    _check_steps(owner, period=asked.period, step=step)
    if asked.accuracy is not None:
        _check_accuracy(owner, asked)
    if not machine.actuators and (asked.voltage is not None or asked.task is not None):
        raise ValueError(f'{owner}: {drives[0]}: the machine has no actuators; drive its joints by torque')
    profile = None if asked.task is None else task_profile(owner, asked.task, machine.actuators)
    times = _times(owner, asked, profile)
    conditions = machine.conditions_for(asked.payload, asked.slope, asked.x0)
    payload, slope, _ = conditions
    quantity, drive = asked.drive
    torque = asked.torque is not None
    is_changed = callable(drive) or (asked.x0 is not None and machine.system(torque).actuation == 'effort')
    make = machine.plant if is_changed else machine.resting_plant
    plant = make(torque, asked.joints, payload, slope, asked.period, step)
    system: Any = plant.system
    x = plant.x
    if asked.x0 is not None:
        x = state_from(owner, asked.x0, system)
        if is_changed:
            start_from(plant, x, stepped=callable(drive))
        assumed = are_assumed(asked.payload, asked.slope, asked.x0)
        if assumed and starts(system, x, plant.u, plant.p):
            warn(not_at_rest(owner, 'x0', conditions))
    if callable(drive):
        simulator = Simulator(machine, plant, quantity, conditions)
        return Run(machine, _with_events(machine, _stepped(simulator, times, drive), []), conditions)
    held = {name: float(value) for name, value in zip(system.input_names, plant.u)}
    if profile is not None:
        knots = profile.knot_times
        volts = profile.evaluate(knots, profile.actuators)
        drive = {name: (knots, column) for name, column in zip(profile.actuators, np.asarray(volts).T)}
    input_names = inputs_of(system, quantity)
    drive = {} if drive is None else drive
    drives = [
        input_names[name] for name in (drive if isinstance(drive, Mapping) else input_names) if name in input_names
    ]
    limits = {name: limit for name, limit in effort_limits(machine).items() if name in drives}
    inputs, cut = within(table_of(owner, quantity, drive, input_names, held), limits)

    def run(settings: Settings) -> SystemRun:
        made: SystemRun = system.run(x, times, inputs, plant.p.copy(), settings)
        return made

    error = np.nan
    with shown('runs'):
        if asked.accuracy is not None:
            raw, error, _ = run_accurately(run, asked.period, asked.accuracy)
        elif asked.step is None:
            raw = run(controlled(asked.period, TOLERANCE))
        else:
            raw = run(Settings(step=plant.period / plant.substeps, watch=True))
            raw.refined_for = raw.refined_for or plant.refined_for
    return Run(machine, _with_events(machine, raw, cut), conditions, error)


def simulator_of(
    machine: Loaded,
    torque: bool,
    joints: Mapping[str, float] | ArrayLike | None,
    x0: ArrayLike | None,
    conditions: Conditions,
    period: float,
    step: float,
) -> Simulator:
    """Return a machine in simulation; arguments and errors as for `Machine.simulator`."""
    _check_steps(machine.name, period=period, step=step)
    plant = machine.plant(torque, joints, conditions.payload, conditions.slope, period, step)
    if x0 is not None:
        start_from(plant, state_from(machine.name, x0, plant.system), stepped=True)
    return Simulator(machine, plant, 'torque' if plant.system.actuation == 'effort' else 'voltage', conditions)


def _check_steps(owner: str, **steps: float) -> None:
    for name, value in steps.items():
        if not number(owner, name, value) > 0.0:
            raise ValueError(f'{owner}: {name}: expected above 0 s, found {value:g}')


def _check_accuracy(owner: str, asked: Request) -> None:
    if not number(owner, 'accuracy', asked.accuracy) > 0.0:
        raise ValueError(f'{owner}: accuracy: expected above 0, found {asked.accuracy:g}')
    if callable(asked.drive[1]):
        text = 'expected inputs as numbers, tables or a task, found a function, which cannot be repeated; set step'
        raise ValueError(f'{owner}: accuracy: {text}')


def _with_events(machine: Loaded, raw: SystemRun, cut: list[Event]) -> SystemRun:
    """Return the run with the events `saturated` of limited inputs and `overspeed` of driven joints, sorted by time.

    The simulation does not limit the speed of a joint under a specified torque or voltage.
    """
    for joint in machine.data.actuated_joints:
        speed, limit = np.abs(raw.velocity(joint.name)), joint.velocity_limit
        if (beyond := speed > BEYOND * limit).any():
            first = int(np.argmax(beyond))
            cut.append(overspeed(float(raw.times[first]), joint.name, float(speed[first]), limit))
    raw.events[:] = sorted([*cut, *raw.events], key=lambda event: event.time)
    return raw


def _times(owner: str, asked: Request, profile: VoltageProfile | None) -> Array:
    if asked.duration is None and profile is None:
        raise ValueError(f'{owner}: duration: expected seconds, found none')
    duration = profile.duration if asked.duration is None and profile is not None else asked.duration
    seconds = number(owner, 'duration', duration)
    count = seconds / asked.period
    if not seconds > 0.0 or count > LONGEST:
        raise ValueError(f'{owner}: duration: expected above 0 s and at most {LONGEST:g} periods, found {seconds:g} s')
    times: Array = asked.period * np.arange(np.floor(count + 1e-9) + 1.0)
    return times if seconds - times[-1] < 1e-9 else np.append(times, seconds)


def _stepped(simulator: Simulator, times: Array, drive: Any) -> SystemRun:
    """Advance a simulator; the function is evaluated at the start of every period."""
    plant = simulator.plant
    system: Any = plant.system
    states, values = [plant.x.copy()], []
    with shown('runs'):
        for time in times[:-1][np.diff(times) > plant.period * (1.0 - 1e-6)]:
            reached = simulator.advance(drive(float(time), plant.x.copy()))
            values.append(plant.u.copy())
            if reached:
                states.append(plant.x.copy())
            if simulator.status != RUNNING:
                break
    status, detail = ('done', '') if simulator.status == RUNNING else (simulator.status, simulator.detail)
    events = simulator.events
    kept: Array = plant.period * np.arange(float(len(states)))
    table = np.repeat(np.array(values), 2, axis=0)[: 2 * len(states) - 2] if len(states) > 1 else np.array(values[:1])
    knots: Array = np.repeat(kept, 2)[1:-1] if len(states) > 1 else kept
    columns = {name: table[:, k] for k, name in enumerate(plant.system.input_names)}
    solver = system.solver_from(states[0], np.array(values[0]), plant.p, Settings()) if system.constraints else None
    run = SystemRun(
        system,
        kept,
        np.array(states),
        Inputs(knots, columns),
        plant.p.copy(),
        status,
        states[-1],
        float(kept[-1]),
        {},
        events,
        detail,
        solver,
        plant.period / plant.substeps,
        plant.refined_for,
    )
    judge(run)
    return run
