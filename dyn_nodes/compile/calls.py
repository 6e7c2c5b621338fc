"""Kernels as Python calls them: by the address of their machine code, with functions that all modules share.

A function that Numba makes for Python costs 0.14 s to compile, whatever it does, and takes longer to be called than
many a kernel runs; a module has one kernel or ten. The code of a kernel is a C function that looks at the lengths of
its arguments and returns a status (`code`). Built-in functions call it (`entry`), and `CarefulCall` where an argument
is not as expected. Batches go through one compiled loop for each number of arguments: row by row where they are short,
and from `WIDE_FROM` rows on by the vector kernel, which is compiled at that time.
"""
# mypy: ignore-errors

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

from dyn_nodes.common.loops import cached_in
from dyn_nodes.common.numba_internals import UNCOUNTED
from dyn_nodes.compile.code import call_code
from dyn_nodes.compile.entry import builtin, layout_holds
from dyn_nodes.compile.guard import COLUMNS, ELEMENTS, ROWS, LengthError

MOST = 8
"""Arguments of a kernel that is called in this way; one with more is compiled with a function of its module."""
WIDE_FROM = 128
"""Rows of a batch from which on it takes the vector kernel."""


def batch_1(address, a):
    """Call a kernel of 1 argument with every row."""
    for k in range(a.shape[0]):
        call_code(address, a[k])


def batch_2(address, a, b):
    """Call a kernel of 2 arguments with every row."""
    for k in range(a.shape[0]):
        call_code(address, a[k], b[k])


def batch_3(address, a, b, c):
    """Call a kernel of 3 arguments with every row."""
    for k in range(a.shape[0]):
        call_code(address, a[k], b[k], c[k])


def batch_4(address, a, b, c, d):
    """Call a kernel of 4 arguments with every row."""
    for k in range(a.shape[0]):
        call_code(address, a[k], b[k], c[k], d[k])


def batch_5(address, a, b, c, d, e):
    """Call a kernel of 5 arguments with every row."""
    for k in range(a.shape[0]):
        call_code(address, a[k], b[k], c[k], d[k], e[k])


def batch_6(address, a, b, c, d, e, f):
    """Call a kernel of 6 arguments with every row."""
    for k in range(a.shape[0]):
        call_code(address, a[k], b[k], c[k], d[k], e[k], f[k])


def batch_7(address, a, b, c, d, e, f, g):
    """Call a kernel of 7 arguments with every row."""
    for k in range(a.shape[0]):
        call_code(address, a[k], b[k], c[k], d[k], e[k], f[k], g[k])


def batch_8(address, a, b, c, d, e, f, g, h):
    """Call a kernel of 8 arguments with every row."""
    for k in range(a.shape[0]):
        call_code(address, a[k], b[k], c[k], d[k], e[k], f[k], g[k], h[k])


@cache
def compiled(count: int) -> Any:
    """Return the function of this file that calls kernels of `count` arguments with every row, as machine code."""
    kinds = ', '.join(['float64[:, ::1]'] * count)
    with cached_in(Path(__file__).resolve().parent) as cached:
        return njit(f'void(intp, {kinds})', cache=cached, **UNCOUNTED)(globals()[f'batch_{count}'])


def batch_of_lanes(address, lanes, inputs, arrays, room):
    """Call a vector kernel with all rows: `inputs` arrays to read, then those to fill; room (n * lanes,) for each."""
    rows = arrays[0].shape[0]
    for first in range(0, rows, lanes):
        for j in range(inputs):
            rows_in, own = arrays[j], room[j]
            for lane in range(lanes):
                row = min(first + lane, rows - 1)
                for i in range(rows_in.shape[1]):
                    own[i * lanes + lane] = rows_in[row, i]
        if call_code(address, *room) != 0:
            raise ValueError('a vector kernel: expected arrays of its columns')
        for j in range(inputs, len(arrays)):
            rows_out, own = arrays[j], room[j]
            for lane in range(min(lanes, rows - first)):
                for i in range(rows_out.shape[1]):
                    rows_out[first + lane, i] = own[i * lanes + lane]


@cache
def compiled_lanes(count: int) -> Any:
    """Return `batch_of_lanes` for kernels of `count` arguments, as machine code."""
    arrays = types.UniTuple(types.Array(types.float64, 2, 'C'), count)
    room = types.UniTuple(types.Array(types.float64, 1, 'C'), count)
    with cached_in(Path(__file__).resolve().parent) as cached:
        signature = types.void(types.intp, types.intp, types.intp, arrays, room)
        return njit(signature, cache=cached, nogil=True)(batch_of_lanes)


