"""Numbers of vector kernels: in double precision, or in single, of which a vector of the processor holds twice as many.

Single precision is for what is predicted a short time ahead, where its rounding, 6e-8 of a number, is far below what is
known of the machine.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from llvmlite import ir


@dataclass(frozen=True)
class Precision:
    """How a number is stored, and what its sine and cosine take.

    Attributes:
        bits: of a number, and of its mantissa after the leading one.
        quarters: multiples of pi / 2, at most 2 to this, by which an angle is reduced.
        pieces: bits of the floats whose sum is pi / 2; a multiple of all but the last one is exact.
        sin_terms: of the series of the sine beyond the first one.
        cos_terms: of that of the cosine beyond the first two.
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
        """Type of the integers that are as long."""
        return ir.IntType(self.bits[0])

    @property
    def bytes(self) -> int:
        """Length of a number."""
        return self.bits[0] // 8

    @property
    def suffix(self) -> str:
        """Name of the type in those of intrinsics."""
        return f'f{self.bits[0]}'

    @property
    def integral(self) -> float:
        """What leaves, added to a number, its nearest integer in the last bits."""
        return 1.5 * 2.0 ** self.bits[1]

    @property
    def integral_bits(self) -> int:
        """Bits of that number."""
        packed = struct.pack('<d' if self.bits[0] == 64 else '<f', self.integral)
        return int.from_bytes(packed, 'little')


DOUBLE_PRECISION = Precision((64, 52), 20, (33, 33, 33, 53), 8, 8)
SINGLE_PRECISION = Precision((32, 23), 8, (15, 15, 15, 24), 4, 4)
