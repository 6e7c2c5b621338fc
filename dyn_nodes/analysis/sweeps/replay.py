"""Files that repeat runs of a sweep: a task, a sweep of one run, a launch file.

run-000123/task.yaml           voltages of the run
run-000123/sweep.yaml          the run with this task; gives the same row
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
"""Ramp at both ends of the segment for a lever that is held for the whole run, s."""
LOW_IS_BAD = ('least_', 'time_of_', 'lift_off_time')
"""Prefixes of the outcomes whose least values are the worst."""
Definition = Mapping[str, Any]
"""Definition of a sweep in its note."""


class ReplayError(UserError, ValueError):
    """No run can be replayed; the message is one line."""


def worst_runs(results: Results, outcome: str, count: int, least: bool | None = None) -> list[int]:
    """Return the row indices of the worst runs of an outcome, the worst first.

    Args:
        results: results of the sweep.
        outcome: a flag (set: bad, the worse the earlier the run ends) or a number.
        count: greatest number of runs.
        least: whether the least values, or flags that are not set, are the worst; None: by the name of the outcome.

    Raises:
        ReplayError: no run has such a flag, or a finite value.
    """
    values = results.column(outcome)
    if results.outcomes[outcome] == 'flag':
        keys, good = results.column('end_time'), values == (0.0 if least else 1.0)
    else:
        low = outcome.startswith(LOW_IS_BAD) if least is None else least
        keys, good = values if low else -values, np.isfinite(values)
    rows = np.flatnonzero(good)
    if not len(rows):
        raise ReplayError(f'expected runs with {outcome}, found none of {len(values)}')
    return [int(index) for index in rows[np.argsort(keys[rows], kind='stable')][:count]]


def write_replay(results: Results, index: int, directory: Path) -> Path:
    """Write the files of a run into a new directory below `directory`; return it.

    The launch file is omitted if nodes cannot repeat the run: keys of the machine YAML that are not parameters, or
        levers
    together with a task.

    Raises:
        ReplayError: the note of the sweep is of an older version without the definition; or a launch file cannot hold
            a name or a path.
        OSError: the files cannot be written.
    """
    definition = results.note.get('definition')
    if not isinstance(definition, dict):
        raise ReplayError('expected the definition of the sweep in its sweep.json, found none: run it again')
    row = results.table.slice(index, 1).to_pylist()[0]
    name = f'{results.note["name"]}_run_{row["run"]}'
    factors = [Factor(**fields) for fields in definition['factors']]
    for factor in factors:
        if not COLUMN.fullmatch(factor.name):
            raise ReplayError(f'name of a factor: expected {COLUMN_FORM}, found {factor.name!r}')
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
    """Return the values of a run. Raise ReplayError if they make the task invalid."""
    try:
        return case_of(factors, [row[factor.name] for factor in factors], _task(definition, name))
    except ValueError as error:
        raise ReplayError(f'run {row["run"]}: expected values that give a valid task, found {error}') from None


def _task(definition: Definition, name: str) -> VoltageProfile | None:
    task = definition['task']
    if task is None:
        return None
    return VoltageProfile(name, task['duration'], tuple(Segment(**segment) for segment in task['segments']))


def _duration(definition: Definition, case: Case) -> float:
    duration = definition['duration']
    return float(duration if duration is not None else case.profile.duration if case.profile is not None else 0.0)


def _held(levers: Mapping[str, float], duration: float, name: str) -> VoltageProfile | None:
    """Return a task that holds levers for a whole run; None without levers."""
    if not levers:
        return None
    end = duration + RAMP
    return VoltageProfile(name, end, (Segment('levers', 0.0, end, RAMP, dict(levers)),))


def _task_keys(task: VoltageProfile) -> dict[str, Any]:
    segments = [
        {
            'name': segment.name,
            'start': segment.start,
            'end': segment.end,
            'ramp': segment.ramp,
            'volts': dict(segment.volts),
        }
        for segment in task.segments
    ]
    return {'name': task.name, 'duration': task.duration, 'segments': segments}


def _sweep_keys(
    definition: Definition, case: Case, factors: list[Factor], row: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """Return the keys of a sweep of one run: factors of the task are applied to the task, all others have one value."""
    machine, config = definition['files']
    kept = {
        factor.name: _factor_keys(factor, row[factor.name]) for factor in factors if factor.target not in OF_THE_TASK
    }
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
        # a sweep needs at least one factor: pace 1 leaves the task unchanged
        'factors': kept or {factors[0].name: {'pace': 'task', 'values': [1.0]}},
        'outcomes': list(definition['outcomes']),
        'measures': list(definition['measures']),
        'expressions': dict(definition['expressions']),
    }
    return {key: value for key, value in keys.items() if value not in (None, '', {}, [])}


def _factor_keys(factor: Factor, value: float) -> dict[str, Any]:
    target, key = ('machine', f'slope.{factor.key}') if factor.target == 'slope' else (factor.target, factor.key)
    return {target: key, 'values': [float(value)]}


def _dump(path: Path, keys: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    status = f'# run {row["run"]} of a sweep: {row["status"]} at {row["end_time"]:g} s\n'
    if not status.rstrip('\n').isprintable():
        raise ReplayError(f'status: expected printable characters, found {row["status"]!a}')
    write_whole(path, (status + yaml.safe_dump(dict(keys), sort_keys=False, allow_unicode=True)).encode())


def _launch(definition: Definition, case: Case, task: VoltageProfile | None) -> str:
    """Return a launch file: scales are parameters of dynamics_node, all other values are arguments of log_loader."""
    machine, config = definition['files']
    parameters = dict(case.parameters)
    payload = parameters.pop('payload_mass', None)
    joints = {**definition['joint_positions'], **case.joints}
    values = {
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
        f'    <arg name="{name}" value={quoteattr(value)}/>' for name, value in values.items() if value is not None
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


def _literal(name: str, text: str) -> str:
    """Return a text as an attribute of a launch file. Raise ReplayError if it cannot be one."""
    try:
        return literal(text)
    except SubstitutionError as error:
        raise ReplayError(f'{name}: {error}') from None


def _joint(name: str) -> str:
    """Return the name of a joint for `initial_positions`. Raise ReplayError if it cannot be one."""
    if set(name) & set(',='):
        raise ReplayError(f'joint: expected a name without , and =, found {name!r}')
    return _literal('joint', name)
