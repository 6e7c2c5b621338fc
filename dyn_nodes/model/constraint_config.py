"""Machine YAML -> constraints, loads and classes of joints; and do they fit the URDF and each other?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.constraint import WORLD, JointClass, Load, MachineConstraint, Profile
from dyn_nodes.model.limits import NAME
from dyn_nodes.model.problems import Report, did_you_mean, number
from dyn_nodes.model.schema import build, keys_of
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import Entry


def read_constraint(reader: SchemaReader, name: str, own: Entry) -> MachineConstraint | None:
    """Return a sound constraint; None where it has faults, which are reported."""
    values = reader.table(own, keys_of(MachineConstraint))
    result = build(MachineConstraint, values, name=name, line=own.line)
    if result is None or not _fits_kind(MachineConstraint, result.kind, own, reader.report):
        return None
    profiles = {'profile': result.profile, 'ground': result.ground}
    if not all(_sound_profile(own.mapping.get(key), profile, reader.report) for key, profile in profiles.items()):
        return None
    if result.kind == 'steering' and result.ratio == 0.0:
        reader.report.add(
            own.mapping['ratio'].line, f'{own.path}.ratio', 'a number other than zero', '0; lock the joint'
        )
        return None
    if result.friction is not None and result.frictionless:
        place = own.mapping['friction']
        reader.report.add(place.line, place.path, 'no friction of a wheel that is frictionless', f'{result.friction:g}')
        return None
    if not any(result.axis):
        reader.report.add(own.mapping['axis'].line, f'{own.path}.axis', 'a direction', 'a vector of length zero')
        return None
    return result


def _fits_kind(record: type, kind: str, own: Entry, report: Report) -> bool:
    """Report keys that this kind of a mapping needs, and those that it may not have."""
    keys, sound = [key for key in keys_of(record) if key.needed or key.allowed], True
    fitting = {'kind', *(key.name for key in keys if kind in (*key.needed, *key.allowed))}
    for key in keys:
        if kind in key.needed and key.name not in own.mapping:
            report.add(own.line, f'{own.path}.{key.name}', f'a value, which kind {kind} needs', 'nothing')
            sound = False
    for key in keys:
        if key.name in own.mapping and key.name not in fitting:
            child = own.mapping[key.name]
            report.add(child.line, child.path, f'keys of kind {kind}: {", ".join(sorted(fitting))}', repr(key.name))
            sound = False
    return sound


def _sound_profile(entry: Entry | None, profile: Profile | None, report: Report) -> bool:
    """Report what makes no motion of a profile; True where there is none."""
    if entry is None or profile is None:
        return True
    if not _fits_kind(Profile, profile.kind, entry, report):
        return False
    if profile.kind == 'polynomial':
        return bool(profile.coefficients)
    if profile.kind != 'points':
        return True
    times, heights = profile.times, profile.values
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


def read_load(reader: SchemaReader, name: str, own: Entry) -> Load | None:
    """Return a sound load; None where it has faults, which are reported."""
    result = build(Load, reader.table(own, keys_of(Load)), name=name, line=own.line)
    if result is None:
        return None
    moments = np.linalg.eigvalsh(result.inertia)
    if moments[0] > 0 and moments[2] <= (moments[0] + moments[1]) * (1 + 1e-9):
        return result
    found = f'principal moments {", ".join(f"{moment:.4g}" for moment in moments)} kg m2'
    expected = 'an inertia of a body: all moments above zero, none above the sum of the others'
    reader.report.add(own.mapping['inertia'].line, f'{own.path}.inertia', expected, found)
    return None


def read_joint_class(reader: SchemaReader, name: str, own: Entry) -> JointClass | None:
    """Return a sound entry of `joints`; None where it has faults, which are reported."""
    result = build(JointClass, reader.table(own, keys_of(JointClass)), joint=name, line=own.line)
    if result is None:
        return None
    spring = result.stiffness > 0 or result.damping > 0
    if spring == (result.kind == 'flexible'):
        return result
    found = 'neither' if not spring else f'class {result.kind} with a spring or damper'
    reader.report.add(own.line, own.path, 'stiffness or damping with class flexible, and with no other', found)
    return None


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
        if constraint.joint:
            _check_joint(constraint.joint, movable, joints, constraint.line, where, report)
        for name, _ in constraint.coefficients:
            if name not in joints or name not in locked:  # locked joints shift the offset of a coupling
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
        if entry.held:
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
