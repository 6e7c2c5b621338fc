"""The command `dyn-nodes`, with the syntax of `ros2` but without ROS."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import os
import signal
import sys
from collections.abc import Sequence
from types import ModuleType

from dyn_nodes import __version__
from dyn_nodes.commands import CommandError, CommandParser
from dyn_nodes.common.compiling import CompilationNotice
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.printing import printable

COMMANDS = (
    'launch',
    'run',
    'check',
    'init',
    'attach',
    'demo',
    'report',
    'study',
    'teleop',
    'rviz',
    'loadchart',
    'certify',
    'ik',
    'workspace',
    'contact',
    'size',
    'linearize',
    'omni',
    'design',
    'object',
    'fit',
    'can',
    'monitor',
    'governor',
    'sweep',
    'topic',
    'node',
    'param',
    'service',
    'bag',
    'graph',
    'cache',
    'completion',
)
"""Commands in the order of the help. A command without a module is omitted."""

ELSEWHERE = {'study': 'dyn_nodes.studies.command'}
"""Modules of commands that are not in `commands`: no module imports studies."""

SHOWN_BY_NODES = ('launch', 'run', 'demo')
"""Commands whose nodes report compilation themselves; for all others it is reported on standard error."""


def _module(command: str) -> ModuleType | None:
    name = ELSEWHERE.get(command, f'dyn_nodes.commands.{command}')
    return importlib.import_module(name) if importlib.util.find_spec(name) is not None else None


def build_parser(commands: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of some commands, by default of all."""
    parser: argparse.ArgumentParser = CommandParser(
        prog='dyn-nodes',
        description='Simulation, control and safety nodes for mobile manipulators.',
        epilog='dyn-nodes COMMAND --help describes a command.',
    )
    parser.add_argument('--version', action='version', version=f'dyn_nodes {__version__}')
    subparsers = parser.add_subparsers(title='commands', metavar='COMMAND', dest='command')
    for command in commands:
        module = _module(command)
        if module is not None:
            module.add_parser(subparsers)
            subparsers.choices[command].set_defaults(run_command=module.run)
    return parser


def _note(line: str) -> None:
    print(f'dyn-nodes: {line}', file=sys.stderr, flush=True)


def _stop(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: Command line without the program's name; None for the arguments of this process.

    Returns:
        Exit status of the command; 1 or 2 for an error; 130 after Ctrl-C.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        # Only the module of the requested command is imported, because the import of others may be slow.
        chosen = [arguments[0]] if arguments and arguments[0] in COMMANDS and _module(arguments[0]) else COMMANDS
        parser = build_parser(chosen)
        args = parser.parse_args(arguments)
        if args.command is None:
            parser.print_help()
            return 2
        if argv is None:
            signal.signal(signal.SIGTERM, _stop)
        with contextlib.nullcontext() if args.command in SHOWN_BY_NODES else CompilationNotice(_note):
            return int(args.run_command(args) or 0)
    except SystemExit as exit_:  # argparse: help, version, wrong usage
        return exit_.code if isinstance(exit_.code, int) else 0 if exit_.code is None else 1
    except UserError as error:
        lines = [printable(line) for line in str(error).split('\n')]
        print('dyn-nodes:', '\n'.join(lines), file=sys.stderr)
        return error.status if isinstance(error, CommandError) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == '__main__':
    sys.exit(main())
