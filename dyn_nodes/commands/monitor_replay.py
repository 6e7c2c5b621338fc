"""`dyn-nodes monitor replay`: computes margins, allowances and payload from a bag of a real machine; a report."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from dyn_nodes.commands import CommandError, add_machine_and_config, add_out, tables

if TYPE_CHECKING:
    from dyn_nodes.nodes.monitor_replay import Replayed

UNITS = {'payload': 'kg', 'reach': 'm', 'swing_speed': 'rad/s'}


def add_verb(verbs: Any) -> None:
    """Add the verb."""
    parser = verbs.add_parser(
        'replay',
        help='Run the monitor on a bag of measurements, and make a report.',
        description='Run stability_monitor_node on joint_states, imu, payload and pressures of a bag, without the '
        'network. Writes to DIR a bag with the measurements, reactions, margins, allowances and the payload, '
        'summary.json, plots and report.html.',
    )
    parser.add_argument('bag', metavar='BAG', type=Path, help='a bag directory, MCAP or sqlite3')
    add_machine_and_config(parser, '--machine', required=True)
    add_out(parser, 'new directory (<BAG>_replay)')
    parser.add_argument('--estimate', action='store_true', help='estimate the payload from the pressures')
    parser.add_argument('--namespace', default='', metavar='NS', help="of the machine's topics")
    parser.add_argument(
        '-p',
        dest='parameters',
        action='append',
        default=[],
        metavar='NAME:=VALUE',
        help='parameter of stability_monitor_node',
    )
    parser.add_argument('--json', action='store_true', help='print the summary as JSON')


def run(args: argparse.Namespace) -> int:
    """Replay a bag and make its report.

    Raises:
        CommandError: the bag, the machine or the directory can't be used.
    """
    from rich.console import Console

    from dyn_nodes.analysis.bag_reading import BagReadingError
    from dyn_nodes.commands.free_domain import claimed_domain
    from dyn_nodes.commands.progress import make_with_progress
    from dyn_nodes.commands.summary_text import print_summary
    from dyn_nodes.middleware import InvalidParameterTypeException, InvalidParameterValueException
    from dyn_nodes.middleware.bags import BagError
    from dyn_nodes.nodes.monitor_replay import replay_bag

    directory = args.out if args.out is not None else args.bag.with_name(f'{args.bag.name}_replay')
    if directory.exists():
        raise CommandError(f'{directory}: the directory exists; nothing is ever overwritten')
    wrong = (InvalidParameterTypeException, InvalidParameterValueException)
    namespace = f'/{args.namespace.strip("/")}'.rstrip('/')
    console = Console(highlight=False, emoji=False, markup=False, stderr=args.json)
    try:
        with claimed_domain() as domain:
            replayed = replay_bag(args.bag, directory / 'bag', _parameters(args), namespace, domain)
        made = make_with_progress(
            console,
            directory / 'bag',
            directory,
            config=_config(args.config),
            namespace='',
            command=f'dyn-nodes monitor replay {args.bag}',
            extra={'replay': {**replayed.facts, 'bag': str(args.bag)}, 'assumed': replayed.facts['assumed']},
        )
    except (OSError, ValueError, BagError, BagReadingError, *wrong) as error:
        shutil.rmtree(directory, ignore_errors=True)
        reason = error.strerror if isinstance(error, OSError) else None
        raise CommandError(f'{directory}: {reason}' if reason else str(error)) from None
    if args.json:
        tables.print_json(made.summary)
    else:
        print_summary(console, made)
        _print(replayed)
    return 0


def _config(name: str) -> Path | None:
    from dyn_nodes.common.share import named_file

    return named_file(name, 'config') if name else None


def _parameters(args: argparse.Namespace) -> dict[str, Any]:
    from dyn_nodes.model.problems import did_you_mean
    from dyn_nodes.nodes.parameters import all_parameters

    defaults = {item.name: item.default for item in all_parameters('stability_monitor_node')}
    parameters: dict[str, Any] = {'machine': args.machine, 'config': args.config}
    parameters['payload_source'] = 'estimated' if args.estimate else 'given'
    for text in args.parameters:
        name, separator, value = text.partition(':=')
        try:
            parsed = yaml.safe_load(value)
        except yaml.YAMLError:
            parsed = None
        if not separator or not name or parsed is None:
            raise CommandError(f'-p: expected NAME:=VALUE, found {text!r}', 2)
        if name not in defaults and not name.startswith('thresholds.'):
            raise CommandError(
                f'-p: expected a parameter of stability_monitor_node, found {did_you_mean(name, defaults)}', 2
            )
        parameters[name] = _as(defaults.get(name, 0.0), parsed)
    return parameters


def _as(default: Any, value: Any) -> Any:
    """Return a value converted to the type of a parameter; an integer becomes a float if the default is one."""
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(default, list) and isinstance(value, list):
        return [_as(default[0] if default else None, item) for item in value]
    return value


def _print(replayed: Replayed) -> None:
    console = tables.console()
    for name, (value, time) in replayed.least.items():
        console.print(f'least allowance of {name}: {value:.4g} {UNITS[name]} at {time:.2f} s')
    if replayed.payload is not None:
        console.print(f'payload at the end: {replayed.payload[0]:.0f} to {replayed.payload[1]:.0f} kg')
    rejected = ', '.join(f'{count} {kind}' for kind, count in replayed.refused.items())
    console.print(f'{replayed.instants} joint states used{f"; rejected: {rejected}" if rejected else ""}')
    for name, text in (replayed.faults or {}).items():
        console.print(f'{name}: {text}: no margins afterwards')
