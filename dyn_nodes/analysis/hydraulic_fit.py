"""Estimation of valve areas, bulk modulus and friction of hydraulic actuators from recordings.

Output error by multiple shooting: the compiled oil model of the plant simulates the actuator, driven by the smoothed
spool and joint motion, from free initial pressures in every segment of a few seconds. The estimated gains and bulk
modulus reproduce the two line pressures and the supply pressure best, each weighted by its noise. The method needs no
roots of differences of noisy pressures, which bias any balance of the measurements.

Standard errors treat every segment as one observation (sandwich form), so that persistent errors, such as an error of a
position, do not count as many independent ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from dyn_nodes.analysis.oil_shooting import PARAMETERS, ActuatorRecord, FitError, NothingToFitError, Shooting, Signal
from dyn_nodes.common.arrays import Array
from dyn_nodes.elements import actuator_element
from dyn_nodes.model.hydraulic import HydraulicRecord
from dyn_nodes.model.machine import Machine

__all__ = ['ActuatorFit', 'ActuatorRecord', 'Estimate', 'FitError', 'NothingToFitError', 'Signal', 'fit_actuator']

TRUSTED = 0.2  # greatest relative standard error of an identified value
TOLERANCES = (1e-3, 1e-4, 1e-7)
ROUNDS = 40


@dataclass(frozen=True)
class Estimate:
    """An estimated parameter.

    Attributes:
        name: key in the machine YAML.
        value, error: estimate and standard error; NaN if not estimated.
        before: value of the machine file.
        identified: whether the standard error is below a fifth of the value.
    """

    name: str
    value: float
    error: float
    before: float
    identified: bool


@dataclass(frozen=True, eq=False)
class ActuatorFit:
    """Result for one actuator.

    Attributes:
        actuator: name.  estimates: estimates by key of the machine YAML.
        misfit: root mean square residual of each pressure over its sensor noise; near 1 if the model fits.
        noise: noise of the two line pressures and of the supply pressure, Pa, estimated from the samples.
        seconds: recorded time used.
        warnings: cautions for the use of the values.
    """

    actuator: str
    estimates: dict[str, Estimate]
    misfit: Array
    noise: Array
    seconds: float
    warnings: tuple[str, ...]


def fit_actuator(machine: Machine, actuator: HydraulicRecord, record: ActuatorRecord) -> ActuatorFit:
    """Return estimates of the parameters of one actuator.

    Args:
        machine: machine with all other parameters, and the initial guesses.
        actuator: actuator of the machine.
        record: at least a few seconds with openings of the valve in both directions, pressures at 50 Hz or faster.

    Raises:
        NothingToFitError: a valve that never opens, or a shared pump.
        FitError: the record is too short.
    """
    if machine.pump_of(actuator.name) is not None:
        raise NothingToFitError(f'{actuator.name}: fed by a shared pump, whose flow to this valve is not measured')
    fit = Shooting(machine, actuator, record)
    start = np.concatenate([np.zeros(len(PARAMETERS)), fit.first_pressures() / fit.pressure_scale])
    for tolerance in TOLERANCES:
        start = _minimize(fit, start, tolerance)
        if tolerance > TOLERANCES[-1]:  # first weighted by the sensors' noise, then by the residuals
            fit.pair(start)
            fit.reweigh(start)
    solution, covariance = start, fit.covariance(start)
    estimates = {}
    for k, name in enumerate(PARAMETERS):
        before = fit.initial[k]
        value, error = before * float(np.exp(solution[k])), float(np.sqrt(covariance[k, k]))
        estimates[name] = Estimate(name, value, value * error, before, error < TRUSTED)
    estimates['viscous'] = _viscous(actuator, record, fit)
    left = fit.left_over(solution)
    return ActuatorFit(
        actuator.name,
        estimates,
        left / fit.noise,
        fit.noise,
        fit.end - fit.start,
        _warnings(estimates, left, fit.noise),
    )


def _minimize(fit: Shooting, unknowns: Array, tolerance: float) -> Array:
    """Return the minimizer by Levenberg and Marquardt's method on the normal equations, scaled by their diagonal.

    The matrix has thousands of rows and dozens of columns: its normal equations are cheap.
    """
    residuals = fit.residuals(unknowns)
    cost, damping = float(residuals @ residuals), 1e-3
    for _ in range(ROUNDS):
        matrix = fit.jacobian(unknowns)
        normal, slope = matrix.T @ matrix, matrix.T @ residuals
        scale = np.maximum(np.diag(normal), 1e-12 * float(np.diag(normal).max()))
        while damping < 1e12:
            moved = unknowns - np.linalg.solve(normal + damping * np.diag(scale), slope)
            tried = fit.residuals(moved)
            if float(tried @ tried) < cost:
                break
            damping *= 8.0
        else:
            return unknowns
        gained = 1.0 - float(tried @ tried) / cost
        unknowns, residuals, cost = moved, tried, float(tried @ tried)
        damping = max(damping / 8.0, 1e-9)
        if gained < tolerance:
            break
    return unknowns


def _warnings(estimates: dict[str, Estimate], left: Array, noise: Array) -> tuple[str, ...]:
    warnings = []
    unknown = [name for name, estimate in estimates.items() if not estimate.identified]
    if unknown:
        warnings.append(f'the recorded motion does not determine {", ".join(unknown)}')
    if (left > 5.0 * noise).any() and (left > 5e5).any():
        warnings.append(
            f'the model leaves {left.max() / 1e6:.2f} MPa of pressure unexplained: another value of the machine file, '
            'such as an area, the pump flow or dead_zone, may be wrong'
        )
    return tuple(warnings)


def _viscous(actuator: HydraulicRecord, record: ActuatorRecord, fit: Shooting) -> Estimate:
    """Return friction by linear least squares: force of the oil less force on the joint, against the speed."""
    before = actuator.viscous
    if record.effort is None or not np.isfinite(record.effort.values).all():
        return Estimate('viscous', np.nan, np.nan, before, False)
    times = record.first.times
    times = times[(times >= fit.start) & (times <= fit.end)]
    q, qd = fit.motion.at(times)
    first, second = (np.interp(times, s.times, s.values) for s in (record.first, record.second))
    effort = np.interp(times, record.effort.times, record.effort.values)
    lever, areas = np.asarray(actuator_element(actuator).lever(ca.DM(q))).ravel(), actuator.areas
    speed, lost = lever * qd, first * areas[0] - second * areas[1] - effort / lever
    # a constant error of a sensor is not friction
    matrix = np.column_stack([speed, np.ones_like(speed)])
    if np.ptp(speed) <= 0.0:
        return Estimate('viscous', np.nan, np.nan, before, False)
    solution = np.linalg.lstsq(matrix, lost, rcond=None)[0]
    inverse = np.linalg.inv(matrix.T @ matrix)
    rest = lost - matrix @ solution
    blocks = np.array_split(np.arange(len(rest)), max(2, len(fit.stretches)))
    scores = np.array([matrix[block].T @ rest[block] for block in blocks])
    covariance = inverse @ (scores.T @ scores) @ inverse
    value, error = float(solution[0]), float(np.sqrt(covariance[0, 0]))
    return Estimate('viscous', value, error, before, error < TRUSTED * abs(value))
