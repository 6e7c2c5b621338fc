"""Fit of the unknown quantities of a data sheet to its published loads.

Residuals: relative errors of the cells that stability limits, over their standard deviation (rounding of the printed
number, and `MODEL` for the maker's rigid calculation); shortfalls of the rated load below cells that hydraulics or
structure limit; and the deviations of the quantities from their published values or estimates over their spreads. The
covariance of the quantities is (J^T J)^-1 of these residuals at the optimum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import least_squares

from dyn_nodes.analysis.sheets.cases import Cases, joined, with_derived
from dyn_nodes.analysis.sheets.kinds import KINDS, Loads, axle_loads
from dyn_nodes.analysis.sheets.sheet import Chart, Sheet
from dyn_nodes.common.arrays import Array

MODEL = 0.003
"""Standard deviation of a maker's own calculation against rigid statics, relative."""
ENVELOPE = 0.0
"""Saturation of the first fit of cells of unknown limit: their excess counts little, in proportion to its root, so the
computed loads become the upper envelope of the printed ones."""
SATURATION = 2.5
"""Standard deviations at which the excess of a cell of unknown limit stops to count in the second fit."""
STEP = 1e-5
"""Step of the numerical Jacobian, in spreads of the quantities."""
MOST_EVALUATIONS = 100
"""Greatest number of steps of a fit; the choice of the least posture of an arm makes some loads unsmooth."""
UNKNOWN_EXCESS = 0.02
"""Relative excess of the stability load above which another limit is assumed in a cell of unknown limit."""


@dataclass(frozen=True, eq=False)
class CellFit:
    """Fit of one chart.

    Attributes:
        chart: the cells.  loads: (n,) computed value of its measure, kg.
        errors: (n,) relative error of the computed value.
        targets: (n,) whether the cell is a target, not a bound.
        met: (n,) whether the computed load is at least the printed one, less its rounding; always true for targets.
        rounding: (n,) relative standard deviation by rounding of the printed load.
    """

    chart: Chart
    loads: Array
    errors: Array
    targets: np.ndarray
    met: np.ndarray
    rounding: Array


@dataclass(frozen=True, eq=False)
class FittedSheet:
    """Data sheet with values of all its quantities.

    Attributes:
        sheet: the sheet.
        values: by name.
        names: of the p quantities with a spread, in the order of the covariance.
        covariance: (p, p).
    """

    sheet: Sheet
    values: Mapping[str, float]
    names: tuple[str, ...]
    covariance: Array

    @cached_property
    def deviations(self) -> dict[str, float]:
        """Standard deviations of the quantities with a spread after the fit."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    @cached_property
    def effective_number(self) -> float:
        """Number of quantities that the loads determine: the trace of the resolution matrix."""
        spreads = np.array([self.sheet.quantities[name].spread for name in self.names])
        return float(np.sum(np.clip(1.0 - np.diag(self.covariance) / spreads**2, 0.0, 1.0)))

    def cells(self) -> list[CellFit]:
        """Return the fit of each chart."""
        return cells_of(self.sheet, self.values)


class Charts:
    """Charts of a sheet; charts of the same measure and columns are computed together."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        groups: dict[tuple[object, ...], list[Chart]] = {}
        for chart in sheet.charts.values():
            columns = tuple(sorted(chart.cases.labels)), tuple(sorted(chart.cases.numbers))
            groups.setdefault((chart.measure, tuple(sorted(chart.rating.items())), *columns), []).append(chart)
        self.groups = [(charts, joined([chart.cases for chart in charts])) for charts in groups.values()]

    def cells(
        self, values: Mapping[str, float], names: tuple[str, ...] = (), vectors: Array | None = None
    ) -> list[CellFit]:
        """Return the fit of each chart, in the order of the sheet.

        Args:
            values: quantities by name.
            names: of p quantities that vary.
            vectors: (m, p) their values; the loads and errors of the result are then (m, n).
        """
        result = {}
        for charts, cases in self.groups:
            varied = cases if vectors is None else _repeated(cases, names, vectors)
            loads, _ = loads_of(self.sheet, charts[0], values, varied)
            if vectors is not None:
                loads = loads.reshape(len(vectors), cases.size)
            ends = np.cumsum([chart.cases.size for chart in charts])
            for chart, part in zip(charts, np.split(loads, ends[:-1], axis=-1), strict=True):
                result[chart.name] = _cell_fit(chart, part)
        return [result[name] for name in self.sheet.charts]


def _repeated(cases: Cases, names: tuple[str, ...], vectors: Array) -> Cases:
    """Return the n cells once for each of m vectors (m, p) of the p named quantities, as columns of m n numbers."""
    numbers = {name: np.tile(column, len(vectors)) for name, column in cases.numbers.items()}
    labels = {name: np.tile(column, len(vectors)) for name, column in cases.labels.items()}
    quantities = {name: np.repeat(column, cases.size) for name, column in zip(names, vectors.T, strict=True)}
    return Cases({**numbers, **quantities}, labels, cases.size * len(vectors))


