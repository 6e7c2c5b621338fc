"""Summary of a bag: topics, counts and times, from MCAP or SQLite, finished or not.

Counts come from the storage file: `metadata.yaml` may be missing or outdated if another recorder was killed. An MCAP
file without summary is read from its start as far as it is valid.
"""

from __future__ import annotations

import re
import sqlite3
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from roslite.bags import records
from roslite.bags.bag import BagError
from roslite.bags.screening import (
    LARGEST_CHUNK,
    LARGEST_RATIO,
    SMALL,
    expand,
    screen_sqlite,
    unreadable,
)
from roslite.textfile import LARGEST_YAML, TextFileError, read_text

_TAIL_SIZE = records.FOOTER_SIZE + len(records.MAGIC)


@dataclass
class TopicSummary:
    """A topic in a bag."""

    name: str
    type: str
    count: int
    serialization_format: str = 'cdr'


@dataclass
class BagSummary:
    """Summary of a bag.

    Attributes:
        path: path of the bag.
        files: storage files.
        size: used size of all storage files, bytes.
        storage: `mcap` or `sqlite3`.
        start: earliest log time, ns; None without messages.
        end: latest log time, ns; None without messages.
        topics: sorted by name.
        finished: the recorder has finished the bag.
        distro: ROS distribution in `metadata.yaml`, empty: none.
    """

    path: Path
    storage: str
    files: list[Path] = field(default_factory=list)
    size: int = 0
    start: int | None = None
    end: int | None = None
    topics: list[TopicSummary] = field(default_factory=list)
    finished: bool = True
    distro: str = ''

    @property
    def message_count(self) -> int:
        """Number of messages in all topics."""
        return sum(topic.count for topic in self.topics)

    @property
    def duration(self) -> int:
        """Time from the first to the last message, ns."""
        return 0 if self.start is None or self.end is None else self.end - self.start


def bag_summary(path: Path | str) -> BagSummary:
    """Return the summary of a bag.

    Args:
        path: rosbag2 directory, or one `.mcap` or `.db3` file.

    Raises:
        BagError: no bag, or one that cannot be read.
    """
    path = Path(path)
    if not path.exists():
        raise BagError(f'{path}: expected a bag directory or file, found nothing')
    files = _storage_files(path)
    suffix = files[0].suffix
    summary = BagSummary(path, 'mcap' if suffix == '.mcap' else 'sqlite3', files)
    for file in files:
        try:
            part = _read_mcap(file) if suffix == '.mcap' else _read_sqlite(file)
        except (OSError, sqlite3.Error, struct.error, ValueError, EOFError) as error:
            raise unreadable(file, error) from None
        _merge(summary, part)
    metadata = path / 'metadata.yaml'
    if path.is_dir():
        text = _text_of(metadata)
        match = re.search(r'^\s*ros_distro: *"?(\w+)', text, re.MULTILINE)
        summary.distro = match.group(1) if match else ''
        summary.finished = summary.finished and bool(text)
    summary.topics.sort(key=lambda topic: topic.name)
    return summary


def _text_of(metadata: Path) -> str:
    try:
        return read_text(metadata, LARGEST_YAML)
    except TextFileError:
        return ''


def _storage_files(path: Path) -> list[Path]:
    if path.is_file():
        files = [path]
    else:
        files = sorted(path.glob('*.mcap')) or sorted(path.glob('*.db3'))
    if irregular := [file for file in files if not file.is_file()]:
        raise BagError(f'{irregular[0]}: expected a regular file, found something else')
    if not files or files[0].suffix not in ('.mcap', '.db3'):
        raise BagError(f'{path}: expected a bag directory with .mcap or .db3 files, or one such file')
    return files


def _merge(summary: BagSummary, part: BagSummary) -> None:
    merged = {(topic.name, topic.type): topic for topic in summary.topics}
    for topic in part.topics:
        if (topic.name, topic.type) in merged:
            merged[topic.name, topic.type].count += topic.count
        else:
            summary.topics.append(topic)
    summary.size += part.size
    summary.finished = summary.finished and part.finished
    times = [time for time in (summary.start, summary.end, part.start, part.end) if time is not None]
    if times:
        summary.start, summary.end = min(times), max(times)


# --- SQLite ----------------------------------------------------------------------------------------------------------


def _read_sqlite(path: Path) -> BagSummary:
    screen_sqlite(path, immutable=False)
    unfinished = path.with_name(path.name + '-journal').exists()
    database = sqlite3.connect(f'{path.resolve().as_uri()}?mode=ro', uri=True)
    try:
        rows = database.execute(
            'SELECT name, type, serialization_format, (SELECT count(*) FROM messages WHERE topic_id = topics.id) '
            'FROM topics'
        ).fetchall()
        start, end = database.execute('SELECT min(timestamp), max(timestamp) FROM messages').fetchone()
    finally:
        database.close()
    topics = [TopicSummary(str(name), str(kind), count, str(encoding)) for name, kind, encoding, count in rows]
    return BagSummary(path, 'sqlite3', [path], path.stat().st_size, start, end, topics, not unfinished)


# --- MCAP ------------------------------------------------------------------------------------------------------------


