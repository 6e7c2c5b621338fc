"""The joints and the oil of a machine from commands and the measured motion of its base: a check of a fit.

The state is the momentum of the joints, not their speed: no rate of the gyroscope is needed. Numbers are those of the
fit, so nothing is compiled; CasADi evaluates the expressions.
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
"""Of the integrator, s."""
CHUNK = 200
"""Steps in one call."""
SLIDING = 2e-3
"""Speed at which dry friction has reached three quarters of its value, rad/s or m/s."""
LINE_SCALE = 1e6


@dataclass(frozen=True, eq=False)
class JointNumbers:
    """What a fit gives beside the machine.

    Attributes:
        machine: with the fitted valves, oil and friction; without inertial parameters.
        parameters: (10 n,) inertial parameters of its bodies.
        gains: by actuator (in, out, dead zone) by direction: `inlet_gain.forward`, ...
        offsets: of the joints, added to measured positions, by name.
        payload: kg.
    """

    machine: Machine
    parameters: Array
    gains: dict[str, dict[str, float]]
    offsets: dict[str, float]
    payload: float = 0.0


@dataclass(frozen=True, eq=False)
class Simulated:
    """Joint speeds over the times of a log: (t,) s, measured and simulated (t, n); `start` of each stretch (s,)."""

    times: Array
    measured: Array
    simulated: Array
    starts: Array


class JointSimulation:
    """Simulates joints and oil between measured states.

    Args:
        numbers: of a fit.
        actuators: names of those that are in the log; joints without one rest.
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
        q, v, omega, felt = self.regressor.symbols
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
        x, u = ca.vertcat(q, p, lines), ca.vertcat(omega, felt, spools)
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
        """Inertial parameters with the payload in its place."""
        parameters, frame = self.numbers.parameters.copy(), self.regressor.tree.payload
        if frame is not None and self.numbers.payload and frame.body in self.regressor.bodies:
            p, m = np.asarray(frame.p), self.numbers.payload
            second = m * (p @ p * np.eye(3) - np.outer(p, p))
            place = 10 * self.regressor.bodies.index(frame.body)
            parameters[place : place + 10] += [m, *(m * p), *second[np.triu_indices(3)]]
        return parameters

    def _drives(
        self, q: Expression, v: Expression, lines: Expression, spools: Expression
    ) -> tuple[Expression, Expression]:
        machine = self.numbers.machine
        efforts, rates = [ca.SX(0)] * len(self.joints), []
        for k, record in enumerate(self.records):
            place, spool = self.joints.index(record.joint), spools[k]
            gains = self.numbers.gains.get(record.name, {})
            keys = {key.rpartition('.')[0] for key in gains}
            own = {key: ca.if_else(spool >= 0.0, gains[f'{key}.forward'], gains[f'{key}.reverse']) for key in keys}
            element: Any = actuator_element(symbolic(record, valve=symbolic(record.valve, **own)))
            names = [state.name for state in element.states]
            known = dict(zip(names, (spool, lines[2 * k], lines[2 * k + 1])))
            known |= {element.inputs[0].name: ca.SX(0), OIL_SCALE: ca.SX(1)}
            terms = element.terms(q[place], v[place], known)
            joint = machine.joint(record.joint)
            dry = joint.friction * ca.tanh(v[place] / SLIDING) if joint.friction else 0.0
            efforts[place] = terms.effort - joint.damping * v[place] - dry
            rates += list(terms.rates[1:])
        return ca.vertcat(*efforts), ca.vertcat(*rates)

    def run(self, log: MachineLog, start: float, end: float, horizon: float) -> Simulated:
        """Return the speeds of the joints from start to end, s, begun anew from measurements every `horizon`, s.

        Args:
            log: of the machine; its commands reach back as far as the spools remember.
            start: s.
            end: s.
            horizon: s.
        """
        order = [log.joints.index(name) for name in self.joints]
        offsets = np.array([self.numbers.offsets.get(name, 0.0) for name in self.joints])
        inputs = self._inputs(log)
        count = max(1, int(np.floor((end - start) / horizon + 1e-9)))
        per = max(1, round(horizon / (CHUNK * STEP))) * CHUNK
        times, found, begun = [], [], []
        for k in range(count):
            first = start + k * horizon
            own: Array = first + STEP * np.arange(per + 1, dtype=np.float64)
            u = inputs(first + 0.5 * STEP * np.arange(2 * per + 1))
            q = interpolated(log.positions, own[:1])[0, order] + offsets
            v = interpolated(log.velocities, own[:1])[0, order]
            lines = np.concatenate([interpolated(log.pressures[one.name], own[:1])[0] for one in self.records])
            p = np.array(self._momentum(q, v, u[0, :3])).ravel()
            x = self._marched(np.concatenate([q, p, lines / LINE_SCALE]), u)
            speeds = np.array(self._speed(ca.DM(x.T), ca.DM(u[::2].T))).T
            times.append(own[::10])
            found.append(speeds[::10])
            begun.append(first)
        at = np.concatenate(times)
        return Simulated(at, interpolated(log.velocities, at)[:, order], np.concatenate(found), np.array(begun))

    def _marched(self, x: Array, u: Array) -> Array:
        """States (k + 1, m) at the even rows of the inputs (2 k + 1, i)."""
        stacked = np.concatenate([u[:-2:2], u[1:-1:2], u[2::2]], axis=1)
        parts = [x[np.newaxis]]
        for k in range(0, len(stacked), CHUNK):
            part = np.array(self._march(parts[-1][-1], ca.DM(stacked[k : k + CHUNK].T))).T
            parts.append(part)
        return np.concatenate(parts)

    def _inputs(self, log: MachineLog) -> Any:
        """Inputs (t, 6 + r) over time: base and spools."""
        spools = []
        for record in self.records:
            own = log.actuators.index(record.name)
            commands = Samples(log.commands.times, log.commands.values[:, own : own + 1])
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
