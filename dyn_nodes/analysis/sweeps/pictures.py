"""Pictures of a sweep: the map of an outcome with its boundary, the tornado, Sobol indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from dyn_nodes.analysis.sweeps.maps import Map
from dyn_nodes.analysis.sweeps.report import Results
from dyn_nodes.analysis.sweeps.sensitivity import Index, Swing
from dyn_nodes.analysis.sweeps.trends import Trend
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.textfile import replacing

MAP, TORNADO, INDICES, TRENDS = 'map.png', 'tornado.png', 'indices.png', 'trends.png'
LOW, HIGH, LINE = '#56B4E9', '#D55E00', '#222222'
"""Colours of Okabe and Ito's palette, safe for the usual kinds of colour blindness."""
DEGREES = 180.0 / np.pi


def label(results: Results, name: str) -> str:
    """Return the label of a factor's axis with its unit; angles are in degrees."""
    unit = results.units.get(name, '')
    return f'{name}, {"degrees" if unit == "rad" else unit}' if unit else name


def shown(results: Results, name: str, values: Array) -> Array:
    """Return values of a factor in the unit of its axis."""
    return values * DEGREES if results.units.get(name) == 'rad' else values


def _save(figure: Figure, path: Path) -> None:
    with replacing(path) as file:
        figure.savefig(file, dpi=120, format='png')


def draw_map(results: Results, surface: Map, curves: list[Array], limit: float | None, path: Path) -> None:
    """Draw the mean of an outcome over two factorsand the curves at the limit."""
    figure, axes = _figure(results, surface.outcome, 5.2)
    flag = results.outcomes[surface.outcome] == 'flag'
    edges = shown(results, surface.across, surface.x_edges), shown(results, surface.up, surface.y_edges)
    scale = {'vmin': 0.0, 'vmax': 1.0} if flag else {}
    mesh = axes.pcolormesh(*edges, np.ma.masked_invalid(surface.means), cmap='cividis', **scale)
    quantity = 'share of the runs' if flag else f'mean of {surface.outcome}'
    figure.colorbar(mesh, ax=axes, label=quantity)
    for number, curve in enumerate(curves):
        x, y = shown(results, surface.across, curve[:, 0]), shown(results, surface.up, curve[:, 1])
        axes.plot(x, y, color='white', linewidth=4.0)
        axes.plot(x, y, color=HIGH, linewidth=2.0, label=f'{quantity} is {limit:g}' if number == 0 else None)
    axes.set(xlabel=label(results, surface.across), ylabel=label(results, surface.up))
    if curves:
        _legend(axes, 5.2)
    _save(figure, path)


def draw_tornado(results: Results, outcome: str, swings: Mapping[str, Swing], path: Path) -> None:
    """Draw the mean of an outcome at both ends of every factor against its mean over all runs."""
    height = 1.8 + 0.45 * max(1, len(swings))
    figure, axes = _figure(results, outcome, height)
    values = results.column(outcome)
    middle = float(np.nanmean(np.where(np.isfinite(values), values, np.nan))) if np.isfinite(values).any() else 0.0
    rows = np.arange(len(swings))[::-1]
    for k, colour, text in ((0, LOW, 'least values of the factor'), (1, HIGH, 'greatest values of the factor')):
        ends = np.array([swing[k] for swing in swings.values()])
        bounds = np.array([swing[2 + k] for swing in swings.values()]).reshape(-1, 2)
        errors = np.nan_to_num(np.abs(bounds.T - ends), posinf=0.0).clip(0.0)
        axes.barh(rows, ends - middle, 0.62, middle, color=colour, label=text)
        axes.errorbar(ends, rows + (0.12 if k else -0.12), xerr=errors, fmt='none', ecolor=LINE, capsize=3.0)
    axes.axvline(middle, color=LINE, linewidth=0.9)
    axes.set_yticks(rows, list(swings))
    quantity = 'share of the runs' if results.outcomes[outcome] == 'flag' else f'mean of {outcome}'
    axes.set(xlabel=f'{quantity}, with intervals of 95 %')
    _legend(axes, height)
    _save(figure, path)


def draw_indices(results: Results, outcome: str, indices: Mapping[str, Index], path: Path) -> None:
    """Draw first-order and total Sobol indices of every factor."""
    height = 1.9 + 0.55 * len(indices)
    figure, axes = _figure(results, outcome, height)
    rows = np.arange(len(indices))[::-1]
    for k, colour, text in ((0, LOW, 'first order: the factor alone'), (1, HIGH, 'total: with its interactions')):
        shares = [index[k] for index in indices.values()]
        errors = [index[2 + k] for index in indices.values()]
        axes.barh(rows + (-0.18 if k else 0.18), shares, 0.34, color=colour, label=text)
        axes.errorbar(shares, rows + (-0.18 if k else 0.18), xerr=errors, fmt='none', ecolor=LINE, capsize=3.0)
    axes.axvline(0.0, color=LINE, linewidth=0.9)
    axes.set_yticks(rows, list(indices))
    axes.set(xlabel=f'Sobol index: share of the variance of {outcome}, with intervals of 95 %')
    _legend(axes, height)
    _save(figure, path)


def draw_trends(results: Results, outcome: str, trends: Sequence[Trend], path: Path) -> None:
    """Draw the shares of points at which another value of a factor gives a higher and a lower outcome."""
    height = 1.9 + 0.36 * len(trends)
    figure, axes = _figure(results, outcome, height)
    rows = np.arange(len(trends))[::-1]
    higher, lower = (np.array([getattr(trend, name) for trend in trends]) for name in ('higher', 'lower'))
    bounds = np.array([trend.higher_interval for trend in trends]).reshape(-1, 2)
    axes.barh(rows, higher, 0.62, color=HIGH, label=f'{outcome} higher')
    axes.barh(rows, 1.0 - higher - lower, 0.62, higher, color='#dddddd', label='the same')
    axes.barh(rows, lower, 0.62, 1.0 - lower, color=LOW, label='lower')
    axes.errorbar(higher, rows, xerr=np.abs(bounds.T - higher), fmt='none', ecolor=LINE, capsize=3.0)
    axes.axvline(0.5, color=LINE, linewidth=0.9, linestyle=':')
    axes.set_yticks(rows, [f'{trend.factor} {trend.first:g} to {trend.value:g}' for trend in trends])
    axes.set(xlim=(0.0, 1.0), xlabel=f'share of {max(trend.points for trend in trends)} points, with intervals of 95 %')
    _legend(axes, height, 3)
    _save(figure, path)


def _figure(results: Results, outcome: str, height: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(8.0, height), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set_title(f'{results.note["name"]}: {outcome}, {results.table.num_rows} runs', loc='left', fontsize=11)
    return figure, axes


def _legend(axes: Any, height: float, columns: int = 2) -> None:
    """Place the legend below the label of the axis, for a figure of this height in inches."""
    axes.legend(loc='upper center', bbox_to_anchor=(0.5, -0.55 / (height - 1.2)), ncol=columns, frameon=False)
