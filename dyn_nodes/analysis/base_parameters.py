"""Identifiable combinations of the inertial parameters of a machine.

The efforts on the joints are Y(q, v, a, ...) pi. If columns of Y are linearly dependent for every motion, only
combinations beta = B pi of the parameters are identifiable (base parameters: Gautier, Khalil 1990; computed here by
orthogonalization at random motions). Masses are last in the order, so that the mass of a link appears together with the
first moments and inertias of the links that carry it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.multibody.regressor import PARAMETERS, MomentumRegressor, nearest_possible

MOTIONS = 150
RANK_TOLERANCE = 1e-8
COEFFICIENT = 1e-9
"""Coefficient of a combination below which it is round-off."""
MOVED = 0.01
"""Change towards a rigid body that is reported, as a part of the body's greatest parameter."""
MASS_DOUBT, MOMENT_DOUBT, INERTIA_DOUBT = 0.3, 0.3, 0.5
"""Prior deviation from the machine files as parts of a link's mass, mass * size and mass * size^2."""


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Combinations beta = `matrix` pi.

    Attributes:
        names: names of all inertial parameters (k,), `<joint>.<parameter>`.
        chosen: (b,) index of the parameter that leads each combination.
        matrix: (b, k) matrix B.
        scales: (b,) typical sizes of the combinations, for tests of significance.
    """

    names: tuple[str, ...]
    chosen: NDArray[np.intp]
    matrix: Array
    scales: Array

    def columns(self, columns: Array) -> Array:
        """Return the columns (m, b) of the combinations from the columns of all parameters (m, k)."""
        return np.asarray(columns[:, self.chosen])

    def text(self, index: int) -> str:
        """Return a combination as text: `boom_joint.mx + 5.2 stick_joint.m`."""
        row = self.matrix[index].copy()
        lead = int(self.chosen[index])
        row[lead] = 0.0
        parts = [self.names[lead]]
        for k in np.flatnonzero(np.abs(row) > COEFFICIENT):
            factor = '' if abs(abs(row[k]) - 1.0) < COEFFICIENT else f'{abs(row[k]):.4g} '
            parts.append(f'{"-" if row[k] < 0.0 else "+"} {factor}{self.names[k]}')
        return ' '.join(parts)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Parameters without any effect on the efforts, alone or in combination."""
        return tuple(name for name, column in zip(self.names, self.matrix.T) if not np.abs(column).max() > COEFFICIENT)

    @property
    def only_combined(self) -> tuple[str, ...]:
        """Parameters that are identifiable only in combination."""
        leads = set(self.chosen.tolist())
        shown = np.abs(self.matrix).max(axis=0) > COEFFICIENT
        return tuple(name for k, name in enumerate(self.names) if shown[k] and k not in leads)


def base_parameters(regressor: MomentumRegressor, rows: NDArray[np.intp], seed: int = 0) -> BaseParameters:
    """Return the combinations that are identifiable from efforts on some joints.

    Args:
        regressor: regressor of the machine.
        rows: (r,) indices of these joints.
        seed: seed of the random motions.
    """
    rng = np.random.default_rng(seed)
    n = len(regressor.bodies)
    size = typical_sizes(regressor)
    blocks = []
    for _ in range(MOTIONS):
        q, v, a = rng.uniform(-1.5, 1.5, (3, n))
        omega, alpha, specific_force = (np.zeros(3), np.zeros(3), rng.normal(size=3) * 9.81)
        if regressor.free:
            omega, alpha = rng.normal(size=(2, 3))
        else:
            specific_force = np.array([0.0, 0.0, 9.81])
        blocks.append(regressor.torque(q, v, a, omega, alpha, specific_force)[rows])
    stacked = np.concatenate(blocks) * size
    order = sorted(
        range(stacked.shape[1]), key=lambda k: (k % 10 == 0, k % 10 > 3, k // 10, k % 10 not in (4, 7, 9), -(k % 10))
    )
    chosen = _independent(stacked, order)
    factors = np.linalg.lstsq(stacked[:, chosen], stacked, rcond=None)[0]
    matrix = factors * size[chosen][:, None] / size[None, :]
    matrix[np.abs(matrix * size[None, :] / size[chosen][:, None]) < 1e-8] = 0.0
    scales = np.sqrt(((matrix * regressor.start) ** 2).sum(axis=1))
    return BaseParameters(regressor.names, chosen, matrix, np.maximum(scales, 0.1 * size[chosen]))


def typical_sizes(regressor: MomentumRegressor) -> Array:
    """Return typical sizes (k,) of the parameters: mass, mass times length, mass times length squared of each body."""
    result = []
    total = sum(regressor.tree.bodies[k].mass for k in regressor.bodies) or 1.0
    reach = max([float(np.linalg.norm(regressor.tree.bodies[k].p0)) for k in regressor.bodies] + [0.1])
    for k in regressor.bodies:
        body = regressor.tree.bodies[k]
        mass = max(body.mass, 0.05 * total)
        length = max(float(np.linalg.norm(body.com)), 0.2 * reach)
        result += [mass, *[mass * length] * 3, *[mass * length**2] * 6]
    return np.array(result)


def _independent(columns: Array, order: list[int]) -> NDArray[np.intp]:
    """Return the sorted indices of columns that are independent of the earlier ones in `order`."""
    basis: list[Array] = []
    chosen = []
    for k in order:
        column = columns[:, k]
        norm = float(np.linalg.norm(column))
        if norm == 0.0:
            continue
        rest = column.copy()
        for _ in range(2):
            for direction in basis:
                rest = rest - (direction @ rest) * direction
        left = float(np.linalg.norm(rest))
        if left > RANK_TOLERANCE * norm:
            basis.append(rest / left)
            chosen.append(k)
    return np.array(sorted(chosen), dtype=np.intp)


def nearest_parameters(
    base: BaseParameters, regressor: MomentumRegressor, values: Array, covariance: Array
) -> tuple[Array, tuple[str, ...]]:
    """Return the inertial parameters (k,) with these combinations that are nearest to the machine files.

    Args:
        base: combinations.
        regressor: regressor of the machine.
        values: (b,) estimated combinations.
        covariance: (b, b) covariance of `values`; a combination that the log does not excite has a large variance and
            changes nothing.

    Returns:
        Parameters, and the bodies (by joint) whose parameters were changed to the nearest rigid body.
    """
    start, doubt = regressor.start, _doubts(regressor)
    spread = base.matrix * doubt**2
    gain = np.linalg.solve(spread @ base.matrix.T + covariance, spread).T
    parameters = start + gain @ (values - base.matrix @ start)
    moved = []
    for index, k in enumerate(regressor.bodies):
        block = slice(10 * index, 10 * index + 10)
        possible = nearest_possible(parameters[block])
        if np.abs(possible - parameters[block]).max() > MOVED * np.abs(parameters[block]).max():
            moved.append(regressor.tree.bodies[k].name)
        parameters[block] = possible
    return parameters, tuple(moved)


def _doubts(regressor: MomentumRegressor) -> Array:
    parts = np.array([MASS_DOUBT, *[MOMENT_DOUBT] * 3, *[INERTIA_DOUBT] * 6])
    massless = np.repeat([regressor.tree.bodies[k].massless for k in regressor.bodies], len(PARAMETERS))
    return np.where(massless, 0.0, typical_sizes(regressor) * np.tile(parts, len(regressor.bodies)))
