"""Reader of the machine YAML: the parts of a Machine that a URDF cannot describe."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from dyn_nodes.model import actuators, contacts
from dyn_nodes.model.actuator import ActuatorRecord
from dyn_nodes.model.constraint_config import read_constraint, read_joint_class, read_load
from dyn_nodes.model.contact import ContactRecord
from dyn_nodes.model.hand import Hand
from dyn_nodes.model.hydraulic import SharedPump
from dyn_nodes.model.limits import NAME
from dyn_nodes.model.machine import Base, MachineFile, Wheel
from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.schema import Key, build, keys_of
from dyn_nodes.model.schema_reader import SchemaReader, overlay
from dyn_nodes.model.source_map import SourceMap
from dyn_nodes.model.terrain import Rise
from dyn_nodes.model.yaml_source import Entry

Read = Callable[[SchemaReader, str, Entry], Any]
T = TypeVar('T')


@dataclass(frozen=True, eq=False, kw_only=True)
class Config(MachineFile):
    """Values of a machine YAML; without a file, the defaults.

    Attributes:
        assumed: dotted keys whose values are marked as assumed, with the reason.
        source_map: lines of the values in the file.
    """

    assumed: dict[str, str] = field(default_factory=dict)
    source_map: SourceMap = field(default_factory=SourceMap)

    def line(self, key: str) -> int:
        """Return the line of a dotted key, or of the nearest enclosing mapping in the file."""
        return self.source_map.line(key)

    def written(self, key: str) -> str:
        """Return the dotted key of a value in the file: the same key, or one below `defaults`."""
        return self.source_map.written(key)


def machine_keys() -> tuple[Key, ...]:
    """Return the keys of a machine YAML."""
    below = (Key('wheel', 'table', 'under every wheel', default=None, table=keys_of(Wheel)), *actuators.shared_keys())
    shared = Key('defaults', 'partial', 'values that wheels and actuators share', default=None, table=below)
    return (*keys_of(MachineFile), shared)


def read_config(root: Entry, root_link: str, report: Report) -> Config:
    """Return the values of a machine YAML, with the base on the root link. Faulty parts are omitted and reported."""
    reader = SchemaReader(report)
    values = reader.table(root, machine_keys())
    defaults = root.mapping.get('defaults')
    shared = defaults.mapping if defaults is not None else {}
    readers: dict[str, Read] = {
        'wheels': lambda reader, name, part: _wheel(reader, name, part, shared.get('wheel'), root_link),
        'actuators': lambda reader, name, part: _actuator(reader, name, part, shared),
        'contacts': _contact,
        'pumps': _reader_of(SharedPump),
        'terrain': _reader_of(Rise),
        'grasps': _reader_of(Hand),
        'constraints': read_constraint,
        'loads': read_load,
        'joints': read_joint_class,
    }
    for key, read in readers.items():
        entry = values.get(key)
        entries = reader.named(entry if isinstance(entry, Entry) else None)
        made = (read(reader, name, part) for name, part in entries.items())
        values[key] = tuple(one for one in made if one is not None)
    source_map = SourceMap(reader.entries)
    config: Config = build(Config, values, tolerant=True, assumed=reader.assumed, source_map=source_map)
    if config.initial.moves:
        config = replace(config, initial=replace(config.initial, line=_line_of_velocities(source_map)))
    return replace(config, base=on_root(config.base, root_link))


def _line_of_velocities(source_map: SourceMap) -> int:
    lines = [source_map.line(f'initial.{key}') for key in ('joint_velocities', 'base_twist')]
    whole = source_map.line('initial')
    return next((line for line in lines if line != whole), whole)


def on_root(base: Base, root_link: str) -> Base:
    """Return the base with its link; without one, the root link of the URDF."""
    return base if base.link else replace(base, link=root_link)


def _reader_of(record: type) -> Read:
    def read(reader: SchemaReader, name: str, entry: Entry) -> Any:
        return build(record, reader.table(entry, keys_of(record)), name=name)

    return read


def _wheel(reader: SchemaReader, name: str, entry: Entry, shared: Entry | None, root_link: str) -> Wheel | None:
    _check_name(name, entry, 'ground_reactions/<name>', reader.report)
    wheel: Wheel | None = build(Wheel, _over(reader, entry, keys_of(Wheel), shared), name=name)
    if wheel is None:
        return None
    friction = wheel.friction
    if friction is not None:
        friction = friction.on_wheel(wheel.stiffness, wheel.damping)
    return replace(wheel, link=wheel.link or root_link, friction=friction)


def _actuator(reader: SchemaReader, name: str, entry: Entry, shared: Mapping[str, Entry]) -> ActuatorRecord | None:
    _check_name(name, entry, 'hydraulics/<name>/...', reader.report)
    kind = _kind(entry, actuators.actuator_kinds(), reader.report)
    if kind is None:
        return None
    meant = actuators.kind_of_keys(entry.mapping, kind)
    if meant != kind:
        type_entry = entry.mapping['type']
        reader.report.add(
            type_entry.line, type_entry.path, f'{meant!r}, to which the keys of this actuator belong', repr(kind)
        )
        return None
    record, keys = actuators.actuator_kinds()[kind], actuators.actuator_keys(kind)
    parts = {key.name: Entry('map', {}, entry.line, f'{entry.path}.{key.name}') for key in keys if key.shared}
    below = Entry(
        'map',
        {key: overlay(part, shared.get(key)) or part for key, part in parts.items()},
        entry.line,
        entry.path,
    )
    values = _over(reader, entry, keys, below, shared.get(kind))
    actuator: ActuatorRecord | None = build(record, values, name=name)
    wrong = record.contradiction(values) if actuator is not None else None
    if wrong is not None:
        reader.report.add(entry.line, entry.path, *wrong)
        return None
    return actuator


def _contact(reader: SchemaReader, name: str, entry: Entry) -> ContactRecord | None:
    _check_name(name, entry, 'ground_reactions/<name>', reader.report)
    kind = _kind(entry, contacts.KINDS, reader.report)
    if kind is None:
        return None
    contact: ContactRecord | None = build(
        contacts.KINDS[kind], reader.table(entry, contacts.contact_keys(kind)), name=name
    )
    return contact


def _kind(entry: Entry, kinds: Collection[str], report: Report) -> str | None:
    """Return the `type` of an entry; report a problem and return None if it is not one of the kinds."""
    if entry.kind != 'map':
        report.add(entry.line, entry.path, 'a mapping', entry.describe())
        return None
    type_entry = entry.mapping.get('type')
    kind = type_entry.text if type_entry is not None else ''
    if kind in kinds:
        return kind
    line = type_entry.line if type_entry is not None else entry.line
    report.add(line, f'{entry.path}.type', ' or '.join(kinds), did_you_mean(kind, kinds) if kind else 'nothing')
    return None


def _over(reader: SchemaReader, entry: Entry, keys: tuple[Key, ...], *below: Entry | None) -> dict[str, Any]:
    """Return the values of a mapping over its defaults."""
    if entry.kind != 'map':
        reader.report.add(entry.line, entry.path, 'a mapping', entry.describe())
        return {}
    return reader.table(overlay(*below, entry) or entry, keys)


def _check_name(name: str, entry: Entry, used_as: str, report: Report) -> None:
    if not re.match(NAME, name):
        expected = f'a name of letters, digits and underscores (it is part of the topic {used_as})'
        report.add(entry.line, entry.path, expected, repr(name))
