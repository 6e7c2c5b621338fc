"""Checks of a bag before reading: sizes, compression, tables, metadata.

Readers trust lengths and structure of a file. A few hundred bytes can claim terabytes, expand to terabytes, or define a
table without end. `screen_bag` rejects such bags; it does not check messages.
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
"""Maximum size of a chunk or message after decompression, bytes."""
LARGEST_RATIO = 400
"""Maximum compression ratio beyond `SMALL`; LZ4 reaches 255."""
SMALL = 1024 * 1024
"""Decompressed size for which the compression ratio is not limited, bytes."""
MOST_AT_ONCE = 1024 * 1024 * 1024
"""Maximum decompressed size of chunks that overlap in time, which a reader in order of time holds in memory, bytes."""
LATEST = 2**63 - 1
"""Maximum log time: signed 64 bits, ns."""
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
"""Required storage classes by table and column. SQLite accepts any class in any column; readers rely on these."""
LARGEST_TEXT = 16 * 1024 * 1024
"""Maximum size of a text in a table, bytes."""
_PIECE = 1024 * 1024


def screen_bag(path: Path) -> None:
    """Reject a bag that would need too much memory or time for its size.

    Args:
        path: rosbag2 directory with its metadata, or one storage file.

    Raises:
        BagError: with the file and the fault.
    """
    files = _files_of(path) if path.is_dir() else [path]
    for file in files:
        if not file.is_file():
            raise BagError(f'{file}: expected a regular file, found {"something else" if file.exists() else "nothing"}')
        screen_file(file)


def screen_file(file: Path) -> None:
    """Check a storage file as in `screen_bag`. Raises BagError."""
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
    """Return the error of a reader as a BagError with one line."""
    text = ' '.join(str(error).split()) or type(error).__name__
    return BagError(f'{path}: the bag cannot be read: {printable(text)[:300]}')


# --- metadata ---------------------------------------------------------------------------------------------------------


def _files_of(directory: Path) -> list[Path]:
    """Return the storage files in a bag's metadata; all must be in its directory. Raises BagError."""
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
            shown_name = printable(name)[:100]
            raise BagError(f'{path}: relative_file_paths: expected names of {expected} files, found {shown_name!r}')
    if len(set(names)) != len(names):
        raise BagError(f'{path}: relative_file_paths: expected each file once')
    return [directory / name for name in names]


# --- MCAP -------------------------------------------------------------------------------------------------------------


class ChunkSize(NamedTuple):
    """First and last log time, ns; decompressed and stored bytes; name of the compression."""

    start: int
    end: int
    expanded: int
    stored: int
    compression: str


def _screen_mcap(path: Path, file: BinaryIO) -> None:
    """Check that records end inside the file, chunks expand to their declared size, and the index has each chunk once.

    A reader starts at the summary referenced by the footer: the check must pass its start, or the reader would see
    unchecked records.
    """
    size = file.seek(0, 2)
    summary, passed = _summary_start(file, size), False
    chunks: dict[int, ChunkSize] = {}
    indexed: set[int] = set()
    file.seek(len(records.MAGIC))
    for opcode, start, length in _walk(file, size):
        offset = start - records.PREFIX_SIZE
        passed = passed or offset == summary
        if length > LARGEST_CHUNK and (opcode != records.PADDING or passed):
            raise BagError(f'{path}: a record of {length} bytes, expected at most {LARGEST_CHUNK}')
        if opcode == records.CHUNK:
            chunks[offset] = _screen_chunk(path, file, start, length)
        elif opcode == records.CHUNK_INDEX:
            _screen_index(path, _content(file, start, length), chunks, indexed)
        elif opcode == records.STATISTICS:
            _screen_times(path, *struct.unpack('<QQ', _content(file, start + 26, 16)))
    if summary and not passed:
        raise BagError(f'{path}: the footer points to {summary}, expected the start of the summary')
    most = _most_at_once(list(chunks.values()))
    if most > MOST_AT_ONCE:
        raise BagError(f'{path}: chunks of {most} bytes cover one instant, expected at most {MOST_AT_ONCE}')


def _summary_start(file: BinaryIO, size: int) -> int:
    tail = _content(file, max(size - len(records.footer(0)), 0), len(records.footer(0)))
    if tail[:1] != bytes([records.FOOTER]) or len(tail) < len(records.footer(0)):
        return 0
    return int(struct.unpack_from('<Q', tail, records.PREFIX_SIZE)[0])


