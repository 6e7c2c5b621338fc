"""`dyn-nodes contact drive`: an adversary against the grip governor of a vehicle."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_machine_and_config, tables

if TYPE_CHECKING:
    from dyn_nodes.governor.campaign.grip_campaign import GripOutcome

MOST_RUNS = 100_000
FILE = 'drive.jsonl'
KINDS = {
    'slid': 'a wheel slid',
    'lifted': 'a wheel lifted',
    'overturned': 'overturned',
}


def add_drive_parser(verbs: Subparsers) -> None:
    """Add the verb `drive`."""
    drive = add_command(
        verbs,
        'drive',
        'Try to make wheels slide or lift by random cmd_vel and arm motions.',
        'dyn-nodes contact drive agv_mecanum_arm --runs 50\n'
        'dyn-nodes contact drive car --speed 12 --turn 1 --acceleration 7 --turn-acceleration 4 --json',
        'Simulate a vehicle on wheels with springs under random commands, reversals and full speed among\n'
        'them, with random payloads, slopes and motions of its arm, without the grip governor and\n'
        'with it, and count the runs in which a wheel slid or lifted for longer than 0.05 s. All wheels\n'
        'are on the ground at the start. The exit status is 1 where a wheel slid or lifted with the governor.',
    )
    add_machine_and_config(drive)
    drive.add_argument('--runs', metavar='N', type=int, default=20, help='random sequences (20)')
    drive.add_argument('--first', metavar='N', type=int, default=0, help='number of the first of them (0)')
    drive.add_argument('--seed', metavar='N', type=int, default=1, help='of the random numbers (1)')
    drive.add_argument('--seconds', metavar='S', type=float, default=2.0, help='length of a run (2)')
    drive.add_argument('--speed', metavar='M/S', type=float, default=1.5, help='greatest speed (1.5)')
    drive.add_argument('--turn', metavar='RAD/S', type=float, default=2.0, help='greatest yaw rate (2)')
    drive.add_argument('--acceleration', metavar='M/S2', type=float, default=5.0, help='greatest acceleration (5)')
    drive.add_argument('--turn-acceleration', metavar='RAD/S2', type=float, default=10.0, help='of the yaw rate (10)')
    drive.add_argument('--slope', metavar='DEG', type=float, default=5.0, help='steepest ground about each axis (5)')
    drive.add_argument('--period', metavar='S', type=float, default=0.005, help='of the commands (0.005)')
    drive.add_argument('--jobs', metavar='N', type=int, default=1, help='processes (1)')
    drive.add_argument('--out', metavar='DIR', type=Path, help=f'write {FILE} there, a line for every run')
    drive.add_argument('--json', action='store_true', help='print JSON')


def run_drive(args: argparse.Namespace) -> int:
    """Run the adversary; return 1 where a wheel slid or lifted with the governor, else 0."""
    _check(args)
    outcomes = _outcomes(args)
    without, governed = [pair[0] for pair in outcomes], [pair[1] for pair in outcomes]
    summary = {'without': _summary(without), 'governed': _summary(governed)}
    if args.json:
        given = {name: getattr(args, name) for name in ('machine', 'runs', 'first', 'seed')}
        print(json.dumps({**given, **summary}, indent=2))
    else:
        _print(summary)
    return int(any(own.slid or own.lifted or own.overturned for own in governed))


def _check(args: argparse.Namespace) -> None:
    for name, least in (('runs', 1), ('jobs', 1), ('first', 0)):
        if not least <= getattr(args, name) <= MOST_RUNS:
            raise CommandError(f'--{name}: expected {least} to {MOST_RUNS}, found {getattr(args, name)}', 2)
    for name in ('seconds', 'speed', 'turn', 'acceleration', 'turn_acceleration'):
        value = getattr(args, name)
        if not (math.isfinite(value) and 0.01 <= value <= 1000.0):
            raise CommandError(f'--{name.replace("_", "-")}: expected 0.01 to 1000, found {value:g}', 2)
    if not 0.0005 <= args.period <= 0.1:
        raise CommandError(f'--period: expected 0.0005 to 0.1, found {args.period:g}', 2)
    if not 0.0 <= args.slope <= 45.0:
        raise CommandError(f'--slope: expected 0 to 45 degrees, found {args.slope:g}', 2)


def _outcomes(args: argparse.Namespace) -> list[tuple[GripOutcome, GripOutcome]]:
    from dyn_nodes.control.wheel_base import NoVehicleError
    from dyn_nodes.control.wheel_drive import DriveLimits
    from dyn_nodes.governor.campaign.grip_campaign import GripBox, campaign, check_machine
    from dyn_nodes.governor.grip_model import GripModelError
    from dyn_nodes.model.problems import MachineError
    from dyn_nodes.nodes.machines import machine_of

    limits = DriveLimits(args.speed, args.turn, args.acceleration, args.turn_acceleration)
    box = GripBox(limits, args.seconds, math.radians(args.slope), args.period)
    try:
        machine = machine_of(args.machine, args.config)
        check_machine(machine)
        with _lines(args.out) as keep:
            return campaign(machine, box, args.runs, args.seed, jobs=args.jobs, keep=keep, first=args.first)
    except OSError as error:
        raise CommandError(f'{error.filename or args.out}: {error.strerror or error}') from None
    except (MachineError, NoVehicleError, GripModelError, ValueError) as error:
        raise CommandError(str(error)) from None


@contextmanager
def _lines(directory: Path | None) -> Iterator[Callable[[int, tuple[GripOutcome, GripOutcome]], None]]:
    """Give a function that writes the outcomes of a case as a line of `FILE`, if there is a directory."""
    if directory is None:
        yield lambda number, outcomes: None
        return
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / FILE).open('w', encoding='utf-8', buffering=1) as file:

        def keep(number: int, outcomes: tuple[GripOutcome, GripOutcome]) -> None:
            without, governed = map(asdict, outcomes)
            file.write(json.dumps({'number': number, 'without': without, 'governed': governed}) + '\n')

        yield keep


def _summary(outcomes: Sequence[GripOutcome]) -> dict[str, Any]:
    counts = {name: sum(getattr(own, name) for own in outcomes) for name in KINDS}
    return {
        'runs': len(outcomes),
        'commands': sum(own.commands for own in outcomes),
        **counts,
        'greatest_friction_use': max(own.friction_use for own in outcomes),
        'least_load_share': min(own.load_share for own in outcomes),
        'way': sum(own.way for own in outcomes),
        'led': sum(own.led for own in outcomes),
        'wanted': sum(own.wanted for own in outcomes),
        'trajectories_slowed': sum(own.slowed for own in outcomes),
    }


def _print(summary: dict[str, dict[str, Any]]) -> None:
    rows = [('commands to base and arm', *(str(own['commands']) for own in summary.values()))]
    rows += [(text, *(f'{own[name]} of {own["runs"]}' for own in summary.values())) for name, text in KINDS.items()]
    rows += [
        ('greatest friction use', *(f'{own["greatest_friction_use"]:.2f}' for own in summary.values())),
        ('least load over an equal share', *(f'{own["least_load_share"]:.2f}' for own in summary.values())),
        ('way', *(f'{own["way"]:.1f} m' for own in summary.values())),
        ('way that was led', *(f'{own["led"]:.1f} m' for own in summary.values())),
        ('way that was wanted', *(f'{own["wanted"]:.1f} m' for own in summary.values())),
        ('trajectories slowed or refused', *(str(own['trajectories_slowed']) for own in summary.values())),
    ]
    width = max(len(row[0]) for row in rows)
    console = tables.console()
    console.print(f'{"":{width}}  {"without":>12}  {"with":>12}')
    for name, first, second in rows:
        console.print(f'{name:{width}}  {first:>12}  {second:>12}')
