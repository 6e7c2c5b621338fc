"""Plot of the ground reactions along a planned motion."""

from __future__ import annotations

import numpy as np

from dyn_nodes.analysis import drawing
from dyn_nodes.analysis.contact_check import ContactReport

HIGHEST_USE = 2.0
"""Greatest friction use that is drawn."""


def plot_report(report: ContactReport) -> drawing.Figure:
    """Return a plot of margin and friction uses over time, with shaded breaches."""
    times, reactions = report.reactions
    figure, (above, below) = drawing.panels(2, 2.4)
    above.plot(times, np.where(np.isfinite(reactions.margin), reactions.margin, np.nan), label='margin')
    above.axhline(report.wanted, color='0.5', linewidth=0.8)
    above.set(ylabel='margin, N')
    for k, wheel in enumerate(report.wheels):
        below.plot(times, np.minimum(reactions.friction_use[:, k], HIGHEST_USE), label=wheel)
    below.axhline(1.0, color='0.5', linewidth=0.8)
    below.set(xlabel='time, s', ylabel='friction use (least norm)')
    drawing.legend(below)
    for axes in (above, below):
        for breach in report.breaches:
            axes.axvspan(breach.start, breach.end, color='C3', alpha=0.15, linewidth=0)
    return figure
