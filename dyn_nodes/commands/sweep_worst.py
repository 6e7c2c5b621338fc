"""`dyn-nodes sweep worst`: the worst runs of a sweep as files that repeat them."""

from __future__ import annotations

import argparse
import json

from dyn_nodes.commands import CommandError

DIRECTORY = 'worst'
MOST = 1000


def worst(args: argparse.Namespace) -> int:
    """Write the worst runs of an outcome, and print where."""
    from dyn_nodes.analysis.sweeps.replay import worst_runs, write_replay
    from dyn_nodes.analysis.sweeps.report import outcome_of, read_results

    if args.directory is None:
        raise CommandError('worst: expected the directory of a sweep, found none', 2)
    count = 5 if args.count is None else args.count
    if not 1 <= count <= MOST:
        raise CommandError(f'--count: expected 1 to {MOST}, found {count}', 2)
    try:
        results = read_results(args.directory)
        outcome = outcome_of(results, args.outcome)
        places = worst_runs(results, outcome, count, None if args.end is None else args.end == 'least')
        made = [(place, write_replay(results, place, args.directory / DIRECTORY)) for place in places]
    except OSError as error:
        raise CommandError(f'{error.filename or args.directory}: {error.strerror or error}') from None
    rows = [{**results.table.slice(place, 1).to_pylist()[0], 'directory': str(path)} for place, path in made]
    if args.json:
        print(json.dumps([{name: None if own != own else own for name, own in row.items()} for row in rows], indent=2))
        return 0
    for row in rows:
        print(f'{row["directory"]}: {outcome} {row[outcome]:g}, {row["status"]} at {row["end_time"]:g} s')
    return 0
