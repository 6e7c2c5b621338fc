"""Plot of a linear model: its poles, and the Bode plot of a pair of input and output."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_nodes.analysis import drawing
from dyn_nodes.analysis.plots import BLUE, GREY, ORANGE
from dyn_nodes.simulation.linear import LinearModel
from dyn_nodes.simulation.linear.modes import origin_of

RINGS = (0.1, 0.3, 0.7)
"""Damping ratios of the lines from the origin."""


def plot_model(model: LinearModel, pair: tuple[str, str] | None) -> drawing.Figure:
    """Return a figure of the poles, and of gain and phase over frequency for a pair (input, output).

    Raises:
        KeyError: the model has no such input or output.
    """
    if pair is None:
        figure, (axes,) = drawing.panels(1, 4.2, share=False)
        _poles(axes, model)
        return figure
    response = model.bode(*pair)
    figure, (left, gain, phase) = drawing.panels(1, 3.4, 3, share=False)
    _poles(left, model)
    gain.semilogx(response.hertz, response.decibels, color=BLUE)
    gain.set(ylabel='gain, dB', xlabel='frequency, Hz', title=f'{pair[0]} to {pair[1]}')
    phase.semilogx(response.hertz, np.degrees(response.phase), color=BLUE)
    phase.set(ylabel='phase, °', xlabel='frequency, Hz')
    for axes in (gain, phase):
        axes.xaxis.set_major_formatter(lambda value, index: f'{value:g}')
    return figure


def _poles(axes: Any, model: LinearModel) -> None:
    poles = model.poles
    stable = poles.real <= origin_of(model.scaled.A)
    axes.plot(poles.real[stable], poles.imag[stable], 'x', color=BLUE, markersize=6)
    axes.plot(poles.real[~stable], poles.imag[~stable], 'x', color=ORANGE, markersize=6)
    axes.axvline(0.0, color=GREY, linewidth=0.8)
    oscillating = [mode.pole for mode in model.modes() if mode.oscillates]
    if oscillating:  # real poles far to the left would hide the others
        reach = 1.3 * max(abs(pole) for pole in oscillating)
        axes.set_xlim(-reach, 0.3 * reach)
        axes.set_ylim(-reach, reach)
        for ratio in RINGS:
            across, up = -ratio * reach * 1.5, np.sqrt(1 - ratio**2) * reach * 1.5
            for side in (1, -1):
                axes.plot([0, across], [0, side * up], color=GREY, linewidth=0.6, linestyle=':')
    axes.set(xlabel='real part, 1/s', ylabel='imaginary part, 1/s', title='poles')
