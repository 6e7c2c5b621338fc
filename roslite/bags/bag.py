"""Writer of a rosbag2 directory with checkpoints."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from roslite.bags.mcap_file import McapFile
from roslite.bags.metadata import QosRecord, ReplacedFile, TopicRecord, metadata_text, qos_list
from roslite.bags.records import Message
from roslite.bags.sqlite_file import SqliteFile
from roslite.errors import UserError

STORAGES = {'mcap': '.mcap', 'sqlite3': '.db3'}
CHUNK_TIME = 100_000_000
"""Maximum log time of a chunk of a reproducible bag, ns."""
CHUNK_SIZE = 1024 * 1024
"""Size of messages at which a chunk of a reproducible bag ends, bytes."""


Entry = tuple[int, int, int, bytes]
"""Topic number, log time, publish time, CDR."""


class BagError(UserError):
    """A bag that cannot be created or read; the message has its path and the reason."""


@dataclass(frozen=True)
class Topic:
    """A topic to record.

    Attributes:
        name: fully qualified name.
        type: message type, `package/msg/Name`.
        definition: definition of the type with its dependencies, in rosbag2's format `ros2msg`.
        type_hash: RIHS01 hash of the type, empty: unknown.
        qos: profiles offered by the publishers.
    """

    name: str
    type: str
    definition: str = ''
    type_hash: str = ''
    qos: tuple[QosRecord, ...] = field(default=())


@contextlib.contextmanager
def _as_os_errors() -> Iterator[None]:
    """Convert errors of SQLite, such as a full disk, to OSError."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(str(error)) from None


