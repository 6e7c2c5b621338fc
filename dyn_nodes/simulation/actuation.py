"""The hydraulics of a machine on their own, for a process beside the dynamics.

Valves and oil are integrated while the joints move as predicted from what was last measured; what goes back is the mean
effort over the exchange interval, so that the impulse on the joints is right to second order in the interval.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dyn_nodes.compile import build_module
from dyn_nodes.hydraulics import CylinderTerms, initial_pressures, spool_rate
from dyn_nodes.model.machine import Machine
from dyn_nodes.simulation import drivers
from dyn_nodes.simulation.actuator_terms import actuator_states, line_flows, machine_terms, pressure_rates
from dyn_nodes.simulation.command_delay import CommandDelay, History, input_delays
from dyn_nodes.simulation.events import Event, Watched, Watcher, watch_reliefs
from dyn_nodes.simulation.fingerprint import machine_fingerprint

Array = NDArray[np.float64]
MOTION = ('position', 'velocity', 'impulse')
MOST_EVENTS = 256
"""Kept of one interval."""


Snapshot = tuple[Array, float, History, NDArray[np.bool_]]


class DivergedError(RuntimeError):
    """The integration left the numbers that make sense."""


class ActuatorSystem:
    """Valves, cylinders, motors and pumps of a machine.

    Attributes:
        names: of the actuators, in the machine's order; voltages and efforts follow it.
        joints: the joint that each one moves.
        state_names: of the oil: spool and two line pressures per actuator.
        oil: (3 n,) current state. Set it by `start`.
        events: what the reliefs did in the last `advance`; times from its beginning, s.
    """

    def __init__(self, machine: Machine, step: float = 5e-4) -> None:
        self.machine, self.step = machine, step
        self.names = tuple(actuator.name for actuator in machine.actuators)
        self.joints = tuple(actuator.joint for actuator in machine.actuators)
        self.module = build_module(
            f'{machine.name}: actuators',
            [machine_fingerprint(machine)],
            self._functions,
            drivers=[
                drivers.CONSTANTS,
                drivers.NO_SWITCHES,
                *drivers.COMMON,
                drivers.single_step,
                drivers.watch_step,
                drivers.run_rk4_watched,
            ],
        )
        self.state_names: tuple[str, ...] = tuple(self.module.meta['oil'])
        self.output_names: tuple[str, ...] = tuple(self.module.meta['outputs'])
        self.parameters = np.concatenate([np.ones(1), np.zeros(len(self.names) ** 2)])
        self.oil = np.zeros(3 * len(self.names))
        self._knots = np.zeros(1)
        delays = input_delays(machine, [f'{name}/voltage' for name in self.names])
        # joint accelerations, the other inputs, have no dead time
        self._delay = None if delays is None else CommandDelay(np.concatenate([delays, np.zeros(len(self.names))]))
        self._time = 0.0
        self._trace = np.zeros((1, 6 * len(self.names)))
        self.events: list[Event] = []
        self._watcher = Watcher(self.module.meta['watches'], MOST_EVENTS)

    def _functions(self) -> tuple[dict[str, ca.Function], dict[str, Any]]:
        count = len(self.names)
        x, u, p = ca.SX.sym('x', 6 * count), ca.SX.sym('u', 2 * count), ca.SX.sym('p', 1 + count**2)
        rates, motion, outputs = [], [], []
        oil_names, output_names = [], []
        states = {
            name: (*ca.vertsplit(x[3 * k : 3 * k + 3]), x[3 * (count + k)], x[3 * (count + k) + 1])
            for k, name in enumerate(self.names)
        }
        every = machine_terms(self.machine, states, p[0])
        efforts = ca.vertcat(*(every[actuator.name].effort for actuator in self.machine.actuators))
        accelerations = u[count:] + ca.reshape(p[1:], count, count) @ efforts
        for k, actuator in enumerate(self.machine.actuators):
            terms = every[actuator.name]
            rates += [spool_rate(actuator.valve, states[actuator.name][0], u[k]), *pressure_rates(terms)]
            motion += [states[actuator.name][4], accelerations[k], terms.effort]
            oil_names += [f'{actuator.name}/{name}' for name in actuator_states(actuator)]
            outputs += [terms.effort, terms.supply_pressure, terms.bypass_flow, *line_flows(terms)]
            output_names += [
                f'{actuator.name}/{name}' for name in ('effort', 'supply_pressure', 'bypass_flow', 'flow_a', 'flow_b')
            ]
            if isinstance(terms, CylinderTerms):
                outputs += [terms.force, terms.piston]
                output_names += [f'{actuator.name}/force', f'{actuator.name}/piston']
        watched = Watched()
        watch_reliefs(watched, self.machine, every, states)
        functions = {
            'watch': ca.Function('watch', [x, u, p], [watched.expression]),
            'rhs': ca.Function('rhs', [x, u, p], [ca.densify(ca.vertcat(*rates, *motion))]),
            'outputs': ca.Function('outputs', [x, u, p], [ca.densify(ca.vertcat(*outputs))]),
            'guard': ca.Function('guard', [x], [ca.SX(1.0)]),
        }
        return functions, {'oil': oil_names, 'outputs': output_names, 'watches': watched.watches}

    def start(self, positions: Array, efforts: Array) -> None:
        """Trap oil that holds the given efforts (n,) at the given joint positions (n,); spools at neutral."""
        self._time = 0.0
        if self._delay is not None:
            self._delay.clear()
        for k, actuator in enumerate(self.machine.actuators):
            self.oil[3 * k] = 0.0
            self.oil[3 * k + 1 : 3 * k + 3] = initial_pressures(actuator, float(positions[k]), float(efforts[k]))
        count = len(self.names)
        x, values = np.zeros(6 * count), np.empty(2 * len(self._watcher.watches))
        x[: 3 * count], x[3 * count :: 3] = self.oil, positions
        self.module.watch(x, np.zeros(2 * count), self.parameters, values)
        self._watcher.begin(values)
        self.events = []

    def advance(
        self,
        interval: float,
        positions: Array,
        velocities: Array,
        accelerations: Array,
        volts: Array,
        mobility: Array | None = None,
    ) -> Array:
        """Integrate over an interval (s) of predicted joint motion; return the mean efforts (n,), N m or N.

        The joints move with `accelerations` (n,) plus `mobility` (n, n) times the efforts of the moment; without a
        mobility with the accelerations alone. All arrays in the order of `names`; volts are held.

        Raises DivergedError and keeps the state before it.
        """
        count = len(self.names)
        self.parameters[1:] = 0.0 if mobility is None else mobility.ravel()
        x = np.zeros(6 * count)
        x[: 3 * count] = self.oil
        x[3 * count :: 3], x[3 * count + 1 :: 3] = positions, velocities
        knots, table = self._knots, np.concatenate([volts, accelerations]).reshape(1, -1)
        before = self.snapshot()
        if self._delay is not None:  # the times of the line are this object's own
            held = np.concatenate([volts, accelerations])
            knots, table = self._delay.table(self._time, self._time + interval, held)
            knots = knots - self._time
        steps = max(1, int(np.ceil(interval / self.step - 1e-9)))
        watcher = self._watcher
        arguments = (x, 0.0, interval / steps, steps, knots, table, self.parameters, -1.0, 0, self._trace)
        status, _, found = self.module.run_rk4_watched(*arguments, watcher.positive, watcher.found)
        if status != drivers.DONE:
            self.restore(before)
            raise DivergedError(f'{self.machine.name}: the hydraulics diverged at joint positions {positions}')
        self.oil = x[: 3 * count].copy()
        self._time += interval
        self.events = watcher.events(found)
        return x[3 * count + 2 :: 3] / interval

    def snapshot(self) -> Snapshot:
        """Return everything that `advance` changes, but for the events."""
        history = () if self._delay is None else self._delay.history
        return self.oil, self._time, history, self._watcher.positive.copy()

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot."""
        self.oil, self._time, history, self._watcher.positive[:] = snapshot
        if self._delay is not None:
            self._delay.history = history

    def efforts(self, positions: Array, velocities: Array) -> Array:
        """Return the efforts (n,) at this instant."""
        values = self.outputs(positions, velocities)
        return np.array([values[f'{name}/effort'] for name in self.names])

    def outputs(self, positions: Array, velocities: Array) -> dict[str, float]:
        """Return all outputs by name, `<actuator>/<quantity>`, states included."""
        count = len(self.names)
        x, y = np.zeros(6 * count), np.empty(len(self.output_names))
        x[: 3 * count] = self.oil
        x[3 * count :: 3], x[3 * count + 1 :: 3] = positions, velocities
        self.module.outputs(x, np.zeros(2 * count), self.parameters, y)
        values = dict(zip(self.output_names, y.tolist()))
        values.update(zip(self.state_names, self.oil.tolist()))
        return values
