"""Residuals of a fitted data sheet, validation on half of its cells, and quantities to measure next."""

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
    errors = np.concatenate([cell.errors[cell.targets] for cell in cells])
    rounding = np.concatenate([cell.rounding[cell.targets] for cell in cells])
    bounds = sum(int(np.count_nonzero(~cell.targets)) for cell in cells)
    broken = sum(int(np.count_nonzero(~cell.met)) for cell in cells)
    if not len(errors):
        return Residuals(name, 0, bounds, np.nan, np.nan, np.nan, broken)
    worst = float(np.abs(errors).max())
    return Residuals(name, len(errors), bounds, _rms(errors), worst, _rms(rounding), broken)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def halves(sheet: Sheet, seed: int = 5) -> tuple[Sheet, Sheet]:
    """Return two sheets with half of the points of each chart at random; charts of masses are in both.

    All cells of a point of a chart, such as the directions and undercarriages, are in the same half.
    """
    points = sorted({_point(chart, index) for chart in sheet.charts.values() for index in range(len(chart.rows))})
    order = np.random.default_rng(seed).permutation(len(points))
    first = {points[index] for index in order[: len(points) // 2]}
    parts: tuple[dict[str, Chart], dict[str, Chart]] = ({}, {})
    for name, chart in sheet.charts.items():
        inside = np.array([_point(chart, index) in first for index in range(len(chart.rows))])
        for part, mask in zip(parts, (inside, ~inside), strict=True):
            if chart.measure == 'operating_mass':
                mask = np.ones_like(mask)
            if mask.any():
                part[name] = chart.part(mask)
    return sheet.with_charts(parts[0]), sheet.with_charts(parts[1])


def _point(chart: Chart, index: int) -> tuple[str, ...]:
    row = chart.rows[index]
    return chart.name, *(str(value) for column, value in row.items() if quantity_and_unit(column)[0] not in NOT_A_POINT)


def validate(sheet: Sheet, seed: int = 5) -> Residuals:
    """Return the residuals of the cells of each half, predicted by a fit to the other half."""
    cells: list[CellFit] = []
    first, second = halves(sheet, seed)
    for fitted, held_out in ((first, second), (second, first)):
        values = fit_sheet(fitted).values
        cells += [cell for cell in cells_of(held_out, values) if cell.chart.measure != 'operating_mass']
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
