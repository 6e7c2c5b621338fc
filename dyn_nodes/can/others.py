"""Frames on the bus that are none of the mapping's: a control unit that babbles is named by its identifier."""

from __future__ import annotations

import math
from collections import Counter

WINDOW, MOST_KNOWN = 0.1, 256
"""Time over which frames are counted, s, and identifiers that are distinguished meanwhile."""
MOST_OFTEN = 1000.0
"""Frames per second of one identifier that no cyclic message has."""


class Others:
    """Counts frames by identifier over windows of time."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._start = -math.inf
        self._flood = 0, -math.inf

    def take(self, identifier: int, now: float) -> None:
        """Count a frame at a time, s."""
        if not 0.0 <= now - self._start < WINDOW:
            self._counts.clear()
            self._start = now
        if identifier in self._counts or len(self._counts) < MOST_KNOWN:
            self._counts[identifier] += 1
            if self._counts[identifier] > MOST_OFTEN * WINDOW:
                self._flood = identifier, now

    def flood(self, now: float) -> str:
        """Return which identifier floods the bus, in the last second, or ''."""
        identifier, at = self._flood
        if now - at > 1.0:
            return ''
        return f'identifier 0x{identifier:X}, none of the mapping: more than {MOST_OFTEN:g} frames per second'
