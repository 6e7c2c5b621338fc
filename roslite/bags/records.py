"""MCAP records as bytes (https://mcap.dev/spec): opcode, length, content; all numbers little endian."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

MAGIC = b'\x89MCAP0\r\n'
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(0x01, 0x09)
STATISTICS, METADATA, METADATA_INDEX, SUMMARY_OFFSET, DATA_END = 0x0B, 0x0C, 0x0D, 0x0E, 0x0F
PADDING = 0x80
"""A private record (0x80 and above are free for applications, and readers skip them); holds nothing."""

PREFIX_SIZE = 9
FOOTER_SIZE = PREFIX_SIZE + 20
DATA_END_SIZE = PREFIX_SIZE + 4

_PREFIX = struct.Struct('<BQ')
_MESSAGE_PREFIX = struct.Struct('<BQHIQQ')
_INDEX_ENTRY = struct.Struct('<QQ')
MESSAGE_CONTENT_PREFIX = 22


class Message(NamedTuple):
    """A message to be written.

    Attributes:
        channel: Channel id.
        sequence: Number of the message in its channel.
        log_time: Nanoseconds; what readers order by.
        publish_time: Nanoseconds.
        data: CDR with its encapsulation header.
    """

    channel: int
    sequence: int
    log_time: int
    publish_time: int
    data: bytes


def prefix(opcode: int, length: int) -> bytes:
    """The nine bytes before a record's content."""
    return _PREFIX.pack(opcode, length)


def record(opcode: int, *parts: bytes) -> bytes:
    """A whole record."""
    content = b''.join(parts)
    return _PREFIX.pack(opcode, len(content)) + content


def string(text: str) -> bytes:
    """A length-prefixed string."""
    data = text.encode()
    return struct.pack('<I', len(data)) + data


def string_map(values: Mapping[str, str]) -> bytes:
    """A map of strings."""
    data = b''.join(string(key) + string(value) for key, value in values.items())
    return struct.pack('<I', len(data)) + data


def header(profile: str, library: str) -> bytes:
    """The file's first record."""
    return record(HEADER, string(profile), string(library))


def schema(identifier: int, name: str, encoding: str, data: str) -> bytes:
    """A message definition."""
    return record(SCHEMA, struct.pack('<H', identifier), string(name), string(encoding), string(data))


def channel(identifier: int, schema_id: int, topic: str, encoding: str, metadata: Mapping[str, str]) -> bytes:
    """A topic."""
    numbers = struct.pack('<HH', identifier, schema_id)
    return record(CHANNEL, numbers, string(topic), string(encoding), string_map(metadata))


def metadata(name: str, values: Mapping[str, str]) -> bytes:
    """Named free text."""
    return record(METADATA, string(name), string_map(values))


def metadata_index(offset: int, length: int, name: str) -> bytes:
    """Where a metadata record lies."""
    return record(METADATA_INDEX, struct.pack('<QQ', offset, length), string(name))


def data_end() -> bytes:
    """The end of the data section, without a checksum."""
    return record(DATA_END, struct.pack('<I', 0))


def footer(summary_start: int, summary_offset_start: int = 0) -> bytes:
    """The file's last record and the magic bytes after it."""
    return record(FOOTER, struct.pack('<QQI', summary_start, summary_offset_start, 0)) + MAGIC


def summary_offset(opcode: int, start: int, length: int) -> bytes:
    """Where the summary's records of one kind lie."""
    return record(SUMMARY_OFFSET, struct.pack('<BQQ', opcode, start, length))


def summary(groups: Iterable[tuple[int, bytes]], start: int) -> bytes:
    """The summary section of a finished file, its footer and the magic bytes.

    Args:
        groups: Opcode and records of each kind.
        start: Where the section lies in the file.
    """
    section, offsets = bytearray(), bytearray()
    for opcode, content in groups:
        if content:
            offsets += summary_offset(opcode, start + len(section), len(content))
            section += content
    return bytes(section + offsets) + footer(start, start + len(section))


def statistics(
    counts: Mapping[int, int], schemas: int, chunks: int, start: int, end: int, metadata_records: int = 0
) -> bytes:
    """Numbers of messages by channel, and the time range."""
    total = sum(counts.values())
    content = struct.pack('<QHIIIIQQ', total, schemas, len(counts), 0, metadata_records, chunks, start, end)
    pairs = b''.join(struct.pack('<HQ', *pair) for pair in counts.items())
    return record(STATISTICS, content, struct.pack('<I', len(pairs)), pairs)


@dataclass(frozen=True)
class Chunk:
    """An encoded chunk with its message indexes.

    Attributes:
        data: The chunk record and the message-index records that follow it.
        chunk_length: Length of the chunk record alone.
        uncompressed_size: Size of the records inside it.
        index_offsets: Offset of each channel's message index from the chunk's start.
        counts: Messages by channel.
        start: Earliest log time, 0 in a chunk without messages.
        end: Latest log time.
    """

    data: bytes
    chunk_length: int
    uncompressed_size: int
    index_offsets: dict[int, int]
    counts: dict[int, int]
    start: int
    end: int

    def index_record(self, offset: int) -> bytes:
        """The chunk-index record of this chunk lying at an offset of the file."""
        pairs = b''.join(struct.pack('<HQ', key, offset + value) for key, value in self.index_offsets.items())
        return record(
            CHUNK_INDEX,
            struct.pack('<QQQQI', self.start, self.end, offset, self.chunk_length, len(pairs)),
            pairs,
            struct.pack('<Q', len(self.data) - self.chunk_length),
            string(''),
            struct.pack('<QQ', self.uncompressed_size, self.uncompressed_size),
        )


def encode_chunk(definitions: bytes, messages: Iterable[Message]) -> Chunk:
    """Encode an uncompressed chunk.

    Args:
        definitions: Schema and channel records that the messages are the first to need.
        messages: In the order of the file.
    """
    parts = [definitions]
    entries: dict[int, list[bytes]] = {}
    offset = len(definitions)
    start, end = 2**64 - 1, 0
    pack, pack_entry = _MESSAGE_PREFIX.pack, _INDEX_ENTRY.pack
    for channel, sequence, time, published, data in messages:
        length = MESSAGE_CONTENT_PREFIX + len(data)
        parts.append(pack(MESSAGE, length, channel, sequence, time, published))
        parts.append(data)
        entry = pack_entry(time, offset)
        if channel in entries:
            entries[channel].append(entry)
        else:
            entries[channel] = [entry]
        offset += PREFIX_SIZE + length
        if time < start:
            start = time
        if time > end:
            end = time
    records = b''.join(parts)
    start = start if entries else 0
    chunk = record(
        CHUNK, struct.pack('<QQQI', start, end, len(records), zlib.crc32(records)), string(''),
        struct.pack('<Q', len(records)), records,
    )  # fmt: skip
    indexes, offsets = [chunk], {}
    position = len(chunk)
    for key, values in entries.items():
        array = b''.join(values)
        offsets[key] = position
        indexes.append(record(MESSAGE_INDEX, struct.pack('<HI', key, len(array)), array))
        position += len(indexes[-1])
    counts = {key: len(values) for key, values in entries.items()}
    return Chunk(b''.join(indexes), len(chunk), len(records), offsets, counts, start, end)
