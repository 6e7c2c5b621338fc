"""Prints the problems of a file: a line for each fault, or JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dyn_nodes.common.json_text import json_text

if TYPE_CHECKING:
    from dyn_nodes.model.problems import MachineError, Problem

MOST_SHOWN = 50
"""Greatest number of problems that are printed; one fault of a file may cause hundreds."""


def print_rejection(error: MachineError, as_json: bool) -> None:
    """Print the problems and warnings of an error."""
    if as_json:
        shown = {'problems': error.problems, 'warnings': error.warnings}
        print(
            json_text(
                {'valid': False} | {key: [vars(problem) for problem in problems] for key, problems in shown.items()}
            )
        )
        return
    print_problems(error.problems, error.warnings)


def print_problems(problems: Sequence[Problem], warnings: Iterable[Problem] = ()) -> None:
    """Print the first `MOST_SHOWN` problems, the warnings, and the number of problems."""
    for problem in problems[:MOST_SHOWN]:
        print(problem, file=sys.stderr)
    for warning in warnings:
        print(f'{warning} (warning)', file=sys.stderr)
    shown = f', the first {MOST_SHOWN} are shown' if len(problems) > MOST_SHOWN else ''
    print(f'{len(problems)} {"problem" if len(problems) == 1 else "problems"}{shown}', file=sys.stderr)
