"""Reading of bus logs: frames (CSV, ASC, BLF, LOG by python-can; MF4 with asammdf) or columns of signals (CSV, MF4)."""

from __future__ import annotations

import csv
import math
import struct
import zlib
from collections.abc import Iterator
from heapq import merge
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from dyn_nodes.can.mapping import CanMapping
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.readers import ReaderError, read_apart

SUFFIXES = ('.csv', '.asc', '.blf', '.log', '.mf4')
TIMES = ('time', 'timestamp', 'time_s', 't')
"""Names of the time column, s."""
LATEST = 2.0**31
"""End of the range of ROS times, s."""
FRAME_COLUMNS = 'timestamp,arbitration_id'
MOST_SHOWN = 120
LARGEST_CONTAINER = 64 * 2**20
"""Maximum size of a container of a BLF log after decompression, bytes; 128 KiB are usual."""
LARGEST_LOG = 32 * 2**30
"""Maximum size of all containers after decompression, bytes."""
AT_ONCE = 10_000
"""Number of samples of a signal converted to Python numbers at a time."""
OBJECT = struct.Struct('<4sHHII')
CONTAINER, ZLIB = 10, 2
"""Object type of a container in a BLF log, and its compression method."""


class LogError(UserError, ValueError):
    """A log that cannot be read; the message is one line with file, location, expected and found content."""


class LogFrame(NamedTuple):
    """A frame and its log time, s."""

    time: float
    identifier: int
    extended: bool
    data: bytes


class LogRow(NamedTuple):
    """Numbers of signals in DBC scaling, by message and signal, and their time, s."""

    time: float
    numbers: dict[str, dict[str, float]]


