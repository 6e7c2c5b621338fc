"""Time of a replay: advanced by the wall clock, shown by a slider that the page moves and the user can drag."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

FRAME = 1 / 30
"""Wall time between two pictures, s."""
STEPS = 500.0
"""The page moves the slider if it deviates from the time by more than the duration divided by this."""


class Page(Protocol):
    """A page that shows a motion."""

    def advance(self, seconds: float) -> None:
        """Advance by wall time, s, and draw."""

    def stop(self) -> None:
        """Close the page."""


def play(page: Page, duration: float | None) -> None:
    """Advance a page by the wall clock for a duration, s, None: until interrupted; then stop it."""
    try:
        advance_until(page, lambda elapsed: duration is not None and elapsed >= duration)
    finally:
        page.stop()


def advance_until(page: Page, is_over: Callable[[float], bool]) -> None:
    """Advance a page by the wall clock until `is_over`, a function of the elapsed time, s, is true."""
    start = last = time.monotonic()
    while not is_over(last - start):
        time.sleep(FRAME)
        now = time.monotonic()
        page.advance(now - last)
        last = now


class TimeLine:
    """A slider from 0 to a duration.

    The page and the user move it from two threads. A value other than the last one set by the page means that the user
    dragged it. This is checked before each frame: a frame never resets a slider dragged before it.

    Args:
        gui: viser's.
        duration: s.
        step: of the slider, s.
        order: order among the elements of its folder.
    """

    def __init__(self, gui: Any, duration: float, step: float, order: float) -> None:
        self._duration = duration
        self.slider: Any = gui.add_slider('Time, s', 0.0, max(duration, step), step, 0.0, order=order)
        self._put = self.slider.value

    def dragged(self) -> float | None:
        """Return the time to which it was dragged since the last call or `put`, s; None if it was not dragged."""
        if self.slider.value == self._put:
            return None
        self._put = self.slider.value
        return float(self._put)

    def put(self, time: float) -> None:
        """Move it to a time, s."""
        if abs(self._put - time) > self._duration / STEPS:
            self.slider.value = self._put = round(time, 3)

    def remove(self) -> None:
        """Remove it from the page."""
        self.slider.remove()
