"""Readers of constraints, loads and joint classes of the machine YAML, and their checks against URDF and each other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.constraint import WORLD, ConstraintRecord, JointClass, Load, Parts, Profile
from dyn_nodes.model.constraint_kinds import constraint_keys, constraint_kinds
from dyn_nodes.model.limits import NAME
from dyn_nodes.model.problems import Report, number
from dyn_nodes.model.schema import Key, build, keys_of
from dyn_nodes.model.schema_reader import SchemaReader
from dyn_nodes.model.yaml_source import Entry


def read_constraint(reader: SchemaReader, name: str, entry: Entry) -> ConstraintRecord | None:
    """Return a valid constraint; report faults and return None otherwise."""
    values = reader.table(entry, constraint_keys())
    kind = values.get('kind')
    if kind is None or not _fits_kind(constraint_keys(), kind, entry, reader.report):
        return None
    record = constraint_kinds()[kind]
    keys = keys_of(record)  # type: ignore[arg-type]
    absent = {key.name: key.default for key in keys if not _is_present(key.name, entry)}
    result: ConstraintRecord | None = build(record, {**values, **absent}, name=name, line=entry.line)
    if result is None:
        return None
    profiles = {key.name: getattr(result, key.field) for key in keys if key.record is Profile}
    if not all(_sound_profile(entry.mapping.get(key), profile, reader.report) for key, profile in profiles.items()):
        return None
    if result.fault is not None:
        key, expected, actual = result.fault
        reader.report.add(entry.mapping[key].line, f'{entry.path}.{key}', expected, actual)
        return None
    return result


def _is_present(key: str, entry: Entry) -> bool:
    return key in entry.mapping and entry.mapping[key].kind != 'null'


def _fits_kind(keys: Sequence[Key], kind: str, entry: Entry, report: Report) -> bool:
    """Report missing and forbidden keys of a kind; return True if there are none."""
    limited, sound = [key for key in keys if key.needed or key.allowed], True
    fitting = {'kind', *(key.name for key in limited if kind in (*key.needed, *key.allowed))}
    for key in limited:
        if kind in key.needed and not _is_present(key.name, entry):
            report.add(entry.line, f'{entry.path}.{key.name}', f'a value, which kind {kind} needs', 'nothing')
            sound = False
    for key in limited:
        if key.name in entry.mapping and key.name not in fitting:
            child = entry.mapping[key.name]
            report.add(child.line, child.path, f'keys of kind {kind}: {", ".join(sorted(fitting))}', repr(key.name))
            sound = False
    return sound


def _sound_profile(entry: Entry | None, profile: Profile | None, report: Report) -> bool:
    """Report invalid values of a profile; return True if there are none."""
    if entry is None or profile is None:
        return True
    if not _fits_kind(keys_of(Profile), profile.kind, entry, report):
        return False
    if profile.kind == 'polynomial':
        return bool(profile.coefficients)
    if profile.kind != 'points':
        return True
    times, heights = profile.times, profile.values
    if not times or not heights:
        return False
    if len(times) < 2 or any(after <= before for before, after in pairwise(times)):
        actual = ', '.join(number(time) for time in times)
        report.add(entry.mapping['times'].line, f'{entry.path}.times', 'at least two rising times', actual)
        return False
    if len(heights) != len(times):
        actual = f'{len(heights)} values for {len(times)} times'
        report.add(entry.mapping['values'].line, f'{entry.path}.values', 'a value for every time', actual)
        return False
    return True


def read_load(reader: SchemaReader, name: str, entry: Entry) -> Load | None:
    """Return a valid load; report faults and return None otherwise."""
    result = build(Load, reader.table(entry, keys_of(Load)), name=name, line=entry.line)
    if result is None:
        return None
    moments = np.linalg.eigvalsh(result.inertia)
    if moments[0] > 0 and moments[2] <= (moments[0] + moments[1]) * (1 + 1e-9):
        return result
    actual = f'principal moments {", ".join(f"{moment:.4g}" for moment in moments)} kg m2'
    expected = 'an inertia of a body: all moments above zero, none above the sum of the others'
    reader.report.add(entry.mapping['inertia'].line, f'{entry.path}.inertia', expected, actual)
    return None


def read_joint_class(reader: SchemaReader, name: str, entry: Entry) -> JointClass | None:
    """Return a valid entry of `joints`; report faults and return None otherwise."""
    result = build(JointClass, reader.table(entry, keys_of(JointClass)), joint=name, line=entry.line)
    if result is None:
        return None
    spring = result.stiffness > 0 or result.damping > 0
    if spring == (result.kind == 'flexible'):
        return result
    actual = 'neither' if not spring else f'class {result.kind} with a spring or damper'
    reader.report.add(entry.line, entry.path, 'stiffness or damping with class flexible, and with no other', actual)
    return None


def check_constraints(
    constraints: tuple[ConstraintRecord, ...],
    loads: tuple[Load, ...],
    classes: tuple[JointClass, ...],
    links: Mapping[str, object],
    joints: Mapping[str, Joint],
    locked: tuple[str, ...],
    report: Report,
) -> None:
    """Check names and contradictions; `dyn_nodes.simulation.constrained_machine` checks whether loops close."""
    parts = Parts((*links, *(load.name for load in loads), WORLD), joints, locked)
    for load in loads:
        if load.name in links or load.name in joints or load.name == WORLD:
            report.add(load.line, f'loads.{load.name}', 'a name that no link or joint has', repr(load.name))
    for entry in classes:
        parts.check_joint(entry.joint, entry.line, f'joints.{entry.joint}', report)
    for constraint in constraints:
        if not re.match(NAME, constraint.name):
            expected = 'a name of letters, digits and underscores, as it becomes part of a topic'
            report.add(constraint.line, f'constraints.{constraint.name}', expected, repr(constraint.name))
        constraint.check(parts, report)
    _check_locks(constraints, classes, report)


def _check_locks(constraints: tuple[ConstraintRecord, ...], classes: tuple[JointClass, ...], report: Report) -> None:
    """Report several locks or prescribed motions of one joint; the classes locked and pseudo are locks, too."""
    held: dict[str, str] = {}
    for entry in classes:
        if entry.held:
            at = 'its initial position' if entry.rest is None else number(entry.rest)
            held[entry.joint] = f'joints.{entry.joint} holds it at {at}'
    for constraint in constraints:
        joint, position = constraint.held_joint, constraint.locked_position
        moved = bool(constraint.moved_joint)
        if not moved and position is None:
            continue
        where, at = f'constraints.{constraint.name}', '' if position is None else number(position)
        if joint in held:
            actual, expected = ('a motion', 'one motion') if moved else (at, 'one lock')
            report.add(constraint.line, where, f'{expected} of joint {joint}', f'{actual}, while {held[joint]}')
        held[joint] = f'{where} {"moves it" if moved else f"holds it at {at}"}'
