"""Machine YAML -> the parts of a Machine that a URDF can't say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from dyn_nodes.model import schema
from dyn_nodes.model.constraint import JointClass, Load, MachineConstraint
from dyn_nodes.model.constraint_config import read_constraints, read_joint_classes, read_loads
from dyn_nodes.model.limits import NAME
from dyn_nodes.model.machine import (
    Actuator,
    Base,
    CylinderActuator,
    InitialState,
    Karnopp,
    LuGre,
    MotorActuator,
    Payload,
    PinTriangle,
    SharedPump,
    SlidingRod,
    Supply,
    Valve,
    Wheel,
    frozen_array,
)
from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.rolling import Rolling
from dyn_nodes.model.schema_reader import SchemaReader, Values, overlay
from dyn_nodes.model.terrain import Rise
from dyn_nodes.model.yaml_source import Entry


@dataclass
class Config:
    """What a machine YAML says; without a file, what holds then.

    Attributes:
        places: dotted key, as if nothing came from `defaults` -> the entry of the file that holds the value.
    """

    name: str | None = None
    gravity: float = 9.81
    slope: tuple[float, float] = (0.0, 0.0)
    overturn_angle: float = 1.3089969389957472
    base: Base | None = None
    initial: InitialState = field(default_factory=InitialState)
    payload: Payload | None = None
    wheels: tuple[Wheel, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    reactions: tuple[str, ...] = ()
    pumps: tuple[SharedPump, ...] = ()
    locked: tuple[str, ...] = ()
    constraints: tuple[MachineConstraint, ...] = ()
    loads: tuple[Load, ...] = ()
    joint_classes: tuple[JointClass, ...] = ()
    terrain: tuple[Rise, ...] = ()
    assumed: dict[str, str] = field(default_factory=dict)
    places: dict[str, Entry] = field(default_factory=dict)

    def line(self, key: str) -> int:
        """Return the line of a dotted key, or of the nearest mapping around it that stands in the file."""
        while key and key not in self.places:
            key = key.rpartition('.')[0]
        return self.places[key].line if key in self.places else 0

    def written(self, key: str) -> str:
        """Return the dotted key under which the file holds a value: its own, or one below `defaults`."""
        return self.places[key].path if key in self.places else key


def read_config(root: Entry, root_link: str, report: Report) -> Config:
    """Return what the YAML says. Parts with faults are left out; the faults are in the report."""
    reader = SchemaReader(report)
    values = reader.table(root, schema.MACHINE)
    defaults = root.mapping.get('defaults')
    shared = defaults.mapping if defaults is not None else {}
    config = Config(assumed=reader.assumed, places=reader.places)
    config.name = _get(values, 'name', None)
    config.gravity = _get(values, 'gravity', config.gravity)
    config.overturn_angle = _get(values, 'overturn_angle', config.overturn_angle)
    slope = values.get('slope') or {}
    if isinstance(slope, dict):
        config.slope = (_get(slope, 'roll', 0.0), _get(slope, 'pitch', 0.0))
    config.base = _base(values.get('base'), root_link)
    config.initial = _initial(values.get('initial'))
    config.payload = _payload(values.get('payload'))
    config.wheels = _wheels(reader, values.get('wheels'), shared, root_link)
    config.actuators = _actuators(reader, values.get('actuators'), shared)
    config.reactions = tuple(_get(values, 'reactions', ()))
    config.locked = tuple(_get(values, 'locked', ()))
    config.pumps = _pumps(reader, values.get('pumps'))
    config.terrain = _terrain(reader, values.get('terrain'))
    config.constraints = read_constraints(reader, values.get('constraints'))
    config.loads = read_loads(reader, values.get('loads'))
    config.joint_classes = read_joint_classes(reader, values.get('joints'))
    return config


def _get(values: Values, key: str, default: Any) -> Any:
    value = values.get(key)
    return default if value is None else value


def _base(values: object, root_link: str) -> Base | None:
    if not isinstance(values, dict):
        return None
    return Base(_get(values, 'link', root_link), _get(values, 'attachment', 'fixed'))


def _initial(values: object) -> InitialState:
    if not isinstance(values, dict):
        return InitialState()
    return InitialState(
        joint_positions=dict(values.get('joint_positions') or {}),
        base_position=_get(values, 'base_position', (0.0, 0.0, 0.0)),
        base_yaw=_get(values, 'base_yaw', 0.0),
        settle=_get(values, 'settle', True),
    )


def _payload(values: object) -> Payload | None:
    if not isinstance(values, dict) or not _complete(values, schema.PAYLOAD):
        return None
    position = frozen_array(values['position'], (3,))
    return Payload(values['link'], position, values['mass'], values['limit'])


def _wheels(reader: SchemaReader, entry: object, shared: dict[str, Entry], root_link: str) -> tuple[Wheel, ...]:
    wheels = []
    for name, own in reader.named(entry if isinstance(entry, Entry) else None).items():
        _check_name(name, own, 'ground_reactions/<name>', reader.report)
        values = _over(reader, own, schema.WHEEL, shared.get('wheel'))
        if not _complete(values, schema.WHEEL):
            continue
        friction = values['friction']
        if isinstance(friction, dict) and not _complete(friction, schema.FRICTION):
            continue
        rolling = values['rolling']
        if isinstance(rolling, dict) and not _complete(rolling, schema.ROLLING):
            continue
        wheels.append(
            Wheel(
                name=name,
                link=values['link'] or root_link,  # type: ignore[arg-type]
                position=frozen_array(values['position'], (3,)),
                stiffness=values['stiffness'],  # type: ignore[arg-type]
                damping=values['damping'],  # type: ignore[arg-type]
                free_length=values['free_length'],  # type: ignore[arg-type]
                friction=_friction(values) if isinstance(friction, dict) else None,
                friction_point=values['friction_point'],  # type: ignore[arg-type]
                rolling=_rolling(rolling) if isinstance(rolling, dict) else None,
            )
        )
    return tuple(wheels)


def _friction(wheel: Values) -> LuGre | Karnopp:
    """Return the friction of a wheel whose mapping is complete; the keys of the other model are not used."""
    given: dict[str, Any] = dict(wheel['friction'])  # type: ignore[call-overload]
    kind = Karnopp if given['model'] == 'karnopp' else LuGre
    for key in ('stiffness', 'damping'):
        if given[key] is None:
            given[key] = wheel[key]
    return kind(**{entry.name: given[entry.name] for entry in fields(kind)})


def _rolling(values: dict[str, Any]) -> Rolling:
    axis = frozen_array(values['axis'], (3,))
    length = float(np.linalg.norm(axis))
    unit = axis / length if length > 0.0 else axis
    return Rolling(
        (float(unit[0]), float(unit[1]), float(unit[2])), values['roller_angle'], values['relaxation_length']
    )


def _actuators(reader: SchemaReader, entry: object, shared: dict[str, Entry]) -> tuple[Actuator, ...]:
    actuators = []
    for name, own in reader.named(entry if isinstance(entry, Entry) else None).items():
        _check_name(name, own, 'hydraulics/<name>/...', reader.report)
        actuator = _actuator(reader, name, own, shared)
        if actuator is not None:
            actuators.append(actuator)
    return tuple(actuators)


def _actuator(reader: SchemaReader, name: str, own: Entry, shared: dict[str, Entry]) -> Actuator | None:
    if own.kind != 'map':
        reader.report.add(own.line, own.path, 'a mapping', own.describe())
        return None
    kind_entry = own.mapping.get('type')
    kind = kind_entry.text if kind_entry is not None else ''
    if kind not in schema.ACTUATORS:
        line = kind_entry.line if kind_entry is not None else own.line
        found = did_you_mean(kind, schema.ACTUATORS) if kind else 'nothing'
        reader.report.add(line, f'{own.path}.type', ' or '.join(schema.ACTUATORS), found)
        return None
    keys = schema.ACTUATORS[kind]
    parts = {key: Entry('map', {}, own.line, f'{own.path}.{key}') for key in ('valve', 'supply')}
    below = Entry(
        'map',
        {key: overlay(parts[key], shared.get(key)) or parts[key] for key in parts},
        own.line,
        own.path,
    )
    values = _over(reader, own, keys, below, shared.get(kind))
    tables = {key.name: key.table for key in keys if key.table}
    if not _complete(values, keys):
        return None
    tables = {key: table for key, table in tables.items() if values[key] is not None}
    if not all(_complete(values[key], table) for key, table in tables.items()):
        return None
    arguments: dict[str, Any] = {key: value for key, value in values.items() if key != 'type'}
    arguments |= {key: _PARTS[key](**arguments[key]) for key in tables}
    if 'rod' in arguments and not _take_rod(arguments, own, reader.report):
        return None
    return _RECORDS[kind](**arguments, name=name)


def _take_rod(arguments: dict[str, Any], own: Entry, report: Report) -> bool:
    """Put the rod of a cylinder in the place of its pins; return whether it has exactly one of them."""
    rod = arguments.pop('rod')
    if (rod is None) == (arguments['linkage'] is None):
        found = 'nothing' if rod is None else 'both'
        report.add(own.line, own.path, '`linkage` (on a revolute joint) or `rod` (on a prismatic joint)', found)
        return False
    arguments['linkage'] = arguments['linkage'] or rod
    return True


_PARTS: dict[str, type[Any]] = {'linkage': PinTriangle, 'rod': SlidingRod, 'valve': Valve, 'supply': Supply}
_RECORDS: dict[str, type[Any]] = {record.kind: record for record in (CylinderActuator, MotorActuator)}


def _pumps(reader: SchemaReader, entry: object) -> tuple[SharedPump, ...]:
    pumps = []
    for name, own in reader.named(entry if isinstance(entry, Entry) else None).items():
        values: dict[str, Any] = dict(reader.table(own, schema.PUMP))
        if _complete(values, schema.PUMP):
            pumps.append(SharedPump(name=name, **values))
    return tuple(pumps)


def _terrain(reader: SchemaReader, entry: object) -> tuple[Rise, ...]:
    rises = []
    for name, own in reader.named(entry if isinstance(entry, Entry) else None).items():
        values: dict[str, Any] = dict(reader.table(own, schema.RISE))
        if _complete(values, schema.RISE):
            rises.append(Rise(name=name, **values))
    return tuple(rises)


def _over(reader: SchemaReader, own: Entry, keys: tuple[schema.Key, ...], *below: Entry | None) -> Values:
    """Return the values of a mapping laid over its defaults."""
    if own.kind != 'map':
        reader.report.add(own.line, own.path, 'a mapping', own.describe())
        return {}
    return reader.table(overlay(*below, own) or own, keys)


def _complete(values: object, keys: tuple[schema.Key, ...]) -> bool:
    """Return whether every key has a value (possibly its default): no fault was found in any."""
    return isinstance(values, dict) and all(key.name in values for key in keys)


def _check_name(name: str, entry: Entry, used_as: str, report: Report) -> None:
    if not re.match(NAME, name):
        expected = f'a name of letters, digits and underscores (it is part of the topic {used_as})'
        report.add(entry.line, entry.path, expected, repr(name))
