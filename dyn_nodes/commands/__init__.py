"""The sub-commands of `dyn-nodes`, one module each.

A module has `add_parser(subparsers)`, which adds its argparse parser, and `run(args) -> int`, which does the work and
returns the exit status. Slow packages are imported inside `run`, so that `dyn-nodes --help` starts quickly. A user's
mistake is a `CommandError`: one line on standard error, exit status 1, or 2 for a wrong option. The range of an option
is its type, see `option_types`; `tables.show` prints records, `tables.print_json` JSON.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import textwrap
from pathlib import Path
from typing import Any, NoReturn

from dyn_nodes.commands.option_types import count
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.printing import near, printable

WIDTH = 79
"""Greatest width of a line of help, characters; fits a terminal of 80 columns."""
MOST_JOBS = 1024
MACHINE_HELP = 'name of a machine of this package, or its URDF'
CONFIG_HELP = "machine YAML, or the name of one of this package (the named machine's own)"
EARLIER = {
    '--at': '--posture',
    '--free': '--joints',
    '--from': '--posture',
    '--map': '--plot',
    '--output': '--out',
    '--output-config': '--out-config',
    '--seconds': '--duration',
}
"""Present name of an option by its earlier name, which is accepted if the command has only the present one."""


class CommandError(UserError):
    """A user's mistake or a failed request; the message is one line."""

    def __init__(self, message: str, status: int = 1):
        super().__init__(message)
        self.status = status


def missing_package(error: ImportError, extra: str) -> CommandError:
    """Return the error for a missing package; `extra` of this package installs it."""
    return CommandError(f"the package {error.name} is missing: pip install 'dyn_nodes[{extra}]'")


Subparsers = argparse._SubParsersAction
"""Type of the argument of `add_parser`."""


class HelpFormatter(argparse.HelpFormatter):
    """Help of at most `WIDTH` columns. Paragraphs are wrapped, except lines that start with a blank."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, **options)
        self._width = min(self._width, WIDTH)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for paragraph in text.split('\n\n'):
            source = paragraph.split('\n')
            if any(line.startswith(' ') for line in source):
                lines += source
            else:
                lines += textwrap.wrap(' '.join(source), width)
            lines.append('')
        return '\n'.join(indent + line for line in lines[:-1])


class CommandParser(argparse.ArgumentParser):
    """A parser whose help fits 80 columns and whose errors suggest the nearest valid word."""

    implied = ''
    """Verb that is inserted if the first word is no verb; an earlier form of the command."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault('formatter_class', HelpFormatter)
        super().__init__(*args, **options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; report unrecognized ones with the usage of the sub-command."""
        words = list(map(self._renamed, sys.argv[1:] if args is None else args))
        verbs = next((action.choices for action in self._actions if isinstance(action, Subparsers)), None) or ()
        if self.implied and words and words[0] not in (*verbs, '-h', '--help'):
            words.insert(0, self.implied)
        parsed, unknown = super().parse_known_args(words, namespace)
        if unknown:
            options = [option[2:] for option in self._option_string_actions if option.startswith('--')]
            word = unknown[0].partition('=')[0]
            hint = near(word[2:], options, '--') if word.startswith('--') else ''
            self.error(f'unrecognized arguments: {" ".join(map(printable, unknown))}{hint}')
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """Raise a CommandError for a wrong value; print the usage too if an option is unknown or missing."""
        if message.startswith('argument '):
            raise CommandError(message.removeprefix('argument '), 2)
        super().error(message)

    def _renamed(self, word: str) -> str:
        option, sign, value = word.partition('=')
        present = EARLIER.get(option)
        is_earlier = present in self._option_string_actions and option not in self._option_string_actions
        return f'{present}{sign}{value}' if is_earlier else word

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError:
            near = difflib.get_close_matches(str(value), [str(choice) for choice in action.choices or ()], 1)
            if not near:
                raise
            raise argparse.ArgumentError(action, f'invalid choice: {value!r} (did you mean {near[0]!r}?)') from None


def add_command(subparsers: Subparsers, name: str, help: str, example: str, description: str = '') -> CommandParser:
    """Add a parser with a line of help, a description and an example.

    Args:
        subparsers: of the parent parser.
        name: of the command.
        help: one sentence, with a capital letter and a full stop.
        example: command lines; long ones are broken so that they can be copied.
        description: first paragraph of the help page; '' for the sentence of `help`.
    """
    lines = [line for command in example.splitlines() for line in broken_command(command)]
    epilog = 'example:\n' + '\n'.join(f'  {line}' for line in lines)
    parser: CommandParser = subparsers.add_parser(name, help=help, description=description or help, epilog=epilog)
    return parser


def add_machine_and_config(
    parser: argparse.ArgumentParser, name: str = 'machine', config_help: str = CONFIG_HELP, **options: Any
) -> None:
    """Add the machine as an argument or an option, and --config, '' by default."""
    parser.add_argument(name, metavar='MACHINE', **{'help': MACHINE_HELP, **options})
    parser.add_argument('--config', metavar='YAML', default='', help=config_help)


def add_out(parser: argparse.ArgumentParser, help: str, metavar: str = 'DIR', **options: Any) -> None:
    """Add -o and --out, a path."""
    parser.add_argument('-o', '--out', metavar=metavar, help=help, **{'type': Path, **options})


def add_jobs(parser: argparse._ActionsContainer, default: int | None = None) -> None:
    """Add --jobs, the number of processes; default None: the number of processors."""
    text = 'processes (all processors)' if default is None else f'processes ({default})'
    parser.add_argument(
        '--jobs', metavar='N', type=count(1, MOST_JOBS), default=default or os.cpu_count() or 1, help=text
    )


def broken_command(command: str, width: int = WIDTH - 2) -> list[str]:
    """Return a command line as lines of at most `width` characters that a shell joins; quoted texts stay whole."""
    if len(command) <= width:
        return [command]
    lines, line = [], ''
    for word in _words(command):
        if line and len(line) + len(word) + 3 > width:  # the blank before the word, and the backslash after it
            lines.append(f'{line} \\')
            line = f'    {word}'
        else:
            line = f'{line} {word}' if line else word
    return [*lines, line]


def _words(command: str) -> list[str]:
    """Return the words of a command; an option with its first value is one word, a quoted text too."""
    words: list[str] = []
    quote = ''
    for part in command.split(' '):
        if quote or (words and words[-1].startswith('-') and ' ' not in words[-1] and not part.startswith('-')):
            words[-1] += f' {part}'
        else:
            words.append(part)
        for letter in part:
            if letter == quote:
                quote = ''
            elif not quote and letter in '\'"':
                quote = letter
    return words
