"""Reproducible order of messages in a bag of simulated time.

Messages of different publishers reach the recorder in an order that varies from run to run by some milliseconds of
wall time. A message is therefore held back until the simulated clock has passed its time stamp for `hold` seconds of
*wall* time. Messages are then written in the order of (time stamp, topic, arrival on that topic). A message was
published before the clock passed its stamp, and had `hold` seconds to arrive. While the clock is stopped, messages of
that instant wait without limit. Two runs of the same lockstep simulation therefore give the same sequence of messages.

A message that arrives later is written out of order, and counted by `late`. A message with a stamp ahead of the clock,
from a publisher with another clock, is written after `timeout` seconds of wall time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from itertools import repeat

SHARED_TOPICS = ('diagnostics', 'rosout', 'events', 'parameter_events', 'tf', 'tf_static')
"""Topics, by the last part of their name, with many publishers: messages of the same instant are sorted by their bytes,
because their arrival order is random."""

DAY = 86_400 * 10**9
LATEST = 2**63
"""Upper limit of the times of a bag, ns."""

Entry = tuple[int, str, bytes, int, int, int, bytes]
"""Log time, topic, data of a shared topic, arrival number, topic number, publish time, data; sorts in bag order."""


def simulated_time(stamp: int, clock: int, now: int) -> int:
    """Return the simulated time of a message, ns: its source timestamp, or `clock` if that is wall time.

    Args:
        stamp: source timestamp, ns.
        clock: current simulated time, ns.
        now: wall time, ns.
    """
    if abs(stamp - now) < DAY < abs(clock - now) or not 0 <= stamp < LATEST:
        return clock
    return stamp


class HoldBack:
    """Messages that are held back.

    Args:
        hold: wall time from when the clock passes a stamp until the message is written, s.
        timeout: wall time after which a message with a stamp ahead of the clock is written, s.
    """

    def __init__(self, hold: float = 0.4, timeout: float = 0.8):
        self.hold = hold
        self.timeout = timeout
        self.late = 0
        self._waiting: list[Entry] = []
        self._is_shared: dict[str, bool] = {}
        self._arrivals = 0
        self._clock = 0
        self._marks: deque[tuple[float, int, int]] = deque()
        self._horizon = -1
        self._written = -1

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def clock(self) -> int:
        """Current simulated time, ns."""
        return self._clock

    def see_clock(self, nanoseconds: int) -> None:
        """Set the simulated time, ns; a decrease resets the order."""
        if nanoseconds < self._clock:
            self._horizon = self._written = -1
            self._marks.clear()
        self._clock = nanoseconds

    def add(self, log_time: int, topic: str, number: int, publish_time: int, data: bytes) -> None:
        """Add a message."""
        self._arrivals += 1
        if log_time < self._written:
            self.late += 1
        first = data if self._is_of_many(topic) else b''
        self._waiting.append((log_time, topic, first, self._arrivals, number, publish_time, data))

    def add_all(self, topic: str, number: int, times: Sequence[int], messages: Sequence[bytes]) -> None:
        """Add messages of one topic in order of arrival, with their publish times, ns."""
        if min(times) < self._written:
            self.late += sum(time < self._written for time in times)
        numbers = range(self._arrivals + 1, self._arrivals + 1 + len(times))
        self._arrivals += len(times)
        firsts = messages if self._is_of_many(topic) else repeat(b'')
        self._waiting += zip(times, repeat(topic), firsts, numbers, repeat(number), times, messages)

    def _is_of_many(self, topic: str) -> bool:
        is_shared = self._is_shared.get(topic)
        if is_shared is None:
            is_shared = self._is_shared[topic] = topic.rpartition('/')[2] in SHARED_TOPICS
        return is_shared

    def mark(self, now: float) -> None:
        """Record the state of the clock; call it before received messages are added.

        A recorder with a delay takes the messages of many instants together, topic by topic, and /clock may be among
        the first. Hold times therefore count from a mark that was set before any of them was taken.

        Args:
            now: wall time, s.
        """
        self._marks.append((now, self._clock, self._arrivals))

    def due(self, now: float) -> list[tuple[int, int, int, bytes]]:
        """Return the messages that are due, in order.

        Args:
            now: wall time, s; call at least every `hold` seconds.

        Returns:
            (topic number, log time, publish time, data) each, for `BagWriter.checkpoint`.
        """
        if not self._marks or self._marks[-1][0] < now:
            self.mark(now)
        old_arrival = -1
        for time, clock, arrivals in self._marks:
            if time <= now - self.hold:
                self._horizon = max(self._horizon, clock)
            if time <= now - self.timeout:
                old_arrival = arrivals
        while self._marks and self._marks[0][0] <= now - self.timeout:
            self._marks.popleft()
        waiting = self._waiting
        waiting.sort()
        passed = bisect_left(waiting, self._horizon, key=_log_time)
        ahead = bisect_right(waiting, self._clock, key=_log_time)
        beyond = waiting[max(passed, ahead) :]
        ready = waiting[:passed] + [entry for entry in beyond if entry[3] <= old_arrival]
        self._waiting = waiting[passed:ahead] + [entry for entry in beyond if entry[3] > old_arrival]
        self._written = max(self._written, self._horizon)
        return _without_turns(ready)

    def all(self) -> list[tuple[int, int, int, bytes]]:
        """Return all remaining messages, in order."""
        ready, self._waiting = self._waiting, []
        ready.sort()
        return _without_turns(ready)


def _log_time(entry: Entry) -> int:
    return entry[0]


def _without_turns(entries: list[Entry]) -> list[tuple[int, int, int, bytes]]:
    return [(number, time, published, data) for time, _, _, _, number, published, data in entries]
