"""Smooth signals from noisy samples: a penalized spline with a stiffness from the data.

A signal x on an even grid is the best compromise between its samples, weighted by their noise, and a small third
difference (white jerk): minimize sum((y - H x) / sigma)^2 + lambda |D3 x|^2. Samples of the rate, if measured, are
included in the same way. sigma is estimated from the samples; lambda maximizes the marginal likelihood, so that no
cut-off has to be chosen. All systems are banded: time and memory grow only with the length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded
from scipy.optimize import minimize_scalar
from scipy.special import comb

from dyn_nodes.common.arrays import Array

ORDER = 3
BAND = 3  # bandwidth of all matrices: D3'D3, and pairs of rates over two steps
NOISE_ORDER = 6
LEAST_NOISE = 1e-12
"""Noise of a constant signal, in its unit, which keeps the weight finite."""
SMALLEST_NOISE = 1e-7  # as a part of the signal's range, for samples without noise


def noise_level(values: Array) -> float:
    """Return the standard deviation of white noise on evenly spaced samples of a smooth signal.

    A difference of order 6 removes almost all of a well-sampled signal. The median suppresses steps and kinks of
    the signal.
    """
    if len(values) <= NOISE_ORDER:
        return 0.0
    rest = np.diff(values, n=NOISE_ORDER) / np.sqrt(comb(2 * NOISE_ORDER, NOISE_ORDER))
    return float(np.median(np.abs(rest)) / 0.6744897501960817)


@dataclass(frozen=True, eq=False)
class Smoothed:
    """A signal on an even grid.

    Attributes:
        start, step: start and step of the grid, s.
        values, rates: (n,) the signal and its rate.
        noise, rate_noise: assumed standard deviations of the samples.
    """

    start: float
    step: float
    values: Array
    rates: Array
    noise: float
    rate_noise: float

    def at(self, times: Array) -> tuple[Array, Array]:
        """Return value and rate at times (t,), s."""
        grid = self.start + self.step * np.arange(len(self.values))
        return np.interp(times, grid, self.values), np.interp(times, grid, self.rates)


def smooth(
    start: float, end: float, step: float, times: Array, values: Array, rates: Array | None = None, order: int = ORDER
) -> Smoothed:
    """Return the smoothed samples of a signal, and of its rate if measured.

    Args:
        start: start of the grid, s.
        end: end of the grid, s.
        step: step of the grid, s.
        times: (m,) increasing, s.
        values: (m,) samples of the signal.
        rates: (m,) samples of its rate, or None.
        order: order of the penalized difference, 1 to 3: 3 for a smooth motion, less for a signal with kinks.

    Raises:
        ValueError: fewer than ten samples between start and end.
    """
    inside = (times >= start - 1e-9) & (times <= end + 1e-9)
    if int(inside.sum()) < 10:
        raise ValueError(f'expected ten samples or more between {start:.3f} and {end:.3f} s, found {int(inside.sum())}')
    times, values = times[inside], values[inside]
    count = int(np.ceil((end - start) / step - 1e-9)) + 1
    position = np.clip((times - start) / step, 0.0, count - 1.0)
    noise = max(noise_level(values), SMALLEST_NOISE * float(np.ptp(values)), LEAST_NOISE)
    normal, right = np.zeros((BAND + 1, count)), np.zeros(count)
    _add_values(normal, right, position, values, noise)
    squares, sample_count, rate_noise = float(np.sum((values / noise) ** 2)), len(values), 0.0
    if rates is not None:
        rates = rates[inside]
        rate_noise = max(noise_level(rates), SMALLEST_NOISE * float(np.ptp(rates)), LEAST_NOISE)
        _add_rates(normal, right, position, rates, rate_noise, step)
        squares += float(np.sum((rates / rate_noise) ** 2))
        sample_count += len(rates)
    penalty = _penalty(count, order)

    def cost(exponent: float) -> float:
        weight = 10.0**exponent
        try:
            factor = cholesky_banded(normal + weight * penalty, lower=True)
        except LinAlgError:
            return np.inf
        misfit = squares - float(right @ cho_solve_banded((factor, True), right))
        return misfit + 2.0 * float(np.log(factor[0]).sum()) - (count - order) * np.log(weight)

    scale = np.log10(float(normal[0].mean()))
    best = minimize_scalar(cost, bounds=(scale - 4.0, scale + 10.0), method='bounded', options={'xatol': 0.02})
    factor = cholesky_banded(normal + 10.0**best.x * penalty, lower=True)
    x = cho_solve_banded((factor, True), right)
    return Smoothed(start, step, x, np.gradient(x, step), noise, rate_noise)


def _penalty(count: int, order: int) -> Array:
    """Return D'D for the difference of an order, as lower bands (4, n)."""
    stencil = np.array([(-1.0) ** (order - k) * comb(order, k) for k in range(order + 1)])
    bands = np.zeros((BAND + 1, count))
    for k in range(order + 1):
        for offset in range(order + 1 - k):
            bands[offset, k : count - order + k] += stencil[k] * stencil[k + offset]
    return bands


def _add_rows(normal: Array, right: Array, columns: NDArray[np.intp], weights: Array, values: Array) -> None:
    """Add rows of a least-squares problem, `weights` (m, w) on `columns` (m, w), to banded normal equations."""
    for a in range(columns.shape[1]):
        np.add.at(right, columns[:, a], weights[:, a] * values)
        for b in range(columns.shape[1]):
            offset = columns[:, b] - columns[:, a]
            lower = offset >= 0
            np.add.at(normal, (offset[lower], columns[lower, a]), (weights[:, a] * weights[:, b])[lower])


def _add_values(normal: Array, right: Array, position: Array, values: Array, noise: float) -> None:
    left = np.minimum(position.astype(np.intp), normal.shape[1] - 2)
    share = position - left
    _add_rows(
        normal,
        right,
        np.column_stack([left, left + 1]),
        np.column_stack([1.0 - share, share]) / noise,
        values / noise,
    )


def _add_rates(normal: Array, right: Array, position: Array, rates: Array, noise: float, step: float) -> None:
    """Add rates between nodes, as interpolated central differences of both nodes."""
    count = normal.shape[1]
    left = np.clip(position.astype(np.intp), 1, count - 3)
    share = position - left
    columns = left[:, np.newaxis] + np.arange(-1, 3)
    weights = np.column_stack([share - 1.0, -share, 1.0 - share, share]) / (2.0 * step * noise)
    _add_rows(normal, right, columns, weights, rates / noise)
