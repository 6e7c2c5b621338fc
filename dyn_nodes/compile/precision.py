"""Precision of vector kernels: double, or single with twice as many numbers in a vector of the processor.

Single precision is for short-term predictions: its rounding, 6e-8 of a number, is far below the uncertainty of the
machine's parameters.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from llvmlite import ir


@dataclass(frozen=True)
class Precision:
    """Format of a number, and constants of its sine and cosine.

    Attributes:
        bits: of a number, and of its mantissa after the leading one.
        quarters: log2 of the greatest multiple of pi / 2 by which an angle is reduced.
        pieces: bits of the floats whose sum is pi / 2; multiples of all but the last one are exact.
        sin_terms: terms of the sine series beyond the first one.
        cos_terms: terms of the cosine series beyond the first two.
    """

    bits: tuple[int, int]
    quarters: int
    pieces: tuple[int, ...]
    sin_terms: int
    cos_terms: int

    @property
    def number(self) -> ir.Type:
        """Type of a number."""
        return ir.DoubleType() if self.bits[0] == 64 else ir.FloatType()

    @property
    def word(self) -> ir.Type:
        """Type of the integers of equal length."""
        return ir.IntType(self.bits[0])

    @property
    def bytes(self) -> int:
        """Length of a number in bytes."""
        return self.bits[0] // 8

    @property
    def suffix(self) -> str:
        """Suffix of the type in names of intrinsics."""
        return f'f{self.bits[0]}'

    @property
    def integral(self) -> float:
        """Constant that, added to a number, leaves its nearest integer in the last bits."""
        return 1.5 * 2.0 ** self.bits[1]

    @property
    def integral_bits(self) -> int:
        """Bits of `integral`."""
        packed = struct.pack('<d' if self.bits[0] == 64 else '<f', self.integral)
        return int.from_bytes(packed, 'little')


DOUBLE_PRECISION = Precision((64, 52), 20, (33, 33, 33, 53), 8, 8)
SINGLE_PRECISION = Precision((32, 23), 8, (15, 15, 15, 24), 4, 4)
