"""Planned motions of a platform in the plane, with exact first and second derivatives (saha-1991, 4.1.3, 4.3, 4.6).

A path returns pose, velocity and acceleration in the fixed frame, order [yaw, x, y], at any times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array


class Motion1(NamedTuple):
    """A function of time with its two derivatives, each of the shape of the times."""

    value: Array
    rate: Array
    acceleration: Array


@dataclass(frozen=True)
class PlanarMotion:
    """A platform's motion at n times: pose, velocity and acceleration (n, 3) in the fixed frame, [yaw, x, y]."""

    times: Array
    pose: Array
    velocity: Array
    acceleration: Array

    @property
    def twist(self) -> Array:
        """(n, 3) velocity in platform axes, [yaw rate, vx, vy]."""
        return to_platform(self.pose[:, 0], self.velocity)

    @property
    def twist_acceleration(self) -> Array:
        """(n, 3) components of the inertial acceleration in platform axes."""
        return to_platform(self.pose[:, 0], self.acceleration)

    @property
    def twist_rate(self) -> Array:
        """(n, 3) rates of the twist's components."""
        yaw, vx, vy = self.twist.T
        return self.twist_acceleration - np.column_stack([0.0 * yaw, -yaw * vy, yaw * vx])


Path = Callable[[ArrayLike], PlanarMotion]


def to_platform(yaw: Array, vectors: Array) -> Array:
    """Return [yaw, x, y] vectors (n, 3) of the fixed frame in axes turned by `yaw` (n,)."""
    c, s = np.cos(yaw), np.sin(yaw)
    turn, x, y = vectors.T
    return np.column_stack([turn, x * c + y * s, y * c - x * s])


def cycloid(times: ArrayLike, start: float, duration: float, stroke: float) -> Motion1:
    """Return a cycloidal rise from 0 at `start` to `stroke`, at rest and without acceleration at both ends."""
    s = np.clip((np.asarray(times, dtype=float) - start) / duration, 0.0, 1.0)
    w = 2.0 * np.pi
    return Motion1(
        stroke * (s - np.sin(w * s) / w),
        stroke / duration * (1.0 - np.cos(w * s)),
        stroke / duration**2 * w * np.sin(w * s),
    )


def half_cycloid(times: ArrayLike, duration: float, speed: float) -> Motion1:
    """Return a start from rest at time 0 to `speed` at `duration`, without acceleration at both ends."""
    t = np.asarray(times, dtype=float)
    w = np.pi / duration
    return Motion1(
        0.5 * speed * (t - np.sin(w * t) / w), 0.5 * speed * (1.0 - np.cos(w * t)), 0.5 * speed * w * np.sin(w * t)
    )


def straight_path(direction: float, stroke: float = 5.0, duration: float = 60.0) -> Path:
    """Return a straight path at fixed orientation, from rest to rest by a cycloid (eq. of path 1 and 2).

    Args:
        direction: angle of the motion from the x axis, rad.
        stroke: m.
        duration: s.
    """

    def path(times: ArrayLike) -> PlanarMotion:
        t = np.atleast_1d(np.asarray(times, dtype=float))
        along = np.column_stack(cycloid(t, 0.0, duration, stroke)).T
        heading = np.array([0.0, np.cos(direction), np.sin(direction)])
        pose, velocity, acceleration = (np.outer(row, heading) for row in along)
        return PlanarMotion(t, pose, velocity, acceleration)

    return path


def circle_path(radius: float = 5.0, duration: float = 60.0) -> Path:
    """Return one turn on a circle, heading along the tangent, from rest to rest by a quintic (eq. 4.30, 4.31)."""

    def path(times: ArrayLike) -> PlanarMotion:
        t = np.atleast_1d(np.asarray(times, dtype=float))
        s = t / duration
        w = 2.0 * np.pi
        angle = w * (10 * s**3 - 15 * s**4 + 6 * s**5)
        rate = w * (30 * s**2 - 60 * s**3 + 30 * s**4) / duration
        growth = w * (60 * s - 180 * s**2 + 120 * s**3) / duration**2
        c, si = np.cos(angle), np.sin(angle)
        return PlanarMotion(
            t,
            np.column_stack([angle, radius * c, radius * si]),
            np.column_stack([rate, -radius * si * rate, radius * c * rate]),
            np.column_stack(
                [growth, -radius * (c * rate**2 + si * growth), radius * (c * growth - si * rate**2)],
            ),
        )

    return path


