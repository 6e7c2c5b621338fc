"""What no single frame shows: quantities that jump, and messages that come far too often."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from dyn_nodes.can.mapping import Channel, Frame, Key, resolution

TOO_OFTEN = 4.0
"""Times the rate of its period: a message that keeps coming faster has a second sender, or a unit that babbles."""


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
        self._doubted: dict[Key, tuple[float, str]] = {}

    def is_doubted(self, channel: Channel, now: float) -> bool:
        """Return whether a channel is not believed at a time, s."""
        return now < self._doubted.get(channel.key, (-math.inf, ''))[0]

    def doubt(self, frame: Frame, now: float) -> str:
        """Return why one of a frame's channels is not believed at a time, s, or ''."""
        texts = (self._doubted[own.key][1] for own in frame.channels if self.is_doubted(own, now))
        return next(texts, '')

    def count(self, frame: Frame, now: float) -> None:
        """Take notice of a frame: more of a message than `TOO_OFTEN` its rate, for one timeout, is a fault."""
        level, before = self._levels.get(frame.name, (0.0, now))
        level = max(level - TOO_OFTEN * max(now - before, 0.0) / frame.period, 0.0) + 1.0
        most = TOO_OFTEN * frame.timeout / frame.period
        self._levels[frame.name] = min(level, most), now
        if level > most:
            text = f'{frame.name}: expected a frame every {frame.period:g} s, found {TOO_OFTEN:g} times as many'
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
