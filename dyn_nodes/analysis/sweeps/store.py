"""A sweep on disk: a note with its definition, parts in Parquet, an append-only manifest.

    sweep.json       all data on which the results depend; written first
    parts/*.parquet  runs of consecutive numbers; written to a temporary file and renamed when complete
    samples/*.parquet  rows over time of the same runs, if the sweep has a dataset; written before their part
    manifest.jsonl   a line for each part in order: name, runs, SHA-256

Only the driver writes. If it is killed at any moment, a part is complete or absent; a truncated line of the manifest is
dropped, and missing runs are executed again. The bytes depend on the sweep alone. Every reader compares the checksums
of the manifest; a report rejects a part whose file differs, and the driver executes its runs again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dyn_nodes.analysis.sweeps.note import NOTE, load_note, note_text
from dyn_nodes.analysis.sweeps.outcomes import Cell
from dyn_nodes.analysis.sweeps.sweep import Sweep
from dyn_nodes.analysis.sweeps.trial import Made, status_kinds
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.textfile import LARGEST_YAML, UNFINISHED, TextFileError, read_bytes, read_text, write_whole
from dyn_nodes.model.problems import MachineError

try:
    import fcntl
except ImportError:  # not a POSIX system: two drivers are not excluded
    fcntl = None  # type: ignore[assignment]

MANIFEST, LOCK, PARTS, SAMPLES = 'manifest.jsonl', 'lock', 'parts', 'samples'
TYPES = {'count': pa.int64(), 'number': pa.float64(), 'flag': pa.bool_(), 'text': pa.string()}
DTYPES: dict[pa.DataType, type] = {pa.int64(): np.int64, pa.float64(): np.float64, pa.bool_(): np.bool_}
"""`to_pandas_dtype` of older pyarrow needs pandas."""
LARGEST_MANIFEST = 2**30
LARGEST_PART = 2**28
"""Greatest size of a part in bytes, compressed and expanded."""
LARGEST_SAMPLES = 2**34
"""Greatest size of the samples of a part in bytes; the driver holds them in memory while it writes them."""
_SHA = re.compile('[0-9a-f]{64}')
Remark = Callable[[str], None]


class StoreError(UserError, RuntimeError):
    """The directory does not hold this sweep, or another driver writes to it."""


class Line(NamedTuple):
    """A line of the manifest.

    Attributes:
        part: name of the file.  rows: number of runs.  sha256: of the file.  samples_sha256: of the file of samples, or
            empty.
    """

    part: str
    rows: int
    sha256: str
    samples_sha256: str = ''

    @property
    def text(self) -> str:
        """The line as text of the manifest."""
        return json.dumps({key: value for key, value in self._asdict().items() if value != ''}) + '\n'


def part_name(part: int) -> str:
    """Return the name of the file of a part."""
    return f'part-{part:06d}.parquet'


def _line_of(text: str) -> Line:
    """Return a line of a manifest. Raise StoreError with the expected and the found text."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        raise StoreError(f'expected JSON, found {text[:60]!r}') from None
    required = {'part': str, 'rows': int, 'sha256': str}
    types = {**required, 'samples_sha256': str}
    if not isinstance(values, dict) or set(values) - set(types) or set(required) - set(values):
        raise StoreError(f'expected the keys {", ".join(required)}, found {text[:60]!r}')
    for key, value in values.items():
        if type(value) is not types[key] or (key.endswith('sha256') and not _SHA.fullmatch(str(value))):
            expected = 'a SHA-256' if key.endswith('sha256') else f'a value of type {types[key].__name__}'
            raise StoreError(f'{key}: expected {expected}, found {str(value)[:60]!r}')
    return Line(**values)


def _lines(path: Path) -> list[str]:
    """Return the complete lines of a manifest. Raise StoreError if it cannot be read."""
    if not path.exists() and not path.is_symlink():
        return []
    try:
        return read_bytes(path, LARGEST_MANIFEST).decode('utf-8', 'replace').split('\n')[:-1]
    except TextFileError as error:
        raise StoreError(f'{path}: {error}') from None


def _sha_of(path: Path) -> str:
    """Return the SHA-256 of a regular file. Raise StoreError."""
    digest = hashlib.sha256()
    try:
        if not path.is_file():
            raise StoreError(f'expected the file {path.name}, found {"something else" if path.exists() else "none"}')
        with path.open('rb') as file:
            while block := file.read(2**22):
                digest.update(block)
    except OSError as error:
        raise StoreError(f'expected the file {path.name}, found {error.strerror or error}') from None
    return digest.hexdigest()


