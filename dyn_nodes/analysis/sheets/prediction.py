"""Predictions of a fitted data sheet: tipping load, rated load and limit of any cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dyn_nodes.analysis.sheets.cases import SheetError, quantity_and_unit
from dyn_nodes.analysis.sheets.fit import FittedSheet, loads_of
from dyn_nodes.analysis.sheets.sheet import Chart, cell_cases, chart_rows, plain
from dyn_nodes.model.problems import Report
from dyn_nodes.model.yaml_source import read_yaml

NOT_A_POINT = {'direction', 'undercarriage', 'limit', 'load'}
"""Columns that do not change the posture of the arm: hydraulics limit cells that differ in them alone to one load."""


@dataclass(frozen=True)
class Prediction:
    """Prediction of one cell.

    Attributes:
        cell: its columns.
        chart: name of the chart whose conditions, share and measure apply.
        value: of the chart's measure, kg: rated load by stability, tipping load, its change, or load of an axle.
        tipping_load: kg.
        deviation: standard deviation of `value` by the uncertainty of the fitted quantities, kg.
        bound: rated load of a published cell with the same arm and point that another limit than stability determines,
            kg; NaN: none.
        limit: `stability`, or the limit of `bound` if that is lower.
        load: the lesser of `value` and `bound`, kg.
    """

    cell: Mapping[str, Any]
    chart: str
    value: float
    tipping_load: float
    deviation: float
    bound: float
    limit: str
    load: float


def predict(fitted: FittedSheet, cells: Sequence[Mapping[str, Any]]) -> list[Prediction]:
    """Return the predictions of cells.

    Args:
        fitted: a fitted sheet.
        cells: columns by name, as in the chart of the sheet that the key `chart` names (default: the first chart), such
            as `{'chart': 'lift', 'height_m': 1, 'radius_m': 3, 'direction': 'across'}`. Columns that the cell does not
            have take the conditions of the chart.

    Raises:
        SheetError: an unknown chart, label or a missing column; the message has the number of the cell.
    """
    results = []
    for index, cell in enumerate(cells):
        chart = _chart_of(fitted, cell, index)
        row = {key: value for key, value in cell.items() if key != 'chart'}
        try:
            results.append(_prediction(fitted, chart, row, cell))
        except SheetError as error:
            raise SheetError(f'cell {index + 1} of {chart.name}: {error}') from None
    return results


def _chart_of(fitted: FittedSheet, cell: Mapping[str, Any], index: int) -> Chart:
    charts = fitted.sheet.charts
    name = str(cell.get('chart', next(iter(charts))))
    if name not in charts:
        raise SheetError(f'cell {index + 1}: chart: expected one of {", ".join(charts)}, found {name!r}')
    return charts[name]


def _prediction(fitted: FittedSheet, chart: Chart, row: Mapping[str, Any], cell: Mapping[str, Any]) -> Prediction:
    cases = cell_cases(chart, [row])
    value, loads = loads_of(fitted.sheet, chart, fitted.values, cases)
    gradient = np.zeros(len(fitted.names))
    for index, name in enumerate(fitted.names):
        step = 1e-3 * fitted.deviations[name]
        moved = {**fitted.values, name: fitted.values[name] + step}
        gradient[index] = (loads_of(fitted.sheet, chart, moved, cases)[0][0] - value[0]) / step
    deviation = float(np.sqrt(gradient @ fitted.covariance @ gradient))
    bound, limit = _bound(fitted, chart, row)
    limit = limit if bound < value[0] else 'stability'
    load = float(np.fmin(value[0], bound))
    return Prediction(dict(cell), chart.name, float(value[0]), float(loads.tipping[0]), deviation, bound, limit, load)


def _bound(fitted: FittedSheet, chart: Chart, row: Mapping[str, Any]) -> tuple[float, str]:
    """Return the published load of another limit at the same point of the same arm, and the limit; else NaN."""
    point = _point(chart, row)
    for other in fitted.sheet.charts.values():
        if other.measure != 'rated_load' or chart.measure != 'rated_load':
            continue
        for published, load, limit in zip(other.rows, other.load, other.limits, strict=True):
            if limit in ('hydraulics', 'structure', 'other') and _point(other, published) == point:
                return float(load), str(limit)
    return float('nan'), ''


def _point(chart: Chart, row: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    columns = {**chart.conditions, **row}
    return frozenset(
        (quantity_and_unit(str(column))[0], f'{value:g}' if isinstance(value, int | float) else str(value))
        for column, value in columns.items()
        if quantity_and_unit(str(column))[0] not in NOT_A_POINT
    )


def read_cells(path: str | Path) -> list[dict[str, Any]]:
    """Return the cells of a YAML file for `predict`.

    The file is a mapping with `cells`, a list of mappings by column; or with `charts`, a list of mappings with `chart`,
    `columns` and `cells`, a list of lists.

    Raises:
        SheetError: the file has another form.
    """
    report = Report(str(path))
    root = read_yaml(Path(path), report)
    if root is None:
        raise SheetError('\n'.join(str(problem) for problem in report.sorted_problems()))
    content = plain(root)
    tables = content.get('charts', [{'cells': content.get('cells')}])
    rows: list[dict[str, Any]] = []
    for table in tables if isinstance(tables, list) else []:
        cells, columns = table.get('cells'), table.get('columns')
        named = {'chart': table['chart']} if 'chart' in table else {}
        if not isinstance(cells, list) or not all(isinstance(cell, list if columns else dict) for cell in cells):
            raise SheetError(f'{path}: cells: expected a list of mappings by column, or of lists with `columns`')
        if columns and any(len(cell) != len(columns) for cell in cells):
            raise SheetError(f'{path}: cells: expected {len(columns)} values in each cell, as in `columns`')
        rows += [{**named, **row} for row in (chart_rows([str(name) for name in columns], cells) if columns else cells)]
    if not rows:
        raise SheetError(f'{path}: expected `cells`, or `charts` with `cells`, found none')
    return rows
