"""A run's outcome on the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from dyn_nodes.studies.measures import measure_text
from dyn_nodes.studies.run_outcome import Outcome
from dyn_nodes.studies.summary import verdict


def print_summary(console: Console, outcome: Outcome) -> None:
    """Print verdict, key numbers, and where everything is."""
    summary = outcome.summary
    colour = 'red' if summary['overturned'] else 'green' if summary['recovered'] else 'yellow'
    console.print()
    console.print(verdict(summary), style=f'bold {colour}', markup=False)
    table = Table.grid(padding=(0, 3))
    for name, value in _rows(summary):
        table.add_row(name, value)
    console.print(table)
    console.print()
    places = Table.grid(padding=(0, 3))
    for name, path in (('report', outcome.report_file), ('summary', outcome.summary_file), ('bag', summary['bag'])):
        places.add_row(name, str(path))
    console.print(places, soft_wrap=True)


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    if summary['max_base_rotation_deg'] is not None:
        peak = f'{summary["max_base_rotation_deg"]:.2f} deg at {summary["max_base_rotation_time_s"]:.2f} s'
        rows.append(('peak base rotation', peak))
    if summary['lift_off_time_s'] is not None:
        rows.append(('first wheel lifts', f'{summary["lift_off_time_s"]:.2f} s'))
    if summary['touch_down_time_s'] is not None:
        rows.append(('all wheels down from', f'{summary["touch_down_time_s"]:.2f} s'))
    loads = summary['final_wheel_loads_n']
    if loads:
        shown = ', '.join(f'{wheel.replace("_", " ")} {1e-3 * load:.1f}' for wheel, load in loads.items())
        rows.append(('wheel loads at the end, kN', shown))
    if summary['final_wheel_load_sum_error'] is not None:
        total = f'{1e-3 * summary["final_wheel_load_sum_n"]:.2f} kN, {summary["final_wheel_load_sum_error"]:+.4%}'
        rows.append(('their sum against the weight', total))
    for name, least in summary['min_margins'].items():
        if least['value'] is not None:
            text = measure_text(name)
            value = f'{text.scale * least["value"]:.3g} {text.unit}'.strip()
            edge = f' ({least["edge"].replace("_", " ")})' if least['edge'] else ''
            rows.append((f'least {text.label}', f'{value} at {least["time_s"]:.2f} s{edge}'))
    if summary['speed']:
        rows.append(('speed', f'{summary["speed"]:.1f} times real time ({summary["wall_time_s"]:.1f} s)'))
    rows.append(('recorded', f'{sum(summary["messages"].values()):,} messages on {len(summary["messages"])} topics'))
    return rows
