"""Progress along a path from rest to rest: a trapezoid of acceleration, with bounded speed, acceleration and jerk."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_nodes.control.number_checks import require_not_negative, require_positive


class Progress(NamedTuple):
    """Length covered, m, and its rates, m/s, m/s2, m/s3."""

    length: float
    speed: float
    acceleration: float
    jerk: float


class JerkTrapezoid:
    """Seven intervals of constant jerk: the fastest motion from rest to rest over a length within the limits.

    Args:
        length: m, 0 or more.
        speed: greatest, m/s.
        acceleration: greatest, braking too, m/s2.
        jerk: greatest, m/s3.

    Attributes:
        duration: s.

    Raises:
        ValueError: a number that is not finite, a negative length, a limit that is not above 0.
    """

    def __init__(self, length: float, speed: float, acceleration: float, jerk: float) -> None:
        require_not_negative({'length': length})
        require_positive({'speed': speed, 'acceleration': acceleration, 'jerk': jerk})
        self.length = length
        top = min(speed, _greatest_speed(length, acceleration, jerk))
        rise = min(float(np.sqrt(top / jerk)), acceleration / jerk)  # of the acceleration
        hold = max(top / (jerk * rise) - rise, 0.0) if rise > 0.0 else 0.0
        even = max(length / top - (2.0 * rise + hold), 0.0) if top > 0.0 else 0.0
        spans = np.array([rise, hold, rise, even, rise, hold, rise])
        self._jerks = jerk * np.array([1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0])
        self._starts = np.concatenate([[0.0], np.cumsum(spans)])
        self._knots = [Progress(0.0, 0.0, 0.0, 0.0)]
        for span, change in zip(spans, self._jerks):
            self._knots.append(_carried(self._knots[-1], change, span))
        self.duration = float(self._starts[-1])
        self._pace = 1.0

    def stretched(self, duration: float) -> JerkTrapezoid:
        """Return the same motion over a longer time, s.

        Raises:
            ValueError: a duration shorter than the limits allow.
        """
        if not (np.isfinite(duration) and duration >= self.duration * (1.0 - 1e-12)):
            raise ValueError(
                f'duration: expected at least {self.duration:.4g} s within the limits, found {duration:.4g} s'
            )
        slower = object.__new__(JerkTrapezoid)
        slower.__dict__.update(self.__dict__)
        slower._pace = self._pace * self.duration / duration if duration > 0.0 else self._pace
        slower.duration = duration
        return slower

    def at(self, time: float) -> Progress:
        """Return the progress at a time from the start, s; at rest before it and after the end."""
        pace = self._pace
        if time <= 0.0:
            return Progress(0.0, 0.0, 0.0, 0.0)
        if time >= self.duration:
            return Progress(self.length, 0.0, 0.0, 0.0)
        scaled_time = time * pace
        k = min(int(np.searchsorted(self._starts, scaled_time, side='right')) - 1, len(self._jerks) - 1)
        here = _carried(self._knots[k], self._jerks[k], scaled_time - self._starts[k])
        return Progress(here.length, pace * here.speed, pace**2 * here.acceleration, pace**3 * here.jerk)


def _greatest_speed(length: float, acceleration: float, jerk: float) -> float:
    """Return the greatest speed of a motion over a length without a speed limit."""
    ramp = acceleration / jerk
    long = 0.5 * acceleration * (float(np.sqrt(ramp**2 + 4.0 * length / acceleration)) - ramp)
    return long if long >= acceleration * ramp else float(np.cbrt(0.25 * length**2 * jerk))


def _carried(start: Progress, jerk: float, time: float) -> Progress:
    """Return the progress after a time of constant jerk."""
    s, v, a, _ = start
    return Progress(
        s + time * (v + time * (a / 2.0 + time * jerk / 6.0)), v + time * (a + time * jerk / 2.0), a + time * jerk, jerk
    )
