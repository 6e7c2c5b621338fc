"""Reading of untrusted text and YAML files: regular files of bounded size, UTF-8, no alias bombs.

Also atomic writing of files.
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
"""Maximum size of a YAML file, bytes."""
MOST_ENTRIES = 50_000
"""Maximum number of values of a YAML document after expansion of aliases."""
DEEPEST = 20
"""Maximum nesting depth of a YAML document."""
BLOCK = 2**20
"""Number of bytes read at a time."""
UNFINISHED = '.unfinished'
"""Suffix of a file that is being written."""


class TextFileError(UserError, ValueError):
    """A file that cannot be read as text, or a text that is not valid YAML within the limits.

    Attributes:
        line: 1-based line of the fault, 0 for the whole file.
        expected: expected content.
        found: found content.
    """

    def __init__(self, line: int, expected: str, found: str) -> None:
        super().__init__(f'{f"line {line}: " if line else ""}expected {expected}, found {found}')
        self.line, self.expected, self.found = line, expected, found


def read_bytes(path: Path | str, largest: int) -> bytes:
    """Return the content of a regular file of at most `largest` bytes.

    Raises:
        TextFileError: a missing, irregular, larger or unreadable file.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise TextFileError(0, 'a regular file', 'a directory' if path.is_dir() else 'something else')
        if size > largest:
            raise TextFileError(0, f'at most {largest} bytes', f'{size} bytes')
        with path.open('rb') as file:
            data = b''.join(_blocks(file, largest))  # files in /proc report size 0
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
    """Yield blocks of a file, up to slightly more than `largest` bytes in total."""
    count = 0
    while count <= largest and (block := file.read(BLOCK)):
        count += len(block)
        yield block


def read_text(path: Path | str, largest: int) -> str:
    """Return the UTF-8 text of a regular file of at most `largest` bytes.

    Raises:
        TextFileError: a missing, irregular, larger or unreadable file, or one that is not UTF-8.
    """
    data = read_bytes(path, largest)
    try:
        return data.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        line = data.count(b'\n', 0, error.start) + 1
        raise TextFileError(line, 'UTF-8 text', f'byte 0x{data[error.start]:02x}') from None


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that atomically replaces `path` when the block ends without an error.

    Links are not followed: a link at `path` is replaced, its target is unchanged.

    Raises:
        OSError: the file cannot be written.
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
    """Write a file atomically; links are not followed."""
    with replacing(path) as file:
        file.write(content)


def load_yaml(text: str, loader: Any = yaml.SafeLoader) -> Any:
    """Return the value of a YAML document like `yaml.load`, within the limits of this module.

    Args:
        text: at most `LARGEST_YAML` characters.
        loader: a safe loader class.

    Raises:
        TextFileError: malformed YAML, or more values or levels than the limits after expansion of aliases.
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
    """Return the fault of a text from an error of PyYAML."""
    mark = getattr(error, 'problem_mark', None) or getattr(error, 'context_mark', None)
    if mark is not None:
        problem = getattr(error, 'problem', None) or getattr(error, 'context', None) or 'a syntax error'
        return TextFileError(mark.line + 1, 'well-formed YAML', str(problem).removeprefix('found '))
    position = getattr(error, 'position', None)
    line = text.count('\n', 0, position) + 1 if isinstance(position, int) else 0
    return TextFileError(line, 'well-formed YAML', ' '.join(str(getattr(error, 'reason', None) or error).split()))


def _too_large() -> TextFileError:
    return TextFileError(0, f'at most {MOST_ENTRIES} values, nested at most {DEEPEST} deep, aliases expanded', 'more')


def _check_size(root: Any) -> None:
    """Count the nodes of a document with expanded aliases. Raises TextFileError beyond the limits."""
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
