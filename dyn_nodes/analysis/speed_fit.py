"""Fit of dead time, lag, dead zone, gain and greatest speed of a drive to its command and position only.

For logs without pressures. The speed is a function of the effective command, which is the command sent `dead_time`
before, after a first-order lag:

    speed = -v_reverse ... -k_reverse (u_reverse - u) ... 0 ... k_forward (u - u_forward) ... v_forward

Between `u_reverse` and `u_forward` the drive is at rest. Both sides are compared as integrals with the same test
functions (`weak_form`), so no position is differentiated. Intervals: jackknife over blocks of time (`least_squares`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from dyn_nodes.analysis.least_squares import solve
from dyn_nodes.analysis.machine_log import Samples
from dyn_nodes.analysis.spool_motion import LaggedCommand
from dyn_nodes.analysis.weak_form import Windows, covered, held, interpolated, windows
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError

STEP, WIDTH, EVERY, BLOCK = 0.005, 0.3, 0.05, 3.0
GAP = 0.3
"""Longest gap between usable samples, s."""
END_ROOM = 0.03
"""Part of the range of the positions at each end that is not used, because a cylinder may be at its end."""
LATEST, LATE_STEP, LAGS = 0.5, 0.05, (0.02, 0.1)
"""Range and step of the initial dead times, and initial lags, s."""
STEEPER = (0.7, 1.0, 2.0, 5.0)
"""Initial gains as multiples of the greatest speed over the greatest command."""
SHORTEST_LAG, LONGEST_LAG = 1e-3, 1.0
LEAST_SECONDS = 5.0
MOVING = 0.05
"""Part of the greatest speed that a direction must exceed in `LEAST_MOVING` windows."""
LEAST_MOVING = 10
PARAMETERS = (
    'dead_time',
    'lag',
    'forward_start',
    'reverse_start',
    'forward_gain',
    'reverse_gain',
    'forward_limit',
    'reverse_limit',
)
HELD_OUT = 0.25
SEEN = 0.2
"""Greatest half width of the interval of an identified value, as a part of the value."""


class SpeedFitError(UserError, ValueError):
    """The log does not permit the fit; the message has the reason."""


@dataclass(frozen=True, eq=False)
class SpeedFit:
    """Result for one drive; u is the unit of its command, x the unit of its position.

    Attributes:
        values: (8,) estimates of `PARAMETERS`: s, s, u, u, x/(s u), x/(s u), x/s, x/s.
        half_widths: (8,) half widths of the intervals of 95 %.
        seen: (8,) whether the log identifies the value.
        delay: sum of dead time and lag, s, and half width of its interval; often only the sum is identifiable.
        sign: +1 if the position increases with the command, -1 if it decreases; gains and limits are magnitudes.
        used, held: (start, end) of the parts of the log, s.
        nrmse: root mean square error of the speed on the held-out part over the standard deviation of the measured
            speed.
        windows: numbers of windows used and held out.
    """

    values: Array
    half_widths: Array
    seen: NDArray[np.bool_]
    delay: tuple[float, float]
    sign: int
    used: tuple[float, float]
    held: tuple[float, float]
    nrmse: float
    windows: tuple[int, int]


@dataclass(frozen=True, eq=False)
class _Drive:
    """A part of a log: speeds (w,) of its usable windows, and the commands."""

    grid: Windows
    command: Samples
    good: NDArray[np.bool_]
    speed: Array

    def predicted(self, x: Array) -> Array:
        first = self.command.values[0, 0]
        acting, _ = LaggedCommand(self.command.times, self.command.values[:, 0] - first).at(self.grid.times, *x[:2])
        return np.asarray(self.grid.mean(curve(x, first + acting))[self.good])

    def blocks(self) -> NDArray[np.intp]:
        return np.floor(self.grid.centers[self.good] / BLOCK).astype(np.intp)


def curve(x: Array, command: Array) -> Array:
    """Return the steady-state speed (t,) for parameters (8,) and commands (t,)."""
    _, _, forward, reverse, gain, back, limit, back_limit = x
    ahead = np.clip(gain * (command - forward), 0.0, max(limit, 0.0))
    behind = np.clip(back * (reverse - command), 0.0, max(back_limit, 0.0))
    return np.asarray(ahead - behind)


def fit_speed(position: Samples, command: Samples, held_out: tuple[float, float] | None = None) -> SpeedFit:
    """Return the fit of one drive.

    Args:
        position: (m, 1) position of the drive.
        command: (m, 1) command, each value held until the next one.
        held_out: (start, end), s, for the validation; None: the last quarter.

    Raises:
        SpeedFitError: too little of the log is usable, or the drive does not move in both directions.
    """
    start = max(float(position.times[0]), float(command.times[0]))
    end = min(float(position.times[-1]), float(command.times[-1]))
    if held_out is None:
        held_out = (end - HELD_OUT * (end - start), end)
    if end - start < 2.0 * LEAST_SECONDS or not start + LEAST_SECONDS <= held_out[0] < held_out[1] <= end:
        raise SpeedFitError(
            f'expected {LEAST_SECONDS:g} s or more before a part to hold out, within {start:.4g} to {end:.4g} s, '
            f'found a part of {held_out[0]:.4g} to {held_out[1]:.4g} s'
        )
    first, last = _drive(position, command, start, held_out[0]), _drive(position, command, *held_out)
    sign = _sign(first)
    first, last = replace(first, speed=sign * first.speed), replace(last, speed=sign * last.speed)
    values, size = _searched(first)
    half, late = _intervals(first, values, size)
    rest = last.predicted(values) - last.speed
    deviation = float(last.speed.std()) if len(last.speed) else 0.0
    nrmse = float(np.sqrt(np.mean(rest**2))) / deviation if deviation > 0.0 else float('nan')
    seen = np.array([half[k] <= _allowed(values, k) for k in range(len(values))])
    used = (start, held_out[0])
    delay = float(values[0] + values[1]), late
    return SpeedFit(values, half, seen, delay, sign, used, held_out, nrmse, (len(first.speed), len(last.speed)))


def _sign(drive: _Drive) -> int:
    """Return the sign of the correlation of speed and command, at the dead time with the strongest one."""
    if not len(drive.speed):
        return 1
    sums = []
    for late in np.arange(0.0, LATEST, LATE_STEP):
        u = drive.grid.mean(held(drive.command, drive.grid.times - late)[:, 0])[drive.good]
        sums.append(float((u - u.mean()) @ drive.speed))
    return -1 if max(sums, key=abs) < 0.0 else 1


def _allowed(values: Array, k: int) -> float:
    """Return the greatest half width of an identified value; for ends of the dead zone relative to its width."""
    if k < 2:
        return max(SEEN * float(values[k]), 0.02)
    return SEEN * (abs(float(values[2] - values[3])) if k in (2, 3) else abs(float(values[k])))


def _drive(position: Samples, command: Samples, start: float, end: float) -> _Drive:
    grid = windows(start, end, STEP, WIDTH, EVERY)
    x = interpolated(position, grid.times)[:, 0]
    low, high = float(position.values.min()), float(position.values.max())
    room = END_ROOM * (high - low)
    usable = covered(position, grid.times, GAP) & (x > low + room) & (x < high - room)
    good = grid.all(usable)
    return _Drive(grid, command, good, np.asarray(grid.rate(x)[good]))


def _searched(drive: _Drive) -> tuple[Array, Array]:
    """Return the best parameters and their typical sizes (8,)."""
    if len(drive.speed) * EVERY < LEAST_SECONDS:
        usable = len(drive.speed) * EVERY
        raise SpeedFitError(f'expected {LEAST_SECONDS:g} s or more away from both ends, found {usable:.3g} s')
    fastest = float(np.quantile(np.abs(drive.speed), 0.99))
    for way, sign in (('forward', 1.0), ('back', -1.0)):
        moving = int((sign * drive.speed > MOVING * fastest).sum())
        if not fastest > 0.0 or moving < LEAST_MOVING:
            raise SpeedFitError(f'expected {LEAST_MOVING} windows or more that move {way}, found {moving}')
    u = drive.command.values[:, 0]
    low, high, neutral = float(u.min()), float(u.max()), float(np.median(u))
    reach = max(high - low, 1e-12)
    slope = fastest / (0.5 * reach)
    size = np.array([0.1, 0.1, 0.1 * reach, 0.1 * reach, slope, slope, fastest, fastest])
    least = np.array([0.0, SHORTEST_LAG, low, low, 0.0, 0.0, 0.0, 0.0])
    most = np.array([LATEST + 0.1, LONGEST_LAG, high, high, 1e3 * slope, 1e3 * slope, 3.0 * fastest, 3.0 * fastest])
    forward, back = neutral + 0.1 * (high - neutral), neutral - 0.1 * (neutral - low)
    first = np.array([0.0, 0.0, forward, back, slope, slope, fastest, fastest])
    bounds = least / size, most / size
    searches: list[Any] = []
    for steeper in STEEPER:  # the search may end in a local minimum with wrong dead zone and gain
        first[4:6] = steeper * slope
        start = min(_starts(first), key=lambda x: float(np.sum(np.abs(drive.predicted(x) - drive.speed))))
        initial = np.clip(start / size, bounds[0] + 1e-6, bounds[1] - 1e-6)
        searches.append(
            least_squares(
                lambda z: (drive.predicted(z * size) - drive.speed) / fastest,
                initial,
                bounds=bounds,
                diff_step=1e-4,
                max_nfev=60,
            )
        )
    return min(searches, key=lambda search: float(search.cost)).x * size, size


def _starts(x: Array) -> Iterator[Array]:
    for late in np.arange(0.0, LATEST, LATE_STEP):
        for lag in LAGS:
            start = x.copy()
            start[:2] = late, lag
            yield start


def _intervals(drive: _Drive, x: Array, size: Array) -> tuple[Array, float]:
    """Return the half widths (8,), and of the delay, from the problem linearized at its solution."""
    columns = []
    for k in range(len(x)):
        change = np.zeros(len(x))
        change[k] = 2e-3 * size[k]
        lower = x - change
        lower[1] = max(lower[1], SHORTEST_LAG)
        upper = x + change
        columns.append((drive.predicted(upper) - drive.predicted(lower)) / (upper[k] - lower[k]) * size[k])
    rows = np.column_stack(columns)
    # the limit of a direction that never reaches it is not identifiable
    estimate = solve(rows, drive.speed - drive.predicted(x) + rows @ (x / size), drive.blocks(), np.full(len(x), 1e3))
    factor = estimate.half_widths[0] / max(float(estimate.errors[0]), 1e-300)
    variance = float(size[:2] @ estimate.covariance[:2, :2] @ size[:2])
    return estimate.half_widths * size, factor * float(np.sqrt(max(variance, 0.0)))
