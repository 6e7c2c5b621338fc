"""The fastest speed profile along a path within the limits of wheels, drives and joints.

Acceleration a of the path's parameter and square b of its speed enter wheel forces and efforts linearly, so the
feasible set of (a, b) is convex at every point of the path. The profile follows by reachability analysis: a backward
pass computes the greatest speed at each point from which the rest of the path, and the stop at its end, are feasible; a
forward pass takes the greatest acceleration that stays below it (H. Pham and Q.-C. Pham, "A New Approach to
Time-Optimal Path Parameterization Based on Reachability Analysis", IEEE T-RO 34, 2018).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array

FACETS = 32
"""Number of facets of the pyramid inside a friction cone; it loses 0.5 % of the friction."""
ROUND_OFF = 1e-9


@dataclass(frozen=True, eq=False)
class Halfplanes:
    """Limits at every point of a path: per_acceleration a + per_square b <= rest.

    Attributes:
        per_acceleration, per_square, rest: (t, k).
    """

    per_acceleration: Array
    per_square: Array
    rest: Array

    def __add__(self, other: Halfplanes) -> Halfplanes:
        """Return both sets of limits."""
        first, second = ((limits.per_acceleration, limits.per_square, limits.rest) for limits in (self, other))
        return Halfplanes(*(np.concatenate(pair, axis=1) for pair in zip(first, second)))

    @classmethod
    def of_wheels(
        cls, still: Array, per_acceleration: Array, per_square: Array, friction: ArrayLike, lift: ArrayLike
    ) -> Halfplanes:
        """Return the limits of wheels: no slip and no lift.

        Args:
            still: (t, w, 3) wheel forces F at rest: longitudinal, lateral, normal, N.
            per_acceleration: (t, w, 3) change of F per a, N.
            per_square: (t, w, 3) change of F per b, N.
            friction: (w,) coefficients that may be used; 0: horizontal forces are not limited.
            lift: (w,) least normal forces, N.
        """
        mu, least = np.asarray(friction, float), np.asarray(lift, float)
        turns = 2.0 * np.pi * (np.arange(FACETS) + 0.5) / FACETS
        out = np.column_stack([np.cos(turns), np.sin(turns)])
        rows: tuple[list[Array], ...] = ([], [], [])
        for wheel, coefficient in enumerate(mu):
            down = -coefficient * np.cos(np.pi / FACETS) * np.ones(FACETS)
            normals = np.column_stack([out, down]) if coefficient > 0.0 else np.zeros((0, 3))
            normals = np.vstack([normals, [0.0, 0.0, -1.0]])
            bound = np.append(np.zeros(len(normals) - 1), -least[wheel])
            rows[0].append(per_acceleration[:, wheel] @ normals.T)
            rows[1].append(per_square[:, wheel] @ normals.T)
            rows[2].append(bound - still[:, wheel] @ normals.T)
        first, second, third = (np.concatenate(part, axis=1) for part in rows)
        return cls(first, second, third)

    @classmethod
    def of_bounds(cls, still: Array, per_acceleration: Array, per_square: Array, most: ArrayLike) -> Halfplanes:
        """Return the limits of efforts (t, n): |still + per_acceleration a + per_square b| <= most (n,)."""
        bound = np.asarray(most, float)
        faster, square = (np.concatenate([part, -part], axis=1) for part in (per_acceleration, per_square))
        return cls(faster, square, np.concatenate([bound - still, bound + still], axis=1))

    @classmethod
    def of_speeds(cls, per_speed: Array, most: ArrayLike) -> Halfplanes:
        """Return the limits of speeds (t, n) per speed of the parameter: |per_speed| sqrt(b) <= most (n,).

        A speed without a limit (inf) gives none.
        """
        bound = np.asarray(most, float)
        limited = np.isfinite(bound)
        square = np.asarray(per_speed, float)[:, limited] ** 2
        return cls(np.zeros_like(square), square, np.broadcast_to(bound[limited] ** 2, square.shape))

    def require_holdable(self, parameters: Array) -> None:
        """Raise ValueError if rest is beyond the limits at any point."""
        worst = self.rest.min(axis=1)
        if (worst < -ROUND_OFF).any():
            parameter = float(parameters[int(worst.argmin())])
            raise ValueError(f'expected a posture that can be held at rest, found none at parameter {parameter:.4g}')


@dataclass(frozen=True, eq=False)
class Profile:
    """Progress along a path from rest to rest, with constant acceleration of the parameter between grid points.

    Attributes:
        parameters: (t,) grid.
        speeds: (t,) of the parameter at the grid, 1/s.
        times: (t,) s.
    """

    parameters: Array
    speeds: Array
    times: Array

    @classmethod
    def of(cls, parameters: Array, speeds: Array) -> Profile:
        """Return the profile with speeds at grid points."""
        mean = 0.5 * (speeds[1:] + speeds[:-1])
        times = np.concatenate([[0.0], np.cumsum(np.diff(parameters) / mean)])
        return cls(parameters, speeds, times)

    @property
    def duration(self) -> float:
        """Duration of the whole path, s."""
        return float(self.times[-1])

    def at(self, time: float) -> tuple[float, float, float]:
        """Return the parameter, its speed and acceleration at a time, s; at rest before and after."""
        if time <= 0.0 or time >= self.duration:
            return float(self.parameters[0 if time <= 0.0 else -1]), 0.0, 0.0
        k = int(np.clip(np.searchsorted(self.times, time, side='right') - 1, 0, len(self.times) - 2))
        span, since = self.times[k + 1] - self.times[k], time - self.times[k]
        a = (self.speeds[k + 1] - self.speeds[k]) / span
        return (
            float(self.parameters[k] + self.speeds[k] * since + 0.5 * a * since**2),
            float(self.speeds[k] + a * since),
            float(a),
        )

    def stretched(self, factor: float) -> Profile:
        """Return the same progress with all speeds times a factor."""
        return Profile(self.parameters, self.speeds * factor, self.times / factor)


def fastest(parameters: ArrayLike, limits: Halfplanes, speed: float = 1e3, acceleration: float = 1e6) -> Profile:
    """Return the fastest progress from rest to rest within the limits.

    Args:
        parameters: (t,) rising grid.
        limits: at every grid point.
        speed: greatest of the parameter, 1/s.
        acceleration: greatest of the parameter, 1/s2.

    Raises:
        ValueError: a point at which rest is beyond the limits.
    """
    s = np.asarray(parameters, dtype=float)
    limits.require_holdable(s)
    tops = np.full(len(s), speed**2)
    tops[-1] = 0.0
    for k in range(len(s) - 2, -1, -1):
        tops[k] = _greatest_square(limits, k, tops[k], tops[k + 1], 2.0 * (s[k + 1] - s[k]), acceleration)
    squares = np.zeros(len(s))
    for k in range(len(s) - 1):
        step = 2.0 * (s[k + 1] - s[k])
        _, high = _accelerations(limits, k, squares[k], acceleration)
        reached = squares[k] + step * min(high, (tops[k + 1] - squares[k]) / step)
        squares[k + 1] = max(reached, 0.0)
        if squares[k + 1] <= 0.0 and k + 1 < len(s) - 1:
            raise ValueError(f'expected limits that let the motion continue, found none at parameter {s[k + 1]:.4g}')
    return Profile.of(s, np.sqrt(squares))


def braked(profile: Profile, limits: Halfplanes, time: float, acceleration: float = 1e6) -> Profile:
    """Return the progress that brakes to rest from a given time on, as soon as the limits allow.

    Args:
        profile: of the motion before.
        time: at which braking starts, s; time 0 of the result.
        limits: at every grid point of the profile.
        acceleration: greatest of the parameter, 1/s2.

    While no braking is within the limits, the profile is followed up to the next grid point.
    """
    s, speed, planned = profile.at(time)
    if speed <= 0.0:
        return Profile(np.array([s, s]), np.zeros(2), np.array([0.0, 0.0]))
    grid = profile.parameters
    k = int(np.clip(np.searchsorted(grid, s, side='right') - 1, 0, len(grid) - 2))
    points, squares = [s], [speed**2]
    for after in range(k + 1, len(grid)):
        least, greatest = _accelerations(limits, after - 1, squares[-1], acceleration)
        brake = least if least <= greatest else planned
        reach = grid[after] - points[-1]
        if reach <= 0.0:
            continue
        if squares[-1] + 2.0 * brake * reach <= 0.0:
            points.append(points[-1] - 0.5 * squares[-1] / brake)
            squares.append(0.0)
            break
        points.append(float(grid[after]))
        squares.append(squares[-1] + 2.0 * brake * reach)
        planned_speed = profile.speeds[after]
        squares[-1] = min(squares[-1], float(planned_speed**2))
        planned = profile.at(float(profile.times[after]) + 1e-9)[2]
    squares[-1] = 0.0
    return Profile.of(np.array(points), np.sqrt(np.array(squares)))


def _accelerations(limits: Halfplanes, k: int, square: float, most: float) -> tuple[float, float]:
    """Return the least and the greatest acceleration at a point and a squared speed; least > greatest if infeasible."""
    factor, left = limits.per_acceleration[k], limits.rest[k] - limits.per_square[k] * square
    scale = np.abs(factor) > ROUND_OFF
    if (left[~scale] < -ROUND_OFF).any():
        return np.inf, -np.inf
    ends = left[scale] / factor[scale]
    up = factor[scale] > 0.0
    return float(np.max(ends[~up], initial=-most)), float(np.min(ends[up], initial=most))


def _greatest_square(limits: Halfplanes, k: int, top: float, next_top: float, step: float, most: float) -> float:
    """Return the greatest squared speed at a point from which the next point is reached within its limit.

    The difference of the greatest and the least acceleration is concave and piecewise linear in the squared speed, so
    Newton's method from above ends exactly at a corner.
    """
    alpha = np.append(limits.per_acceleration[k], [1.0, -1.0, step])
    beta = np.append(limits.per_square[k], [0.0, 0.0, 1.0])
    rest = np.append(limits.rest[k], [most, most, next_top])
    free = np.abs(alpha) <= ROUND_OFF
    bounding = free & (beta > ROUND_OFF)
    square = min(top, float(np.min(rest[bounding] / beta[bounding], initial=np.inf)))
    offset, slope = rest[~free] / alpha[~free], beta[~free] / alpha[~free]
    up = alpha[~free] > 0.0
    for _ in range(len(rest)):
        ends = offset - slope * square
        high, low = np.where(up, ends, np.inf).argmin(), np.where(up, -np.inf, ends).argmax()
        closing = slope[high] - slope[low]
        if ends[high] >= ends[low] or not closing > 0.0:
            break
        square = min(square, float((offset[high] - offset[low]) / closing))
    return max(square, 0.0)
