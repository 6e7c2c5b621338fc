"""`dyn-nodes bag import`: converts a log of a machine's CAN bus to a bag and reports faults of the log."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_out, missing_package, tables
from dyn_nodes.commands.problem_lines import print_rejection

if TYPE_CHECKING:
    from dyn_nodes.nodes.log_import import Imported


def add_parser(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'import',
        "Write a log of a machine's CAN bus to a bag, using the mapping of its signals.",
        'dyn-nodes bag import day_1.blf --mapping log_loader -o day_1\n'
        'dyn-nodes bag import measured.csv --mapping my_machine.yaml -o measured',
    )
    parser.add_argument(
        'log', metavar='LOG', type=Path, help='frames: .csv, .asc, .blf, .log, .mf4; columns of signals: .csv, .mf4'
    )
    parser.add_argument(
        '--mapping', required=True, metavar='YAML', help='mapping of the signals, or its name in config/can'
    )
    add_out(parser, 'new directory (name of the log)')
    parser.add_argument('--json', action='store_true', help='print JSON')


def run_import(args: argparse.Namespace) -> int:
    """Import a log; return 0, or 1 if the mapping has faults.

    Raises:
        CommandError: the log or the directory can't be used.
    """
    from dyn_nodes.can.log_file import LogError
    from dyn_nodes.can.mapping_file import load_mapping
    from dyn_nodes.middleware.bags import BagError
    from dyn_nodes.model.problems import MachineError
    from dyn_nodes.nodes.log_import import import_log

    directory = args.out if args.out is not None else args.log.with_suffix('')
    try:
        mapping, _ = load_mapping(args.mapping)
        imported = import_log(args.log, mapping, directory)
    except ImportError as error:
        raise missing_package(error, 'can') from None
    except MachineError as error:
        print_rejection(error, args.json)
        return 1
    except (LogError, BagError, FileNotFoundError) as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f'{error.filename or directory}: {error.strerror or error}') from None
    if args.json:
        facts = {**imported._asdict(), 'findings': [finding._asdict() for finding in imported.findings]}
        tables.print_json({'bag': str(directory), **facts})
    else:
        _print(directory, imported)
    return 0


def _print(directory: Path, imported: Imported) -> None:
    console = tables.console()
    total = sum(imported.counts.values())
    console.print(
        f'{directory}: {total} messages on {len(imported.counts)} topics, {imported.duration:.6g} s; '
        f'{imported.used} frames used, {imported.passed_over} of other messages',
        soft_wrap=True,
    )
    for finding in imported.findings:
        console.print(f'{finding.kind}: {finding.text}', style='yellow', soft_wrap=True)
    if not imported.findings:
        console.print('no gaps, no jumps of the clock, no frozen or saturated sensors', style='green')
