"""`dyn-nodes launch`: runs a launch file of ROS 2's XML front end."""

from __future__ import annotations

import argparse

from dyn_nodes.commands import CommandError, Subparsers, add_command


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'launch',
        'Run a launch file (XML) until its processes end or Ctrl-C.',
        'dyn-nodes launch log_loader.launch.xml record:=true\n'
        'dyn-nodes launch log_loader --show-args\n'
        'dyn-nodes launch ./my.launch.xml rate:=500',
    )
    parser.add_argument('file', metavar='FILE|NAME', help="a launch file, or the name of one in the package's launch/")
    parser.add_argument(
        'arguments', metavar='arg:=value', nargs='*', help='arguments of the launch file (see --show-args)'
    )
    parser.add_argument('-s', '--show-args', '--show-arguments', action='store_true', help='list its arguments')


def run(args: argparse.Namespace) -> int:
    """Run the launch file, or list its arguments.

    Raises:
        CommandError: the file or the arguments are wrong.
    """
    from dyn_nodes.common.share import PACKAGE
    from dyn_nodes.middleware.launching import (
        LaunchError,
        declared_arguments,
        find_launch_file,
        parse_launch_arguments,
        run_launch,
    )

    words, package, name = list(args.arguments), PACKAGE, args.file
    try:
        if words and ':=' not in words[0] and _is_package(name, words[0]):  # `ros2 launch PACKAGE FILE`
            package, name = name, words.pop(0)
        path = find_launch_file(name, package)
        if args.show_args:
            _show(declared_arguments(path))
            return 0
        return run_launch(path, parse_launch_arguments(words))
    except LaunchError as error:
        raise CommandError(error.text) from None


def _is_package(name: str, word: str) -> bool:
    """Return whether the words are a package and its launch file, not a launch file and an argument.

    Raises:
        LaunchError: the second word is a misspelt argument.
    """
    from dyn_nodes.common.share import PACKAGE, ament_prefix
    from dyn_nodes.middleware.launching import LaunchError, find_launch_file, parse_launch_arguments

    if name == PACKAGE or ament_prefix(name) is not None:
        return True
    try:
        find_launch_file(name)
    except LaunchError as error:
        if '=' in word or 'did you mean' in str(error):
            raise
        return True  # a missing package
    parse_launch_arguments([word])
    return False


def _show(arguments: list) -> None:
    print("Arguments (pass arguments as '<name>:=<value>'):")
    if not arguments:
        print('\n  No arguments.')
    for argument in arguments:
        choices = f' Valid choices are: {", ".join(argument.choices)}' if argument.choices else ''
        print(f'\n    {argument.name!r}:\n        {argument.description or "no description given"}{choices}')
        if argument.default is not None:
            print(f'        (default: {argument.default!r})')