class BagWriter:
    """Writes raw CDR messages into a new rosbag2 directory.

    After every `checkpoint` the directory is a complete bag: the storage file is valid to its end, and
    `metadata.yaml`, replaced atomically right after it, matches it. The file only grows: the cost of closing it does
    not depend on the length of the recording.

    Args:
        directory: directory of the bag; must not exist. Missing parents are created.
        storage: `mcap` or `sqlite3`.
        reproducible: the file depends only on the sequence of messages, and not on the times of checkpoints or the
            order in which topics are added: equal sequences give equal files. Chunks then end with a period of
            `CHUNK_TIME` or at `CHUNK_SIZE`, checkpoints write complete chunks only, and topics are numbered by their
            first message.

    Raises:
        BagError: the directory exists or cannot be created or written, or the storage is unknown.
    """

    def __init__(self, directory: Path | str, storage: str = 'mcap', *, reproducible: bool = False):
        self.directory = Path(directory)
        self.storage = storage
        if storage not in STORAGES:
            raise BagError(f'storage: expected one of {", ".join(STORAGES)}; found {storage!r}')
        try:
            self.directory.mkdir(parents=True)
        except FileExistsError:
            raise BagError(f'{self.directory}: the bag directory exists; nothing is ever overwritten') from None
        except OSError as error:
            raise BagError(f'{self.directory}: the bag directory cannot be created: {error.strerror}') from None
        self.file_name = f'{self.directory.name}_0{STORAGES[storage]}'
        self._file: McapFile | SqliteFile
        self._metadata = ReplacedFile(self.directory / 'metadata.yaml')
        self._reproducible = reproducible
        self._topics: dict[int, Topic] = {}
        self._records: dict[int, TopicRecord] = {}
        self._channels: dict[int, int] = {}
        self._schemas: dict[str, int] = {}
        self._sequences: dict[int, int] = {}
        self._open: list[Entry] = []
        self._open_size = 0
        self._topics_changed = True
        self.closed = False
        path = self.directory / self.file_name
        try:
            with _as_os_errors():
                self._file = McapFile(path) if storage == 'mcap' else SqliteFile(path)
                self._write_metadata()
        except OSError as error:
            raise BagError(f'{self.directory}: the bag cannot be written: {error.strerror or error}') from None

    def add_topic(self, topic: Topic) -> int:
        """Add a topic and return its number for `checkpoint`."""
        number = len(self._topics) + 1
        self._topics[number] = topic
        self._records[number] = TopicRecord(topic.name, topic.type, topic.type_hash, topic.qos)
        self._sequences[number] = 0
        self._topics_changed = True
        if not self._reproducible:
            self._define(number)
        return number

    def checkpoint(self, messages: Sequence[Entry]) -> None:
        """Write messages and make the bag on the disk complete.

        Args:
            messages: (topic number, log time, publish time, CDR), in the order of the bag.

        Raises:
            OSError: the bag cannot be written, such as for a full disk.
        """
        chunks = self._whole_chunks(messages) if self._reproducible else [messages]
        if not any(chunks) and not self._topics_changed:
            return
        with _as_os_errors():
            if self._topics_changed:
                self._write_metadata()  # topics appear in the metadata before the storage
            self._topics_changed = False
            self._write(chunks)

    def close(self, custom: Mapping[str, str] | None = None) -> None:
        """Finish the bag without reading or moving written data.

        Args:
            custom: free text by key for the metadata.

        Raises:
            OSError: the bag cannot be written, such as for a full disk.
        """
        if self.closed:
            return
        self.closed = True
        with _as_os_errors():
            self._finish(custom)

    def _finish(self, custom: Mapping[str, str] | None) -> None:
        if self._open:
            self._write([self._open])
            self._open = []
        for number in sorted(self._topics, key=self._alphabetical):
            self._define(number)
        self._records = {number: self._records[number] for number in sorted(self._records, key=self._alphabetical)}
        text = self._text(custom)
        self._metadata.stage(text)
        self._file.close({'serialized_metadata': text})
        self._metadata.commit()

    @property
    def message_count(self) -> int:
        """Number of messages written so far."""
        return self._file.message_count

    @property
    def size(self) -> int:
        """Number of bytes written so far."""
        return self._file.data_size

    def counts(self) -> dict[str, int]:
        """Return the number of messages written so far, by topic."""
        return {self._topics[number].name: count for number, count in self._counts().items()}

    def _alphabetical(self, number: int) -> tuple[str, str]:
        return self._topics[number].name, self._topics[number].type

    def _counts(self) -> dict[int, int]:
        written = self._file.counts
        return {number: written[self._channels[number]] if number in self._channels else 0 for number in self._topics}

    def _define(self, number: int) -> int:
        """Add a topic to the file unless it is there; return its channel."""
        if number in self._channels:
            return self._channels[number]
        topic, file = self._topics[number], self._file
        qos = qos_list(topic.qos)
        if isinstance(file, McapFile):
            if topic.type not in self._schemas:
                self._schemas[topic.type] = file.add_schema(topic.type, 'ros2msg', topic.definition)
            metadata = {'offered_qos_profiles': qos, 'topic_type_hash': topic.type_hash}
            channel = file.add_channel(self._schemas[topic.type], topic.name, metadata)
        else:
            if topic.type not in self._schemas:
                self._schemas[topic.type] = file.add_schema(topic.type, 'ros2msg', topic.definition, topic.type_hash)
            channel = file.add_topic(topic.name, topic.type, qos, topic.type_hash)
        self._channels[number] = channel
        return channel

    def _whole_chunks(self, messages: Sequence[Entry]) -> list[list[Entry]]:
        """Add messages to the open chunk; return the chunks completed by them."""
        whole: list[list[Entry]] = []
        pending, size = self._open, self._open_size
        period = pending[-1][1] // CHUNK_TIME if pending else None
        for message in messages:
            now = message[1] // CHUNK_TIME
            if pending and (now != period or size >= CHUNK_SIZE):
                whole.append(pending)
                pending, size = [], 0
            period = now
            pending.append(message)
            size += len(message[3])
        self._open, self._open_size = pending, size
        return whole

    def _write(self, chunks: Sequence[Sequence[Entry]]) -> None:
        """Write chunks and make them visible in one step."""
        self._file.stage(map(self._numbered, chunks))
        self._metadata.stage(self._text())
        self._file.commit()
        self._metadata.commit()

    def _numbered(self, entries: Sequence[Entry]) -> list[Message]:
        """Return the messages of a chunk with channels and sequence numbers; define new topics."""
        channels, sequences, messages = self._channels, self._sequences, []
        for topic, log_time, publish_time, data in entries:
            channel = channels.get(topic) or self._define(topic)
            sequence = sequences[topic] = sequences[topic] + 1
            messages.append(Message(channel, sequence & 0xFFFFFFFF, log_time, publish_time, data))
        return messages

    def _text(self, custom: Mapping[str, str] | None = None) -> str:
        counts = self._counts()
        counted = {record: counts[number] for number, record in self._records.items()}
        file = self._file
        return metadata_text(self.storage, self.file_name, counted, file.start_time, file.end_time, custom)

    def _write_metadata(self) -> None:
        self._metadata.stage(self._text())
        self._metadata.commit()
