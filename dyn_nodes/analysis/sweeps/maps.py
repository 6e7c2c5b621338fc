"""The mean of an outcome over two factors, and the curve at which it crosses a limit."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dyn_nodes.analysis.sweeps.report import Results
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.textfile import write_whole

CELLS = 60
"""Number of cells of a map along a factor with more levels than this."""
SMOOTHING = 0.3
"""Factor of the standard deviation of a mean's weights, in cells: times the cells along one side and runs^(-1/6)."""
FAINT = 0.02
"""Part of the mean weight of a cell below which the cell has too few runs for a mean."""


class Map(NamedTuple):
    """Means of an outcome.

    Attributes:
        across, up, outcome: names of the factors and of the outcome.
        x, y: (m,), (n,) centres of the cells.
        x_edges, y_edges: (m + 1,), (n + 1,) edges of the cells.
        means: (n, m); NaN in cells with too few runs.
    """

    across: str
    up: str
    outcome: str
    x: Array
    y: Array
    x_edges: Array
    y_edges: Array
    means: Array


def map_of(results: Results, outcome: str, across: str, up: str) -> Map:
    """Return the map of an outcome over two factors.

    For factors with levels, the means are over the runs at each level. For all others, they are weighted by a normal
    distribution whose width decreases with the number of runs.
    """
    from scipy.ndimage import gaussian_filter1d

    columns = results.column(across), results.column(up)
    z = results.column(outcome)
    good = np.isfinite(z)
    edges = [_edges(column) for column in columns]
    x, y = (column[good] for column in columns)
    weights = np.histogram2d(x, y, edges)[0]
    sums = np.histogram2d(x, y, edges, weights=z[good])[0]
    for axis, column in enumerate(columns):
        if len(np.unique(column)) > CELLS:
            width = SMOOTHING * CELLS * max(1, len(z)) ** (-1.0 / 6.0)
            weights = gaussian_filter1d(weights, width, axis, mode='constant')
            sums = gaussian_filter1d(sums, width, axis, mode='constant')
    with np.errstate(invalid='ignore', divide='ignore'):
        means = np.where(weights > FAINT * weights.mean(), sums / weights, np.nan)
    middles = [_middles(column, edge) for column, edge in zip(columns, edges)]
    return Map(across, up, outcome, middles[0], middles[1], edges[0], edges[1], means.T)


def _middles(values: Array, edges: Array) -> Array:
    levels = np.unique(values)
    return levels if len(levels) == len(edges) - 1 else 0.5 * (edges[1:] + edges[:-1])


def _edges(values: Array) -> Array:
    levels = np.unique(values)
    if len(levels) > CELLS:
        return np.linspace(levels[0], levels[-1], CELLS + 1)
    if len(levels) == 1:
        return np.array([levels[0] - 0.5, levels[0] + 0.5])
    inner = 0.5 * (levels[1:] + levels[:-1])
    return np.concatenate([[2.0 * levels[0] - inner[0]], inner, [2.0 * levels[-1] - inner[-1]]])


def limit_of(results: Results, outcome: str) -> float | None:
    """Return the value of a map's boundary: half of the runs for a flag, else None."""
    return 0.5 if results.outcomes[outcome] == 'flag' else None


def boundary(surface: Map, limit: float) -> list[Array]:
    """Return the curves (k, 2) of the two factors along which the mean equals the limit, by linear interpolation."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    means = np.ma.masked_invalid(surface.means)
    if min(surface.means.shape) < 2 or not means.count() or not float(means.min()) < limit < float(means.max()):
        return []
    figure = Figure()
    FigureCanvasAgg(figure)
    drawn = figure.subplots().contour(surface.x, surface.y, means, [limit])
    return [np.asarray(curve) for curve in drawn.allsegs[0] if len(curve) > 1]


def write_boundary(surface: Map, curves: list[Array], path: Path) -> None:
    """Write the points of curves as CSV, each curve with its number. Raise OSError if it cannot be written."""
    file = io.StringIO(newline='')
    writer = csv.writer(file)
    writer.writerow(['curve', surface.across, surface.up])
    for number, curve in enumerate(curves):
        writer.writerows([number, repr(float(x)), repr(float(y))] for x, y in curve)
    write_whole(path, file.getvalue().encode())
