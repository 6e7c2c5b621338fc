"""Checksums in one byte of a frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def sum8(data: Iterable[int]) -> int:
    """Return the sum of bytes modulo 256."""
    return sum(data) & 0xFF


def xor8(data: Iterable[int]) -> int:
    """Return the exclusive or of bytes."""
    result = 0
    for byte in data:
        result ^= byte
    return result


def crc8(data: Iterable[int], polynomial: int) -> int:
    """Return the CRC of bytes, most significant bit first, initial value 0xFF, inverted at the end."""
    result = 0xFF
    for byte in data:
        result ^= byte
        for _ in range(8):
            result = (result << 1 ^ polynomial if result & 0x80 else result << 1) & 0xFF
    return result ^ 0xFF


def crc8_j1850(data: Iterable[int]) -> int:
    """Return the CRC-8 of SAE J1850, polynomial 0x1D; check value 0x4B for the text 123456789."""
    return crc8(data, 0x1D)


def crc8_8h2f(data: Iterable[int]) -> int:
    """Return the CRC-8 of AUTOSAR, polynomial 0x2F; check value 0xDF for the text 123456789."""
    return crc8(data, 0x2F)


CHECKSUMS: dict[str, Callable[[Iterable[int]], int]] = {
    'sum8': sum8,
    'xor8': xor8,
    'crc8_j1850': crc8_j1850,
    'crc8_8h2f': crc8_8h2f,
}
"""Checksum functions by name in a mapping; each covers all bytes of the frame except the checksum."""
