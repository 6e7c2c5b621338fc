"""Fit of dead time, lag, dead zone, gains, pump flow, oil and leakage of one actuator to commands, pressures, motion.

Spool position, flow and supply pressure are not needed. For both lines and every window

    integral of phi V / beta dP/dt = integral of phi (Q(spool, P) - swept volume),

the left side by parts (`weak_form`). The flows Q come from the plant's element, the spool from the commands
(`spool_motion`). Each direction of the valve has separate gains and a separate dead zone. As the spool is not measured,
its travel per volt is the value of the machine file: dead zone and gains refer to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.least_squares import Estimate, solve
from dyn_nodes.analysis.machine_log import MachineLog, Samples
from dyn_nodes.analysis.signal_smoothing import noise_level
from dyn_nodes.analysis.spool_motion import SpoolMotion
from dyn_nodes.analysis.weak_form import covered, interpolated, windows
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.elements import actuator_element
from dyn_nodes.elements.hydraulic import OIL_SCALE
from dyn_nodes.model.hydraulic import HydraulicRecord
from dyn_nodes.multibody.elements import symbolic

STEP, WIDTH, EVERY = 5e-3, 0.2, 0.05
GAP, END_ROOM, BLOCK = 0.15, 0.02, 3.0
DIRECTIONS = ('forward', 'reverse')
FLOW_PARAMETERS = (
    'dead_zone.forward',
    'dead_zone.reverse',
    'inlet_gain.forward',
    'inlet_gain.reverse',
    'outlet_gain.forward',
    'outlet_gain.reverse',
    'bypass_area',
    'bypass_stroke',
    'flow',
    'leakage',
    'pressure_offset.first',
    'pressure_offset.second',
)
PARAMETERS = (*FLOW_PARAMETERS, 'bulk_modulus', 'dead_time', 'time_constant', 'joint_offset')
LINEAR = ('dead_zone.forward', 'dead_zone.reverse', 'leakage', 'dead_time', 'joint_offset', *FLOW_PARAMETERS[-2:])
SENSORS = FLOW_PARAMETERS[-2:]
"""Constant errors of the two pressures, Pa: measured less true. They are not parameters of the machine."""
LATEST, LATE_STEP = 0.3, 0.02
"""Greatest initial dead time, and step between initial dead times, s."""
LAGS = (0.6, 1.4)
"""Initial time constants as multiples of the value of the machine file."""
ROUNDS, TOLERANCE = 40, 1e-7
LAG_STEP = 1e-3
OFFSET_DOUBT, PRESSURE_DOUBT = 0.02, 5e4
"""Standard deviations of the offset of a joint sensor, rad or m, and of a constant error of a pressure, Pa."""
NEAR_LIMIT = 2e5
"""Least distance to the pressure of a relief for which a line is used, Pa."""
LEAST_WINDOWS = 40


class ValveFitError(UserError, ValueError):
    """The log does not permit the fit; the message has the reason."""


@dataclass(frozen=True, eq=False)
class ValveFit:
    """Result for one actuator.

    Attributes:
        actuator: name of the actuator.
        values: (16,) estimates of `PARAMETERS`.  errors: (16,) standard errors.
        half_widths: (16,) half widths of the intervals of 95 %.
        before: (16,) values of the machine file.
        rest: root mean square residual of the flow balance, m3/s.
        moved: root mean square of the flows, m3/s.
        windows: number of windows used.
    """

    actuator: str
    values: Array
    errors: Array
    half_widths: Array
    before: Array
    rest: float
    moved: float
    windows: int


class ValveProblem:
    """The flow balance of an actuator over a log.

    Args:
        actuator: actuator with a separate pump.
        log: log of the machine.
        offset: offset added to the measured position of its joint, rad or m.

    Raises:
        ValveFitError: too little of the log is usable.
    """

    def __init__(self, actuator: HydraulicRecord, log: MachineLog, offset: float = 0.0) -> None:
        self.actuator = actuator
        self.before = start_values(actuator)
        joint, column = log.joints.index(actuator.joint), log.actuators.index(actuator.name)
        pressures = log.pressures[actuator.name]
        start, end = log.span
        self.grid = windows(start, end, STEP, WIDTH, EVERY)
        times = self.grid.times
        self._q = interpolated(log.positions, times)[:, joint] + offset
        self._v = interpolated(log.velocities, times)[:, joint]
        self._p = interpolated(pressures, times)
        commands = Samples(log.commands.times, log.commands.values[:, column : column + 1])
        self.spool = SpoolMotion(actuator.valve, commands)
        self._flows, self._slopes, geometry = _traced(actuator)
        terms = geometry(ca.DM(self._q[None]), ca.DM(self._v[None]))
        volumes, slopes, bends, swept, swept_by_q, room = (np.array(term).T for term in terms)
        self.noise = np.array([noise_level(samples) for samples in pressures.values.T])
        usable = covered(pressures, times, GAP) & covered(log.positions, times, GAP) & (room[:, 0] > END_ROOM)
        usable &= self._unlimited(self._p)
        self.good = self.grid.all(usable)
        if self.good.sum() < LEAST_WINDOWS:
            raise ValveFitError(
                f'{actuator.name}: expected 2 s or more within the stroke, found {self.good.sum() * EVERY:.2f} s'
            )
        speed = self._v[:, np.newaxis]
        self._stored = self.grid.rate(volumes * self._p) - self.grid.mean(slopes * speed * self._p)
        self._stored_by_q = self.grid.rate(slopes * self._p) - self.grid.mean(bends * speed * self._p)
        self._swept, self._swept_by_q = self.grid.mean(swept), self.grid.mean(swept_by_q)
        self.blocks = np.floor(self.grid.centers[self.good] / BLOCK).astype(np.intp)

    def _unlimited(self, pressures: Array) -> NDArray[np.bool_]:
        """Return whether pressures are away from reliefs and make-up checks, where the flow is undetermined."""
        supply, room = self.actuator.supply, NEAR_LIMIT + 4.0 * self.noise
        limit = supply.line_relief_pressure
        relieved = actuator_element(self.actuator).relieved(pressures[:, 0], pressures[:, 1])
        below = np.array([value < limit - room.max() for value in relieved.values()]).all(axis=0)
        return np.asarray(below & (pressures > supply.tank_pressure + 4.0 * self.noise).all(axis=1))

    def _signals(self, spool: Array) -> list[ca.DM]:
        return [ca.DM(signal.T) for signal in (self._q[:, None], self._v[:, None], self._p, spool[:, None])]

    def balance(self, values: Array, slopes: bool = True) -> tuple[Array, Array]:
        """Return residuals of the balances (2, w), m3/s, and their derivatives by the parameters (2, w, 16)."""
        f = len(FLOW_PARAMETERS)
        beta, late, lag, offset = values[f:]
        spool, by_late = self.spool.at(self.grid.times, late, lag)
        signals = [*self._signals(spool), values[:f]]
        flows = np.array(self._flows(*signals)).T
        good = self.good
        moved = (self._stored_by_q / beta + self._swept_by_q)[good]
        rest = (self._stored / beta - self.grid.mean(flows) + self._swept)[good].T + offset * moved.T
        if not slopes:
            return rest, np.zeros((*rest.shape, 0))
        count = len(self.grid.times)
        jacobian = np.array(self._slopes(*signals)).T.reshape(count, f + 1, 2)
        later, _ = self.spool.at(self.grid.times, late, lag * (1.0 + LAG_STEP))
        by_lag = (later - spool) / (lag * LAG_STEP)
        by_spool = jacobian[:, f]
        columns = np.concatenate(
            [jacobian[:, :f], (by_spool * by_late[:, None])[:, None], (by_spool * by_lag[:, None])[:, None]], axis=1
        )
        mean = -self.grid.mean(columns.transpose(0, 2, 1).reshape(count, -1)).reshape(-1, 2, f + 2)[good]
        by_beta = (-self._stored / beta**2)[good]
        parts = [mean[:, :, :f], by_beta[:, :, None], mean[:, :, f:], moved[:, :, None]]
        result = np.concatenate(parts, axis=2)
        return rest, result.transpose(1, 0, 2)

    @property
    def moved(self) -> float:
        """Root mean square of the swept volumes, m3/s."""
        return float(np.sqrt(np.mean(self._swept[self.good] ** 2)))


def start_values(actuator: HydraulicRecord) -> Array:
    """Return the parameters (16,) of the machine file."""
    valve, supply = actuator.valve, actuator.supply
    gains = [valve.dead_zone] * 2 + [valve.inlet_gain] * 2 + [valve.outlet_gain] * 2
    flows = [valve.bypass_area, valve.bypass_stroke, supply.flow, actuator.leakage]
    return np.array([*gains, *flows, 0.0, 0.0, supply.bulk_modulus, valve.dead_time, valve.time_constant, 0.0])


def _traced(actuator: HydraulicRecord) -> tuple[ca.Function, ca.Function, ca.Function]:
    """Return flows into both lines; their derivatives; volumes, swept flows, both by position, room of the piston."""
    q, v, p, spool = ca.SX.sym('q'), ca.SX.sym('v'), ca.SX.sym('p', 2), ca.SX.sym('spool')
    x = ca.SX.sym('x', len(FLOW_PARAMETERS))
    named = dict(zip(FLOW_PARAMETERS, ca.vertsplit(x)))

    def either(key: str) -> Any:
        return ca.if_else(spool >= 0.0, named[f'{key}.forward'], named[f'{key}.reverse'])

    gains = {key: either(key) for key in ('dead_zone', 'inlet_gain', 'outlet_gain')}
    valve = symbolic(actuator.valve, bypass_area=named['bypass_area'], bypass_stroke=named['bypass_stroke'], **gains)
    supply = symbolic(actuator.supply, flow=named['flow'])
    element: Any = actuator_element(symbolic(actuator, valve=valve, supply=supply, leakage=named['leakage']))
    names = [state.name for state in element.states]
    lines = [p[k] - named[name] for k, name in enumerate(SENSORS)]
    inputs = dict(zip(names, (spool, *lines))) | {element.inputs[0].name: ca.SX(0), OIL_SCALE: ca.SX(1)}
    terms = element.terms(q, v, inputs)
    flows = ca.vertcat(*(terms.outputs[f'{actuator.name}/flow_{line}'] for line in 'ab'))
    lever, beta = element.lever(q), supply.bulk_modulus
    swept = ca.vertcat(actuator.areas[0] * lever, -actuator.areas[1] * lever)
    # rate = beta / V (flow - swept v), and no flow depends on v
    rates = ca.vertcat(*terms.rates[1:])
    volumes = -beta * swept / ca.jacobian(rates, v)
    piston = terms.outputs.get(f'{actuator.name}/piston')
    stroke = getattr(getattr(actuator, 'linkage', None), 'stroke', None)
    room = ca.SX(1e3) if piston is None else ca.fmin(piston, stroke - piston)
    signals = [q, v, p, spool, x]
    jacobian = ca.jacobian(flows, ca.vertcat(x, spool))
    slope = ca.jacobian(volumes, q)
    values = (volumes, slope, ca.jacobian(slope, q), swept * v, ca.jacobian(swept * v, q), room)
    geometry = [ca.densify(value) for value in values]
    return (
        ca.Function('flows', signals, [ca.densify(flows)]),
        ca.Function('slopes', signals, [ca.densify(ca.vec(ca.densify(jacobian)))]),
        ca.Function('geometry', [q, v], geometry),
    )


class ValveScale:
    """Unknowns of the search: logarithms of most parameters, the others divided by their scale."""

    def __init__(self, before: Array, reach: float, offset_error: float = OFFSET_DOUBT) -> None:
        self.before = before
        self.linear = np.array([name in LINEAR for name in PARAMETERS])
        scales = {
            'dead_zone.forward': 0.1 * reach,
            'dead_zone.reverse': 0.1 * reach,
            'leakage': 1e-11,
            'dead_time': 0.1,
        }
        scales |= dict.fromkeys(SENSORS, PRESSURE_DOUBT)
        self.size = np.array([scales.get(name, 1.0) for name in PARAMETERS])
        self.spread = np.array([1.0 if name != 'dead_time' else 3.0 for name in PARAMETERS])
        self.spread[-1] = max(offset_error, 1e-9)
        self.spread[[PARAMETERS.index('flow'), PARAMETERS.index('bypass_stroke')]] = 0.5

    def values(self, z: Array) -> Array:
        """Return the parameters (16,) of unknowns (16,)."""
        result = np.where(self.linear, self.before + z * self.size, self.before * np.exp(np.clip(z, -5.0, 5.0)))
        for name in ('dead_zone.forward', 'dead_zone.reverse', 'dead_time'):
            result[PARAMETERS.index(name)] = max(result[PARAMETERS.index(name)], 0.0)
        return result

    def slopes(self, values: Array) -> Array:
        """Return the derivatives (16,) of the parameters by the unknowns."""
        return np.where(self.linear, self.size, values)


def fit_valve(
    actuator: HydraulicRecord, log: MachineLog, offset: float = 0.0, offset_error: float = OFFSET_DOUBT
) -> ValveFit:
    """Return the fit of one valve, its pump and its oil.

    Args:
        actuator: actuator with all other parameters, and the initial guesses.
        log: log of the machine with several openings of the valve in both directions.
        offset: offset added to the measured position of its joint, rad or m.
        offset_error: standard deviation of the offset.

    Raises:
        ValveFitError: too little of the log is usable, or the valve never moves its joint.
    """
    problem = ValveProblem(actuator, log, offset)
    scale = ValveScale(problem.before, problem.spool.reach, offset_error)
    z = _first(problem, scale)
    weights = np.ones(2)
    for _ in range(3):
        rest, _ = problem.balance(scale.values(z), False)
        weights = 1.0 / np.maximum(np.sqrt(np.mean(rest**2, axis=1)), 1e-9)
        z = _search(problem, scale, z, weights)
    estimate = _linear(problem, scale, z, weights)
    values = scale.values(z)
    slopes = scale.slopes(values)
    rest, _ = problem.balance(values, False)
    return ValveFit(
        actuator.name,
        values,
        estimate.errors * slopes,
        estimate.half_widths * slopes,
        problem.before,
        float(np.sqrt(np.mean(rest**2))),
        problem.moved,
        int(problem.good.sum()),
    )


def _first(problem: ValveProblem, scale: ValveScale) -> Array:
    """Return the unknowns with the best dead time and lag, all other parameters from the machine file."""
    best, chosen = np.inf, np.zeros(len(PARAMETERS))
    late, lag = PARAMETERS.index('dead_time'), PARAMETERS.index('time_constant')
    for factor in LAGS:
        for dead in np.arange(0.0, LATEST, LATE_STEP):
            z = np.zeros(len(PARAMETERS))
            z[late], z[lag] = (dead - scale.before[late]) / scale.size[late], np.log(factor)
            rest, _ = problem.balance(scale.values(z), False)
            cost = float(np.sum(np.abs(rest)))
            if cost < best:
                best, chosen = cost, z
    return chosen


def _search(problem: ValveProblem, scale: ValveScale, z: Array, weights: Array) -> Array:
    """Return the minimizer by Levenberg and Marquardt's method."""
    information, damping = 1.0 / scale.spread**2, 1e-3

    def cost_of(z: Array) -> float:
        rest, _ = problem.balance(scale.values(z), False)
        return float(np.sum((rest * weights[:, None]) ** 2) + np.sum(information * z**2))

    cost = cost_of(z)
    for _ in range(ROUNDS):
        rows, right = _rows(problem, scale, z, weights)
        normal = rows.T @ rows + np.diag(information)
        slope = rows.T @ right - information * z
        while damping < 1e9:
            moved = z + np.linalg.solve(normal + damping * np.diag(np.diag(normal)), slope)
            tried = cost_of(moved)
            if tried < cost:
                break
            damping *= 6.0
        else:
            return z
        gained = 1.0 - tried / cost
        z, cost, damping = moved, tried, max(damping / 10.0, 1e-9)
        if gained < TOLERANCE:
            break
    return z


def _rows(problem: ValveProblem, scale: ValveScale, z: Array, weights: Array) -> tuple[Array, Array]:
    values = scale.values(z)
    rest, jacobian = problem.balance(values)
    rows = jacobian * scale.slopes(values) * weights[:, None, None]
    return rows.reshape(-1, len(z)), -(rest * weights[:, None]).ravel()


def _linear(problem: ValveProblem, scale: ValveScale, z: Array, weights: Array) -> Estimate:
    """Return the estimate of the problem linearized at its solution, for the covariance."""
    rows, right = _rows(problem, scale, z, weights)
    return solve(rows, right + rows @ z, np.tile(problem.blocks, 2), scale.spread)
