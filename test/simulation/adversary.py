"""Random commands to machines with constraints and uncertain parameters, and the checks of such runs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from dyn_nodes.common.share import find_resource
from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation.period import PlantStoppedError
from dyn_nodes.simulation.plant import Plant

PERIOD, STEP = 0.01, 1e-4
OPPOSITE = {'lift_off': 'touch_down', 'relief_open': 'relief_closed'}
"""Pairs of events of one element that alternate."""
SCALES = {
    'friction_scale': (0.3, 1.2),
    'wheel_stiffness_scale': (0.5, 1.5),
    'wheel_damping_scale': (0.5, 2.0),
    'bulk_modulus_scale': (0.3, 1.5),
    'joint_stop_scale': (0.5, 2.0),
}
EFFORTS = {'front_left_steer': 400.0, '_drive': 300.0}
"""Greatest effort of a joint by its name or the end of its name, N m."""


@cache
def machine_of(name: str) -> Machine:
    return load_machine(find_resource(f'urdf/{name}.urdf'), find_resource(f'config/{name}.yaml'))


@cache
def plant_of(name: str) -> Plant:
    """Return the plant of a machine with its actuators; compiled once."""
    machine = machine_of(name)
    actuation = 'hydraulic' if machine.actuators else 'effort'
    return Plant(machine, actuation, PERIOD, STEP, measures=('static',))


@dataclass
class Play:
    """Result of a run with its greatest errors.

    Attributes:
        end: kind of the event that ended it, or ''.
        time: reached, s.  drift: of the constraints, m or rad.
        imbalance: greatest error of the energy over the energy exchanged until then.
        exchanged: work and heat, J.
        events: (time, kind, element).
        faults: texts of violated conditions.
    """

    end: str = ''
    time: float = 0.0
    drift: float = 0.0
    imbalance: float = 0.0
    exchanged: float = 0.0
    events: list[tuple[float, str, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def inputs(plant: Plant, rng: np.random.Generator) -> dict[str, float]:
    """Return random commands: voltages up to 1.5 times the limit of a valve, or efforts; some of them zero."""
    chosen = {}
    limits = {f'{actuator.name}/voltage': 1.5 * actuator.command_limit for actuator in plant.machine.actuators}
    for name in plant.system.input_names:
        joint = name.removesuffix('/effort')
        effort = next((size for end, size in EFFORTS.items() if joint.endswith(end)), 0.0)
        limit = limits.get(name, effort)
        chosen[name] = float(rng.uniform(-limit, limit)) if rng.random() < 0.8 else 0.0
    return chosen


def uncertain(plant: Plant, rng: np.random.Generator) -> None:
    """Set random parameters of the plant, at rest again: scales, a payload, a slope."""
    plant.p[:] = plant.system.parameters()
    for name, (low, high) in SCALES.items():
        if name in plant.system.parameter_names:
            plant.set_parameter(name, float(rng.uniform(low, high)))
    payload = plant.machine.payload
    if payload is not None:
        plant.set_parameter('payload_mass', float(rng.uniform(0.0, 0.5 * payload.limit)))
    plant.set_slope(float(rng.uniform(-0.06, 0.06)), float(rng.uniform(-0.06, 0.06)))
    plant.reset()


def in_bristles(machine: Machine) -> float:
    """Return the greatest energy, J, of bristles of tyres and tracks under twice the weight; it counts as heat."""
    weight = machine.gravity * machine.total_mass
    laws = [element.friction for element in (*machine.wheels, *machine.contacts)]
    return max((law.static**2 * weight / law.bristle_stiffness for law in laws if law is not None), default=0.0)


def energy(plant: Plant) -> tuple[float, float, float]:
    """Return the energy, work done on the machine and heat, J."""
    work, heat = (plant.x[plant.system.index('state', name)] for name in ('work', 'heat'))
    return plant.output('kinetic_energy') + plant.output('potential_energy'), float(work), float(heat)


def play(name: str, seed: int, duration: float, longest: float = 0.5) -> Play:
    """Run a machine with randomly switched commands; return the result."""
    rng, plant, result = np.random.default_rng(seed), plant_of(name), Play()
    uncertain(plant, rng)
    start, before = energy(plant), energy(plant)
    switch = 0.0
    while plant.time < duration - 1e-9 and not plant.overturned:
        if plant.time >= switch:
            plant.set_inputs(inputs(plant, rng))
            switch = plant.time + float(rng.uniform(0.02, longest))
        began = plant.time
        try:
            plant.advance()
        except PlantStoppedError as stopped:
            result.end = stopped.kind
            break
        _note_events(plant, began, result)
        now = energy(plant)
        result.exchanged += abs(now[1] - before[1]) + abs(now[2] - before[2])
        if now[2] < start[2] - in_bristles(plant.machine) - 1e-9 * result.exchanged:
            result.faults.append(f'{plant.time:.3f} s: heat of {now[2] - start[2]:.3g} J')
        error = abs(now[0] + now[2] - now[1] - start[0] - start[2] + start[1])
        result.imbalance = max(result.imbalance, error / max(result.exchanged, 1.0))
        before = now
        result.drift = max(result.drift, plant.output('constraint_drift'))
        if not (np.isfinite(plant.x).all() and np.isfinite(plant.outputs()).all()):
            result.faults.append(f'{plant.time:.3f} s: numbers that are not finite')
            break
    result.time = plant.time
    _check_order(result)
    return result


def _note_events(plant: Plant, began: float, result: Play) -> None:
    for event in plant.take_events():
        subject = ' '.join(value for value in event.details.values() if isinstance(value, str))
        result.events.append((event.time, event.kind, subject))
        if not began - 1e-9 <= event.time <= plant.time + 1e-9:
            result.faults.append(f'{event.kind} at {event.time:.4f} s, between {began:.3f} and {plant.time:.3f} s')


def _check_order(result: Play) -> None:
    """Check that opposite events of an element alternate; it starts on the ground or shut."""
    last: dict[tuple[str, str], str] = defaultdict(str)
    for time, kind, element in result.events:
        for first, second in OPPOSITE.items():
            if kind in (first, second):
                if kind == last[first, element] or (kind == second and not last[first, element]):
                    result.faults.append(f'{time:.4f} s: {kind} of {element} after {last[first, element] or "nothing"}')
                last[first, element] = kind
