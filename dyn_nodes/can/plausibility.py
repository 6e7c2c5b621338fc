"""Checks over successive frames: jumps of quantities, too frequent messages, two senders of one message."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from dyn_nodes.can.mapping import Channel, Frame, Key, resolution

TOO_OFTEN = 1.5
"""Message rate over the nominal rate that indicates a second sender or a babbling control unit."""
HELD_BACK = 0.2
"""Time span of frames that may arrive together from an adapter or computer with delays, s."""
INTERLEAVED = 4
"""Number of successive counters that continue the last but one frame, and not the last, that indicates two senders."""


class Plausibility:
    """Checks successive frames. A failed channel is implausible until no check has failed for one timeout.

    Args:
        frames: frames to check.
    """

    def __init__(self, frames: Iterable[Frame]) -> None:
        self._steps = {
            channel.key: resolution(frame, channel)
            for frame in frames
            for channel in frame.channels
            if channel.max_rate < math.inf
        }
        self._seen: dict[Key, tuple[float, float]] = {}
        self._levels: dict[str, tuple[float, float]] = {}
        self._counts: dict[str, tuple[int, int, int]] = {}
        self._doubted: dict[Key, tuple[float, str]] = {}

    def is_doubted(self, channel: Channel, now: float) -> bool:
        """Return whether a channel is implausible at a time, s."""
        return now < self._doubted.get(channel.key, (-math.inf, ''))[0]

    def doubt(self, frame: Frame, now: float) -> str:
        """Return the reason why a channel of a frame is implausible at a time, s, or ''."""
        texts = (self._doubted[channel.key][1] for channel in frame.channels if self.is_doubted(channel, now))
        return next(texts, '')

    def count(self, frame: Frame, now: float) -> None:
        """Count a frame; more than `TOO_OFTEN` times the rate of its message is a fault.

        Frames of one timeout, at least `HELD_BACK`, may arrive together; twice the rate is detected in twice that time.
        """
        level, before = self._levels.get(frame.name, (0.0, now))
        level = max(level - TOO_OFTEN * max(now - before, 0.0) / frame.period, 0.0) + 1.0
        most = max(frame.timeout, HELD_BACK) / frame.period
        self._levels[frame.name] = min(level, most), now
        if level > most:
            cause = f'more than {TOO_OFTEN:g} times as many: a second sender'
            self._doubt_all(frame, f'{frame.name}: expected a frame every {frame.period:g} s, found {cause}', now)

    def follow(self, frame: Frame, count: int, now: float) -> None:
        """Check an alive counter at a time, s: two interleaved counts come from two senders."""
        before, last, turns = self._counts.get(frame.name, (count, count, 0))
        steps = 1 << frame.message.get_signal_by_name(frame.counter).length
        by_turns = (count - before) % steps == 1 != (count - last) % steps
        turns = min(turns + 1, INTERLEAVED) if by_turns else 0
        self._counts[frame.name] = last, count, turns
        if turns >= INTERLEAVED:
            text = f'{frame.name}.{frame.counter}: expected one count, found two interleaved counts: a second sender'
            self._doubt_all(frame, text, now)

    def _doubt_all(self, frame: Frame, text: str, now: float) -> None:
        self._doubted.update((channel.key, (now + frame.timeout, text)) for channel in frame.channels)

    def compare(self, frame: Frame, values: Mapping[Key, float], now: float) -> None:
        """Check the rates of change of the quantities of a frame at a time, s, against `max_rate`.

        Frames that arrive together, from an adapter with delays, count as one cycle apart.
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
