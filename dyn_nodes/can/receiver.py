"""Frames of a bus to quantities: counters, checksums and bounds are checked, age is watched."""

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
    """A frame that is not used; `kind` is what is counted."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class _Range(NamedTuple):
    """Scale and offset of a signal, raw values that are a measurement, and numbers that its DBC allows."""

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
    """Takes frames.

    Args:
        frames: to take; others on the bus are passed over.

    Attributes:
        values: the newest by kind and name, SI units.  numbers: as the DBC scales them.
        heard: time of the newest frame used, s, by name of its message and, of multiplexed signals, by key.
        rejected: count by message and kind.  examples: text of the first of each.
        plausibility: of successive frames.  others: frames that are passed over.
        last: why the newest frame was rejected, by message.
        taken, passed_over: counts of frames.
    """

    def __init__(self, frames: Iterable[Frame]) -> None:
        self.frames = tuple(frames)
        self.values: dict[Key, float] = {}
        self.numbers: dict[Key, float] = {}
        self.heard: dict[Key, float] = {}
        self.rejected: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.last: dict[str, str] = {}
        self.taken = self.passed_over = 0
        self.plausibility, self.others = Plausibility(self.frames), Others()
        self._ranges = {
            (frame.name, own.signal): _range_of(frame, own.signal) for frame in self.frames for own in frame.channels
        }
        self._counters: dict[str, int] = {}
        self._exact = {(f.message.frame_id, f.message.is_extended_frame): f for f in self.frames if not f.is_j1939}
        self._groups: dict[int, list[Frame]] = {}
        for frame in self.frames:
            if frame.is_j1939:
                self._groups.setdefault(parameter_group(frame.message.frame_id), []).append(frame)

    def frame_of(self, identifier: int, extended: bool) -> Frame | None:
        """Return the frame of an identifier; of J1939 by its PGN and its addresses, with any priority.

        What is for another control unit than a frame of the mapping is not that frame; what is for all may be.
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
        """Take a frame at a time, s; return what it was where its values are used, else None."""
        frame = self.frame_of(identifier, extended)
        if frame is None:
            self.passed_over += 1
            self.others.take(identifier, now)
            return None
        self.plausibility.count(frame, now)
        return self._counted(frame, lambda: self._use(frame, self._received(frame, bytes(data), now), now))

    def take_numbers(self, frame: Frame, numbers: Mapping[str, float], now: float) -> Frame | None:
        """Take numbers of a message, by signal as the DBC scales them, at a time, s; return it where they are used."""
        return self._counted(frame, lambda: self._use(frame, numbers, now))

    def _counted(self, frame: Frame, use: Callable[[], None]) -> Frame | None:
        try:
            use()
        except RejectedError as error:
            what = f'{frame.name}: {error.kind}'
            self.rejected[what] += 1
            self.examples.setdefault(what, str(error))
            self.last[frame.name] = str(error)
            return None
        self.taken += 1
        self.last.pop(frame.name, None)
        return frame

    def _received(self, frame: Frame, data: bytes, now: float) -> dict[str, float]:
        """Return the numbers of a frame."""
        raw = self._decoded(frame, data)
        if frame.counter:
            self.plausibility.follow(frame, int(raw[frame.counter]), now)
        self._check_counter(frame, raw)
        used = [channel.signal for channel in frame.channels if channel.signal in raw]
        return {name: self._number(frame, name, raw[name]) for name in used}

    def _use(self, frame: Frame, numbers: Mapping[str, float], now: float) -> None:
        found: dict[Key, float] = {}
        for channel in sorted(frame.channels, key=lambda own: own.kind == 'velocity'):  # positions first
            if channel.signal in numbers:
                found[channel.key] = self._value(frame, channel, numbers[channel.signal], found)
        self.plausibility.compare(frame, found, now)
        if doubt := self.plausibility.doubt(frame, now):
            raise RejectedError('implausible', doubt)
        for channel in frame.channels:
            if channel.key in found:
                self.numbers[channel.key] = numbers[channel.signal]
                self.values[channel.key] = self._filtered(channel, found[channel.key], now, frame.timeout)
                self.heard[channel.key] = now

    def _decoded(self, frame: Frame, data: bytes) -> dict[str, Any]:
        if len(data) != frame.message.length:
            expected = f'expected {frame.message.length} bytes, found {len(data)}'
            raise RejectedError('wrong size', f'{frame.name}: {expected}')
        if frame.checksum and data[frame.checksum_byte] != (wanted := frame.checksum_of(data)):
            found = f'expected 0x{wanted:02X}, found 0x{data[frame.checksum_byte]:02X}'
            raise RejectedError('checksum', f'{frame.name}.{frame.checksum}: {found}')
        try:
            result: dict[str, Any] = frame.message.decode(data, decode_choices=False, scaling=False)
        except Exception as error:  # the bus may hold anything, multiplexer values that the DBC does not know among it
            raise RejectedError('not decodable', f'{frame.name}: expected frames of its DBC, found {error}') from None
        return result

    def _check_counter(self, frame: Frame, raw: dict[str, Any]) -> None:
        """Refuse a frame whose alive counter stands still. Any other step is a lost frame, and is used."""
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
        own = self._ranges[frame.name, name]
        if not own.least <= raw <= own.most:
            found = f'raw 0x{int(raw):X}' if math.isfinite(raw) else f'{raw}'
            raise RejectedError('not available', f'{frame.name}.{name}: expected a measurement, found {found}')
        return raw * own.scale + own.offset

    def _value(self, frame: Frame, channel: Channel, number: float, found: dict[Key, float]) -> float:
        own = self._ranges[frame.name, channel.signal]
        where = f'{frame.name}.{channel.signal}'
        slack = 1e-9 * max(abs(number), abs(own.scale))
        if not own.low - slack <= number <= own.high + slack:
            limits = f'expected {own.low:g} to {own.high:g} (DBC), found {number:g}'
            raise RejectedError('out of range', f'{where}: {limits}')
        position = found.get(('position', channel.name), self.values.get(('position', channel.name)))
        value = channel.value(number, position)
        slack = ROUNDING * (abs(value) + abs(channel.factor * own.scale))
        if not math.isfinite(value) or not channel.lower - slack <= value <= channel.upper + slack:
            expected = f'expected {channel.lower:g} to {channel.upper:g} for {channel.kind} {channel.name}'
            raise RejectedError('out of range', f'{where}: {expected}, found {value:g}')
        return min(max(value, channel.lower), channel.upper)

    def _filtered(self, channel: Channel, value: float, now: float, timeout: float) -> float:
        before, heard = self.values.get(channel.key), self.heard.get(channel.key, -math.inf)
        step = now - heard
        if channel.filter == 0.0 or before is None or not 0.0 <= step <= timeout:
            return value
        return before + (value - before) * -math.expm1(-step / channel.filter)

    def stale(self, now: float) -> list[Channel]:
        """Return the channels whose signals are older than their timeout, never came, or are doubted."""
        return [
            channel
            for frame in self.frames
            for channel in frame.channels
            if not now - self.heard.get(channel.key, -math.inf) <= frame.timeout
            or self.plausibility.is_doubted(channel, now)
        ]

    def fault(self, now: float) -> str:
        """Return why the quantities are not those of now, in one line, or ''."""
        stale = self.stale(now)
        if not stale:
            return ''
        names = ', '.join(dict.fromkeys(f'{channel.message}.{channel.signal}' for channel in stale))
        reasons = [self.last[name] for name in dict.fromkeys(c.message for c in stale) if name in self.last]
        return f'stale: {names}{f" ({reasons[0]})" if reasons else ""}'
