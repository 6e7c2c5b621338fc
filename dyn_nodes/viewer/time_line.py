"""A slider over time that the page moves while a run is played, and that a person drags."""

from __future__ import annotations

from typing import Any

STEPS = 500.0
"""The page moves the slider when time is further from it than its length divided by this."""


class TimeLine:
    """A slider from 0 to a duration.

    The page and a person both move it, from two threads. Where it stands somewhere else than the page has put it, it
    has been dragged: that is looked up between two pictures, so no picture can put back what was dragged before it.

    Args:
        gui: of viser.
        duration: s.
        step: of the slider, s.
        order: place among the elements of its folder.
    """

    def __init__(self, gui: Any, duration: float, step: float, order: float) -> None:
        self._duration = duration
        self.slider: Any = gui.add_slider('Time, s', 0.0, max(duration, step), step, 0.0, order=order)
        self._put = self.slider.value

    def dragged(self) -> float | None:
        """The time to which it was dragged since the last call or `put`, s; None where it was not."""
        if self.slider.value == self._put:
            return None
        self._put = self.slider.value
        return float(self._put)

    def put(self, time: float) -> None:
        """Move it to a time, s."""
        if abs(self._put - time) > self._duration / STEPS:
            self.slider.value = self._put = round(time, 3)

    def remove(self) -> None:
        """Take it off the page."""
        self.slider.remove()
