"""Checks around compiled kernels: lengths of arguments always, guard zones with `DYN_NODES_GUARD=1`.

With guard zones the text of the lower-case functions here is compiled inside a generated module: a kernel then runs on
copies of its arguments with a zone of fixed bits before and behind each, which are compared afterwards.
"""

from __future__ import annotations

import numpy as np

ELEMENTS, COLUMNS, ROWS = 0, 1, 2
_EXPECTED = (
    'a vector of {} numbers, found {}',
    'an array of {} columns, found {}',
    'as many rows as argument 0, {}, found {}',
)
ZONE_DAMAGED, INPUT_CHANGED, NOT_WRITTEN = 0, 1, 2
_FAULTS = (
    'the machine code wrote outside of it',
    'the machine code changed an input',
    'an element was not written, or was computed from memory outside of an input',
)
CONSTANTS = """
GUARD_ZONE = 16
GUARD_BITS = 0x7FFF
"""
"""Length of a zone in elements; 16 bits that repeated form a number: a quiet NaN, in either precision, that no
computation yields."""


class LengthError(ValueError):
    """A kernel was called with an array of wrong length: nothing was read or written.

    Args: kernel (its name), index of the argument (inputs, then outputs), kind of the wrong length, expected, found.
    """

    def __str__(self) -> str:
        kernel, argument, kind, expected, actual = self.args
        return f'compiled kernel {kernel!r}, argument {argument}: expected ' + _EXPECTED[kind].format(expected, actual)


class GuardError(RuntimeError):
    """Machine code accessed memory outside of its arguments. Args: kernel, index of the argument, fault."""

    def __str__(self) -> str:
        kernel, argument, fault = self.args
        return f'compiled kernel {kernel!r}, argument {argument}: {_FAULTS[fault]}'


# mypy: disable-error-code="name-defined"
# ruff: noqa: F821, SIM110


def guarded_block(x):  # type: ignore[no-untyped-def]
    """Return room for the numbers of x between two zones, filled with the bits of the zones."""
    block = np.empty(x.shape[0] + 2 * GUARD_ZONE, x.dtype)
    bits = block.view(np.int16)
    for k in range(bits.shape[0]):
        bits[k] = GUARD_BITS
    return block


def guarded_copy(x):  # type: ignore[no-untyped-def]
    """Return a copy of x between two zones."""
    block = guarded_block(x)
    for k in range(x.shape[0]):
        block[GUARD_ZONE + k] = x[k]
    return block


def zones_hold(block):  # type: ignore[no-untyped-def]
    """Return whether both zones are unchanged."""
    bits = block.view(np.int16)
    for k in range(GUARD_ZONE * (bits.shape[0] // block.shape[0])):
        if bits[k] != GUARD_BITS or bits[bits.shape[0] - 1 - k] != GUARD_BITS:
            return False
    return True


def input_holds(block, x):  # type: ignore[no-untyped-def]
    """Return whether the copy of an input equals the input, bit by bit."""
    bits, source = block.view(np.int16), x.view(np.int16)
    first = GUARD_ZONE * (bits.shape[0] // block.shape[0])
    for k in range(source.shape[0]):
        if bits[first + k] != source[k]:
            return False
    return True


def take_output(block, y):  # type: ignore[no-untyped-def]
    """Copy the output to y; return whether every element was written."""
    bits = block.view(np.int16)
    parts, written = bits.shape[0] // block.shape[0], True
    for k in range(y.shape[0]):
        y[k] = block[GUARD_ZONE + k]
        same = True
        for i in range(parts):
            same = same and bits[(GUARD_ZONE + k) * parts + i] == GUARD_BITS
        written = written and not same
    return written


HELPERS = (guarded_block, guarded_copy, zones_hold, input_holds, take_output)
