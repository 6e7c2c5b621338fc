"""`dyn-nodes can init`: writes a first mapping of the signals of a DBC to the quantities of a machine."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from dyn_nodes.commands import (
    CONFIG_HELP,
    CommandError,
    Subparsers,
    add_command,
    add_machine_and_config,
    add_out,
    missing_package,
)


def add_parser(subparsers: Subparsers) -> None:
    """Add the `can` command to the command line."""
    example = 'dyn-nodes can init machine.dbc --machine my_machine.urdf --config my_machine.yaml -o my_bus.yaml'
    parser = add_command(subparsers, 'can', 'Write a first mapping of a CAN bus.', example)
    verbs = parser.add_subparsers(title='verbs', metavar='VERB', dest='verb', required=True)
    init = add_command(
        verbs,
        'init',
        'Write a first mapping of the signals of a DBC, by their names and units.',
        example,
    )
    init.add_argument('dbc', metavar='DBC', type=Path, help='database of the bus')
    add_machine_and_config(init, '--machine', CONFIG_HELP, required=True)
    add_out(init, 'the mapping (name of the DBC)', 'YAML')
    init.add_argument('--force', action='store_true', help='overwrite an existing file')


def run(args: argparse.Namespace) -> int:
    """Write the mapping and check it; return 0, or 1 if the DBC has faults, which are printed.

    Raises:
        CommandError: the output exists or cannot be written, or a file is missing.
    """
    from dyn_nodes.can.dbc import read_dbc
    from dyn_nodes.can.first_mapping import first_mapping
    from dyn_nodes.can.mapping_file import load_mapping
    from dyn_nodes.model import MachineError, load_machine
    from dyn_nodes.model.named import machine_files
    from dyn_nodes.model.problems import Report

    output = args.dbc.with_suffix('.yaml').name if args.out is None else args.out
    path = Path(output)
    if path.exists() and not args.force:
        raise CommandError(f'{path} exists; --force overwrites it')
    if not args.dbc.is_file():
        raise CommandError(f'{args.dbc}: expected a DBC, found no such file')
    try:
        urdf, config = machine_files(args.machine, args.config)
        machine = load_machine(urdf, config)
    except (MachineError, ValueError) as error:
        raise CommandError(str(error)) from None
    report = Report(str(args.dbc))
    try:
        database = read_dbc(args.dbc, report)
    except ImportError as error:
        raise missing_package(error, 'can') from None
    if database is None:
        for problem in report.sorted_problems():
            print(problem, file=sys.stderr)
        return 1
    mapping = first_mapping(database, args.dbc, machine, args.machine, args.config, path.parent)
    try:
        path.write_text(mapping.text, encoding='utf-8')
    except OSError as error:
        raise CommandError(f'{path} cannot be written: {error.strerror}') from None
    print(f'{path}: {mapping.used} signals of {machine.name}, each marked "guess"; {len(mapping.left_out)} not used')
    for text in mapping.left_out:
        print(f'  not used: {text}')
    try:
        load_mapping(path)
    except MachineError as error:
        for problem in error.problems:
            print(f'to correct: {problem}')
    print(f'check signs, offsets and measured quantities, then run\n  dyn-nodes check {shlex.quote(str(path))}')
    return 0
