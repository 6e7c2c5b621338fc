"""`dyn-nodes governor stops`: simulates emergency stops of a governed machine at regular instants."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from dyn_nodes.commands import CommandError, add_command, governor_box, tables
from dyn_nodes.commands.option_types import between, count


def add_verb(verbs: Any) -> None:
    """Add the verb to `dyn-nodes governor`."""
    example = (
        'dyn-nodes governor stops log_loader --runs 200 --out runs/stops\ndyn-nodes governor stops log_loader --json'
    )
    verb = add_command(
        verbs,
        'stops',
        'Stop the machine at every 50 ms of governed runs.',
        example,
        'Run the cases of `dyn-nodes governor test` with the governor, and from every instant of each run\n'
        'ramp all valves to neutral, as the governor does without measurements: --kept ms after the last ones.\n'
        'With --efforts commands stop and the governor brakes the joints; measurements continue unless --blind is\n'
        'set, with which the drives hold the joints in the end.\n'
        'Each stop is simulated to rest. The exit status is 1 if a wheel loses ground contact in a stop, even\n'
        'briefly, the machine overturns or does not come to rest, a run ended early, or no start is certified.',
    )
    verb.add_argument('--runs', metavar='N', type=count(1, 100_000), default=20, help='random lever sequences (20)')
    verb.add_argument('--every', metavar='S', type=between(0.01, 60.0), default=0.05, help='time between stops (0.05)')
    verb.add_argument(
        '--kept',
        metavar='MS',
        type=between(0.0, 1000.0),
        default=40.0,
        help='time for which outputs are held before (40)',
    )
    verb.add_argument(
        '--hard',
        action='store_true',
        help='close the valves at once; with --kept 200 as after a failure of the governor',
    )
    verb.add_argument('--free', action='store_true', help='without the governor, at the same rate')
    verb.add_argument('--blind', action='store_true', help='with --efforts: no measurements after the stop')
    governor_box.add_options(verb)
    governor_box.add_efforts(verb)
    verb.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Make the stops; return 0 if all wheels stay on the ground in all stops, else 1."""
    governor_box.check(args)
    for name in ('hard', 'free'):
        if args.efforts and getattr(args, name):
            raise CommandError(
                f'--{name}: expected no --efforts, because only the governor stops joints that efforts move', 2
            )
    if args.blind and not args.efforts:
        raise CommandError('--blind: expected --efforts with it; a stop by the valves needs no measurements', 2)
    machine, box = governor_box.machine_and_box(args)
    path = governor_box.runs_file(args, 'stops.jsonl')

    from dyn_nodes.governor.campaign.campaign import Campaign, random_cases
    from dyn_nodes.governor.campaign.emergency_stops import STOPS, emergency_stops, released_levers

    every = round(max(round(args.every / 0.01), 1) * 0.01, 2)
    kept = round(1e-3 * args.kept, 3)
    sees = args.efforts and not args.blind
    how = ' hard' if args.hard else ' seeing' if sees else ''
    stops = released_levers if sees else partial(emergency_stops, hard=args.hard)
    kind = replace(STOPS, name=f'{STOPS.name} {every:g} {kept:g}{how}', run=partial(stops, every=every, kept=kept))
    cases = random_cases(box, args.runs, args.seed)
    try:
        settings = governor_box.settings(args)
        with tables.progress() as bar, Campaign(machine, path, args.jobs, settings, kind=kind) as campaign:
            task = bar.add_task('stops', total=len(cases))
            campaign.progress = lambda: bar.advance(task)
            records = campaign.run(cases, governed=not args.free)
    except OSError as error:
        raise CommandError(f'{error.filename or args.out}: {error.strerror or error}') from None
    outcomes = [record.outcome for record in records]
    worst = min(range(len(outcomes)), key=lambda k: (outcomes[k].refused, outcomes[k].share))
    rejected = [outcome for outcome in outcomes if outcome.refused]
    counts = {name: sum(getattr(outcome, name) for outcome in outcomes) for name in ('stops', *BAD)}
    result = {
        'machine': args.machine,
        'seed': args.seed,
        'governed': not args.free,
        'every': every,
        'kept': kept,
        'hard': args.hard,
        'blind': args.blind,
        'runs': len(outcomes),
        **counts,
        'share': outcomes[worst].share,
        'refused_starts': {'runs': len(rejected), 'share': min((outcome.share for outcome in rejected), default=1.0)},
        'longest': max(outcome.longest for outcome in outcomes),
        'box': asdict(box),
        'criterion': args.criterion,
        'reserve': governor_box.settings(args).law.reserve,
        'worst': {**outcomes[worst].as_dict(), 'case': records[worst].case.as_dict()},
    }
    if args.json:
        tables.print_json(result)
    else:
        _print(result)
    is_tested = governor_box.is_tested(len(outcomes) - len(rejected))
    return 0 if is_tested and not any(counts[name] for name in BAD) else 1


BAD = ('lost', 'lifted', 'overturned', 'unfinished', 'ended')


def _print(result: dict[str, Any]) -> None:
    headings = ('runs', 'stops', 'a wheel without load', 'lifted', 'overturned', 'not at rest', 'runs ended early')
    counts = (str(result[name]) for name in ('runs', 'stops', *BAD))
    row = (*counts, f'{result["share"]:.3f}', f'{result["longest"]:.2f}')
    tables.show([row], (*headings, 'least load share', 'longest, s'))
    rejected = result['refused_starts']
    if rejected['runs']:
        tables.console().print(
            f'{rejected["runs"]} of the starts are rejected: least load share {rejected["share"]:.3f} there'
        )
