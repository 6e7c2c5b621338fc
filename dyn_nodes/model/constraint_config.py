"""Machine YAML -> constraints, loads and classes of joints; and do they fit the URDF and each other?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dyn_nodes.model import schema
from dyn_nodes.model.constraint import WORLD, End, JointClass, Load, MachineConstraint, Profile
from dyn_nodes.model.limits import NAME
from dyn_nodes.model.machine import Joint, frozen_array
from dyn_nodes.model.problems import Report, did_you_mean, number
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.model.schema import Key
from dyn_nodes.model.schema_reader import SchemaReader, Values
from dyn_nodes.model.yaml_source import Entry

NEEDED = {
    'frame': ('first', 'second'),
    'point': ('first', 'second'),
    'hinge': ('first', 'second'),
    'slider': ('first', 'second'),
    'planar': ('first', 'second'),
    'line': ('first', 'second'),
    'plane': ('first', 'second'),
    'distance': ('first', 'second', 'length'),
    'lock': ('joint',),
    'coupling': ('coefficients',),
    'prescribed': ('joint', 'profile'),
    'wheel': ('first', 'radius'),
}
ALLOWED = {
    'hinge': ('axis',),
    'slider': ('axis',),
    'line': ('axis',),
    'plane': ('axis', 'profile'),
    'wheel': ('axis', 'ground'),
    'lock': ('position',),
    'coupling': ('offset',),
}
PROFILE_NEEDED = {
    'sine': ('amplitude', 'frequency'),
    'polynomial': ('coefficients',),
    'points': ('times', 'values'),
    'bump': ('height', 'duration'),
}
PROFILE_ALLOWED = {'sine': ('offset', 'phase'), 'bump': ('start',)}


def read_constraints(reader: SchemaReader, entry: object) -> tuple[MachineConstraint, ...]:
    """Return the sound constraints of a `constraints` mapping."""
    result = []
    for name, own in reader.named(entry if isinstance(entry, Entry) else None).items():
        values: dict[str, Any] = dict(reader.table(own, schema.CONSTRAINT))
        if set(values) != {key.name for key in schema.CONSTRAINT}:
            continue
        kind = values.pop('kind')
        if not _fits_kind(kind, own, schema.CONSTRAINT, NEEDED[kind], ALLOWED.get(kind, ()), reader.report):
            continue
        if not all(_sound_profile(own.mapping.get(key), values[key], reader.report) for key in ('profile', 'ground')):
            continue
        values |= {key: None if values[key] is None else Profile(**values[key]) for key in ('profile', 'ground')}
        first, second = _end(values.pop('first')), _end(values.pop('second'))
        if ('first' in own.mapping and first is None) or ('second' in own.mapping and second is None):
            continue
        axis = np.asarray(values['axis'])
        if not np.linalg.norm(axis) > 0:
            reader.report.add(own.mapping['axis'].line, f'{own.path}.axis', 'a direction', 'a vector of length zero')
            continue
        values['axis'] = tuple(float(part) for part in axis / np.linalg.norm(axis))
        values['coefficients'] = tuple(dict(values['coefficients']).items())
        result.append(MachineConstraint(name=name, kind=kind, first=first, second=second, line=own.line, **values))
    return tuple(result)


def _fits_kind(
    kind: str, own: Entry, keys: Sequence[Key], needed: Sequence[str], allowed: Sequence[str], report: Report
) -> bool:
    sound = True
    for key in needed:
        if key not in own.mapping:
            report.add(own.line, f'{own.path}.{key}', f'a value, which kind {kind} needs', 'nothing')
            sound = False
    fitting = {'kind', *needed, *allowed}
    for key, child in own.mapping.items():
        if key not in fitting and key in {entry.name for entry in keys}:
            report.add(child.line, child.path, f'keys of kind {kind}: {", ".join(sorted(fitting))}', repr(key))
            sound = False
    return sound


def _sound_profile(entry: Entry | None, values: object, report: Report) -> bool:
    """Report what makes no motion of the values of a profile; True where there is none."""
    if entry is None or values is None:
        return True
    if not isinstance(values, dict) or set(values) != {key.name for key in schema.PROFILE}:
        return False
    kind = values['kind']
    needed, allowed = PROFILE_NEEDED[kind], PROFILE_ALLOWED.get(kind, ())
    if not _fits_kind(kind, entry, schema.PROFILE, needed, allowed, report):
        return False
    if kind == 'polynomial':
        return bool(values['coefficients'])
    if kind != 'points':
        return True
    times, heights = values['times'], values['values']
    if not times or not heights:
        return False
    if len(times) < 2 or any(after <= before for before, after in pairwise(times)):
        found = ', '.join(number(time) for time in times)
        report.add(entry.mapping['times'].line, f'{entry.path}.times', 'at least two times that rise', found)
        return False
    if len(heights) != len(times):
        found = f'{len(heights)} values for {len(times)} times'
        report.add(entry.mapping['values'].line, f'{entry.path}.values', 'a value for every time', found)
        return False
    return True


def _end(values: object) -> End | None:
    if not isinstance(values, dict) or {'link', 'position', 'rotation'} - set(values):
        return None
    return End(values['link'], frozen_array(values['position'], (3,)), _turn(values['rotation']))


def _turn(angles: Any) -> np.ndarray:
    """Rotation of roll, pitch, yaw, as in a URDF."""
    return frozen_array(matrix_of_rpy(angles), (3, 3))


def read_loads(reader: SchemaReader, entry: object) -> tuple[Load, ...]:
    """Return the sound loads of a `loads` mapping."""
    result = []
    for name, own in reader.named(entry if isinstance(entry, Entry) else None).items():
        values: Values = reader.table(own, schema.LOAD)
        inertia = values.get('inertia')
        complete = set(values) == {key.name for key in schema.LOAD}
        if not complete or not isinstance(inertia, dict) or set(inertia) != {key.name for key in schema.INERTIA}:
            continue
        matrix = np.array(
            [
                [inertia['ixx'], inertia['ixy'], inertia['ixz']],
                [inertia['ixy'], inertia['iyy'], inertia['iyz']],
                [inertia['ixz'], inertia['iyz'], inertia['izz']],
            ]
        )
        moments = np.linalg.eigvalsh(matrix)
        if moments[0] <= 0 or moments[2] > (moments[0] + moments[1]) * (1 + 1e-9):
            found = f'principal moments {", ".join(f"{moment:.4g}" for moment in moments)} kg m2'
            expected = 'an inertia of a body: all moments above zero, none above the sum of the others'
            reader.report.add(own.mapping['inertia'].line, f'{own.path}.inertia', expected, found)
            continue
        result.append(
            Load(
                name,
                values['mass'],  # type: ignore[arg-type]
                frozen_array(values['com'], (3,)),
                frozen_array(matrix, (3, 3)),
                frozen_array(values['position'], (3,)),
                _turn(values['rotation']),
                values['motion'],  # type: ignore[arg-type]
                own.line,
            )
        )
    return tuple(result)


def read_joint_classes(reader: SchemaReader, entry: object) -> tuple[JointClass, ...]:
    """Return the sound entries of a `joints` mapping."""
    result = []
    for name, own in reader.named(entry if isinstance(entry, Entry) else None).items():
        values: dict[str, Any] = dict(reader.table(own, schema.JOINT_CLASS))
        if set(values) != {key.name for key in schema.JOINT_CLASS}:
            continue
        kind = values.pop('class')
        spring = values['stiffness'] > 0 or values['damping'] > 0
        if spring != (kind == 'flexible'):
            found = 'neither' if not spring else f'class {kind} with a spring or damper'
            reader.report.add(own.line, own.path, 'stiffness or damping with class flexible, and with no other', found)
            continue
        result.append(JointClass(name, kind, line=own.line, **values))
    return tuple(result)


def check_constraints(
    constraints: tuple[MachineConstraint, ...],
    loads: tuple[Load, ...],
    classes: tuple[JointClass, ...],
    links: Mapping[str, object],
    joints: Mapping[str, Joint],
    locked: tuple[str, ...],
    report: Report,
) -> None:
    """Check names and contradictions; whether loops close is a matter of `dyn_nodes.simulation.constrained_machine`."""
    movable = {name: joint for name, joint in joints.items() if joint.movable and name not in locked}
    known = [*links, *(load.name for load in loads), WORLD]
    for load in loads:
        if load.name in links or load.name in joints or load.name == WORLD:
            report.add(load.line, f'loads.{load.name}', 'a name that no link or joint has', repr(load.name))
    for entry in classes:
        _check_joint(entry.joint, movable, joints, entry.line, f'joints.{entry.joint}', report)
    for constraint in constraints:
        where = f'constraints.{constraint.name}'
        if not re.match(NAME, constraint.name):
            expected = 'a name of letters, digits and underscores, as it becomes part of a topic'
            report.add(constraint.line, where, expected, repr(constraint.name))
        for end, value in (('first', constraint.first), ('second', constraint.second)):
            if value is not None and value.link not in known:
                expected = 'a link of the URDF, a load or world'
                report.add(constraint.line, f'{where}.{end}.link', expected, did_you_mean(value.link, known))
        ends = (constraint.first, constraint.second)
        if ends[0] is not None and ends[1] is not None and ends[0].link == ends[1].link:
            report.add(constraint.line, where, 'two different links', f'{ends[0].link!r} twice')
        if constraint.kind == 'wheel' and constraint.first is not None and constraint.first.link == WORLD:
            report.add(constraint.line, f'{where}.first.link', 'a link that moves', 'world')
        for name in [constraint.joint] if constraint.joint else [joint for joint, _ in constraint.coefficients]:
            _check_joint(name, movable, joints, constraint.line, where, report)
        if constraint.kind == 'coupling' and not any(factor for _, factor in constraint.coefficients):
            report.add(constraint.line, f'{where}.coefficients', 'a coefficient other than zero', 'none')
    _check_locks(constraints, classes, report)


def _check_joint(
    name: str, movable: Mapping[str, Joint], joints: Mapping[str, Joint], line: int, where: str, report: Report
) -> None:
    if name not in movable:
        found = f'{name!r}, which is fixed' if name in joints else did_you_mean(name, movable)
        report.add(line, where, 'a movable joint of the URDF', found)


def _check_locks(constraints: tuple[MachineConstraint, ...], classes: tuple[JointClass, ...], report: Report) -> None:
    """Two locks or prescribed motions of one joint, or one of a joint of class locked or pseudo, are refused."""
    held: dict[str, str] = {}
    for entry in classes:
        if entry.kind in ('locked', 'pseudo'):
            at = 'its initial position' if entry.rest is None else number(entry.rest)
            held[entry.joint] = f'joints.{entry.joint} holds it at {at}'
    for constraint in constraints:
        if constraint.kind not in ('lock', 'prescribed'):
            continue
        where, moved = f'constraints.{constraint.name}', constraint.kind == 'prescribed'
        if constraint.joint in held:
            found = 'a motion' if moved else number(constraint.position)
            expected = (
                f'one lock of joint {constraint.joint}' if not moved else f'one motion of joint {constraint.joint}'
            )
            report.add(constraint.line, where, expected, f'{found}, while {held[constraint.joint]}')
        at = 'moves it' if moved else f'holds it at {number(constraint.position)}'
        held[constraint.joint] = f'{where} {at}'
