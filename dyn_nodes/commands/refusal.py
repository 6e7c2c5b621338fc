"""Why a file is refused: a line for each fault, or JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dyn_nodes.model.problems import MachineError, Problem


def print_refusal(error: MachineError, as_json: bool) -> None:
    """Print the problems of an error, and its warnings."""
    if as_json:
        shown = {'problems': error.problems, 'warnings': error.warnings}
        print(
            json.dumps({'valid': False} | {key: [vars(own) for own in found] for key, found in shown.items()}, indent=2)
        )
        return
    print_problems(error.problems, error.warnings)


def print_problems(problems: Sequence[Problem], warnings: Iterable[Problem] = ()) -> None:
    """Print problems, warnings, and how many problems there are."""
    for problem in problems:
        print(problem, file=sys.stderr)
    for warning in warnings:
        print(f'{warning} (warning)', file=sys.stderr)
    print(f'{len(problems)} {"problem" if len(problems) == 1 else "problems"}', file=sys.stderr)
