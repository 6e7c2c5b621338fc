"""Frames of a mapping file: periods, timeouts, counters and checksums of the messages with channels."""

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
"""Minimum and maximum period of a message, s."""


class FrameReader:
    """Reads the frames of a mapping file."""

    def __init__(self, reader: SchemaReader, machine: Machine, database: Any) -> None:
        self.reader, self.report, self.database = reader, reader.report, database

    def read(
        self, root: Entry, values: Mapping[str, Any], channels: Mapping[Key, tuple[Channel, Entry]]
    ) -> tuple[Frame, ...]:
        """Return the frames with channels, in the order of the DBC."""
        listed = values.get('frames')
        entries = self.reader.named(listed if isinstance(listed, Entry) else None)
        carried: dict[str, list[Channel]] = {}
        for channel, _ in channels.values():
            carried.setdefault(channel.message, []).append(channel)
        for name, entry in entries.items():
            if name not in carried:
                hint = did_you_mean(name, carried)
                self.report.add(entry.line, entry.path, 'a message that contains one of the signals above', hint)
        made = []
        for message in self.database.messages:
            if message.name in carried and 'timeout' in values:
                listed_entry = entries.get(message.name)
                spec = (
                    FrameEntry()
                    if listed_entry is None
                    else build(FrameEntry, self.reader.table(listed_entry, keys_of(FrameEntry)))
                )
                location = listed_entry or next(e for c, e in channels.values() if c.message == message.name)
                if spec is not None:
                    made.append(self._frame(message, carried[message.name], spec, location, values['timeout']))
        return tuple(frame for frame in made if frame is not None)

    def _frame(
        self, message: Any, channels: list[Channel], spec: FrameEntry, location: Entry, timeout: float
    ) -> Frame | None:
        before = len(self.report.problems)
        period = spec.period if spec.period is not None else (message.cycle_time or 0) / 1000.0
        if not LEAST_PERIOD <= period <= GREATEST_PERIOD:
            expected = f'a period of {LEAST_PERIOD:g} to {GREATEST_PERIOD:g} s, here or as cycle time in the DBC'
            period_text = f'{number(period)} s' if spec.period is not None or message.cycle_time else 'none'
            self.report.add(location.line, f'frames.{message.name}.period', expected, period_text)
        limit = timeout if spec.timeout is None else spec.timeout
        if limit < 2.0 * period * multiplexer_groups(message):
            expected = f'a timeout of at least two cycles of {number(period * multiplexer_groups(message))} s'
            self.report.add(location.line, f'frames.{message.name}.timeout', expected, f'{number(limit)} s')
        kinds = {channel.kind == 'command' for channel in channels}
        if len(kinds) > 1:
            self.report.add(location.line, location.path, 'commands or measurements in one message', 'both')
        if any(signal.is_multiplexer and signal.multiplexer_ids for signal in message.signals) or (
            sum(signal.is_multiplexer for signal in message.signals) > 1
        ):
            self.report.add(location.line, location.path, 'at most one multiplexer', f'several in {message.name}')
        if True in kinds and message.is_multiplexed():
            self.report.add(location.line, location.path, 'a command message without multiplexer', message.name)
        byte = self._special(message, channels, spec, location)
        if len(self.report.problems) > before:
            return None
        return Frame(message, tuple(channels), period, limit, spec.counter, spec.checksum, byte, spec.checksum_kind)

    def _special(self, message: Any, channels: list[Channel], spec: FrameEntry, location: Entry) -> int:
        """Check counter and checksum; return the index of the checksum byte, -1 for none."""
        signals = {signal.name: signal for signal in message.signals}
        used = {channel.signal for channel in channels}
        for key in ('counter', 'checksum'):
            name = getattr(spec, key)
            if name and (name not in signals or name in used or signals[name].multiplexer_ids):
                line = location.mapping[key].line
                expected = f'an otherwise unused signal of {message.name} in every frame'
                self.report.add(line, f'{location.path}.{key}', expected, did_you_mean(name, set(signals) - used))
                return -1
        if spec.counter and (signals[spec.counter].is_signed or signals[spec.counter].length < 2):
            expected = 'an unsigned counter of at least two bits'
            self.report.add(location.mapping['counter'].line, f'{location.path}.counter', expected, spec.counter)
        if not spec.checksum:
            return -1
        signal = signals[spec.checksum]
        first = signal.start % 8 == (0 if signal.byte_order == 'little_endian' else 7)
        if signal.length != 8 or not first or signal.is_signed or spec.checksum == spec.counter:
            expected = 'an unsigned signal of one whole byte'
            bits = f'{signal.length} bits from bit {signal.start} on'
            self.report.add(location.mapping['checksum'].line, f'{location.path}.checksum', expected, bits)
        return int(signal.start // 8)
