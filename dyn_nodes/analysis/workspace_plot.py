"""Plot of the workspace of a hand from the side and from above, coloured by condition number and stiffness."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from dyn_nodes.analysis.plots import RESOLUTION, style
from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.workspace import Workspace

THINNEST = 0.4
"""Least height of a panel over its width."""
SMALLEST = 0.1
"""Least width of a panel, m."""
CELLS = 60
"""Cells along the greater side of a panel."""
WORST_SHOWN = 1000.0
"""Condition numbers above this have one colour."""


def workspace_figure(space: Workspace, title: str) -> Figure:
    """Return the plot; a cell shows the best posture in it."""
    stiff = space.vertical_stiffness
    shown = np.isfinite(stiff)
    panels: list[tuple[str, tuple[Array, Array], tuple[str, str], Array, str]] = [
        (
            'from the side',
            (space.reach, space.positions[:, 2]),
            ('reach, m', 'height, m'),
            space.condition,
            'condition',
        ),
        ('from above', (space.positions[:, 0], space.positions[:, 1]), ('x, m', 'y, m'), space.condition, 'condition'),
    ]
    if shown.any():
        side = (space.reach[shown], space.positions[shown, 2])
        panels.append(
            ('vertical stiffness', side, ('reach, m', 'height, m'), 1e-6 * stiff[shown], 'vertical stiffness, MN/m')
        )
    shapes = [float(np.clip(np.ptp(at[0]) / max(float(np.ptp(at[1])), 1e-9), 0.4, 2.5)) for _, at, *_ in panels]
    with style():
        figure = Figure(figsize=(3.0 * sum(shapes) + 1.6 * len(panels), 4.2), dpi=RESOLUTION, layout='constrained')
        FigureCanvasAgg(figure)
        widths = [3.0 * shape + 1.6 for shape in shapes]
        axes = figure.subplots(1, len(panels), squeeze=False, gridspec_kw={'width_ratios': widths})[0]
        for panel_axes, panel in zip(axes, panels):
            _panel(figure, panel_axes, *panel)
        figure.suptitle(title)
    return figure


def _panel(
    figure: Figure, axes: Any, name: str, at: tuple[Array, Array], labels: tuple[str, str], values: Array, legend: str
) -> None:
    best, colours = (np.min, 'viridis_r') if legend == 'condition' else (np.max, 'viridis')
    if legend == 'condition':
        values = np.minimum(values, WORST_SHOWN)
    spans = [max(float(np.ptp(part)), 1e-9) for part in at]
    grid = tuple(max(2, round(CELLS * span / max(spans))) for span in spans)
    least, greatest = float(values.min()), float(values.max())
    norm = LogNorm(least, max(greatest, least * 1.01)) if least > 0.0 else None
    cells = axes.hexbin(*at, C=values, gridsize=grid, reduce_C_function=best, cmap=colours, norm=norm, linewidths=0.1)
    figure.colorbar(cells, ax=axes, label=legend, shrink=0.9)
    axes.set_aspect('equal')
    for part, span, limit in zip(at, spans, (axes.set_xlim, axes.set_ylim)):
        if span < THINNEST * max(spans):  # a line has no area: a planar motion seen edge-on
            middle, half = 0.5 * float(part.min() + part.max()), 0.5 * THINNEST * max(*spans, SMALLEST)
            limit(middle - half, middle + half)
    axes.set_title(name)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
