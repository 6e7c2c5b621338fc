"""Prints the outcome of a run."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from dyn_nodes.analysis.run_outcome import Outcome
from dyn_nodes.analysis.summary import tightest_wheel, verdict
from dyn_nodes.common.printing import printable
from dyn_nodes.measures import measure_of
from dyn_nodes.model.assumptions import lines


def print_summary(console: Console, outcome: Outcome) -> None:
    """Print verdict, key numbers, and paths of the results."""
    summary = outcome.summary
    console.print()
    console.print(verdict(summary), style=f'bold {_colour(summary)}', markup=False, soft_wrap=True)
    _print_aligned(console, _rows(summary))
    console.print()
    files = [('report', outcome.report_file), ('summary', outcome.summary_file), ('bag', summary['bag'])]
    _print_aligned(console, [(name, str(path)) for name, path in files])


def _colour(summary: dict[str, Any]) -> str:
    if summary.get('failure') or summary['overturned']:
        return 'red'
    return 'green' if summary['recovered'] or summary['lift_off_time_s'] is None else 'yellow'


def _print_aligned(console: Console, rows: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        console.print(printable(f'{name:<{width}}   {value}'), markup=False, soft_wrap=True)


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
    if summary['final_wheel_load_sum_error'] is not None and not summary['overturned']:
        total = f'{1e-3 * summary["final_wheel_load_sum_n"]:.2f} kN, {summary["final_wheel_load_sum_error"]:+.4%}'
        rows.append(('their sum against the weight', total))
    for name, least in summary['min_margins'].items():
        if least['value'] is not None:
            text = measure_of(name)
            value = text.display(least['value'])
            word = text.at_zero if text.is_zero(least['value']) else least['band']
            edge = f' ({least["edge"].replace("_", " ")})' if least['edge'] else ''
            rows.append(
                (
                    f'least {text.label}',
                    f'{value}, {word}, at {least["time_s"]:.2f} s{edge}',
                )
            )
    tightest = tightest_wheel(summary['max_friction_use'])
    if tightest is not None:
        use = summary['max_friction_use'][tightest]
        worst = f'{use["value"]:.2f} at {use["time_s"]:.2f} s ({tightest.replace("_", " ")})'
        rows.append(('greatest friction use', worst))
    if summary['speed']:
        rows.append(('speed', f'{summary["speed"]:.1f} times real time ({summary["wall_time_s"]:.1f} s)'))
    rows += [('assumed', line.removeprefix('assumed: ')) for line in lines(summary['assumed'])]
    rows.append(('recorded', f'{sum(summary["messages"].values()):,} messages on {len(summary["messages"])} topics'))
    return rows
