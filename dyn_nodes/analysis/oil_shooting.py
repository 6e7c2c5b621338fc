"""Least-squares problem of `hydraulic_fit`: the oil of one actuator, in segments, against its pressures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.oil_integrator import run_oil, solve_stage
from dyn_nodes.analysis.signal_smoothing import noise_level, smooth
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.elements import actuator_element
from dyn_nodes.elements.hydraulic import OIL_SCALE
from dyn_nodes.model.fingerprint import machine_fingerprint
from dyn_nodes.model.hydraulic import HydraulicRecord
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.elements import symbolic

PARAMETERS = ('inlet_gain', 'outlet_gain', 'bypass_area', 'bulk_modulus')
GRID = 5e-3  # s, step of the smoothed inputs
SUBSTEPS = 1
STRETCH = 2.0  # s, length of a segment
LEAST_OPENING = 0.02  # least part of the time with an open valve
FACTOR_STEP = 1e-4  # relative step of a finite difference
PRESSURE_STEP = 1e4  # Pa
PLAIN = -1
UNRELATED = 1e4  # residual of a diverged simulation


class FitError(UserError, ValueError):
    """The data do not permit a fit; the message has the reason."""


class NothingToFitError(FitError):
    """The log has no data for a valid actuator: its valve never opens, or its flow is unknown."""


@dataclass(frozen=True, eq=False)
class Signal:
    """Samples over time: times (m,) s, values (m,)."""

    times: Array
    values: Array


@dataclass(frozen=True, eq=False)
class ActuatorRecord:
    """Measurements of one actuator.

    Attributes:
        position, velocity: joint position and velocity, rad and rad/s, at the same times.
        effort: joint effort, N m, or None if it was not measured.
        spool: m.  first, second: pressures of the two lines, Pa.  supply: pressure of the pump's gallery, Pa.
    """

    position: Signal
    velocity: Signal
    effort: Signal | None
    spool: Signal
    first: Signal
    second: Signal
    supply: Signal


@dataclass(frozen=True, eq=False)
class _Channel:
    """Samples (m,) of one pressure.

    Attributes:
        column: 0 and 1 for the lines, 2 for the supply.
        values: Pa.
        stretch, node, share: segment of each sample, grid node before it, and fraction of the distance to the next
            node.
        lines: (m, 2) measured pressures of the two lines at the same time, Pa.
        fed: line with which the sample is compared, or `PLAIN`.
    """

    column: int
    values: Array
    stretch: NDArray[np.intp]
    node: NDArray[np.intp]
    share: Array
    lines: Array
    fed: NDArray[np.int64]

    def difference(self, pressures: Array) -> Array:
        """Return simulated less measured pressures (m,), Pa, for simulated `pressures` (nodes, 3)."""
        row, weight = self.node + self.stretch, self.share[:, np.newaxis]
        simulated = (1.0 - weight) * pressures[row] + weight * pressures[row + 1]
        result = simulated[:, self.column] - self.values
        paired = self.fed != PLAIN
        every, line = np.flatnonzero(paired), self.fed[paired]
        result[paired] -= simulated[every, line] - self.lines[every, line]
        return np.asarray(result)


class Shooting:
    """The least-squares problem: unknowns are log factors of the parameters, then two pressures per segment."""

    pressure_scale = 1e6

    def __init__(self, machine: Machine, actuator: HydraulicRecord, record: ActuatorRecord) -> None:
        self.actuator = actuator
        signals = (record.position, record.spool, record.first, record.second, record.supply)
        self.start = max(float(signal.times[0]) for signal in signals)
        self.end = min(float(signal.times[-1]) for signal in signals)
        if self.end - self.start < 2.0 * STRETCH:
            raise FitError(
                f'{actuator.name}: expected {2.0 * STRETCH:g} s or more with all topics, '
                f'found {max(0.0, self.end - self.start):.2f} s'
            )
        self.module = _oil_module(machine, actuator)
        valve, supply = actuator.valve, actuator.supply
        self.initial = np.array([valve.inlet_gain, valve.outlet_gain, valve.bypass_area, supply.bulk_modulus])
        span = (self.start, self.end, GRID)
        self.motion = smooth(*span, record.position.times, record.position.values, record.velocity.values)
        spool = smooth(*span, record.spool.times, record.spool.values, order=2)  # it has kinks
        self._check_opening(spool.values)
        self.inputs = np.ascontiguousarray(np.column_stack([spool.values, self.motion.values, self.motion.rates]))
        self._cut(len(self.inputs))
        self._measurements(record)

    def _check_opening(self, spool: Array) -> None:
        opening = np.abs(spool) > self.actuator.valve.dead_zone
        if opening.mean() < LEAST_OPENING:
            raise NothingToFitError(
                f'{self.actuator.name}: the spool leaves its dead zone of {1e3 * self.actuator.valve.dead_zone:g} mm '
                f'in {100 * opening.mean():.1f} % of the time; there is nothing to fit'
            )

    def _cut(self, nodes: int) -> None:
        """Divide the grid into segments: first node and number of intervals of each."""
        count = max(1, round((nodes - 1) * GRID / STRETCH))
        edges = np.linspace(0, nodes - 1, count + 1).round().astype(np.intp)
        self.stretches = list(zip(edges[:-1].tolist(), np.diff(edges).tolist()))

    def _measurements(self, record: ActuatorRecord) -> None:
        """Assign the samples of every channel to the grid."""
        self.channels: list[_Channel] = []
        self.noise = np.empty(3)
        ends = np.array([first + length for first, length in self.stretches])
        lines = (record.first, record.second)
        for k, signal in enumerate((*lines, record.supply)):
            position = (signal.times - self.start) / GRID
            inside = (position >= 0.0) & (position < len(self.inputs) - 1)
            times, position = signal.times[inside], position[inside]
            node = position.astype(np.intp)
            beside = np.column_stack([np.interp(times, line.times, line.values) for line in lines])
            stretch = np.searchsorted(ends, node, side='right')
            fed = np.full(len(node), PLAIN)
            self.channels.append(_Channel(k, signal.values[inside], stretch, node, position - node, beside, fed))
            self.noise[k] = max(noise_level(signal.values), 1e-4 * float(np.ptp(signal.values)), 1.0)
        self.rows_of = np.concatenate([channel.stretch for channel in self.channels])
        self.groups = np.repeat(np.arange(3), [len(channel.node) for channel in self.channels])
        self.weights = 1.0 / np.append(self.noise, np.sqrt(2.0) * self.noise[2])

    def pair(self, unknowns: Array) -> None:
        """Pair the supply pressure with the line that it feeds while its check valve is open in the simulation.

        An error of the measured motion moves both pressures alike; their difference, which determines the area of the
        inlet, is free of it.
        """
        supply = self.channels[2]
        pressures, row = self.simulate(unknowns), supply.node + supply.stretch
        spool = self.inputs[supply.node, 0]
        line = np.where(spool >= 0.0, 0, 1)
        opened = (np.abs(spool) > self.actuator.valve.dead_zone) & (pressures[row, 2] > pressures[row, line])
        supply.fed[:] = np.where(opened, line, PLAIN)
        self.groups[-len(opened) :] = np.where(opened, 3, 2)

    def first_pressures(self) -> Array:
        """Return measured pressures (2 s,) at the start of each segment: means over a tenth of a second."""
        guess = []
        for first, _ in self.stretches:
            for channel in self.channels[:2]:
                near = np.argsort(np.abs(channel.node - first - 0.05 / GRID), kind='stable')[:5]
                guess.append(float(channel.values[near].mean()))
        return np.array(guess)

    def simulate(self, unknowns: Array) -> Array:
        """Return pressures (nodes, 3) by channel, every segment from its start pressures."""
        p = self.initial * np.exp(np.clip(unknowns[: len(PARAMETERS)], -4.0, 4.0))
        starts = unknowns[len(PARAMETERS) :].reshape(-1, 2) * self.pressure_scale
        nodes = len(self.inputs)
        states = np.full((nodes + len(self.stretches), 2), np.nan)
        controls = np.empty((len(states), 3))
        for s, (first, length) in enumerate(self.stretches):
            span = slice(first + s, first + s + length + 1)  # the last node of a segment is the first of the next
            controls[span] = self.inputs[first : first + length + 1]
            self.module.run_oil(starts[s].copy(), GRID, SUBSTEPS, controls[span], p, states[span])
        pressures = np.empty((len(states), 3))
        self.module.outputs_batch(np.nan_to_num(states), controls, np.tile(p, (len(states), 1)), pressures)
        pressures[np.isnan(states).any(axis=1)] = np.nan
        return pressures

    def residuals(self, unknowns: Array) -> Array:
        """Return weighted differences of simulated and measured pressures (m,)."""
        pressures = self.simulate(unknowns)
        differences = np.concatenate([channel.difference(pressures) for channel in self.channels])
        weighted = np.clip(differences * self.weights[self.groups], -UNRELATED, UNRELATED)
        return np.nan_to_num(weighted, nan=UNRELATED)

    def jacobian(self, unknowns: Array) -> Array:
        """Return the Jacobian by finite differences; independent segments are perturbed together."""
        base = self.residuals(unknowns)
        matrix = np.zeros((len(base), len(unknowns)))
        count = len(PARAMETERS)
        for k in range(count):
            moved = unknowns.copy()
            moved[k] += FACTOR_STEP
            matrix[:, k] = (self.residuals(moved) - base) / FACTOR_STEP
        step = PRESSURE_STEP / self.pressure_scale
        for line in range(2):
            moved = unknowns.copy()
            moved[count + line :: 2] += step
            change = (self.residuals(moved) - base) / step
            matrix[np.arange(len(base)), count + 2 * self.rows_of + line] = change
        return matrix

    def left_over(self, unknowns: Array) -> Array:
        """Return the root mean square (3,) of the differences of unpaired pressures, Pa."""
        pressures = self.simulate(unknowns)
        plain = (replace(channel, fed=np.full(len(channel.node), PLAIN)) for channel in self.channels)
        return np.array([float(np.sqrt(np.mean(channel.difference(pressures) ** 2))) for channel in plain])

    def reweigh(self, unknowns: Array) -> None:
        """Set the weight of each group of samples from its residuals."""
        residuals = self.residuals(unknowns)
        floors = np.append(self.noise, np.sqrt(2.0) * self.noise[2])
        for group in np.unique(self.groups):
            left = float(np.sqrt(np.mean(residuals[self.groups == group] ** 2))) / self.weights[group]
            self.weights[group] = 1.0 / max(left, 0.5 * floors[group])

    def covariance(self, unknowns: Array) -> Array:
        """Return the covariance of the unknowns, with each segment as one observation."""
        matrix, residuals = self.jacobian(unknowns), self.residuals(unknowns)
        inverse = np.linalg.pinv(matrix.T @ matrix, rcond=1e-14)
        count = len(self.stretches)
        scores = np.array([matrix[self.rows_of == s].T @ residuals[self.rows_of == s] for s in range(count)])
        return np.asarray(inverse @ (scores.T @ scores) @ inverse * count / max(count - 1, 1))


def _oil_module(machine: Machine, actuator: HydraulicRecord) -> CompiledModule:
    """Return kernels of the oil of one actuator: states two pressures, inputs spool, q, qd, parameters `PARAMETERS`."""

    def make() -> tuple[dict[str, ca.Function], dict[str, Any]]:
        x, u, p = ca.SX.sym('x', 2), ca.SX.sym('u', 3), ca.SX.sym('p', len(PARAMETERS))
        free = symbolic(
            actuator,
            valve=symbolic(actuator.valve, inlet_gain=p[0], outlet_gain=p[1], bypass_area=p[2]),
            supply=symbolic(actuator.supply, bulk_modulus=p[3]),
        )
        element = actuator_element(free)
        spool, *pressures = (state.name for state in element.states)
        symbols = {spool: u[0], **dict(zip(pressures, ca.vertsplit(x))), element.inputs[0].name: 0.0, OIL_SCALE: 1.0}
        terms = element.terms(u[1], u[2], symbols)
        rates = ca.densify(ca.vertcat(*terms.rates[1:]))
        outputs = ca.densify(ca.vertcat(x, terms.outputs[f'{actuator.name}/supply_pressure']))
        functions = {
            'rhs': ca.Function('rhs', [x, u, p], [rates]),
            'jacobian': ca.Function('jacobian', [x, u, p], [ca.densify(ca.vec(ca.densify(ca.jacobian(rates, x))))]),
            'outputs': ca.Function('outputs', [x, u, p], [outputs]),
        }
        return functions, {}

    return build_module(
        f'{machine.name}: {actuator.name}_oil',
        [machine_fingerprint(replace(machine, actuators=(actuator,)))],
        make,
        drivers=[solve_stage, run_oil],
        batch=('outputs',),
    )
