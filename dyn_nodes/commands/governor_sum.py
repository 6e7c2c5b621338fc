"""`dyn-nodes governor sum`: adds up the reports of a campaign that was split into several calls."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from dyn_nodes.commands import CommandError, add_command, governor_counts, tables


def add_verb(verbs: Any) -> None:
    """Add the verb to `dyn-nodes governor`."""
    verb = add_command(
        verbs,
        'sum',
        'Add up reports of runs from several calls or computers.',
        'dyn-nodes governor test log_loader --runs 5000 --json > piece_0.json\n'
        'dyn-nodes governor test log_loader --first 5000 --runs 5000 --json > piece_1.json\n'
        'dyn-nodes governor sum piece_0.json piece_1.json',
        'Add up reports of `dyn-nodes governor test --json`: counts, least load, greatest rotation. Each report\n'
        'contains random runs or a search, all for the same machine, box and reserve; no run may be in two\n'
        'reports. The exit status is 1 if, with the governor, a wheel lifted or the simulation diverged.',
    )
    verb.add_argument('reports', metavar='FILE', type=Path, nargs='+', help='a report as JSON')
    verb.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Print the sum; return 0 if no wheel lifted with the governor, else 1.

    Raises:
        CommandError: a file can't be used.
    """
    from dyn_nodes.governor.campaign.pieces import sum_up

    reports = [(str(path), _report(path)) for path in args.reports]
    sums = sum_up(reports)
    if args.json:
        tables.print_json(sums)
    else:
        governor_counts.print_counts({**sums})
    governed = [summary for kind, summary in sums.items() if kind != 'without governor']
    return 1 if any(summary['lifted'] or summary['diverged'] for summary in governed) else 0


def _report(path: Path) -> dict[str, Any]:
    from dyn_nodes.governor.campaign.pieces import sum_up

    try:
        report = json.loads(path.read_text())
        sum_up([(str(path), report)])
    except OSError as error:
        raise CommandError(f'{path}: {error.strerror or error}') from None
    except (ValueError, KeyError, TypeError, RecursionError):
        text = f'{path}: expected a report of `dyn-nodes governor test --json`, found another text'
        raise CommandError(text) from None
    if report['search'] and report['search']['runs'] != report['runs']:
        raise CommandError(f'{path}: expected random runs or a search, found both')
    return dict(report)
