"""Bags of some kilobytes that would expand to gigabytes, never end, or lead to other files."""

from __future__ import annotations

import os
import random
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import yaml

from roslite.bags import records
from roslite.bags.screening import _zstd

HUGE = 2 * 1024**3


def storage_of(name: str) -> str:
    """Return the storage of a bag from which a bomb is made."""
    return 'sqlite3' if name.startswith('sqlite') else 'mcap'


def _storage(bag: Path) -> Path:
    return next(path for path in bag.iterdir() if path.suffix in ('.mcap', '.db3'))


def _metadata(bag: Path, **changes: object) -> None:
    path = bag / 'metadata.yaml'
    content = yaml.safe_load(path.read_text())
    content['rosbag2_bagfile_information'].update(changes)
    path.write_text(yaml.safe_dump(content))


def _mcap(bag: Path, chunks: list[tuple[int, int, int, str, bytes]], repeat: int = 1, sizes: int = 0) -> None:
    """Write an MCAP file of chunks (begin, end, expanded size, compression, bytes), `repeat` times in the index."""
    data = bytearray(records.MAGIC + records.header('ros2', 'bomb'))
    index = b''
    for start, end, expanded, compression, stored in chunks:
        offset = len(data)
        data += records.record(
            records.CHUNK, struct.pack('<QQQI', start, end, expanded, 0), records.string(compression),
            struct.pack('<Q', len(stored)), stored,
        )  # fmt: skip
        entry = struct.pack('<QQQQI', start, end, offset, len(data) - offset, 10) + struct.pack('<HQ', 1, len(data))
        entry += (
            struct.pack('<Q', 31) + records.string(compression) + struct.pack('<QQ', len(stored), sizes or expanded)
        )
        index += records.record(records.CHUNK_INDEX, entry) * repeat
    definitions = records.schema(1, 'std_msgs/msg/Float64', 'ros2msg', 'float64 data')
    definitions += records.channel(1, 1, '/odom', 'cdr', {})
    data += records.data_end()
    groups = ((records.SCHEMA, definitions), (records.STATISTICS, records.statistics({1: 1}, 1, len(chunks), 0, 1)))
    data += records.summary((*groups, (records.CHUNK_INDEX, index)), len(data))
    _storage(bag).write_bytes(data)


