"""The sub-commands of `dyn-nodes`, one module each.

A module has `add_parser(subparsers)`, which adds its argparse parser, and `run(args) -> int`, which does the work and
returns the exit status. What is heavy is imported inside `run`, so that `dyn-nodes --help` answers at once. A user's
mistake is a `CommandError`: one line on standard error, exit status 1.
"""

from __future__ import annotations

import argparse


class CommandError(Exception):
    """What the user asked for can't be done; the message says why, on one line."""

    def __init__(self, message: str, status: int = 1):
        super().__init__(message)
        self.status = status


Subparsers = argparse._SubParsersAction
"""What `add_parser` gets."""


def add_command(subparsers: Subparsers, name: str, help: str, example: str) -> argparse.ArgumentParser:
    """Add a parser with the house's look: a line of help, the same as description, and an example below.

    Args:
        subparsers: Of the parser above.
        name: The command.
        help: One sentence.
        example: Command lines, each a line.
    """
    epilog = 'example:\n' + '\n'.join(f'  {line}' for line in example.splitlines())
    return subparsers.add_parser(
        name, help=help, description=help, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
