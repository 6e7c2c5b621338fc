"""Calls of kernels from Python: by the address of their machine code, with functions that all modules share.

A function that Numba makes for Python takes 0.14 s to compile, whatever it does, and its call takes longer than many
kernels run; a module has one kernel or ten. The code of a kernel is a C function that checks the lengths of its
arguments and returns a status (`code`). Built-in functions call it (`entry`), or `CarefulCall` if an argument is not as
expected. Batches use one compiled loop for each number of arguments: row by row if they are short, and from `WIDE_FROM`
rows on by the vector kernel, which is compiled on demand.
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
"""Greatest number of arguments for these calls; a kernel with more is compiled with a function of its module."""
WIDE_FROM = 128
"""Number of rows from which a batch uses the vector kernel."""


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
    """Return `batch_<count>` as machine code."""
    kinds = ', '.join(['float64[:, ::1]'] * count)
    with cached_in(Path(__file__).resolve().parent) as cached:
        return njit(f'void(intp, {kinds})', cache=cached, **UNCOUNTED)(globals()[f'batch_{count}'])


def batch_of_lanes(address, lanes, inputs, arrays, room):
    """Call a vector kernel with all rows of `arrays`, inputs first, then outputs; room (n * lanes,) for each."""
    rows = arrays[0].shape[0]
    for first in range(0, rows, lanes):
        for j in range(inputs):
            rows_in, vector = arrays[j], room[j]
            for lane in range(lanes):
                row = min(first + lane, rows - 1)
                for i in range(rows_in.shape[1]):
                    vector[i * lanes + lane] = rows_in[row, i]
        if call_code(address, *room) != 0:
            raise ValueError('a vector kernel: expected arrays of its columns')
        for j in range(inputs, len(arrays)):
            rows_out, vector = arrays[j], room[j]
            for lane in range(min(lanes, rows - first)):
                for i in range(rows_out.shape[1]):
                    rows_out[first + lane, i] = vector[i * lanes + lane]


@cache
def compiled_lanes(count: int) -> Any:
    """Return `batch_of_lanes` for kernels of `count` arguments, as machine code."""
    arrays = types.UniTuple(types.Array(types.float64, 2, 'C'), count)
    room = types.UniTuple(types.Array(types.float64, 1, 'C'), count)
    with cached_in(Path(__file__).resolve().parent) as cached:
        signature = types.void(types.intp, types.intp, types.intp, arrays, room)
        return njit(signature, cache=cached, nogil=True)(batch_of_lanes)


class CarefulCall:
    """Calls a C function of a kernel with vectors after checking each of them.

    Args:
        name: of the kernel.
        code: its C function, with an `address`.
        sizes: of its arguments.
    """

    def __init__(self, name: str, code: Any, sizes: Sequence[int]) -> None:
        self.name, self.code, self.sizes = name, code, tuple(sizes)

    def __call__(self, *arrays: Any) -> None:
        """Call the kernel. Raises TypeError for a wrong number or type of arguments, LengthError for wrong lengths."""
        if len(arrays) != len(self.sizes):
            raise TypeError(f'compiled kernel {self.name!r}: expected {len(self.sizes)} vectors')
        values: list[int] = []
        for k, (array, size) in enumerate(zip(arrays, self.sizes)):
            if not _is_vector(array):
                raise TypeError(
                    f'compiled kernel {self.name!r}, argument {k}: '
                    f'expected a contiguous, writable vector of float64, found {_kind(array)}'
                )
            if array.shape[0] != size:
                raise LengthError(self.name, k, ELEMENTS, size, array.shape[0])
            values += [array.ctypes.data, size]
        pairs = [ctypes.c_void_p, ctypes.c_ssize_t] * len(arrays)
        status = ctypes.PYFUNCTYPE(ctypes.c_ssize_t, *pairs)(self.code.address)(*values)
        if status != 0:
            raise RuntimeError(f'compiled kernel {self.name!r}: expected status 0, found {status}')


def _is_vector(array: Any) -> bool:
    """Return whether machine code can read and write an argument in place."""
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype != np.float64:
        return False
    return bool(array.flags.c_contiguous and array.flags.aligned and array.flags.writeable)


def _kind(argument: Any) -> str:
    """Return a description of an argument for a message."""
    if not isinstance(argument, np.ndarray):
        return type(argument).__name__
    wanted = (('not contiguous', 'C'), ('not aligned', 'A'), ('read-only', 'W'))
    lacks = [word for word, flag in wanted if not argument.flags[flag]]
    return ', '.join([f'shape {argument.shape} of {argument.dtype}', *lacks])


def kernel_call(name: str, code: Any, sizes: Sequence[int]) -> Callable[..., None]:
    """Return a function that calls a C function of a kernel with contiguous float64 vectors of these sizes.

    It raises LengthError for other lengths, TypeError for other arguments, and keeps `code` alive.
    """
    careful = CarefulCall(name, code, sizes)
    return builtin(name, len(sizes), code.address, careful) if layout_holds() else careful


class Wide(NamedTuple):
    """A vector kernel.

    Attributes:
        code: its C function, with an `address`.
        lanes: number of states per call.
        inputs: number of its inputs.
    """

    code: Any
    lanes: int
    inputs: int

    def fill(self, *arrays: Any) -> None:
        """Call it with the rows of contiguous float64 arrays (n, size), inputs first; fill the outputs.

        It runs without the interpreter's lock: threads may process parts of the rows.
        """
        room = tuple(np.empty(array.shape[1] * self.lanes) for array in arrays)
        compiled_lanes(len(arrays))(self.code.address, self.lanes, self.inputs, arrays, room)


def batch_call(name: str, code: Any, sizes: Sequence[int], wide: Callable[[], Wide]) -> Callable[..., None]:
    """Return a function that calls a C function of a kernel with every row of contiguous float64 arrays (n, size).

    There are at most `MOST` arrays. It raises LengthError for wrong sizes.

    Args:
        name: of the kernel.
        code: its C function, with an `address`.
        sizes: of its arguments.
        wide: returns the vector kernel; called on first use.
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
