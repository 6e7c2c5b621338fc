"""Figure of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dyn_nodes.analysis.drawing import histories
from dyn_nodes.analysis.plots import RESOLUTION, style
from dyn_nodes.measures import MEASURES

if TYPE_CHECKING:
    from dyn_nodes.library.loaded import Sampled

SHOWN = ('static', 'zmp')
"""Measures in the figure."""


def plot_run(run: Sampled, path: str | Path | None) -> Figure:
    """Return a figure of joints, tilt, margins and inputs over time; write it to `path` unless None."""
    machine = run.machine
    channels: dict[str, dict[str, NDArray[np.float64]]] = {}
    kinds = {joint.name: joint.type == 'prismatic' for joint in machine.data.movable_joints}
    for label, prismatic in (('joints, rad', False), ('joints, m', True)):
        lines = {name: run[name] for name in machine.joints if kinds[name] is prismatic}
        channels |= {label: lines} if lines else {}
    if machine.data.base.attachment != 'fixed':
        channels['tilt of the base, °'] = {'tilt': np.degrees(run.tilt)}
    if run.stands:
        margins = run.margins(SHOWN)
        for name, margin in margins.items():
            measure = MEASURES[name]
            unit = f', {measure.display_unit}' if measure.display_unit else ''
            channels[f'{measure.label}{unit}'] = {name: measure.scale * margin.value}
    inputs = {name: run[name] for name in run.raw.system.input_names}
    for label, ending in (('voltage, V', '/voltage'), ('effort, N m or N', '/effort')):
        lines = {name.removesuffix(ending): values for name, values in inputs.items() if name.endswith(ending)}
        channels |= {label: lines} if lines else {}
    with style():
        figure = histories(run.times, channels, height=1.7)
        if path is not None:
            figure.savefig(path, dpi=RESOLUTION)
    return figure


def plot_columns(run: Sampled, names: list[str], path: str | Path | None, ax: Any) -> Any:
    """Draw states, inputs or outputs over time; return the axes, or without axes a new figure.

    Args:
        run: sampled.
        names: of the columns.
        path: file of the figure; None: no file.
        ax: axes to draw into; None: of a new figure.
    """
    axes: Any = Figure(layout='constrained').subplots() if ax is None else ax
    for name in names:
        axes.plot(run.times, run[name], label=name)
    axes.set_xlabel('time, s')
    axes.legend()
    if path is not None:
        axes.figure.savefig(path, dpi=RESOLUTION)
    return axes.figure if ax is None else ax
