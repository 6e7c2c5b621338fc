"""Curves of the hand by their length: lines, arcs and splines through poses.

The length of a curve is the way of its origin, m, or the angle times `per_radian` if that is greater. Rates by the
length are [velocity of the origin; angular velocity], (6,) each.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.kinematics import HandPose
from dyn_nodes.model.rotations import matrix_of_quaternion, matrix_of_rotation_vector, product, quaternion_of_matrix

LEAST_ANGLE = 1e-6
"""Sine of the angle between chords of an arc below which its three points count as collinear."""


class CurvePoint(NamedTuple):
    """A pose of a curve and its three rates by the length, (6,) each."""

    pose: HandPose
    first: Array
    second: Array
    third: Array


class Curve(Protocol):
    """A path of the hand.

    Attributes:
        length: m.
    """

    length: float

    def at(self, length: float) -> CurvePoint:
        """Return the pose after a length, m, and its rates."""


class Turning:
    """A turn at a constant rate about a fixed axis: spherical linear interpolation."""

    def __init__(self, start: HandPose, end: HandPose) -> None:
        self.start, self.vector = start.rotation, start.error_to(end)[3:]

    def at(self, part: float) -> Array:
        """Return the rotation (3, 3) after a part of the turn, 0 to 1."""
        return matrix_of_rotation_vector(part * self.vector) @ self.start


def _length(distance: float, angle: float, per_radian: float) -> float:
    return max(distance, angle * per_radian)


class Line:
    """A straight line of the origin, with a turn at a constant rate about a fixed axis.

    Args:
        start: pose at its start.
        end: pose at its end.
        per_radian: m that count as 1 rad.
    """

    def __init__(self, start: HandPose, end: HandPose, per_radian: float = 1.0) -> None:
        self.start, self.end = start, end
        motion = start.error_to(end)
        self._turning = Turning(start, end)
        self.length = _length(float(np.linalg.norm(motion[:3])), float(np.linalg.norm(motion[3:])), per_radian)
        self._rate = motion / self.length if self.length > 0.0 else np.zeros(6)

    def at(self, length: float) -> CurvePoint:
        """Return the pose after a length, m, and its rates."""
        pose = HandPose(self._turning.at(length / self.length if self.length > 0.0 else 0.0),
                        self.start.position + length * self._rate[:3])  # fmt: skip
        return CurvePoint(pose, self._rate, np.zeros(6), np.zeros(6))


class Arc:
    """An arc of a circle from one pose through a point to another pose, with a turn at a constant rate.

    Args:
        start: pose at its start.
        through: (3,) a point between, m.
        end: pose at its end.
        per_radian: m that count as 1 rad.

    Raises:
        ValueError: three points on a line.
    """

    def __init__(self, start: HandPose, through: ArrayLike, end: HandPose, per_radian: float = 1.0) -> None:
        a, b, c = start.position, np.asarray(through, dtype=np.float64), end.position
        u, w = b - a, c - a
        normal = np.cross(u, w)
        size = float(np.linalg.norm(normal))
        if not size > LEAST_ANGLE * float(np.linalg.norm(u) * np.linalg.norm(w)):
            raise ValueError('arc: expected three points that are not on one line')
        self._turning = Turning(start, end)
        self.centre = a + np.cross((u @ u) * w - (w @ w) * u, normal) / (2.0 * size**2)
        self.radius = float(np.linalg.norm(a - self.centre))
        self._x = (a - self.centre) / self.radius
        self._y = np.cross(normal / size, self._x)
        away = c - self.centre
        self.angle = float(np.arctan2(away @ self._y, away @ self._x)) % (2.0 * np.pi)
        turn = float(np.linalg.norm(self._turning.vector))
        self.length = _length(self.radius * self.angle, turn, per_radian)

    def at(self, length: float) -> CurvePoint:
        """Return the pose after a length, m, and its rates."""
        rate = self.angle / self.length
        angle = rate * length
        out = np.cos(angle) * self._x + np.sin(angle) * self._y
        along = -np.sin(angle) * self._x + np.cos(angle) * self._y
        pose = HandPose(self._turning.at(length / self.length), self.centre + self.radius * out)
        still = np.zeros(3)
        return CurvePoint(
            pose,
            np.concatenate([self.radius * rate * along, self._turning.vector / self.length]),
            np.concatenate([-self.radius * rate**2 * out, still]),
            np.concatenate([-self.radius * rate**3 * along, still]),
        )


class Spline:
    """A curve with continuous second derivatives through poses; its length is the sum of the chords.

    Args:
        poses: two or more.
        per_radian: m that count as 1 rad.

    Raises:
        ValueError: fewer than two poses, or two equal ones in a row.
    """

    def __init__(self, poses: Sequence[HandPose], per_radian: float = 1.0) -> None:
        if len(poses) < 2:
            raise ValueError(f'poses: expected two or more, found {len(poses)}')
        chords = [Line(one, next_, per_radian).length for one, next_ in pairwise(poses)]
        if min(chords) <= 0.0:
            raise ValueError(f'poses[{int(np.argmin(chords)) + 1}]: expected another pose than the one before')
        quaternions = [quaternion_of_matrix(pose.rotation) for pose in poses]
        for k in range(1, len(quaternions)):
            if quaternions[k] @ quaternions[k - 1] < 0.0:
                quaternions[k] = -quaternions[k]
        self._knots = np.concatenate([[0.0], np.cumsum(chords)])
        self.length = float(self._knots[-1])
        self._cubics = _natural_spline(self._knots, np.hstack([[pose.position for pose in poses], quaternions]))

    def at(self, length: float) -> CurvePoint:
        """Return the pose after a length, m, and its rates."""
        k = int(np.clip(np.searchsorted(self._knots, length, side='right') - 1, 0, len(self._cubics) - 1))
        t = length - self._knots[k]
        c0, c1, c2, c3 = self._cubics[k]
        value = c0 + t * (c1 + t * (c2 + t * c3))
        rates = c1 + t * (2.0 * c2 + 3.0 * t * c3), 2.0 * c2 + 6.0 * t * c3, 6.0 * c3
        turns = _turns(value[3:], *(rate[3:] for rate in rates))
        pose = HandPose(matrix_of_quaternion(value[3:] / np.linalg.norm(value[3:])), value[:3])
        first, second, third = (np.concatenate([rate[:3], turn]) for rate, turn in zip(rates, turns))
        return CurvePoint(pose, first, second, third)


def _natural_spline(knots: Array, values: Array) -> Array:
    """Return the coefficients (m - 1, 4, d), constant term first, of the cubics through values (m, d) at knots (m,)."""
    h = np.diff(knots)[:, None]
    slopes = np.diff(values, axis=0) / h
    m = len(knots)
    A, b = np.eye(m), np.zeros_like(values)
    for k in range(1, m - 1):
        A[k, k - 1 : k + 2] = h[k - 1, 0], 2.0 * (h[k - 1, 0] + h[k, 0]), h[k, 0]
        b[k] = 6.0 * (slopes[k] - slopes[k - 1])
    bend = np.linalg.solve(A, b)
    first = slopes - h * (2.0 * bend[:-1] + bend[1:]) / 6.0
    return np.stack([values[:-1], first, 0.5 * bend[:-1], np.diff(bend, axis=0) / (6.0 * h)], axis=1)


def _turns(c: Array, d: Array, e: Array, f: Array) -> tuple[Array, Array, Array]:
    """Return angular velocity and its first two rates of the unit quaternion along c, of rates d, e, f."""
    size = float(c @ c)
    back, back_rate = _conjugate(c), _conjugate(d)
    growth = 2.0 * float(c @ d) / size
    growth_rate = 2.0 * float(d @ d + c @ e) / size - growth**2
    w = 2.0 * product(d, back)[:3] / size
    bent = 2.0 * product(e, back)[:3] / size
    w_rate = bent - growth * w
    bent_rate = 2.0 * (product(f, back) + product(e, back_rate))[:3] / size - growth * bent
    return w, w_rate, bent_rate - growth_rate * w - growth * w_rate


def _conjugate(quaternion: Array) -> Array:
    return quaternion * np.array([-1.0, -1.0, -1.0, 1.0])
