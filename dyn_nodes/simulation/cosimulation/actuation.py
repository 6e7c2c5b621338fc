"""Hydraulics of a machine for a process separate from the dynamics.

Valves and oil are integrated with joint motions predicted from the last measurement. The result is the mean effort over
the exchange interval, so that the impulse on the joints is accurate to second order in the interval.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.compile import build_module
from dyn_nodes.compile.integrators import DONE, codes_of, run_rk4_watched
from dyn_nodes.elements import actuator_elements, actuator_terms, states_at_rest
from dyn_nodes.elements.command_delay import CommandDelay, History, input_delays
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.stiff_states import stiff_kernel
from dyn_nodes.simulation.events import Event, Watcher, watched

MOTION = ('position', 'velocity', 'impulse')
MOST_EVENTS = 256
"""Greatest number of events stored per interval."""


Snapshot = tuple[Array, float, History, NDArray[np.bool_]]


class DivergedError(UserError, RuntimeError):
    """The integration diverged."""


class ActuatorSystem:
    """Actuators of a machine with their pumps.

    Attributes:
        actuators: in the machine's order; voltages and efforts follow it.
        names: of the actuators.
        joints: names of the joints that they move.
        state_names: of the actuators.
        oil: (s,) current states of the actuators, initialized by `start`.
        events: of the relief valves in the last `advance`; times from its start, s.
    """

    def __init__(self, machine: Machine, step: float = 5e-4) -> None:
        self.machine, self.step = machine, step
        self.actuators = actuator_elements(machine)
        self.names = tuple(actuator.name for actuator in self.actuators)
        self.joints = tuple(actuator.joint for actuator in self.actuators)
        self.state_names = tuple(state.name for actuator in self.actuators for state in actuator.states)
        self._inputs = [command.name for actuator in self.actuators for command in actuator.inputs]
        self._constants = {name: value for actuator in self.actuators for name, value in actuator.parameters.items()}
        self.module = build_module(
            f'{machine.name}: actuators',
            [machine_fingerprint(machine)],
            self._functions,
        )
        self._codes = codes_of(self.module)
        self.output_names: tuple[str, ...] = tuple(self.module.meta['outputs'])
        self.parameters = np.concatenate([list(self._constants.values()), np.zeros(len(self.names) ** 2)])
        self.oil = np.zeros(len(self.state_names))
        self._knots = np.zeros(1)
        self._commanded = np.zeros(len(self._inputs) + len(self.names))
        delays = input_delays(machine, self._inputs)
        # joint accelerations, the other inputs, have no dead time
        self._delay = None if delays is None else CommandDelay(np.concatenate([delays, np.zeros(len(self.names))]))
        self._time = 0.0
        self._trace = np.zeros((1, len(self.oil) + 3 * len(self.names)))
        self.events: list[Event] = []
        self._watcher = Watcher(self.module.meta['watches'], MOST_EVENTS)

    def _functions(self) -> tuple[dict[str, ca.Function], dict[str, Any]]:
        # x: states, then position, rate and impulse of each joint; u: commands, accelerations; p: constants, mobility
        count, size = len(self.names), len(self.state_names)
        x, u = ca.SX.sym('x', size + 3 * count), ca.SX.sym('u', len(self._inputs) + count)
        p = ca.SX.sym('p', len(self._constants) + count**2)
        named = ((self.state_names, x), (self._inputs, u), (self._constants, p))
        symbols = {name: vector[k] for names, vector in named for k, name in enumerate(names)}
        motions = {joint: (x[size + 3 * k], x[size + 3 * k + 1]) for k, joint in enumerate(self.joints)}
        every = actuator_terms(self.machine, self.actuators, motions, symbols)
        efforts = ca.vertcat(*(terms.effort for terms in every.values()))
        accelerations = u[len(self._inputs) :] + ca.reshape(p[len(self._constants) :], count, count) @ efforts
        rates = [rate for terms in every.values() for rate in terms.rates]
        for k, joint in enumerate(self.joints):
            rates += [motions[joint][1], accelerations[k], efforts[k]]
        outputs = {name: value for terms in every.values() for name, value in terms.outputs.items()}
        states = [state for actuator in self.actuators for state in actuator.states]
        stiff, stiff_indices = stiff_kernel((x, u, p), ca.vertcat(*rates)[:size], states, 0)
        watches, watch = watched(surface for terms in every.values() for surface in terms.surfaces)
        functions = {
            'watch': ca.Function('watch', [x, u, p], [watch]),
            'rhs': ca.Function('rhs', [x, u, p], [ca.densify(ca.vertcat(*rates))]),
            'outputs': ca.Function('outputs', [x, u, p], [ca.densify(ca.vertcat(*outputs.values()))]),
            'guard': ca.Function('guard', [x], [ca.SX(1.0)]),
            **stiff,
        }
        return functions, {'outputs': list(outputs), 'watches': watches, 'stiff': stiff_indices}

    def start(self, positions: Array, efforts: Array) -> None:
        """Set the oil to hold the efforts (n,) at the joint positions (n,), spools at neutral."""
        self._time = 0.0
        self._commanded[:] = 0.0
        if self._delay is not None:
            self._delay.clear()
        at_rest = states_at_rest(self.machine, dict(zip(self.joints, positions)), dict(zip(self.joints, efforts)))
        self.oil[:] = [at_rest[name] for name in self.state_names]
        values = np.empty(2 * len(self._watcher.watches))
        still = np.zeros(len(self.names))
        self.module.watch(self._state(positions, still), self._commanded, self.parameters, values)
        self._watcher.take_signs(values)
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
        """Integrate over an interval, s, of predicted joint motion; return the mean efforts (n,), N m or N.

        The joints move with `accelerations` (n,) plus `mobility` (n, n) times the current efforts; without a mobility
        with the accelerations alone. All arrays are in the order of `names`; volts are held.

        Raises DivergedError and keeps the previous state.
        """
        self.parameters[len(self._constants) :] = 0.0 if mobility is None else mobility.ravel()
        self._commanded[: len(volts)] = volts
        x = self._state(positions, velocities)
        knots, table = self._knots, np.concatenate([volts, accelerations]).reshape(1, -1)
        before = self.snapshot()
        if self._delay is not None:  # the delay line counts time from `start`
            held = np.concatenate([volts, accelerations])
            knots, table = self._delay.table(self._time, self._time + interval, held)
            knots = knots - self._time
        steps = max(1, int(np.ceil(interval / self.step - 1e-9)))
        watcher = self._watcher
        arguments = (x, 0.0, interval / steps, steps, knots, table, self.parameters, -1.0, 0, self._trace)
        status, _, event_count = run_rk4_watched(self._codes, *arguments, watcher.positive, watcher.table)
        if status != DONE:
            self.restore(before)
            raise DivergedError(f'{self.machine.name}: the hydraulics diverged at joint positions {positions}')
        self.oil = x[: len(self.oil)].copy()
        self._time += interval
        self.events = watcher.events(event_count)
        return x[len(self.oil) + 2 :: 3] / interval

    def _state(self, positions: Array, velocities: Array) -> Array:
        """Return the state x of the kernels at a motion of the joints, without impulse."""
        first = len(self.oil)
        x = np.zeros(first + 3 * len(self.names))
        x[:first], x[first::3], x[first + 1 :: 3] = self.oil, positions, velocities
        return x

    def snapshot(self) -> Snapshot:
        """Return everything that `advance` changes, except the events."""
        history = () if self._delay is None else self._delay.history
        return self.oil, self._time, history, self._watcher.positive.copy()

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot."""
        self.oil, self._time, history, self._watcher.positive[:] = snapshot
        if self._delay is not None:
            self._delay.history = history

    def set_parameter(self, name: str, value: float) -> None:
        """Set a parameter of the actuators by name; unknown names have no effect."""
        if name in self._constants:
            self.parameters[list(self._constants).index(name)] = value

    def efforts(self, positions: Array, velocities: Array) -> Array:
        """Return the current efforts (n,)."""
        values = self.outputs(positions, velocities)
        return np.array([values[f'{name}/effort'] for name in self.names])

    def outputs(self, positions: Array, velocities: Array) -> dict[str, float]:
        """Return all outputs by name, `<actuator>/<quantity>`, including states, for the latest volts."""
        y = np.empty(len(self.output_names))
        self.module.outputs(self._state(positions, velocities), self._commanded, self.parameters, y)
        values = dict(zip(self.output_names, y.tolist()))
        values.update(zip(self.state_names, self.oil.tolist()))
        return values
