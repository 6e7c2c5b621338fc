"""The order of messages in a bag of simulated time.

Messages of different publishers reach the recorder in an order that differs from run to run, by some milliseconds of
real time. In simulated time the order is put right: a message is held back until the simulated clock had gone
beyond its time stamp already `hold` seconds of *real* time ago, and then written in the order of (time stamp, topic,
arrival on that topic). A message with that stamp was published before the clock went on, so it has had `hold` seconds
to arrive.
While the clock stands still the messages of that instant wait, however long it takes.
Two runs of the same lockstep simulation so give the same sequence of messages.

A message that comes later than that is written all the same, after its turn; `late` counts them. A message whose stamp
lies ahead of the clock (its publisher has another clock) is not kept for ever: it is written once it is `patience`
seconds of real time old.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from itertools import repeat

SHARED_TOPICS = ('diagnostics', 'rosout', 'events', 'parameter_events', 'tf', 'tf_static')
"""Topics (the last part of their name) of many publishers: what they say at the same instant is put in the order of its
bytes; arrival is chance."""

DAY = 86_400 * 10**9
LATEST = 2**63
"""Times of a bag are less, ns."""

Entry = tuple[int, str, bytes, int, int, int, bytes]
"""Log time, topic, data of a shared topic, arrival number, topic number, publish time, data: in the order of turns."""


def simulated_time(stamp: int, clock: int, now: int) -> int:
    """Return the simulated time of a message, ns: its source timestamp, unless that is of the wall clock.

    Args:
        stamp: source timestamp, ns.
        clock: newest simulated time, ns.
        now: time of the wall clock, ns.
    """
    if abs(stamp - now) < DAY < abs(clock - now) or not 0 <= stamp < LATEST:
        return clock
    return stamp


class HoldBack:
    """Messages that wait for their turn.

    Args:
        hold: Seconds of real time between the clock's passing of a stamp and the writing.
        patience: Seconds of real time after which a message with a stamp ahead of the clock is written.
    """

    def __init__(self, hold: float = 0.4, patience: float = 0.8):
        self.hold = hold
        self.patience = patience
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
        """The newest simulated time seen, in nanoseconds."""
        return self._clock

    def see_clock(self, nanoseconds: int) -> None:
        """The simulated clock has come to a time; a clock that was set back begins anew."""
        if nanoseconds < self._clock:
            self._horizon = self._written = -1
            self._marks.clear()
        self._clock = nanoseconds

    def add(self, log_time: int, topic: str, number: int, publish_time: int, data: bytes) -> None:
        """A message has arrived."""
        self._arrivals += 1
        if log_time < self._written:
            self.late += 1
        first = data if self._is_of_many(topic) else b''
        self._waiting.append((log_time, topic, first, self._arrivals, number, publish_time, data))

    def add_all(self, topic: str, number: int, times: Sequence[int], messages: Sequence[bytes]) -> None:
        """Messages of one topic have arrived, in this order, with the times at which they were published."""
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
        """Note how far the clock has come; call it before what has arrived is added.

        A recorder that lags takes the messages of many instants at once, topic by topic: the clock's own may be among
        the first. What the clock has passed counts from a mark that was set before all of them were taken.

        Args:
            now: Real time in seconds.
        """
        self._marks.append((now, self._clock, self._arrivals))

    def due(self, now: float) -> list[tuple[int, int, int, bytes]]:
        """The messages whose turn has come, in order.

        Args:
            now: Real time in seconds; call at least every `hold` seconds.

        Returns:
            (topic number, log time, publish time, data) each, as `BagWriter.checkpoint` takes them.
        """
        if not self._marks or self._marks[-1][0] < now:
            self.mark(now)
        old_arrival = -1
        for time, clock, arrivals in self._marks:
            if time <= now - self.hold:
                self._horizon = max(self._horizon, clock)
            if time <= now - self.patience:
                old_arrival = arrivals
        while self._marks and self._marks[0][0] <= now - self.patience:
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
        """Everything that is left, in order."""
        ready, self._waiting = self._waiting, []
        ready.sort()
        return _without_turns(ready)


def _log_time(entry: Entry) -> int:
    return entry[0]


def _without_turns(entries: list[Entry]) -> list[tuple[int, int, int, bytes]]:
    return [(number, time, published, data) for time, _, _, _, number, published, data in entries]