def _check_sha(path: Path, expected: str) -> None:
    """Raise StoreError if a file has another SHA-256."""
    actual = _sha_of(path)
    if actual != expected:
        raise StoreError(f'{path.name}: expected the SHA-256 {expected[:12]}... of {MANIFEST}, found {actual[:12]}...')


class Store:
    """The directory of a sweep, for its driver. As a context it holds the lock of the directory.

    Args:
        directory: created if it does not exist.
        sweep: sweep whose results are stored.
        remark: called with a line for each damaged part that is replaced.

    Raises:
        StoreError: the directory holds another sweep, or another driver uses it.
        OSError: the directory cannot be written.
    """

    def __init__(self, directory: Path, sweep: Sweep, remark: Remark = lambda text: None) -> None:
        self.directory, self.sweep, self._remark = directory, sweep, remark
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
        """Return the path of a part."""
        return self.directory / PARTS / part_name(part)

    def samples_path(self, part: int) -> Path:
        """Return the path of the samples of a part."""
        return self.directory / SAMPLES / part_name(part)

    def missing(self) -> list[int]:
        """Return the missing parts in order; complete parts that the manifest lacks are added to it."""
        for folder in (PARTS, SAMPLES):
            for path in (self.directory / folder).glob(f'*{UNFINISHED}'):
                path.unlink()
        present = {*self.listed, *self._pending}
        absent = [part for part in range(self.sweep.parts) if part not in present and not self._adopted(part)]
        self._enter()
        return absent

    def keep(self, part: int, made: Made) -> None:
        """Write a part with its samples, and the lines of the manifest that are due."""
        samples = None if made.samples is None else _parquet(self._samples(part, made.samples))
        content = _parquet(self._table(part, made.rows))
        if samples is not None:
            write_whole(self.samples_path(part), samples)
        write_whole(self.part_path(part), content)
        self._pending[part] = _line(part, len(made.rows), content, samples)
        self._enter()

    # -- check of the directory ----------------------------------------------------------------------------------------

    def _identify(self) -> None:
        note = self.directory / NOTE
        text = note_text(self._note())
        if note.exists() or note.is_symlink():
            try:
                identity = json.loads(read_text(note, LARGEST_YAML)).get('identity')
            except (ValueError, AttributeError, RecursionError):
                identity = None
            if identity != self.sweep.identity:
                raise StoreError(f'{self.directory}: expected this sweep or an empty directory, found another sweep')
            self._renew_note(note, text)
        elif (self.directory / MANIFEST).exists() or any((self.directory / PARTS).iterdir()):
            raise StoreError(f'{self.directory}: expected {NOTE} beside {MANIFEST} and {PARTS}, found none')
        else:
            write_whole(note, text.encode())

    def _renew_note(self, path: Path, text: str) -> None:
        """Write the note again if it is damaged, or if names or paths of the sweep's files have changed."""
        if read_bytes(path, LARGEST_YAML) == text.encode():
            return
        try:
            load_note(path)
        except MachineError as error:
            self._remark(f'{error.problems[0]}: the note is written again')
        write_whole(path, text.encode())

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
            'factors': [factor.name for factor in sweep.factors],
            'units': {factor.name: factor.unit for factor in sweep.factors if factor.unit},
            'varied': sweep.varied,
            'columns': self.kinds,
            'definition': sweep.definition,
        }

    def _listed(self) -> set[int]:
        """Return the parts at the start of the manifest; parts behind a gap become pending.

        Invalid lines, and files that do not match the manifest, are dropped; the manifest is truncated.
        """
        self._pending: dict[int, Line] = {}
        path = self.directory / MANIFEST
        lines, listed = self._entries(path), set[int]()
        for part, line in sorted(lines.items()):
            try:
                self._check(part, line)
                self._pending[part] = line
            except StoreError as error:
                self._remark(f'{self.directory}: {error}: runs {self._runs(part)} are made again')
                self._drop(part)
        text = ''
        while (part := len(listed)) in self._pending:
            text += self._pending.pop(part).text
            listed.add(part)
        if path.is_symlink() or (path.exists() and read_bytes(path, LARGEST_MANIFEST) != text.encode()):
            write_whole(path, text.encode())
        return listed

    def _entries(self, path: Path) -> dict[int, Line]:
        """Return the lines of the manifest by part."""
        lines: dict[int, Line] = {}
        for number, text in enumerate(_lines(path), 1):
            try:
                line = _line_of(text)
                part = self._part_of(line, lines)
            except StoreError as error:
                self._remark(f'{path}:{number}: {error}: the line is dropped')
                continue
            lines[part] = line
        return lines

    def _part_of(self, line: Line, lines: Mapping[int, Line]) -> int:
        """Return the number of a line's part. Raise StoreError if it is not in this sweep or is a duplicate."""
        number = line.part.removeprefix('part-').removesuffix('.parquet')
        part = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else -1
        if not 0 <= part < self.sweep.parts or line.part != part_name(part):
            raise StoreError(f'part: expected a part of this sweep, found {line.part[:60]!r}')
        if part in lines:
            raise StoreError(f'part: expected each part once, found {line.part} again')
        return part

    def _check(self, part: int, line: Line) -> None:
        """Raise StoreError if the files of a part do not match its line."""
        if line.rows != len(self.sweep.runs_of(part)):
            raise StoreError(f'{line.part}: expected {len(self.sweep.runs_of(part))} runs, found {line.rows}')
        _check_sha(self.part_path(part), line.sha256)
        if (self.sweep.record_period is not None) != bool(line.samples_sha256):
            raise StoreError(
                f'{line.part}: expected a checksum of samples exactly if the sweep has samples, found otherwise'
            )
        if line.samples_sha256:
            _check_sha(self.samples_path(part), line.samples_sha256)

    def _runs(self, part: int) -> str:
        runs = self.sweep.runs_of(part)
        return f'{runs.start} to {runs.stop - 1}'

    def _drop(self, part: int) -> None:
        """Delete the files of a part."""
        for path in (self.part_path(part), self.samples_path(part)):
            if path.is_file() or path.is_symlink():
                path.unlink()

    def _adopted(self, part: int) -> bool:
        """Return whether a part that the manifest lacks is complete: valid pages, and the bytes that it would have now.

        The runs of other parts are executed again.
        """
        paths = [self.part_path(part), *([] if self.sweep.record_period is None else [self.samples_path(part)])]
        if not self.part_path(part).exists():
            return False
        try:
            contents = [read_bytes(path, LARGEST_SAMPLES) for path in paths]
            counts = (len(self.sweep.runs_of(part)), None)
            tables = [_table_of(content, rows) for content, rows in zip(contents, counts)]
            self._check_table(part, tables[0])
            if [_parquet(table) for table in tables] != contents:
                raise StoreError(f'{part_name(part)}: expected the bytes of its runs, found others')
        except (StoreError, TextFileError) as error:
            self._remark(f'{self.directory}: {error}, not in {MANIFEST}: runs {self._runs(part)} are made again')
            return False
        self._pending[part] = _line(part, tables[0].num_rows, contents[0], *contents[1:])
        return True

    def _check_table(self, part: int, table: pa.Table) -> None:
        """Raise StoreError if a table does not hold the runs of a part."""
        runs, values = self.sweep.runs_of(part), self.sweep.values
        _check_part(part, table, self._schema(part, self.kinds), runs)
        for k, factor in enumerate(self.sweep.factors):
            if not np.array_equal(table.column(factor.name).to_numpy(), values[runs.start : runs.stop, k]):
                raise StoreError(f'{part_name(part)}: expected the values of {factor.name} in these runs, found others')

    # -- writing -----------------------------------------------------------------------------------------------------

    def _enter(self) -> None:
        """Append the lines of the parts that continue the manifest, so that it is in order at any moment."""
        lines = []
        while (part := len(self.listed)) in self._pending:
            lines.append(self._pending.pop(part).text)
            self.listed.add(part)
        if lines:
            path = self.directory / MANIFEST
            with path.open('a') as file:
                file.write(''.join(lines))
                file.flush()
                os.fsync(file.fileno())

    def _table(self, part: int, rows: Sequence[tuple[Cell, ...]]) -> pa.Table:
        schema = self._schema(part, self.kinds)
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows), schema)]
        return pa.Table.from_arrays(columns, schema=schema)

    def _samples(self, part: int, columns: Mapping[str, Any]) -> pa.Table:
        kept = {'run': 'count', **{name: kind for name, kind in self.kinds.items() if kind == 'flag'}}
        schema = self._schema(part, {name: kept.get(name, 'number') for name in columns})
        arrays = [pa.array(columns[field.name].astype(DTYPES[field.type])) for field in schema]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _schema(self, part: int, kinds: Mapping[str, str]) -> pa.Schema:
        return _schema_of(part, kinds, self.sweep.identity)


