"""First mapping of a DBC: signals whose names and units match a quantity of a machine, all marked as guesses.

A signal is assigned by its unit and by the words of its name: `LinePressures.BoomHead` in bar is the pressure
`boom/head_pressure`. Signals without a match, or with a quantity that another signal has, are listed as comments.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dyn_nodes.can.channels import ChannelReader
from dyn_nodes.can.mapping import IMU_AXES
from dyn_nodes.can.units import UNITS, unit_named
from dyn_nodes.common.printing import printable, yaml_word
from dyn_nodes.model import Machine
from dyn_nodes.model.problems import Report
from dyn_nodes.model.schema_reader import SchemaReader

COUNTERS, CHECKSUMS = {'alive', 'counter', 'rolling'}, {'check', 'checksum', 'crc'}
MASSES = {'payload', 'load', 'mass', 'weight'}
COMMANDS = {'command', 'commands', 'cmd', 'valve', 'volts', 'setpoint'}
SAME_WORD = {
    'head': ('head', 'bore', 'piston', 'bottom'),
    'rod': ('rod', 'ring', 'annulus'),
    'a': ('a',),
    'b': ('b',),
}
"""Words of signals for a word of a pressure line."""
GENERIC = {'joint', 'pressure', 'link', 'wheel'}
"""Words of names of a machine that signals need not have."""
KINDS = {
    'angle': ('position',),
    'length': ('position',),
    'angular velocity': ('velocity', 'imu'),
    'velocity': ('velocity',),
    'acceleration': ('imu',),
    'pressure': ('pressure',),
    'force': ('wheel_load',),
    'voltage': ('command',),
    'share of the limit': ('command',),
}
"""Kinds of quantities by physical quantity of the unit, in the order in which they are tried."""
SECTION = {
    'position': 'joints',
    'velocity': 'velocities',
    'imu': 'imu',
    'pressure': 'pressures',
    'wheel_load': 'wheel_loads',
    'command': 'commands',
}
HEAD = """\
# First mapping of a bus to {machine}, written by `dyn-nodes can init`: every line is a guess from names and units.
# Check each sensor's sign, offset and measured quantity, then run `dyn-nodes check THIS_FILE`.
# All keys: docs/how_to/can.md.

machine: {machine}
{config}dbc: {dbc}"""


@dataclass
class FirstMapping:
    """A first mapping.

    Attributes:
        text: YAML.
        used: number of signals with a quantity of the machine.
        left_out: names `Message.Signal` of the signals without one.
    """

    text: str = ''
    used: int = 0
    left_out: list[str] = field(default_factory=list)


def first_mapping(
    database: Any, dbc: Path, machine: Machine, name: str, config: str | None, directory: Path
) -> FirstMapping:
    """Return the first mapping of a database.

    Args:
        database: database of cantools.
        dbc: its file.
        machine: the machine.
        name: name of the machine, or path of its URDF.
        config: name or path of its machine YAML; None: the one of its name.
        directory: directory of the mapping, to which its paths are relative.
    """
    names = ChannelReader(SchemaReader(Report('')), machine, database).quantities
    entries: dict[str, dict[str, str]] = {}
    frames: dict[str, dict[str, str]] = {}
    result = FirstMapping()
    for message in database.messages:
        for signal in message.signals:
            full, words = f'{message.name}.{signal.name}', _words(signal.name)
            role = 'counter' if words & COUNTERS else 'checksum' if words & CHECKSUMS and signal.length == 8 else ''
            if role:
                frames.setdefault(message.name, {})[role] = signal.name
                continue
            assigned = _quantity(machine, names, words, _words(message.name), signal.unit or '')
            if assigned is None or assigned[1] in entries.get(assigned[0], {}):
                result.left_out.append(f'{full}{f", {signal.unit}" if signal.unit else ""}')
                continue
            section, quantity, more = assigned
            entries.setdefault(section, {})[quantity] = f'{{signal: {yaml_word(full)}{more}}}'
            result.used += 1
    if len(entries.get('imu', {})) != len(IMU_AXES):  # an IMU needs all axes
        dropped = entries.pop('imu', {})
        result.used -= len(dropped)
        result.left_out += [text.partition(': ')[2].rstrip('}') for text in dropped.values()]

    def listed(file: str) -> str:
        return yaml_word(os.path.relpath(file, directory) if '/' in file or '.' in file else file)

    line = f'config: {listed(config)}\n' if config else ''
    head = HEAD.format(dbc=listed(str(dbc)), machine=listed(name), config=line)
    parts = [head, *_sections(entries, frames)]
    if result.left_out:
        parts.append('\n# Signals without a quantity of the machine:')
        parts += [f'#   {printable(text)}' for text in result.left_out]
    result.text = '\n'.join(parts) + '\n'
    return result


def _sections(entries: dict[str, dict[str, str]], frames: dict[str, dict[str, str]]) -> Iterator[str]:
    for section in (*SECTION.values(), 'payload'):
        if section == 'payload' and section in entries:
            yield f'\npayload: {entries[section][section]}  # guess'
        elif section in entries:
            yield f'\n{section}:'
            yield from (f'  {yaml_word(name)}: {text}  # guess' for name, text in entries[section].items())
    if frames:
        yield '\nframes:'
        for message, roles in frames.items():
            keys = ', '.join(f'{role}: {yaml_word(signal)}' for role, signal in roles.items())
            yield f'  {yaml_word(message)}: {{{keys}}}  # guess'


def _quantity(
    machine: Machine, names: dict[Any, tuple[str, ...]], words: set[str], group: set[str], written: str
) -> tuple[str, str, str] | None:
    """Return section, name and further keys of the quantity of a signal; None without a match."""
    unit = UNITS.get(unit_named(written) or '')
    if unit is None:
        return None
    if unit.quantity == 'mass':
        return ('payload', 'payload', '') if (words | group) & MASSES else None
    for kind in KINDS[unit.quantity]:
        if kind == 'imu':
            axis = next((letter for letter in 'xyz' if letter in words), '')
            start = 'angular_velocity' if unit.quantity == 'angular velocity' else 'linear_acceleration'
            if axis:
                return 'imu', f'{start}_{axis}', ''
            continue
        if kind == 'command' and not (words | group) & COMMANDS:
            continue
        matches = [name for name in names[kind] if _matches(name, words)]
        if len(matches) != 1:
            continue
        more = ''
        of_joint = kind in ('position', 'velocity') and machine.joint(matches[0]).type != 'prismatic'
        if of_joint and unit.quantity in ('length', 'velocity'):  # of the cylinder
            more = ', measures: cylinder_stroke' if 'stroke' in words else ', measures: cylinder_length'
        return SECTION[kind], matches[0], more
    return None


def _matches(name: str, words: set[str]) -> bool:
    """Return whether a signal has all words of the name of a quantity, except generic ones."""
    return all(any(same in words for same in SAME_WORD.get(word, (word,))) for word in _words(name) - GENERIC)


def _words(name: str) -> set[str]:
    """Return the words of a name in camel case or with underscores, in lower case."""
    return set(_parts(re.split(r'[^A-Za-z0-9]+', name)))


def _parts(pieces: Iterable[str]) -> Iterator[str]:
    for piece in pieces:
        yield from (word.lower() for word in re.findall(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+', piece))
