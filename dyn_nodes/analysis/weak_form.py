"""Windows over a log: integrals of signals times smooth test functions, without differentiation of signals.

For a test function phi that vanishes at both ends of its window, the integral of phi dp/dt equals the integral of -phi'
p. Signals are interpolated by cubic splines to one even grid; sums over the grid are then integrals, as phi is smooth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from dyn_nodes.analysis.machine_log import Samples
from dyn_nodes.common.arrays import Array

POWER = 4
"""Power of the test function (1 - s^2)^4; three of its derivatives vanish at the ends."""


@dataclass(frozen=True)
class Windows:
    """Test functions on an even grid.

    Attributes:
        times: (t,) times of the grid, s.
        half: half width of a window, in steps of the grid.
        stride: distance between windows, in steps.
    """

    times: Array
    half: int
    stride: int

    @property
    def step(self) -> float:
        """Step of the grid, s."""
        return float(self.times[1] - self.times[0])

    @property
    def centers(self) -> Array:
        """Times (w,) of the windows, s."""
        return np.asarray(self.times[self.half : len(self.times) - self.half : self.stride])

    @cached_property
    def _shape(self) -> tuple[Array, Array]:
        s: Array = np.arange(-self.half, self.half + 1.0) / self.half
        bump = 1.0 - s**2
        mean, slope = bump**POWER, s * bump ** (POWER - 1)
        # normalized: the mean of a constant is its value, the rate of a straight line its slope, to round-off
        return mean / mean.sum(), -slope / (self.step * self.half * (slope @ s))

    def _seen(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(sliding_window_view(values, 2 * self.half + 1, axis=0)[:: self.stride])

    def mean(self, values: Array) -> Array:
        """Return the integrals (w, ...) of phi times values (t, ...); phi has an integral of 1."""
        return np.asarray(self._seen(values) @ self._shape[0])

    def rate(self, values: Array) -> Array:
        """Return the integrals (w, ...) of phi times the derivative of values (t, ...), by parts."""
        return np.asarray(-(self._seen(values) @ self._shape[1]))

    def all(self, good: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whether a condition (t, ...) holds throughout every window (w, ...)."""
        return np.asarray(self._seen(good).all(axis=-1))


def windows(start: float, end: float, step: float, width: float, every: float) -> Windows:
    """Return windows of a width, s, at distances of `every`, s, on a grid from start to end with a step, s."""
    count = int(np.floor((end - start) / step + 1e-9)) + 1
    times: Array = start + step * np.arange(count, dtype=np.float64)
    return Windows(times, max(2, round(0.5 * width / step)), max(1, round(every / step)))


def interpolated(samples: Samples, times: Array) -> Array:
    """Return a cubic spline through all samples at `times` (t, k); beyond the ends the last value."""
    spline = CubicSpline(samples.times, samples.values, axis=0)
    return np.asarray(spline(np.clip(times, samples.times[0], samples.times[-1])))


def held(samples: Samples, times: Array) -> Array:
    """Return the last sample at or before `times` (t, k); zeros before the first one."""
    index = np.searchsorted(samples.times, times + 1e-9, side='right') - 1
    values = samples.values[np.maximum(index, 0)]
    return np.asarray(np.where((index >= 0)[:, np.newaxis], values, 0.0))


def covered(samples: Samples, times: Array, longest: float) -> NDArray[np.bool_]:
    """Return whether samples are available at times (t,): no gap longer than `longest`, s, around them."""
    index = np.searchsorted(samples.times, times, side='right')
    inside = (index > 0) & (index < len(samples.times))
    index = np.clip(index, 1, len(samples.times) - 1)
    exact = np.isin(np.round(times, 9), np.round(samples.times, 9))
    return np.asarray((inside & (samples.times[index] - samples.times[index - 1] <= longest)) | exact)
