"""`dyn-nodes loadchart --supports`: computes the load of every support over the slew angle."""

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
"""Greatest number of supports in a table; --json and --out contain all."""


def print_support_loads(machine: Machine, args: argparse.Namespace) -> int:
    """Compute, print and write the loads; return 0, or 1 if the machine tips at a slew angle."""
    from dyn_nodes.analysis.outriggers import state_named
    from dyn_nodes.analysis.support_loads import support_loads
    from dyn_nodes.model.assumptions import lines, plain, posture_of, slope_of

    posture = dict(state_named(machine, args.outriggers)[1]) if args.outriggers else {}
    posture |= {name: value for entry in args.posture for name, value in entry.items()}
    try:
        result = support_loads(machine, args.supports, math.radians(args.swing_step), posture)
    except ValueError as error:
        raise CommandError(str(error)) from None
    assumed = (
        *posture_of(machine, '--posture', {result.swing_joint, *posture}),
        *slope_of(machine, 'slope with --supports'),
    )
    pressure = pad_pressures(machine, result, args.pad_area) if args.pad_area else {}
    if args.json:
        tables.print_json({**_as_json(result), 'pad_pressure': pressure, 'assumed': plain(assumed)}, indent=None)
    else:
        _print(machine.name, result)
        for name, value in pressure.items():
            text = f'{name}: greatest pressure under the pad {1e-3 * value:.0f} kPa, load over {args.pad_area:g} m2.'
            tables.print_sentence(tables.console(), text)
        for line in lines(assumed):
            tables.print_sentence(tables.console(), line)
    if args.out:
        _write(result, args.out)
    return 1 if np.isnan(result.loads).any() else 0


def pad_pressures(machine: Machine, result: SupportLoads, area: float) -> dict[str, float]:
    """Return the greatest pressure under each pad of an outrigger, by name, Pa; NaN if the machine tips.

    Args:
        machine: the machine.
        result: loads of its supports.
        area: of a pad, m2.

    Raises:
        CommandError: the machine has no outriggers.
    """
    from dyn_nodes.analysis.outriggers import outriggers_of

    pads = outriggers_of(machine).pads
    if not pads:
        raise CommandError(f'{machine.name}: --pad-area: expected outriggers, found none')
    columns = {name: k for k, name in enumerate(result.supports)}
    return {name: float(result.loads[:, columns[name]].max()) / area for name in pads}


def _as_json(result: SupportLoads) -> dict[str, object]:
    return {
        'payload': result.payload,
        'swing_joint': result.swing_joint,
        'swings': result.swings,
        'supports': list(result.supports),
        'loads': result.loads,
    }


def _print(machine: str, result: SupportLoads) -> None:
    console = tables.console()
    title = f'{machine}: load of the supports, kN, payload {result.payload:g} kg'
    shown = range(min(len(result.supports), WIDEST))
    rows = []
    for swing, row in zip(np.degrees(result.swings), result.loads):
        tips = np.isnan(row).any()
        cells = ['tips' if tips else f'{row[k] / 1000.0:.1f}' for k in shown]
        rows.append([f'{swing:.0f}', *cells])
    standing = result.loads[~np.isnan(result.loads).any(axis=1)]
    if len(standing):
        rows.append(['greatest', *(f'{standing[:, k].max() / 1000.0:.1f}' for k in shown)])
        rows.append(['least', *(f'{standing[:, k].min() / 1000.0:.1f}' for k in shown)])
    tables.show(rows, (f'{result.swing_joint}, deg', *result.supports[:WIDEST]), title=title)
    if len(result.supports) > WIDEST:
        tables.print_sentence(
            console, f'{len(result.supports) - WIDEST} further supports: see --json or --out', style='dim'
        )
    tables.print_sentence(
        console, 'At rest on firm ground, springs and tyres yielding; no dynamic factor.', style='dim'
    )


def _write(result: SupportLoads, out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        path = out / 'support_loads.csv'
        with path.open('w', newline='', encoding='utf-8') as file:
            writer = csv.writer(file)
            writer.writerow(['swing_deg', *(f'{name}_N' for name in result.supports)])
            for swing, row in zip(np.degrees(result.swings), result.loads):
                writer.writerow([f'{swing:.3f}', *(f'{load:.1f}' for load in row)])
    except OSError as error:
        raise CommandError(f'--out {out}: {error.strerror}') from None
    print(f'written: {path}', file=sys.stderr)
