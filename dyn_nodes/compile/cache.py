"""What makes a compiled module stale, and which ones are kept."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
KEPT_MODULES = 500
"""Generated modules kept in the cache; the least recently used beyond this number are deleted."""


@lru_cache(maxsize=8)
def source_digest(rooms: tuple[str, ...]) -> str:
    """Hash of the package's own source text in the given rooms (and `compile`): new text, new machine code."""
    state = hashlib.sha256()
    for room in sorted({*rooms, 'compile'}):
        for path in sorted((PACKAGE / room).glob('*.py')):
            state.update(path.name.encode())
            state.update(path.read_bytes())
    return state.hexdigest()


def digest(parts: Iterable[str]) -> str:
    """Hash of several strings, order kept."""
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, 'little'))
        state.update(part.encode('utf-8', 'surrogatepass'))
    return state.hexdigest()


def mark_used(directory: Path) -> None:
    """Note that a generated module is in use. Not on `module.py`: Numba's cache goes by the time of that file."""
    with contextlib.suppress(OSError):
        os.utime(directory / 'meta.json')


def prune(directory: Path, kept: int = KEPT_MODULES) -> None:
    """Delete the least recently used generated modules beyond `kept`, with everything made from them."""
    used: list[tuple[float, Path]] = []
    for path in directory.glob('*/meta.json'):
        with contextlib.suppress(OSError):  # another process may be pruning too
            used.append((path.stat().st_mtime, path.parent))
    for _, stale in sorted(used, reverse=True)[kept:]:
        shutil.rmtree(stale, ignore_errors=True)
