"""Scrolling plots of the last seconds of values."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.viewer.colours import SERIES, css


class History:
    """The last seconds of named values.

    Args:
        window: s.
        period: minimum time between two samples, s.
    """

    def __init__(self, window: float = 30.0, period: float = 0.1) -> None:
        self.window, self.period = window, period
        self.names: list[str] = []
        self._rows: deque[tuple[float, dict[str, float]]] = deque()

    def add(self, time: float, values: Mapping[str, float]) -> bool:
        """Add a sample if one is due; return whether it was added. A time before the last one clears the history."""
        if self._rows and time < self._rows[-1][0]:
            self._rows.clear()
        if not values or (self._rows and time - self._rows[-1][0] < self.period - 1e-9):
            return False
        self.names += [name for name in values if name not in self.names]
        self._rows.append((time, dict(values)))
        while time - self._rows[0][0] > self.window:
            self._rows.popleft()
        return True

    def clear(self) -> None:
        """Remove all samples but keep the names."""
        self._rows.clear()

    def arrays(self) -> tuple[Array, ...]:
        """Return the times (n,), then the values (n,) of every name; gaps have the previous or else the next value."""
        times = np.array([time for time, _ in self._rows])
        columns = [np.array([row.get(name, np.nan) for _, row in self._rows]) for name in self.names]
        return (times, *(_without_gaps(column) for column in columns))


def _without_gaps(values: Array) -> Array:
    """Return values (n,) with the nearest earlier finite value in gaps: charts have no range for other values."""
    finite = np.flatnonzero(np.isfinite(values))
    if len(finite) in (0, len(values)):
        return values if len(finite) else np.zeros_like(values)
    before = finite[np.maximum(np.searchsorted(finite, np.arange(len(values)), side='right') - 1, 0)]
    return values[before]


class Plot:
    """A chart on the page, created with its first values and again when a name is added.

    Args:
        gui: viser's.
        container: container of the chart.
        title: title of the chart.
        order: order on the page.
        bounds: minimum and maximum of the axis; None: automatic.
    """

    def __init__(
        self, gui: Any, container: Any, title: str, order: float, bounds: tuple[float, float] | None = None
    ) -> None:
        self.gui, self.container, self.title, self.order, self.bounds = gui, container, title, order, bounds
        self.history = History()
        self._handle: Any = None
        self._drawn: tuple[str, ...] = ()

    def remove(self) -> None:
        """Remove the chart from the page."""
        if self._handle is not None:
            self._handle.remove()
            self._handle, self._drawn = None, ()

    def draw(self) -> None:
        """Send the curves."""
        data = self.history.arrays()
        if len(data) < 2 or len(data[0]) < 2:
            return
        if self._drawn == tuple(self.history.names):
            self._handle.data = data
            return
        if self._handle is not None:
            self._handle.remove()
        self._drawn = tuple(self.history.names)
        series: list[Any] = [{'label': 's'}]
        series += [
            {'label': name, 'stroke': css(SERIES[k % len(SERIES)]), 'width': 1.6, 'points': {'show': False}}
            for k, name in enumerate(self._drawn)
        ]
        scales: dict[str, Any] = {'x': {'time': False}}
        if self.bounds is not None:
            scales['y'] = {'range': self.bounds}
        with self.container:
            self._handle = self.gui.add_uplot(
                data,
                tuple(series),
                title=self.title,
                scales=scales,
                axes=({'size': 34, 'font': '10px sans-serif'}, {'size': 42, 'font': '10px sans-serif'}),
                legend={'show': True, 'live': False},
                height=170,
                padding=(4, 12, 0, 0),
                order=self.order,
            )
