"""A rosbag2 directory that is written checkpoint by checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dyn_nodes.recording.mcap_file import McapFile
from dyn_nodes.recording.metadata import QosRecord, ReplacedFile, TopicRecord, metadata_text, qos_list
from dyn_nodes.recording.records import Message
from dyn_nodes.recording.sqlite_file import SqliteFile

STORAGES = {'mcap': '.mcap', 'sqlite3': '.db3'}
CANONICAL_LIMIT = 512 * 1024 * 1024


class BagError(Exception):
    """A bag can't be created or read; the message names it and says why."""


@dataclass(frozen=True)
class Topic:
    """A topic to be recorded.

    Attributes:
        name: Fully qualified name.
        type: Message type, `package/msg/Name`.
        definition: Its definition with those it needs, in the form of rosbag2 (`ros2msg`).
        type_hash: Its RIHS01 hash, empty when unknown.
        qos: Profiles that the publishers offer.
    """

    name: str
    type: str
    definition: str = ''
    type_hash: str = ''
    qos: tuple[QosRecord, ...] = field(default=())


class BagWriter:
    """Writes raw CDR messages into a new rosbag2 directory.

    After every `checkpoint` the directory is a complete bag: the storage file is valid to its end, and
    `metadata.yaml`, replaced in one step right after it, agrees with it.

    Args:
        directory: The bag's directory; it must not exist. Missing parents are made.
        storage: `mcap` or `sqlite3`.

    Raises:
        BagError: The directory exists or can't be made, or the storage is unknown.
    """

    def __init__(self, directory: Path | str, storage: str = 'mcap'):
        self.directory = Path(directory)
        self.storage = storage
        if storage not in STORAGES:
            raise BagError(f'storage: expected one of {", ".join(STORAGES)}; found {storage!r}')
        try:
            self.directory.mkdir(parents=True)
        except FileExistsError:
            raise BagError(f'{self.directory}: the bag directory exists; nothing is ever overwritten') from None
        except OSError as error:
            raise BagError(f'{self.directory}: the bag directory cannot be made: {error.strerror}') from None
        self.file_name = f'{self.directory.name}_0{STORAGES[storage]}'
        self._file: McapFile | SqliteFile
        path = self.directory / self.file_name
        self._file = McapFile(path) if storage == 'mcap' else SqliteFile(path)
        self._metadata = ReplacedFile(self.directory / 'metadata.yaml')
        self._topics: dict[int, TopicRecord] = {}
        self._schemas: dict[str, int] = {}
        self._sequences: dict[int, int] = {}
        self._topics_changed = True
        self.closed = False
        self._write_metadata()

    def add_topic(self, topic: Topic) -> int:
        """Add a topic and return the number by which its messages name it."""
        qos = qos_list(topic.qos)
        if isinstance(self._file, McapFile):
            if topic.type not in self._schemas:
                self._schemas[topic.type] = self._file.add_schema(topic.type, 'ros2msg', topic.definition)
            metadata = {'offered_qos_profiles': qos, 'topic_type_hash': topic.type_hash}
            identifier = self._file.add_channel(self._schemas[topic.type], topic.name, metadata)
        else:
            if topic.type not in self._schemas:
                self._schemas[topic.type] = self._file.add_schema(
                    topic.type, 'ros2msg', topic.definition, topic.type_hash
                )
            identifier = self._file.add_topic(topic.name, topic.type, qos, topic.type_hash)
        self._topics[identifier] = TopicRecord(topic.name, topic.type, topic.type_hash, topic.qos)
        self._sequences[identifier] = 0
        self._topics_changed = True
        return identifier

    def checkpoint(self, messages: Sequence[tuple[int, int, int, bytes]]) -> None:
        """Write messages, and make the bag on the disk complete.

        Args:
            messages: (topic number, log time, publish time, CDR), in the order in which they are to lie in the bag.

        Raises:
            OSError: The disk is full, or the like.
        """
        if not messages and not self._topics_changed:
            return
        if self._topics_changed:
            self._write_metadata()  # a topic is known to the metadata before the storage has it
        self._topics_changed = False
        self._file.stage([self._message(*message) for message in messages])
        self._metadata.stage(self._text())
        self._file.commit()
        self._metadata.commit()

    def close(self, custom: Mapping[str, str] | None = None, canonical: bool = False) -> None:
        """Finish the bag.

        Args:
            custom: Free text for the metadata.
            canonical: Give the storage file the form that depends on the messages alone (see `canonical.py`), so that
                equal runs give equal files. MCAP only, and not above 512 MiB: it takes its time.
        """
        if self.closed:
            return
        self.closed = True
        self._topics = dict(sorted(self._topics.items(), key=lambda item: (item[1].name, item[1].type)))
        text = self._text(custom)
        self._metadata.stage(text)
        self._file.close({'serialized_metadata': text})
        self._metadata.commit()
        if canonical and isinstance(self._file, McapFile) and self._file.data_size <= CANONICAL_LIMIT:
            from dyn_nodes.recording.canonical import rewrite

            rewrite(self._file.path)

    @property
    def message_count(self) -> int:
        """Messages written so far."""
        return self._file.message_count

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._file.data_size

    def counts(self) -> dict[str, int]:
        """Messages written so far, by topic."""
        return {topic.name: self._file.counts[number] for number, topic in self._topics.items()}

    def _message(self, topic: int, log_time: int, publish_time: int, data: bytes) -> Message:
        sequence = self._sequences[topic] = self._sequences[topic] + 1
        return Message(topic, sequence & 0xFFFFFFFF, log_time, publish_time, data)

    def _text(self, custom: Mapping[str, str] | None = None) -> str:
        counts = {topic: self._file.counts[number] for number, topic in self._topics.items()}
        file = self._file
        return metadata_text(self.storage, self.file_name, counts, file.start_time, file.end_time, custom)

    def _write_metadata(self) -> None:
        self._metadata.stage(self._text())
        self._metadata.commit()
