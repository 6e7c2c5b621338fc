"""Runs of the 3-D log-loader for the studies: voltage profiles, and joints under valve position control."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.share import find_resource
from dyn_nodes.compile import integrators as status_codes
from dyn_nodes.compile.integrators import run_rk4
from dyn_nodes.control import trapezoid
from dyn_nodes.model import Actuator, Machine, load_machine
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.multibody.elements import symbolic
from dyn_nodes.simulation import Inputs, Settings, System, initial_state
from dyn_nodes.simulation.tree_dynamics import TreeDynamics
from dyn_nodes.studies.abo_shanab_2003.line_relief import LineReliefDynamics
from dyn_nodes.studies.abo_shanab_2003.valve_law import ValvePositionLaw

STEP = 1e-3
SPACING = 0.01
Schedule = Mapping[str, Sequence[tuple[float, float, float, float]]]

REACH: Schedule = {'boom': ((5.0, 8.8, -5.0, 0.6),), 'stick': ((5.0, 8.8, -5.5, 0.6),)}
RECOVERY: Schedule = {'boom': ((8.8, 11.8, 4.5, 0.6),), 'stick': ((8.8, 11.8, 4.0, 0.6),)}
FAST_REACH: Schedule = {'boom': ((5.0, 7.2, -5.5, 0.3),), 'stick': ((5.0, 7.2, -6.0, 0.3),)}
FAST_RECOVERY: Schedule = {'boom': ((7.4, 10.4, 4.5, 0.3),), 'stick': ((7.4, 10.4, 5.0, 0.3),)}


@dataclass(frozen=True, eq=False)
class SpatialRun:
    """Results of a run.

    Attributes:
        times: s.  tilt, pitch: of the base, deg.  joints: by name, deg.  rates: by joint, rad/s.  loads: by wheel, N.
        overturned: beyond the machine's limit.  end_time: s.
    """

    times: Array
    tilt: Array
    pitch: Array
    joints: dict[str, Array]
    rates: dict[str, Array]
    loads: dict[str, Array]
    overturned: bool
    end_time: float

    @property
    def peak(self) -> float:
        """Greatest tilt, deg; infinity if it overturned."""
        return float('inf') if self.overturned else float(self.tilt.max())

    @property
    def peak_time(self) -> float:
        """Time of the greatest tilt, s."""
        return float(self.times[int(np.argmax(self.tilt))])

    @property
    def least_load(self) -> float:
        """Least load of any wheel at any time, N."""
        return float(min(load.min() for load in self.loads.values()))

    def lift_time(self, wheel: str) -> float:
        """Return the time at which a wheel first leaves the ground, s; NaN if it never does."""
        return self._first(self.loads[wheel] <= 0.0)

    @property
    def first_return(self) -> float:
        """First time after the peak at which all wheels are on the ground, s; NaN if they never are."""
        standing = np.min(list(self.loads.values()), axis=0) > 0.0
        return self._first(standing & (self.times > self.peak_time))

    def pitch_at(self, time: float) -> float:
        """Return the pitch at a time, deg."""
        return float(np.interp(time, self.times, self.pitch))

    def _first(self, condition: NDArray[np.bool_]) -> float:
        indices = np.flatnonzero(condition)
        return float(self.times[indices[0]]) if len(indices) else float('nan')


@lru_cache(maxsize=1)
def log_loader() -> Machine:
    """Return the machine of chapter 7."""
    return load_machine(find_resource('urdf/log_loader.urdf'), find_resource('config/log_loader.yaml'))


@lru_cache(maxsize=8)
def system(variant: str = 'standard') -> System:
    """Return the compiled machine: `standard`, `fast_swing` (spec G6) or `fast_valves` (spec G15).

    `fast_swing` has the line reliefs of the reference runs (`line_relief`), `fast_swing_crossover` cross-over reliefs.
    """
    machine = log_loader()
    changes: dict[str, Callable[[Actuator], Any]] = {
        'standard': lambda actuator: actuator,
        'fast_swing': _fast_swing,
        'fast_swing_crossover': _fast_swing,
        'fast_valves': _fast_valves,
    }
    actuators = tuple(changes[variant](actuator) for actuator in machine.actuators)
    made = LineReliefDynamics if variant == 'fast_swing' else TreeDynamics
    return System.of(made(replace(machine, actuators=actuators, name=f'{machine.name}_{variant}')))


def _fast_swing(actuator: Actuator) -> Actuator:
    if actuator.name != 'swing':
        return actuator
    supply = replace(hydraulic(actuator).supply, flow=12e-3)
    return symbolic(actuator, displacement=7.0e-3, supply=supply)


def _fast_valves(actuator: Actuator) -> Actuator:
    flows = {'boom': 6e-3, 'stick': 5e-3}
    if actuator.name not in flows:
        return actuator
    drive = hydraulic(actuator)
    valve = replace(drive.valve, inlet_gain=2e-2, outlet_gain=1.2e-2)
    return symbolic(drive, valve=valve, supply=replace(drive.supply, flow=flows[drive.name]))


def voltage_inputs(schedules: Sequence[Schedule]) -> Inputs:
    """Return the voltages of trapezoids (ta, tb, u, r) one after the other."""
    knots: dict[str, tuple[Array, Array]] = {}
    for schedule in schedules:
        for name, pulses in schedule.items():
            for pulse in pulses:
                times, volts = trapezoid(*pulse)
                before = knots.get(name, (np.zeros(1), np.zeros(1)))
                knots[name] = (np.append(before[0], times), np.append(before[1], volts))
    grid = np.unique(np.concatenate([times for times, _ in knots.values()]))
    return Inputs(grid, {f'{name}/voltage': np.interp(grid, *column) for name, column in knots.items()})


def profile_run(
    schedules: Sequence[Schedule],
    duration: float,
    parameters: Mapping[str, float] | None = None,
    posture: Mapping[str, float] | None = None,
) -> SpatialRun:
    """Run voltage profiles with 5100 kg; `posture` in rad, None: the machine's initial posture."""
    return inputs_run(voltage_inputs(schedules), duration, parameters, posture)


