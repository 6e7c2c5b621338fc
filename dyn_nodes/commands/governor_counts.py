"""Table of the results of runs of `dyn-nodes governor test`, one column for each kind of run."""

from __future__ import annotations

import math
from typing import Any

from dyn_nodes.commands import tables

QUANTITIES = (
    'runs',
    'overturned',
    'lifted a wheel',
    'a wheel without load',
    'least load share',
    'greatest turn, degrees',
    'levers passed, %',
    'changes of levers passed, %',
    'a wheel without load, s in all',
    'greatest overload, % of the rated load',
    'rejected starts',
)


def print_counts(rows: dict[str, dict[str, Any] | None]) -> None:
    """Print summaries of runs by kind, one column each; kinds without runs (None) and empty rows are left out."""
    summaries = {kind: summary for kind, summary in rows.items() if summary is not None}
    lines = zip(QUANTITIES, *(_column(summary) for summary in summaries.values()))
    tables.show([line for line in lines if any(line[1:])], ('', *summaries))


def _column(summary: dict[str, Any]) -> list[str]:
    """Return the texts of `QUANTITIES`; '' for a missing one."""
    counts = [str(summary[key]) for key in ('runs', 'overturned', 'lifted', 'lost')]
    counts[1] += f' ({summary["diverged"]} diverged)' if summary['diverged'] else ''
    unrest, off, overload = (summary.get(key) for key in ('unrest', 'off', 'overload'))
    return [
        *counts,
        f'{summary["share"]:.3f}',
        f'{math.degrees(summary["tilt"]):.1f}',
        f'{100.0 * summary["let_through"]:.0f}',
        '' if unrest is None else f'{100.0 * unrest:.0f}',
        f'{off:.1f}' if off else '',
        '' if overload is None else f'{100.0 * overload:.1f}',
        _rejected(summary),
    ]


def _rejected(summary: dict[str, Any]) -> str:
    rejected = summary['refused_starts']
    if not rejected['runs']:
        return '0'
    return f'{rejected["runs"]} ({rejected["lifted"]} lifted, {rejected["overturned"]} overturned)'
