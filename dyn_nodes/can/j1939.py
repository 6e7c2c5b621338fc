"""Identifiers of SAE J1939-21, 29 bits: parameter group, destination and source address."""

from __future__ import annotations

EVERY_UNIT = 0xFF
"""Destination of frames to all control units."""
NO_UNIT = (0xFE, 0xFF)
"""Addresses that no control unit has. As source address in a DBC they mean any control unit."""
FIRST_WITHOUT_DESTINATION = 240
"""First PDU format whose PDU-specific byte belongs to the group instead of being a destination."""


def source(identifier: int) -> int:
    """Return the source address of an identifier."""
    return identifier & 0xFF


def destination(identifier: int) -> int | None:
    """Return the destination address of a frame; None for a group without destination."""
    return identifier >> 8 & 0xFF if identifier >> 16 & 0xFF < FIRST_WITHOUT_DESTINATION else None


def parameter_group(identifier: int) -> int:
    """Return the parameter group number of an identifier, without the destination if it has one."""
    group = identifier >> 8 & 0x3FFFF
    return group if destination(identifier) is None else group & 0x3FF00
