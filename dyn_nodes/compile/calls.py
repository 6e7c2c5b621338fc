"""Kernels as Python calls them: by the address of their machine code, with functions that all modules share.

A function that Numba makes for Python costs 0.14 s to compile, whatever it does; a module has one kernel or ten. The
code of a kernel is a C function that looks at the lengths of its arguments and returns a status (`code`). So one
function for each number of arguments calls the kernels of all modules, and turns a status into an exception.
"""
# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.options import DefaultOptions

from dyn_nodes.compile.code import call_code
from dyn_nodes.compile.guard import COLUMNS, ELEMENTS, NAMES, ROWS, LengthError
from dyn_nodes.loops import cached_in, kernels_of

kernel = kernels_of(__file__)

# Without Numba's reference counts an array argument costs about 20 ns less to pass; nothing here makes an array.
OPTIONS = {'_nrt': False} if hasattr(DefaultOptions, '_nrt') else {}
MOST = 8
"""Arguments of a kernel that is called in this way; one with more is compiled with a function of its module."""


@kernel
def refuse(address, status, found):
    """Raise what the status of a kernel means; `found` is the length of the argument in it."""
    raise LengthError(address, (status & 255) - 1, ELEMENTS, status >> 8, found)


def call_1(address, a):
    """Call a kernel of 1 argument."""
    status = call_code(address, a)
    if status != 0:
        refuse(address, status, a.shape[0])


def call_2(address, a, b):
    """Call a kernel of 2 arguments."""
    status = call_code(address, a, b)
    if status != 0:
        found = (a.shape[0], b.shape[0])
        refuse(address, status, found[(status & 255) - 1])


def call_3(address, a, b, c):
    """Call a kernel of 3 arguments."""
    status = call_code(address, a, b, c)
    if status != 0:
        found = (a.shape[0], b.shape[0], c.shape[0])
        refuse(address, status, found[(status & 255) - 1])


def call_4(address, a, b, c, d):
    """Call a kernel of 4 arguments."""
    status = call_code(address, a, b, c, d)
    if status != 0:
        found = (a.shape[0], b.shape[0], c.shape[0], d.shape[0])
        refuse(address, status, found[(status & 255) - 1])


def call_5(address, a, b, c, d, e):
    """Call a kernel of 5 arguments."""
    status = call_code(address, a, b, c, d, e)
    if status != 0:
        found = (a.shape[0], b.shape[0], c.shape[0], d.shape[0], e.shape[0])
        refuse(address, status, found[(status & 255) - 1])


def call_6(address, a, b, c, d, e, f):
    """Call a kernel of 6 arguments."""
    status = call_code(address, a, b, c, d, e, f)
    if status != 0:
        found = (a.shape[0], b.shape[0], c.shape[0], d.shape[0], e.shape[0], f.shape[0])
        refuse(address, status, found[(status & 255) - 1])


def call_7(address, a, b, c, d, e, f, g):
    """Call a kernel of 7 arguments."""
    status = call_code(address, a, b, c, d, e, f, g)
    if status != 0:
        found = (a.shape[0], b.shape[0], c.shape[0], d.shape[0], e.shape[0], f.shape[0], g.shape[0])
        refuse(address, status, found[(status & 255) - 1])


def call_8(address, a, b, c, d, e, f, g, h):
    """Call a kernel of 8 arguments."""
    status = call_code(address, a, b, c, d, e, f, g, h)
    if status != 0:
        found = (a.shape[0], b.shape[0], c.shape[0], d.shape[0], e.shape[0], f.shape[0], g.shape[0], h.shape[0])
        refuse(address, status, found[(status & 255) - 1])


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
def compiled(name: str, kind: str, count: int) -> Any:
    """Return a function of this file as machine code: of an address and `count` arrays of a kind."""
    refuse.compile('void(intp, intp, intp)')  # with reference counts, unlike what calls it
    with cached_in(Path(__file__).resolve().parent) as cached:
        return njit(f'void(intp, {", ".join([kind] * count)})', cache=cached, **OPTIONS)(globals()[name])


def kernel_call(name: str, code: Any, sizes: Sequence[int]) -> Callable[..., None]:
    """Return what calls a C function of a kernel with contiguous float64 vectors of these sizes, at most `MOST`.

    It raises LengthError for others.
    """
    NAMES[code.address] = name
    call = partial(compiled(f'call_{len(sizes)}', 'float64[::1]', len(sizes)), code.address)
    call.code = code  # it lives as long as what calls it
    return call


def batch_call(name: str, code: Any, sizes: Sequence[int]) -> Callable[..., None]:
    """Return what calls a C function of a kernel with every row of contiguous float64 arrays (n, size), at most `MOST`.

    It raises LengthError for others.
    """
    run = compiled(f'batch_{len(sizes)}', 'float64[:, ::1]', len(sizes))

    def call(*arrays: Any) -> None:
        for k, (array, size) in enumerate(zip(arrays, sizes)):
            if array.ndim == 2 and array.shape[1] != size:
                raise LengthError(name, k, COLUMNS, size, array.shape[1])
            if array.ndim == 2 and array.shape[0] != arrays[0].shape[0]:
                raise LengthError(name, k, ROWS, arrays[0].shape[0], array.shape[0])
        run(code.address, *arrays)

    return call
