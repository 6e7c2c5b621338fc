"""The table of what runs of the adversary came to, a row a kind of them."""

from __future__ import annotations

import math
from typing import Any

from dyn_nodes.commands import tables

HEADINGS = ('', 'runs', 'overturned', 'lifted a wheel', 'a wheel without load', 'least load share')


def print_counts(rows: dict[str, dict[str, Any] | None]) -> None:
    """Print summaries of runs by their kind; None: there were none of it."""
    from rich.table import Table

    found = {kind: own for kind, own in rows.items() if own is not None}
    has_changes = any('unrest' in own for own in found.values())
    has_off = any(own.get('off') for own in found.values())
    changes = ('changes let through, %',) if has_changes else ()
    off = ('without load in all, s',) if has_off else ()
    table = Table()
    for heading in (*HEADINGS, 'greatest turn, deg', 'let through, %', *changes, *off, 'refused starts'):
        table.add_column(heading, justify='right' if heading else 'left')
    for kind, own in found.items():
        counts = [str(own[key]) for key in ('runs', 'overturned', 'lifted', 'lost')]
        counts[1] += f' ({own["diverged"]} diverged)' if own['diverged'] else ''
        counts += [f'{own["share"]:.3f}', f'{math.degrees(own["tilt"]):.1f}', f'{100.0 * own["let_through"]:.0f}']
        if has_changes:
            counts.append('' if own['unrest'] is None else f'{100.0 * own["unrest"]:.0f}')
        if has_off:
            counts.append('' if own.get('off') is None else f'{own["off"]:.1f}')
        table.add_row(kind, *counts, _refused(own))
    tables.console().print(table)


def _refused(own: dict[str, Any]) -> str:
    refused = own['refused_starts']
    if not refused['runs']:
        return '0'
    return f'{refused["runs"]} ({refused["lifted"]} lifted, {refused["overturned"]} overturned)'