def read_log(path: Path, mapping: CanMapping) -> Iterator[LogFrame | LogRow]:
    """Yield the entries of a log in its order.

    Args:
        path: of the log; its suffix is the format.
        mapping: mapping with the column names of a log of signals.

    Raises:
        LogError: no file, a damaged file, no column of the mapping, or a missing package.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise LogError(f'{path}: expected a log with suffix {", ".join(SUFFIXES)}, found {path.suffix or "none"}')
    if not path.is_file():
        raise LogError(f'{path}: expected a log, found no such file')
    if suffix == '.csv' and not _has_frames(path):
        entries: Iterator[LogFrame | LogRow] = _csv_rows(path, mapping)
    elif suffix == '.mf4':
        entries = _mf4(path, mapping)
    else:
        entries = _frames(path)
    for number, entry in enumerate(entries, 1):
        if not 0.0 <= entry.time < LATEST:
            raise LogError(f'{path}: entry {number}: expected a time of 0 to {LATEST:.0f} s, found {entry.time:g}')
        yield entry


def _one_line(error: object) -> str:
    text = ' '.join(str(error).split())
    return text if len(text) <= MOST_SHOWN else f'{text[:MOST_SHOWN]} ...'


def _frames(path: Path) -> Iterator[LogFrame]:
    try:
        import can
    except ImportError:
        raise LogError(f"{path}: python-can is missing: pip install 'dyn_nodes[can]'") from None
    count = 0
    if path.suffix.lower() == '.blf':
        _screen_blf(path)
    try:
        with can.LogReader(path) as reader:
            for message in reader:
                count += 1
                if not (message.is_error_frame or message.is_remote_frame):
                    identifier, extended = message.arbitration_id, message.is_extended_id
                    yield LogFrame(float(message.timestamp), identifier, extended, bytes(message.data))
    except Exception as error:  # every reader of python-can raises different errors
        kind, cause = path.suffix[1:].upper(), f'{type(error).__name__}: {_one_line(error)}'
        raise LogError(f'{path}: after {count} frames: expected another frame of a {kind} log, found {cause}') from None


def _screen_blf(path: Path) -> None:
    """Reject a BLF log with too large containers: python-can decompresses each as a whole.

    Raises:
        LogError: with the offset of the container.
    """
    expanded = 0
    with path.open('rb') as file:
        head = file.read(8)
        offset = struct.unpack('<4sI', head)[1] if len(head) == 8 else 0
        size = path.stat().st_size
        while offset + OBJECT.size <= size:
            file.seek(offset)
            mark, _, _, length, kind = OBJECT.unpack(file.read(OBJECT.size))
            if mark != b'LOBJ' or length < OBJECT.size:
                return  # the reader reports the fault
            if kind == CONTAINER:
                expanded += _container_size(path, offset, file.read(min(length - OBJECT.size, size)))
                if expanded > LARGEST_LOG:
                    raise LogError(f'{path}: expected at most {LARGEST_LOG} bytes after decompression, found more')
            offset += length + length % 4


def _container_size(path: Path, offset: int, content: bytes) -> int:
    """Return the decompressed size of a container, bytes. Raises LogError for more than `LARGEST_CONTAINER`."""
    method = int.from_bytes(content[:2], 'little')
    if method != ZLIB:
        return len(content)
    count, unpack, data = 0, zlib.decompressobj(), content[16:]
    try:
        while data and count <= LARGEST_CONTAINER:
            count += len(unpack.decompress(data, 1 << 20))
            data = unpack.unconsumed_tail
    except zlib.error:
        return count  # the reader reports the fault
    if count > LARGEST_CONTAINER:
        raise LogError(f'{path}: byte {offset}: expected a container of at most {LARGEST_CONTAINER} bytes, found more')
    return count


# -- columns of signals -----------------------------------------------------------------------------------------------


def _signals(mapping: CanMapping) -> dict[str, tuple[str, str]]:
    """Return message and signal by valid column name: `Message.Signal`, or `Signal` if it is unique."""
    pairs = [(frame.name, channel.signal) for frame in mapping.frames for channel in frame.channels]
    full_names = {f'{message}.{signal}': (message, signal) for message, signal in pairs}
    short = [signal for _, signal in pairs]
    return full_names | {signal: (message, signal) for message, signal in pairs if short.count(signal) == 1}


def _header(path: Path) -> str:
    try:
        with path.open(encoding='utf-8-sig') as file:
            return file.readline(1 << 16)
    except (OSError, UnicodeDecodeError) as error:
        raise LogError(f'{path}: expected a text with a header line, found {_one_line(error)}') from None


def _has_frames(path: Path) -> bool:
    return _header(path).replace(' ', '').startswith(FRAME_COLUMNS)


def unused_columns(path: Path, mapping: CanMapping) -> list[str]:
    """Return the columns of a CSV log of signals that are neither the time nor a signal of the mapping."""
    if path.suffix.lower() != '.csv' or _has_frames(path):
        return []
    names, _ = _columns(path)
    signals = _signals(mapping)
    return [name for name in names if name and name not in signals and name.lower() not in TIMES]


def _columns(path: Path) -> tuple[list[str], str]:
    """Return the names of the columns of a CSV log and its delimiter."""
    header = _header(path)
    delimiter = max(',;\t', key=header.count)
    return [name.strip().strip('"') for name in header.strip().split(delimiter)], delimiter


def _csv_rows(path: Path, mapping: CanMapping) -> Iterator[LogRow]:
    names, delimiter = _columns(path)
    signals = _signals(mapping)
    columns = {k: signals[name] for k, name in enumerate(names) if name in signals}
    time = next((k for k, name in enumerate(names) if name.lower() in TIMES), None)
    if time is None:
        raise LogError(f'{path}:1: expected a time column ({", ".join(TIMES)}), found {_one_line(", ".join(names))}')
    if not columns:
        expected = f'a column that is a signal of the mapping, such as {next(iter(signals))}'
        raise LogError(f'{path}:1: expected {expected}, found {_one_line(", ".join(names))}')
    line = 1
    try:
        with path.open(encoding='utf-8-sig', newline='') as file:
            reader = csv.reader(file, delimiter=delimiter)
            next(reader)
            for cells in reader:
                line = reader.line_num
                if cells:
                    yield _row(f'{path}:{line}', names, cells, time, columns, delimiter)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LogError(f'{path}:{line + 1}: expected a line of numbers, found {_one_line(error)}') from None


def _row(
    location: str, names: list[str], cells: list[str], time: int, columns: dict[int, tuple[str, str]], delimiter: str
) -> LogRow:
    if len(cells) != len(names):
        raise LogError(f'{location}: expected {len(names)} cells, found {len(cells)}')

    def number(k: int) -> float:
        text = cells[k].strip()
        try:
            value = float(text if delimiter == ',' else text.replace(',', '.'))
        except ValueError:
            raise LogError(f'{location}: {names[k]}: expected a number, found {_one_line(repr(text))}') from None
        if not math.isfinite(value) and k == time:
            raise LogError(f'{location}: {names[k]}: expected a finite number, found {value}')
        return value

    numbers: dict[str, dict[str, float]] = {}
    for k, (message, signal) in columns.items():
        if cells[k].strip() and not math.isnan(value := number(k)):
            numbers.setdefault(message, {})[signal] = value
    return LogRow(number(time), numbers)


# -- MF4 --------------------------------------------------------------------------------------------------------------


def _mf4(path: Path, mapping: CanMapping) -> Iterator[LogFrame | LogRow]:
    if find_spec('asammdf') is None:
        raise LogError(f"{path}: the package asammdf is missing: pip install 'dyn_nodes[can]'")
    signals, count = _signals(mapping), 0
    try:
        for entry in read_apart(_mf4_entries, path, signals):
            count += 1
            yield entry
    except ReaderError as error:
        raise LogError(f'{path}: after {count} entries: expected an MF4 log, found {_one_line(error)}') from None
    if not count:
        raise LogError(f'{path}: expected frames of a bus, or signals such as {next(iter(signals))}, found none')


def _mf4_entries(path: Path, signals: dict[str, tuple[str, str]]) -> Iterator[LogFrame | LogRow]:
    """Yield the entries of an MF4 log; runs in a separate process, because asammdf raises arbitrary errors."""
    from asammdf import MDF

    with MDF(path) as file:
        is_bus = any(name.startswith('CAN_DataFrame') for name in file.channels_db)
        if not is_bus:
            yield from _mf4_rows(file, signals)
    if is_bus:
        yield from _frames(path)


def _mf4_rows(file: Any, columns: dict[str, tuple[str, str]]) -> Iterator[LogRow]:
    """Yield the samples of all signals of the mapping in order of time."""
    signals = {}
    for name, pair in columns.items():
        if pair not in signals and name in file.channels_db:
            group, index = file.channels_db[name][0]
            signal = file.get(group=group, index=index)
            signals[pair] = _samples(pair, signal.timestamps, signal.samples)
    for time, samples in groupby(merge(*signals.values(), key=itemgetter(0)), key=itemgetter(0)):
        numbers: dict[str, dict[str, float]] = {}
        for _, (message, signal), value in samples:
            numbers.setdefault(message, {})[signal] = value
        yield LogRow(time, numbers)


def _samples(pair: tuple[str, str], times: Any, values: Any) -> Iterator[tuple[float, tuple[str, str], float]]:
    """Yield time, (message, signal) and value of the finite samples of a signal in order of time."""
    order = times.argsort(kind='stable')
    for k in range(0, len(order), AT_ONCE):
        part = order[k : k + AT_ONCE]
        for time, value in zip(times[part].tolist(), values[part].astype(float).tolist()):
            if math.isfinite(value):
                yield time, pair, value
