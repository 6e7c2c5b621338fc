"""Fit of inertial parameters, friction, joint offsets and sensor offsets of a machine to pressures and motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.analysis.base_parameters import BaseParameters, base_parameters, nearest_parameters
from dyn_nodes.analysis.least_squares import Estimate, solve
from dyn_nodes.analysis.machine_log import MachineLog
from dyn_nodes.analysis.mechanics import JointMechanics, MomentumRows
from dyn_nodes.analysis.valve_fit import OFFSET_DOUBT, PRESSURE_DOUBT
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.model.machine import Machine

ROUNDS, CONVERGED = 10, 0.1
"""Greatest number of iterations for the joint offsets (the rows are nonlinear in them); final step in standard errors.
"""
ACCELERATION_DOUBT = 0.03
"""Standard deviation of a constant error of an accelerometer, m/s2."""
BASE_DOUBT = 3.0
"""Standard deviation of a combination of inertial parameters, as a multiple of its typical size."""
LEAST_ROWS = 60


class MechanicsError(UserError, ValueError):
    """The log does not permit the fit; the message has the reason."""


@dataclass(frozen=True)
class Quantity:
    """An estimated value.

    Attributes:
        value: estimate.  half_width: half width of its interval of 95 %.  error: standard error.
        before: value of the machine files.
    """

    value: float
    half_width: float
    before: float
    error: float = 0.0

    def holds(self, truth: float) -> bool:
        """Return whether the interval contains a value."""
        return abs(self.value - truth) <= self.half_width


@dataclass(frozen=True, eq=False)
class MechanicsFit:
    """Result of `fit_mechanics`.

    Attributes:
        base: combinations of inertial parameters; `combinations` has their values, in order.
        viscous, dry: friction by actuator (N s/m or N m s/rad) and by joint (N m or N).
        offsets: corrections to add to measured positions, by joint, rad or m.
        sensors: other constant errors of sensors, by name.
        parameters: (k,) inertial parameters that agree with the fit and are nearest to the machine files.
        kept: bodies whose parameters were changed to the nearest rigid body.
        windows: number of windows used, by joint.
        rest: root mean square residual of the effort by joint, N m or N; `moved` is that value for all efforts.
    """

    base: BaseParameters
    combinations: tuple[Quantity, ...]
    viscous: dict[str, Quantity]
    dry: dict[str, Quantity]
    offsets: dict[str, Quantity]
    sensors: dict[str, Quantity]
    parameters: Array
    kept: tuple[str, ...]
    windows: dict[str, int]
    rest: dict[str, float]
    moved: dict[str, float]


class MechanicsProblem:
    """Rows of a log in base parameters, friction, sensor errors and joint offsets.

    Args:
        mechanics: mechanics of the machine.
        log: log of the machine.
    """

    def __init__(self, mechanics: JointMechanics, log: MachineLog) -> None:
        self.mechanics, self.log = mechanics, log
        self.base = base_parameters(mechanics.regressor, mechanics.row_indices)
        self.joints = len(mechanics.joints)
        self.inertial = len(mechanics.start)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        mechanics = self.mechanics
        base = (self.base.text(k) for k in range(len(self.base.chosen)))
        return (*base, *mechanics.friction, *mechanics.sensors, *(f'{name}.offset' for name in mechanics.joints))

    def rows(self, x: Array, offsets: Array) -> MomentumRows:
        """Return the rows at inertial parameters x and joint offsets."""
        rows = self.mechanics.rows_of(self.log, x, offsets)
        if len(rows.right) < LEAST_ROWS:
            raise MechanicsError(
                f'{self.log.name}: expected {LEAST_ROWS} windows or more in which a joint moves, '
                f'found {len(rows.right)}'
            )
        return rows

    def matrix(self, rows: MomentumRows) -> Array:
        """Return the columns (m, k) of the unknowns."""
        inertial = self.base.columns(rows.columns[:, : self.inertial])
        return np.column_stack([inertial, rows.columns[:, self.inertial :], rows.offsets])

    def prior(self, rows: MomentumRows, offsets: Array) -> tuple[Array, Array]:
        """Return prior mean and standard deviation (k,) of the unknowns."""
        mechanics, r = self.mechanics, len(self.mechanics.rows)
        mean = np.concatenate([self.base.matrix @ mechanics.start, mechanics.friction_start, np.zeros(r + 3), -offsets])
        friction = np.zeros(2 * r)
        columns = rows.columns[:, self.inertial : self.inertial + 2 * r]
        for k, joint in enumerate(mechanics.row_indices):
            here = rows.joint == joint
            effort = max(float(np.sqrt(np.mean(rows.right[here] ** 2))) if here.any() else 0.0, 1.0)
            for column in (k, r + k):
                size = float(np.sqrt(np.mean(columns[here, column] ** 2))) if here.any() else 0.0
                friction[column] = effort / size if size > 0.0 else max(abs(mechanics.friction_start[column]), 1.0)
        # a pressure of the second line acts on the other area
        areas = [element.record.areas for element in mechanics.elements]
        pressures = [PRESSURE_DOUBT * float(np.hypot(1.0, second / first)) for first, second in areas]
        sensors = np.array([*pressures, *[ACCELERATION_DOUBT] * 3])
        spread = [BASE_DOUBT * self.base.scales, friction, sensors, np.full(self.joints, OFFSET_DOUBT)]
        return mean, np.concatenate(spread)


def fit_mechanics(machine: Machine, log: MachineLog, payload: float = 0.0) -> MechanicsFit:
    """Return the parameters that are identifiable from the efforts on the joints.

    Args:
        machine: machine with geometry, cylinder areas and initial guesses.
        log: log of the machine.
        payload: specified mass in the implement, kg.

    Raises:
        MechanicsError: too little motion of the joints.
        ValueError: a machine with constraints or a planar base.
    """
    problem = MechanicsProblem(JointMechanics(machine, log.actuators, payload), log)
    mechanics, base = problem.mechanics, problem.base
    b, n = len(base.chosen), problem.joints
    x, step = mechanics.start, np.zeros(n)
    offsets = step
    for _ in range(ROUNDS):
        offsets = offsets + step
        rows = problem.rows(x, offsets)
        estimate, weights = _weighted(problem, rows, offsets)
        covariance, step = estimate.covariance[:b, :b], estimate.values[-n:]
        if (np.abs(step) <= CONVERGED * estimate.errors[-n:]).all():
            break
        # unidentified combinations, which may have any value, must not affect the derivatives by the offsets
        x, _ = nearest_parameters(base, mechanics.regressor, estimate.values[:b], covariance)
    return _result(problem, rows, estimate, weights, offsets, covariance)


def _weighted(problem: MechanicsProblem, rows: MomentumRows, offsets: Array) -> tuple[Estimate, Array]:
    """Return the estimate and weights, with the weight of each joint from its residuals."""
    matrix, (mean, spread) = problem.matrix(rows), problem.prior(rows, offsets)
    sigma = np.ones(problem.joints)
    for joint in np.unique(rows.joint):
        sigma[joint] = max(0.05 * float(np.sqrt(np.mean(rows.right[rows.joint == joint] ** 2))), 1e-6)
    for _ in range(3):
        weights = 1.0 / sigma[rows.joint]
        estimate = solve(matrix * weights[:, None], rows.right * weights, rows.blocks, spread, mean)
        for joint in np.unique(rows.joint):
            here = rows.joint == joint
            sigma[joint] *= max(float(np.sqrt(np.mean(estimate.rest[here] ** 2))), 1e-6)
    return estimate, weights


def _result(
    problem: MechanicsProblem, rows: MomentumRows, estimate: Estimate, weights: Array, offsets: Array, covariance: Array
) -> MechanicsFit:
    mechanics, base = problem.mechanics, problem.base
    b, r, n = len(base.chosen), len(mechanics.rows), problem.joints
    half, values = estimate.half_widths, estimate.values.copy()
    values[-n:] += offsets
    before = np.concatenate([base.matrix @ mechanics.start, mechanics.friction_start, np.zeros(r + 3 + n)])
    columns = (values, half, before, estimate.errors)
    quantities = [Quantity(*numbers) for numbers in zip(*(column.tolist() for column in columns))]
    parameters, kept = nearest_parameters(base, mechanics.regressor, values[:b], covariance)
    left = estimate.rest / weights
    names = [mechanics.joints[index] for index in mechanics.row_indices]

    def by_joint(values: Array) -> dict[str, float]:
        result = {}
        for name, index in zip(names, mechanics.row_indices):
            here = values[rows.joint == index]
            result[name] = float(np.sqrt(np.mean(here**2))) if len(here) else 0.0
        return result

    return MechanicsFit(
        base,
        tuple(quantities[:b]),
        dict(zip((element.name for element in mechanics.elements), quantities[b : b + r])),
        dict(zip(mechanics.rows, quantities[b + r : b + 2 * r])),
        dict(zip(mechanics.joints, quantities[-n:])),
        dict(zip(mechanics.sensors, quantities[b + 2 * r : -n])),
        parameters,
        kept,
        {name: int((rows.joint == index).sum()) for name, index in zip(names, mechanics.row_indices)},
        by_joint(left),
        by_joint(rows.right),
    )
