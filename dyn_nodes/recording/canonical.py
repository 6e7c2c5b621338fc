"""Gives a finished MCAP file the one form that depends on its messages alone.

While a bag is recorded its chunks end where a checkpoint falls and its topics are numbered as they were discovered: two
runs with the same messages give different files. Here the file is written anew, with definitions and topics in
alphabetical order and chunks cut by size, so that equal runs give equal files. It is done on whole chunks with NumPy,
since there may be millions of messages.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from dyn_nodes.recording import records
from dyn_nodes.recording.records import PREFIX_SIZE

CHUNK_SIZE = 1024 * 1024
_INDEX_ENTRY = np.dtype([('time', '<u8'), ('offset', '<u8')])
_CHANNEL_FIELD = PREFIX_SIZE

Bytes = npt.NDArray[np.uint8]


@dataclass
class _Run:
    """Messages one after the other: their records, and time, channel and offset of each."""

    data: Bytes
    times: npt.NDArray[np.uint64]
    offsets: npt.NDArray[np.int64]
    channels: npt.NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.offsets)

    def joined(self, other: _Run) -> _Run:
        """This run and another behind it."""
        return _Run(
            np.concatenate([self.data, other.data]),
            np.concatenate([self.times, other.times]),
            np.concatenate([self.offsets, other.offsets + len(self.data)]),
            np.concatenate([self.channels, other.channels]),
        )

    def split(self, size: int) -> tuple[_Run, _Run]:
        """The first messages that make at least `size` bytes together, and the rest."""
        ends = np.append(self.offsets[1:], len(self.data))
        count = min(int(np.searchsorted(ends, size)) + 1, len(self))
        end = int(ends[count - 1])
        first = _Run(self.data[:end], self.times[:count], self.offsets[:count], self.channels[:count])
        rest = _Run(self.data[end:], self.times[count:], self.offsets[count:] - end, self.channels[count:])
        return first, rest


_EMPTY = _Run(np.empty(0, np.uint8), np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.uint16))


@dataclass
class _Contents:
    """What the summary of a file says."""

    schemas: dict[int, bytes] = field(default_factory=dict)
    channels: dict[int, bytes] = field(default_factory=dict)
    chunks: list[tuple[int, int, int]] = field(default_factory=list)
    metadata: list[tuple[int, int]] = field(default_factory=list)


def rewrite(path: Path) -> None:
    """Replace a finished MCAP file of uncompressed chunks by its canonical form, in one step at the end.

    Args:
        path: The file. When this is interrupted it stays as it was.

    Raises:
        OSError: The new file can't be written.
    """
    following = path.with_name(f'.{path.name}.next')
    try:
        with path.open('rb') as source, following.open('wb') as target:
            with mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as data:
                _rewrite(bytes(data[: len(records.MAGIC)]), data, target)
            target.flush()
            os.fsync(target.fileno())
        os.replace(following, path)
    finally:
        following.unlink(missing_ok=True)


def _rewrite(magic: bytes, data: mmap.mmap, target: BinaryIO) -> None:
    contents = _read_contents(data)
    renumber, schemas, channels = _renumber(contents)
    (header_length,) = struct.unpack_from('<Q', data, len(magic) + 1)
    target.write(data[: len(magic) + PREFIX_SIZE + header_length])
    definitions = b''.join([*schemas, *channels])
    counts = dict.fromkeys(range(1, len(channels) + 1), 0)
    start, end = 2**64 - 1, 0
    indexes = []
    for run in _even_chunks(_runs(data, contents.chunks, renumber)):
        chunk = _encode(definitions, run)
        definitions = b''
        indexes.append(chunk.index_record(target.tell()))
        target.write(chunk.data)
        for key, count in chunk.counts.items():
            counts[key] += count
        if chunk.counts:
            start, end = min(start, chunk.start), max(end, chunk.end)
    metadata_indexes = []
    for offset, length in contents.metadata:
        metadata_indexes.append(records.metadata_index(target.tell(), length, 'rosbag2'))
        target.write(data[offset : offset + length])
    statistics = records.statistics(counts, len(schemas), len(indexes), start if end else 0, end, len(metadata_indexes))
    groups = [
        (records.SCHEMA, b''.join(schemas)),
        (records.CHANNEL, b''.join(channels)),
        (records.STATISTICS, statistics),
        (records.CHUNK_INDEX, b''.join(indexes)),
        (records.METADATA_INDEX, b''.join(metadata_indexes)),
    ]
    target.write(records.data_end())
    target.write(records.summary(groups, target.tell()))


def _read_contents(data: mmap.mmap) -> _Contents:
    (position,) = struct.unpack_from('<Q', data, len(data) - len(records.MAGIC) - records.FOOTER_SIZE + PREFIX_SIZE)
    contents = _Contents()
    while True:
        opcode, length = struct.unpack_from('<BQ', data, position)
        position += PREFIX_SIZE
        content = data[position : position + length]
        position += length
        if opcode == records.FOOTER:
            return contents
        if opcode in (records.SCHEMA, records.CHANNEL):
            (key,) = struct.unpack_from('<H', content)
            (contents.schemas if opcode == records.SCHEMA else contents.channels)[key] = content[2:]
        elif opcode == records.CHUNK_INDEX:
            _, _, offset, size, map_length = struct.unpack_from('<QQQQI', content)
            (index_size,) = struct.unpack_from('<Q', content, 36 + map_length)
            contents.chunks.append((offset, size, index_size))
        elif opcode == records.METADATA_INDEX:
            contents.metadata.append(struct.unpack_from('<QQ', content))


def _renumber(contents: _Contents) -> tuple[npt.NDArray[np.uint16], list[bytes], list[bytes]]:
    """New numbers in alphabetical order.

    Returns:
        New channel id by old id, and the schema and channel records with their new ids. (What follows the ids in them
        starts with name or topic, behind its length.)
    """
    schema_order = sorted(contents.schemas, key=lambda key: contents.schemas[key][4:])
    schema_ids = {old: new for new, old in enumerate(schema_order, 1)}
    schemas = [
        records.record(records.SCHEMA, struct.pack('<H', schema_ids[old]), contents.schemas[old])
        for old in schema_order
    ]
    channel_order = sorted(contents.channels, key=lambda key: contents.channels[key][6:])
    renumber = np.zeros(max(contents.channels, default=0) + 1, np.uint16)
    channels = []
    for new, old in enumerate(channel_order, 1):
        renumber[old] = new
        (schema,) = struct.unpack_from('<H', contents.channels[old])
        numbers = struct.pack('<HH', new, schema_ids[schema])
        channels.append(records.record(records.CHANNEL, numbers, contents.channels[old][2:]))
    return renumber, schemas, channels


def _runs(data: mmap.mmap, chunks: list[tuple[int, int, int]], renumber: npt.NDArray[np.uint16]) -> Iterator[_Run]:
    """The messages of every chunk, with their new channel ids."""
    records_start = PREFIX_SIZE + 40  # times, sizes, checksum, an empty compression name
    for offset, size, index_size in chunks:
        entries, owners = [], []
        position, end = offset + size, offset + size + index_size
        while position < end:
            _, length, key, array = struct.unpack_from('<BQHI', data, position)
            entries.append(np.frombuffer(data, _INDEX_ENTRY, array // 16, position + PREFIX_SIZE + 6))
            owners.append(np.full(array // 16, renumber[key], np.uint16))
            position += PREFIX_SIZE + length
        if not entries:
            continue
        index, channels = np.concatenate(entries), np.concatenate(owners)
        order = np.argsort(index['offset'], kind='stable')
        offsets = index['offset'][order].astype(np.int64)
        first = int(offsets[0])
        content = np.frombuffer(data, np.uint8, size - records_start - first, offset + records_start + first).copy()
        offsets -= first
        channels = channels[order]
        content[offsets + _CHANNEL_FIELD] = channels & 0xFF
        content[offsets + _CHANNEL_FIELD + 1] = channels >> 8
        yield _Run(content, index['time'][order].copy(), offsets, channels)


def _even_chunks(runs: Iterator[_Run]) -> Iterator[_Run]:
    """The same messages in chunks of about `CHUNK_SIZE` bytes; at least one chunk."""
    pending = _EMPTY
    is_first = True
    for run in runs:
        pending = pending.joined(run)
        while len(pending.data) >= CHUNK_SIZE:
            chunk, pending = pending.split(CHUNK_SIZE)
            is_first = False
            yield chunk
    if len(pending) or is_first:
        yield pending


def _encode(definitions: bytes, run: _Run) -> records.Chunk:
    content = definitions + run.data.tobytes()
    start, end = (int(run.times.min()), int(run.times.max())) if len(run) else (0, 0)
    chunk = records.record(
        records.CHUNK, struct.pack('<QQQI', start, end, len(content), zlib.crc32(content)), records.string(''),
        struct.pack('<Q', len(content)), content,
    )  # fmt: skip
    parts, offsets, counts = [chunk], {}, {}
    position = len(chunk)
    for key in np.unique(run.channels).tolist():
        chosen = run.channels == key
        entries = np.empty(int(chosen.sum()), _INDEX_ENTRY)
        entries['time'] = run.times[chosen]
        entries['offset'] = run.offsets[chosen] + len(definitions)
        array = entries.tobytes()
        offsets[key], counts[key] = position, len(entries)
        parts.append(records.record(records.MESSAGE_INDEX, struct.pack('<HI', key, len(array)), array))
        position += len(parts[-1])
    return records.Chunk(b''.join(parts), len(chunk), len(content), offsets, counts, start, end)
