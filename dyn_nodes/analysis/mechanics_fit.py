"""Inertial parameters, friction, joint offsets and sensor offsets of a machine from pressures and motion."""

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
"""Rounds at most of the joint offsets, in which the rows are not linear, and the step, in standard errors, that ends
them."""
ACCELERATION_DOUBT = 0.03
"""Standard deviation of a constant error of an accelerometer, m/s2."""
BASE_DOUBT = 3.0
"""Standard deviation of a combination of inertial parameters, times its natural size."""
LEAST_ROWS = 60


class MechanicsError(UserError, ValueError):
    """The log does not allow the fit; the message says why."""


@dataclass(frozen=True)
class Quantity:
    """An estimated number.

    Attributes:
        value: estimate.  half_width: half the width of its interval of 95 %.  error: its standard error.
        before: of the machine files.
    """

    value: float
    half_width: float
    before: float
    error: float = 0.0

    def holds(self, truth: float) -> bool:
        """Return whether the interval holds a number."""
        return abs(self.value - truth) <= self.half_width


@dataclass(frozen=True, eq=False)
class MechanicsFit:
    """Result.

    Attributes:
        base: combinations of inertial parameters; `combinations` their values, in order.
        viscous, dry: friction by actuator (N s/m or N m s/rad) and by its joint (N m or N).
        offsets: to be added to measured positions, by joint, rad or m.
        sensors: other constant errors of sensors, by name.
        parameters: (k,) all inertial parameters nearest to those of the machine files that agree.
        kept: bodies whose parameters had to be moved to those of a rigid body.
        windows: by joint, that were used.
        rest: by joint the root mean square of the effort that is left, N m or N, and `moved` of all efforts.
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
    """The rows of a log in base parameters, friction, sensor errors and joint offsets.

    Args:
        mechanics: of the machine.
        log: of it.
    """

    def __init__(self, mechanics: JointMechanics, log: MachineLog) -> None:
        self.mechanics, self.log = mechanics, log
        self.base = base_parameters(mechanics.regressor, mechanics.places)
        self.joints = len(mechanics.joints)
        self.inertial = len(mechanics.start)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        own = self.mechanics
        base = (self.base.text(k) for k in range(len(self.base.chosen)))
        return (*base, *own.friction, *own.sensors, *(f'{name}.offset' for name in own.joints))

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

    def known(self, rows: MomentumRows, offsets: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation (k,) of what is known beforehand."""
        own, r = self.mechanics, len(self.mechanics.rows)
        mean = np.concatenate([self.base.matrix @ own.start, own.friction_start, np.zeros(r + 3), -offsets])
        friction = np.zeros(2 * r)
        columns = rows.columns[:, self.inertial : self.inertial + 2 * r]
        for k, place in enumerate(own.places):
            here = rows.joint == place
            effort = max(float(np.sqrt(np.mean(rows.right[here] ** 2))) if here.any() else 0.0, 1.0)
            for column in (k, r + k):
                size = float(np.sqrt(np.mean(columns[here, column] ** 2))) if here.any() else 0.0
                friction[column] = effort / size if size > 0.0 else max(abs(own.friction_start[column]), 1.0)
        # a pressure of the second line acts on the other area
        areas = [element.record.areas for element in own.elements]
        pressures = [PRESSURE_DOUBT * float(np.hypot(1.0, second / first)) for first, second in areas]
        sensors = np.array([*pressures, *[ACCELERATION_DOUBT] * 3])
        spread = [BASE_DOUBT * self.base.scales, friction, sensors, np.full(self.joints, OFFSET_DOUBT)]
        return mean, np.concatenate(spread)


def fit_mechanics(machine: Machine, log: MachineLog, payload: float = 0.0) -> MechanicsFit:
    """Estimate what the efforts on the joints show.

    Args:
        machine: gives geometry, cylinder areas and first guesses.
        log: of it.
        payload: mass in the implement, kg, known.

    Raises:
        MechanicsError: joints hardly move.
        ValueError: a machine with constraints or a planar base.
    """
    problem = MechanicsProblem(JointMechanics(machine, log.actuators, payload), log)
    own, base = problem.mechanics, problem.base
    b, n = len(base.chosen), problem.joints
    x, step = own.start, np.zeros(n)
    offsets = step
    for _ in range(ROUNDS):
        offsets = offsets + step
        rows = problem.rows(x, offsets)
        found, weights = _weighted(problem, rows, offsets)
        covariance, step = found.covariance[:b, :b], found.values[-n:]
        if (np.abs(step) <= CONVERGED * found.errors[-n:]).all():
            break
        # unseen combinations, which may be anything, must not come into the slopes by the offsets
        x, _ = nearest_parameters(base, own.regressor, found.values[:b], covariance)
    return _result(problem, rows, found, weights, offsets, covariance)


def _weighted(problem: MechanicsProblem, rows: MomentumRows, offsets: Array) -> tuple[Estimate, Array]:
    """Solve with the weights of each joint read off what is left."""
    matrix, (mean, spread) = problem.matrix(rows), problem.known(rows, offsets)
    sigma = np.ones(problem.joints)
    for place in np.unique(rows.joint):
        sigma[place] = max(0.05 * float(np.sqrt(np.mean(rows.right[rows.joint == place] ** 2))), 1e-6)
    for _ in range(3):
        weights = 1.0 / sigma[rows.joint]
        found = solve(matrix * weights[:, None], rows.right * weights, rows.blocks, spread, mean)
        for place in np.unique(rows.joint):
            here = rows.joint == place
            sigma[place] *= max(float(np.sqrt(np.mean(found.rest[here] ** 2))), 1e-6)
    return found, weights


def _result(
    problem: MechanicsProblem, rows: MomentumRows, found: Estimate, weights: Array, offsets: Array, covariance: Array
) -> MechanicsFit:
    own, base = problem.mechanics, problem.base
    b, r, n = len(base.chosen), len(own.rows), problem.joints
    half, values = found.half_widths, found.values.copy()
    values[-n:] += offsets
    before = np.concatenate([base.matrix @ own.start, own.friction_start, np.zeros(r + 3 + n)])
    columns = (values, half, before, found.errors)
    quantities = [Quantity(*own) for own in zip(*(column.tolist() for column in columns))]
    parameters, kept = nearest_parameters(base, own.regressor, values[:b], covariance)
    left = found.rest / weights
    names = [own.joints[place] for place in own.places]

    def by_joint(values: Array) -> dict[str, float]:
        found = {}
        for name, place in zip(names, own.places):
            here = values[rows.joint == place]
            found[name] = float(np.sqrt(np.mean(here**2))) if len(here) else 0.0
        return found

    return MechanicsFit(
        base,
        tuple(quantities[:b]),
        dict(zip((element.name for element in own.elements), quantities[b : b + r])),
        dict(zip(own.rows, quantities[b + r : b + 2 * r])),
        dict(zip(own.joints, quantities[-n:])),
        dict(zip(own.sensors, quantities[b + 2 * r : -n])),
        parameters,
        kept,
        {name: int((rows.joint == place).sum()) for name, place in zip(names, own.places)},
        by_joint(left),
        by_joint(rows.right),
    )
