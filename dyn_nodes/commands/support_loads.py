"""`dyn-nodes loadchart --supports`: the load of every support over the slew angle."""

from __future__ import annotations

import argparse
import csv
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dyn_nodes.commands import CommandError, tables

if TYPE_CHECKING:
    from dyn_nodes.analysis.support_loads import SupportLoads
    from dyn_nodes.model.machine import Machine

WIDEST = 8
"""Columns of supports that a table shows; more are in --json and --out."""


def print_support_loads(machine: Machine, args: argparse.Namespace) -> int:
    """Compute, print and write the loads; return 0, or 1 where the machine does not stand at some slew angle."""
    from dyn_nodes.analysis.support_loads import support_loads
    from dyn_nodes.model.assumptions import lines, plain, posture_of, slope_of

    posture = {name: value for own in args.posture for name, value in own.items()}
    try:
        found = support_loads(machine, args.supports, math.radians(args.swing_step), posture)
    except ValueError as error:
        raise CommandError(str(error)) from None
    assumed = (
        *posture_of(machine, '--posture', {found.swing_joint, *posture}),
        *slope_of(machine, 'slope with --supports'),
    )
    if args.json:
        tables.print_json({**_as_json(found), 'assumed': plain(assumed)}, indent=None)
    else:
        _print(machine.name, found)
        for line in lines(assumed):
            tables.say(tables.console(), line)
    if args.out:
        _write(found, args.out)
    return 1 if np.isnan(found.loads).any() else 0


def _as_json(found: SupportLoads) -> dict[str, object]:
    return {
        'payload': found.payload,
        'swing_joint': found.swing_joint,
        'swings': found.swings,
        'supports': list(found.supports),
        'loads': found.loads,
    }


def _print(machine: str, found: SupportLoads) -> None:
    console = tables.console()
    title = f'{machine}: load of the supports, kN, payload {found.payload:g} kg'
    shown = range(min(len(found.supports), WIDEST))
    rows = []
    for swing, row in zip(np.degrees(found.swings), found.loads):
        tips = np.isnan(row).any()
        cells = ['tips' if tips else f'{row[k] / 1000.0:.1f}' for k in shown]
        rows.append([f'{swing:.0f}', *cells])
    standing = found.loads[~np.isnan(found.loads).any(axis=1)]
    if len(standing):
        rows.append(['greatest', *(f'{standing[:, k].max() / 1000.0:.1f}' for k in shown)])
        rows.append(['least', *(f'{standing[:, k].min() / 1000.0:.1f}' for k in shown)])
    tables.show(rows, (f'{found.swing_joint}, deg', *found.supports[:WIDEST]), title=title)
    if len(found.supports) > WIDEST:
        tables.say(console, f'{len(found.supports) - WIDEST} further supports: see --json or --out', style='dim')
    tables.say(console, 'At rest on firm ground, springs and tyres yielding; no dynamic factor.', style='dim')


def _write(found: SupportLoads, out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        path = out / 'support_loads.csv'
        with path.open('w', newline='', encoding='utf-8') as file:
            writer = csv.writer(file)
            writer.writerow(['swing_deg', *(f'{name}_N' for name in found.supports)])
            for swing, row in zip(np.degrees(found.swings), found.loads):
                writer.writerow([f'{swing:.3f}', *(f'{load:.1f}' for load in row)])
    except OSError as error:
        raise CommandError(f'--out {out}: {error.strerror}') from None
    print(f'written: {path}', file=sys.stderr)
