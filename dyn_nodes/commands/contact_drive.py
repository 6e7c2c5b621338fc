"""`dyn-nodes contact drive`: tests the grip governor of a vehicle with random commands."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import (
    CommandError,
    Subparsers,
    add_command,
    add_jobs,
    add_machine_and_config,
    add_out,
    tables,
)
from dyn_nodes.commands.option_types import SEED, between, count

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
        'Simulate a vehicle on sprung wheels under random commands, including reversals and full speed,\n'
        'with random payloads, slopes and motions of its arm, without and with the grip governor, and\n'
        'count the runs in which a wheel slid or lifted for longer than 0.05 s. All wheels are on the\n'
        'ground at the start. The exit status is 1 if a wheel slid or lifted with the governor.',
    )
    add_machine_and_config(drive)
    drive.add_argument('--runs', metavar='N', type=count(1, MOST_RUNS), default=20, help='random sequences (20)')
    drive.add_argument(
        '--first', metavar='N', type=count(0, MOST_RUNS), default=0, help='number of the first sequence (0)'
    )
    drive.add_argument('--seed', metavar='N', type=SEED, default=1, help='seed of the random numbers (1)')
    usual = between(0.01, 1000.0)
    for name, unit, kind, default, text in (
        ('duration', 'S', usual, 2.0, 'length of a run (2)'),
        ('speed', 'M/S', usual, 1.5, 'greatest speed (1.5)'),
        ('turn', 'RAD/S', usual, 2.0, 'greatest yaw rate (2)'),
        ('acceleration', 'M/S2', usual, 5.0, 'greatest acceleration (5)'),
        ('turn-acceleration', 'RAD/S2', usual, 10.0, 'greatest yaw acceleration (10)'),
        ('slope', 'DEG', between(0.0, 45.0, 'degrees'), 5.0, 'steepest ground about each axis (5)'),
        ('period', 'S', between(0.0005, 0.1), 0.005, 'period of the commands (0.005)'),
    ):
        drive.add_argument(f'--{name}', metavar=unit, type=kind, default=default, help=text)
    add_jobs(drive, 1)
    add_out(drive, f'directory for {FILE}, a line for every run')
    drive.add_argument('--json', action='store_true', help='print JSON')


def run_drive(args: argparse.Namespace) -> int:
    """Run the sequences; return 1 if a wheel slid or lifted with the governor, else 0."""
    outcomes = _outcomes(args)
    without, governed = [pair[0] for pair in outcomes], [pair[1] for pair in outcomes]
    summary = {'without': _summary(without), 'governed': _summary(governed)}
    if args.json:
        options = {name: getattr(args, name) for name in ('machine', 'runs', 'first', 'seed')}
        tables.print_json({**options, **summary})
    else:
        _print(summary)
    return int(any(outcome.slid or outcome.lifted or outcome.overturned for outcome in governed))


def _outcomes(args: argparse.Namespace) -> list[tuple[GripOutcome, GripOutcome]]:
    from dyn_nodes.control.wheel_base import NoVehicleError
    from dyn_nodes.control.wheel_drive import DriveLimits
    from dyn_nodes.governor.campaign.grip_campaign import GripBox, campaign, check_machine
    from dyn_nodes.governor.grip_model import GripModelError
    from dyn_nodes.model.problems import MachineError
    from dyn_nodes.nodes.machines import machine_of

    limits = DriveLimits(args.speed, args.turn, args.acceleration, args.turn_acceleration)
    box = GripBox(limits, args.duration, math.radians(args.slope), args.period)
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
    """Yield a function that writes the outcomes of a case as a line of `FILE`; without a directory it does nothing."""
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
    counts = {name: sum(getattr(outcome, name) for outcome in outcomes) for name in KINDS}
    return {
        'runs': len(outcomes),
        'commands': sum(outcome.commands for outcome in outcomes),
        **counts,
        'greatest_friction_use': max(outcome.friction_use for outcome in outcomes),
        'least_load_share': min(outcome.load_share for outcome in outcomes),
        'way': sum(outcome.way for outcome in outcomes),
        'led': sum(outcome.led for outcome in outcomes),
        'wanted': sum(outcome.wanted for outcome in outcomes),
        'trajectories_slowed': sum(outcome.slowed for outcome in outcomes),
    }


def _print(summary: dict[str, dict[str, Any]]) -> None:
    rows = [('commands to base and arm', *(str(counts['commands']) for counts in summary.values()))]
    rows += [
        (text, *(f'{counts[name]} of {counts["runs"]}' for counts in summary.values())) for name, text in KINDS.items()
    ]
    rows += [
        ('greatest friction use', *(f'{counts["greatest_friction_use"]:.2f}' for counts in summary.values())),
        ('least load over an equal share', *(f'{counts["least_load_share"]:.2f}' for counts in summary.values())),
        ('way', *(f'{counts["way"]:.1f} m' for counts in summary.values())),
        ('way that was led', *(f'{counts["led"]:.1f} m' for counts in summary.values())),
        ('way that was wanted', *(f'{counts["wanted"]:.1f} m' for counts in summary.values())),
        ('trajectories slowed or rejected', *(str(counts['trajectories_slowed']) for counts in summary.values())),
    ]
    tables.show(rows, ('', 'without', 'with'))
