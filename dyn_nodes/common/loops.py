"""The decorator of hand-written array loops: machine code, cached on disk, that never outlives its source text.

Numba compares a cached kernel with the time of the kernel's own file only. A kernel may call helpers in other files of
its room, so each state of a room's text gets its own directory: a change in any file makes all its kernels anew. Where
it calls kernels of other rooms, it says which, and their text counts too.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import cfunc, njit

from dyn_nodes.common import compiling
from dyn_nodes.common.numba_internals import box_by_environment, event, sealing
from dyn_nodes.common.sealing import cache_directory

Function = TypeVar('Function', bound=Callable[..., Any])
GUARD = 'DYN_NODES_GUARD'
FORMAT = b'sealed 2'
"""Changes with the form of the cached files, so that files of an earlier release are not taken for damaged ones."""
SHARED = Path(__file__).parent / 'cholesky.py'
KEPT = 4
"""Texts of a room whose kernels stay on disk; those used longest ago are deleted."""


def guarded() -> bool:
    """Return whether `DYN_NODES_GUARD` asks for index checks and for guard zones around arguments."""
    return os.environ.get(GUARD, '') not in ('', '0')


def text_digest(*rooms: Path) -> str:
    """Hash of every source file of rooms, of the loops that rooms share, and of the form of the cached files."""
    state = hashlib.sha256(FORMAT)
    for path in (*(path for room in rooms for path in sorted(room.glob('*.py'))), SHARED):
        text = path.read_bytes()
        state.update(f'{path.name} {len(text)}\n'.encode())
        state.update(text)
    return state.hexdigest()[:32]


@cache
def kernel_directory(*rooms: Path) -> Path | None:
    """Return where kernels of a room's present text live, or None where nothing can be written.

    Args:
        rooms: theirs, and others whose kernels they call.
    """
    name = '+'.join(room.name for room in rooms)
    parent = cache_directory() / (f'{name}-guarded' if guarded() else name)
    directory = parent / text_digest(*rooms)
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


class _Announcer(event.Listener):
    """Announces the compilation of kernels that have a label, by `compiling.notice`; prepares Numba for the first."""

    def __init__(self) -> None:
        self.labels: dict[Callable[..., Any], str] = {}

    def on_start(self, event: Any) -> None:
        """Take Numba's event before it compiles a function; one from the cache has none."""
        box_by_environment()
        label = self.labels.get(event.data['dispatcher'].py_func)
        if label is not None:
            compiling.notice(label)

    def on_end(self, event: Any) -> None:
        """Take Numba's event after it."""


_ANNOUNCER = _Announcer()
event.register('numba:compile', _ANNOUNCER)


def kernels_of(
    room_file: str, label: str = '', others: Sequence[str] = (), **options: Any
) -> Callable[[Function], Function]:
    """Return the decorator of a room's kernels.

        kernel = kernels_of(__file__)

    A kernel is compiled at its first call and runs without the interpreter lock. A division by zero gives inf or NaN,
    never an exception. With `DYN_NODES_GUARD=1` every index is checked, and one outside its array raises IndexError.

    Args:
        room_file: any file of the room.
        label: under which their compilation is announced; '' where it is short.
        others: any file of each other room whose kernels these call.
        options: further ones of `numba.njit`, such as `fastmath`.
    """
    rooms = [Path(own).resolve().parent for own in (room_file, *others)]

    def kernel(function: Function) -> Function:
        if label:
            _ANNOUNCER.labels[function] = label
        with cached_in(*rooms) as cached:
            decorate = njit(cache=cached, error_model='numpy', nogil=True, boundscheck=guarded() or None, **options)
            return cast(Function, decorate(function))

    return kernel


def parts_of(room_file: str, **options: Any) -> Callable[[Function], Function]:
    """Return the decorator of what kernels of a room call and Python never does: it has no entry for Python.

    Args:
        room_file: any file of the room.
        options: further ones of `numba.njit`.
    """
    return kernels_of(room_file, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def code_of(room_file: str, function: Callable[..., Any], signature: Any, **options: Any) -> Any:
    """Return a function of a room as a C function, compiled now or taken from the cache; it has an `address`.

    Args:
        room_file: any file of the room.
        function: of scalars and pointers. An exception must not leave it.
        signature: of Numba.
        options: further ones of `numba.cfunc`.
    """
    with cached_in(Path(room_file).resolve().parent) as cached:
        own: dict[str, Any] = {'error_model': 'numpy', 'boundscheck': guarded() or None, **options}
        return cfunc(signature, cache=cached, **own)(function)


@contextmanager
def cached_in(*rooms: Path) -> Iterator[bool]:
    """Let Numba keep what is decorated within where `kernel_directory` says; False where nothing can be kept."""
    directory = kernel_directory(*rooms)
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    try:
        # read by Numba while it decorates, not later
        numba.config.CACHE_DIR = str(directory) if directory else before  # type: ignore[attr-defined]
        with sealing(cache_directory()):
            yield directory is not None
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]
