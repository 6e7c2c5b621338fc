"""`dyn-nodes report`: makes summary, plots and a page from a bag of these nodes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_out, tables


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'report',
        'Make summary.json, plots and report.html from a bag of these nodes.',
        'dyn-nodes report runs/latest/bag\ndyn-nodes report my_bag --out my_report --config config/my_machine.yaml',
    )
    parser.add_argument('bag', metavar='BAG', type=Path, help='a bag directory, MCAP or sqlite3')
    add_out(parser, 'directory for the results (<BAG>_report)')
    parser.add_argument('--config', metavar='YAML', type=Path, help='machine YAML (YAML of the package)')
    parser.add_argument('--namespace', metavar='NS', help='of the machine, if the bag contains several')
    parser.add_argument('--json', action='store_true', help='print the summary as JSON')


def run(args: argparse.Namespace) -> int:
    """Make the report.

    Raises:
        CommandError: the bag or the machine YAML can't be used.
    """
    from rich.console import Console

    from dyn_nodes.commands.progress import make_with_progress
    from dyn_nodes.commands.summary_text import print_summary

    bag = Path(args.bag)
    directory = args.out or bag.with_name(f'{bag.name.rstrip("/")}_report')
    console = Console(highlight=False, emoji=False, markup=False, stderr=args.json)
    if args.config is not None and not args.config.is_file():
        raise CommandError(f'--config: no such file: {args.config}')
    try:
        made = make_with_progress(
            console,
            bag,
            directory,
            config=args.config,
            namespace=args.namespace,
            wall_time=earlier_wall_time(bag),
            command=f'dyn-nodes report {bag}',
        )
    except OSError as error:
        raise CommandError(f'{error.filename or directory}: {error.strerror or error}') from None
    if args.json:
        tables.print_json(made.summary)
    else:
        print_summary(console, made)
    return 0


def earlier_wall_time(bag: Path) -> float | None:
    """Return the wall time, s, from a summary beside the bag, or None; bags in simulated time lack it."""
    try:
        summary = json.loads((bag.parent / 'summary.json').read_text(encoding='utf-8'))
        seconds = summary['wall_time_s']
        return float(seconds) if Path(summary['bag']).name == bag.name and seconds is not None else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