def _zeros(compression: str, size: int) -> bytes:
    if compression == 'lz4':
        return bytes(lz4.frame.compress(bytes(size)))
    compressor, parts = _zstd().ZstdCompressor(), []
    for _ in range(size // 2**24):
        parts.append(compressor.compress(bytes(2**24)))
    return b''.join([*parts, compressor.flush()])


def _compressed(compression: str, claimed: int) -> Callable[[Path], None]:
    def make(bag: Path) -> None:
        size = HUGE if compression == 'zstd' else HUGE // 8
        _mcap(bag, [(0, 1, claimed or size, compression, _zeros(compression, size))])

    return make


def _index_lies(bag: Path) -> None:
    _mcap(bag, [(0, 1, 4096, 'zstd', _zeros('zstd', HUGE))], sizes=HUGE)


def _index_repeats(bag: Path) -> None:
    _mcap(bag, [(0, 1, 2**18, '', bytes(2**18))], repeat=10_000)


def _overlap(bag: Path) -> None:
    """Return chunks of plausible ratio that must all be in memory at once."""
    size, noise = 2**26, os.urandom(200_000)
    compressor = _zstd().ZstdCompressor()
    stored = compressor.compress(bytes(size)) + compressor.compress(noise) + compressor.flush()
    _mcap(bag, [(0, 2**60, size + len(noise), 'zstd', stored)] * 17)


def _second_frame(bag: Path) -> None:
    """Return a frame of the claimed size, followed by a bomb."""
    _mcap(bag, [(0, 1, 4096, 'zstd', _zstd().compress(bytes(4096)) + _zeros('zstd', HUGE))])


def _length(number: int) -> Callable[[Path], None]:
    def make(bag: Path) -> None:
        path = _storage(bag)
        data = bytearray(path.read_bytes())
        offset = data.index(bytes([records.CHUNK]), len(records.MAGIC) + 30)
        struct.pack_into('<Q', data, offset + 1, number)
        path.write_bytes(data)

    return make


def _sparse(bag: Path) -> None:
    """Return a record of a terabyte in a file with a hole of that size."""
    with _storage(bag).open('r+b') as file:
        file.truncate(0)
        file.write(records.MAGIC + records.header('ros2', 'bomb') + records.prefix(records.METADATA, 2**40))
        file.seek(2**40, 1)
        file.write(records.footer(0))


def _late(bag: Path) -> None:
    content = records.record(records.MESSAGE, struct.pack('<HIQQ', 1, 0, 2**64 - 1, 0), b'\0\1\0\0' + bytes(8))
    _mcap(bag, [(2**64 - 1, 2**64 - 1, len(content), '', content)])


def _sql(*statements: str) -> Callable[[Path], None]:
    def make(bag: Path) -> None:
        with sqlite3.connect(_storage(bag)) as database:
            for statement in statements:
                database.execute(statement)
        database.close()

    return make


def _copied(table: str) -> tuple[str, ...]:
    """Return the statements that allow any value in any column of a table, also NULL."""
    return (f'CREATE TABLE copied AS SELECT * FROM {table}', f'DROP TABLE {table}',
            f'ALTER TABLE copied RENAME TO {table}')  # fmt: skip


ENDLESS = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT'
VALUES = ('NULL', '0', '-1', '20000000000', '9223372036854775807', '1.5', '1e308', "''", "'abc'", "x''", "x'00'",
          "x'00010000'", 'zeroblob(100000)', "'a' || char(10) || 'b'", "char(27) || '[2J'")  # fmt: skip


def damage_values(bag: Path, rng: random.Random) -> None:
    """Put values of any storage class into columns of the tables of a sqlite3 bag."""
    with sqlite3.connect(_storage(bag)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for _ in range(rng.choice((1, 1, 2))):
            table = rng.choice(['messages', 'messages', 'topics', *tables])
            columns = [row[1] for row in database.execute(f'PRAGMA table_info({table})')]
            for statement in _copied(table):
                database.execute(statement)
            rows = rng.choice(('1', f'rowid % 7 = {rng.randrange(7)}', f'rowid = {rng.randrange(1, 30)}'))
            database.execute(f'UPDATE {table} SET {rng.choice(columns)} = {rng.choice(VALUES)} WHERE {rows}')
    database.close()


COLUMNS = 'id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER'


def _meta(**changes: object) -> Callable[[Path], None]:
    return lambda bag: _metadata(bag, **changes)


def _text(text: str) -> Callable[[Path], None]:
    def make(bag: Path) -> None:
        (bag / 'metadata.yaml').write_text(text)

    return make


def _replaced(make_instead: Callable[[Path], object]) -> Callable[[Path], None]:
    def make(bag: Path) -> None:
        path = _storage(bag)
        path.unlink()
        make_instead(path)

    return make


def _no_metadata(bag: Path) -> None:
    (bag / 'metadata.yaml').unlink()


def _message_bomb(bag: Path) -> None:
    _metadata(bag, compression_mode='message', compression_format='zstd')
    packed = _zeros('zstd', HUGE)
    content = records.record(records.MESSAGE, struct.pack('<HIQQ', 1, 0, 0, 0), packed)
    _mcap(bag, [(0, 1, len(content), '', content)])
    topic = {'name': '/odom', 'type': 'std_msgs/msg/Float64', 'serialization_format': 'cdr', 'offered_qos_profiles': []}
    _metadata(bag, topics_with_message_count=[{'topic_metadata': topic, 'message_count': 1}])


ALIASES = 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n' + ''.join(
    f'a{k}: &a{k} [{", ".join([f"*a{k - 1}"] * 10)}]\n' for k in range(1, 12)
)
BOMBS: dict[str, Callable[[Path], Path | None]] = {
    'zstd that lies': _compressed('zstd', 4096),
    'zstd that is honest': _compressed('zstd', 0),
    'lz4 that lies': _compressed('lz4', 4096),
    'lz4 that is honest': _compressed('lz4', 0),
    'message of zstd': _message_bomb,
    'zstd of two frames': _second_frame,
    'index that lies': _index_lies,
    'index that repeats': _index_repeats,
    'chunks that overlap': _overlap,
    'length of 2^63': _length(2**63),
    'length of 2^64 - 1': _length(2**64 - 1),
    'length of 2^39': _length(2**39),
    'terabyte with a hole': _sparse,
    'log time of 2^64 - 1': _late,
    'sqlite view without an end': _sql(
        'ALTER TABLE messages RENAME TO old', f'CREATE VIEW messages AS {ENDLESS} x AS id, 1 AS topic_id,'
        " x AS timestamp, x'00010000' AS data FROM n"),
    'sqlite column of a gigabyte': _sql(
        'DROP TABLE messages', f'CREATE TABLE messages({COLUMNS}, data BLOB AS (zeroblob(900000000)))',
        'INSERT INTO messages(topic_id, timestamp) VALUES (1, 1), (1, 2), (1, 3), (1, 4)'),
    'sqlite times that are text': _sql("UPDATE messages SET timestamp = 'soon'"),
    'sqlite data of 20 gigabytes': _sql('UPDATE messages SET data = 20000000000'),
    'sqlite data that are text': _sql("UPDATE messages SET data = 'abc' WHERE id % 7 = 3"),
    'sqlite data that are a number': _sql('UPDATE messages SET data = 1.5 WHERE id = 20'),
    'sqlite data that are null': _sql(*_copied('messages'), 'UPDATE messages SET data = NULL WHERE id = 20'),
    'sqlite messages of no topic': _sql('UPDATE messages SET topic_id = 1000 WHERE id % 2 = 0'),
    'sqlite topics twice': _sql(*_copied('topics'), 'INSERT INTO topics SELECT * FROM topics'),
    'sqlite times that are negative': _sql('UPDATE messages SET timestamp = -timestamp - 1'),
    'sqlite names that are none': _sql('DROP TABLE topics', 'CREATE TABLE topics(id, name, type, serialization_format,'
        ' offered_qos_profiles, type_description_hash)', "INSERT INTO topics VALUES (1, x'00', 5, NULL, '', '')"),
    'no metadata': _no_metadata,
    'metadata with an alias bomb': _text(ALIASES),
    'metadata within itself': _text('rosbag2_bagfile_information: &a\n  relative_file_paths: *a\n'),
    'metadata that is a list': _text('[1, 2]'),
    'metadata of nothing': _text(''),
    'path outside': _meta(relative_file_paths=['../../../etc/passwd']),
    'absolute path': _meta(relative_file_paths=['/dev/zero']),
    'path of a parent': _meta(relative_file_paths=['..']),
    'file named twice': lambda bag: _metadata(bag, relative_file_paths=[_storage(bag).name] * 1000),
    'pipe': _replaced(os.mkfifo),
    'endless device': _replaced(lambda path: path.symlink_to('/dev/zero')),
    'directory': _replaced(Path.mkdir),
    'dead link': _replaced(lambda path: path.symlink_to('nowhere')),
}  # fmt: skip
"""By name: each changes a good bag; returns a path if another bag is to be read."""
