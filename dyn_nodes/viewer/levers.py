"""Levers of the page: exclusive control by one page, and automatic return to neutral."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Owner = int | str

PUSH_TIME = 0.3
"""Time without a message after which a push button or a held key counts as released, s."""
FAREWELL = 0.5
"""Time for which neutral is commanded after the end of driving, s."""


class Levers:
    """Manual valve voltages behind a dead-man switch.

    Nothing is commanded until a page arms the levers; then only that page can move them. The levers return to neutral
    and must be armed again when that page closes, disarms, or does not touch a deflected lever for `idle_timeout`.

    Args:
        names: names of the valves, in the order of the command.
        limits: maximum voltage by name, V.
        idle_timeout: maximum time without a touch of a deflected lever, s.

    Attributes:
        owner: page that drives, or None.
        reason: reason why driving ended, or ''.
    """

    def __init__(self, names: Sequence[str], limits: Mapping[str, float], idle_timeout: float = 10.0) -> None:
        self.names, self.limits, self.idle_timeout = tuple(names), dict(limits), idle_timeout
        self.owner: Owner | None = None
        self.reason = ''
        self._values = dict.fromkeys(self.names, 0.0)
        self._pushed: dict[str, tuple[float, float]] = {}
        self._touched = 0.0
        self._disarmed_at: float | None = None

    @property
    def armed(self) -> bool:
        """True while a page drives."""
        return self.owner is not None

    def arm(self, owner: Owner, now: float) -> bool:
        """Start to drive with all levers neutral. Return False if another page drives."""
        if self.owner is not None:
            return self.owner == owner
        self.neutral()
        self.owner, self.reason, self._touched, self._disarmed_at = owner, '', now, None
        return True

    def disarm(self, reason: str, now: float) -> None:
        """Stop driving; neutral is commanded for `FAREWELL`."""
        if self.owner is not None:
            self.owner, self.reason, self._disarmed_at = None, reason, now
        self.neutral()

    def neutral(self) -> None:
        """Release all levers."""
        self._values = dict.fromkeys(self.names, 0.0)
        self._pushed = {}

    def move(self, name: str, volts: float, owner: Owner | None, now: float) -> bool:
        """Set a lever. Return False if this page may not.

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
        """Deflect a lever for `PUSH_TIME`; it returns unless pushed again. Return False if this page may not."""
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
        """Return the voltages to send now; None: send nothing.

        Args:
            now: time of a monotonic clock, s.
            present: pages that may drive.
        """
        if self.owner is not None:
            if self.owner not in present:
                self.disarm('the driving page was closed', now)
            elif any(self.values(now).values()) and now - self._touched > self.idle_timeout:
                self.disarm(f'no lever was touched for {self.idle_timeout:g} s', now)
        if self.owner is not None:
            values = self.values(now)
            return [values[name] for name in self.names]
        if self._disarmed_at is not None and now - self._disarmed_at <= FAREWELL:
            return [0.0] * len(self.names)
        self._disarmed_at = None
        return None


class HeldKey:
    """A key of a page that acts while it is held.

    The page numbers its presses from 1 and repeats the number while the key is held; 0: it is released. A press ends
    without messages for `PUSH_TIME`; then only a new press counts.
    """

    def __init__(self) -> None:
        self._number = self._ended = 0
        self._received_at = -math.inf

    def update(self, number: int, now: float) -> None:
        """Process a message at a time, s."""
        if number != self._number or now - self._received_at > PUSH_TIME:
            self.end()
        self._number, self._received_at = number, now

    def end(self) -> None:
        """End the present press."""
        self._ended = max(self._ended, self._number)

    def is_held(self, now: float) -> bool:
        """Return whether the key is held at a time, s."""
        return self._number > self._ended and now - self._received_at <= PUSH_TIME
