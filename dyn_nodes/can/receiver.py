"""Conversion of received frames to quantities, with checks of counters, checksums, bounds and age."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from dyn_nodes.can.j1939 import EVERY_UNIT, NO_UNIT, destination, parameter_group, source
from dyn_nodes.can.mapping import ROUNDING, Channel, Frame, Key, number_limits, raw_limits
from dyn_nodes.can.others import Others
from dyn_nodes.can.plausibility import Plausibility
from dyn_nodes.common.errors import UserError


class RejectedError(UserError, ValueError):
    """A rejected frame; `kind` is the category that is counted."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class _Range(NamedTuple):
    """Scale and offset of a signal, range of raw values that are measurements, and range of numbers in its DBC."""

    scale: float
    offset: float
    least: float
    most: float
    low: float
    high: float


def _range_of(frame: Frame, name: str) -> _Range:
    signal = frame.message.get_signal_by_name(name)
    least, most = (-math.inf, math.inf) if signal.is_float else raw_limits(signal, frame.is_j1939)
    low, high = number_limits(signal, frame.is_j1939)
    return _Range(float(signal.scale), float(signal.offset), least, most, low, high)


class Receiver:
    """Receives frames.

    Args:
        frames: frames to receive; other frames on the bus are ignored.

    Attributes:
        values: latest values by kind and name, SI units.
        numbers: the same in DBC scaling.
        received_at: time of the last accepted value by kind and name, s.
        rejected: number of rejected frames by message and kind.
        examples: text of the first rejection of each.
        plausibility: checks over successive frames.
        others: count of ignored frames by identifier.
        last: reason of rejection of the last frame, by message.
        taken: number of accepted frames.
        passed_over: number of ignored frames.
    """

    def __init__(self, frames: Iterable[Frame]) -> None:
        self.frames = tuple(frames)
        self.values: dict[Key, float] = {}
        self.numbers: dict[Key, float] = {}
        self.received_at: dict[Key, float] = {}
        self.rejected: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.last: dict[str, str] = {}
        self.taken = self.passed_over = 0
        self.plausibility, self.others = Plausibility(self.frames), Others()
        self._ranges = {
            (frame.name, channel.signal): _range_of(frame, channel.signal)
            for frame in self.frames
            for channel in frame.channels
        }
        self._counters: dict[str, int] = {}
        self._exact = {(f.message.frame_id, f.message.is_extended_frame): f for f in self.frames if not f.is_j1939}
        self._groups: dict[int, list[Frame]] = {}
        for frame in self.frames:
            if frame.is_j1939:
                self._groups.setdefault(parameter_group(frame.message.frame_id), []).append(frame)

    def frame_of(self, identifier: int, extended: bool) -> Frame | None:
        """Return the frame of an identifier, None: not in the mapping.

        J1939 frames match by PGN and addresses, with any priority. A frame for another control unit does not match; a
        frame for all control units does.
        """
        exact = self._exact.get((identifier, extended))
        if exact is not None or not extended:
            return exact
        for frame in self._groups.get(parameter_group(identifier), ()):
            sender, receiver = source(frame.message.frame_id), destination(frame.message.frame_id)
            is_from = sender in NO_UNIT or sender == source(identifier)
            if is_from and (receiver in NO_UNIT or destination(identifier) in (receiver, EVERY_UNIT)):
                return frame
        return None

    def take(self, identifier: int, extended: bool, data: bytes, now: float) -> Frame | None:
        """Receive a frame at a time, s; return its message if the values are accepted, else None."""
        frame = self.frame_of(identifier, extended)
        if frame is None:
            self.passed_over += 1
            self.others.take(identifier, now)
            return None
        self.plausibility.count(frame, now)
        return self._counted(frame, lambda: self._use(frame, self._received(frame, bytes(data), now), now))

    def take_numbers(self, frame: Frame, numbers: Mapping[str, float], now: float) -> Frame | None:
        """Receive numbers of a message, by signal in DBC scaling, at a time, s; return it if they are accepted."""
        return self._counted(frame, lambda: self._use(frame, numbers, now))

    def _counted(self, frame: Frame, use: Callable[[], None]) -> Frame | None:
        try:
            use()
        except RejectedError as error:
            reason = f'{frame.name}: {error.kind}'
            self.rejected[reason] += 1
            self.examples.setdefault(reason, str(error))
            self.last[frame.name] = str(error)
            return None
        self.taken += 1
        self.last.pop(frame.name, None)
        return frame

    def _received(self, frame: Frame, data: bytes, now: float) -> dict[str, float]:
        """Return the numbers of a frame by signal. Raises RejectedError."""
        raw = self._decoded(frame, data)
        if frame.counter:
            self.plausibility.follow(frame, int(raw[frame.counter]), now)
        self._check_counter(frame, raw)
        used = [channel.signal for channel in frame.channels if channel.signal in raw]
        return {name: self._number(frame, name, raw[name]) for name in used}

    def _use(self, frame: Frame, numbers: Mapping[str, float], now: float) -> None:
        values: dict[Key, float] = {}
        for channel in sorted(frame.channels, key=lambda channel: channel.kind == 'velocity'):  # positions first
            if channel.signal in numbers:
                values[channel.key] = self._value(frame, channel, numbers[channel.signal], values)
        self.plausibility.compare(frame, values, now)
        if doubt := self.plausibility.doubt(frame, now):
            raise RejectedError('implausible', doubt)
        for channel in frame.channels:
            if channel.key in values:
                self.numbers[channel.key] = numbers[channel.signal]
                self.values[channel.key] = self._filtered(channel, values[channel.key], now, frame.timeout)
                self.received_at[channel.key] = now

    def _decoded(self, frame: Frame, data: bytes) -> dict[str, Any]:
        if len(data) != frame.message.length:
            expected = f'expected {frame.message.length} bytes, found {len(data)}'
            raise RejectedError('wrong size', f'{frame.name}: {expected}')
        if frame.checksum and data[frame.checksum_byte] != (wanted := frame.checksum_of(data)):
            difference = f'expected 0x{wanted:02X}, found 0x{data[frame.checksum_byte]:02X}'
            raise RejectedError('checksum', f'{frame.name}.{frame.checksum}: {difference}')
        try:
            result: dict[str, Any] = frame.message.decode(data, decode_choices=False, scaling=False)
        except Exception as error:  # arbitrary data, such as multiplexer values that are not in the DBC
            raise RejectedError('not decodable', f'{frame.name}: expected frames of its DBC, found {error}') from None
        return result

    def _check_counter(self, frame: Frame, raw: dict[str, Any]) -> None:
        """Reject a frame with an unchanged alive counter. Other steps count as lost frames; the frame is used."""
        if not frame.counter:
            return
        count, before = int(raw[frame.counter]), self._counters.get(frame.name)
        self._counters[frame.name] = count
        if count == before:
            raise RejectedError(
                'frozen counter', f'{frame.name}.{frame.counter}: expected a count, found {count} again'
            )
        steps = 1 << frame.message.get_signal_by_name(frame.counter).length
        if before is not None and (count - before) % steps != 1:
            self.rejected[f'{frame.name}: lost frames'] += (count - before) % steps - 1

    def _number(self, frame: Frame, name: str, raw: float) -> float:
        limits = self._ranges[frame.name, name]
        if not limits.least <= raw <= limits.most:
            raw_text = f'raw 0x{int(raw):X}' if math.isfinite(raw) else f'{raw}'
            raise RejectedError('not available', f'{frame.name}.{name}: expected a measurement, found {raw_text}')
        return raw * limits.scale + limits.offset

    def _value(self, frame: Frame, channel: Channel, number: float, values: dict[Key, float]) -> float:
        allowed = self._ranges[frame.name, channel.signal]
        where = f'{frame.name}.{channel.signal}'
        slack = 1e-9 * max(abs(number), abs(allowed.scale))
        if not allowed.low - slack <= number <= allowed.high + slack:
            text = f'expected {allowed.low:g} to {allowed.high:g} (DBC), found {number:g}'
            raise RejectedError('out of range', f'{where}: {text}')
        position = values.get(('position', channel.name), self.values.get(('position', channel.name)))
        value = channel.value(number, position)
        slack = ROUNDING * (abs(value) + abs(channel.factor * allowed.scale))
        if not math.isfinite(value) or not channel.lower - slack <= value <= channel.upper + slack:
            expected = f'expected {channel.lower:g} to {channel.upper:g} for {channel.kind} {channel.name}'
            raise RejectedError('out of range', f'{where}: {expected}, found {value:g}')
        return min(max(value, channel.lower), channel.upper)

    def _filtered(self, channel: Channel, value: float, now: float, timeout: float) -> float:
        before, last = self.values.get(channel.key), self.received_at.get(channel.key, -math.inf)
        step = now - last
        if channel.filter == 0.0 or before is None or not 0.0 <= step <= timeout:
            return value
        return before + (value - before) * -math.expm1(-step / channel.filter)

    def stale(self, now: float) -> list[Channel]:
        """Return the channels whose signals are older than their timeout, were never received, or are implausible."""
        return [
            channel
            for frame in self.frames
            for channel in frame.channels
            if not now - self.received_at.get(channel.key, -math.inf) <= frame.timeout
            or self.plausibility.is_doubted(channel, now)
        ]

    def fault(self, now: float) -> str:
        """Return a line with the stale signals and a reason, or '' if all quantities are current."""
        stale = self.stale(now)
        if not stale:
            return ''
        names = ', '.join(dict.fromkeys(f'{channel.message}.{channel.signal}' for channel in stale))
        reasons = [self.last[name] for name in dict.fromkeys(c.message for c in stale) if name in self.last]
        return f'stale: {names}{f" ({reasons[0]})" if reasons else ""}'
