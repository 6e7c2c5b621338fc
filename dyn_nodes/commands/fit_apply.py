"""`dyn-nodes fit apply`: writes the estimates of a fit into copies of the machine's files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dyn_nodes.commands import CONFIG_HELP, CommandError, Subparsers, add_command, add_out, missing_package
from dyn_nodes.commands.machine_report import add_machine, sound_machine
from dyn_nodes.commands.problem_lines import print_rejection


def add_verb(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'apply',
        'Write copies of URDF, machine YAML and mapping of the bus with the lines of `fit machine --out`.',
        'dyn-nodes fit apply fit --machine log_loader --mapping log_loader -o fitted\n'
        'dyn-nodes fit apply fit --machine my.urdf --config my.yaml -o fitted',
    )
    parser.add_argument('fit', metavar='FIT', type=Path, help='directory of `fit machine --out`')
    add_machine(parser, CONFIG_HELP)
    parser.add_argument(
        '--mapping', metavar='YAML', help='mapping of the bus, which gets joint offsets, or its name in config/can'
    )
    add_out(parser, 'new directory', required=True)


def run(args: argparse.Namespace) -> int:
    """Write the copies and check them; return 0, or 1 if the files or their copies have faults.

    Raises:
        CommandError: lines or files that do not fit together, or a directory that can't be made.
    """
    from dyn_nodes.analysis.fit_apply import write_applied
    from dyn_nodes.analysis.yaml_edit import EditError
    from dyn_nodes.can.mapping_file import load_mapping
    from dyn_nodes.model import MachineError, load_machine_report
    from dyn_nodes.model.named import machine_files

    if sound_machine(args) is None:
        return 1
    urdf, config = machine_files(args.machine, args.config)
    assert config is not None  # `sound_machine` requires it
    try:
        sources = None if args.mapping is None else load_mapping(args.mapping)[0].sources
        mapping = None if sources is None else (Path(sources[0]), Path(sources[1]))
        written = write_applied(args.fit, urdf, config, mapping, args.out)
        problems = load_machine_report(written[0], written[1]).problems
        if mapping is not None:
            load_mapping(written[2])
    except ImportError as error:
        raise missing_package(error, 'can') from None
    except MachineError as error:
        print_rejection(error, False)
        return 1
    except (EditError, FileNotFoundError) as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f'{error.filename or args.out}: {error.strerror or error}') from None
    for path in written:
        print(path)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0
