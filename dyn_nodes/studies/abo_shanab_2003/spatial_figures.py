"""Figures of runs of the 3-D machine, in the style of the planar figures (`figures`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dyn_nodes.studies.abo_shanab_2003 import figures
from dyn_nodes.studies.abo_shanab_2003.spatial_runs import SpatialRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HIGHEST = 10.0  # degrees; least upper limit of the tilt axis if a machine overturns
LABELS = {
    'tilt': 'rotation of the base, °',
    'swing_joint': 'swing angle, °',
    'boom_joint': 'boom, °',
    'stick_joint': 'stick, °',
}
Runs = Mapping[str, SpatialRun]


def values_of(run: SpatialRun, quantity: str) -> np.ndarray:
    """Return the tilt of the base or the angle of a joint, degrees."""
    return run.tilt if quantity == 'tilt' else run.joints[quantity]


def histories(runs: Runs, quantities: Sequence[str] = ('tilt',), columns: int = 4, start: float = 0.0) -> Figure:
    """Return one panel per quantity with its history in several runs, from `start` on, s."""
    figure, axes = figures.panels(len(quantities), 3.6 if len(quantities) == 1 else 1.2 + 1.7 * len(quantities))
    colours = figures.shades(len(runs))
    for panel, quantity in zip(axes, quantities):
        for (title, run), colour in zip(runs.items(), colours):
            label = title + (' (overturns)' if run.overturned else '')
            panel.plot(run.times, values_of(run, quantity), color=colour, label=label)
        panel.set_ylabel(LABELS[quantity])
        panel.set_xlim(start, max(float(run.times[-1]) for run in runs.values()))
        if quantity == 'tilt':
            _limit_tilt(panel, runs.values())
    figures.legend(axes[0], columns)
    axes[-1].set_xlabel('time, s')
    return figure


def _limit_tilt(panel: Any, runs: Any) -> None:
    over = any(run.overturned for run in runs)
    standing = max((run.peak for run in runs if not run.overturned), default=0.0)
    panel.set_ylim(0.0, max(HIGHEST, 1.6 * standing) if over else 1.08 * standing)


def motion(run: SpatialRun, spans: Mapping[str, tuple[float, float]]) -> Figure:
    """Return boom, stick and tilt of one run; `spans`: shaded and labelled time spans of the valve commands, s."""
    figure, axes = figures.panels(3, 5.6)
    for panel, quantity, colour in zip(
        axes, ('boom_joint', 'stick_joint', 'tilt'), (figures.BLUE, figures.ORANGE, figures.GREEN)
    ):
        panel.plot(run.times, values_of(run, quantity), color=colour)
        panel.set_ylabel(LABELS[quantity])
        panel.set_xlim(0.0, float(run.times[-1]))
        for (name, (start, end)), shade in zip(spans.items(), (figures.SKY, figures.AMBER)):
            panel.axvspan(start, end, color=shade, alpha=0.13, linewidth=0, zorder=0)
            if panel is axes[0]:
                panel.text(
                    0.5 * (start + end),
                    1.02,
                    name,
                    transform=panel.get_xaxis_transform(),
                    ha='center',
                    va='bottom',
                    fontsize=8.5,
                    color='#555555',
                )
    off = np.min(list(run.loads.values()), axis=0) <= 0.0
    axes[-1].fill_between(
        run.times,
        0.0,
        0.03,
        where=off,
        transform=axes[-1].get_xaxis_transform(),
        color=figures.ORANGE,
        linewidth=0,
        zorder=3,
        label='a wheel in the air',
    )
    axes[-1].set_ylim(bottom=-0.04 * float(run.tilt.max()))
    axes[-1].legend(loc='upper left')
    axes[-1].set_xlabel('time, s')
    return figure
