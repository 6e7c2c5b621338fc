"""Decorators of hand-written array loops: machine code, cached on disk, that is valid for its source text only.

Numba compares a cached kernel with the time of the kernel's own file only. A kernel may call helpers in other files of
its package, so each state of a package's text gets its own directory: a change in any file recompiles all its kernels.
If kernels call kernels of other packages, these are passed as `others`, and their text is included.
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
"""Version of the form of the cached files, so that files of an earlier release do not count as damaged."""
SHARED = Path(__file__).parent / 'cholesky.py'
KEPT = 4
"""Number of texts of a package whose kernels are kept on disk; the least recently used are deleted."""


def guarded() -> bool:
    """Return whether `DYN_NODES_GUARD` enables index checks and guard zones around arguments."""
    return os.environ.get(GUARD, '') not in ('', '0')


def text_digest(*packages: Path) -> str:
    """Return the hash of the source files of packages, of the shared loops, and of the form of the cached files."""
    state = hashlib.sha256(FORMAT)
    for path in (*(path for package in packages for path in sorted(package.glob('*.py'))), SHARED):
        text = path.read_bytes()
        state.update(f'{path.name} {len(text)}\n'.encode())
        state.update(text)
    return state.hexdigest()[:32]


@cache
def kernel_directory(*packages: Path) -> Path | None:
    """Return the directory of kernels for a package's present text, or None if nothing can be written.

    Args:
        packages: directory of the package, and of others whose kernels it calls.
    """
    name = '+'.join(package.name for package in packages)
    parent = cache_directory() / (f'{name}-guarded' if guarded() else name)
    directory = parent / text_digest(*packages)
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
        """Process Numba's event before it compiles a function; a cached function has no event."""
        box_by_environment()
        label = self.labels.get(event.data['dispatcher'].py_func)
        if label is not None:
            compiling.notice(label)

    def on_end(self, event: Any) -> None:
        """Process Numba's event after the compilation."""


_ANNOUNCER = _Announcer()
event.register('numba:compile', _ANNOUNCER)


def kernels_of(
    package_file: str, label: str = '', others: Sequence[str] = (), **options: Any
) -> Callable[[Function], Function]:
    """Return the decorator of a package's kernels.

        kernel = kernels_of(__file__)

    A kernel is compiled at its first call and runs without the interpreter lock. A division by zero gives inf or NaN,
    never an exception. With `DYN_NODES_GUARD=1` every index is checked, and one outside its array raises IndexError.

    Args:
        package_file: any file of the package.
        label: name in the notice of a long compilation; '' for no notice.
        others: any file of each other package whose kernels these call.
        options: further ones of `numba.njit`, such as `fastmath`.
    """
    packages = [Path(file).resolve().parent for file in (package_file, *others)]

    def kernel(function: Function) -> Function:
        if label:
            _ANNOUNCER.labels[function] = label
        with cached_in(*packages) as cached:
            decorate = njit(cache=cached, error_model='numpy', nogil=True, boundscheck=guarded() or None, **options)
            return cast(Function, decorate(function))

    return kernel


def parts_of(package_file: str, **options: Any) -> Callable[[Function], Function]:
    """Return the decorator of functions that only kernels of a package call: they have no entry for Python.

    Args:
        package_file: any file of the package.
        options: further ones of `numba.njit`.
    """
    return kernels_of(package_file, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def code_of(package_file: str, function: Callable[..., Any], signature: Any, **options: Any) -> Any:
    """Return a function of a package as a C function, compiled now or taken from the cache; it has an `address`.

    Args:
        package_file: any file of the package.
        function: of scalars and pointers. An exception must not leave it.
        signature: of Numba.
        options: further ones of `numba.cfunc`.
    """
    with cached_in(Path(package_file).resolve().parent) as cached:
        settings: dict[str, Any] = {'error_model': 'numpy', 'boundscheck': guarded() or None, **options}
        return cfunc(signature, cache=cached, **settings)(function)


@contextmanager
def cached_in(*packages: Path) -> Iterator[bool]:
    """Set Numba's cache to `kernel_directory` for functions decorated within; False if nothing can be written."""
    directory = kernel_directory(*packages)
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    try:
        # read by Numba while it decorates, not later
        numba.config.CACHE_DIR = str(directory) if directory else before  # type: ignore[attr-defined]
        with sealing(cache_directory()):
            yield directory is not None
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]