class CarefulCall:
    """Calls a C function of a kernel with vectors after it has looked at each of them.

    Args:
        name: of the kernel.
        code: its C function, with an `address`.
        sizes: of its arguments.
    """

    def __init__(self, name: str, code: Any, sizes: Sequence[int]) -> None:
        self.name, self.code, self.sizes = name, code, tuple(sizes)

    def __call__(self, *arrays: Any) -> None:
        """Call the kernel. Raises TypeError for another number or type of arguments, LengthError for other lengths."""
        if len(arrays) != len(self.sizes):
            raise TypeError(f'compiled kernel {self.name!r}: expected {len(self.sizes)} vectors')
        given: list[int] = []
        for k, (array, size) in enumerate(zip(arrays, self.sizes)):
            if not _is_vector(array):
                raise TypeError(
                    f'compiled kernel {self.name!r}, argument {k}: '
                    f'expected a contiguous, writable vector of float64, found {_kind(array)}'
                )
            if array.shape[0] != size:
                raise LengthError(self.name, k, ELEMENTS, size, array.shape[0])
            given += [array.ctypes.data, size]
        pairs = [ctypes.c_void_p, ctypes.c_ssize_t] * len(arrays)
        status = ctypes.PYFUNCTYPE(ctypes.c_ssize_t, *pairs)(self.code.address)(*given)
        if status != 0:
            raise RuntimeError(f'compiled kernel {self.name!r}: expected status 0, found {status}')


def _is_vector(array: Any) -> bool:
    """Return whether machine code can read and write an argument in place."""
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype != np.float64:
        return False
    return bool(array.flags.c_contiguous and array.flags.aligned and array.flags.writeable)


def _kind(found: Any) -> str:
    """Return what an argument is, for a message."""
    if not isinstance(found, np.ndarray):
        return type(found).__name__
    wanted = (('not contiguous', 'C'), ('not aligned', 'A'), ('read-only', 'W'))
    lacks = [word for word, flag in wanted if not found.flags[flag]]
    return ', '.join([f'shape {found.shape} of {found.dtype}', *lacks])


def kernel_call(name: str, code: Any, sizes: Sequence[int]) -> Callable[..., None]:
    """Return what calls a C function of a kernel with contiguous float64 vectors of these sizes.

    It raises LengthError for others, TypeError for anything else, and keeps `code` alive.
    """
    careful = CarefulCall(name, code, sizes)
    return builtin(name, len(sizes), code.address, careful) if layout_holds() else careful


class Wide(NamedTuple):
    """A vector kernel.

    Attributes:
        code: its C function, with an `address`.
        lanes: states that it takes at once.
        inputs: number of its inputs.
    """

    code: Any
    lanes: int
    inputs: int

    def fill(self, *arrays: Any) -> None:
        """Call it with the rows of contiguous float64 arrays (n, size), inputs first; fill the others.

        It runs without the interpreter's lock: threads may take parts of the rows.
        """
        room = tuple(np.empty(array.shape[1] * self.lanes) for array in arrays)
        compiled_lanes(len(arrays))(self.code.address, self.lanes, self.inputs, arrays, room)


def batch_call(name: str, code: Any, sizes: Sequence[int], wide: Callable[[], Wide]) -> Callable[..., None]:
    """Return what calls a C function of a kernel with every row of contiguous float64 arrays (n, size), at most `MOST`.

    It raises LengthError for others.

    Args:
        name: of the kernel.
        code: its C function, with an `address`.
        sizes: of its arguments.
        wide: gives the vector kernel of the same, when it is first needed.
    """
    count = len(sizes)

    def call(*arrays: Any) -> None:
        for k, (array, size) in enumerate(zip(arrays, sizes)):
            if array.ndim == 2 and array.shape[1] != size:
                raise LengthError(name, k, COLUMNS, size, array.shape[1])
            if array.ndim == 2 and array.shape[0] != arrays[0].shape[0]:
                raise LengthError(name, k, ROWS, arrays[0].shape[0], array.shape[0])
        if len(arrays) != count or len(arrays[0]) < WIDE_FROM:
            compiled(count)(code.address, *arrays)
            return
        wide().fill(*arrays)

    return call
