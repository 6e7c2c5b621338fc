"""Whether what is seen is what is: a stopped machine is said, never shown as a still picture."""

from __future__ import annotations

from dataclasses import dataclass

RUNNING, PAUSED, WAITING, LOST = 'running', 'paused', 'waiting', 'lost'
REPLAYED = 'replay'
"""A recorded run is shown; no connection is in this state."""
RATE_WINDOW = 1.0
EVENT_SHOWN = 10.0
"""Wall time for which an event is shown, s."""
RESUMED_AFTER, STEADY = 1.0, 0.2
"""Messages that still come so long after a pause, s, no further apart than this, s, mean that it is over."""


@dataclass(frozen=True)
class State:
    """How things are.

    Attributes:
        kind: RUNNING, PAUSED, WAITING or LOST.
        text, details: in words.
    """

    kind: str
    text: str
    details: str = ''


class Connection:
    """Watches the machine's messages.

    Args:
        source: who sends them, for the words.
        silence: wall time without a message after which the connection counts as lost, s.

    Attributes:
        paused: the simulation was paused.
        fault: what the machine's node says of itself if something is wrong, or ''.
        mixed: the sources of messages of several machines on the same topics, or ''.
    """

    def __init__(self, source: str, silence: float = 1.0) -> None:
        self.source, self.silence = source, silence
        self.paused = False
        self.fault = self.mixed = ''
        self._event, self._event_at = '', 0.0
        self.time = 0.0
        self.rate = float('nan')
        self._paused_at = 0.0
        self._heard: float | None = None
        self._mark: tuple[float, float] | None = None

    @property
    def heard(self) -> bool:
        """True once there was a message."""
        return self._heard is not None

    def age(self, now: float) -> float:
        """Return how long ago the last message came, s; inf where there was none."""
        return float('inf') if self._heard is None else now - self._heard

    def message(self, time: float, now: float) -> bool:
        """A message of a time (simulated or measured, s) has come at a wall time, s. Returns True if time went back."""
        back = self.heard and time < self.time - 1e-6
        if back or self._mark is None:
            self._mark, self.rate = (time, now), float('nan')
        elif now - self._mark[1] >= RATE_WINDOW:
            self.rate = (time - self._mark[0]) / (now - self._mark[1])
            self._mark = (time, now)
        if self.paused and now - self._paused_at > RESUMED_AFTER and now - (self._heard or 0.0) < STEADY:
            self.paused = False  # another client let it go on
        self.time, self._heard = time, now
        return back

    def happened(self, text: str, now: float) -> None:
        """Something has happened; '' forgets what has."""
        self._event, self._event_at = text, now

    def event(self, now: float) -> str:
        """Return what has happened lately, ''  where nothing has."""
        return self._event if now - self._event_at <= EVENT_SHOWN else ''

    def pause(self, now: float) -> None:
        """Note that the machine was paused, or is reported as paused."""
        if not self.paused:
            self.paused, self._paused_at = True, now

    def play(self) -> None:
        """Note that the machine goes on."""
        self.paused = False

    def state(self, now: float, publishers: int) -> State:
        """Return how things are.

        Args:
            now: wall time, s.
            publishers: how many nodes offer the machine's messages.
        """
        if self.mixed:
            return State(LOST, 'More than one machine', self.mixed)
        if self._heard is None:
            details = 'It is there, but has sent nothing yet.' if publishers else f'{self.source} is not there yet.'
            return State(WAITING, 'Waiting for a machine', details)
        age = now - self._heard
        if age <= self.silence:
            factor = f' · {self.rate:.2g}× real time' if self.rate == self.rate else ''
            return State(RUNNING, f't = {self.time:.1f} s{factor}', self.fault or self.event(now))
        still = f'The picture is of t = {self.time:.2f} s, {age:.0f} s ago.'
        if not publishers:
            return State(LOST, f'{self.source} has gone', still)
        if self.paused:
            return State(PAUSED, f'Paused at t = {self.time:.3f} s', self.event(now))
        return State(LOST, f'No data from {self.source}', ' '.join(text for text in (self.fault, still) if text))