def _locked(path: Path) -> TextIO:
    """Return an open file with an exclusive lock; the lock ends with the process."""
    if path.is_symlink():
        raise StoreError(f'{path}: expected a file, found a link')
    file = path.open('a')
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise StoreError(f'{path.parent}: expected no other driver, found one that writes there now') from None
    return file


def _line(part: int, rows: int, content: bytes, samples: bytes | None = None) -> Line:
    shas = [hashlib.sha256(data).hexdigest() for data in (content, samples) if data is not None]
    return Line(part_name(part), rows, *shas)


def _schema_of(part: int, kinds: Mapping[str, str], identity: str) -> pa.Schema:
    fields = [pa.field(name, TYPES[kind]) for name, kind in kinds.items()]
    return pa.schema(fields, metadata={'sweep': identity, 'part': str(part)})


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression='zstd', write_page_checksum=True)
    return bytes(sink.getvalue())


def _table_of(content: bytes, rows: int | None = None) -> pa.Table:
    """Return the table of a Parquet file with valid checksums of its pages.

    Raises:
        StoreError: it is not a Parquet file, has another number of `rows`, or is too large after its expansion.
    """
    try:
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        about = file.metadata
        if rows is not None and about.num_rows != rows:
            raise StoreError(f'expected {rows} runs, found {about.num_rows}')
        expanded = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        if max(expanded, about.num_rows * about.num_columns) > max(LARGEST_PART, 100 * len(content)):
            raise StoreError(f'expected at most {LARGEST_PART} bytes after expansion, found more')
        return file.read()
    except (OSError, ValueError, KeyError, TypeError, MemoryError, pa.ArrowException) as error:
        raise StoreError(f'expected a Parquet file, found {" ".join(str(error).split())[:200]}') from None


