"""The levers of the page: who may move them, and when they go back to neutral by themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Owner = int | str

PUSH_TIME = 0.3
"""A push button counts as let go after this time without a message, s."""
FAREWELL = 0.5
"""After the end of driving neutral is still commanded for so long, s."""


class Levers:
    """Valve voltages by hand, behind a dead-man switch.

    Nothing is commanded until a page arms the levers, and then by that page alone. They go back to neutral,
    and must be armed again, when that one leaves, lets go, or has not touched a deflected lever for `idle_timeout`.

    Args:
        names: of the valves, in the order of the command.
        limits: greatest voltage by name, V.
        idle_timeout: how long a deflected lever may be left alone, s.

    Attributes:
        owner: who drives, or None.
        reason: why driving ended, '' where it has not.
    """

    def __init__(self, names: Sequence[str], limits: Mapping[str, float], idle_timeout: float = 10.0) -> None:
        self.names, self.limits, self.idle_timeout = tuple(names), dict(limits), idle_timeout
        self.owner: Owner | None = None
        self.reason = ''
        self._values = dict.fromkeys(self.names, 0.0)
        self._pushed: dict[str, tuple[float, float]] = {}
        self._touched = 0.0
        self._ended: float | None = None

    @property
    def armed(self) -> bool:
        """True while a page drives."""
        return self.owner is not None

    def arm(self, owner: Owner, now: float) -> bool:
        """Start to drive, all levers neutral. Returns False where another page drives."""
        if self.owner is not None:
            return self.owner == owner
        self.neutral()
        self.owner, self.reason, self._touched, self._ended = owner, '', now, None
        return True

    def disarm(self, reason: str, now: float) -> None:
        """Stop driving; neutral is commanded for a moment."""
        if self.owner is not None:
            self.owner, self.reason, self._ended = None, reason, now
        self.neutral()

    def neutral(self) -> None:
        """Let all levers go."""
        self._values = dict.fromkeys(self.names, 0.0)
        self._pushed = {}

    def move(self, name: str, volts: float, owner: Owner | None, now: float) -> bool:
        """Put a lever somewhere. Returns False where this one may not.

        Raises:
            KeyError: no such valve.
        """
        value = self._within(name, float(volts))
        if self.owner is None or owner != self.owner or not math.isfinite(volts):
            return False
        self._values[name] = value
        self._touched = now
        return True

    def push(self, name: str, volts: float, owner: Owner | None, now: float) -> bool:
        """Deflect a lever for a moment; it springs back unless pushed again. Returns False where this one may not."""
        value = self._within(name, float(volts))
        if self.owner is None or owner != self.owner or not math.isfinite(volts):
            return False
        self._pushed[name] = value, now
        self._touched = now
        return True

    def _within(self, name: str, value: float) -> float:
        """Return a value within the limits of a lever. Raises KeyError: no such lever."""
        return min(max(value, -self.limits[name]), self.limits[name])

    def values(self, now: float) -> dict[str, float]:
        """Return the voltage of every valve now."""
        result = dict(self._values)
        for name, (volts, when) in list(self._pushed.items()):
            if now - when > PUSH_TIME:
                del self._pushed[name]
            else:
                result[name] = volts
        return result

    def command(self, now: float, present: Sequence[Owner]) -> list[float] | None:
        """Return the voltages to send now, None where nothing is to be sent.

        Args:
            now: s, any steady clock.
            present: those who are still there.
        """
        if self.owner is not None:
            if self.owner not in present:
                self.disarm('the page that drove has gone', now)
            elif any(self.values(now).values()) and now - self._touched > self.idle_timeout:
                self.disarm(f'no lever was touched for {self.idle_timeout:g} s', now)
        if self.owner is not None:
            values = self.values(now)
            return [values[name] for name in self.names]
        if self._ended is not None and now - self._ended <= FAREWELL:
            return [0.0] * len(self.names)
        self._ended = None
        return None
