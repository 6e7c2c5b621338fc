"""Data sheets: published dimensions, masses and loads of a machine, and its unknown quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dyn_nodes.analysis.sheets.cases import Cases, SheetError, cases_of, quantity_and_unit
from dyn_nodes.analysis.sheets.kinds import KINDS
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.problems import Report
from dyn_nodes.model.yaml_source import Entry, read_yaml

MEASURES = ('rated_load', 'tipping_load', 'tipping_change', 'axle_load', 'operating_mass')
"""Measures of a chart: rated load, tipping load, change of the tipping load, load of an axle, mass
of the machine without load, kg."""
LIMITS = ('stability', 'hydraulics', 'structure', 'other', 'unknown')
"""Limits of a cell. A load by stability is a target of the fit; a load by another limit is a lower bound of the rated
load by stability; `unknown` is the lesser of both."""
KEYS = {'name', 'machine', 'kind', 'note', 'sources', 'quantities', 'model', 'charts'}
CHART_KEYS = {
    'id',
    'source',
    'note',
    'measure',
    'rating',
    'conditions',
    'limits',
    'labels',
    'rounding',
    'columns',
    'cells',
}
QUANTITY_KEYS = {'value', 'estimate', 'spread', 'least', 'greatest', 'unit', 'source', 'why'}


@dataclass(frozen=True)
class Quantity:
    """Number of a sheet.

    Attributes:
        name: its name in expressions.
        start: published value, or estimate of an unknown.
        spread: standard deviation; 0: exact.
        unknown: whether it is not published.
        least, greatest: its bounds.
        unit, source, why: for reports.
    """

    name: str
    start: float
    spread: float
    unknown: bool
    least: float
    greatest: float
    unit: str
    source: str
    why: str


@dataclass(frozen=True, eq=False)
class Chart:
    """Table of published loads.

    Attributes:
        name: its `id`.
        measure: one of `MEASURES`.
        rating: `share` of the tipping load; or `load_factor` and `boom_factor` of ISO 4305.
        conditions: values of columns that are equal in all cells.
        labels: further columns by column and label.
        rounding: step of the printed loads, kg.
        cases: columns of the cells, without the load.
        load: (n,) kg.  limits: (n,) members of `LIMITS`.
        rows: cells as printed, by column.
    """

    name: str
    measure: str
    rating: Mapping[str, float]
    conditions: Mapping[str, Any]
    labels: Mapping[str, Any]
    rounding: float
    cases: Cases
    load: Array
    limits: np.ndarray
    rows: Sequence[Mapping[str, Any]]

    def part(self, mask: np.ndarray) -> Chart:
        """Return the chart with the cells of a mask (n,) only."""
        rows = [row for row, kept in zip(self.rows, mask, strict=True) if kept]
        named = (self.name, self.measure, self.rating, self.conditions, self.labels, self.rounding)
        return Chart(*named, self.cases.part(mask), self.load[mask], self.limits[mask], rows)


@dataclass(frozen=True, eq=False)
class Sheet:
    """Content of a data sheet.

    Attributes:
        name, machine, kind: name of the files, name of the machine, one of `KINDS`.
        quantities: by name.
        model: bodies, arm and supports, as numbers and expressions over the quantities.
        charts: by name.
        path: of the file.
    """

    name: str
    machine: str
    kind: str
    quantities: Mapping[str, Quantity]
    model: Mapping[str, Any]
    charts: Mapping[str, Chart]
    path: Path = field(default_factory=Path)

    def with_charts(self, charts: Mapping[str, Chart]) -> Sheet:
        """Return the sheet with other charts."""
        return Sheet(self.name, self.machine, self.kind, self.quantities, self.model, charts, self.path)


def read_sheet(path: str | Path) -> Sheet:
    """Return the content of a data sheet.

    Raises:
        SheetError: the file has faults; one line for each with file, line and key.
    """
    report = Report(str(path))
    root = read_yaml(Path(path), report)
    sheet = None if root is None else _Reader(report, root).sheet(Path(path))
    if sheet is None or report.problems:
        raise SheetError('\n'.join(str(problem) for problem in report.sorted_problems()))
    return sheet


def chart_rows(columns: Sequence[str], cells: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the cells as mappings by column."""
    return [dict(zip(columns, cell, strict=True)) for cell in cells]


def cell_cases(chart: Chart, rows: Sequence[Mapping[str, Any]]) -> Cases:
    """Return the columns of cells; conditions of their chart replace missing and null values, then labels add columns.

    A column without a unit has the unit of the chart's column.
    """
    units = {quantity_and_unit(column)[0]: column for row in chart.rows[:1] for column in row}
    full = []
    for row in rows:
        row = {units.get(str(column), column): value for column, value in row.items()}
        printed = {
            column: value for column, value in row.items() if value is not None or column not in chart.conditions
        }
        merged: dict[str, Any] = {**chart.conditions, **printed}
        for column, options in chart.labels.items():
            merged.update(options.get(str(merged.get(column)), {}))
        full.append({column: value for column, value in merged.items() if not _is_load(column)})
    return cases_of(full)


def _is_load(column: str) -> bool:
    return quantity_and_unit(column)[0] in ('load', 'limit', 'value')


def plain(entry: Entry) -> Any:
    """Return an entry as numbers, text, lists and mappings."""
    if entry.kind == 'map':
        return {key: plain(value) for key, value in entry.mapping.items()}
    if entry.kind == 'list':
        return [plain(item) for item in entry.items]
    if entry.kind == 'null':
        return None
    if entry.kind == 'bool':
        return entry.text.lower() == 'true'
    if entry.kind == 'text':
        try:
            return float(entry.text)
        except ValueError:
            pass
    return entry.text


