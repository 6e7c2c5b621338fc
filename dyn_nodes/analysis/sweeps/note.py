"""Keys, checks and writing of the note of a sweep's directory, `sweep.json`.

JSON is YAML: the note is read like a machine file, so that an error has a line and a key.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_args

from dyn_nodes.analysis.sweeps.design import MOST_RUNS
from dyn_nodes.analysis.sweeps.factors import OF_THE_TASK, TIMES, Factor, Target
from dyn_nodes.common.textfile import LARGEST_YAML, read_text
from dyn_nodes.model.named_file import load_file
from dyn_nodes.model.problems import PRINTABLE, Report, is_printable
from dyn_nodes.model.schema import choice, collection, flag, keys_of, named, number, text
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.sweep import COLUMN, COLUMN_FORM, NAME, NAME_FORM, DesignKind
from dyn_nodes.model.yaml_source import Entry

NOTE = 'sweep.json'
CHECKSUMS = 'checksums'
COUNTS = ('runs', 'seed', 'parts', 'part_size')
FIRST, AFTER_FACTORS = {'run': 'count'}, {'status': 'text', 'end_time': 'number', 'detail': 'text'}
"""Columns before and after the columns of the factors, with their kinds."""
KINDS = ('count', 'number', 'flag', 'text')
LARGEST_COUNT = 2**32


@dataclass(frozen=True, kw_only=True)
class NotedFactor:
    """A factor in a note."""

    name: Annotated[str, text('of the column')]
    target: Annotated[Target, choice('kind of target', get_args(Target))]
    key: Annotated[str, text('of the target')]


@dataclass(frozen=True, kw_only=True)
class NotedSegment:
    """A segment of a task in a note."""

    name: Annotated[str, text('of the phase')]
    start: Annotated[float, number('of the trapezoid', 's')]
    end: Annotated[float, number('of the trapezoid', 's')]
    ramp: Annotated[float, number('at both ends', 's', 'positive')]
    volts: Annotated[dict[str, float], collection('positions', 'plateau by actuator', 'V')]
    recovery: Annotated[bool, flag('part of the recovery')] = False


@dataclass(frozen=True, kw_only=True)
class NotedTask:
    """A task in a note."""

    duration: Annotated[float, number('of the task', 's', 'positive')]
    segments: Annotated[Any, named('list of its segments')]


@dataclass(frozen=True, kw_only=True)
class NotedDefinition:
    """Definition of a run, except the values of its factors, in a note."""

    files: Annotated[Any, named('URDF, and machine YAML or an empty text')]
    task: Annotated[Any, named('the task; null without a task')] = None
    levers: Annotated[dict[str, float], collection('positions', 'by actuator', 'V')]
    joint_positions: Annotated[dict[str, float], collection('positions', 'at the start', 'rad or m')]
    duration: Annotated[float | None, number('of a run', 's', 'positive')] = None
    step: Annotated[float, number('of the integrator', 's', 'positive')]
    sample_period: Annotated[float, number('between samples', 's', 'positive')]
    factors: Annotated[Any, named('list of the factors')]
    outcomes: Annotated[tuple[str, ...], collection('names', 'of built-in outcomes')]
    measures: Annotated[tuple[str, ...], collection('names', 'of stability measures')]
    expressions: Annotated[Any, named('texts of further outcomes by name')]


@dataclass(frozen=True, kw_only=True)
class Note:
    """Keys of the file."""

    name: Annotated[str, text('of the sweep')]
    description: Annotated[Any, named('a sentence, or an empty text')] = ''
    identity: Annotated[str, text('SHA-256 of all data on which the results depend')]
    runs: Annotated[float, number('number of runs', '', 'positive')]
    design: Annotated[DesignKind, choice('kind', get_args(DesignKind))]
    seed: Annotated[float, number('of the random numbers', '', 'non-negative')]
    parts: Annotated[float, number('number of parts', '', 'positive')]
    part_size: Annotated[float, number('runs of a part', '', 'positive')]
    factors: Annotated[tuple[str, ...], collection('names', 'columns of the factors')]
    units: Annotated[Any, named('units by factor')]
    varied: Annotated[Any, named('levels of the factors that vary one at a time')]
    columns: Annotated[Any, named('kinds of all columns, by name')]
    definition: Annotated[Any, named('definition of a run; absent in files of older versions')] = None
    checksums: Annotated[Any, named('of the other keys')] = field(default=None)


def checksum(value: object) -> str:
    """Return the checksum of a value of a note."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def note_text(note: Mapping[str, Any]) -> str:
    """Return the text of a note, with a checksum of each key."""
    content = json.loads(json.dumps(note))  # tuples become lists
    sums = {key: checksum(value) for key, value in content.items()}
    return json.dumps({**content, CHECKSUMS: sums}, indent=1, ensure_ascii=False) + '\n'


