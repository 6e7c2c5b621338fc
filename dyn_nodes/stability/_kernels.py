"""The decorator of this package's kernels: machine code, cached on disk, that never outlives its source text.

Numba compares a cached kernel with the time of the kernel's own file only. A kernel here calls helpers in other files,
so each state of the package's text gets a directory of its own: a change in any file makes all kernels anew.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import njit

Function = TypeVar('Function', bound=Callable[..., Any])
ROOM = Path(__file__).resolve().parent
KEPT = 4
"""Texts of the package whose kernels stay on disk; those used longest ago are deleted."""


def text_digest(room: Path = ROOM) -> str:
    """Hash of every source file of this package."""
    state = hashlib.sha256()
    for path in sorted(room.glob('*.py')):
        text = path.read_bytes()
        state.update(f'{path.name} {len(text)}\n'.encode())
        state.update(text)
    return state.hexdigest()[:32]


@lru_cache(maxsize=1)
def kernel_directory() -> Path | None:
    """Return where the kernels of the present text live, or None where nothing can be written.

    `DYN_NODES_CACHE` names the cache directory; the default is `dyn_nodes` in the user's.
    """
    chosen = os.environ.get('DYN_NODES_CACHE')
    user = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
    parent = (Path(chosen) if chosen else user / 'dyn_nodes') / 'stability'
    directory = parent / text_digest()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
        os.utime(directory)
        _prune(parent)
    except OSError:
        return None
    return directory


def _prune(parent: Path) -> None:
    used = sorted(parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for stale in used[KEPT:]:
        shutil.rmtree(stale, ignore_errors=True)


def kernel(function: Function) -> Function:
    """Compile a function at its first call; it runs without the interpreter lock.

    A division by zero gives inf or NaN, which the measures report as "not valid", and never an exception.
    """
    directory = kernel_directory()
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    try:
        # read by Numba while it decorates, not later
        numba.config.CACHE_DIR = str(directory) if directory else before  # type: ignore[attr-defined]
        return cast(Function, njit(cache=directory is not None, error_model='numpy', nogil=True)(function))
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]
