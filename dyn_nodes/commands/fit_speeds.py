"""`dyn-nodes fit speeds`: estimates dead time, dead zone and gain of drives from commands and positions."""

from __future__ import annotations

import argparse
import csv
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dyn_nodes.commands import CommandError, Subparsers, add_command, tables
from dyn_nodes.commands.option_types import finite
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.printing import printable

if TYPE_CHECKING:
    from dyn_nodes.analysis.machine_log import Samples
    from dyn_nodes.analysis.speed_fit import SpeedFit

Signals = dict[str, tuple[Array, Array]]
"""Times, s, and values of a signal by its name."""
TIMES = ('time', 't', 'timestamp')


def add_verb(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'speeds',
        'Estimate dead time, dead zone and gains of drives from commands and positions, without pressures.',
        'dyn-nodes fit speeds day_1 --pair boom=boom_joint --pair stick=stick_joint\n'
        "dyn-nodes fit speeds measured.csv --pair 'Boom Cmd=Boom Ms' --hold 90 120",
    )
    parser.add_argument('log', metavar='LOG', type=Path, help='bag, or CSV with a time column, s')
    parser.add_argument(
        '--pair',
        metavar='COMMAND=POSITION',
        action='append',
        required=True,
        help='two columns of a CSV; or an actuator (or its number) of valve_commands and a joint of a bag; repeatable',
    )
    parser.add_argument(
        '--hold', metavar=('START', 'END'), type=finite, nargs=2, help='part for the validation, s (the last quarter)'
    )
    parser.add_argument('--namespace', metavar='NS', help="of the machine's topics, if the bag contains several")
    parser.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Fit and print; return 0 if every drive was fitted.

    Raises:
        CommandError: the log or a pair can't be used.
    """
    from dyn_nodes.analysis.speed_fit import SpeedFitError, fit_speed

    commands, positions = _csv(args.log) if args.log.suffix == '.csv' else _bag(args.log, args.namespace)
    held = None if args.hold is None else (args.hold[0], args.hold[1])
    fits, failures = {}, []
    for text in args.pair:
        command, position = _pair(text, commands, positions, args.log)
        try:
            fits[text] = fit_speed(position, command, held)
        except SpeedFitError as error:
            failures.append(f'{text}: {error}')
    if args.json:
        tables.print_json({'drives': {name: _as_json(fit) for name, fit in fits.items()}, 'failures': failures})
    else:
        _print(fits)
    for failure in failures:
        print(f'dyn-nodes: {printable(failure)}', file=sys.stderr)
    return 1 if failures else 0


def _pair(text: str, commands: Signals, positions: Signals, log: Path) -> tuple[Samples, Samples]:
    names = text.split('=')
    if len(names) != 2:
        raise CommandError(f'--pair: expected COMMAND=POSITION, found {printable(text)}')
    samples = []
    for name, signals, kind in zip(names, (commands, positions), ('command', 'position')):
        if name not in signals:
            raise CommandError(
                f'{log}: expected the {kind} {printable(name)}, found {printable(", ".join(sorted(signals)))}'
            )
        samples.append(_samples(*signals[name]))
        if len(samples[-1].times) < 2:
            raise CommandError(f'{log}: expected two numbers or more of {printable(name)}')
    return samples[0], samples[1]


def _samples(times: Array, values: Array) -> Samples:
    """Return the finite samples at increasing times."""
    from dyn_nodes.analysis.machine_log import Samples

    good = np.isfinite(times) & np.isfinite(values)
    times, values = times[good], values[good]
    good = np.concatenate([[True], np.diff(np.maximum.accumulate(times)) > 0.0]) if len(times) else np.zeros(0, bool)
    return Samples(times[good], values[good, np.newaxis])


def _csv(path: Path) -> tuple[Signals, Signals]:
    try:
        with path.open(newline='', encoding='utf-8-sig') as file:
            rows = csv.reader(file)
            names = [name.strip() for name in next(rows, [])]
            index = next((k for k, name in enumerate(names) if name.lower() in TIMES), None)
            if index is None:
                raise CommandError(
                    f'{path}:1: expected a column of time ({", ".join(TIMES)}), found {printable(", ".join(names))}'
                )
            data = [_row(f'{path}:{rows.line_num}', names, cells) for cells in rows if cells]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f'{path}: {printable(getattr(error, "strerror", None) or str(error))}') from None
    if not data:
        raise CommandError(f'{path}: expected rows of numbers, found none')
    columns = np.array(data).T
    signals = {name: (columns[index], columns[k]) for k, name in enumerate(names) if k != index}
    return signals, signals


def _row(where: str, names: list[str], cells: list[str]) -> list[float]:
    if len(cells) != len(names):
        raise CommandError(f'{where}: expected {len(names)} cells, found {len(cells)}')
    values = []
    for name, cell in zip(names, cells):
        try:
            values.append(float(cell) if cell.strip() else math.nan)
        except ValueError:
            raise CommandError(f'{where}: {printable(name)}: expected a number, found {printable(cell)}') from None
    return values


def _bag(path: Path, namespace: str | None) -> tuple[Signals, Signals]:
    from dyn_nodes.analysis.bag_reading import read_bag

    data = read_bag(path, namespace=namespace)
    for topic in ('valve_commands', 'joint_states'):
        if topic not in data.tables:
            topics = printable(', '.join(sorted(data.counts)))
            raise CommandError(f'{path}: expected {data.namespace}/{topic}, found {topics}')
    commands, states = data.tables['valve_commands'], data.tables['joint_states']
    positions = {
        name.removesuffix('/position'): (states.time, values)
        for name, values in states.columns.items()
        if name.endswith('/position')
    }
    return {name: (commands.time, values) for name, values in commands.columns.items()}, positions


def _as_json(fit: SpeedFit) -> dict[str, Any]:
    from dyn_nodes.analysis.speed_fit import PARAMETERS

    numbers = {
        name: {'value': float(fit.values[k]), 'half_width': float(fit.half_widths[k]), 'seen': bool(fit.seen[k])}
        for k, name in enumerate(PARAMETERS)
    }
    return {
        'numbers': numbers,
        'delay': {'value': fit.delay[0], 'half_width': fit.delay[1]},
        'sign': fit.sign,
        'used': list(fit.used),
        'held_out': list(fit.held),
        'windows': list(fit.windows),
        'nrmse': fit.nrmse,
    }


def _print(fits: dict[str, SpeedFit]) -> None:
    from dyn_nodes.analysis.speed_fit import PARAMETERS

    console = tables.console()
    for name, fit in fits.items():
        way = 'with' if fit.sign > 0 else 'against'
        title = f'{printable(name)}: moves {way} the command; {fit.used[0]:.5g} to {fit.used[1]:.5g} s'
        rows = [('dead time and lag', f'{fit.delay[0]:.3g}', f'{fit.delay[1]:.2g}')]
        for k, key in enumerate(PARAMETERS):
            value = f'{fit.values[k]:.4g}' if fit.seen[k] else f'({fit.values[k]:.3g})'
            rows.append((key, value, f'{fit.half_widths[k]:.2g}'))
        tables.show(rows, ('number', 'estimate', '+- (95 %)'), title=title)
        console.print(
            f'speed on {fit.held[0]:.5g} to {fit.held[1]:.5g} s, which was not fitted: NRMSE {100 * fit.nrmse:.1f} %'
        )
