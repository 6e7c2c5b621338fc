"""`dyn-nodes sweep worst`: writes files that repeat the worst runs of a sweep."""

from __future__ import annotations

import argparse
from pathlib import Path

from dyn_nodes.commands import CommandError, Subparsers, add_command, tables
from dyn_nodes.commands.option_types import count

DIRECTORY = 'worst'
MOST = 1000


def add_verb(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'worst',
        'Write files that repeat the worst runs of a sweep.',
        'dyn-nodes sweep worst runs/tip_over --outcome least_zmp --count 3',
    )
    parser.add_argument('directory', metavar='DIR', type=Path, help='of a sweep')
    parser.add_argument('--outcome', metavar='NAME', help='column (the first outcome)')
    parser.add_argument('--count', metavar='N', type=count(1, MOST), default=5, help='runs to write (5)')
    parser.add_argument('--end', choices=['least', 'greatest'], help='worst values of the outcome (by its name)')


def worst(args: argparse.Namespace) -> int:
    """Write the worst runs of an outcome and print their directories; return 0."""
    from dyn_nodes.analysis.sweeps.replay import worst_runs, write_replay
    from dyn_nodes.analysis.sweeps.report import outcome_of, read_results

    try:
        results = read_results(args.directory)
        outcome = outcome_of(results, args.outcome)
        indices = worst_runs(results, outcome, args.count, None if args.end is None else args.end == 'least')
        made = [(index, write_replay(results, index, args.directory / DIRECTORY)) for index in indices]
    except OSError as error:
        raise CommandError(f'{error.filename or args.directory}: {error.strerror or error}') from None
    rows = [{**results.table.slice(index, 1).to_pylist()[0], 'directory': str(path)} for index, path in made]
    if args.json:
        tables.print_json(rows)
        return 0
    for row in rows:
        print(f'{row["directory"]}: {outcome} {row[outcome]:g}, {row["status"]} at {row["end_time"]:g} s')
    return 0
