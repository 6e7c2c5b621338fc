"""`dyn-nodes governor`: tests the tip-over governor of a machine and its cost in ordinary work."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import (
    CommandError,
    Subparsers,
    add_command,
    governor_box,
    governor_counts,
    governor_cycles,
    governor_report,
    governor_sensors,
    governor_stops,
    governor_sum,
    tables,
)
from dyn_nodes.commands.option_types import between, count

if TYPE_CHECKING:
    from dyn_nodes.governor.campaign.campaign import Record
    from dyn_nodes.governor.campaign.cases import Box, Case
    from dyn_nodes.model.machine import Machine

MOST_RUNS = 1_000_000
WORST = 5


def add_parser(subparsers: Subparsers) -> None:
    """Add the `governor` command to the command line."""
    example = (
        'dyn-nodes governor test log_loader --runs 500 --jobs 2 --out runs/governor\n'
        'dyn-nodes governor test log_loader --runs 0 --search 2000 --climbs 8 --json\n'
        'dyn-nodes governor test log_loader --runs 50 --nominal\n'
        'dyn-nodes governor cycles log_loader\n'
        'dyn-nodes governor stops log_loader --runs 20\n'
        'dyn-nodes governor report shadow_bag'
    )
    parser = add_command(
        subparsers,
        'governor',
        'Test the tip-over governor; list its interventions in a bag.',
        example,
    )
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    test = add_command(
        verbs,
        'test',
        'Run lever sequences that try to tip the machine.',
        example,
        'Run a simulated machine under random, switching and reaching lever sequences, with and without the\n'
        'governor, and count the runs in which it overturned or lifted a wheel (off the ground for longer than\n'
        '0.1 s, or by more than 0.5 degrees of the base). Masses, payload, ground and delays are drawn from a box\n'
        'around the model of the governor. Starts in which not even neutral valves are certified are counted\n'
        'separately. A run takes about a second of a core. The exit status is 1 if, with the governor, a wheel\n'
        'lifted or the simulation diverged, if a machine overturned after such a start, or if there is no other start.',
    )
    runs = count(0, MOST_RUNS)
    test.add_argument('--runs', metavar='N', type=runs, default=100, help='random lever sequences (100)')
    test.add_argument('--first', metavar='N', type=runs, default=0, help='number of the first sequence (0)')
    test.add_argument(
        '--search',
        metavar='N',
        type=runs,
        nargs='?',
        const=2000,
        default=0,
        help='search for the worst sequence and machine of the box by cross-entropy, with N runs (0; 2000 without N)',
    )
    test.add_argument(
        '--attacks',
        metavar='N',
        type=runs,
        default=0,
        help='runs whose levers react to loads, rocking and passed commands: six kinds in turn (0)',
    )
    test.add_argument(
        '--climbs',
        metavar='N',
        type=runs,
        default=0,
        help='hill climbs from the N worst runs of all others, from random ones if there are fewer (0)',
    )
    test.add_argument('--steps', metavar='N', type=count(1, MOST_RUNS), default=300, help='steps of a climb (300)')
    test.add_argument(
        '--cases', metavar='FILE', type=Path, help='JSON lines with further cases (`case`), such as a runs.jsonl'
    )
    governor_box.add_options(test)
    governor_box.add_efforts(test)
    test.add_argument(
        '--drop', action='store_true', help='drop the load at a random time; the governor is informed after 0.5 s'
    )
    test.add_argument(
        '--grab',
        metavar='KG',
        type=between(0.0, 1e5),
        default=0.0,
        help='grab up to this load at a random time; the governor is informed after 0.5 s (0)',
    )
    test.add_argument(
        '--bring-down',
        action='store_true',
        help='after a wheel has lifted the governor moves functions if that lowers it sooner',
    )
    test.add_argument('--only-governed', action='store_true', help='run with the governor only')
    test.add_argument(
        '--worst',
        metavar='N',
        type=count(0, 1000),
        default=WORST,
        help='worst cases to print and to write to --out (5)',
    )
    test.add_argument('--json', action='store_true', help='print JSON')

    governor_cycles.add_verb(verbs)
    governor_stops.add_verb(verbs)
    governor_sensors.add_verb(verbs)
    governor_report.add_verb(verbs)
    governor_sum.add_verb(verbs)


def run(args: argparse.Namespace) -> int:
    """Run the verb; return its exit status, for `test` 0 if no wheel lifted with the governor."""
    if args.verb != 'test':
        verbs = {
            'cycles': governor_cycles,
            'stops': governor_stops,
            'sensors': governor_sensors,
            'report': governor_report,
            'sum': governor_sum,
        }
        return verbs[args.verb].run(args)
    governor_box.check(args)
    if args.efforts and args.bring_down:
        raise CommandError('--bring-down: expected no --efforts, because a governor of efforts starts no motion', 2)
    if args.runs == args.search == args.climbs == args.attacks == 0 and args.cases is None:
        raise CommandError('--runs 0: expected runs, --search, --attacks, --climbs or --cases, found none', 2)
    machine, box = governor_box.machine_and_box(args)
    path = governor_box.runs_file(args)
    try:
        governed, free, repeated = _records(args, machine, box, path)
        result = _result(args, governed, free, box, repeated)
    except OSError as error:
        raise CommandError(f'{error.filename or args.out}: {error.strerror or error}') from None
    if args.json:
        tables.print_json(result)
    else:
        _print(result)
    rejected = result['refused_starts']
    failures = result['lifted'], result['diverged'], rejected['overturned'], rejected['diverged']
    return 0 if governor_box.is_tested(result['runs']) and not any(failures) else 1


def _cases_of_file(args: argparse.Namespace, box: Box) -> list[Case]:
    from dyn_nodes.governor.campaign.campaign import read_cases

    if args.cases is None:
        return []
    try:
        return read_cases(args.cases, box)
    except OSError as error:
        raise CommandError(f'--cases: {args.cases}: {error.strerror or error}') from None
    except ValueError as error:
        raise CommandError(f'--cases: {error}') from None


def _records(
    args: argparse.Namespace, machine: Machine, box: Box, path: Path | None
) -> tuple[list[Record], list[Record], int]:
    """Return the runs with the governor, the runs without it, and the number of runs read from the file."""
    from dyn_nodes.governor.campaign.campaign import Campaign, random_cases, worst
    from dyn_nodes.governor.campaign.cases import attack_cases
    from dyn_nodes.governor.campaign.search import SearchSettings, climb, search

    cases = _cases_of_file(args, box) + random_cases(box, args.runs, args.seed, args.first)
    cases += attack_cases(box, args.attacks, args.seed)
    with (
        tables.progress() as bar,
        Campaign(machine, path, args.jobs, governor_box.settings(args)) as campaign,
    ):

        def stage(text: str, total: int) -> None:
            task = bar.add_task(text, total=total)
            campaign.progress = lambda: bar.advance(task)

        free: list[Record] = []
        if cases and not args.only_governed:
            stage('without governor', len(cases))
            free = campaign.run(cases, governed=False)
        stage('with governor', len(cases))
        governed = campaign.run(cases)
        if args.search:
            stage('search', args.search)
            governed += search(campaign, box, args.search, SearchSettings(seed=args.seed))
        if args.climbs:
            stage('hill climbs', args.climbs * (1 + args.steps))
            starts = [record.case for record in worst(governed, args.climbs)]
            starts += random_cases(box, args.climbs - len(starts), args.seed, args.first + args.runs)
            governed += climb(campaign, box, starts, args.steps, args.seed)
        repeated = campaign.repeated
    return governed, free, repeated


def _result(
    args: argparse.Namespace, governed: list[Record], free: list[Record], box: Box, repeated: int
) -> dict[str, Any]:
    from dyn_nodes.governor.campaign.campaign import summary, worst
    from dyn_nodes.governor.campaign.replay import write_tasks

    bad = worst(governed, args.worst)
    searched = args.search + args.climbs * (1 + args.steps)
    is_played = args.out is not None and not args.efforts  # a task has volts
    paths = write_tasks(args.out, args.machine, bad, box.levers) if is_played else [None] * len(bad)
    return {
        'machine': args.machine,
        'seed': args.seed,
        'first': args.first,
        'levers': list(box.levers),
        'box': asdict(box),
        'criterion': args.criterion,
        'reserve': governor_box.settings(args).law.reserve,
        'repeated': repeated,
        **summary(governed),
        'search': summary(governed[len(governed) - searched :]) if searched else None,
        'without_governor': summary(free) if free else None,
        'worst': [
            {'task': None if path is None else str(path), **record.outcome.as_dict(), 'case': record.case.as_dict()}
            for path, record in zip(paths, bad)
        ],
    }


def _print(result: dict[str, Any]) -> None:
    governor_counts.print_counts(
        {
            'without governor': result['without_governor'],
            'with governor': result,
            'of these the searches': result['search'],
        }
    )
    if not result['worst']:
        return
    console = tables.console()
    numbers = ('', 'ended, s', 'lifted, s', 'tilt, deg', 'load share', 'payload / known, kg', 'mass', 'slope, deg')
    tables.show(map(_row, result['worst']), (*numbers, 'delays, ms'), title='worst cases with the governor')
    for case in result['worst']:
        if case['task'] is not None:
            console.print(case['task'], soft_wrap=True)


def _end(outcome: dict[str, Any]) -> str:
    return next((name for name in ('overturned', 'diverged', 'lifted') if outcome[name]), 'stood')


def _row(outcome: dict[str, Any]) -> list[str]:
    case = outcome['case']
    lifted = '' if outcome['lift_time'] is None else f'{outcome["lift_time"]:.2f}'
    slope = f'{math.degrees(case["roll"]):.1f} / {math.degrees(case["pitch"]):.1f}'
    return [
        _end(outcome),
        f'{outcome["time"]:.2f}',
        lifted,
        f'{math.degrees(outcome["tilt"]):.2f}',
        f'{outcome["share"]:.3f}',
        f'{case["payload"]:.0f} / {case["known_payload"]:.0f}',
        f'{case["mass"]:g}',
        slope,
        f'{1e3 * case["state_delay"]:.0f} + {1e3 * case["command_delay"]:.0f}',
    ]
