"""State of the connection to a machine: an interruption is reported, never shown as a machine at rest."""

from __future__ import annotations

from dataclasses import dataclass

RUNNING, PAUSED, WAITING, LOST = 'running', 'paused', 'waiting', 'lost'
REPLAYED = 'replay'
"""State of the page while it shows a recorded run; not a state of a connection."""
RATE_WINDOW = 1.0
"""Wall time over which the real-time factor is measured, s."""
EVENT_SHOWN = 10.0
"""Wall time for which an event is shown, s."""
RESUMED_AFTER, STEADY = 1.0, 0.2
"""A pause ends if messages still arrive this long after it, s, at intervals below the second value, s."""


@dataclass(frozen=True)
class State:
    """State of the connection.

    Attributes:
        kind: RUNNING, PAUSED, WAITING or LOST.
        text: text of the banner.
        details: text in smaller letters.
    """

    kind: str
    text: str
    details: str = ''


class Connection:
    """Monitors the messages of a machine.

    Args:
        source: name of the sender, for texts.
        timeout: wall time without a message after which the connection is lost, s.

    Attributes:
        paused: the simulation was paused.
        fault: fault reported by the machine's node, or ''.
        mixed: sources of messages of several machines on the same topics, or ''.
    """

    def __init__(self, source: str, timeout: float = 1.0) -> None:
        self.source, self.timeout = source, timeout
        self.paused = False
        self.fault = self.mixed = ''
        self._event, self._event_at = '', 0.0
        self.time = 0.0
        self.rate = float('nan')
        self._paused_at = 0.0
        self._received_at: float | None = None
        self._mark: tuple[float, float] | None = None

    @property
    def has_data(self) -> bool:
        """True after the first message."""
        return self._received_at is not None

    def age(self, now: float) -> float:
        """Return the time since the last message, s; inf before the first."""
        return float('inf') if self._received_at is None else now - self._received_at

    def message(self, time: float, now: float) -> bool:
        """Record a message with a stamp, s, that arrived at wall time `now`, s. Return True if the stamp went back."""
        back = self.has_data and time < self.time - 1e-6
        if back or self._mark is None:
            self._mark, self.rate = (time, now), float('nan')
        elif now - self._mark[1] >= RATE_WINDOW:
            self.rate = (time - self._mark[0]) / (now - self._mark[1])
            self._mark = (time, now)
        if self.paused and now - self._paused_at > RESUMED_AFTER and now - (self._received_at or 0.0) < STEADY:
            self.paused = False  # another client has resumed it
        self.time, self._received_at = time, now
        return back

    def happened(self, text: str, now: float, stamp: float | None = None) -> None:
        """Record an event; '' clears it.

        Args:
            text: of the event.
            now: wall time, s.
            stamp: time of the event on the clock of the machine, s; None: unknown.
        """
        self._event, self._event_at = text, now

    def event(self, now: float) -> str:
        """Return the recent event, or ''."""
        return self._event if now - self._event_at <= EVENT_SHOWN else ''

    def pause(self, now: float) -> None:
        """Record that the simulation is paused."""
        if not self.paused:
            self.paused, self._paused_at = True, now

    def play(self) -> None:
        """Record that the simulation runs."""
        self.paused = False

    def state(self, now: float, publishers: int) -> State:
        """Return the state of the connection.

        Args:
            now: wall time, s.
            publishers: number of publishers of the machine's messages.
        """
        if self.mixed:
            return State(LOST, 'More than one machine', self.mixed)
        if self._received_at is None:
            details = 'It is running but has sent no data yet.' if publishers else f'{self.source} is not running yet.'
            return State(WAITING, 'Waiting for a machine', details)
        age = now - self._received_at
        if age <= self.timeout:
            factor = f' · {self.rate:.2g}× real time' if self.rate == self.rate else ''
            return State(RUNNING, f't = {self.time:.1f} s{factor}', self.fault or self.event(now))
        still = f'The picture shows t = {self.time:.2f} s, {age:.0f} s ago.'
        if not publishers:
            return State(LOST, f'{self.source} has stopped', still)
        if self.paused:
            return State(PAUSED, f'Paused at t = {self.time:.3f} s', self.event(now))
        return State(LOST, f'No data from {self.source}', ' '.join(text for text in (self.fault, still) if text))
