"""Decorators of hand-written array loops: machine code, cached on disk, that is valid for its source text only.

Numba compares a cached kernel with the time of the kernel's own file only. A kernel may call helpers in other files of
its package, so each state of a package's text gets its own directory: a change in any file recompiles all its kernels.
So does each version of Numba: its index of a kernel would replace the index of another version.
If kernels call kernels of other packages, these are passed as `others`, and their text is included.

A command that evaluates a few states runs kernels whose machine code is not on disk as Python code (`in_python`): this
takes seconds less than compiling them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import cfunc, njit
from numba.extending import typeof_impl

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
    """Return the hash of the source files of packages and shared loops, Numba's version and the form of the files."""
    state = hashlib.sha256(FORMAT + f' numba {numba.__version__}\n'.encode())
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
            compiled = decorate(function)
        if _in_python and label and not _has_code(function, *packages):
            return cast(Function, PythonKernel(compiled))
        return cast(Function, compiled)

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


# -- kernels as Python code --------------------------------------------------------------------------------------------

_in_python = False
_GLOBALS: dict[int, dict[str, Any]] = {}
"""Globals of modules with Python code in place of machine code, by the identity of the module's globals."""


class NotInPythonError(Exception):
    """Python code cannot evaluate a kernel as machine code does, for example a division by zero."""


@contextmanager
def in_python() -> Iterator[None]:
    """Run labelled kernels that are imported within, and whose machine code is not on disk, as Python code within.

    Raises:
        NotInPythonError: at a call that needs machine code; its arguments have their values from before.
    """
    global _in_python
    before, _in_python = _in_python, True
    try:
        with np.errstate(all='ignore'):
            yield
    finally:
        _in_python = before


def _has_code(function: Callable[..., Any], *packages: Path) -> bool:
    """Return whether machine code of a function for the present text of its packages is on disk."""
    directory = kernel_directory(*packages)
    name = re.sub('[<>]', '', function.__qualname__)
    return directory is not None and any(directory.rglob(f'*.{name}-*.nbc'))


class PythonKernel:
    """A kernel that runs as Python code within `in_python`, else as machine code.

    Attributes:
        compiled: Numba's function.
    """

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled

    def __call__(self, *arguments: Any) -> Any:
        """Call the kernel."""
        if not _in_python:
            return self.compiled(*arguments)
        filled = [array for argument in arguments for array in _arrays(argument)]
        before = [array.copy() for array in filled]
        try:
            return _python_of(self.compiled)(*map(_with_attributes, arguments))
        except (ArithmeticError, ValueError, IndexError) as error:
            for array, values in zip(filled, before):
                array[...] = values
            raise NotInPythonError(str(error)) from error


@typeof_impl.register(PythonKernel)
def _type_of(value: PythonKernel, context: Any) -> Any:
    """Return the type of a kernel that machine code calls."""
    return typeof_impl(value.compiled, context)


def _arrays(argument: Any) -> Iterator[np.ndarray]:
    """Yield the arrays of an argument, those in named tuples included."""
    if isinstance(argument, np.ndarray):
        yield argument
    elif isinstance(argument, tuple):
        for part in argument:
            yield from _arrays(part)


def _with_attributes(argument: Any) -> Any:
    """Return an argument whose records have their fields as attributes, as in machine code."""
    if isinstance(argument, np.ndarray) and argument.dtype.names:
        return argument.view(np.recarray)
    if isinstance(argument, tuple) and hasattr(argument, '_make'):
        return type(argument)(*map(_with_attributes, argument))
    return argument


def _python_of(value: Any) -> Any:
    """Return Python code in place of a function of Numba, and all other values as they are."""
    compiled = value.compiled if isinstance(value, PythonKernel) else value
    function = getattr(compiled, 'py_func', None)
    if function is None:
        return value
    names = function.__globals__
    plain = _GLOBALS.get(id(names))
    if plain is None:
        plain = _GLOBALS[id(names)] = dict(names)
        plain.update({name: _python_of(global_) for name, global_ in names.items()})
    cells = tuple(CellType(_python_of(cell.cell_contents)) for cell in function.__closure__ or ())
    return FunctionType(function.__code__, plain, function.__name__, function.__defaults__, cells)
