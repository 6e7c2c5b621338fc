"""`dyn-nodes governor report`: lists interventions of the tip-over governor, also in shadow mode, from a bag."""

from __future__ import annotations

import argparse
import math
import shlex
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_nodes.commands import add_command, tables
from dyn_nodes.commands.option_types import count
from dyn_nodes.common.printing import printable

if TYPE_CHECKING:
    from dyn_nodes.analysis.interventions import Intervention, Interventions, Override

BEFORE = 5.0
"""Time played before an intervention, s."""


def add_verb(verbs: Any) -> None:
    """Add the verb to `dyn-nodes governor`."""
    example = 'dyn-nodes governor report shadow\ndyn-nodes governor report shadow --worst 20 --json'
    verb = add_command(
        verbs,
        'report',
        'List the interventions of the governor in a bag.',
        example,
        'Print the interventions of the governor, active or in shadow mode: number, time, share of each function,\n'
        'least margins, all overrides by a held key, and the worst interventions with commands that play them.\n'
        'The bag needs valve_commands_in or can/levers, valve_commands and governor/scale; /diagnostics has margins.',
    )
    verb.add_argument('bag', metavar='BAG', type=Path, help='a bag directory, MCAP or sqlite3')
    verb.add_argument('--worst', metavar='N', type=count(0, 100_000), default=10, help='interventions to list (10)')
    verb.add_argument('--namespace', metavar='NS', help="of the governor's topics, if the bag contains several")
    verb.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Print the report; return 0.

    Raises:
        CommandError: the bag can't be used.
    """
    from dyn_nodes.analysis.interventions import read_interventions

    interventions = read_interventions(args.bag, args.namespace)
    worst = interventions.worst(args.worst)
    if args.json:
        tables.print_json(_as_json(interventions, worst, args.bag))
    else:
        _print(interventions, worst, args.bag)
    return 0


def play_command(bag: Path, one: Intervention) -> str:
    """Return the command that plays an intervention."""
    start = max(one.start - BEFORE, 0.0)
    duration = one.end - start + BEFORE
    return f'dyn-nodes bag play {shlex.quote(str(bag))} --start-offset {start:.1f} --playback-duration {duration:.1f}'


def when(interventions: Interventions, time: float) -> str:
    """Return the text of a time of the bag, with date and UTC time if they are known."""
    if interventions.origin <= 0.0:
        return f'{time:.2f} s'
    clock = datetime.fromtimestamp(interventions.origin + time, timezone.utc)
    return f'{time:.2f} s, {clock:%Y-%m-%d %H:%M:%S}Z'


def _as_json(interventions: Interventions, worst: list[Intervention], bag: Path) -> dict[str, Any]:
    return {
        'interventions': len(interventions.entries),
        'held_s': interventions.held,
        'commands_s': interventions.seconds,
        'overrides': [asdict(one) for one in interventions.overrides],
        'answers': interventions.answers,
        'neutral': interventions.neutral,
        'functions': interventions.functions,
        'least': {topic: {'value': value, 'time': time} for topic, (value, time) in interventions.least.items()},
        'origin': interventions.origin,
        'worst': [{**asdict(one), 'play': play_command(bag, one)} for one in worst],
    }


def _print(interventions: Interventions, worst: list[Intervention], bag: Path) -> None:
    console = tables.console()
    console.print(
        f'interventions: {len(interventions.entries)}, {interventions.held:.1f} s of {interventions.seconds:.1f} s '
        f'with commands; {interventions.answers} answers'
    )
    if interventions.neutral:
        console.print(
            f'{interventions.neutral} commands without an answer: state of the machine uncertain, valves at neutral'
        )
    tables.show(
        interventions.functions.items(),
        {
            'function': lambda item: printable(item[0]),
            'commanded, s': lambda item: f'{item[1].commanded:.1f}',
            'held back, s': lambda item: f'{item[1].held:.1f}',
            'of its commands, %': lambda item: f'{100.0 * item[1].share:.2f}',
        },
    )
    for topic, (value, time) in interventions.least.items():
        console.print(f'least {printable(topic)}: {value:.4g} at {when(interventions, time)}', markup=False)
    if interventions.overrides:
        total = sum(one.end - one.start for one in interventions.overrides)
        console.print(f'overrides by a held key: {len(interventions.overrides)}, {total:.1f} s')
    for override in interventions.overrides:
        least = ''.join(f', least {printable(topic)} {value:.4g}' for topic, value in override.least.items())
        line = f'{when(interventions, override.start)}: {override.end - override.start:.2f} s, {_margin(override)}'
        console.print(f'  {line}{least}', markup=False, soft_wrap=True)
    for one in worst:
        held = ', '.join(map(printable, one.functions)) or 'none by more than 2 %'
        line = f'{when(interventions, one.start)}: {one.end - one.start:.2f} s, {_margin(one)}'
        passed = f'{100.0 * one.scale:.0f} % passed'
        console.print(f'{line}, {passed}, held back: {held}', markup=False, soft_wrap=True)
        console.print(f'  {printable(play_command(bag, one))}', markup=False, soft_wrap=True)


def _margin(one: Intervention | Override) -> str:
    """Return the text of the margin of the predicted stops."""
    return f'margin {one.margin:.3f} ({printable(one.wheel)})' if math.isfinite(one.margin) else 'margin not logged'
