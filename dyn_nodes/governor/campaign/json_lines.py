"""JSON Lines files that an interruption, or another program, may have damaged."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

LONGEST_LINE = 1_000_000
"""Bytes; a longer line is read as several lines that are not JSON."""
_BLOCK = 4096


def json_objects(path: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield the number of each line that is not empty, and its JSON object, or None if it is not one.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, 'no regular file', str(path))
    with path.open('rb') as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b''), 1):
            if line.strip():
                yield number, _object(line)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        return None
    return value if isinstance(value, dict) else None


def cut_last_line(path: Path) -> None:
    """Cut off an incomplete last line, as an interruption leaves it.

    Raises:
        OSError: the file cannot be read or written.
    """
    with path.open('rb+') as file:
        end = file.seek(0, 2)
        while end:
            start = max(end - _BLOCK, 0)
            file.seek(start)
            position = file.read(end - start).rfind(b'\n')
            if position >= 0:
                end = start + position + 1
                break
            end = start
        file.truncate(end)


def finite(value: object) -> float:
    """Return a number of a file.

    Raises:
        ValueError: not a number, or not finite.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        with suppress(OverflowError):
            if np.isfinite(number := float(value)):
                return number
    raise ValueError('a number that is not finite' if isinstance(value, (int, float)) else f'no number: {value!r:.40}')