def inputs_run(
    inputs: Inputs,
    duration: float,
    parameters: Mapping[str, float] | None = None,
    posture: Mapping[str, float] | None = None,
) -> SpatialRun:
    """Run voltages with 5100 kg; see `profile_run`."""
    plant = system()
    p = plant.parameters(parameters)
    times = _sampling(round(duration / SPACING) + 1)
    run = plant.run(initial_state(plant, p, posture), times, inputs, p, Settings(step=STEP))
    return _spatial(
        plant, run.times, run.states, run.inputs.at(run.times, plant.input_names), p, run.overturned, run.end_time
    )


@dataclass(frozen=True)
class Led:
    """A joint under valve position control.

    Attributes:
        joint, actuator: names.  law: the controller.
        times, angles: knots of the piecewise-linear reference, s and rad.
    """

    joint: str
    actuator: str
    law: ValvePositionLaw
    times: tuple[float, ...]
    angles: tuple[float, ...]


def led_run(
    variant: str, posture: Mapping[str, float], payload: float, led: Sequence[Led], duration: float
) -> SpatialRun:
    """Run with valve position controllers, evaluated every millisecond; `posture` in rad."""
    plant = system(variant)
    p = plant.parameters({'payload_mass': payload})
    x = initial_state(plant, p, posture)
    steps, stride = round(duration / STEP), round(SPACING / STEP)
    indices = [plant.index('state', item.joint) for item in led]
    ports = [plant.index('input', f'{item.actuator}/voltage') for item in led]
    grid = np.arange(steps) * STEP
    references = [np.interp(grid, item.times, item.angles) for item in led]
    limit = float(np.cos(plant.machine.overturn_angle))
    knots, u, nothing = np.zeros(1), np.zeros((1, len(plant.input_names))), np.zeros((1, len(x)))
    states, inputs, overturned = [x.copy()], [u[0].copy()], False
    for step in range(steps):
        for item, index, port, reference in zip(led, indices, ports, references):
            u[0, port] = item.law.voltage(reference[step], x[index])
        status, _ = run_rk4(plant.codes, x, 0.0, STEP, 1, knots, u, p, limit, 0, nothing)
        if (step + 1) % stride == 0 or status != status_codes.DONE:
            states.append(x.copy())
            inputs.append(u[0].copy())
        if status == status_codes.DIVERGED:
            raise RuntimeError(f'{variant}: the run diverged at {step * STEP:.3f} s')
        if status == status_codes.GUARDED:
            overturned = True
            break
    times = _sampling(len(states))
    return _spatial(plant, times, np.array(states), np.array(inputs), p, overturned, (step + 1) * STEP)


def _sampling(count: int) -> Array:
    return np.arange(count, dtype=np.float64) * SPACING


def _spatial(
    plant: System, times: Array, states: Array, inputs: Array, p: Array, overturned: bool, end_time: float
) -> SpatialRun:
    outputs = np.array([plant.outputs(x, u, p) for x, u in zip(states, inputs)])

    def column(name: str) -> Array:
        return outputs[:, plant.index('output', name)]

    return SpatialRun(
        times,
        np.degrees(column('tilt')),
        np.degrees(column('pitch')),
        {j.name: np.degrees(states[:, plant.index('state', j.name)]) for j in plant.machine.movable_joints},
        {j.name: states[:, plant.index('state', f'{j.name}_rate')] for j in plant.machine.movable_joints},
        {w.name: column(f'{w.name}/normal_force') for w in plant.machine.wheels},
        overturned,
        end_time,
    )
