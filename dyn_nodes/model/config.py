"""Machine YAML -> the parts of a Machine that a URDF can't say."""

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
from dyn_nodes.model.places import Places
from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.schema import Key, build, keys_of
from dyn_nodes.model.schema_reader import SchemaReader, overlay
from dyn_nodes.model.terrain import Rise
from dyn_nodes.model.yaml_source import Entry

Read = Callable[[SchemaReader, str, Entry], Any]
T = TypeVar('T')


@dataclass(frozen=True, eq=False, kw_only=True)
class Config(MachineFile):
    """A machine YAML that was read; without a file, its defaults.

    Attributes:
        assumed: dotted keys whose values are marked as assumed, with the reason.
        places: where the values stand.
    """

    assumed: dict[str, str] = field(default_factory=dict)
    places: Places = field(default_factory=Places)

    def line(self, key: str) -> int:
        """Return the line of a dotted key, or of the nearest mapping around it that stands in the file."""
        return self.places.line(key)

    def written(self, key: str) -> str:
        """Return the dotted key under which the file holds a value: the same, or one below `defaults`."""
        return self.places.written(key)


def machine_keys() -> tuple[Key, ...]:
    """Return the keys of the file."""
    below = (Key('wheel', 'table', 'under every wheel', default=None, table=keys_of(Wheel)), *actuators.shared_keys())
    shared = Key('defaults', 'partial', 'values that wheels and actuators share', default=None, table=below)
    return (*keys_of(MachineFile), shared)


def read_config(root: Entry, root_link: str, report: Report) -> Config:
    """Return a machine YAML, its base on the root link. Parts with faults are left out; the report has the faults."""
    reader = SchemaReader(report)
    values = reader.table(root, machine_keys())
    defaults = root.mapping.get('defaults')
    shared = defaults.mapping if defaults is not None else {}
    readers: dict[str, Read] = {
        'wheels': lambda reader, name, own: _wheel(reader, name, own, shared.get('wheel'), root_link),
        'actuators': lambda reader, name, own: _actuator(reader, name, own, shared),
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
        made = (read(reader, name, own) for name, own in entries.items())
        values[key] = tuple(one for one in made if one is not None)
    places = Places(reader.places)
    config: Config = build(Config, values, tolerant=True, assumed=reader.assumed, places=places)
    if config.initial.moves:
        config = replace(config, initial=replace(config.initial, line=_line_of_velocities(places)))
    return replace(config, base=on_root(config.base, root_link))


def _line_of_velocities(places: Places) -> int:
    lines = [places.line(f'initial.{key}') for key in ('joint_velocities', 'base_twist')]
    whole = places.line('initial')
    return next((line for line in lines if line != whole), whole)


def on_root(base: Base, root_link: str) -> Base:
    """Return the base with its link, that of the URDF where the YAML names none."""
    return base if base.link else replace(base, link=root_link)


def _reader_of(record: type) -> Read:
    def read(reader: SchemaReader, name: str, own: Entry) -> Any:
        return build(record, reader.table(own, keys_of(record)), name=name)

    return read


def _wheel(reader: SchemaReader, name: str, own: Entry, shared: Entry | None, root_link: str) -> Wheel | None:
    _check_name(name, own, 'ground_reactions/<name>', reader.report)
    wheel: Wheel | None = build(Wheel, _over(reader, own, keys_of(Wheel), shared), name=name)
    if wheel is None:
        return None
    friction = wheel.friction
    if friction is not None:
        friction = friction.on_wheel(wheel.stiffness, wheel.damping)
    return replace(wheel, link=wheel.link or root_link, friction=friction)


def _actuator(reader: SchemaReader, name: str, own: Entry, shared: Mapping[str, Entry]) -> ActuatorRecord | None:
    _check_name(name, own, 'hydraulics/<name>/...', reader.report)
    kind = _kind(own, actuators.actuator_kinds(), reader.report)
    if kind is None:
        return None
    meant = actuators.kind_of_keys(own.mapping, kind)
    if meant != kind:
        given = own.mapping['type']
        reader.report.add(given.line, given.path, f'{meant!r}, as the keys of this actuator are', repr(kind))
        return None
    record, keys = actuators.actuator_kinds()[kind], actuators.actuator_keys(kind)
    parts = {key.name: Entry('map', {}, own.line, f'{own.path}.{key.name}') for key in keys if key.shared}
    below = Entry(
        'map',
        {key: overlay(part, shared.get(key)) or part for key, part in parts.items()},
        own.line,
        own.path,
    )
    values = _over(reader, own, keys, below, shared.get(kind))
    actuator: ActuatorRecord | None = build(record, values, name=name)
    wrong = record.contradiction(values) if actuator is not None else None
    if wrong is not None:
        reader.report.add(own.line, own.path, *wrong)
        return None
    return actuator


def _contact(reader: SchemaReader, name: str, own: Entry) -> ContactRecord | None:
    _check_name(name, own, 'ground_reactions/<name>', reader.report)
    kind = _kind(own, contacts.KINDS, reader.report)
    if kind is None:
        return None
    contact: ContactRecord | None = build(
        contacts.KINDS[kind], reader.table(own, contacts.contact_keys(kind)), name=name
    )
    return contact


def _kind(own: Entry, kinds: Collection[str], report: Report) -> str | None:
    """Return the `type` of an entry; None, with a problem in the report, where it is none of the kinds."""
    if own.kind != 'map':
        report.add(own.line, own.path, 'a mapping', own.describe())
        return None
    entry = own.mapping.get('type')
    kind = entry.text if entry is not None else ''
    if kind in kinds:
        return kind
    line = entry.line if entry is not None else own.line
    report.add(line, f'{own.path}.type', ' or '.join(kinds), did_you_mean(kind, kinds) if kind else 'nothing')
    return None


def _over(reader: SchemaReader, own: Entry, keys: tuple[Key, ...], *below: Entry | None) -> dict[str, Any]:
    """Return the values of a mapping laid over its defaults."""
    if own.kind != 'map':
        reader.report.add(own.line, own.path, 'a mapping', own.describe())
        return {}
    return reader.table(overlay(*below, own) or own, keys)


def _check_name(name: str, entry: Entry, used_as: str, report: Report) -> None:
    if not re.match(NAME, name):
        expected = f'a name of letters, digits and underscores (it is part of the topic {used_as})'
        report.add(entry.line, entry.path, expected, repr(name))
