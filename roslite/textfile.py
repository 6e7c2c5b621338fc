"""Text and YAML of files that anybody may have written: regular files of bounded size, UTF-8, no alias bombs.

Also files that are written as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from roslite.errors import UserError

LARGEST_YAML = 1_000_000
"""Bytes of a YAML file."""
MOST_ENTRIES = 50_000
"""Values of a YAML document after the expansion of its aliases."""
DEEPEST = 20
"""Levels of a YAML document's nesting."""
BLOCK = 2**20
"""Bytes that are read at once."""
UNFINISHED = '.unfinished'
"""Suffix of a file that is being written."""


class TextFileError(UserError, ValueError):
    """A file can't be read as text, or a text is no YAML that is accepted here.

    Attributes:
        line: 1-based, 0 where the fault belongs to the whole.
        expected, found: for the message.
    """

    def __init__(self, line: int, expected: str, found: str) -> None:
        super().__init__(f'{f"line {line}: " if line else ""}expected {expected}, found {found}')
        self.line, self.expected, self.found = line, expected, found


def read_bytes(path: Path | str, largest: int) -> bytes:
    """Return the content of a regular file of at most `largest` bytes.

    Raises:
        TextFileError: it is missing, no regular file, larger or unreadable.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise TextFileError(0, 'a regular file', 'a directory' if path.is_dir() else 'something else')
        if size > largest:
            raise TextFileError(0, f'at most {largest} bytes', f'{size} bytes')
        with path.open('rb') as file:
            data = b''.join(_blocks(file, largest))  # files such as those of /proc say that they are empty
    except FileNotFoundError:
        raise TextFileError(0, 'a file that exists', 'none') from None
    except TextFileError:
        raise
    except (OSError, ValueError) as error:
        raise TextFileError(0, 'a file that can be read', str(getattr(error, 'strerror', None) or error)) from None
    if len(data) > largest:
        raise TextFileError(0, f'at most {largest} bytes', 'more')
    return data


def _blocks(file: BinaryIO, largest: int) -> Iterator[bytes]:
    """Yield what a file holds, up to a little more than `largest` bytes; memory grows with what is read."""
    count = 0
    while count <= largest and (block := file.read(BLOCK)):
        count += len(block)
        yield block


def read_text(path: Path | str, largest: int) -> str:
    """Return the UTF-8 text of a regular file of at most `largest` bytes.

    Raises:
        TextFileError: it is missing, no regular file, larger, unreadable or other than UTF-8.
    """
    data = read_bytes(path, largest)
    try:
        return data.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        line = data.count(b'\n', 0, error.start) + 1
        raise TextFileError(line, 'UTF-8 text', f'byte 0x{data[error.start]:02x}') from None


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `path` as a whole when the block ends without an error.

    Links are not followed: a link at `path` is replaced, and its target keeps its content.

    Raises:
        OSError: it cannot be written.
    """
    unfinished = path.with_name(path.name + UNFINISHED)
    unfinished.unlink(missing_ok=True)
    try:
        with unfinished.open('xb') as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that at any moment it is there as a whole or not at all; links are not followed."""
    with replacing(path) as file:
        file.write(content)


def load_yaml(text: str, loader: Any = yaml.SafeLoader) -> Any:
    """Return the value of a YAML document, as `yaml.load` does, within the limits of this module.

    Args:
        text: at most `LARGEST_YAML` characters.
        loader: a safe loader class.

    Raises:
        TextFileError: no well-formed YAML; more values or levels than the limits, aliases expanded.
    """
    if len(text) > LARGEST_YAML:
        raise TextFileError(0, f'at most {LARGEST_YAML} characters', str(len(text)))
    try:
        made = loader(text)
        try:
            node = made.get_single_node()
            if node is None:
                return None
            _check_size(node)
            return made.construct_document(node)
        finally:
            made.dispose()
    except RecursionError:
        raise _too_large() from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        if isinstance(error, TextFileError):
            raise
        raise yaml_fault(error, text) from None


def yaml_fault(error: Exception, text: str) -> TextFileError:
    """Return the fault of a text that PyYAML refused with an error."""
    mark = getattr(error, 'problem_mark', None) or getattr(error, 'context_mark', None)
    if mark is not None:
        found = getattr(error, 'problem', None) or getattr(error, 'context', None) or 'a syntax error'
        return TextFileError(mark.line + 1, 'well-formed YAML', str(found).removeprefix('found '))
    position = getattr(error, 'position', None)
    line = text.count('\n', 0, position) + 1 if isinstance(position, int) else 0
    return TextFileError(line, 'well-formed YAML', ' '.join(str(getattr(error, 'reason', None) or error).split()))


def _too_large() -> TextFileError:
    return TextFileError(0, f'at most {MOST_ENTRIES} values, nested at most {DEEPEST} deep, aliases expanded', 'more')


def _check_size(root: Any) -> None:
    """Walk a document's nodes as if its aliases were written out. Raises TextFileError beyond the limits."""
    count, waiting = 0, [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if count > MOST_ENTRIES or depth > DEEPEST:
            raise _too_large()
        if isinstance(node, yaml.SequenceNode):
            waiting += [(item, depth + 1) for item in node.value]
        elif isinstance(node, yaml.MappingNode):
            waiting += [(item, depth + 1) for pair in node.value for item in pair]
        if len(waiting) > MOST_ENTRIES:
            raise _too_large()
