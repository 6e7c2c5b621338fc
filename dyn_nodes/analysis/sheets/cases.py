"""Cells of charts as columns of numbers and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_nodes.analysis.sheets.expressions import FormulaError, evaluate
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError

UNITS = {
    'm': 1.0,
    'mm': 1e-3,
    'ft': 0.3048,
    'kg': 1.0,
    't': 1000.0,
    'lb': 0.45359237,
    'deg': np.pi / 180.0,
    'm3': 1.0,
}
"""Factors to SI units (kg, m, rad) by the suffix of a column's name."""


class SheetError(UserError, ValueError):
    """A data sheet, or cells for a prediction, with a fault."""


def quantity_and_unit(column: str) -> tuple[str, float]:
    """Return the name of a column without its unit, and the factor to SI units: `radius_ft` -> (`radius`, 0.3048)."""
    name, _, unit = column.rpartition('_')
    return (name, UNITS[unit]) if name and unit in UNITS else (column, 1.0)


@dataclass(frozen=True, eq=False)
class Cases:
    """Columns of n cells, SI units.

    Attributes:
        numbers: (n,) arrays by column; NaN: not printed.
        labels: (n,) arrays of str by column.
        size: n.
    """

    numbers: Mapping[str, Array]
    labels: Mapping[str, np.ndarray]
    size: int

    def label(self, column: str) -> np.ndarray:
        """Return a column of labels (n,). Raises SheetError: no such column."""
        if column not in self.labels:
            raise SheetError(f'expected a column {column!r}, found {", ".join([*self.labels, *self.numbers])}')
        return self.labels[column]

    def number(self, column: str) -> Array:
        """Return a column of numbers (n,). Raises SheetError: no such column."""
        if column not in self.numbers:
            raise SheetError(f'expected a number {column!r}, found {", ".join([*self.numbers, *self.labels])}')
        return self.numbers[column]

    def part(self, mask: np.ndarray) -> Cases:
        """Return the cells of a mask (n,)."""
        numbers = {name: column[mask] for name, column in self.numbers.items()}
        labels = {name: column[mask] for name, column in self.labels.items()}
        return Cases(numbers, labels, int(np.count_nonzero(mask)))


def joined(parts: Sequence[Cases]) -> Cases:
    """Return the cells of several charts with the same columns as one."""
    numbers = {name: np.concatenate([part.numbers[name] for part in parts]) for name in parts[0].numbers}
    labels = {name: np.concatenate([part.labels[name] for part in parts]) for name in parts[0].labels}
    return Cases(numbers, labels, sum(part.size for part in parts))


def cases_of(rows: Sequence[Mapping[str, Any]]) -> Cases:
    """Return the columns of rows; a column is of numbers if all its values are numbers, null or `max`."""
    columns: dict[str, list[Any]] = {}
    for index, row in enumerate(rows):
        for column, value in row.items():
            name, factor = quantity_and_unit(str(column))
            values = columns.setdefault(name, [None] * len(rows))
            number = _number(value)
            values[index] = value if number is None else number * factor
    numbers, labels = {}, {}
    for name, values in columns.items():
        labels[name] = np.array([_label(value) for value in values], dtype=object)
        if all(isinstance(value, float) or value in (None, 'max', '') for value in values):
            numbers[name] = np.array([value if isinstance(value, float) else np.nan for value in values])
    return Cases(numbers, labels, len(rows))


def _label(value: Any) -> str:
    return '' if value is None else f'{value:g}' if isinstance(value, float) else str(value)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def amount(value: Any, values: Mapping[str, Any], cases: Cases) -> Any:
    """Return a number of the sheet: a float, or an array (n,) if it depends on the cell.

    Args:
        value: a number; an expression over quantities and columns; or a mapping `{by: COLUMN, LABEL: value, ...,
            default: value}`, which selects by the label of each cell.
        values: quantities by name.
        cases: n cells.

    Raises:
        SheetError: an unknown name or label.
    """
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            return evaluate(value, {**cases.numbers, **values})
        except FormulaError as error:
            raise SheetError(str(error)) from None
    labels, result = cases.label(str(value['by'])), np.zeros(cases.size)
    for label in set(labels.tolist()):
        mask = labels == label
        option = option_of(value, label)
        result[mask] = np.broadcast_to(amount(option, values, cases.part(mask)), (int(mask.sum()),))
    return result


def column(value: Any, values: Mapping[str, Any], cases: Cases) -> Array:
    """Return a number of the sheet for each of n cells (n,); arguments and errors as for `amount`."""
    return np.broadcast_to(amount(value, values, cases), (cases.size,))


def option_of(options: Mapping[Any, Any], label: str) -> Any:
    """Return the option of a label: its key, else the longest key that starts it before `_`, else `default`.

    Raises:
        SheetError: none of them.
    """
    keys = {str(key): option for key, option in options.items() if key != 'by'}
    if label in keys:
        return keys[label]
    starts = [key for key in keys if label.startswith(key + '_')]
    if starts:
        return keys[max(starts, key=len)]
    if 'default' in keys:
        return keys['default']
    raise SheetError(f'expected one of {", ".join(keys)}, found {label!r}')


def with_derived(model: Mapping[str, Any], values: Mapping[str, Any], cases: Cases) -> Cases:
    """Return the cells with the numbers of the section `derived`; each may use the numbers before it."""
    for name, value in model.get('derived', {}).items():
        try:
            number = column(value, values, cases)
        except SheetError as error:
            raise SheetError(f'model.derived.{name}: {error}') from None
        cases = Cases({**cases.numbers, name: number}, cases.labels, cases.size)
    return cases
