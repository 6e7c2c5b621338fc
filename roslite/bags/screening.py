"""Checks of a bag before a reader is let at it: sizes, compression, tables, metadata.

A reader trusts the lengths and the structure of a file. A few hundred bytes can claim terabytes, expand to them, or
make a table without an end. `screen_bag` refuses such a bag; it does not look at the messages.
"""

from __future__ import annotations

import sqlite3
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from roslite.bags import records
from roslite.bags.bag import BagError
from roslite.printing import printable
from roslite.textfile import LARGEST_YAML, TextFileError, load_yaml, read_text

LARGEST_CHUNK = 256 * 1024 * 1024
"""Bytes of a chunk or of a message, expanded."""
LARGEST_RATIO = 400
"""Of expanded to compressed bytes, beyond `SMALL`; LZ4 reaches 255."""
SMALL = 1024 * 1024
MOST_AT_ONCE = 1024 * 1024 * 1024
"""Expanded bytes of the chunks that overlap at one instant: a reader in the order of time has them all in memory."""
LATEST = 2**63 - 1
"""Log times are signed numbers of 64 bits, ns."""
STORAGES = {'mcap': '.mcap', 'sqlite3': '.db3'}
COLUMNS = {
    'messages': {'id': 'integer', 'topic_id': 'integer', 'timestamp': 'integer', 'data': 'blob'},
    'topics': {
        'id': 'integer',
        'name': 'text',
        'type': 'text',
        'serialization_format': 'text',
        'offered_qos_profiles': 'text',
        'type_description_hash': 'text',
    },
    'schema': {'schema_version': 'integer', 'ros_distro': 'text'},
    'metadata': {'id': 'integer', 'metadata_version': 'integer', 'metadata': 'text'},
    'message_definitions': {
        'id': 'integer',
        'topic_type': 'text',
        'encoding': 'text',
        'encoded_message_definition': 'text',
        'type_description_hash': 'text',
    },
}
"""Storage classes of SQLite by table and column. SQLite stores any class in any column; readers rely on these."""
LARGEST_TEXT = 16 * 1024 * 1024
"""Bytes of a text of a table."""
_PIECE = 1024 * 1024


def screen_bag(path: Path) -> None:
    """Refuse a bag that would cost more memory or time than its size warrants.

    Args:
        path: a rosbag2 directory with its metadata, or one storage file.

    Raises:
        BagError: what is wrong, and in which file.
    """
    files = _files_of(path) if path.is_dir() else [path]
    for file in files:
        if not file.is_file():
            raise BagError(f'{file}: expected a regular file, found {"something else" if file.exists() else "nothing"}')
        screen_file(file)


def screen_file(file: Path) -> None:
    """Refuse a storage file, as `screen_bag` does. Raises BagError."""
    try:
        if file.suffix == '.mcap':
            with file.open('rb') as opened:
                _screen_mcap(file, opened)
        elif file.suffix == '.db3':
            screen_sqlite(file)
        else:
            raise BagError(f'{file}: expected an .mcap or .db3 file')
    except (OSError, sqlite3.Error, struct.error, UnicodeDecodeError) as error:
        raise unreadable(file, error) from None


def unreadable(path: Path, error: BaseException) -> BagError:
    """Return the error of a bag that a reader has stumbled over, in one line."""
    text = ' '.join(str(error).split()) or type(error).__name__
    return BagError(f'{path}: the bag cannot be read: {printable(text)[:300]}')


# --- metadata ---------------------------------------------------------------------------------------------------------


