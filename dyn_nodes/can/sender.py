"""Quantities to frames of a bus: rotating multiplexers, alive counters, checksums."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dyn_nodes.can.mapping import Channel, Frame, Key, raw_limits


class RawFrame(NamedTuple):
    """What goes onto the bus."""

    identifier: int
    extended: bool
    data: bytes


class Sender:
    """Makes frames.

    Args:
        frames: to send.

    Attributes:
        saturated: how often a quantity was beyond what its signal holds, by channel.
    """

    def __init__(self, frames: Iterable[Frame]) -> None:
        self.frames = tuple(frames)
        self.saturated: Counter[str] = Counter()
        self._counts: dict[str, int] = {}
        self._turns: dict[str, int] = {}

    def encode(self, frame: Frame, values: Mapping[Key, float]) -> RawFrame | None:
        """Return the next frame of a message; None where a quantity of it is unknown.

        A multiplexed message gives the groups of its signals in turn. In J1939, unknown quantities are `not available`.
        """
        message = frame.message
        signals, selected = self._selected(frame)
        raw: dict[str, Any] = {signal.name: _idle(signal, frame.is_j1939) for signal in signals}
        raw.update(selected)
        for channel in frame.channels:
            if channel.signal not in raw:
                continue
            number = self._number(channel, values)
            if math.isfinite(number):
                raw[channel.signal] = self._raw(frame, channel, number)
            elif not frame.is_j1939:
                return None
        if frame.counter:
            steps = 1 << message.get_signal_by_name(frame.counter).length
            raw[frame.counter] = self._counts[frame.name] = (self._counts.get(frame.name, -1) + 1) % steps
        data = bytearray(message.encode(raw, scaling=False, padding=frame.is_j1939, strict=False))
        if frame.checksum:
            data[frame.checksum_byte] = frame.checksum_of(bytes(data))
        return RawFrame(message.frame_id, message.is_extended_frame, bytes(data))

    def _selected(self, frame: Frame) -> tuple[list[Any], dict[str, int]]:
        """Return the signals of this turn, and the multiplexer's value."""
        signals = frame.message.signals
        groups = sorted({group for signal in signals for group in signal.multiplexer_ids or ()})
        if not groups:
            return list(signals), {}
        turn = self._turns.get(frame.name, -1) + 1
        self._turns[frame.name] = turn
        group = groups[turn % len(groups)]
        chosen = [s for s in signals if not s.multiplexer_ids or group in s.multiplexer_ids]
        return chosen, {next(s.name for s in signals if s.is_multiplexer): group}

    @staticmethod
    def _number(channel: Channel, values: Mapping[Key, float]) -> float:
        value = values.get(channel.key, math.nan)
        return channel.number(value, values.get(('position', channel.name)))

    def _raw(self, frame: Frame, channel: Channel, number: float) -> float:
        signal = frame.message.get_signal_by_name(channel.signal)
        scaled = (number - float(signal.offset)) / float(signal.scale)
        if signal.is_float:
            return scaled
        low, high = raw_limits(signal, frame.is_j1939)
        rounded = round(scaled)
        if not low <= rounded <= high:
            self.saturated[f'{channel.kind} {channel.name}'] += 1
        return min(max(rounded, low), high)


def _idle(signal: Any, is_j1939: bool) -> float:
    """Return the raw value of a signal that nothing is known for."""
    if is_j1939 and not signal.is_signed and not signal.is_float and signal.length > 1:
        return (1 << signal.length) - 1
    return 0 if signal.raw_initial is None else signal.raw_initial
