"""What no single frame shows: quantities that jump, messages that come too often, and two senders of one message."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from dyn_nodes.can.mapping import Channel, Frame, Key, resolution

TOO_OFTEN = 1.5
"""Times the rate of its period: a message that keeps coming faster has a second sender, or a unit that babbles."""
HELD_BACK = 0.2
"""Frames of so much time, s, may come at once, from an adapter or a computer that held them back."""
INTERLEAVED = 4
"""So many frames in a row whose counters go on from the last but one, and not from the last, have two senders."""


class Plausibility:
    """Watches successive frames. What fails is not believed until nothing has failed for one timeout.

    Args:
        frames: to watch.
    """

    def __init__(self, frames: Iterable[Frame]) -> None:
        self._steps = {
            own.key: resolution(frame, own) for frame in frames for own in frame.channels if own.max_rate < math.inf
        }
        self._seen: dict[Key, tuple[float, float]] = {}
        self._levels: dict[str, tuple[float, float]] = {}
        self._counts: dict[str, tuple[int, int, int]] = {}
        self._doubted: dict[Key, tuple[float, str]] = {}

    def is_doubted(self, channel: Channel, now: float) -> bool:
        """Return whether a channel is not believed at a time, s."""
        return now < self._doubted.get(channel.key, (-math.inf, ''))[0]

    def doubt(self, frame: Frame, now: float) -> str:
        """Return why one of a frame's channels is not believed at a time, s, or ''."""
        texts = (self._doubted[own.key][1] for own in frame.channels if self.is_doubted(own, now))
        return next(texts, '')

    def count(self, frame: Frame, now: float) -> None:
        """Take notice of a frame: more than `TOO_OFTEN` the rate of its message is a fault.

        Those of one timeout, of `HELD_BACK` at least, may come at once; so twice the rate is noticed in twice the time.
        """
        level, before = self._levels.get(frame.name, (0.0, now))
        level = max(level - TOO_OFTEN * max(now - before, 0.0) / frame.period, 0.0) + 1.0
        most = max(frame.timeout, HELD_BACK) / frame.period
        self._levels[frame.name] = min(level, most), now
        if level > most:
            found = f'more than {TOO_OFTEN:g} times as many: a second sender'
            self._doubt_all(frame, f'{frame.name}: expected a frame every {frame.period:g} s, found {found}', now)

    def follow(self, frame: Frame, count: int, now: float) -> None:
        """Take notice of an alive counter at a time, s: two that go on by turns are those of two senders."""
        before, last, turns = self._counts.get(frame.name, (count, count, 0))
        steps = 1 << frame.message.get_signal_by_name(frame.counter).length
        by_turns = (count - before) % steps == 1 != (count - last) % steps
        turns = min(turns + 1, INTERLEAVED) if by_turns else 0
        self._counts[frame.name] = last, count, turns
        if turns >= INTERLEAVED:
            text = f'{frame.name}.{frame.counter}: expected one count, found two by turns: a second sender'
            self._doubt_all(frame, text, now)

    def _doubt_all(self, frame: Frame, text: str, now: float) -> None:
        self._doubted.update((own.key, (now + frame.timeout, text)) for own in frame.channels)

    def compare(self, frame: Frame, values: Mapping[Key, float], now: float) -> None:
        """Take notice of the quantities of a frame at a time, s: none may change faster than its `max_rate`.

        Frames that arrive together, from an adapter that held them back, count as one cycle apart.
        """
        for channel in frame.channels:
            key = channel.key
            if key not in values or key not in self._steps:
                continue
            before, self._seen[key] = self._seen.get(key), (values[key], now)
            if before is None:
                continue
            change = abs(values[key] - before[0])
            most = channel.max_rate * max(now - before[1], frame.cycle) + self._steps[key]
            if change > most:
                where = f'{frame.name}.{channel.signal}'
                text = f'{where}: expected a change of at most {most:.3g}, found a jump of {change:.3g}'
                self._doubted[key] = now + frame.timeout, text