def _files_of(directory: Path) -> list[Path]:
    """Return the storage files that a bag's metadata names, all of them in its directory."""
    path = directory / 'metadata.yaml'
    try:
        content = load_yaml(read_text(path, LARGEST_YAML))
    except TextFileError as error:
        raise BagError(f'{path}: {printable(str(error))}') from None
    information = content.get('rosbag2_bagfile_information') if isinstance(content, dict) else None
    if not isinstance(information, dict):
        raise BagError(f'{path}: rosbag2_bagfile_information: expected a mapping, found none')
    mode = str(information.get('compression_mode') or 'none').lower()
    if mode not in ('none', 'message'):
        raise BagError(f'{path}: compression_mode: expected none or message, found {printable(mode)[:40]!r}')
    names = information.get('relative_file_paths')
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise BagError(f'{path}: relative_file_paths: expected a list of file names')
    suffix = STORAGES.get(str(information.get('storage_identifier')), '')
    for name in names:
        if not suffix or Path(name).name != name or Path(name).suffix != suffix or not name.isprintable():
            expected = suffix or ' or '.join(STORAGES.values())
            found = printable(name)[:100]
            raise BagError(f'{path}: relative_file_paths: expected names of {expected} files, found {found!r}')
    if len(set(names)) != len(names):
        raise BagError(f'{path}: relative_file_paths: expected each file once')
    return [directory / name for name in names]


# --- MCAP -------------------------------------------------------------------------------------------------------------


class ChunkSize(NamedTuple):
    """First and last log time, ns; bytes expanded and stored; name of the compression."""

    begin: int
    end: int
    expanded: int
    stored: int
    compression: str


def _screen_mcap(path: Path, file: BinaryIO) -> None:
    """Walk over the records: each ends inside the file, chunks expand to what they say, the index names each once.

    A reader goes straight to the summary that the footer points to: the walk must pass there, or the reader would see
    records that the walk has not seen.
    """
    size = file.seek(0, 2)
    summary, passed = _summary_start(file, size), False
    chunks: dict[int, ChunkSize] = {}
    indexed: set[int] = set()
    file.seek(len(records.MAGIC))
    for opcode, start, length in _walk(file, size):
        place = start - records.PREFIX_SIZE
        passed = passed or place == summary
        if length > LARGEST_CHUNK and (opcode != records.PADDING or passed):
            raise BagError(f'{path}: a record of {length} bytes, expected at most {LARGEST_CHUNK}')
        if opcode == records.CHUNK:
            chunks[place] = _screen_chunk(path, file, start, length)
        elif opcode == records.CHUNK_INDEX:
            _screen_index(path, _content(file, start, length), chunks, indexed)
        elif opcode == records.STATISTICS:
            _screen_times(path, *struct.unpack('<QQ', _content(file, start + 26, 16)))
    if summary and not passed:
        raise BagError(f'{path}: the footer points to {summary}, expected the beginning of the summary')
    most = _most_at_once(list(chunks.values()))
    if most > MOST_AT_ONCE:
        raise BagError(f'{path}: chunks of {most} bytes cover one instant, expected at most {MOST_AT_ONCE}')


def _summary_start(file: BinaryIO, size: int) -> int:
    tail = _content(file, max(size - len(records.footer(0)), 0), len(records.footer(0)))
    if tail[:1] != bytes([records.FOOTER]) or len(tail) < len(records.footer(0)):
        return 0
    return int(struct.unpack_from('<Q', tail, records.PREFIX_SIZE)[0])


def _screen_index(path: Path, content: bytes, chunks: dict[int, ChunkSize], indexed: set[int]) -> None:
    """Compare an entry of the chunk index with its chunk: readers believe the index."""
    begin, end, place, _, offsets = struct.unpack_from('<QQQQI', content)
    (length,) = struct.unpack_from('<I', content, 44 + offsets)
    compression = content[48 + offsets : 48 + offsets + length].decode()
    stored, expanded = struct.unpack_from('<QQ', content, 48 + offsets + length)
    if place in indexed or chunks.get(place) != ChunkSize(begin, end, expanded, stored, compression):
        raise BagError(f'{path}: the chunk index names {"a chunk twice" if place in indexed else "another chunk"}')
    indexed.add(place)


