"""`dyn-nodes fit plan`: proposes lever sequences that excite parameters a log does not determine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_out, tables
from dyn_nodes.commands.machine_report import add_machine, sound_machine
from dyn_nodes.commands.option_types import SEED, at_least, between, count
from dyn_nodes.common.printing import printable

if TYPE_CHECKING:
    from dyn_nodes.analysis.excitation import ExcitationPlan


def add_verb(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'plan',
        'Propose lever sequences that excite parameters and that the tip-over governor permits.',
        'dyn-nodes fit plan --machine log_loader -o plan.yaml\n'
        'dyn-nodes fit plan --machine my.urdf --config my.yaml --bag day_1 -o plan.yaml',
    )
    add_machine(parser)
    parser.add_argument('--bag', metavar='BAG', help='log whose information is taken into account')
    parser.add_argument('--payload', metavar='KG', type=at_least(0, 'kg'), default=0.0, help='payload (0)')
    parser.add_argument(
        '--duration', metavar='S', type=between(15, 300), default=40.0, help='length of each sequence (40)'
    )
    parser.add_argument('--sequences', metavar='N', type=count(1), default=2, help='number of sequences to propose (2)')
    parser.add_argument(
        '--candidates', metavar='N', type=count(1, 1000), default=12, help='random sequences to choose from (12)'
    )
    parser.add_argument(
        '--criterion',
        choices=('determinant', 'worst'),
        default='determinant',
        help='determinant of the information, or the least identifiable parameter first',
    )
    parser.add_argument('--seed', metavar='N', type=SEED, default=0, help='seed of the random sequences (0)')
    add_out(parser, 'task file to write; further sequences: plan_2.yaml, ...', 'YAML')
    parser.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Propose sequences and print their information; return 0.

    Raises:
        CommandError: files or numbers that can't be used, or no sequence that the governor permits.
    """
    from dyn_nodes.analysis.bag_reading import BagReadingError, read_bag
    from dyn_nodes.analysis.excitation import Planner
    from dyn_nodes.analysis.machine_log import log_of_bag
    from dyn_nodes.model.actuators import oil_actuators

    machine = sound_machine(args)
    if machine is None:
        return 1
    limit = machine.payload.limit if machine.payload is not None else 0.0
    if args.payload > limit:
        raise CommandError(f'--payload: expected 0 to {limit:g} kg, found {args.payload:g}', 2)
    if args.sequences > args.candidates:
        raise CommandError(f'--sequences: expected 1 to {args.candidates}, as --candidates, found {args.sequences}', 2)
    if not oil_actuators(machine.actuators):
        raise CommandError(f'{machine.name}: expected hydraulic actuators, found none')
    try:
        recorded = None if args.bag is None else log_of_bag(read_bag(args.bag), machine)
        planner = Planner(machine, args.payload, args.duration)
        show = (lambda: None) if args.json else (lambda: print('.', end='', file=sys.stderr, flush=True))
        plan = planner.plan(args.candidates, args.sequences, args.criterion, args.seed, recorded, show)
    except (BagReadingError, ValueError) as error:
        raise CommandError(printable(str(error))) from None
    if not args.json:
        print(file=sys.stderr)
    files = _write(plan, machine, args.out)
    if args.json:
        tables.print_json(_as_json(plan, files))
    else:
        _print(plan, files)
    return 0


def _write(plan: ExcitationPlan, machine: Any, output: Path | None) -> list[Path]:
    from dyn_nodes.analysis.excitation import task_text

    files = []
    for number, sequence in enumerate(plan.chosen if output is not None else (), 1):
        assert output is not None
        path = output if number == 1 else output.with_name(f'{output.stem}_{number}{output.suffix}')
        try:
            path.write_text(task_text(sequence, machine, number))
        except OSError as error:
            raise CommandError(f'{path}: {error.strerror or error}') from None
        files.append(path)
    return files


def _lacking(plan: ExcitationPlan, which: str) -> list[str]:
    lacking = []
    for name, block in plan.blocks.items():
        widths = plan.before[name] if which == 'before' else plan.after[name]
        lacking += [text for text, width, wanted in zip(block.names, widths, block.wanted) if width > wanted]
    return lacking


def _as_json(plan: ExcitationPlan, files: list[Path]) -> dict[str, Any]:
    parameters = {}
    for name, block in plan.blocks.items():
        for k, text in enumerate(block.names):
            parameters[text] = {
                'before': float(plan.before[name][k]),
                'after': float(plan.after[name][k]),
                'wanted': float(block.wanted[k]),
            }
    return {
        'tried': plan.tried,
        'held_back_by_the_governor': plan.dropped,
        'governed': plan.governed,
        'remark': plan.remark,
        'sequences': [
            {
                'let_through': sequence.let_through,
                'duration': sequence.profile.duration,
                'segments': len(sequence.profile.segments),
            }
            for sequence in plan.chosen
        ],
        'files': [str(path) for path in files],
        'half_widths': parameters,
        'still_not_seen': _lacking(plan, 'after'),
    }


def _print(plan: ExcitationPlan, files: list[Path]) -> None:
    console = tables.console()
    if not plan.governed:
        console.print(f'without governor: {plan.remark}', style='yellow', markup=False)
    console.print(f'{plan.tried} sequences tried, {plan.dropped} held back by the governor', markup=False)
    for number, sequence in enumerate(plan.chosen, 1):
        where = f': {files[number - 1]}' if files else ''
        text = f'sequence {number}{where}: {sequence.profile.duration:g} s, {len(sequence.profile.segments)} segments'
        console.print(f'{text}, {100 * sequence.let_through:.1f} % passed', markup=False)
    missing = _lacking(plan, 'before')
    left = _lacking(plan, 'after')
    console.print(
        f'{len(missing) - len(left)} of {len(missing)} parameters that were not visible become so', markup=False
    )
    if left:
        console.print('still not visible:', style='bold')
        for text in left:
            console.print(f'  {text}', markup=False)