def _screen_index(path: Path, content: bytes, chunks: dict[int, ChunkSize], indexed: set[int]) -> None:
    """Check that an entry of the chunk index matches its chunk: readers trust the index."""
    start, end, offset, _, offsets = struct.unpack_from('<QQQQI', content)
    (length,) = struct.unpack_from('<I', content, 44 + offsets)
    compression = content[48 + offsets : 48 + offsets + length].decode()
    stored, expanded = struct.unpack_from('<QQ', content, 48 + offsets + length)
    if offset in indexed or chunks.get(offset) != ChunkSize(start, end, expanded, stored, compression):
        raise BagError(f'{path}: the chunk index names {"a chunk twice" if offset in indexed else "another chunk"}')
    indexed.add(offset)


def _walk(file: BinaryIO, size: int) -> Iterator[tuple[int, int, int]]:
    """Yield opcode, start and length of the content of records, up to the footer or the end of the valid part."""
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
    """Check that a chunk expands to its declared size; return its sizes and times."""
    first, end, expanded, _, name_length = struct.unpack('<QQQII', _content(file, start, 32))
    if name_length > 16:
        raise BagError(f'{path}: chunk compression: expected none, lz4 or zstd')
    compression = _content(file, start + 32, name_length).decode()
    (stored,) = struct.unpack('<Q', _content(file, start + 32 + name_length, 8))
    if stored != length - 40 - name_length:
        raise BagError(f'{path}: a chunk of {length} bytes claims {stored} bytes of records')
    if expanded > LARGEST_CHUNK or expanded > SMALL + LARGEST_RATIO * stored:
        raise BagError(f'{path}: a chunk of {stored} bytes would expand to {expanded}')
    actual = stored
    if compression:
        actual = _expanded_size(path, file, stored, compression, expanded)
    if actual != expanded:
        raise BagError(f'{path}: a chunk claims {expanded} bytes, found {"more" if actual > expanded else actual}')
    _screen_times(path, first, end)
    return ChunkSize(first, end, expanded, stored, compression)


def _expanded_size(path: Path, file: BinaryIO, stored: int, compression: str, most: int) -> int:
    """Return the decompressed size of the bytes at the file's position, at most `most` + 1; the data are discarded."""
    expand, failures = _decompressor(path, compression)
    size = 0
    left = stored
    try:
        while left > 0 and size <= most:
            data = file.read(min(left, _PIECE))
            if not data:
                break
            left -= len(data)
            while True:
                piece = expand.decompress(data, _PIECE)
                size += len(piece)
                if expand.eof or size > most or (expand.needs_input and not piece):
                    break
                data = b''
            if expand.eof:
                left += len(expand.unused_data or b'')
                break
    except failures as error:
        raise unreadable(path, error) from None
    if left > 0 and size <= most:
        raise BagError(f'{path}: a chunk has {left} bytes after its compressed data')
    return min(size, most + 1)


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
    """Return the records of a chunk.

    Args:
        data: stored bytes.
        compression: '', `lz4` or `zstd`.
        most: expected number of bytes.
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
    """Return the maximum total decompressed size of chunks that overlap in time."""
    changes = [(chunk.start, 0, chunk.expanded) for chunk in chunks]
    changes += [(max(chunk.start, chunk.end), 1, -chunk.expanded) for chunk in chunks]
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
        immutable: read without the journal, like rosbags.

    Raises:
        BagError: a check fails.
        sqlite3.Error: the file cannot be read.
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
        (answer,) = database.execute('PRAGMA integrity_check(1)').fetchone()
        if answer != 'ok':
            raise unreadable(path, ValueError(answer))
        _screen_rows(path, database)
    finally:
        database.close()


def _screen_column(path: Path, database: sqlite3.Connection, table: str, column: str, kind: str) -> None:
    """Check the storage class of values and the length of texts, without reading the values. Raises BagError."""
    kinds = {storage_class for (storage_class,) in database.execute(f'SELECT DISTINCT typeof({column}) FROM {table}')}
    if kinds - {kind}:
        others = ', '.join(sorted(kinds - {kind}))
        expected = {'integer': 'integers', 'text': 'texts', 'blob': 'bytes'}[kind]
        raise BagError(f'{path}: {table}.{column}: expected {expected}, found {others}')
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
        raise BagError(
            f'{path}: messages.topic_id: expected the topics of the bag, found {lost} messages of other topics'
        )
    (twice,) = database.execute('SELECT count(id) - count(DISTINCT id) FROM topics').fetchone()
    if twice:
        raise BagError(f'{path}: topics.id: expected each number once, found {twice} again')
    (earliest,) = database.execute('SELECT min(timestamp) FROM messages').fetchone()
    if earliest is not None and earliest < 0:
        raise BagError(f'{path}: log time: expected 0 to {LATEST} ns, found {earliest}')
    (largest,) = database.execute('SELECT max(length(data)) FROM messages').fetchone()
    if largest is not None and largest > LARGEST_CHUNK:
        raise BagError(f'{path}: a message of {largest} bytes, expected at most {LARGEST_CHUNK}')
