"""A machine driven to and fro through its valves for the identification of its hydraulics; recorded with noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dyn_nodes.analysis.hydraulic_fit import ActuatorRecord, Signal
from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation.plant import Plant

PERIOD = 2e-3  # of joint states
PRESSURE_EVERY = 2  # joint states: 250 Hz
COMMAND_EVERY = 5
RANGES = {'boom': (-0.09, 0.87), 'stick': (-2.0, -0.35), 'swing': (-1.0, 1.0)}
FIELDS = ('spool', 'first', 'second', 'supply')


@dataclass(frozen=True, eq=False)
class ExcitedRun:
    """Exact signals: `times` (t,); by actuator position, velocity, effort, spool, first, second, supply (t,)."""

    machine: Machine
    times: np.ndarray
    signals: dict[str, dict[str, np.ndarray]]

    def record(self, name: str, noise: float, seed: int) -> ActuatorRecord:
        """Return the readings of sensors with noise relative to each signal's range."""
        rng = np.random.default_rng([seed, *name.encode()])
        signals = self.signals[name]

        def measured(field: str, every: int) -> Signal:
            values = signals[field]
            noisy = values + noise * np.ptp(values) * rng.normal(size=len(values))
            return Signal(self.times[::every], noisy[::every])

        joint = (measured(field, 1) for field in ('position', 'velocity', 'effort'))
        return ActuatorRecord(*joint, *(measured(field, PRESSURE_EVERY) for field in FIELDS))


def excited_run(machine: Machine, duration: float, seed: int) -> ExcitedRun:
    """Drive every actuator between the ends of a range, at random levels of voltage, with pauses."""
    rng = np.random.default_rng(seed)
    machine = replace(machine, payload=replace(machine.payload, mass=1000.0))
    plant = Plant(machine, 'hydraulic', PERIOD, 5e-4, measures=())
    system, names = plant.system, [actuator.name for actuator in machine.actuators]
    columns = {}
    for actuator in machine.actuators:
        states = [
            actuator.joint,
            f'{actuator.joint}_rate',
            *(f'{actuator.name}/{s}' for s in ('spool', *actuator.lines)),
        ]
        outputs = [f'{actuator.joint}/drive_effort', f'{actuator.name}/supply_pressure']
        columns[actuator.name] = (
            [system.index('state', name) for name in states],
            [system.index('output', name) for name in outputs],
        )
    index = {actuator.name: plant.joints.index(actuator.joint) for actuator in machine.actuators}
    sign = {'boom': 1.0, 'stick': -1.0, 'swing': 1.0}
    target, until, level = {}, dict.fromkeys(names, 0.0), {}
    count = round(duration / PERIOD) + 1
    rows = {name: np.empty((count, 7)) for name in names}
    for k in range(count):
        y = plant.outputs()
        for name, (states, outputs) in columns.items():
            rows[name][k, :5], rows[name][k, 5:] = plant.x[states], y[outputs]
        if k % COMMAND_EVERY == 0:
            volts = {}
            for name in names:
                q, (low, high) = plant.positions[index[name]], RANGES[name]
                if k * PERIOD >= until[name]:
                    far = high if q < 0.5 * (low + high) else low
                    target[name] = far if rng.random() < 0.75 else q
                    until[name] = k * PERIOD + rng.uniform(0.7, 2.5)
                    level[name] = rng.uniform(2.5, 8.0)
                error = sign[name] * (target[name] - q)
                wanted = float(np.clip(40.0 * error, -level[name], level[name]))
                volts[f'{name}/voltage'] = wanted if abs(error) > 0.02 else 0.0
            plant.set_inputs(volts)
        plant.advance()
    order = ('position', 'velocity', 'spool', 'first', 'second', 'effort', 'supply')
    signals = {name: dict(zip(order, rows[name].T)) for name in names}
    return ExcitedRun(machine, PERIOD * np.arange(count), signals)