def _walk(file: BinaryIO, size: int) -> Iterator[tuple[int, int, int]]:
    """Yield opcode, start and length of the records' contents, up to the footer or the end of what is sound."""
    position = file.tell()
    while position + records.PREFIX_SIZE <= size:
        file.seek(position)
        opcode, length = struct.unpack('<BQ', file.read(records.PREFIX_SIZE))
        start = position + records.PREFIX_SIZE
        if opcode == 0 or start + length > size:
            return
        yield opcode, start, length
        if opcode == records.FOOTER:
            return
        position = start + length


def _content(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length)


def _screen_times(path: Path, *times: int) -> None:
    if max(times) > LATEST:
        raise BagError(f'{path}: log time: expected at most {LATEST} ns, found {max(times)}')


def _screen_chunk(path: Path, file: BinaryIO, start: int, length: int) -> ChunkSize:
    """Check that a chunk expands to what it claims."""
    begin, end, expanded, _, name_length = struct.unpack('<QQQII', _content(file, start, 32))
    if name_length > 16:
        raise BagError(f'{path}: chunk compression: expected none, lz4 or zstd')
    compression = _content(file, start + 32, name_length).decode()
    (stored,) = struct.unpack('<Q', _content(file, start + 32 + name_length, 8))
    if stored != length - 40 - name_length:
        raise BagError(f'{path}: a chunk of {length} bytes claims {stored} bytes of records')
    if expanded > LARGEST_CHUNK or expanded > SMALL + LARGEST_RATIO * stored:
        raise BagError(f'{path}: a chunk of {stored} bytes would expand to {expanded}')
    found = stored
    if compression:
        found = _expanded_size(path, file, stored, compression, expanded)
    if found != expanded:
        raise BagError(f'{path}: a chunk claims {expanded} bytes, found {"more" if found > expanded else found}')
    _screen_times(path, begin, end)
    return ChunkSize(begin, end, expanded, stored, compression)


def _expanded_size(path: Path, file: BinaryIO, stored: int, compression: str, most: int) -> int:
    """Expand the bytes at the file's position in pieces and forget them; return their number, or one above `most`."""
    expand, failures = _decompressor(path, compression)
    found = 0
    left = stored
    try:
        while left > 0 and found <= most:
            data = file.read(min(left, _PIECE))
            if not data:
                break
            left -= len(data)
            while True:
                piece = expand.decompress(data, _PIECE)
                found += len(piece)
                if expand.eof or found > most or (expand.needs_input and not piece):
                    break
                data = b''
            if expand.eof:
                left += len(expand.unused_data or b'')
                break
    except failures as error:
        raise unreadable(path, error) from None
    if left > 0 and found <= most:
        raise BagError(f'{path}: a chunk has {left} bytes behind its compressed data')
    return min(found, most + 1)


def _decompressor(path: Path, compression: str) -> tuple[Any, tuple[type[BaseException], ...]]:
    if compression == 'lz4':
        import lz4.frame

        return lz4.frame.LZ4FrameDecompressor(), (RuntimeError, EOFError)
    if compression == 'zstd':
        zstd = _zstd()
        return zstd.ZstdDecompressor(), (zstd.ZstdError, EOFError)
    raise BagError(f'{path}: chunk compression: expected none, lz4 or zstd, found {printable(compression)!r}')


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def expand(data: bytes, compression: str, most: int, path: Path) -> bytes:
    """Return a chunk's records.

    Args:
        data: of the file.
        compression: '', `lz4` or `zstd`.
        most: bytes that are expected.
        path: for errors.

    Raises:
        BagError: another compression, damaged data or more bytes than `most`.
    """
    if not compression:
        return data
    decompressor, failures = _decompressor(path, compression)
    try:
        whole = bytes(decompressor.decompress(data, most + 1))
    except failures as error:
        raise unreadable(path, error) from None
    if len(whole) > most:
        raise BagError(f'{path}: a chunk claims {most} bytes, found more')
    return whole


def _most_at_once(chunks: list[ChunkSize]) -> int:
    """Return the greatest sum of expanded sizes of chunks that overlap in time."""
    changes = [(chunk.begin, 0, chunk.expanded) for chunk in chunks]
    changes += [(max(chunk.begin, chunk.end), 1, -chunk.expanded) for chunk in chunks]
    changes.sort()
    most = now = 0
    for _, _, change in changes:
        now += change
        most = max(most, now)
    return most


