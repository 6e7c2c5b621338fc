"""The frames of a mapping file: periods, timeouts, counters and checksums of the messages that carry channels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dyn_nodes.can.mapping import Channel, Frame, Key, multiplexer_groups
from dyn_nodes.can.mapping_keys import FrameEntry
from dyn_nodes.model import Machine
from dyn_nodes.model.problems import did_you_mean, number
from dyn_nodes.model.schema import build, keys_of
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import Entry

LEAST_PERIOD, GREATEST_PERIOD = 1e-3, 10.0
"""Between two frames of a message, s."""


class FrameReader:
    """Reads the frames of a file; see the module."""

    def __init__(self, reader: SchemaReader, machine: Machine, database: Any) -> None:
        self.reader, self.report, self.database = reader, reader.report, database

    def read(
        self, root: Entry, values: Mapping[str, Any], channels: Mapping[Key, tuple[Channel, Entry]]
    ) -> tuple[Frame, ...]:
        """Return the frames that carry channels, in the order of the DBC."""
        listed = values.get('frames')
        entries = self.reader.named(listed if isinstance(listed, Entry) else None)
        carried: dict[str, list[Channel]] = {}
        for channel, _ in channels.values():
            carried.setdefault(channel.message, []).append(channel)
        for name, entry in entries.items():
            if name not in carried:
                found = did_you_mean(name, carried)
                self.report.add(entry.line, entry.path, 'a message that carries one of the signals above', found)
        made = []
        for message in self.database.messages:
            if message.name in carried and 'timeout' in values:
                given = entries.get(message.name)
                own = (
                    FrameEntry() if given is None else build(FrameEntry, self.reader.table(given, keys_of(FrameEntry)))
                )
                place = given or next(e for c, e in channels.values() if c.message == message.name)
                if own is not None:
                    made.append(self._frame(message, carried[message.name], own, place, values['timeout']))
        return tuple(frame for frame in made if frame is not None)

    def _frame(
        self, message: Any, channels: list[Channel], own: FrameEntry, place: Entry, timeout: float
    ) -> Frame | None:
        before = len(self.report.problems)
        period = own.period if own.period is not None else (message.cycle_time or 0) / 1000.0
        if not LEAST_PERIOD <= period <= GREATEST_PERIOD:
            expected = f'a period of {LEAST_PERIOD:g} to {GREATEST_PERIOD:g} s, here or as cycle time in the DBC'
            found = f'{number(period)} s' if own.period is not None or message.cycle_time else 'none'
            self.report.add(place.line, f'frames.{message.name}.period', expected, found)
        limit = timeout if own.timeout is None else own.timeout
        if limit < 2.0 * period * multiplexer_groups(message):
            expected = f'a timeout of two cycles of {number(period * multiplexer_groups(message))} s at least'
            self.report.add(place.line, f'frames.{message.name}.timeout', expected, f'{number(limit)} s')
        kinds = {channel.kind == 'command' for channel in channels}
        if len(kinds) > 1:
            self.report.add(place.line, place.path, 'commands or measurements in one message', 'both')
        if any(signal.is_multiplexer and signal.multiplexer_ids for signal in message.signals) or (
            sum(signal.is_multiplexer for signal in message.signals) > 1
        ):
            self.report.add(place.line, place.path, 'one multiplexer at most', f'several in {message.name}')
        if True in kinds and message.is_multiplexed():
            self.report.add(place.line, place.path, 'a message of commands without multiplexer', message.name)
        byte = self._special(message, channels, own, place)
        if len(self.report.problems) > before:
            return None
        return Frame(message, tuple(channels), period, limit, own.counter, own.checksum, byte, own.checksum_kind)

    def _special(self, message: Any, channels: list[Channel], own: FrameEntry, place: Entry) -> int:
        """Check counter and checksum; return the place of the latter's byte, -1 where there is none."""
        signals = {signal.name: signal for signal in message.signals}
        used = {channel.signal for channel in channels}
        for key in ('counter', 'checksum'):
            name = getattr(own, key)
            if name and (name not in signals or name in used or signals[name].multiplexer_ids):
                line = place.mapping[key].line
                expected = f'a signal of {message.name} that carries nothing else, in every frame'
                self.report.add(line, f'{place.path}.{key}', expected, did_you_mean(name, set(signals) - used))
                return -1
        if own.counter and (signals[own.counter].is_signed or signals[own.counter].length < 2):
            expected = 'an unsigned counter of two bits at least'
            self.report.add(place.mapping['counter'].line, f'{place.path}.counter', expected, own.counter)
        if not own.checksum:
            return -1
        signal = signals[own.checksum]
        first = signal.start % 8 == (0 if signal.byte_order == 'little_endian' else 7)
        if signal.length != 8 or not first or signal.is_signed or own.checksum == own.counter:
            expected = 'an unsigned signal that is one whole byte'
            found = f'{signal.length} bits from bit {signal.start} on'
            self.report.add(place.mapping['checksum'].line, f'{place.path}.checksum', expected, found)
        return int(signal.start // 8)
