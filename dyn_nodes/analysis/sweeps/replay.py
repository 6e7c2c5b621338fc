"""Runs of a sweep as files that repeat them: a task, a sweep of this one run, a launch file.

run-000123/task.yaml           voltages, as the factors of the run made them
run-000123/sweep.yaml          the run with this task: the same row
run-000123/replay.launch.xml   the run by nodes, in lockstep
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import yaml

from dyn_nodes.analysis.sweeps.factors import OF_THE_TASK, Case, Factor, case_of
from dyn_nodes.analysis.sweeps.report import Results
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.textfile import write_whole
from dyn_nodes.control.voltage_profile import Segment, VoltageProfile
from dyn_nodes.middleware.launching import SubstitutionError, literal
from dyn_nodes.model.sweep import COLUMN, COLUMN_FORM

TASK, SWEEP, LAUNCH = 'task.yaml', 'sweep.yaml', 'replay.launch.xml'
RAMP = 1e-3
"""At both ends of a lever that is held for the whole run, as the segment of a task, s."""
LOW_IS_BAD = ('least_', 'time_of_', 'lift_off_time')
"""Beginnings of the names of outcomes whose least values are the worst."""
Definition = Mapping[str, Any]
"""Of a sweep, as its note has it."""


class ReplayError(UserError, ValueError):
    """There is nothing to replay; one line says why."""


def worst_runs(results: Results, outcome: str, count: int, least: bool | None = None) -> list[int]:
    """Return the places of the worst runs of an outcome in the table, the worst first.

    Args:
        results: of the sweep.
        outcome: a flag, of which set ones are bad, the earlier the run ends the worse; or a number.
        count: at most so many.
        least: the least values, or flags that are not set, are the worst; None: by the name of the outcome.

    Raises:
        ReplayError: no run has such a flag, or a finite value.
    """
    values = results.column(outcome)
    if results.outcomes[outcome] == 'flag':
        keys, good = results.column('end_time'), values == (0.0 if least else 1.0)
    else:
        low = outcome.startswith(LOW_IS_BAD) if least is None else least
        keys, good = values if low else -values, np.isfinite(values)
    places = np.flatnonzero(good)
    if not len(places):
        raise ReplayError(f'expected runs with {outcome}, found none of {len(values)}')
    return [int(own) for own in places[np.argsort(keys[places], kind='stable')][:count]]


def write_replay(results: Results, place: int, directory: Path) -> Path:
    """Write the files of a run into a new directory below another one; return it.

    A launch file is left out where nodes cannot repeat the run: keys of the machine YAML that are no parameters, or
    levers beside a task.

    Raises:
        ReplayError: the note of the sweep is of an older version, which does not keep what a replay needs; a name or
            a path is none that a launch file can hold.
        OSError: they cannot be written.
    """
    definition = results.note.get('definition')
    if not isinstance(definition, dict):
        raise ReplayError('expected the definition of the sweep in its sweep.json, found none: run it again')
    row = results.table.slice(place, 1).to_pylist()[0]
    name = f'{results.note["name"]}_run_{row["run"]}'
    factors = [Factor(**own) for own in definition['factors']]
    for own in factors:
        if not COLUMN.fullmatch(own.name):
            raise ReplayError(f'name of a factor: expected {COLUMN_FORM}, found {own.name!r}')
    case = _case(definition, factors, row, name)
    levers = {**definition['levers'], **case.levers}
    task = case.profile if case.profile is not None else _held(levers, _duration(definition, case), name)
    launch = ''
    if not case.level and not (levers and case.profile is not None):
        launch = _launch(definition, case, task)
    made = directory / f'run-{row["run"]:06d}'
    for folder in (directory, made):
        if folder.is_symlink():
            raise ReplayError(f'{folder}: expected a directory, found a link')
    made.mkdir(parents=True, exist_ok=True)
    for name_of_file in (TASK, LAUNCH):
        (made / name_of_file).unlink(missing_ok=True)
    if task is not None:
        _dump(made / TASK, _task_keys(task), row)
    _dump(made / SWEEP, _sweep_keys(definition, case, factors, row, name), row)
    if launch:
        write_whole(made / LAUNCH, launch.encode())
    return made


def _case(definition: Definition, factors: list[Factor], row: Mapping[str, Any], name: str) -> Case:
    """Return the values of a run. Raises ReplayError: its task is none at these values."""
    try:
        return case_of(factors, [row[own.name] for own in factors], _task(definition, name))
    except ValueError as error:
        raise ReplayError(f'run {row["run"]}: expected values with which the task is one, found {error}') from None


def _task(definition: Definition, name: str) -> VoltageProfile | None:
    given = definition['task']
    if given is None:
        return None
    return VoltageProfile(name, given['duration'], tuple(Segment(**own) for own in given['segments']))


def _duration(definition: Definition, case: Case) -> float:
    given = definition['duration']
    return float(given if given is not None else case.profile.duration if case.profile is not None else 0.0)


def _held(levers: Mapping[str, float], duration: float, name: str) -> VoltageProfile | None:
    """Return a task that holds levers for a whole run; None: there are none."""
    if not levers:
        return None
    end = duration + RAMP
    return VoltageProfile(name, end, (Segment('levers', 0.0, end, RAMP, dict(levers)),))


def _task_keys(task: VoltageProfile) -> dict[str, Any]:
    segments = [
        {'name': own.name, 'start': own.start, 'end': own.end, 'ramp': own.ramp, 'volts': dict(own.volts)}
        for own in task.segments
    ]
    return {'name': task.name, 'duration': task.duration, 'segments': segments}


def _sweep_keys(
    definition: Definition, case: Case, factors: list[Factor], row: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """Return the keys of a sweep of one run: factors of the task are in the task now, all others have one value."""
    machine, config = definition['files']
    kept = {own.name: _factor_keys(own, row[own.name]) for own in factors if own.target not in OF_THE_TASK}
    keys = {
        'name': name,
        'machine': machine,
        'config': config,
        'task': TASK if case.profile is not None else '',
        'levers': dict(definition['levers']),
        'joint_positions': dict(definition['joint_positions']),
        'duration': definition['duration'],
        'step': definition['step'],
        'sample_period': definition['sample_period'],
        # a sweep has a factor at least: the task at its own pace is the task
        'factors': kept or {factors[0].name: {'pace': 'task', 'values': [1.0]}},
        'outcomes': list(definition['outcomes']),
        'measures': list(definition['measures']),
        'expressions': dict(definition['expressions']),
    }
    return {key: own for key, own in keys.items() if own not in (None, '', {}, [])}


def _factor_keys(factor: Factor, value: float) -> dict[str, Any]:
    target, key = ('machine', f'slope.{factor.key}') if factor.target == 'slope' else (factor.target, factor.key)
    return {target: key, 'values': [float(value)]}


def _dump(path: Path, keys: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    status = f'# run {row["run"]} of a sweep: {row["status"]} at {row["end_time"]:g} s\n'
    if not status.rstrip('\n').isprintable():
        raise ReplayError(f'status: expected printable characters, found {row["status"]!a}')
    write_whole(path, (status + yaml.safe_dump(dict(keys), sort_keys=False, allow_unicode=True)).encode())


def _launch(definition: Definition, case: Case, task: VoltageProfile | None) -> str:
    """Return a launch file: scales are parameters of dynamics_node, everything else an argument of log_loader."""
    machine, config = definition['files']
    parameters = dict(case.parameters)
    payload = parameters.pop('payload_mass', None)
    joints = {**definition['joint_positions'], **case.joints}
    given = {
        'machine': _literal('machine', machine),
        'config': _literal('config', config),
        'task': '' if task is None else f'$(dirname)/{TASK}',
        'mode': 'lockstep',
        'monolithic': 'true',
        'duration': repr(_duration(definition, case)),
        'payload': None if payload is None else repr(payload),
        'slope': repr(case.slope['pitch']) if 'pitch' in case.slope else None,
        'cross_slope': repr(case.slope['roll']) if 'roll' in case.slope else None,
        'initial_positions': ','.join(f'{_joint(name)}={value!r}' for name, value in joints.items()) or None,
    }
    lines = [
        f'  <set_parameter name={quoteattr(_literal("parameter", name))} value={quoteattr(repr(value))}/>'
        for name, value in parameters.items()
    ]
    arguments = [
        f'    <arg name="{name}" value={quoteattr(value)}/>' for name, value in given.items() if value is not None
    ]
    return '\n'.join(
        [
            '<?xml version="1.0"?>',
            '<launch>',
            '  <arg name="record" default="false" description="record a bag"/>',
            '  <arg name="bag" default="" description="directory of the bag"/>',
            *lines,
            '  <include file="$(find-pkg-share dyn_nodes)/launch/log_loader.launch.xml">',
            *arguments,
            '    <arg name="record" value="$(var record)"/>',
            '    <arg name="bag" value="$(var bag)"/>',
            '  </include>',
            '</launch>\n',
        ]
    )


def _literal(what: str, text: str) -> str:
    """Return a text as an attribute of a launch file has it. Raises ReplayError."""
    try:
        return literal(text)
    except SubstitutionError as error:
        raise ReplayError(f'{what}: {error}') from None


def _joint(name: str) -> str:
    """Return the name of a joint as `initial_positions` has it. Raises ReplayError."""
    if set(name) & set(',='):
        raise ReplayError(f'joint: expected a name without , and =, found {name!r}')
    return _literal('joint', name)