# --- SQLite -----------------------------------------------------------------------------------------------------------


def screen_sqlite(path: Path, immutable: bool = True) -> None:
    """Check that the tables of a bag are plain tables, and that each page of the file is used once.

    Args:
        path: the file.
        immutable: as rosbags reads it, without its journal.

    Raises:
        BagError: they are not.
        sqlite3.Error: the file can't be read.
    """
    options = 'mode=ro&immutable=1' if immutable else 'mode=ro'
    database = sqlite3.connect(f'{path.resolve().as_uri()}?{options}', uri=True)
    try:
        database.execute('PRAGMA trusted_schema=OFF')
        kinds = dict(database.execute('SELECT name, type FROM sqlite_master').fetchmany(1000))
        for table in COLUMNS:
            if kinds.get(table, 'table' if table not in ('messages', 'topics') else '') != 'table':
                raise BagError(f'{path}: expected a table {table!r}, found {kinds.get(table, "none")}')
            hidden = [row[1] for row in database.execute(f'PRAGMA table_xinfo({table})') if row[6] != 0]
            virtual = [sql for (sql,) in database.execute(
                "SELECT sql FROM sqlite_master WHERE name = ? AND sql LIKE 'create virtual%'", (table,))]  # fmt: skip
            if hidden or virtual:
                raise BagError(f'{path}: table {table!r}: expected stored columns, found computed ones')
        (found,) = database.execute('PRAGMA integrity_check(1)').fetchone()
        if found != 'ok':
            raise unreadable(path, ValueError(found))
        _screen_rows(path, database)
    finally:
        database.close()


def _screen_column(path: Path, database: sqlite3.Connection, table: str, column: str, kind: str) -> None:
    """Refuse values of another storage class, and texts without a bound; the values are not read."""
    kinds = {own for (own,) in database.execute(f'SELECT DISTINCT typeof({column}) FROM {table}')}
    if kinds - {kind}:
        found = ', '.join(sorted(kinds - {kind}))
        expected = {'integer': 'integers', 'text': 'texts', 'blob': 'bytes'}[kind]
        raise BagError(f'{path}: {table}.{column}: expected {expected}, found {found}')
    if kind == 'text':
        (largest,) = database.execute(f'SELECT max(length(CAST({column} AS BLOB))) FROM {table}').fetchone()
        if largest is not None and largest > LARGEST_TEXT:
            raise BagError(f'{path}: {table}.{column}: expected at most {LARGEST_TEXT} bytes, found {largest}')


def _screen_rows(path: Path, database: sqlite3.Connection) -> None:
    for table, columns in COLUMNS.items():
        there = [row[1] for row in database.execute(f'PRAGMA table_info({table})')]
        for column, kind in columns.items():
            if column in there:
                _screen_column(path, database, table, column, kind)
    (lost,) = database.execute(
        'SELECT count(*) FROM messages WHERE topic_id NOT IN (SELECT id FROM topics)').fetchone()  # fmt: skip
    if lost:
        raise BagError(f'{path}: messages.topic_id: expected the topics of the bag, found {lost} messages of others')
    (twice,) = database.execute('SELECT count(id) - count(DISTINCT id) FROM topics').fetchone()
    if twice:
        raise BagError(f'{path}: topics.id: expected each number once, found {twice} again')
    (earliest,) = database.execute('SELECT min(timestamp) FROM messages').fetchone()
    if earliest is not None and earliest < 0:
        raise BagError(f'{path}: log time: expected 0 to {LATEST} ns, found {earliest}')
    (largest,) = database.execute('SELECT max(length(data)) FROM messages').fetchone()
    if largest is not None and largest > LARGEST_CHUNK:
        raise BagError(f'{path}: a message of {largest} bytes, expected at most {LARGEST_CHUNK}')
