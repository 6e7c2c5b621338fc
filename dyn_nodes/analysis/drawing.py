"""Common functions of all drawings, in the project's style (`dyn_nodes.analysis.plots`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dyn_nodes.analysis.plots import LINES, WIDTH
from dyn_nodes.common.arrays import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Lines = Mapping[str, Array]


def panels(rows: int, height: float, columns: int = 1, share: bool = True) -> tuple[Figure, list[Any]]:
    """Return a figure of the project's width (height in inches) and its axes, row by row."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, sharex=share, squeeze=False)
    return figure, list(axes.ravel())


def legend(axes: Any, columns: int = 4) -> None:
    """Place the legend above the panel."""
    axes.legend(loc='lower left', bbox_to_anchor=(0.0, 1.0), ncol=columns, borderaxespad=0.2)


def histories(times: Array, channels: Mapping[str, Lines], columns: int = 1, height: float = 2.0) -> Figure:
    """Return one panel per channel, labelled with its name and unit, with a line over time, s, per quantity."""
    rows = -(-len(channels) // columns)
    figure, axes = panels(rows, height * rows + 0.6, columns)
    for panel, (label, lines) in zip(axes, channels.items()):
        for colour, (name, values) in zip(LINES * 3, lines.items()):
            panel.plot(times, values, color=colour, linewidth=1.0, label=name)
        panel.set_ylabel(label)
        panel.set_xlim(times[0], times[-1])
        if len(lines) > 1:
            widest = len(lines) if columns == 1 else 3
            legend(panel, min(widest, len(lines)))
    for panel in axes[len(channels) :]:
        panel.set_visible(False)
    for panel in axes[-columns:]:
        panel.set_xlabel('time, s')
    return figure


def snapshots(
    times: Sequence[float], polylines: Sequence[Mapping[str, Array]], rows: int, columns: int, span: float
) -> Figure:
    """Return one small plot per time: polylines (k, 2) by name, m, each in a constant colour.

    `span`: width of each plot, m, centred at the mean of the first points.
    """
    figure, axes = panels(rows, WIDTH * rows / columns * 1.12, columns, share=False)
    centre = np.mean(np.vstack(list(polylines[0].values())), axis=0)
    for panel, time, lines in zip(axes, times, polylines):
        for colour, points in zip(LINES, lines.values()):
            panel.plot(points[:, 0], points[:, 1], color=colour, marker='o', markersize=1.8, linewidth=1.4)
        panel.set_aspect('equal')
        panel.set_xlim(centre[0] - span / 2, centre[0] + span / 2)
        panel.set_ylim(centre[1] - span / 2, centre[1] + span / 2)
        panel.set_xticks([])
        panel.set_yticks([])
        panel.set_title(f'{time:g} s', fontsize=8, fontweight='normal', loc='center', pad=2)
    for panel in axes[len(times) :]:
        panel.set_visible(False)
    return figure
