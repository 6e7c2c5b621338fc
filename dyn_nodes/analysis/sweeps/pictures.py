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
"""Of Okabe and Ito's palette, safe for the usual kinds of colour blindness."""
DEGREES = 180.0 / np.pi


def label(results: Results, name: str) -> str:
    """Return a factor with its unit as an axis shows it: angles in degrees."""
    unit = results.units.get(name, '')
    return f'{name}, {"degrees" if unit == "rad" else unit}' if unit else name


def shown(results: Results, name: str, values: Array) -> Array:
    """Return values of a factor as an axis shows them."""
    return values * DEGREES if results.units.get(name) == 'rad' else values


def _save(figure: Figure, path: Path) -> None:
    with replacing(path) as file:
        figure.savefig(file, dpi=120, format='png')


def draw_map(results: Results, found: Map, curves: list[Array], limit: float | None, path: Path) -> None:
    """Draw the mean of an outcome over two factors, and where it is the limit."""
    figure, axes = _figure(results, found.outcome, 5.2)
    flag = results.outcomes[found.outcome] == 'flag'
    edges = shown(results, found.across, found.x_edges), shown(results, found.up, found.y_edges)
    scale = {'vmin': 0.0, 'vmax': 1.0} if flag else {}
    mesh = axes.pcolormesh(*edges, np.ma.masked_invalid(found.means), cmap='cividis', **scale)
    what = 'share of the runs' if flag else f'mean of {found.outcome}'
    figure.colorbar(mesh, ax=axes, label=what)
    for number, curve in enumerate(curves):
        x, y = shown(results, found.across, curve[:, 0]), shown(results, found.up, curve[:, 1])
        axes.plot(x, y, color='white', linewidth=4.0)
        axes.plot(x, y, color=HIGH, linewidth=2.0, label=f'{what} is {limit:g}' if number == 0 else None)
    axes.set(xlabel=label(results, found.across), ylabel=label(results, found.up))
    if curves:
        _legend(axes, 5.2)
    _save(figure, path)


def draw_tornado(results: Results, outcome: str, found: Mapping[str, Swing], path: Path) -> None:
    """Draw the mean of an outcome at both ends of every factor against its mean over all runs."""
    height = 1.8 + 0.45 * max(1, len(found))
    figure, axes = _figure(results, outcome, height)
    values = results.column(outcome)
    middle = float(np.nanmean(np.where(np.isfinite(values), values, np.nan))) if np.isfinite(values).any() else 0.0
    places = np.arange(len(found))[::-1]
    for which, colour, text in ((0, LOW, 'least values of the factor'), (1, HIGH, 'greatest values of the factor')):
        ends = np.array([own[which] for own in found.values()])
        bounds = np.array([own[2 + which] for own in found.values()]).reshape(-1, 2)
        errors = np.nan_to_num(np.abs(bounds.T - ends), posinf=0.0).clip(0.0)
        axes.barh(places, ends - middle, 0.62, middle, color=colour, label=text)
        axes.errorbar(ends, places + (0.12 if which else -0.12), xerr=errors, fmt='none', ecolor=LINE, capsize=3.0)
    axes.axvline(middle, color=LINE, linewidth=0.9)
    axes.set_yticks(places, list(found))
    what = 'share of the runs' if results.outcomes[outcome] == 'flag' else f'mean of {outcome}'
    axes.set(xlabel=f'{what}, with intervals of 95 %')
    _legend(axes, height)
    _save(figure, path)


def draw_indices(results: Results, outcome: str, found: Mapping[str, Index], path: Path) -> None:
    """Draw first-order and total Sobol indices of every factor."""
    height = 1.9 + 0.55 * len(found)
    figure, axes = _figure(results, outcome, height)
    places = np.arange(len(found))[::-1]
    for which, colour, text in ((0, LOW, 'first order: the factor alone'), (1, HIGH, 'total: with its interactions')):
        shares = [own[which] for own in found.values()]
        errors = [own[2 + which] for own in found.values()]
        axes.barh(places + (-0.18 if which else 0.18), shares, 0.34, color=colour, label=text)
        axes.errorbar(shares, places + (-0.18 if which else 0.18), xerr=errors, fmt='none', ecolor=LINE, capsize=3.0)
    axes.axvline(0.0, color=LINE, linewidth=0.9)
    axes.set_yticks(places, list(found))
    axes.set(xlabel=f'Sobol index: share of the variance of {outcome}, with intervals of 95 %')
    _legend(axes, height)
    _save(figure, path)


def draw_trends(results: Results, outcome: str, found: Sequence[Trend], path: Path) -> None:
    """Draw in which share of the points an outcome is higher, and in which it is lower, with another value."""
    height = 1.9 + 0.36 * len(found)
    figure, axes = _figure(results, outcome, height)
    places = np.arange(len(found))[::-1]
    higher, lower = (np.array([getattr(own, name) for own in found]) for name in ('higher', 'lower'))
    bounds = np.array([own.higher_interval for own in found]).reshape(-1, 2)
    axes.barh(places, higher, 0.62, color=HIGH, label=f'{outcome} higher')
    axes.barh(places, 1.0 - higher - lower, 0.62, higher, color='#dddddd', label='the same')
    axes.barh(places, lower, 0.62, 1.0 - lower, color=LOW, label='lower')
    axes.errorbar(higher, places, xerr=np.abs(bounds.T - higher), fmt='none', ecolor=LINE, capsize=3.0)
    axes.axvline(0.5, color=LINE, linewidth=0.9, linestyle=':')
    axes.set_yticks(places, [f'{own.factor} {own.first:g} to {own.value:g}' for own in found])
    axes.set(xlim=(0.0, 1.0), xlabel=f'share of {max(own.points for own in found)} points, with intervals of 95 %')
    _legend(axes, height, 3)
    _save(figure, path)


def _figure(results: Results, outcome: str, height: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(8.0, height), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set_title(f'{results.note["name"]}: {outcome}, {results.table.num_rows} runs', loc='left', fontsize=11)
    return figure, axes


def _legend(axes: Any, height: float, columns: int = 2) -> None:
    """Put the legend below the label of the axis, of a figure of this height in inches."""
    axes.legend(loc='upper center', bbox_to_anchor=(0.5, -0.55 / (height - 1.2)), ncol=columns, frameon=False)