def cells_of(sheet: Sheet, values: Mapping[str, float]) -> list[CellFit]:
    """Return the errors of each chart of a sheet with values of its quantities."""
    return Charts(sheet).cells(values)


def loads_of(sheet: Sheet, chart: Chart, values: Mapping[str, float], cases: Cases) -> tuple[Array, Loads]:
    """Return the values of a chart's measure for its cells (n,), kg, and the loads behind them."""
    loads = _kind_loads(sheet, values, cases)
    if chart.measure == 'axle_load':
        return axle_loads(sheet.model, values, with_derived(sheet.model, values, cases), loads), loads
    if chart.measure == 'operating_mass':
        return loads.mass, loads
    if chart.measure == 'tipping_change':
        without = {**cases.numbers, 'mass_change': np.zeros(cases.size)}
        reference = _kind_loads(sheet, values, Cases(without, cases.labels, cases.size))
        return loads.tipping - reference.tipping, loads
    if chart.measure == 'tipping_load':
        return loads.tipping, loads
    rating = chart.rating
    if 'share' in rating:
        return rating['share'] * loads.tipping, loads
    factor = rating.get('load_factor', 1.0)
    return (loads.tipping - rating.get('boom_factor', 0.0) * loads.head_mass) / factor, loads


def _kind_loads(sheet: Sheet, values: Mapping[str, float], cases: Cases) -> Loads:
    return KINDS[sheet.kind](sheet.model, values, with_derived(sheet.model, values, cases))


def fit_sheet(sheet: Sheet) -> FittedSheet:
    """Return the sheet with its quantities fitted to all charts.

    Raises:
        SheetError: an unknown name or label in its expressions.
    """
    free = [quantity for quantity in sheet.quantities.values() if quantity.spread > 0.0]
    names = tuple(quantity.name for quantity in free)
    start = np.array([quantity.start for quantity in free])
    spread = np.array([quantity.spread for quantity in free])
    least = np.array([quantity.least for quantity in free])
    greatest = np.array([quantity.greatest for quantity in free])
    fixed = {quantity.name: quantity.start for quantity in sheet.quantities.values()}
    exact = {name: value for name, value in fixed.items() if name not in names}
    charts = Charts(sheet)

    def values(vector: Array) -> dict[str, float]:
        return {**fixed, **dict(zip(names, vector.tolist(), strict=True))}

    def residuals(vectors: Array, saturation: float) -> Array:
        parts = [_residuals(cell, saturation) for cell in charts.cells(exact, names, vectors)]
        return np.concatenate([*parts, (vectors - start) / spread], axis=1)

    def at(vector: Array, saturation: float) -> Array:
        return residuals(vector[None], saturation)[0]

    def jacobian(vector: Array, saturation: float) -> Array:
        nominal, *varied = residuals(np.vstack((vector, vector + np.diag(STEP * spread))), saturation)
        return (np.array(varied) - nominal).T / (STEP * spread)

    if not free:
        return FittedSheet(sheet, fixed, (), np.zeros((0, 0)))
    inside = np.clip(start, least + 1e-9 * spread, greatest - 1e-9 * spread)
    unknown = any((chart.limits == 'unknown').any() for chart in sheet.charts.values())
    for saturation in (ENVELOPE, SATURATION) if unknown else (SATURATION,):
        result = least_squares(
            at, inside, jacobian, (least, greatest), x_scale=spread, args=(saturation,), max_nfev=MOST_EVALUATIONS
        )
        inside = result.x
    covariance = np.linalg.inv(result.jac.T @ result.jac)
    return FittedSheet(sheet, values(result.x), names, covariance)


def _cell_fit(chart: Chart, loads: Array) -> CellFit:
    errors = loads / chart.load - 1.0
    rounding = chart.rounding / np.sqrt(12.0) / np.abs(chart.load)
    # a cell of unknown limit is a target while its load is not clearly above the printed one
    unknown = chart.limits == 'unknown'
    targets = (chart.limits == 'stability') | (unknown & (errors < UNKNOWN_EXCESS))
    met = (errors >= -0.5 * chart.rounding / np.abs(chart.load)) | targets
    return CellFit(chart, loads, errors, targets, met, rounding)


def _deviation(cell: CellFit) -> Array:
    return np.hypot(MODEL, cell.rounding)


def _residuals(cell: CellFit, saturation: float) -> Array:
    scaled = cell.errors / _deviation(cell)
    bound = np.minimum(cell.errors + 0.5 * cell.chart.rounding / np.abs(cell.chart.load), 0.0) / _deviation(cell)
    excess = np.maximum(scaled, 0.0)
    if saturation == ENVELOPE:
        counted = 0.3 * (np.sqrt(1.0 + excess) - 1.0)
    else:
        counted = saturation * np.sqrt(-np.expm1(-((excess / saturation) ** 2)))
    saturated = np.where(scaled < 0.0, scaled, counted)
    unknown = cell.chart.limits == 'unknown'
    return np.where(unknown, saturated, np.where(cell.chart.limits == 'stability', scaled, bound))