class _Fields:
    """Reads the fields of a record in order."""

    def __init__(self, data: bytes):
        self.data = data
        self.position = 0

    def numbers(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from('<' + form, self.data, self.position)
        self.position += struct.calcsize('<' + form)
        return values

    def string(self) -> str:
        (length,) = self.numbers('I')
        self.position += length
        return self.data[self.position - length : self.position].decode()


@dataclass
class _McapContent:
    path: Path
    schemas: dict[int, str] = field(default_factory=dict)
    channels: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    start: int | None = None
    end: int | None = None
    finished: bool = True
    has_statistics: bool = False

    def see(self, opcode: int, data: bytes) -> None:
        """Update the content from a record."""
        fields = _Fields(data)
        if opcode == records.SCHEMA:
            (key,) = fields.numbers('H')
            self.schemas[key] = fields.string()
        elif opcode == records.CHANNEL:
            key, schema = fields.numbers('HH')
            self.channels[key] = (fields.string(), schema, fields.string())
        elif opcode == records.MESSAGE:
            key, _, time = fields.numbers('HIQ')
            self.counts[key] = self.counts.get(key, 0) + 1
            self.start = time if self.start is None else min(self.start, time)
            self.end = time if self.end is None else max(self.end, time)
        elif opcode == records.STATISTICS:
            total, _, _, _, _, _, start, end, length = fields.numbers('QHIIIIQQI')
            self.counts = dict(fields.numbers('HQ') for _ in range(length // 10))  # type: ignore[misc]
            self.start, self.end = (start, end) if total else (None, None)
            self.has_statistics = True

    def summary(self, size: int) -> BagSummary:
        topics = [
            TopicSummary(name, self.schemas.get(schema, ''), self.counts.get(key, 0), encoding)
            for key, (name, schema, encoding) in self.channels.items()
        ]
        return BagSummary(self.path, 'mcap', [self.path], size, self.start, self.end, topics, self.finished)


def _read_mcap(path: Path) -> BagSummary:
    size = min(path.stat().st_size, path.stat().st_blocks * 512)  # an unfinished file has a hole
    with path.open('rb') as file:
        if file.read(len(records.MAGIC)) != records.MAGIC:
            raise BagError(f'{path}: expected an MCAP file, found other content')
        content = _read_summary(path, file)
        if content is None:
            content = _McapContent(path, finished=False)
            file.seek(len(records.MAGIC))
            _scan(file, content)
    return content.summary(size)


def _read_summary(path: Path, file: BinaryIO) -> _McapContent | None:
    """Return the content of the summary section; None if the file has none."""
    end = file.seek(0, 2)
    if end < _TAIL_SIZE + len(records.MAGIC):
        return None
    file.seek(end - _TAIL_SIZE)
    tail = file.read()
    if not tail.endswith(records.MAGIC) or tail[0] != records.FOOTER:
        return None
    (start,) = struct.unpack_from('<Q', tail, records.PREFIX_SIZE)
    if not len(records.MAGIC) <= start < end:
        return None
    content = _McapContent(path)
    file.seek(start)
    for opcode, data in _records(file):
        if opcode == records.FOOTER:
            break
        if opcode == records.PADDING:
            content.finished = False  # `McapFile.close` removes all padding after the data
        content.see(opcode, data)
    return content if content.has_statistics else None


def _records(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the complete records up to the end of the valid part of the file; padding is skipped unread."""
    position = file.tell()
    end = file.seek(0, 2)
    file.seek(position)
    while True:
        prefix = file.read(records.PREFIX_SIZE)
        left = end - file.tell()
        if len(prefix) < records.PREFIX_SIZE:
            return
        opcode, length = struct.unpack('<BQ', prefix)
        if opcode == 0 or length > left:
            return
        if opcode == records.PADDING:
            file.seek(length, 1)
            yield opcode, b''
            continue
        if length > LARGEST_CHUNK:
            raise ValueError(f'a record of {length} bytes, expected at most {LARGEST_CHUNK}')
        yield opcode, file.read(length)


def _scan(file: BinaryIO, content: _McapContent) -> None:
    """Read the valid part of the data section from its start."""
    for opcode, data in _records(file):
        if opcode in (records.DATA_END, records.FOOTER):
            return
        if opcode == records.CHUNK:
            for inner, inner_data in _chunk_records(data, content.path):
                content.see(inner, inner_data)
        elif opcode in (records.SCHEMA, records.CHANNEL, records.MESSAGE):
            content.see(opcode, data)


def _chunk_records(data: bytes, path: Path) -> Iterator[tuple[int, bytes]]:
    fields = _Fields(data)
    _, _, expanded, _ = fields.numbers('QQQI')
    compression = fields.string()
    (length,) = fields.numbers('Q')
    stored = data[fields.position : fields.position + length]
    if expanded > SMALL + LARGEST_RATIO * len(stored):
        raise ValueError(f'a chunk of {len(stored)} bytes would expand to {expanded}')
    inner = expand(stored, compression, min(expanded, LARGEST_CHUNK), path)
    position = 0
    while position + records.PREFIX_SIZE <= len(inner):
        opcode, size = struct.unpack_from('<BQ', inner, position)
        position += records.PREFIX_SIZE
        yield opcode, inner[position : position + size]
        position += size