@dataclass(frozen=True)
class LinesAndCurve:
    """Two parallel lines joined by a smooth curve (eq. 4.53, 4.54), with the heading of path 3 or along the tangent.

    Attributes:
        duration, t1, t2: whole time, and times at the ends of the curve, s.
        x1, x2: of the lines, m.
        y0, y1, y2: start, and ends of the curve, m.
        speed: dy/dt along the curve, m/s.
        tangent: the heading follows the path (vehicles with two degrees of freedom); else it turns by 90 degrees
            along the curve.
    """

    duration: float = 60.0
    t1: float = 15.0
    t2: float = 45.0
    x1: float = 2.32
    x2: float = -2.32
    y0: float = -2.75
    y1: float = -1.85
    y2: float = 1.75
    speed: float = 0.12
    tangent: bool = False

    def __call__(self, times: ArrayLike) -> PlanarMotion:
        """Return the motion at times between 0 and `duration`."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        y = self._along(t)
        x = self._across(y)
        yaw = self._heading(t, x, y)
        rows = (np.column_stack([a, b, c]) for a, b, c in zip(yaw, x, y))
        return PlanarMotion(t, *rows)

    def _along(self, t: Array) -> Motion1:
        start = half_cycloid(t, self.t1, self.speed)
        end = half_cycloid(self.duration - t, self.duration - self.t2, self.speed)
        first, last = t < self.t1, t > self.t2
        middle = self.y1 + self.speed * (t - self.t1)
        return Motion1(
            np.where(first, self.y0 + start.value, np.where(last, self.y1 + self.y2 - self.y0 - end.value, middle)),
            np.where(first, start.rate, np.where(last, end.rate, self.speed)),
            np.where(first, start.acceleration, np.where(last, -end.acceleration, 0.0)),
        )

    def _across(self, y: Motion1) -> Motion1:
        width, height = self.x2 - self.x1, self.y2 - self.y1
        u = np.clip((y.value - self.y1) / height, 0.0, 1.0)
        slope = width / height * 140.0 * (u * (1.0 - u)) ** 3
        bend = width / height**2 * 420.0 * (u * (1.0 - u)) ** 2 * (1.0 - 2.0 * u)
        return Motion1(
            self.x1 + width * u**4 * (35.0 - 84.0 * u + 70.0 * u**2 - 20.0 * u**3),
            slope * y.rate,
            bend * y.rate**2 + slope * y.acceleration,
        )

    def _heading(self, t: Array, x: Motion1, y: Motion1) -> Motion1:
        if not self.tangent:
            return cycloid(t, self.t1, self.t2 - self.t1, 0.5 * np.pi)
        # along the curve dy/dt is constant: tan(yaw) = -f'(y), and its derivatives by the chain rule
        height = self.y2 - self.y1
        ratio = (self.x2 - self.x1) / height
        u = np.clip((y.value - self.y1) / height, 0.0, 1.0)
        a = u * (1.0 - u)
        f1 = 140.0 * ratio * a**3
        f2 = 420.0 * ratio / height * a**2 * (1.0 - 2.0 * u)
        f3 = 840.0 * ratio / height**2 * a * ((1.0 - 2.0 * u) ** 2 - a)
        n = 1.0 + f1**2
        by_y, by_yy = -f2 / n, -f3 / n + 2.0 * f1 * f2**2 / n**2
        return Motion1(-np.arctan(f1), by_y * y.rate, by_yy * y.rate**2 + by_y * y.acceleration)
