"""The state of RViz's window: sizes of its docks in the format of Qt's QMainWindow::saveState."""

from __future__ import annotations

import struct
from collections.abc import Sequence

WIDTH, HEIGHT = 1440, 860
"""Size of the window, px."""
LEFT, RIGHT, BOTTOM = 300, 240, 60
"""Width of the docks Displays and Views, height of the dock Time, px."""
BARS = 60
"""Height of menu and tool bar, px."""
LARGEST = 0xFFFFFF
"""QWIDGETSIZE_MAX, the greatest size of a dock."""
STATE, DOCKS, SEQUENCE, WIDGET, TOOL_BARS = 0xFF, 0xFD, 0xFC, 0xFB, 0xFC
"""Markers of the format."""
HORIZONTAL, VERTICAL = 1, 2
CORNERS = (4, 4, 8, 8)
"""Areas of the corners: top, top, bottom, bottom."""


def window_state() -> str:
    """Return the state with Displays at the left, Time at the bottom and Views hidden at the right, hexadecimal."""
    height = HEIGHT - BARS - BOTTOM
    areas = [
        _area(0, (LEFT, height), VERTICAL, [('Displays', True, height)]),
        _area(1, (RIGHT, height), VERTICAL, [('Views', False, height)]),
        _area(3, (WIDTH, BOTTOM), HORIZONTAL, [('Time', True, WIDTH)]),
    ]
    tools = struct.pack('>Biii', TOOL_BARS, 1, 2, 1) + _text('Tools') + struct.pack('>Biiii', 1, 0, -1, 0, 0)
    docks = struct.pack('>iiBi', STATE, 0, DOCKS, len(areas)) + b''.join(areas)
    return (docks + struct.pack('>ii4i', WIDTH - LEFT, height, *CORNERS) + tools).hex()


def _area(number: int, size: tuple[int, int], orientation: int, docks: Sequence[tuple[str, bool, int]]) -> bytes:
    """Return a dock area: its number, size, px, and docks by name, whether visible, and length, px."""
    result = struct.pack('>iiiBBi', number, *size, SEQUENCE, orientation, len(docks))
    for name, is_visible, length in docks:
        result += bytes([WIDGET]) + _text(name) + struct.pack('>Biiii', is_visible, 0, length, 100, LARGEST)
    return result


def _text(name: str) -> bytes:
    """Return a QString."""
    data = name.encode('utf-16-be')
    return struct.pack('>i', len(data)) + data
