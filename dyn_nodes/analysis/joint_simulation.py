"""Simulation of the joints and the oil of a machine from commands and the measured motion of its base, to check a fit.

The state is the momentum of the joints, not their speed: the derivative of the gyroscope is not needed. The parameters
are taken from the fit, so nothing is compiled; CasADi evaluates the expressions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dyn_nodes.analysis.machine_log import MachineLog, Samples
from dyn_nodes.analysis.spool_motion import SpoolMotion
from dyn_nodes.analysis.weak_form import interpolated
from dyn_nodes.common.arrays import Array
from dyn_nodes.elements import actuator_element
from dyn_nodes.elements.hydraulic import OIL_SCALE
from dyn_nodes.model.actuators import hydraulic
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import build_tree
from dyn_nodes.multibody.elements import symbolic
from dyn_nodes.multibody.regressor import MomentumRegressor
from dyn_nodes.multibody.spatial import Expression, solve_symmetric

STEP = 1e-3
"""Step of the integrator, s."""
CHUNK = 200
"""Number of steps in one call."""
SLIDING = 2e-3
"""Speed at which dry friction reaches three quarters of its value, rad/s or m/s."""
LINE_SCALE = 1e6


@dataclass(frozen=True, eq=False)
class JointNumbers:
    """Fitted parameters of a machine.

    Attributes:
        machine: machine with the fitted valves, oil and friction, but with nominal inertial parameters.
        parameters: (10 n,) inertial parameters of its bodies.
        gains: gains by actuator and direction (in, out, dead zone): `inlet_gain.forward`, ...
        offsets: offsets of the joints by name, added to measured positions.
        payload: kg.
    """

    machine: Machine
    parameters: Array
    gains: dict[str, dict[str, float]]
    offsets: dict[str, float]
    payload: float = 0.0


@dataclass(frozen=True, eq=False)
class Simulated:
    """Joint speeds over the times (t,) of a log, s, measured and simulated (t, n); starts of the segments (s,), s."""

    times: Array
    measured: Array
    simulated: Array
    starts: Array


class JointSimulation:
    """Simulation of joints and oil between measured states.

    Args:
        numbers: parameters of a fit.
        actuators: names of the actuators in the log; joints without an actuator are at rest.
    """

    def __init__(self, numbers: JointNumbers, actuators: tuple[str, ...]) -> None:
        self.numbers = numbers
        machine = numbers.machine
        self.records = [hydraulic(machine.actuator(name)) for name in actuators]
        self.regressor = MomentumRegressor(build_tree(machine))
        self.joints = tuple(self.regressor.tree.bodies[k].name for k in self.regressor.bodies)
        self._trace()

    def _trace(self) -> None:
        n, r = len(self.joints), len(self.records)
        q, v, omega, specific_force = self.regressor.symbols
        p, lines, spools = ca.SX.sym('p', n), ca.SX.sym('lines', 2 * r), ca.SX.sym('spools', r)
        momentum, push = self.regressor.traced
        parameters = ca.DM(self._loaded())
        at_speed = ca.mtimes(momentum, parameters) + self.regressor.rotors
        mass = ca.jacobian(at_speed, v)
        bare = ca.substitute(at_speed, v, ca.SX.zeros(n))
        speed = solve_symmetric(mass, p - bare)
        effort, rates = self._drives(q, v, lines * LINE_SCALE, spools)
        force = ca.mtimes(push, parameters) + effort
        right = ca.substitute(ca.vertcat(v, force, rates / LINE_SCALE), v, ca.densify(speed))
        x, u = ca.vertcat(q, p, lines), ca.vertcat(omega, specific_force, spools)
        self._momentum = ca.Function('momentum', [q, v, omega], [at_speed])
        self._speed = ca.Function('speed', [x, u], [speed])
        f = ca.Function('f', [x, u], [right])
        ends = [ca.SX.sym(f'u{k}', u.shape[0]) for k in range(3)]
        k1 = f(x, ends[0])
        k2 = f(x + 0.5 * STEP * k1, ends[1])
        k3 = f(x + 0.5 * STEP * k2, ends[1])
        k4 = f(x + STEP * k3, ends[2])
        step = ca.Function('step', [x, ca.vertcat(*ends)], [x + STEP / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)])
        self._march = step.mapaccum('march', CHUNK)

    def _loaded(self) -> Array:
        """Return the inertial parameters with the payload at its mount."""
        parameters, frame = self.numbers.parameters.copy(), self.regressor.tree.payload
        if frame is not None and self.numbers.payload and frame.body in self.regressor.bodies:
            p, m = np.asarray(frame.p), self.numbers.payload
            second = m * (p @ p * np.eye(3) - np.outer(p, p))
            offset = 10 * self.regressor.bodies.index(frame.body)
            parameters[offset : offset + 10] += [m, *(m * p), *second[np.triu_indices(3)]]
        return parameters

    def _drives(
        self, q: Expression, v: Expression, lines: Expression, spools: Expression
    ) -> tuple[Expression, Expression]:
        machine = self.numbers.machine
        efforts, rates = [ca.SX(0)] * len(self.joints), []
        for k, record in enumerate(self.records):
            index, spool = self.joints.index(record.joint), spools[k]
            gains = self.numbers.gains.get(record.name, {})
            keys = {key.rpartition('.')[0] for key in gains}
            fields = {key: ca.if_else(spool >= 0.0, gains[f'{key}.forward'], gains[f'{key}.reverse']) for key in keys}
            element: Any = actuator_element(symbolic(record, valve=symbolic(record.valve, **fields)))
            names = [state.name for state in element.states]
            values = dict(zip(names, (spool, lines[2 * k], lines[2 * k + 1])))
            values |= {element.inputs[0].name: ca.SX(0), OIL_SCALE: ca.SX(1)}
            terms = element.terms(q[index], v[index], values)
            joint = machine.joint(record.joint)
            dry = joint.friction * ca.tanh(v[index] / SLIDING) if joint.friction else 0.0
            efforts[index] = terms.effort - joint.damping * v[index] - dry
            rates += list(terms.rates[1:])
        return ca.vertcat(*efforts), ca.vertcat(*rates)

    def run(self, log: MachineLog, start: float, end: float, horizon: float) -> Simulated:
        """Return the speeds of the joints from start to end, s, restarted from measurements every `horizon`, s.

        Args:
            log: log of the machine; its commands must start early enough for the lag of the spools.
            start: start time, s.
            end: end time, s.
            horizon: duration of a segment, s.
        """
        order = [log.joints.index(name) for name in self.joints]
        offsets = np.array([self.numbers.offsets.get(name, 0.0) for name in self.joints])
        inputs = self._inputs(log)
        count = max(1, int(np.floor((end - start) / horizon + 1e-9)))
        per = max(1, round(horizon / (CHUNK * STEP))) * CHUNK
        times, simulated, starts = [], [], []
        for k in range(count):
            first = start + k * horizon
            grid: Array = first + STEP * np.arange(per + 1, dtype=np.float64)
            u = inputs(first + 0.5 * STEP * np.arange(2 * per + 1))
            q = interpolated(log.positions, grid[:1])[0, order] + offsets
            v = interpolated(log.velocities, grid[:1])[0, order]
            lines = np.concatenate([interpolated(log.pressures[record.name], grid[:1])[0] for record in self.records])
            p = np.array(self._momentum(q, v, u[0, :3])).ravel()
            x = self._marched(np.concatenate([q, p, lines / LINE_SCALE]), u)
            speeds = np.array(self._speed(ca.DM(x.T), ca.DM(u[::2].T))).T
            times.append(grid[::10])
            simulated.append(speeds[::10])
            starts.append(first)
        at = np.concatenate(times)
        return Simulated(at, interpolated(log.velocities, at)[:, order], np.concatenate(simulated), np.array(starts))

    def _marched(self, x: Array, u: Array) -> Array:
        """Return the states (k + 1, m) at the even rows of the inputs (2 k + 1, i)."""
        stacked = np.concatenate([u[:-2:2], u[1:-1:2], u[2::2]], axis=1)
        parts = [x[np.newaxis]]
        for k in range(0, len(stacked), CHUNK):
            part = np.array(self._march(parts[-1][-1], ca.DM(stacked[k : k + CHUNK].T))).T
            parts.append(part)
        return np.concatenate(parts)

    def _inputs(self, log: MachineLog) -> Any:
        """Return a function of time for the inputs (t, 6 + r): base and spools."""
        spools = []
        for record in self.records:
            column = log.actuators.index(record.name)
            commands = Samples(log.commands.times, log.commands.values[:, column : column + 1])
            spools.append(SpoolMotion(record.valve, commands))
        still = np.array([0.0, 0.0, 0.0, 0.0, 0.0, self.numbers.machine.gravity])

        def at(times: Array) -> Array:
            base = np.tile(still, (len(times), 1)) if log.imu is None else interpolated(log.imu, times)
            moved = [
                motion.at(times, record.valve.dead_time, record.valve.time_constant)[0]
                for motion, record in zip(spools, self.records)
            ]
            return np.column_stack([base, *moved])

        return at
