"""Load table of a crane as makers print it: safe payload over radius, a column for each extension of the telescopes."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dyn_nodes.analysis.load_chart import REASONS, ChartSettings, LoadChart, load_chart
from dyn_nodes.analysis.load_chart_output import MARKS, ROUNDED, assumptions, slope_text
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine


@dataclass(frozen=True, eq=False)
class LoadTable:
    """Safe payload all round, at the worst slew angle.

    Attributes:
        charts: one chart for each extension.
        reaches: (r,) m; multiples of the step, and the greatest reach of each chart.
        safe: (r, e) kg; NaN out of reach.
        reason: (r, e) names of the limits; empty out of reach.
    """

    charts: tuple[LoadChart, ...]
    reaches: Array
    safe: Array
    reason: tuple[tuple[str, ...], ...]

    @property
    def extensions(self) -> tuple[float, ...]:
        """Extension of the telescopes in each column, of their travel."""
        return tuple(float(chart.settings.extension or 0.0) for chart in self.charts)


def load_table(machine: Machine, settings: ChartSettings, extensions: Sequence[float]) -> LoadTable:
    """Return the table of a machine on the first slope of the settings; raises as `load_chart`.

    Args:
        machine: with telescopes in its arm.
        settings: settings of all charts.
        extensions: of the telescopes, of their travel.
    """
    charts = tuple(load_chart(machine, replace(settings, extension=share)) for share in extensions)
    reaches = np.unique(np.round(np.concatenate([chart.reaches for chart in charts]), 6))
    safe, reason = np.full((len(reaches), len(charts)), np.nan), [[''] * len(charts) for _ in reaches]
    for column, chart in enumerate(charts):
        for k, payloads in enumerate(chart.safe[0]):
            if np.isfinite(payloads).all():
                row, worst = int(np.argmin(np.abs(reaches - chart.reaches[k]))), int(np.argmin(payloads))
                safe[row, column] = payloads[worst]
                reason[row][column] = REASONS[int(chart.reason[0, k, worst])]
    return LoadTable(charts, reaches, safe, tuple(tuple(row) for row in reason))


def heads(table: LoadTable) -> tuple[str, ...]:
    """Return the heads of the columns."""
    return ('reach, m', *(f'telescope {100.0 * share:g} %' for share in table.extensions))


def rows(table: LoadTable) -> list[list[str]]:
    """Return the cells: reach, and payloads with the letter of their limit, kg, rounded down."""
    result = []
    for reach, payloads, reasons in zip(table.reaches, table.safe, table.reason):
        cells = [
            '-' if np.isnan(value) else f'{ROUNDED * np.floor(value / ROUNDED):.0f} {MARKS.get(reason, "")}'.rstrip()
            for value, reason in zip(payloads, reasons)
        ]
        result.append([f'{reach:.2f}', *cells])
    return result


def title(table: LoadTable) -> str:
    """Return the title: machine, slope, state of the outriggers."""
    chart = table.charts[0]
    state = f', outriggers {chart.settings.outriggers}' if chart.settings.outriggers else ''
    return f'{chart.machine}: safe payload all round, kg, {slope_text(chart, 0)}{state}'


def sentences(table: LoadTable) -> list[str]:
    """Return the assumptions of the table, one sentence each."""
    return list(dict.fromkeys(line for chart in table.charts[-1:] for line in assumptions(chart)))


def as_json(table: LoadTable) -> dict[str, Any]:
    """Return the table as plain numbers, SI units; None out of reach."""
    return {
        'machine': table.charts[0].machine,
        'outriggers': table.charts[0].settings.outriggers,
        'slope': table.charts[0].settings.slopes[0],
        'extensions': list(table.extensions),
        'reaches': table.reaches.tolist(),
        'safe': [[None if np.isnan(value) else float(value) for value in row] for row in table.safe],
        'limited_by': [list(row) for row in table.reason],
        'assumed_values': list(table.charts[0].assumed),
    }


def write_csv(table: LoadTable, path: Path) -> None:
    """Write one line for each reach and extension."""
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(['reach', 'extension', 'safe', 'limited_by'])
        for reach, payloads, reasons in zip(table.reaches, table.safe, table.reason):
            for extension, payload, reason in zip(table.extensions, payloads, reasons):
                if np.isfinite(payload):
                    writer.writerow([f'{reach:.4f}', f'{extension:g}', f'{payload:.2f}', reason])
