"""Joint trajectories: points in time and the curve through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array


class TrajectoryPoint(NamedTuple):
    """One point. Positions in rad or m; rates may be absent, like empty fields of a message."""

    time_from_start: float
    positions: ArrayLike
    velocities: ArrayLike | None = None
    accelerations: ArrayLike | None = None


class JointReference(NamedTuple):
    """Reference of the joints: (n,) each, rad, rad/s, rad/s2 (or m)."""

    position: Array
    velocity: Array
    acceleration: Array


@dataclass(frozen=True, eq=False)
class JointTrajectory:
    """A curve through points, interpolated segment by segment like the spline method of ros2_controllers.

    Between two points the curve is quintic if both have velocities and accelerations, cubic if both have velocities,
    linear otherwise. It rests before the first point and after the last one.

    Attributes:
        joint_names: (n) in the order of the columns.
        times: (m,) from the start, ascending, s.
        positions, velocities, accelerations: (m, n); rows of NaN for absent rates.
    """

    joint_names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array
    accelerations: Array

    @classmethod
    def from_points(
        cls, joint_names: Sequence[str], points: Sequence[TrajectoryPoint], allow_moving_end: bool = False
    ) -> JointTrajectory:
        """Check points and make a trajectory of them.

        Args:
            joint_names: n names.
            points: at least one; each with n positions and, optionally, n velocities and n accelerations.
            allow_moving_end: accept a last point with nonzero velocity; the joints then stop with a step.

        Raises:
            ValueError: names the point and the field.
        """
        names = tuple(joint_names)
        if not names or len(set(names)) != len(names):
            raise ValueError(f'joint_names: expected names, each once, found {list(names)}')
        if not points:
            raise ValueError('points: expected at least one, found none')
        times = np.array([float(point.time_from_start) for point in points])
        for index in range(len(times)):
            earlier = times[index - 1] if index else -1e-12
            if not (np.isfinite(times[index]) and times[index] > earlier):
                raise ValueError(
                    f'points[{index}].time_from_start: expected a time >= 0 and after the point before, '
                    f'found {times[index]:.6g} s'
                )
        rows = [
            [_row(value, name, index, len(names)) for name, value in zip(TrajectoryPoint._fields[1:], point[1:])]
            for index, point in enumerate(points)
        ]
        positions, velocities, accelerations = (np.array([row[k] for row in rows]) for k in range(3))
        if np.isnan(positions).any():
            bad = int(np.flatnonzero(np.isnan(positions).any(axis=1))[0])
            raise ValueError(f'points[{bad}].positions: expected {len(names)} numbers, found none')
        if not allow_moving_end and np.nanmax(np.abs(velocities[-1]), initial=0.0) > 0.0:
            field = f'points[{len(points) - 1}].velocities'
            raise ValueError(f'{field}: expected zero at the last point, found {velocities[-1].tolist()}')
        return cls(names, times, positions, velocities, accelerations)

    @property
    def duration(self) -> float:
        """Time of the last point, s."""
        return float(self.times[-1])

    def for_joints(self, joint_names: Sequence[str]) -> JointTrajectory:
        """Return the trajectory with its columns in another order. Raises ValueError if the names differ."""
        if set(joint_names) != set(self.joint_names) or len(joint_names) != len(self.joint_names):
            raise ValueError(f'joint_names: expected {sorted(joint_names)}, found {sorted(self.joint_names)}')
        order = [self.joint_names.index(name) for name in joint_names]
        columns = (self.positions[:, order], self.velocities[:, order], self.accelerations[:, order])
        return JointTrajectory(tuple(joint_names), self.times, *columns)

    def starting_from(
        self, position: ArrayLike, velocity: ArrayLike | None = None, acceleration: ArrayLike | None = None
    ) -> JointTrajectory:
        """Return the trajectory that starts from the present state at time 0, unless it has a point there.

        Args:
            position: (n,) present position.
            velocity: (n,); None: zero.
            acceleration: (n,); None: zero.

        Raises:
            ValueError: wrong size, or not finite.
        """
        if self.times[0] <= 0.0:
            return self
        size = len(self.joint_names)
        rest = np.zeros(size)
        start = [
            _row(rest if value is None else value, name, 0, size)
            for name, value in (('positions', position), ('velocities', velocity), ('accelerations', acceleration))
        ]
        return JointTrajectory(
            self.joint_names,
            np.concatenate([[0.0], self.times]),
            np.vstack([start[0], self.positions]),
            np.vstack([start[1], self.velocities]),
            np.vstack([start[2], self.accelerations]),
        )

    def leaves(self, lower: ArrayLike, upper: ArrayLike, samples: int = 33) -> tuple[int, int, float] | None:
        """Return the first position of the curve between the points that is out of range.

        The curve of a segment lies in the hull of its control points; only segments whose hull leaves the range are
        sampled.

        Args:
            lower: (n,) least position of each joint, rad or m.
            upper: (n,) greatest position of each joint, rad or m.
            samples: of such a segment.

        Returns:
            Segment, joint and position, of the first segment that leaves the range; None if none does.
        """
        low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
        hull = self._hull()
        suspicious = ((hull < low) | (hull > high)).any(axis=(0, 2))
        for k in np.flatnonzero(suspicious):
            for time in np.linspace(self.times[k], self.times[k + 1], samples)[1:-1]:
                position = self.sample(float(time)).position
                outside = np.flatnonzero((position < low) | (position > high))
                if len(outside):
                    return int(k), int(outside[0]), float(position[outside[0]])
        return None

    def speeds(self, samples: int = 17) -> Array:
        """Return the greatest speed (m - 1, n) on each segment, at evenly spaced instants, rad/s or m/s."""
        length = np.diff(self.times)[:, None]
        p, v, a = (np.array([rows[:-1], rows[1:]]) for rows in (self.positions, self.velocities, self.accelerations))
        slope = np.abs(p[1] - p[0]) / length
        with np.errstate(over='ignore', invalid='ignore'):
            cubic, quintic = (
                np.max([np.abs(_evaluate(curve, part * length).velocity) for part in np.linspace(0, 1, samples)], 0)
                for curve in (_cubic(p, v, length), _quintic(p, v, a, length))
            )
        curved = np.where(np.isnan(a).any(axis=0), cubic, quintic)
        return np.where(np.isnan(v).any(axis=0), slope, curved)

    def _hull(self) -> Array:
        """Return the control points (6, m - 1, n) of the segments."""
        length = np.diff(self.times)[:, None]
        p, q = self.positions[:-1], self.positions[1:]
        with np.errstate(over='ignore', invalid='ignore'):
            v, w = (np.nan_to_num(rows) * length for rows in (self.velocities[:-1], self.velocities[1:]))
            a, b = (np.nan_to_num(rows) * length**2 for rows in (self.accelerations[:-1], self.accelerations[1:]))
            cubic = np.isnan(self.accelerations[:-1] + self.accelerations[1:])
            linear = np.isnan(self.velocities[:-1] + self.velocities[1:])
            third, fifth = np.array([p + v / 3, q - w / 3]), np.array([p + v / 5, q - w / 5])
            inner = np.array([p + 0.4 * v + a / 20, q - 0.4 * w + b / 20])
        near = np.where(linear, np.array([p, q]), np.where(cubic, third, fifth))
        far = np.where(linear | cubic, near, inner)
        return np.concatenate([[p, q], near, far])

    def sample(self, time: float) -> JointReference:
        """Return the reference at a time from the start, s."""
        rest = np.zeros(len(self.joint_names))
        if time < self.times[0]:
            return JointReference(self.positions[0].copy(), rest, rest.copy())
        if time >= self.times[-1]:
            return JointReference(self.positions[-1].copy(), rest, rest.copy())
        k = int(np.searchsorted(self.times, time, side='right')) - 1
        length, elapsed = self.times[k + 1] - self.times[k], time - self.times[k]
        p, v, a = (table[k : k + 2] for table in (self.positions, self.velocities, self.accelerations))
        if np.isnan(v).any():
            slope = (p[1] - p[0]) / length
            return JointReference(p[0] + slope * elapsed, slope, rest)
        if np.isnan(a).any():
            return _evaluate(_cubic(p, v, length), elapsed)
        return _evaluate(_quintic(p, v, a, length), elapsed)


def _row(value: ArrayLike | None, name: str, index: int, size: int) -> Array:
    """Return n numbers, or n NaN if the field is absent or empty."""
    row = np.asarray([] if value is None else value, dtype=np.float64)
    if row.size == 0:
        return np.full(size, np.nan)
    if row.shape != (size,):
        raise ValueError(f'points[{index}].{name}: expected {size} numbers, found {row.size}')
    if not np.isfinite(row).all():
        raise ValueError(f'points[{index}].{name}: expected finite numbers, found {row.tolist()}')
    return row


def _cubic(p: Array, v: Array, length: float | Array) -> Array:
    """Return the (4, n) coefficients of the cubic Hermite curve, constant term first; (4, m, n) of lengths (m, 1)."""
    rise = (p[1] - p[0]) / length
    return np.array([p[0], v[0], (3 * rise - 2 * v[0] - v[1]) / length, (v[0] + v[1] - 2 * rise) / length**2])


def _quintic(p: Array, v: Array, a: Array, length: float | Array) -> Array:
    """Return the (6, n) coefficients of the quintic Hermite curve, constant term first; (6, m, n) of lengths (m, 1)."""
    rise = p[1] - p[0] - v[0] * length - 0.5 * a[0] * length**2
    speed = v[1] - v[0] - a[0] * length
    bend = a[1] - a[0]
    return np.array(
        [
            p[0],
            v[0],
            0.5 * a[0],
            (10 * rise - 4 * speed * length + 0.5 * bend * length**2) / length**3,
            (-15 * rise + 7 * speed * length - bend * length**2) / length**4,
            (6 * rise - 3 * speed * length + 0.5 * bend * length**2) / length**5,
        ]
    )


def _evaluate(coefficients: Array, time: float | Array) -> JointReference:
    position, velocity, acceleration = (np.zeros_like(coefficients[0]) for _ in range(3))
    for coefficient in coefficients[::-1]:  # Horner, with both derivatives
        acceleration = acceleration * time + 2.0 * velocity
        velocity = velocity * time + position
        position = position * time + coefficient
    return JointReference(position, velocity, acceleration)
