"""Digests of sources, records of traced modules, and pruning of the cache of compiled modules."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from dyn_nodes.common.sealing import report, sealed, unsealed

PACKAGE = Path(__file__).resolve().parent.parent
KEPT_MODULES = 500
"""Greatest number of generated modules in the cache; the least recently used beyond it are deleted."""
KEPT_TRACES = 4 * KEPT_MODULES
"""Greatest number of trace notes in the cache; several may refer to one module."""


@lru_cache(maxsize=2)
def source_digest(package: str = '') -> str:
    """Return the hash of the source text of dyn_nodes, or of the modules of one subpackage."""
    state = hashlib.sha256()
    for path in sorted((PACKAGE / package).glob('*.py') if package else PACKAGE.rglob('*.py')):
        state.update(path.relative_to(PACKAGE).as_posix().encode())
        state.update(path.read_bytes())
    return state.hexdigest()


def digest(parts: Iterable[str]) -> str:
    """Return the hash of a sequence of strings."""
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, 'little'))
        state.update(part.encode('utf-8', 'surrogatepass'))
    return state.hexdigest()


def traced(root: Path, recipe: str) -> str:
    """Return the name of the module that an earlier process traced from this recipe, or ''."""
    note = _note(root, recipe)
    try:
        content = unsealed(root, note.name, note.read_bytes())
    except OSError:
        return ''
    if content is None:
        report(f'{note} is damaged or not of this user: traced again')
        with contextlib.suppress(OSError):
            note.unlink()
        return ''
    with contextlib.suppress(OSError):
        os.utime(note)
    return content.decode()


def note_trace(root: Path, recipe: str, module: str) -> None:
    """Write the name of the module that was traced from a recipe. Raises OSError if it cannot be written."""
    note = _note(root, recipe)
    making = note.with_name(f'making-{os.getpid()}-{note.name}')
    try:
        making.write_bytes(sealed(root, note.name, module.encode()))
        making.replace(note)
    finally:
        making.unlink(missing_ok=True)


def _note(root: Path, recipe: str) -> Path:
    return root / f'trace-{recipe[:32]}'


def mark_used(directory: Path) -> None:
    """Mark a generated module as used, by the time of `meta.json`: Numba's cache depends on the time of `module.py`."""
    with contextlib.suppress(OSError):
        os.utime(directory / 'meta.json')


def prune(directory: Path, kept: int = KEPT_MODULES, kept_traces: int = KEPT_TRACES) -> None:
    """Delete the least recently used generated modules beyond `kept`, with their machine code, and old trace notes."""
    for stale in _least_recent(directory.glob('*/meta.json'), kept):
        shutil.rmtree(stale.parent, ignore_errors=True)
    for stale in _least_recent(directory.glob('trace-*'), kept_traces):
        with contextlib.suppress(OSError):
            stale.unlink()


def _least_recent(paths: Iterable[Path], kept: int) -> list[Path]:
    used: list[tuple[float, Path]] = []
    for path in paths:
        with contextlib.suppress(OSError):  # another process may be pruning, too
            used.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(used, reverse=True)[kept:]]
