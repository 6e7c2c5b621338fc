"""Common style of all plots, with colours that colour-blind readers can distinguish."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

WIDTH = 9.0  # inches
RESOLUTION = 150  # dots per inch
MOST_POINTS = 3000  # greatest number of points of a line; a plot has fewer pixels

# Okabe and Ito's palette, safe for the usual kinds of colour blindness
BLUE, ORANGE, GREEN, PURPLE = '#0072B2', '#D55E00', '#009E73', '#CC79A7'
SKY, AMBER, BLACK, GREY = '#56B4E9', '#E69F00', '#222222', '#8a8a8a'
LINES = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER, BLACK)

_STYLE: Any = {
    'font.family': 'DejaVu Sans',
    'font.size': 9.5,
    'axes.titlesize': 10.5,
    'axes.titleweight': 'bold',
    'axes.titlelocation': 'left',
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.edgecolor': '#777777',
    'axes.linewidth': 0.8,
    'axes.grid': True,
    'grid.color': '#dddddd',
    'grid.linewidth': 0.6,
    'axes.axisbelow': True,
    'figure.constrained_layout.hspace': 0.06,
    'lines.linewidth': 1.6,
    'legend.frameon': False,
    'legend.fontsize': 9,
    'xtick.color': '#444444',
    'ytick.color': '#444444',
    'svg.fonttype': 'path',
    'svg.hashsalt': 'dyn_nodes',
    'text.parse_math': False,  # a `$` in the name of a wheel is a plain character
}


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Return a context manager with the common style."""
    import matplotlib as mpl  # of the extra `plots`
    from cycler import cycler

    with mpl.rc_context({**_STYLE, 'axes.prop_cycle': cycler(color=LINES)}):
        yield
