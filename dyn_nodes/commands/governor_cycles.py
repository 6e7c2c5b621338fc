"""`dyn-nodes governor cycles`: compares times of working cycles with and without the tip-over governor."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import CommandError, add_command, add_machine_and_config, governor_box, tables
from dyn_nodes.commands.option_types import between

if TYPE_CHECKING:
    from dyn_nodes.governor.campaign.work_cycles import Compared


def add_verb(verbs: Any) -> None:
    """Add the verb to `dyn-nodes governor`."""
    example = 'dyn-nodes governor cycles log_loader\ndyn-nodes governor cycles log_loader --payload-error 3 --json'
    verb = add_command(
        verbs,
        'cycles',
        'Compare times of working cycles with the governor and without it.',
        example,
        'Drive a simulated machine through working cycles that keep its wheels down, without and with the\n'
        'governor, and compare their times. A cycle that lifts a wheel without the governor or does not finish\n'
        'does not count. The exit status is 1 if the counted cycles take more than 1.08 of their time in total,\n'
        'or if one of them lifts a wheel or does not finish with the governor.',
    )
    add_machine_and_config(verb)
    verb.add_argument('--cycles', metavar='YAML', type=Path, help='file of cycles (cycles of the log-loader)')
    verb.add_argument(
        '--chart',
        metavar='%',
        type=between(1.0, 100.0),
        help='carry this part of the least rated load among the postures of a cycle, not its payload',
    )
    governor_box.add_doubts(verb, 500.0)
    governor_box.add_margins(verb)
    verb.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Drive the cycles; return 0 if the ratio of times is within its limit, else 1."""
    result = _result(_compared(args))
    if args.json:
        tables.print_json(result)
    else:
        _print(result)
    return 0 if result['passed'] else 1


def _compared(args: argparse.Namespace) -> list[Compared]:
    from dyn_nodes.governor.campaign.cycles_file import by_chart, load_cycles
    from dyn_nodes.governor.campaign.governed_run import Rig
    from dyn_nodes.governor.campaign.work_cycles import DEFAULT, WorkCycles
    from dyn_nodes.model.equilibrium import NoEquilibriumError
    from dyn_nodes.model.problems import MachineError

    machine, _ = governor_box.governed(args)
    try:
        cycles = load_cycles(args.cycles or DEFAULT, machine)
    except MachineError:
        if args.cycles is not None:
            raise
        raise CommandError(
            f'--cycles: expected a file of working cycles of {machine.name}, found none; the cycles of the package '
            f'are for the log_loader'
        ) from None
    settings = governor_box.settings(args)
    if args.chart is not None:
        cycles = tuple(by_chart(cycle, machine, 0.01 * args.chart, settings.rated_share) for cycle in cycles)
    work = WorkCycles(Rig(machine, settings))
    result = []
    for cycle in cycles:
        try:
            result.append(work.compare(cycle))
        except NoEquilibriumError as error:
            raise CommandError(f'cycle {cycle.name}: {error}') from None
    return result


def _result(compared: list[Compared]) -> dict[str, Any]:
    from dyn_nodes.governor.campaign.work_cycles import ALLOWED

    counted = [cycle for cycle in compared if cycle.safe]
    free = sum(cycle.free.time for cycle in counted)
    finished = all(cycle.governed.finished and not cycle.governed.lifted for cycle in counted)
    ratio = sum(cycle.governed.time for cycle in counted) / free if counted else None
    return {
        'ratio': ratio,
        'allowed': ALLOWED,
        'passed': ratio is not None and finished and ratio <= ALLOWED,
        'cycles': [
            {
                'name': cycle.name,
                'counts': cycle.safe,
                'ratio': cycle.ratio if cycle.governed.finished else None,
                'without_governor': asdict(cycle.free),
                'with_governor': asdict(cycle.governed),
            }
            for cycle in compared
        ],
    }


def _print(result: dict[str, Any]) -> None:
    rows = []
    headings = ('cycle', 'without governor, s', 'least load share', 'with governor, s', 'least load share', 'ratio')
    for cycle in result['cycles']:
        free, governed = cycle['without_governor'], cycle['with_governor']
        shown = 'not reached' if cycle['ratio'] is None else f'{cycle["ratio"]:.2f}'
        rows.append((cycle['name'], *_driven(free), *_driven(governed), shown if cycle['counts'] else f'({shown})'))
    ratio = 'none counts' if result['ratio'] is None else f'{result["ratio"]:.3f}'
    tables.show([*rows, ('all', '', '', '', '', ratio)], headings)
    tables.console().print(f'at most {result["allowed"]:g}: {"passed" if result["passed"] else "MISSED"}')


def _driven(record: dict[str, Any]) -> tuple[str, str]:
    time = f'{sum(record["times"]):.2f}' if record['finished'] else 'not reached'
    return time, f'{record["share"]:.2f}{", lifted" if record["lifted"] else ""}'
