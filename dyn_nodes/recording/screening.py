"""Checks of a bag before a reader is let at it: sizes, compression, tables, metadata.

A reader trusts the lengths and the structure of a file. A few hundred bytes can then claim terabytes, expand to them, or
make a table without an end. `screen_bag` reads what such a bag would have to lie about and refuses it; the messages
themselves are not looked at.
"""

from __future__ import annotations

import sqlite3
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from dyn_nodes.recording import records
from dyn_nodes.recording.bag import BagError
from dyn_nodes.textfile import LARGEST_YAML, TextFileError, load_yaml, read_text

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
TABLES = ('messages', 'topics', 'schema', 'metadata', 'message_definitions')
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
            _screen_sqlite(file)
        else:
            raise BagError(f'{file}: expected an .mcap or .db3 file')
    except (OSError, sqlite3.Error, struct.error, UnicodeDecodeError) as error:
        raise unreadable(file, error) from None


def unreadable(path: Path, error: BaseException) -> BagError:
    """Return the error of a bag that a reader has stumbled over, in one line."""
    text = ' '.join(str(error).split()) or type(error).__name__
    return BagError(f'{path}: the bag cannot be read: {printable(text)[:300]}')


def printable(text: str) -> str:
    """Return a text of a bag without what would move the cursor or change the colours of a terminal."""
    return ''.join(c if c.isprintable() else '\N{REPLACEMENT CHARACTER}' for c in text)


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
    mode = information.get('compression_mode') or 'none'
    if str(mode).lower() != 'none':
        raise BagError(
            f'{path}: compression_mode: expected none, found {printable(str(mode))[:40]} (MCAP compresses its chunks: '
            'ros2 bag convert)'
        )
    names = information.get('relative_file_paths')
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise BagError(f'{path}: relative_file_paths: expected a list of file names')
    suffix = STORAGES.get(str(information.get('storage_identifier')), '')
    for name in names:
        if not suffix or Path(name).name != name or Path(name).suffix != suffix or not name.isprintable():
            expected = suffix or ' or '.join(STORAGES.values())
            raise BagError(f'{path}: relative_file_paths: expected names of {expected} files, found {printable(name)!r}')
    if len(set(names)) != len(names):
        raise BagError(f'{path}: relative_file_paths: expected each file once')
    return [directory / name for name in names]


# --- MCAP -------------------------------------------------------------------------------------------------------------


def _screen_mcap(path: Path, file: BinaryIO) -> None:
    """Walk over the records: each ends inside the file, chunks expand to what they say, the index names each once."""
    size = file.seek(0, 2)
    spans: list[tuple[int, int, int]] = []
    starts: set[int] = set()
    indexed: set[int] = set()
    file.seek(len(records.MAGIC))
    for opcode, start, length in _walk(file, size):
        if opcode == records.CHUNK:
            starts.add(start - records.PREFIX_SIZE)
            spans.append(_screen_chunk(path, file, start, length))
        elif opcode == records.CHUNK_INDEX:
            (place,) = struct.unpack_from('<Q', _content(file, start + 16, 8))
            if place in indexed or place not in starts:
                raise BagError(f'{path}: the chunk index names {"a chunk twice" if place in indexed else "no chunk"}')
            indexed.add(place)
        elif opcode == records.STATISTICS:
            _screen_times(path, *struct.unpack('<QQ', _content(file, start + 26, 16)))
        elif length > LARGEST_CHUNK and opcode != records.PADDING:
            raise BagError(f'{path}: a record of {length} bytes, expected at most {LARGEST_CHUNK}')
    most = _most_at_once(spans)
    if most > MOST_AT_ONCE:
        raise BagError(f'{path}: chunks of {most} bytes cover one instant, expected at most {MOST_AT_ONCE}')


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


def _screen_chunk(path: Path, file: BinaryIO, start: int, length: int) -> tuple[int, int, int]:
    """Check a chunk; return its first and last log time and its expanded size."""
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
    _screen_times(path, begin if expanded else 0, end)
    return begin, end, expanded


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
                break
    except failures as error:
        raise unreadable(path, error) from None
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


def _most_at_once(spans: list[tuple[int, int, int]]) -> int:
    """Return the greatest sum of sizes of (begin, end, size) that overlap."""
    changes = sorted([(begin, 0, size) for begin, _, size in spans] + [(end, 1, -size) for _, end, size in spans])
    most = now = 0
    for _, _, change in changes:
        now += change
        most = max(most, now)
    return most


# --- SQLite -----------------------------------------------------------------------------------------------------------


def _screen_sqlite(path: Path) -> None:
    """Check that the tables of a bag are plain tables, and that each page of the file is used once."""
    database = sqlite3.connect(f'{path.resolve().as_uri()}?mode=ro&immutable=1', uri=True)
    try:
        database.execute('PRAGMA trusted_schema=OFF')
        kinds = dict(database.execute('SELECT name, type FROM sqlite_master').fetchmany(1000))
        for table in TABLES:
            if kinds.get(table, 'table' if table not in ('messages', 'topics') else '') != 'table':
                raise BagError(f'{path}: expected a table {table!r}, found {kinds.get(table, "none")}')
            hidden = [row[1] for row in database.execute(f'PRAGMA table_xinfo({table})') if row[6] != 0]
            virtual = [sql for (sql,) in database.execute(
                "SELECT sql FROM sqlite_master WHERE name = ? AND sql LIKE 'create virtual%'", (table,))]  # fmt: skip
            if hidden or virtual:
                raise BagError(f'{path}: table {table!r}: expected stored columns, found computed ones')
        (found,) = database.execute('PRAGMA quick_check(1)').fetchone()
        if found != 'ok':
            raise unreadable(path, ValueError(found))
        _screen_rows(path, database)
    finally:
        database.close()


def _screen_rows(path: Path, database: sqlite3.Connection) -> None:
    kinds = {kind for (kind,) in database.execute('SELECT DISTINCT typeof(timestamp) FROM messages')}
    if kinds - {'integer'}:
        raise BagError(f'{path}: messages.timestamp: expected integers, found {", ".join(sorted(kinds))}')
    (largest,) = database.execute('SELECT max(length(data)) FROM messages').fetchone()
    if largest is not None and largest > LARGEST_CHUNK:
        raise BagError(f'{path}: a message of {largest} bytes, expected at most {LARGEST_CHUNK}')
