"""A sweep on disk: a note of what it is, parts in Parquet, an append-only manifest.

    sweep.json       what the results follow from; written first
    parts/*.parquet  runs of consecutive numbers; each is written beside its place and moved there when it is whole
    samples/*.parquet  rows over time of the same runs, where the sweep has a dataset; each written before its part
    manifest.jsonl   a line for each part in their order: name, runs, SHA-256

The driver alone writes. At whatever moment it is killed, a part is whole or absent; a cut line of the manifest is
dropped, and what is missing is run again. The bytes depend on the sweep alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dyn_nodes.sweeps.outcomes import Cell
from dyn_nodes.sweeps.sweep import Sweep
from dyn_nodes.sweeps.trial import Made, status_kinds

try:
    import fcntl
except ImportError:  # not a POSIX system: nothing keeps two drivers apart
    fcntl = None  # type: ignore[assignment]

NOTE, MANIFEST, LOCK, PARTS, SAMPLES = 'sweep.json', 'manifest.jsonl', 'lock', 'parts', 'samples'
TYPES = {'count': pa.int64(), 'number': pa.float64(), 'flag': pa.bool_(), 'text': pa.string()}
DTYPES: dict[pa.DataType, type] = {pa.int64(): np.int64, pa.float64(): np.float64, pa.bool_(): np.bool_}
"""`to_pandas_dtype` of older pyarrow needs pandas."""
_UNFINISHED = '.unfinished'


class StoreError(RuntimeError):
    """A directory that does not hold this sweep, or that another driver writes."""


class Store:
    """The directory of a sweep, for its driver. A context: it is locked within.

    Args:
        directory: made where there is none.
        sweep: whose results it takes.

    Raises:
        StoreError: another sweep is there, or another driver.
        OSError: it cannot be written.
    """

    def __init__(self, directory: Path, sweep: Sweep) -> None:
        self.directory, self.sweep = directory, sweep
        self.kinds = status_kinds(sweep)
        (directory / PARTS).mkdir(parents=True, exist_ok=True)
        if sweep.record_period is not None:
            (directory / SAMPLES).mkdir(exist_ok=True)
        self._lock: TextIO | None = None

    def __enter__(self) -> Store:
        self._lock = _locked(self.directory / LOCK)
        try:
            self._identify()
            self.listed = self._listed()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, t: TracebackType | None) -> None:
        if self._lock is not None:
            self._lock.close()

    def part_path(self, part: int) -> Path:
        """Return the place of a part."""
        return self.directory / PARTS / f'part-{part:06d}.parquet'

    def samples_path(self, part: int) -> Path:
        """Return the place of the samples of a part."""
        return self.directory / SAMPLES / f'part-{part:06d}.parquet'

    def missing(self) -> list[int]:
        """Return the parts that are not there, in their order; whole ones that the manifest lacks are entered in it."""
        absent = [part for part in range(self.sweep.parts) if part not in self.listed and not self._adopted(part)]
        self._enter()
        return absent

    def keep(self, part: int, made: Made) -> None:
        """Write a part with its samples, and the lines of the manifest that are due."""
        if made.samples is not None:
            write_whole(self.samples_path(part), _parquet(self._samples(part, made.samples)))
        write_whole(self.part_path(part), _parquet(self._table(part, made.rows)))
        self._found[part] = len(made.rows)
        self._enter()

    # -- what is there -----------------------------------------------------------------------------------------------

    def _identify(self) -> None:
        note = self.directory / NOTE
        text = json.dumps(self._note(), indent=1) + '\n'
        if note.exists():
            try:
                found = json.loads(note.read_text()).get('identity')
            except (ValueError, AttributeError):
                found = None
            if found != self.sweep.identity:
                raise StoreError(f'{self.directory}: expected this sweep or an empty directory, found another sweep')
        elif (self.directory / MANIFEST).exists() or any((self.directory / PARTS).iterdir()):
            raise StoreError(f'{self.directory}: expected {NOTE} beside {MANIFEST} and {PARTS}, found none')
        else:
            write_whole(note, text.encode())

    def _note(self) -> dict[str, Any]:
        sweep = self.sweep
        return {
            'name': sweep.name,
            'description': sweep.description,
            'identity': sweep.identity,
            'runs': sweep.design.runs,
            'design': sweep.design.kind,
            'seed': sweep.design.seed,
            'parts': sweep.parts,
            'part_size': sweep.part_size,
            'factors': [own.name for own in sweep.factors],
            'units': {own.name: own.unit for own in sweep.factors if own.unit},
            'varied': sweep.varied,
            'columns': self.kinds,
            'definition': sweep.definition,
        }

    def _listed(self) -> set[int]:
        """Return the parts that the manifest has, without those whose file is another one now; cut its last line."""
        self._found: dict[int, int] = {}
        path = self.directory / MANIFEST
        lines = path.read_bytes().split(b'\n') if path.exists() else []
        whole: list[bytes] = []
        for part, line in enumerate(lines[:-1]):
            if not self._is_entry(part, line):
                break
            whole.append(line + b'\n')
        if lines and lines != [*(line[:-1] for line in whole), b'']:
            write_whole(path, b''.join(whole))
        return set(range(len(whole)))

    def _is_entry(self, part: int, line: bytes) -> bool:
        with contextlib.suppress(ValueError, OSError):
            return bool(json.loads(line) == self._entry(part, len(self.sweep.runs_of(part))))
        return False

    def _entry(self, part: int, rows: int) -> dict[str, Any]:
        path = self.part_path(part)
        entry = {'part': path.name, 'rows': rows, 'sha256': hashlib.sha256(path.read_bytes()).hexdigest()}
        if self.sweep.record_period is not None:
            entry['samples_sha256'] = hashlib.sha256(self.samples_path(part).read_bytes()).hexdigest()
        return entry

    def _adopted(self, part: int) -> bool:
        """Return whether a part that the manifest lacks is whole."""
        path = self.part_path(part)
        for own in (path, self.samples_path(part)):
            own.with_name(own.name + _UNFINISHED).unlink(missing_ok=True)
        try:
            if self.sweep.record_period is not None:
                pq.read_table(self.samples_path(part))
            metadata = pq.read_schema(path).metadata or {}
            rows = pq.read_table(path).num_rows
        except (OSError, pa.ArrowInvalid):
            return False
        if metadata.get(b'sweep') != self.sweep.identity.encode() or rows != len(self.sweep.runs_of(part)):
            return False
        self._found[part] = rows
        return True

    # -- writing -----------------------------------------------------------------------------------------------------

    def _enter(self) -> None:
        """Append the lines of the parts that follow those of the manifest, so that it is in order at any moment."""
        lines = []
        while (part := len(self.listed)) in self._found:
            lines.append(json.dumps(self._entry(part, self._found.pop(part))) + '\n')
            self.listed.add(part)
        if lines:
            with (self.directory / MANIFEST).open('a') as file:
                file.write(''.join(lines))
                file.flush()
                os.fsync(file.fileno())

    def _table(self, part: int, rows: Sequence[tuple[Cell, ...]]) -> pa.Table:
        schema = self._schema(part, self.kinds)
        columns = [pa.array(column, own.type) for column, own in zip(zip(*rows), schema)]
        return pa.Table.from_arrays(columns, schema=schema)

    def _samples(self, part: int, columns: Mapping[str, Any]) -> pa.Table:
        kept = {'run': 'count', **{name: kind for name, kind in self.kinds.items() if kind == 'flag'}}
        schema = self._schema(part, {name: kept.get(name, 'number') for name in columns})
        arrays = [pa.array(columns[own.name].astype(DTYPES[own.type])) for own in schema]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _schema(self, part: int, kinds: Mapping[str, str]) -> pa.Schema:
        fields = [pa.field(name, TYPES[kind]) for name, kind in kinds.items()]
        return pa.schema(fields, metadata={'sweep': self.sweep.identity, 'part': str(part)})


def _locked(path: Path) -> TextIO:
    """Return an open file that this process alone has locked; the lock ends with the process."""
    file = path.open('a')
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise StoreError(f'{path.parent}: expected no other driver, found one that writes there now') from None
    return file


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression='zstd')
    return bytes(sink.getvalue())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that at any moment it is there as a whole or not at all."""
    unfinished = path.with_name(path.name + _UNFINISHED)
    with unfinished.open('wb') as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)


def read_note(directory: Path) -> dict[str, Any]:
    """Return the note of a sweep's directory.

    Raises:
        StoreError: there is none.
    """
    try:
        note = json.loads((directory / NOTE).read_text())
        if isinstance(note, dict) and isinstance(note['columns'], dict):
            return note
    except (OSError, ValueError, KeyError):
        pass
    raise StoreError(f'{directory}: expected the directory of a sweep with its {NOTE}, found none')


def read_parts(directory: Path) -> Iterator[pa.Table]:
    """Yield the parts of the manifest in order.

    Raises:
        StoreError: a part that the manifest has is not there, or is damaged.
    """
    path = directory / MANIFEST
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            name = str(json.loads(line)['part'])
            yield pq.read_table(directory / PARTS / Path(name).name)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f'{directory}: expected the parts of {MANIFEST}, found {error}') from None
