"""Encoding of MCAP records (https://mcap.dev/spec): opcode, length, content; all numbers little endian."""

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
"""Opcode of an empty private record; readers skip opcodes from 0x80 on, which are reserved for applications."""

PREFIX_SIZE = 9
FOOTER_SIZE = PREFIX_SIZE + 20
DATA_END_SIZE = PREFIX_SIZE + 4

_PREFIX = struct.Struct('<BQ')
_MESSAGE_PREFIX = struct.Struct('<BQHIQQ')
_INDEX_ENTRY = struct.Struct('<QQ')
MESSAGE_CONTENT_PREFIX = 22


class Message(NamedTuple):
    """A message to write.

    Attributes:
        channel: channel id.
        sequence: number of the message in its channel.
        log_time: ns; the order of readers.
        publish_time: ns.
        data: CDR with its encapsulation header.
    """

    channel: int
    sequence: int
    log_time: int
    publish_time: int
    data: bytes


def prefix(opcode: int, length: int) -> bytes:
    """Return the nine bytes before a record's content."""
    return _PREFIX.pack(opcode, length)


def record(opcode: int, *parts: bytes) -> bytes:
    """Return a complete record."""
    content = b''.join(parts)
    return _PREFIX.pack(opcode, len(content)) + content


def string(text: str) -> bytes:
    """Return a length-prefixed string."""
    data = text.encode()
    return struct.pack('<I', len(data)) + data


def string_map(values: Mapping[str, str]) -> bytes:
    """Return a map of strings."""
    data = b''.join(string(key) + string(value) for key, value in values.items())
    return struct.pack('<I', len(data)) + data


def header(profile: str, library: str) -> bytes:
    """Return the first record of a file."""
    return record(HEADER, string(profile), string(library))


def schema(identifier: int, name: str, encoding: str, data: str) -> bytes:
    """Return the record of a message definition."""
    return record(SCHEMA, struct.pack('<H', identifier), string(name), string(encoding), string(data))


def channel(identifier: int, schema_id: int, topic: str, encoding: str, metadata: Mapping[str, str]) -> bytes:
    """Return the record of a topic."""
    numbers = struct.pack('<HH', identifier, schema_id)
    return record(CHANNEL, numbers, string(topic), string(encoding), string_map(metadata))


def metadata(name: str, values: Mapping[str, str]) -> bytes:
    """Return the record of named free text."""
    return record(METADATA, string(name), string_map(values))


def metadata_index(offset: int, length: int, name: str) -> bytes:
    """Return the index record of a metadata record."""
    return record(METADATA_INDEX, struct.pack('<QQ', offset, length), string(name))


def data_end() -> bytes:
    """Return the record at the end of the data section, without a checksum."""
    return record(DATA_END, struct.pack('<I', 0))


def footer(summary_start: int, summary_offset_start: int = 0) -> bytes:
    """Return the last record of a file and the magic bytes after it."""
    return record(FOOTER, struct.pack('<QQI', summary_start, summary_offset_start, 0)) + MAGIC


def summary_offset(opcode: int, start: int, length: int) -> bytes:
    """Return the index record of the summary's records of one kind."""
    return record(SUMMARY_OFFSET, struct.pack('<BQQ', opcode, start, length))


def summary(groups: Iterable[tuple[int, bytes]], start: int) -> bytes:
    """Return the summary section of a finished file, its footer and the magic bytes.

    Args:
        groups: opcode and records of each kind.
        start: offset of the section in the file.
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
    """Return the statistics record: numbers of messages by channel, and the time range."""
    total = sum(counts.values())
    content = struct.pack('<QHIIIIQQ', total, schemas, len(counts), 0, metadata_records, chunks, start, end)
    pairs = b''.join(struct.pack('<HQ', *pair) for pair in counts.items())
    return record(STATISTICS, content, struct.pack('<I', len(pairs)), pairs)


@dataclass(frozen=True)
class Chunk:
    """An encoded chunk with its message indexes.

    Attributes:
        data: chunk record and the following message-index records.
        chunk_length: length of the chunk record alone.
        uncompressed_size: size of the records inside it.
        index_offsets: offset of each channel's message index from the start of the chunk.
        counts: number of messages by channel.
        start: earliest log time, ns; 0 in a chunk without messages.
        end: latest log time, ns.
    """

    data: bytes
    chunk_length: int
    uncompressed_size: int
    index_offsets: dict[int, int]
    counts: dict[int, int]
    start: int
    end: int

    def index_record(self, offset: int) -> bytes:
        """Return the chunk-index record of this chunk at an offset of the file."""
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
    """Return an uncompressed chunk.

    Args:
        definitions: schema and channel records that these messages need first.
        messages: in the order of the file.
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
