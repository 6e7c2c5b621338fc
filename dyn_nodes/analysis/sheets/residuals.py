"""Residuals of a fitted data sheet, validation on parts of its cells, and quantities to measure next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dyn_nodes.analysis.sheets.cases import quantity_and_unit
from dyn_nodes.analysis.sheets.fit import CellFit, FittedSheet, cells_of, fit_sheet
from dyn_nodes.analysis.sheets.sheet import Chart, Sheet
from dyn_nodes.common.arrays import Array

NOT_A_POINT = {'direction', 'undercarriage', 'quantity', 'axle', 'limit', 'load', 'value', 'operating_mass'}
"""Columns that do not separate the points of a chart: cells of a point are fitted or predicted together."""
UNDETERMINED = 0.8
"""Share of its spread above which the loads do not determine a quantity."""


@dataclass(frozen=True)
class Residuals:
    """Relative errors of the cells that stability limits.

    Attributes:
        name: of the chart, or of the machine.
        targets, bounds: number of cells that stability limits, and that another limit does.
        rms, worst: of the targets, relative; NaN without targets.
        rounding: root mean square of the standard deviations by the rounding of the printed loads, relative.
        broken: number of bounds above the computed load by more than their rounding.
    """

    name: str
    targets: int
    bounds: int
    rms: float
    worst: float
    rounding: float
    broken: int


def residuals_of(name: str, cells: Sequence[CellFit]) -> Residuals:
    """Return the residuals of cells together."""
    errors = np.concatenate([np.zeros(0), *(cell.errors[cell.targets] for cell in cells)])
    rounding = np.concatenate([np.zeros(0), *(cell.rounding[cell.targets] for cell in cells)])
    bounds = sum(int(np.count_nonzero(~cell.targets)) for cell in cells)
    broken = sum(int(np.count_nonzero(~cell.met)) for cell in cells)
    if not len(errors):
        return Residuals(name, 0, bounds, np.nan, np.nan, np.nan, broken)
    worst = float(np.abs(errors).max())
    return Residuals(name, len(errors), bounds, _rms(errors), worst, _rms(rounding), broken)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def folds(sheet: Sheet, count: int, seed: int = 5) -> list[tuple[Sheet, Sheet]]:
    """Return for each of `count` random parts of the points the sheet without the part, and the part.

    All cells of a point of a chart, such as the directions and undercarriages, are in the same part. Charts of masses
    are in all sheets without a part, and in none of the parts.
    """
    points = sorted({_point(chart, index) for chart in sheet.charts.values() for index in range(len(chart.rows))})
    order = np.random.default_rng(seed).permutation(len(points))
    result = []
    for indices in np.array_split(order, count):
        held_out = {points[index] for index in indices}
        rest: dict[str, Chart] = {}
        part: dict[str, Chart] = {}
        for name, chart in sheet.charts.items():
            inside = np.array([_point(chart, index) in held_out for index in range(len(chart.rows))])
            inside &= chart.measure != 'operating_mass'
            for charts, mask in ((part, inside), (rest, ~inside)):
                if mask.any():
                    charts[name] = chart.part(mask)
        if part:
            result.append((sheet.with_charts(rest), sheet.with_charts(part)))
    return result


def _point(chart: Chart, index: int) -> tuple[str, ...]:
    row = chart.rows[index]
    return chart.name, *(str(value) for column, value in row.items() if quantity_and_unit(column)[0] not in NOT_A_POINT)


def validate(sheet: Sheet, count: int = 2, seed: int = 5) -> Residuals:
    """Return the residuals of the cells of each of `count` parts, predicted by a fit to the other parts."""
    cells = [cell for rest, part in folds(sheet, count, seed) for cell in cells_of(part, fit_sheet(rest).values)]
    return residuals_of(sheet.machine, cells)


@dataclass(frozen=True)
class Measurement:
    """Quantity whose measurement reduces the uncertainty of the loads most.

    Attributes:
        name, unit: of the quantity.
        deviation: its standard deviation after the fit.
        share: share of the mean variance of the computed loads that vanishes if it is measured exactly.
    """

    name: str
    unit: str
    deviation: float
    share: float


def next_measurements(fitted: FittedSheet, count: int = 3) -> list[Measurement]:
    """Return the quantities to measure next, by their effect on the uncertainty of the computed loads.

    All cells count, also cells that another limit than stability determines: their tipping load is not published.
    """
    covariance, sensitivity = fitted.covariance, _sensitivity(fitted)
    total = float(np.sum((sensitivity @ covariance) * sensitivity)) or 1.0
    gains = np.sum((sensitivity @ covariance) ** 2, axis=0) / np.diag(covariance) / total
    order = np.argsort(-gains)[:count]
    units = [fitted.sheet.quantities[fitted.names[index]].unit for index in order]
    return [
        Measurement(fitted.names[index], unit, fitted.deviations[fitted.names[index]], float(gains[index]))
        for index, unit in zip(order, units, strict=True)
    ]


def _sensitivity(fitted: FittedSheet) -> Array:
    """Return the relative changes (n, p) of the loads of all n cells with the p quantities."""

    def loads(values: Mapping[str, float]) -> Array:
        return np.concatenate([cell.loads for cell in cells_of(fitted.sheet, values)])

    nominal, columns = loads(fitted.values), []
    for name in fitted.names:
        step = 1e-3 * fitted.deviations[name]
        columns.append((loads({**fitted.values, name: fitted.values[name] + step}) - nominal) / step / nominal)
    return np.stack(columns, axis=1) if columns else np.zeros((len(nominal), 0))


def undetermined(fitted: FittedSheet) -> list[str]:
    """Return the unknown quantities whose spread the loads hardly reduce: they remain estimates."""
    quantities = fitted.sheet.quantities
    return [
        name
        for name in fitted.names
        if quantities[name].unknown and fitted.deviations[name] > UNDETERMINED * quantities[name].spread
    ]
