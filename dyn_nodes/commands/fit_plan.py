"""`dyn-nodes fit plan`: lever sequences that show what a log does not."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, tables
from dyn_nodes.commands.machine_report import add_machine, sound_machine
from dyn_nodes.common.printing import printable

if TYPE_CHECKING:
    from dyn_nodes.analysis.excitation import Plan


def add_verb(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'plan',
        'Propose lever sequences that make parameters visible, within what the tip-over governor lets pass.',
        'dyn-nodes fit plan --machine log_loader -o plan.yaml\n'
        'dyn-nodes fit plan --machine my.urdf --config my.yaml --bag day_1 -o plan.yaml',
    )
    add_machine(parser)
    parser.add_argument('--bag', metavar='BAG', help='what it shows counts already')
    parser.add_argument('--payload', metavar='KG', type=float, default=0.0, help='in the implement (0)')
    parser.add_argument('--seconds', metavar='S', type=float, default=40.0, help='of each sequence (40)')
    parser.add_argument('--sequences', metavar='N', type=int, default=2, help='to propose (2)')
    parser.add_argument('--candidates', metavar='N', type=int, default=12, help='random sequences to choose from (12)')
    parser.add_argument(
        '--criterion',
        choices=('determinant', 'worst'),
        default='determinant',
        help='determinant of the information, or what is least visible first',
    )
    parser.add_argument('--seed', metavar='N', type=int, default=0, help='of the random sequences (0)')
    parser.add_argument(
        '-o', '--output', metavar='YAML', type=Path, help='task file to write; of more sequences plan_2.yaml, ...'
    )
    parser.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Propose sequences, print what they show; return 0.

    Raises:
        CommandError: files or numbers that can't be used, or no sequence that the governor lets pass.
    """
    from dyn_nodes.analysis.bag_reading import BagReadingError, read_bag
    from dyn_nodes.analysis.excitation import Planner
    from dyn_nodes.analysis.machine_log import log_of_bag
    from dyn_nodes.model.actuators import oil_actuators

    machine = sound_machine(args)
    if machine is None:
        return 1
    _check(args, machine.payload.limit if machine.payload is not None else 0.0)
    if not oil_actuators(machine.actuators):
        raise CommandError(f'{machine.name}: expected hydraulic actuators, found none')
    try:
        known = None if args.bag is None else log_of_bag(read_bag(args.bag), machine)
        planner = Planner(machine, args.payload, args.seconds)
        show = (lambda: None) if args.json else (lambda: print('.', end='', file=sys.stderr, flush=True))
        plan = planner.plan(args.candidates, args.sequences, args.criterion, args.seed, known, show)
    except (BagReadingError, ValueError) as error:
        raise CommandError(printable(str(error))) from None
    if not args.json:
        print(file=sys.stderr)
    files = _write(plan, machine, args.output)
    if args.json:
        print(json.dumps(_as_json(plan, files), indent=2))
    else:
        _print(plan, files)
    return 0


def _check(args: argparse.Namespace, limit: float) -> None:
    if not 0.0 <= args.payload <= limit:
        raise CommandError(f'--payload: expected 0 to {limit:g} kg, found {args.payload:g}')
    if not 15.0 <= args.seconds <= 300.0:
        raise CommandError(f'--seconds: expected 15 to 300, found {args.seconds:g}')
    if not 1 <= args.sequences <= args.candidates <= 1000:
        raise CommandError(
            f'--sequences: expected 1 up to --candidates, at most 1000, found {args.sequences} of {args.candidates}'
        )
    if not 0 <= args.seed < 2**31:
        raise CommandError(f'--seed: expected 0 or more, found {args.seed}')


def _write(plan: Plan, machine: Any, output: Path | None) -> list[Path]:
    from dyn_nodes.analysis.excitation import task_text

    files = []
    for number, own in enumerate(plan.chosen if output is not None else (), 1):
        assert output is not None
        path = output if number == 1 else output.with_name(f'{output.stem}_{number}{output.suffix}')
        try:
            path.write_text(task_text(own, machine, number))
        except OSError as error:
            raise CommandError(f'{path}: {error.strerror or error}') from None
        files.append(path)
    return files


def _lacking(plan: Plan, which: str) -> list[str]:
    found = []
    for name, own in plan.blocks.items():
        widths = plan.before[name] if which == 'before' else plan.after[name]
        found += [text for text, width, wanted in zip(own.names, widths, own.wanted) if width > wanted]
    return found


def _as_json(plan: Plan, files: list[Path]) -> dict[str, Any]:
    parameters = {}
    for name, own in plan.blocks.items():
        for k, text in enumerate(own.names):
            wanted = float(own.wanted[k])
            parameters[text] = {
                'before': float(plan.before[name][k]),
                'after': float(plan.after[name][k]),
                'wanted': wanted if wanted != float('inf') else None,
            }
    return {
        'tried': plan.tried,
        'held_back_by_the_governor': plan.dropped,
        'governed': plan.governed,
        'remark': plan.remark,
        'sequences': [
            {'let_through': own.let_through, 'duration': own.profile.duration, 'segments': len(own.profile.segments)}
            for own in plan.chosen
        ],
        'files': [str(path) for path in files],
        'half_widths': parameters,
        'still_not_seen': _lacking(plan, 'after'),
    }


def _print(plan: Plan, files: list[Path]) -> None:
    console = tables.console()
    if not plan.governed:
        console.print(f'without governor: {plan.remark}', style='yellow', markup=False)
    console.print(f'{plan.tried} sequences tried, {plan.dropped} held back by the governor', markup=False)
    for number, own in enumerate(plan.chosen, 1):
        where = f': {files[number - 1]}' if files else ''
        text = f'sequence {number}{where}: {own.profile.duration:g} s, {len(own.profile.segments)} segments'
        console.print(f'{text}, {100 * own.let_through:.1f} % let through', markup=False)
    missing = _lacking(plan, 'before')
    left = _lacking(plan, 'after')
    console.print(
        f'{len(missing) - len(left)} of {len(missing)} parameters that were not visible become so', markup=False
    )
    if left:
        console.print('still not visible:', style='bold')
        for text in left:
            console.print(f'  {text}', markup=False)
