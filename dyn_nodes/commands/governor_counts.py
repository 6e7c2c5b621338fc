"""The table of what runs of the adversary came to, a column a kind of them."""

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
    'levers let through, %',
    'changes of levers let through, %',
    'a wheel without load, s in all',
    'refused starts',
)


def print_counts(rows: dict[str, dict[str, Any] | None]) -> None:
    """Print summaries of runs, a column a kind; None: there were none of it. What no kind has is left out."""
    found = {kind: own for kind, own in rows.items() if own is not None}
    lines = zip(QUANTITIES, *(_column(own) for own in found.values()))
    tables.show([line for line in lines if any(line[1:])], ('', *found))


def _column(own: dict[str, Any]) -> list[str]:
    """Return the text of all quantities of a summary; '' where it has none."""
    counts = [str(own[key]) for key in ('runs', 'overturned', 'lifted', 'lost')]
    counts[1] += f' ({own["diverged"]} diverged)' if own['diverged'] else ''
    unrest, off = own.get('unrest'), own.get('off')
    return [
        *counts,
        f'{own["share"]:.3f}',
        f'{math.degrees(own["tilt"]):.1f}',
        f'{100.0 * own["let_through"]:.0f}',
        '' if unrest is None else f'{100.0 * unrest:.0f}',
        f'{off:.1f}' if off else '',
        _refused(own),
    ]


def _refused(own: dict[str, Any]) -> str:
    refused = own['refused_starts']
    if not refused['runs']:
        return '0'
    return f'{refused["runs"]} ({refused["lifted"]} lifted, {refused["overturned"]} overturned)'
