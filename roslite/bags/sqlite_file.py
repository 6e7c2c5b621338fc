"""rosbag2's SQLite storage (schema version 4), committed checkpoint by checkpoint."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from roslite.bags.metadata import ROS_DISTRO, VERSION
from roslite.bags.records import Message

_TABLES = """
CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE topics(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL,
  offered_qos_profiles TEXT NOT NULL, type_description_hash TEXT NOT NULL);
CREATE TABLE message_definitions(
  id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL, encoded_message_definition TEXT NOT NULL,
  type_description_hash TEXT NOT NULL);
CREATE TABLE messages(
  id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX timestamp_idx ON messages (timestamp ASC);
"""


class SqliteFile:
    """Writes one `.db3` file, with the interface of `McapFile`.

    Between commits no data reach the file (the page cache does not spill). Readers that ignore journals therefore see
    the last checkpoint. After a kill during a commit, SQLite restores the file from its journal.
    """

    def __init__(self, path: Path):
        if path.exists():
            raise FileExistsError(path)
        self.path = path
        self.counts: dict[int, int] = {}
        self.start_time: int | None = None
        self.end_time = 0
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.execute('PRAGMA synchronous=OFF')
        self._database.execute('PRAGMA cache_spill=OFF')
        self._database.execute('BEGIN')
        for statement in _TABLES.split(';'):
            if statement.strip():
                self._database.execute(statement)
        self._database.execute('INSERT INTO schema VALUES (4, ?)', (ROS_DISTRO,))
        self._database.execute('COMMIT')
        self._database.execute('BEGIN')
        self._schemas = 0

    def add_schema(self, name: str, encoding: str, data: str, type_hash: str) -> int:
        """Add a message definition and return its id."""
        self._schemas += 1
        row = (self._schemas, name, encoding, data, type_hash)
        self._database.execute('INSERT INTO message_definitions VALUES (?, ?, ?, ?, ?)', row)
        return self._schemas

    def add_topic(self, topic: str, msgtype: str, qos: str, type_hash: str) -> int:
        """Add a topic and return its id."""
        identifier = len(self.counts) + 1
        row = (identifier, topic, msgtype, 'cdr', qos, type_hash)
        self._database.execute('INSERT INTO topics VALUES (?, ?, ?, ?, ?, ?)', row)
        self.counts[identifier] = 0
        return identifier

    def stage(self, groups: Iterable[Sequence[Message]]) -> None:
        """Insert groups of messages."""
        for messages in groups:
            self._insert(messages)

    def _insert(self, messages: Sequence[Message]) -> None:
        rows = [(m.channel, m.log_time, m.data) for m in messages]
        self._database.executemany('INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)', rows)
        for message in messages:
            self.counts[message.channel] += 1
        if messages:
            times = [m.log_time for m in messages]
            self.start_time = min(times) if self.start_time is None else min(self.start_time, *times)
            self.end_time = max(self.end_time, *times)

    def commit(self) -> None:
        """Commit the transaction."""
        self._database.execute('COMMIT')
        self._database.execute('BEGIN')

    def close(self, metadata: Mapping[str, str] | None = None) -> None:
        """Commit and close, with the metadata text that rosbag2 also stores in the file."""
        text = (metadata or {}).get('serialized_metadata', '')
        self._database.execute('INSERT INTO metadata(metadata_version, metadata) VALUES (?, ?)', (VERSION, text))
        self._database.execute('COMMIT')
        self._database.close()

    @property
    def message_count(self) -> int:
        """Number of messages so far."""
        return sum(self.counts.values())

    @property
    def data_size(self) -> int:
        """Size of the file, bytes."""
        return self.path.stat().st_size
