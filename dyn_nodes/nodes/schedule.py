"""Schedule of simulated time by the wall clock, and the real-time factor."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import numpy as np

MOST_CATCH_UP = 0.1
"""Greatest delay of simulated time that is caught up, s; the rest is dropped and counted."""
LATE_WINDOW = 5.0
FACTOR_WINDOW = 2.0


class WallSchedule:
    """Schedule of simulated instants: not before `origin + t / speed`.

    Args:
        speed: simulated seconds per second of wall time.
        clock: a steady clock, s.

    Attributes:
        missed: number of instants that started later than `tolerance` after their time.
        lost: wall time dropped after delays, s.
    """

    def __init__(self, speed: float, tolerance: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.speed, self.tolerance, self.clock = speed, tolerance, clock
        self.missed = 0
        self.lost = 0.0
        self._last_loss = -np.inf
        self._origin = clock()

    def rebase(self, simulated: float) -> None:
        """Set the origin so that the simulated time `simulated`, s, is due now."""
        self._origin = self.clock() - simulated / self.speed

    def is_due(self, simulated: float) -> bool:
        """Return whether the instant `simulated`, s, may start. Nothing is counted."""
        return self.clock() - self._origin >= simulated / self.speed - 1e-9

    def start(self, simulated: float) -> None:
        """Count the delay of an instant at its start; a delay beyond `MOST_CATCH_UP` moves the origin."""
        behind = self.clock() - self._origin - simulated / self.speed
        if behind > self.tolerance:
            self.missed += 1
        if behind > MOST_CATCH_UP:
            excess = behind - MOST_CATCH_UP
            self.lost += excess
            self._origin += excess
            self._last_loss = self.clock()

    @property
    def late(self) -> bool:
        """Return whether wall time was dropped within `LATE_WINDOW`."""
        return self.clock() - self._last_loss < LATE_WINDOW


class RealTimeFactor:
    """Simulated seconds per second of wall time over the last seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._marks: deque[tuple[float, float]] = deque()

    def clear(self) -> None:
        """Drop all marks: simulated time has jumped or was stopped."""
        self._marks.clear()

    def note(self, simulated: float) -> None:
        """Add a mark of the present simulated time, s."""
        now = self.clock()
        self._marks.append((now, simulated))
        while len(self._marks) > 2 and self._marks[1][0] <= now - FACTOR_WINDOW:
            self._marks.popleft()

    @property
    def value(self) -> float:
        """Return the factor; NaN before the second mark."""
        if len(self._marks) < 2:
            return float('nan')
        (began, first), (finished, last) = self._marks[0], self._marks[-1]
        return (last - first) / max(finished - began, 1e-9)
