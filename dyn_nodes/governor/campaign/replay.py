"""Worst cases as tasks for `dyn-nodes launch`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from dyn_nodes.common.printing import printable, yaml_word
from dyn_nodes.governor.campaign.campaign import Record
from dyn_nodes.governor.campaign.cases import Case, lever_profile


def launch_command(machine: str, record: Record, task: Path) -> str:
    """Return the command that replays a run: levers, true payload and slope.

    Mass, delays, start, a wrong or dropped payload and the errors of sensors have no launch arguments; they are
    recorded in `runs.jsonl`.
    """
    case = record.case
    words = [
        f'dyn-nodes launch {shlex.quote(machine)} mode:=lockstep governor:={str(record.governed).lower()}',
        f'{shlex.quote(f"task:={task}")} payload:={case.payload:g} slope:={case.pitch:g} cross_slope:={case.roll:g}',
        f'duration:={case.duration + 1.0:g}',
    ]
    return ' '.join(words)


def task_text(machine: str, record: Record, levers: tuple[str, ...], task: Path) -> str:
    """Return a task file with the levers of a run, its result, and the command to replay it."""
    case, outcome = record.case, record.outcome
    profile = lever_profile(case, levers, task.stem)
    result = 'overturned' if outcome.overturned else 'lifted a wheel' if outcome.lifted else 'kept its wheels down'
    with_or_without = 'with' if record.governed else 'without'
    lines = [
        f'# {printable(machine)} {with_or_without} the governor: {result}; ended at {outcome.time:g} s.',
        f'# mass {case.mass:g} times nominal; payload {case.payload:g} kg, nominal {case.known_payload:g} kg;',
        f'# delays of {case.state_delay:g} s and {case.command_delay:g} s; stops {"on" if case.stops else "off"}.',
        *_troubles(case),
        f'# {printable(launch_command(machine, record, task))}',
        f'name: {yaml_word(profile.name)}',
        f'duration: {profile.duration:.6g}',
        'segments:',
    ]
    for segment in profile.segments:
        volts = ', '.join(f'{yaml_word(name)}: {value:.6g}' for name, value in segment.volts.items())
        lines.append(
            f'  - {{name: {yaml_word(segment.name)}, start: {segment.start:.6g}, end: {segment.end:.6g}, '
            f'ramp: {segment.ramp:.6g}, volts: {{{volts}}}}}'
        )
    return '\n'.join(lines) + '\n'


def _troubles(case: Case) -> Iterator[str]:
    """Yield a comment for each property of a run that the launch file cannot repeat."""
    troubles = case.troubles
    if case.attack:
        yield f'# its levers reacted to the machine (attack {case.attack}); this task has only the parameters.'
    if any(case.center):
        yield f'# the centre of mass of the links lies {case.center[0]:g} m ahead and {case.center[1]:g} m to the left.'
    if case.start:
        yield f'# it starts as far towards joints at {", ".join(f"{q:g}" for q in case.start)} as is certified at rest.'
    if troubles.drop is not None:
        yield f'# the load is dropped {troubles.drop:g} s after the levers start.'
    if troubles.grab is not None:
        yield f'# {troubles.grabbed:g} kg more are grabbed {troubles.grab:g} s after the levers start.'
    if troubles.noise:
        yield f'# errors of the sensors: {troubles.noise:g} times the errors of `dyn-nodes monitor check`.'
    if troubles.jitter:
        yield f'# delays are shorter by up to {100.0 * troubles.jitter:g} % at times.'
    if (troubles.oil, troubles.stiffness, troubles.damping) != (1.0, 1.0, 1.0):
        yield (
            f'# oil {troubles.oil:g}, stiffness {troubles.stiffness:g} and damping {troubles.damping:g} '
            'times the values of the prediction.'
        )


def write_tasks(directory: Path, machine: str, records: list[Record], levers: tuple[str, ...]) -> list[Path]:
    """Write the levers of runs as `worst_1.yaml` and so on; return the paths.

    Raises:
        OSError: a file cannot be written.
    """
    paths = []
    for number, record in enumerate(records, 1):
        path = directory / f'worst_{number}.yaml'
        path.write_text(task_text(machine, record, levers, path))
        paths.append(path)
    return paths