class _Reader:
    """Reader of the sections of a sheet; collects faults in a report."""

    def __init__(self, report: Report, root: Entry) -> None:
        self.report, self.root = report, root

    def fault(self, entry: Entry, expected: str, actual: str = '') -> None:
        self.report.add(entry.line, entry.path or 'document', expected, actual or entry.describe())

    def sheet(self, path: Path) -> Sheet | None:
        sections = self.root.mapping
        self._check_keys(self.root, KEYS)
        for key in ('name', 'machine', 'kind', 'quantities', 'model', 'charts'):
            if key not in sections:
                self.fault(self.root, f'a key {key!r}', ', '.join(sections))
        if self.report.problems:
            return None
        kind = sections['kind'].text
        if kind not in KINDS:
            self.fault(sections['kind'], f'one of {", ".join(KINDS)}')
        quantities = {}
        for name, entry in sections['quantities'].mapping.items():
            quantity = self._quantity(name, entry)
            if quantity is not None:
                quantities[name] = quantity
        charts: dict[str, Chart] = {}
        for entry in sections['charts'].items:
            chart = self._chart(entry)
            if chart is not None:
                charts[chart.name] = chart
        if not charts and not self.report.problems:
            self.fault(sections['charts'], 'a list with at least one chart')
        named = sections['name'].text, sections['machine'].text, kind
        return Sheet(*named, quantities, plain(sections['model']), charts, path)

    def _check_keys(self, entry: Entry, keys: set[str]) -> None:
        for key, value in entry.mapping.items():
            if key not in keys:
                self.fault(value, f'one of the keys {", ".join(sorted(keys))}', key)

    def _quantity(self, name: str, entry: Entry) -> Quantity | None:
        content = plain(entry)
        if isinstance(content, float):
            content = {'value': content}
        if not isinstance(content, dict) or ('value' in content) == ('estimate' in content):
            self.fault(entry, 'a number, or a mapping with either `value` or `estimate`')
            return None
        self._check_keys(entry, QUANTITY_KEYS)
        unknown = 'estimate' in content
        numbers = {'spread': 0.0, 'least': -np.inf, 'greatest': np.inf}
        numbers = {**numbers, **{key: content[key] for key in (*numbers, 'value', 'estimate') if key in content}}
        for key, value in numbers.items():
            if not isinstance(value, int | float) or np.isnan(value):
                self.fault(entry.mapping.get(key, entry), f'a number as `{key}`')
                return None
        start = numbers['estimate' if unknown else 'value']
        if unknown and numbers['spread'] <= 0.0:
            self.fault(entry, 'a `spread` above 0 of an estimate, its standard deviation')
            return None
        if not numbers['least'] <= start <= numbers['greatest']:
            self.fault(entry, f'a value between {numbers["least"]:g} and {numbers["greatest"]:g}', f'{start:g}')
            return None
        texts = [str(content.get(key, '')) for key in ('unit', 'source', 'why')]
        return Quantity(name, start, numbers['spread'], unknown, numbers['least'], numbers['greatest'], *texts)

    def _chart(self, entry: Entry) -> Chart | None:
        faults = len(self.report.problems)
        self._check_keys(entry, CHART_KEYS)
        content = plain(entry)
        if not isinstance(content, dict) or not {'id', 'columns', 'cells'} <= set(content):
            self.fault(entry, 'a mapping with `id`, `columns` and `cells`')
            return None
        measure, columns = content.get('measure', 'rated_load'), [str(column) for column in content['columns'] or []]
        if measure not in MEASURES:
            self.fault(entry.mapping['measure'], f'one of {", ".join(MEASURES)}')
        targets = [column for column in columns if quantity_and_unit(column)[0] in ('load', 'value')]
        if len(targets) != 1:
            self.fault(entry.mapping['columns'], 'one column `load` or `value`, with its unit, as in load_kg')
            return None
        for cell in entry.mapping['cells'].items:
            if len(cell.items) != len(columns):
                self.fault(cell, f'{len(columns)} values', str(len(cell.items)))
        if len(self.report.problems) > faults:
            return None
        rows, factor = chart_rows(columns, content['cells']), quantity_and_unit(targets[0])[1]
        load = [row[targets[0]] for row in rows]
        if not all(isinstance(value, float) for value in load):
            self.fault(entry.mapping['cells'], f'a number as {targets[0]} of each cell')
            return None
        limits = self._limits(entry, content, rows)
        rating = {key: float(value) for key, value in (content.get('rating') or {}).items()}
        conditions, labels = content.get('conditions') or {}, content.get('labels') or {}
        rounding = float(content.get('rounding') or 0.0) * factor
        empty = Chart(str(content['id']), measure, rating, conditions, labels, rounding, cases_of([]), *_NOTHING, [])
        cases = cell_cases(empty, rows)
        named = (empty.name, measure, rating, conditions, labels, rounding)
        return Chart(*named, cases, np.array(load) * factor, limits, rows)

    def _limits(self, entry: Entry, content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Return the limit of each cell; without a column `limit`, of the chart's key `limits: default`."""
        names = {name: name for name in LIMITS} | {
            str(key): value for key, value in (content.get('limits') or {}).items()
        }
        default = names.get('default', 'stability')
        limits = []
        for index, row in enumerate(rows):
            letter = '' if row.get('limit') is None else str(row['limit'])
            limit = names.get(letter, default if 'limit' not in row else '')
            if limit not in LIMITS:
                cell = entry.mapping['cells'].items[index]
                self.fault(cell, f'a limit of {", ".join(LIMITS)} or of `limits`', repr(letter))
            limits.append(limit)
        return np.array(limits, dtype=object)


_NOTHING = (np.zeros(0), np.zeros(0, dtype=object))
