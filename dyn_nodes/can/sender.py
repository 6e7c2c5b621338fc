"""Conversion of quantities to frames, with rotating multiplexers, alive counters and checksums."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dyn_nodes.can.mapping import Channel, Frame, Key, command_raw_limits, raw_limits

LARGEST_FLOAT = {16: 65504.0, 32: 3.4e38, 64: 1.7e308}
"""Largest number by bits of a float signal."""


class RawFrame(NamedTuple):
    """A frame to send."""

    identifier: int
    extended: bool
    data: bytes


class Sender:
    """Encodes frames.

    Args:
        frames: frames to send.

    Attributes:
        saturated: number of values beyond the range of their signal, or commands beyond their bounds, by channel.
        not_finite: number of command frames sent neutral because of missing or non-finite values, by message.
    """

    def __init__(self, frames: Iterable[Frame]) -> None:
        self.frames = tuple(frames)
        self.saturated: Counter[str] = Counter()
        self.not_finite: Counter[str] = Counter()
        self._counts: dict[str, int] = {}
        self._turns: dict[str, int] = {}

    def encode(self, frame: Frame, values: Mapping[Key, float]) -> RawFrame | None:
        """Return the next frame of a message; None if one of its measurements is unknown.

        A multiplexed message sends its signal groups in turn. In J1939, unknown measurements are sent as `not
        available`. If a command is unknown or not finite, all commands of the message are neutral.
        """
        message = frame.message
        if frame.is_command:
            values = self._bounded(frame, values)
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

    def _bounded(self, frame: Frame, values: Mapping[Key, float]) -> dict[Key, float]:
        """Return the commands of a message within their bounds; all neutral if one is not a finite number."""
        wanted = {channel.key: values.get(channel.key, math.nan) for channel in frame.channels}
        if not all(map(math.isfinite, wanted.values())):
            self.not_finite[frame.name] += 1
            return dict.fromkeys(wanted, 0.0)
        bounded = {
            channel.key: min(max(wanted[channel.key], channel.lower), channel.upper) for channel in frame.channels
        }
        self.saturated.update(f'{kind} {name}' for kind, name in wanted if bounded[kind, name] != wanted[kind, name])
        return bounded

    def _selected(self, frame: Frame) -> tuple[list[Any], dict[str, int]]:
        """Return the signals of the next group, and the value of the multiplexer."""
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
        low, high = _limits(frame, channel, signal)
        within = min(max(scaled, low), high)
        if not frame.is_command and abs(within - scaled) > (0.0 if signal.is_float else 0.5):
            self.saturated[f'{channel.kind} {channel.name}'] += 1
        return within if signal.is_float else round(within)


def _limits(frame: Frame, channel: Channel, signal: Any) -> tuple[float, float]:
    """Return the minimum and maximum raw value to send."""
    if frame.is_command:
        return command_raw_limits(channel, signal, frame.is_j1939)
    if signal.is_float:
        return -LARGEST_FLOAT[signal.length], LARGEST_FLOAT[signal.length]
    return raw_limits(signal, frame.is_j1939)


def _idle(signal: Any, is_j1939: bool) -> float:
    """Return the raw value of an unused signal."""
    if is_j1939 and not signal.is_signed and not signal.is_float and signal.length > 1:
        return (1 << signal.length) - 1
    return 0 if signal.raw_initial is None else signal.raw_initial
