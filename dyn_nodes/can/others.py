"""Frames on the bus outside the mapping: a babbling control unit is reported by its identifier."""

from __future__ import annotations

import math
from collections import Counter

WINDOW, MOST_COUNTED = 0.1, 256
"""Time window of the count, s, and maximum number of identifiers counted in it."""
MOST_OFTEN = 1000.0
"""Frames per second of one identifier, above the rate of any cyclic message."""


class Others:
    """Counts frames by identifier in time windows."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._start = -math.inf
        self._flood = 0, -math.inf

    def take(self, identifier: int, now: float) -> None:
        """Count a frame at a time, s."""
        if not 0.0 <= now - self._start < WINDOW:
            self._counts.clear()
            self._start = now
        if identifier in self._counts or len(self._counts) < MOST_COUNTED:
            self._counts[identifier] += 1
            if self._counts[identifier] > MOST_OFTEN * WINDOW:
                self._flood = identifier, now

    def flood(self, now: float) -> str:
        """Return a line about an identifier that flooded the bus in the last second, or ''."""
        identifier, at = self._flood
        if now - at > 1.0:
            return ''
        return f'identifier 0x{identifier:X}, not in the mapping: more than {MOST_OFTEN:g} frames per second'
