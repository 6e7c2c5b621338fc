"""`dyn-nodes fit check`: compares fits of simulated logs with the true parameters."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from typing import Any

from dyn_nodes.commands import Subparsers, add_command, add_jobs, tables
from dyn_nodes.commands.option_types import between, count

COVERED = (0.93, 0.97)
"""Bounds of the share of 95 % intervals that contain the true value."""
BARS = {'dead_time': 0.01, 'gain': 0.03, 'viscous': 0.1, 'friction': 0.1, 'inertial': 0.02}
"""Limits of the error in 95 % of the cases by group, s or relative; see `_narrow` for masses."""
HELD_OUT = 0.05
"""Limit of the NRMSE of joint speeds on the part of a log that was not fitted."""


def add_verb(verbs: Subparsers) -> None:
    """Add the verb."""
    parser = add_command(
        verbs,
        'check',
        'Simulate logs of the log-loader with noise, steps, sensor offsets and unknown dead times; fit; compare.',
        'dyn-nodes fit check --cases 200 --jobs 2',
    )
    parser.add_argument('--cases', metavar='N', type=count(1, 10_000), default=20, help='number of cases (20)')
    parser.add_argument('--first', metavar='N', type=count(), default=0, help='number of the first case (0)')
    parser.add_argument('--duration', metavar='S', type=between(20, 600), default=80.0, help='length of each log (80)')
    add_jobs(parser, 1)
    parser.add_argument('--json', action='store_true', help='print JSON')


def run(args: argparse.Namespace) -> int:
    """Print coverage and errors by group; return 0 if all bounds are met."""
    from dyn_nodes.analysis.fit_cases import run_cases

    results: list[dict[str, Any]] = []
    for number, result in run_cases(range(args.first, args.first + args.cases), args.duration, args.jobs):
        if result is None:
            print(f'case {number}: the machine overturned; left out', file=sys.stderr)
            continue
        results.append(result)
        if not args.json:
            print(f'\r{len(results)} of {args.cases}', end='', file=sys.stderr, flush=True)
    summary = summarize(results)
    if args.json:
        tables.print_json({'summary': summary, 'cases': results}, indent=1)
    else:
        print(file=sys.stderr)
        _print(summary)
    return 0 if summary['passed'] else 1


def summarize(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return coverage and errors over cases by group, and whether all bounds are met."""
    import numpy as np

    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for case in results:
        for one in case['checks']:
            groups[one['group']].append(one)
    rows: dict[str, dict[str, Any]] = {}
    for name, checks in groups.items():
        seen = [abs(one['error']) for one in checks if one['seen'] and _narrow(name, one)]
        rows[name] = {
            'numbers': len(checks),
            'held': float(np.mean([one['held'] for one in checks])),
            'seen': float(np.mean([one['seen'] for one in checks])),
            'error_95': float(np.quantile(seen, 0.95)) if seen else None,
            'greatest_error': max(seen) if seen else None,
            'counted': len(seen),
        }
    every = [one['held'] for checks in groups.values() for one in checks]
    held = float(np.mean(every)) if every else 0.0
    speeds = [value for case in results for value in case['speeds'].values() if value == value]
    failed = [text for case in results for text in case['failures']]
    errors = {name: rows[name]['error_95'] for name in BARS if name in rows}
    within = all(value is None or value <= BARS[name] for name, value in errors.items())
    nrmse = float(np.quantile(speeds, 0.95)) if speeds else None
    return {
        'cases': len(results),
        'held': held,
        'groups': rows,
        'nrmse_95': nrmse,
        'greatest_nrmse': max(speeds) if speeds else None,
        'failures': failed,
        'passed': bool(COVERED[0] <= held <= COVERED[1] and within and nrmse is not None and nrmse <= HELD_OUT),
    }


def _narrow(group: str, check: dict[str, Any]) -> bool:
    """Return whether an estimate counts: a mass only if its interval is within the limit of the error."""
    return group != 'inertial' or check.get('half', 0.0) <= BARS['inertial']


def _print(summary: dict[str, Any]) -> None:
    rows = []
    for name, row in summary['groups'].items():
        unit = 's' if name == 'dead_time' else 'rad' if name == 'offset' else '%'
        factor = 1.0 if unit != '%' else 100.0
        errors = [
            '-' if row[key] is None else f'{factor * row[key]:.3g} {unit}' for key in ('error_95', 'greatest_error')
        ]
        rows.append([name, str(row['numbers']), f'{100 * row["held"]:.1f} %', f'{100 * row["seen"]:.0f} %', *errors])
    headings = ('numbers', 'count', 'interval holds', 'seen', 'error, 95 %', 'greatest')
    tables.show(rows, headings, title=f'{summary["cases"]} cases')
    console = tables.console()
    console.print(f'all intervals: {100 * summary["held"]:.2f} % hold the truth')
    if summary['nrmse_95'] is not None:
        console.print(
            f'speeds on the part held out: NRMSE {100 * summary["nrmse_95"]:.1f} % in 95 % of the joints, '
            f'at most {100 * summary["greatest_nrmse"]:.1f} %'
        )
    for text in summary['failures']:
        console.print(text, markup=False)
