"""Reader of YAML entries by the schema; unknown keys and missing or invalid values are reported with lines."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dyn_nodes.model.limits import unit_remark
from dyn_nodes.model.problems import PRINTABLE, Report, did_you_mean, is_printable
from dyn_nodes.model.schema import REQUIRED, Key, Remark
from dyn_nodes.model.yaml_source import Entry

Values = dict[str, Any]
SPECIAL = {'.inf': 'inf', '+.inf': 'inf', '-.inf': '-inf', '.nan': 'nan'}  # YAML's spelling
DEGREES = re.compile(r'deg\((.+)\)')
MOST_SHOWN = 50
"""Greatest number of reported unknown keys of one mapping."""


def is_marked(entry: Entry) -> bool:
    """Return whether an entry is `{value: ..., assumed: reason}`."""
    return entry.kind == 'map' and 'value' in entry.mapping and set(entry.mapping) <= {'value', 'assumed'}


def overlay(*layers: Entry | None) -> Entry | None:
    """Merge mappings key by key, later ones over earlier ones; None without mappings."""
    present = [layer for layer in layers if layer is not None]
    if not present:
        return None
    top: Entry = present[-1]
    if top.kind != 'map' or is_marked(top):
        return top
    merged: dict[str, Entry] = {}
    for layer in present:
        if layer.kind != 'map' or is_marked(layer):
            continue
        for key, entry in layer.mapping.items():
            below = merged.get(key)
            both = below is not None and below.kind == 'map' and entry.kind == 'map'
            both = both and below is not None and not is_marked(below) and not is_marked(entry)
            merged[key] = (overlay(below, entry) or entry) if both else entry
    return Entry('map', merged, top.line, top.path)


class SchemaReader:
    """Reader of mappings by their keys.

    Attributes:
        assumed: dotted key -> reason of every value that is marked as assumed.
        entries: entry by dotted key of its value; keys of the element, also for `defaults`.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        self.assumed: dict[str, str] = {}
        self.entries: dict[str, Entry] = {}

    def table(self, entry: Entry, keys: Sequence[Key], partial: bool = False, where: str | None = None) -> Values:
        """Return the values of a mapping by key. A value with a fault is absent from the result.

        Args:
            entry: a mapping.
            keys: of the mapping.
            partial: absent keys are no faults (`defaults`) and get no default.
            where: dotted key of the mapping; None: key of the entry (which may come from `defaults`).
        """
        if entry.kind != 'map':
            self.report.add(entry.line, entry.path, 'a mapping', entry.describe())
            return {}
        where = entry.path if where is None else where
        self.entries[where] = entry
        by_name = {key.name: key for key in keys}
        values: Values = {}
        unknown = [(name, child) for name, child in entry.mapping.items() if name not in by_name]
        for name, child in unknown[:MOST_SHOWN]:
            self.report.add(child.line, child.path, 'a key of this mapping', did_you_mean(name, by_name))
        if len(unknown) > MOST_SHOWN:
            counted = f'{len(unknown)} unknown keys, {MOST_SHOWN} of them listed'
            self.report.add(unknown[MOST_SHOWN][1].line, where or 'document', 'keys of this mapping', counted)
        for key in keys:
            value = entry.mapping.get(key.name)
            if value is None:
                self._absent(key, entry, values, partial, f'{where}.{key.name}' if where else key.name)
            else:
                self._present(key, value, values, partial, f'{where}.{key.name}' if where else key.name)
        return values

    def _absent(self, key: Key, entry: Entry, values: Values, partial: bool, where: str) -> None:
        if partial:
            return
        if key.default is REQUIRED:
            unit = f' ({key.unit})' if key.unit else ''
            self.report.add(entry.line, where, f'a value{unit}: {key.meaning}', 'nothing')
        else:
            values[key.name] = key.default

    def _present(self, key: Key, entry: Entry, values: Values, partial: bool, where: str) -> None:
        self.entries[where] = entry
        if entry.kind == 'null' and key.default is not REQUIRED:
            values[key.name] = key.default
            return
        if key.kind in ('table', 'partial'):
            values[key.name] = self.table(entry, key.table, partial or key.kind == 'partial', where)
            return
        if key.kind == 'named':
            values[key.name] = entry
            return
        if key.kind == 'positions':
            values[key.name] = self._positions(entry, where)
            return
        if key.kind == 'names':
            values[key.name] = self._names(entry, where)
            return
        if key.kind == 'numbers':
            values[key.name] = self._numbers(entry, key.unit)
            return
        plain = self._unmarked(entry)
        value = self._value(key, plain) if plain is not None else None
        if value is not None:
            values[key.name] = value

    def _unmarked(self, entry: Entry) -> Entry | None:
        if entry.kind != 'map' or 'value' not in entry.mapping:
            return entry
        for name, child in entry.mapping.items():
            if name not in ('value', 'assumed'):
                self.report.add(child.line, child.path, 'value and assumed', did_you_mean(name, ('value', 'assumed')))
        reason = entry.mapping.get('assumed')
        if reason is None or reason.kind not in ('text', 'quoted') or not reason.text.strip():
            actual = 'nothing' if reason is None else reason.describe()
            self.report.add(entry.line, f'{entry.path}.assumed', 'the reason for the value, as text', actual)
        else:
            self.assumed[entry.path] = reason.text.strip()
        inner = entry.mapping['value']
        return Entry(inner.kind, inner.value, inner.line, entry.path)

    def _value(self, key: Key, entry: Entry) -> object | None:
        if key.kind == 'number':
            return self.number(entry, key.unit, key.sign, key.remark)
        if key.kind in ('vector', 'pair'):
            return self._vector(entry, key.unit, 'xyz' if key.kind == 'vector' else 'xy')
        if key.kind == 'flag':
            if entry.kind == 'bool':
                return entry.text.lower() in ('true', 'yes', 'on')
            self.report.add(entry.line, entry.path, 'true or false', entry.describe())
            return None
        if entry.kind not in ('text', 'quoted') or not entry.text.strip():
            self.report.add(entry.line, entry.path, 'a text', entry.describe())
            return None
        if not is_printable(entry.text):
            self.report.add(entry.line, entry.path, PRINTABLE, ascii(entry.text))
            return None
        if key.kind == 'choice' and entry.text not in key.choices:
            expected = f'one of {", ".join(key.choices)}'
            self.report.add(entry.line, entry.path, expected, did_you_mean(entry.text, key.choices))
            return None
        return entry.text

    def number(self, entry: Entry, unit: str = '', sign: str = 'any', remark_on: Remark = unit_remark) -> float | None:
        """Return a finite number of valid sign and plausible size; report a fault and return None otherwise.

        An angle may be in degrees, as in parameter files of ROS: `deg(45)`.
        """
        expected = f'a number{f" in {unit}" if unit else ""}'
        degrees = DEGREES.fullmatch(entry.text) if unit == 'rad' else None
        text = degrees[1] if degrees else entry.text
        try:
            value = float(SPECIAL.get(text.lower(), text)) if entry.kind == 'text' else None
            value = math.radians(value) if degrees and value is not None else value
        except ValueError:
            value = None
        if value is None:
            self.report.add(entry.line, entry.path, expected, entry.describe())
            return None
        if not math.isfinite(value):
            self.report.add(entry.line, entry.path, 'a finite number', entry.describe())
            return None
        if (sign == 'positive' and value <= 0) or (sign == 'non-negative' and value < 0):
            wanted = '> 0' if sign == 'positive' else '>= 0'
            self.report.add(entry.line, entry.path, f'a number {wanted}{f" {unit}" if unit else ""}', f'{value:.6g}')
            return None
        remark = remark_on(value, unit)
        if remark:
            self.report.add(entry.line, entry.path, expected, remark)
            return None
        return value

    def _numbers(self, entry: Entry, unit: str) -> tuple[float, ...]:
        if entry.kind != 'list' or not entry.items:
            self.report.add(entry.line, entry.path, 'a list of numbers', entry.describe())
            return ()
        plain = [self._unmarked(item) for item in entry.items]
        parsed = [self.number(item, unit) for item in plain if item is not None]
        numbers = tuple(value for value in parsed if value is not None)
        return numbers if len(numbers) == len(entry.items) else ()

    def _vector(self, entry: Entry, unit: str, axes: str = 'xyz') -> tuple[float, ...] | None:
        if entry.kind != 'list' or len(entry.items) != len(axes):
            count = 'three' if len(axes) == 3 else 'two'
            self.report.add(entry.line, entry.path, f'{count} numbers [{", ".join(axes)}] in {unit}', entry.describe())
            return None
        numbers: list[float] = []
        for item in entry.items:
            plain = self._unmarked(item)
            value = self.number(plain, unit) if plain is not None else None
            if value is not None:
                numbers.append(value)
        return tuple(numbers) if len(numbers) == len(axes) else None

    def _positions(self, entry: Entry, where: str) -> dict[str, float]:
        """Return the numbers of a mapping by joint name."""
        if entry.kind != 'map':
            self.report.add(entry.line, entry.path, 'a mapping of joint names to numbers', entry.describe())
            return {}
        positions: dict[str, float] = {}
        for name, child in entry.mapping.items():
            plain = self._unmarked(child)
            value = self.number(plain) if plain is not None else None
            if value is not None:
                positions[name] = value
                self.entries[f'{where}.{name}'] = child
        return positions

    def _names(self, entry: Entry, where: str) -> tuple[str, ...]:
        """Return the texts of a list."""
        if entry.kind != 'list':
            self.report.add(entry.line, entry.path, 'a list of names', entry.describe())
            return ()
        names: list[str] = []
        for item in entry.items:
            if item.kind not in ('text', 'quoted') or not item.text.strip():
                self.report.add(item.line, item.path, 'a name', item.describe())
                continue
            names.append(item.text)
            self.entries[f'{where}.{item.text}'] = item
        return tuple(names)

    def named(self, entry: Entry | None) -> Mapping[str, Entry]:
        """Return the mappings of a `named` key by name."""
        if entry is None or entry.kind == 'null':
            return {}
        if entry.kind != 'map':
            self.report.add(entry.line, entry.path, 'a mapping of names to mappings', entry.describe())
            return {}
        return entry.mapping
