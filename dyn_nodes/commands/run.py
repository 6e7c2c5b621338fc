"""`dyn-nodes run`: runs one node in this process."""

from __future__ import annotations

import argparse
import difflib
import importlib
import sys

from dyn_nodes.commands import CommandError, Subparsers, add_command


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'run',
        'Run one node.',
        'dyn-nodes run recorder_node --ros-args -p directory:=my_bag -r __node:=recorder',
    )
    parser.add_argument('node', metavar='NODE', help='its name, such as dynamics_node')
    parser.add_argument(
        'arguments', metavar='...', nargs=argparse.REMAINDER, help='its arguments, such as --ros-args -p name:=value'
    )


def run(args: argparse.Namespace) -> int:
    """Run the node's `main`.

    Raises:
        CommandError: the node is unknown.
    """
    from dyn_nodes.common.share import PACKAGE
    from dyn_nodes.entry import is_help_wanted
    from dyn_nodes.middleware.launching import node_names
    from dyn_nodes.nodes.node_help import help_of

    name, arguments = args.node, list(args.arguments)
    if name == PACKAGE and arguments:  # `ros2 run PACKAGE NODE`
        name = arguments.pop(0)
    names = node_names()
    if name not in names:
        close = difflib.get_close_matches(name, names, 1)
        hint = f' (did you mean {close[0]}?)' if close else ''
        raise CommandError(f"unknown node '{name}'{hint}; known: {', '.join(names)}")
    if is_help_wanted(arguments):
        print(help_of(name))
        return 0
    sys.argv = [name, *arguments]
    module = importlib.import_module(f'{PACKAGE}.nodes.{name}')
    return int(module.main() or 0)