def _check_part(part: int, table: pa.Table, schema: pa.Schema, runs: range) -> None:
    """Raise StoreError if a table does not have the columns and the runs of a part."""
    name = part_name(part)
    if not table.schema.equals(schema, check_metadata=True):
        raise StoreError(f'{name}: expected the columns and the identity of {NOTE}, found others')
    if any(column.null_count for column in table.columns):
        raise StoreError(f'{name}: expected a value in each cell, found nulls')
    if table.column('run').to_pylist() != list(runs):
        raise StoreError(f'{name}: expected the runs {runs.start} to {runs.stop - 1}, found others')
    for status in table.column('status').unique().to_pylist():
        if not status.isprintable():
            raise StoreError(f'{name}: status: expected printable characters, found {ascii(status)[:60]}')


def read_note(directory: Path) -> dict[str, Any]:
    """Return the note of a sweep's directory.

    Raises:
        StoreError: there is none, or it has errors: file, line, key, expected and found value.
    """
    if not (directory / NOTE).is_file():
        raise StoreError(f'{directory}: expected the directory of a sweep with its {NOTE}, found none')
    try:
        return load_note(directory / NOTE)
    except MachineError as error:
        raise StoreError(str(error)) from None


def read_parts(directory: Path, note: Mapping[str, Any]) -> Iterator[pa.Table]:
    """Yield the parts of the manifest in order.

    Raises:
        StoreError: the manifest is invalid or has a part twice; a part of it, or its samples, are missing or
            have another checksum; a part does not hold its runs.
    """
    path = directory / MANIFEST
    for part, text in enumerate(_lines(path)):
        try:
            table = _read_part(directory, part, _line_of(text), note)
        except (StoreError, TextFileError) as error:
            raise StoreError(f'{path}:{part + 1}: {error}') from None
        yield table


def _read_part(directory: Path, part: int, line: Line, note: Mapping[str, Any]) -> pa.Table:
    if part >= note['parts'] or line.part != part_name(part):
        expected = part_name(part) if part < note['parts'] else f'{note["parts"]} parts, each once'
        raise StoreError(f'part: expected {expected}, found {line.part[:60]!r}')
    path = directory / PARTS / line.part
    try:
        content = read_bytes(path, LARGEST_PART)
    except TextFileError as error:
        raise StoreError(f'{line.part}: {error}') from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != line.sha256:
        raise StoreError(f'{line.part}: expected the SHA-256 {line.sha256[:12]}..., found {digest[:12]}...: damaged')
    if line.samples_sha256:
        _check_sha(directory / SAMPLES / line.part, line.samples_sha256)
    first = part * note['part_size']
    runs = range(first, min(first + note['part_size'], note['runs']))
    if line.rows != len(runs):
        raise StoreError(f'{line.part}: expected {len(runs)} runs, found {line.rows}')
    table = _table_of(content, line.rows)
    _check_part(part, table, _schema_of(part, note['columns'], note['identity']), runs)
    return table
