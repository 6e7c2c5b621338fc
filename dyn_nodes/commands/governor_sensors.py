"""`dyn-nodes governor sensors`: tests fault detection of sensors of a governed machine, and false alarms."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from dyn_nodes.commands import CommandError, add_command, governor_box, tables
from dyn_nodes.commands.option_types import between, count

COLUMNS = ('runs', 'slight', 'found', 'median', 'longest', 'missed', 'lifted', 'share')


def add_verb(verbs: Any) -> None:
    """Add the verb to `dyn-nodes governor`."""
    example = (
        'dyn-nodes governor sensors log_loader --seeds 20 --hours 10 --out runs/sensors\n'
        'dyn-nodes governor sensors log_loader --seeds 1 --only boom_joint --hours 0 --json'
    )
    verb = add_command(
        verbs,
        'sensors',
        'Simulate faults of all sensors; count detections and lifted wheels.',
        example,
        'Run the cases of `dyn-nodes governor test` with one faulty signal each: every encoder, its position and its\n'
        'speed alone, gyroscope, accelerometer, orientation and the whole IMU, each frozen, jumping, drifting, late,\n'
        'noisy, swapped with another, scaled, reversed, doubled by a second sender, offset, with spikes, and lost.\n'
        'The table has a line for each: runs; runs in which the signal was hardly wrong, such as a joint at rest;\n'
        'faults found; time from the start of the fault to its detection, s, median and longest; greatest undetected\n'
        'error, in the unit of the signal; runs in which a wheel lifted; least load of a wheel over its mean.\n'
        'The exit status is 1 if a wheel lifted, there was a false alarm, or no start is certified.',
    )
    verb.add_argument(
        '--seeds', metavar='N', type=count(0, 10_000), default=20, help='runs of every fault of every signal (20)'
    )
    verb.add_argument(
        '--hours', metavar='H', type=between(0.0, 1000.0), default=10.0, help='hours of runs without faults (10)'
    )
    verb.add_argument(
        '--only', metavar='NAME', action='append', default=[], help='a signal or a kind of fault; repeatable'
    )
    governor_box.add_options(verb)
    verb.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Make the runs; return 0 if no wheel lifted and there was no false alarm, else 1."""
    if args.seeds == 0 and args.hours == 0.0:
        raise CommandError('--seeds 0 --hours 0: expected runs with faults or without them, found none', 2)
    machine, box = governor_box.machine_and_box(args)
    path = governor_box.runs_file(args, 'sensors.jsonl')

    from dyn_nodes.governor.campaign.campaign import Campaign, random_cases
    from dyn_nodes.governor.campaign.cases import SETTLING
    from dyn_nodes.governor.campaign.sensor_campaign import RUNS, faulty_cases, rows_of
    from dyn_nodes.governor.campaign.sensor_faults import KINDS, signals_of

    joints = [joint.name for joint in machine.movable_joints]
    choices = {*KINDS, *signals_of(joints)}
    for name in args.only:
        if name not in choices:
            raise CommandError(f'--only: expected one of {", ".join(sorted(choices))}, found {name!r}', 2)
    names, length = set(args.only), args.duration + SETTLING
    faulty = [case for case in faulty_cases(box, joints, args.seeds, args.seed) if _is_chosen(case, names)]
    sound = random_cases(box, round(3600.0 * args.hours / length), args.seed)
    try:
        settings = governor_box.settings(args)
        with tables.progress() as bar, Campaign(machine, path, args.jobs, settings, kind=RUNS) as campaign:
            task = bar.add_task('runs', total=len(faulty) + len(sound))
            campaign.progress = lambda: bar.advance(task)
            records, others = campaign.run(faulty), campaign.run(sound)
    except OSError as error:
        raise CommandError(f'{error.filename or args.out}: {error.strerror or error}') from None
    held = [outcome.outcome for outcome in others if not outcome.outcome.refused]
    alarms = [outcome for outcome in held if outcome.found is not None]
    lifted = [record for record in records if record.outcome.lifted and not record.outcome.refused]
    result = {
        'machine': args.machine,
        'seed': args.seed,
        'seeds': args.seeds,
        'box': asdict(box),
        'faults': rows_of(records),
        'hours': sum(outcome.time for outcome in held) / 3600.0,
        'false_alarms': [outcome.as_dict() for outcome in alarms],
        'lifted': [{**record.outcome.as_dict(), 'case': record.case.as_dict()} for record in lifted],
        'refused_starts': sum(record.outcome.refused for record in (*records, *others)),
    }
    if args.json:
        tables.print_json(result)
    else:
        _print(result)
    is_tested = governor_box.is_tested(len(records) + len(others) - result['refused_starts'])
    return 0 if is_tested and not (lifted or alarms) else 1


def _is_chosen(case: Any, names: set[str]) -> bool:
    fault = case.troubles.fault
    return not names or fault.signal in names or fault.kind in names


def _print(result: dict[str, Any]) -> None:
    console = tables.console()
    headings = ('runs', 'hardly wrong', 'found', 'median, s', 'longest, s', 'greatest error not found', 'lifted')
    rows = [
        (row['signal'], row['kind'].replace('_', ' '), *(_cell(row[name]) for name in COLUMNS))
        for row in result['faults']
    ]
    tables.show(rows, ('signal', 'fault', *headings, 'least load share'))
    alarms = result['false_alarms']
    console.print(f'{result["hours"]:.2f} h with sound sensors: {len(alarms)} false alarms')
    for alarm in alarms[:5]:
        console.print(f'{alarm["time"]:.2f} s: {alarm["text"]}')
    if result['refused_starts']:
        console.print(f'{result["refused_starts"]} of the starts are rejected and not counted')


def _cell(value: float | None) -> str:
    if value is None:
        return ''
    return str(value) if isinstance(value, int) else f'{value:.3g}'
