"""Writer of an MCAP file that is complete and valid at every moment while it grows.

Usual writers write summary and footer at the end, and a bag must be repaired if its recorder was killed. Rewriting them
after every chunk is not sufficient: if the process is killed, the kernel stops a long write at a page boundary, and
the file ends within a record. Therefore the file is longer than its content, with the footer at its end, and every
visible change is one write inside one page:

    magic, header | chunks ... | padding record ....... | slot 0 | slot 1 | footer, magic

- A checkpoint writes the new chunk *inside* the padding, then the summary into the unused slot, then sets the footer's
  pointer to it: eight bytes that never cross a page boundary. Incomplete writes before that are invisible.
- Readers with an index see only records referenced by the footer's summary. Sequential readers also see complete
  records only: a chunk appears when its first nine bytes replace the bytes of the padding (alignment keeps them inside
  a page), and a padding record always covers the unused slot.
- When the space is used up, the first write is a footer at the new end, which still points to the old summary.
- `close` writes the summary directly after the data and truncates the file, which is then a usual MCAP file.

The unused space is a hole in the file and occupies no disk space.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from roslite.bags import records
from roslite.bags.records import DATA_END_SIZE, FOOTER_SIZE, MAGIC, PREFIX_SIZE, Message

PAGE = 4096
ALIGNMENT = 16
FIRST_SIZE = 1024 * 1024
TAIL_SIZE = FOOTER_SIZE + len(MAGIC)
LIBRARY = 'dyn_nodes'


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


class McapFile:
    """Writes one MCAP file of profile `ros2`, checkpoint by checkpoint.

    Args:
        path: the file; must not exist.

    Raises:
        FileExistsError: the file exists.
        OSError: the file cannot be created.
    """

    def __init__(self, path: Path):
        self.path = path
        self.counts: dict[int, int] = {}
        self.start_time: int | None = None
        self.end_time = 0
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        self._schemas: list[bytes] = []
        self._channels: list[bytes] = []
        self._new_definitions: list[bytes] = []
        self._chunk_indexes = bytearray()
        self._chunks = 0
        self._staged_slot: int | None = None
        self._data_end = 0
        self._first_layout()

    # --- interface of the recorder -----------------------------------------------------------------------------------

    def add_schema(self, name: str, encoding: str, data: str) -> int:
        """Add a message definition and return its id; written with the next checkpoint."""
        identifier = len(self._schemas) + 1
        self._schemas.append(records.schema(identifier, name, encoding, data))
        self._new_definitions.append(self._schemas[-1])
        return identifier

    def add_channel(self, schema_id: int, topic: str, metadata: Mapping[str, str]) -> int:
        """Add a topic of CDR messages and return its id; written with the next checkpoint."""
        identifier = len(self._channels) + 1
        self._channels.append(records.channel(identifier, schema_id, topic, 'cdr', metadata))
        self._new_definitions.append(self._channels[-1])
        self.counts[identifier] = 0
        return identifier

    def stage(self, groups: Iterable[Sequence[Message]]) -> None:
        """Write chunks that index readers don't see before `commit()`.

        Args:
            groups: Messages of each chunk, in the order of the file; may be empty when topics were added. A topic that
                is added while they are iterated over is defined in the next chunk.

        Raises:
            OSError: the file cannot be written, such as for a full disk.
        """
        body, indexes = bytearray(), bytearray()
        chunks: list[records.Chunk] = []
        for messages in groups:
            chunk = records.encode_chunk(b''.join(self._new_definitions), messages)
            self._new_definitions.clear()
            indexes += chunk.index_record(self._data_end + len(body))
            body += chunk.data
            gap = -(self._data_end + len(body)) % ALIGNMENT
            if gap:
                gap += 0 if gap >= PREFIX_SIZE else ALIGNMENT
                body += records.record(records.PADDING, bytes(gap - PREFIX_SIZE))
            chunks.append(chunk)
        self._reserve(len(body) + PREFIX_SIZE, self._summary_size() + len(indexes))
        start, end = self._data_end, self._data_end + len(body)
        # Chunks without their first bytes and the following padding record are written inside the old padding.
        self._write(bytes(body[PREFIX_SIZE:]) + self._padding(end, self._visible_slot_start()), start + PREFIX_SIZE)
        self._write(bytes(body[:PREFIX_SIZE]), start)
        self._data_end = end
        self._chunk_indexes += indexes
        self._chunks += len(chunks)
        for chunk in chunks:
            self._account(chunk)
        self._staged_slot = 1 - self._slot
        self._write_slot(self._staged_slot)

    def commit(self) -> None:
        """Make staged data visible by one small write."""
        if self._staged_slot is None:
            return
        self._slot, self._staged_slot = self._staged_slot, None
        self._write(records.footer(self._slot_start(self._slot) + DATA_END_SIZE), self._size - TAIL_SIZE)
        self._write(self._padding(self._data_end, self._visible_slot_start()), self._data_end)

    def close(self, metadata: Mapping[str, str] | None = None) -> None:
        """Finish the file with the summary directly after the data.

        Args:
            metadata: content of a metadata record named `rosbag2`, as written by rosbag2.
        """
        if self._descriptor < 0:
            return
        self.commit()
        tail, end = self._final_tail(metadata)
        self._reserve(len(tail), 0)
        start = self._data_end
        self._write(tail[PREFIX_SIZE:], start + PREFIX_SIZE)
        self._write(tail[:PREFIX_SIZE], start)
        os.ftruncate(self._descriptor, end)
        os.close(self._descriptor)
        self._descriptor = -1

    @property
    def message_count(self) -> int:
        """Number of messages staged or committed so far."""
        return sum(self.counts.values())

    @property
    def data_size(self) -> int:
        """Size of the data section so far, bytes."""
        return self._data_end

    # --- layout ------------------------------------------------------------------------------------------------------

    def _slot_start(self, slot: int) -> int:
        return self._size - TAIL_SIZE - (2 - slot) * self._slot_size

    def _visible_slot_start(self) -> int:
        return self._slot_start(self._slot)

    @staticmethod
    def _padding(start: int, end: int) -> bytes:
        """Return the prefix of a padding record from `start` to `end`."""
        return records.prefix(records.PADDING, end - start - PREFIX_SIZE)

    def _write(self, data: bytes, offset: int) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self._descriptor, view, offset)
            view, offset = view[written:], offset + written

    def _first_layout(self) -> None:
        """Write an empty file; the bag's `metadata.yaml` does not exist before it is complete."""
        self._size, self._slot, self._slot_size = FIRST_SIZE, 0, FIRST_SIZE // 8
        start = bytearray(MAGIC + records.header('ros2', LIBRARY))
        gap = -len(start) % ALIGNMENT
        start += records.record(records.PADDING, bytes((gap if gap >= PREFIX_SIZE else gap + ALIGNMENT) - PREFIX_SIZE))
        self._data_end = len(start)
        self._write_slot(0)
        self._write(bytes(start) + self._padding(self._data_end, self._visible_slot_start()), 0)
        self._write(records.footer(self._slot_start(0) + DATA_END_SIZE), self._size - TAIL_SIZE)

    def _reserve(self, data: int, summary: int) -> None:
        """Extend the file if data or summary do not fit; the previous summary stays visible."""
        slot_needed = DATA_END_SIZE + summary + PREFIX_SIZE
        if self._data_end + data + PREFIX_SIZE <= self._slot_start(0) and slot_needed <= self._slot_size:
            return
        old_summary = self._visible_slot_start() + DATA_END_SIZE
        slot_size = max(self._slot_size, _round_up(2 * slot_needed, PAGE))
        least = self._size + data + 2 * slot_size + TAIL_SIZE + PREFIX_SIZE
        self._size = _round_up(max(least, self._size + self._size // 4, self._size + FIRST_SIZE), PAGE)
        self._slot_size = slot_size
        self._write(records.footer(old_summary), self._size - TAIL_SIZE)
        self._slot = 0
        self._write_slot(0)
        self._write(self._padding(self._data_end, self._visible_slot_start()), self._data_end)
        self._write(records.footer(self._slot_start(0) + DATA_END_SIZE), self._size - TAIL_SIZE)

    # --- summary -----------------------------------------------------------------------------------------------------

    def _account(self, chunk: records.Chunk) -> None:
        for key, count in chunk.counts.items():
            self.counts[key] += count
        if chunk.counts:
            self.start_time = chunk.start if self.start_time is None else min(self.start_time, chunk.start)
            self.end_time = max(self.end_time, chunk.end)

    def _statistics(self, metadata_records: int = 0) -> bytes:
        start = self.start_time or 0
        return records.statistics(self.counts, len(self._schemas), self._chunks, start, self.end_time, metadata_records)

    def _summary_size(self) -> int:
        definitions = sum(map(len, self._schemas)) + sum(map(len, self._channels))
        return definitions + len(self._statistics()) + len(self._chunk_indexes)

    def _write_slot(self, slot: int) -> None:
        """Write the current summary to a slot, and a padding record from its end to the footer."""
        start = self._slot_start(slot)
        content = b''.join([records.data_end(), *self._schemas, *self._channels, self._statistics()])
        content += self._chunk_indexes
        end = start + len(content)
        self._write(content + self._padding(end, self._size - TAIL_SIZE), start)

    def _final_tail(self, metadata: Mapping[str, str] | None) -> tuple[bytes, int]:
        """Return the final content after the data, and the final size of the file."""
        tail = bytearray()
        index = b''
        if metadata:
            entry = records.metadata('rosbag2', metadata)
            index = records.metadata_index(self._data_end, len(entry), 'rosbag2')
            tail += entry
        tail += records.data_end()
        summary_start = self._data_end + len(tail)
        groups = (
            (records.SCHEMA, b''.join(self._schemas)),
            (records.CHANNEL, b''.join(self._channels)),
            (records.STATISTICS, self._statistics(1 if metadata else 0)),
            (records.CHUNK_INDEX, bytes(self._chunk_indexes)),
            (records.METADATA_INDEX, index),
        )
        tail += records.summary(groups, summary_start)
        return bytes(tail), self._data_end + len(tail)
