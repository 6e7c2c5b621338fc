"""Channels of a mapping file: checks that signals and quantities exist and that units match."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dyn_nodes.can.cylinder_length import CylinderLength, DeadCentreError
from dyn_nodes.can.mapping import IMU_AXES, Channel, Key, Kind, command_raw_limits, number_limits
from dyn_nodes.can.mapping_keys import JointEntry, PositionEntry, SignalEntry
from dyn_nodes.can.rates import usual_rate
from dyn_nodes.can.units import UNITS, unit_named
from dyn_nodes.elements import actuator_elements
from dyn_nodes.model import Machine
from dyn_nodes.model.problems import did_you_mean, number
from dyn_nodes.model.schema import build, keys_of
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import Entry

SECTIONS: dict[str, tuple[Kind, type]] = {
    'joints': ('position', PositionEntry),
    'velocities': ('velocity', JointEntry),
    'imu': ('imu', SignalEntry),
    'pressures': ('pressure', SignalEntry),
    'wheel_loads': ('wheel_load', SignalEntry),
    'commands': ('command', SignalEntry),
}
"""Kind and record type by key of the file that maps names to signals."""
LARGEST_POSITION, LEAST_RANGE = 1e7, 0.1
"""Bound of positions of joints without limits, and minimum width of the range of joints with limits, rad or m."""


class ChannelReader:
    """Reads the channels of a file.

    Args:
        reader: reader with the report.
        machine: machine with the quantities.
        database: database of cantools with the signals.

    Attributes:
        quantities: names of the machine's quantities by kind.
    """

    def __init__(self, reader: SchemaReader, machine: Machine, database: Any) -> None:
        self.reader, self.report = reader, reader.report
        self.machine, self.database = machine, database
        self._messages = {message.name: message for message in database.messages}
        self.quantities = self._names()
        self._taken: dict[tuple[str, str], str] = {}

    def _names(self) -> dict[Kind, tuple[str, ...]]:
        """Return the names of the machine's quantities by kind."""
        joints = tuple(joint.name for joint in self.machine.movable_joints)
        lines = tuple(
            f'{element.name}/{quantity.name}'
            for element in actuator_elements(self.machine)
            for quantity in element.reported
            if quantity.unit == 'Pa'
        )
        wheels = tuple(contact.name for contact in self.machine.ground_contacts)
        actuators = tuple(actuator.name for actuator in self.machine.actuators)
        return {
            'position': joints, 'velocity': joints, 'imu': IMU_AXES, 'pressure': lines, 'wheel_load': wheels,
            'command': actuators,
        }  # fmt: skip

    def read(self, root: Entry, values: Mapping[str, Any]) -> dict[Key, tuple[Channel, Entry]]:
        """Return the channels by kind and name, each with its entry."""
        channels: dict[Key, tuple[Channel, Entry]] = {}
        for section, (kind, record) in SECTIONS.items():
            listed = values.get(section)
            for name, entry in self.reader.named(listed if isinstance(listed, Entry) else None).items():
                if name not in self.quantities[kind]:
                    expected = f'one of the {section} of {self.machine.name}'
                    self.report.add(entry.line, entry.path, expected, did_you_mean(name, self.quantities[kind]))
                elif (channel := self._channel(kind, name, record, entry)) is not None:
                    channels[channel.key] = channel, entry
        if 'payload' in root.mapping and root.mapping['payload'].kind == 'map':
            entry = root.mapping['payload']
            if (channel := self._channel('payload', 'payload', SignalEntry, entry)) is not None:
                channels[channel.key] = channel, entry
        self._complete(root, channels)
        return channels

    def _complete(self, root: Entry, channels: Mapping[Key, tuple[Channel, Entry]]) -> None:
        if self.report.failed:
            return
        if not channels:
            self.report.add(root.line, 'document', 'at least one signal: joints, pressures, commands, ...', 'none')
        axes = [name for kind, name in channels if kind == 'imu']
        if axes and len(axes) < len(IMU_AXES):
            missing = ', '.join(name for name in IMU_AXES if name not in axes)
            self.report.add(root.mapping['imu'].line, 'imu', f'all of {", ".join(IMU_AXES)}', f'no {missing}')
        for (kind, name), (channel, entry) in channels.items():
            if kind == 'velocity' and channel.cylinder is not None and ('position', name) not in channels:
                expected = f'also a signal of the position of {name}, on which the lever of its cylinder depends'
                self.report.add(entry.line, entry.path, expected, 'none')

    def _channel(self, kind: Kind, name: str, record: type, entry: Entry) -> Channel | None:
        spec = build(record, self.reader.table(entry, keys_of(record)))
        signal = None if spec is None else self._signal(spec, entry)
        if signal is None:
            return None
        if spec.sign not in (1.0, -1.0):
            key = entry.mapping['sign']
            self.report.add(key.line, key.path, '1 or -1', number(spec.sign))
            return None
        cylinder, sound = self._cylinder(kind, name, spec, entry)
        size = self._size(kind, name, spec, signal, cylinder, entry)
        if not sound or size is None:
            return None
        lower, upper = self._bounds(kind, name, spec)
        if lower >= upper:
            self.report.add(entry.line, entry.path, 'lower below upper', f'{number(lower)} and {number(upper)}')
            return None
        message, _, short = spec.signal.partition('.')
        rate = math.inf if spec.max_rate is None else spec.max_rate
        if kind == 'command' and spec.max_rate is not None:
            key = entry.mapping['max_rate']
            self.report.add(key.line, key.path, 'none for commands, which may step', number(spec.max_rate))
            return None
        factor = spec.sign * size
        shift = getattr(spec, 'joint_offset', 0.0)
        channel = Channel(
            kind, name, message, short, factor, spec.offset, lower, upper, rate, spec.filter, cylinder, shift
        )
        self._check_range(channel, signal, entry)
        if kind != 'command' and spec.max_rate is None:
            usual = usual_rate(self.machine, kind, name)
            expected = f'max_rate, such as {usual:.2g}' if math.isfinite(usual) else 'max_rate'
            self.report.warn(entry.line, entry.path, f'{expected}, else jumps are accepted', 'none')
        return channel

    def _signal(self, spec: SignalEntry, entry: Entry) -> Any | None:
        """Return the signal of the DBC; None, with a reported problem, if it does not exist or is already mapped."""
        key = entry.mapping['signal']
        message, _, name = spec.signal.partition('.')
        if message not in self._messages or not name:
            hint = did_you_mean(message, self._messages)
            self.report.add(key.line, key.path, 'Message.Signal of the DBC', hint if name else repr(spec.signal))
            return None
        signals = {signal.name: signal for signal in self._messages[message].signals}
        if name not in signals:
            self.report.add(key.line, key.path, f'a signal of message {message}', did_you_mean(name, signals))
            return None
        first = self._taken.setdefault((message, name), entry.path)
        if first != entry.path:
            self.report.add(key.line, key.path, f'a signal that is not mapped yet ({first} uses it)', repr(spec.signal))
            return None
        return signals[name]

    def _cylinder(self, kind: Kind, name: str, spec: SignalEntry, entry: Entry) -> tuple[CylinderLength | None, bool]:
        """Return the cylinder measured by a signal, or None for a joint, and False if a problem was reported."""
        measures = getattr(spec, 'measures', 'position')
        if measures == 'position':
            return None, True
        key = entry.mapping['measures']
        linkages = [
            linkage
            for actuator in self.machine.actuators
            if actuator.joint == name and (linkage := getattr(actuator, 'linkage', None)) is not None
        ]
        if not linkages:
            self.report.add(key.line, key.path, f'position: no cylinder moves {name}', repr(measures))
            return None, False
        try:
            return CylinderLength(linkages[0], self.machine.joint(name), measures == 'cylinder_stroke'), True
        except DeadCentreError as error:
            self.report.add(key.line, key.path, str(error), f'{name}, whose angle is not determined by a length')
            return None, False

    def _quantities(self, kind: Kind, name: str, cylinder: CylinderLength | None) -> tuple[str, ...]:
        """Return the valid physical quantities of a channel."""
        if kind in ('position', 'velocity'):
            slides = cylinder is not None or self.machine.joint(name).type == 'prismatic'
            if kind == 'position':
                return ('length',) if slides else ('angle',)
            return ('velocity',) if slides else ('angular velocity',)
        if kind == 'imu':
            return ('angular velocity',) if name.startswith('angular') else ('acceleration',)
        return {
            'pressure': ('pressure',), 'payload': ('mass',), 'wheel_load': ('force',),
            'command': ('voltage', 'share of the limit'),
        }[kind]  # fmt: skip

    def _size(
        self, kind: Kind, name: str, spec: SignalEntry, signal: Any, cylinder: CylinderLength | None, entry: Entry
    ) -> float | None:
        """Return the size of the signal's unit in SI units; None, with a reported problem, for an invalid unit."""
        declared, dbc = spec.unit, str(signal.unit or '')
        key = entry.mapping.get('unit', entry)
        quantities = self._quantities(kind, name, cylinder)
        fitting = ', '.join(unit for unit, of in UNITS.items() if of.quantity in quantities)
        if declared and unit_named(dbc) and unit_named(dbc) != declared:
            self.report.add(key.line, key.path, f'{dbc!r}, the unit of {spec.signal} in the DBC', repr(declared))
            return None
        unit = declared or unit_named(dbc)
        if not unit or UNITS[unit].quantity not in quantities:
            origin = '' if declared else ' in the DBC, and no unit here'
            self.report.add(key.line, key.path, f'a unit of {kind}: {fitting}', f'{declared or dbc!r}{origin}')
            return None
        return UNITS[unit].size * (self.machine.actuator(name).command_limit if unit == '%' else 1.0)

    def _bounds(self, kind: Kind, name: str, spec: SignalEntry) -> tuple[float, float]:
        low, high = -math.inf, math.inf
        if kind == 'position':  # same range as nodes accept in joint_states
            joint = self.machine.joint(name)
            span = max(joint.upper - joint.lower, LEAST_RANGE)
            limited = math.isfinite(span)
            low, high = (joint.lower - span, joint.upper + span) if limited else (-LARGEST_POSITION, LARGEST_POSITION)
        elif kind == 'command':
            limit = self.machine.actuator(name).command_limit
            low, high = -limit, limit
        return low if spec.lower is None else spec.lower, high if spec.upper is None else spec.upper

    def _check_range(self, channel: Channel, signal: Any, entry: Entry) -> None:
        """Check that a signal can represent all commands; warn if it cannot represent all positions of its joint."""
        numbers = number_limits(signal, self._messages[channel.message].protocol == 'j1939')
        ends = sorted(channel.factor * end + channel.offset for end in numbers)
        if channel.kind == 'command':
            if ends[0] > channel.lower + 1e-9 or ends[1] < channel.upper - 1e-9:
                expected = f'a signal with a range of {number(channel.lower)} to {number(channel.upper)} V'
                self.report.add(entry.line, entry.path, expected, f'{number(ends[0])} to {number(ends[1])} V')
            self._check_neutral(channel, signal, entry)
        elif channel.kind == 'position' and math.isfinite(self.machine.joint(channel.name).lower):
            joint = self.machine.joint(channel.name)
            wanted = [joint.lower - channel.joint_offset, joint.upper - channel.joint_offset]
            if channel.cylinder is not None:
                wanted = [channel.cylinder.length(q) for q in wanted]
            if ends[0] > min(wanted) + 1e-9 or ends[1] < max(wanted) - 1e-9:
                expected = f'a signal with the range of {joint.name}, {number(min(wanted))} to {max(wanted):.6g}'
                self.report.warn(entry.line, entry.path, expected, f'{number(ends[0])} to {number(ends[1])}')

    def _check_neutral(self, channel: Channel, signal: Any, entry: Entry) -> None:
        """Check that the bounds of a command include 0 V; warn if the signal cannot represent 0 V exactly."""
        if not channel.lower <= 0.0 <= channel.upper:
            expected = 'bounds that include 0 V, the neutral command'
            range_text = f'{number(channel.lower)} to {number(channel.upper)} V'
            self.report.add(entry.line, entry.path, expected, range_text)
            return
        low, high = command_raw_limits(channel, signal, self._messages[channel.message].protocol == 'j1939')
        scale, offset = float(signal.scale), float(signal.offset)
        raw = (channel.number(0.0) - offset) / scale
        sent = min(max(raw if signal.is_float else round(raw), low), high)
        volts = channel.value(sent * scale + offset)
        if abs(volts) > 1e-6 * abs(channel.factor * scale):
            self.report.warn(entry.line, entry.path, 'a signal that can be 0 V', f'{volts:.3g} V as its nearest value')