def load_note(path: Path) -> dict[str, Any]:
    """Return the content of a note.

    Raises:
        MachineError: with file, line, key, expected and found value for every error.
    """
    return load_file(path, lambda root, report: _NoteReader(report, path).read(root))


class _NoteReader:
    """Reader of one note."""

    def __init__(self, report: Report, path: Path) -> None:
        self.report, self.path, self.reader = report, path, SchemaReader(report)

    def read(self, root: Entry) -> dict[str, Any] | None:
        values = self._table(root, Note)
        if self.report.failed:
            return None
        self._head(root, values)
        self._columns(root, values['factors'])
        self._levels(root, values['factors'])
        definition = root.mapping.get('definition')
        if definition is not None and definition.kind != 'null':
            self._definition(definition, values['factors'])
        if self.report.failed:
            return None
        try:
            note: dict[str, Any] = json.loads(read_text(self.path, LARGEST_YAML))
        except (ValueError, RecursionError) as error:
            self.report.add(0, 'document', 'JSON', str(error))
            return None
        self._units(root, note)
        self._checksums(root, note)
        return note

    def _table(self, entry: Entry, record: type) -> dict[str, Any]:
        """Return the values of a mapping; texts of JSON must be quoted."""
        for key in keys_of(record):
            value = entry.mapping.get(key.name)
            for item in (value, *value.items) if value is not None and key.kind in ('text', 'choice', 'names') else ():
                if item.kind == 'text':
                    self._add(item, 'a text')
        return self.reader.table(entry, keys_of(record))

    def _add(self, entry: Entry, expected: str, actual: str | None = None) -> None:
        self.report.add(entry.line, entry.path, expected, entry.describe() if actual is None else actual)

    def _head(self, root: Entry, values: Mapping[str, Any]) -> None:
        if not NAME.fullmatch(values['name']):
            self._add(root.mapping['name'], NAME_FORM)
        self._text(root.mapping.get('description'), empty=True)
        if len(values['identity']) != 64 or set(values['identity']) - set('0123456789abcdef'):
            self._add(root.mapping['identity'], 'a SHA-256, 64 hexadecimal digits')
        for key in COUNTS:
            if values[key] != int(values[key]) or values[key] >= LARGEST_COUNT or '.' in root.mapping[key].text:
                self._add(root.mapping[key], f'a whole number below {LARGEST_COUNT}')
        if not self.report.failed:
            parts = -(-int(values['runs']) // int(values['part_size']))
            if values['runs'] > MOST_RUNS:
                self._add(root.mapping['runs'], f'at most {MOST_RUNS}')
            if values['parts'] != parts:
                self._add(root.mapping['parts'], f'{parts}: {values["runs"]:g} runs of {values["part_size"]:g}')

    def _columns(self, root: Entry, factors: Iterable[str]) -> None:
        """Check columns: fixed ones, factors, outcomes."""
        factors, entry = list(factors), root.mapping['columns']
        for name in factors:
            self._column(root.mapping['factors'], name)
        if entry.kind != 'map':
            self._add(entry, 'a mapping from columns to kinds')
            return
        for name, kind_entry in entry.mapping.items():
            self._column(kind_entry, name)
            if kind_entry.text not in KINDS:
                self._add(kind_entry, f'one of {", ".join(KINDS)}')
        fixed = {**FIRST, **dict.fromkeys(factors, 'number'), **AFTER_FACTORS}
        kinds = {name: kind_entry.text for name, kind_entry in entry.mapping.items()}
        if len(fixed) != len(factors) + len(FIRST) + len(AFTER_FACTORS):
            self._add(root.mapping['factors'], 'different names, none of a column of every sweep', ', '.join(factors))
        elif list(kinds.items())[: len(fixed)] != list(fixed.items()):
            wanted = ', '.join(f'{name}: {kind}' for name, kind in fixed.items())
            self._add(entry, f'the columns {wanted} first', ', '.join(list(kinds)[: len(fixed)]))
        for name in list(kinds)[len(fixed) :]:
            if kinds[name] not in ('number', 'flag'):
                self._add(entry.mapping[name], 'number or flag, of an outcome')

    def _column(self, entry: Entry, name: str) -> None:
        if not COLUMN.fullmatch(name):
            self._add(entry, COLUMN_FORM, repr(name))

    def _text(self, entry: Entry | None, empty: bool = False) -> None:
        if entry is None:
            return
        if entry.kind != 'quoted' or not (empty or entry.text.strip()):
            self._add(entry, 'a text')
        elif entry.text and not is_printable(' '.join(entry.text.split())):
            self._add(entry, PRINTABLE, ascii(entry.text))

    def _levels(self, root: Entry, factors: Iterable[str]) -> None:
        """Check units and varied factors."""
        for key in ('units', 'varied'):
            if root.mapping[key].kind != 'map':
                self._add(root.mapping[key], 'a mapping of factors')
            for name, value in root.mapping[key].mapping.items():
                if name not in factors:
                    self._add(value, 'the name of a factor', repr(name))
                if key == 'units':
                    self._text(value)
                elif value.kind != 'list' or not value.items:
                    self._add(value, 'a list of numbers')
                else:
                    for item in value.items:
                        self.reader.number(item)

    # -- definition of a run ---------------------------------------------------------------------------------------

    def _definition(self, entry: Entry, factors: Iterable[str]) -> None:
        values = self._table(entry, NotedDefinition)
        self._files(entry.mapping.get('files'))
        for key in ('levers', 'joint_positions'):
            self._names(entry.mapping.get(key))
        for key in ('outcomes', 'measures'):
            for item in entry.mapping[key].items if key in entry.mapping else ():
                self._column(item, item.text)
        for name, text_entry in self.reader.named(entry.mapping.get('expressions')).items():
            self._column(text_entry, name)
            self._text(text_entry)
        segments = self._task(entry.mapping.get('task'))
        if 'factors' in values:
            self._factors(entry.mapping['factors'], list(factors), segments)

    def _files(self, entry: Entry | None) -> None:
        if entry is not None and (len(entry.items) != 2 or not entry.items[0].text.strip()):
            self._add(entry, 'two texts: URDF, and machine YAML or an empty one')
        for item in entry.items if entry is not None else ():
            self._text(item, empty=True)

    def _names(self, entry: Entry | None) -> None:
        for name, value in (entry.mapping if entry is not None else {}).items():
            if not name or not is_printable(name):
                self._add(value, PRINTABLE, ascii(name))

    def _task(self, entry: Entry | None) -> list[str] | None:
        """Return the names of the segments; None without a task."""
        if entry is None or entry.kind == 'null':
            return None
        self._table(entry, NotedTask)
        listed = entry.mapping.get('segments')
        if listed is not None and listed.kind != 'list':
            self._add(listed, 'a list of segments')
        names = []
        for item in listed.items if listed is not None else ():
            values = self._table(item, NotedSegment)
            self._names(item.mapping.get('volts'))
            names.append(values.get('name', ''))
        return names

    def _factors(self, entry: Entry, factors: list[str], segments: list[str] | None) -> None:
        names = []
        for item in entry.items:
            values = self._table(item, NotedFactor)
            if len(values) == len(keys_of(NotedFactor)):
                names.append(values['name'])
                self._factor(item, values['target'], values['key'], segments)
        if entry.kind != 'list' or names != factors:
            self._add(entry, f'a list of the factors {", ".join(factors)}', ', '.join(names) or entry.describe())

    def _factor(self, entry: Entry, target: str, key: str, segments: list[str] | None) -> None:
        key_entry, (segment, _, last) = entry.mapping['key'], key.rpartition('/')
        if target in OF_THE_TASK and segments is None:
            self._add(key_entry, 'a task for this factor', 'none')
        elif target == 'slope' and key not in ('roll', 'pitch'):
            self._add(key_entry, 'roll or pitch')
        elif target == 'volts' and segment not in (segments or ()):
            self._add(key_entry, "a segment's name/actuator")
        elif target == 'timing' and (segment not in (segments or ()) or last not in TIMES):
            self._add(key_entry, f"a segment's name/{', /'.join(TIMES)}")

    def _units(self, root: Entry, note: Mapping[str, Any]) -> None:
        factors = [Factor(**fields) for fields in (note.get('definition') or {}).get('factors', ())]
        units = {factor.name: factor.unit for factor in factors if factor.unit}
        if factors and note['units'] != units:
            self._add(root.mapping['units'], f'the units of the factors: {units}', f'{note["units"]}')

    def _checksums(self, root: Entry, note: Mapping[str, Any]) -> None:
        sums = note.get(CHECKSUMS)
        if sums is None:  # written by an older version
            return
        for key, value in note.items():
            if key != CHECKSUMS and (not isinstance(sums, dict) or sums.get(key) != checksum(value)):
                self._add(root.mapping[key], f'the value that {CHECKSUMS} was computed from', 'another value')
