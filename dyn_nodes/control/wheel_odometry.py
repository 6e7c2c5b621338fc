"""Odometry of a vehicle from its wheels, with covariance and slip.

    odometry = WheelOdometry(base)
    odometry.step(dt, wheel_positions, wheel_speeds, steering_angles, steering_rates)
    odometry.pose, odometry.slip

Every wheel measures the velocity of its centre along its grip; a tyre also measures zero velocity across (`WheelBase`).
The twist is the weighted least-squares solution over all wheels, driven or not. Its residual is the observable slip,
m/s at each wheel, which requires redundant wheels. If `slip_dimensions` is 0, all wheel speeds fit some motion, and
slip is an unobservable error of the pose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.wheel_base import WheelBase

GAP = 0.1
"""Time between two joint states up to which a wheel's speed resolves whole turns, s."""
SEEN = 1e-9
"""Determinant of the normal equations, over the cube of their trace, below which a motion is not observable."""


@dataclass(frozen=True)
class OdometryNoise:
    """Noise of the wheels.

    Attributes:
        rolling: standard deviation of the way along the grip of a wheel, after 1 m, m; it grows with the root
            of the way.
        lateral: the same for a tyre across its rolling direction, m.
        speed: standard deviation of a wheel's speed over ground at rest, m/s.
    """

    rolling: float = 0.01
    lateral: float = 0.02
    speed: float = 0.002


class WheelOdometry:
    """Dead reckoning from wheel and steering angles.

    Args:
        base: the wheels.
        noise: see there.

    Attributes:
        pose: (x, y, yaw) in the frame of the start, m, rad.
        twist: (vx, vy, wz) of the base now.
        rolling: twist without slip; on tracks `twist` follows from it by their slip law.
        pose_covariance: (3, 3) of the pose, fixed axes.
        twist_covariance: (3, 3).
        slip: (n,) of the wheels now, m/s: norm of the residual at each wheel.
        distance: way of the base so far, m.
    """

    def __init__(self, base: WheelBase, noise: OdometryNoise | None = None) -> None:
        self.base, self.noise = base, noise or OdometryNoise()
        self._across = np.flatnonzero(base.tyres)
        if base.drags:  # tyres that drag in every turn do not measure the way across
            self._across = np.array([k for k in self._across if not base.wheels[k].is_fixed], dtype=np.intp)
        spread = [self.noise.rolling] * len(base.wheels) + [self.noise.lateral] * len(self._across)
        if base.drags:
            spread.append(self.noise.lateral)
        self._spread = np.array(spread)
        self._weights = (self.noise.rolling / self._spread) ** 2  # relative to a rolling wheel's
        self._cached: tuple[Array, tuple[Array, Array, Array]] | None = None
        self.reset()

    def reset(self, pose: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> None:
        """Start at an exact pose."""
        self.pose = np.array(pose, dtype=np.float64)
        self.twist, self.rolling = np.zeros(3), np.zeros(3)
        self.pose_covariance = np.zeros((3, 3))
        self.twist_covariance = np.zeros((3, 3))
        self.slip = np.zeros(len(self.base.wheels))
        self.distance = 0.0
        self._last: tuple[Array, Array] | None = None

    def step(self, dt: float, turns: Array, speeds: Array, angles: Array, rates: Array) -> None:
        """Process joint states.

        Args:
            dt: since the last call, s; ignored in the first one.
            turns: (n,) angles about the axles, positive ahead, rad; they may be wrapped to a turn.
            speeds: (n,) rad/s.
            angles: (n,) of steering, rad.
            rates: (n,) of steering, rad/s.
        """
        self.rolling, left = self._solve(speeds, angles, rates)
        self.twist = self.base.moved(self.rolling)
        self.slip = self._by_wheel(left)
        inverse = self._matrices(angles)[0]
        self.twist_covariance = self._covariance(inverse, self.noise.speed**2 / self._weights + left**2)
        if self._last is not None and dt > 0.0:
            before, were = self._last
            mean = _unwrapped(turns - before, speeds, dt)
            turned = _unwrapped(angles - were, rates, dt)
            self._move(dt, mean / dt, were + 0.5 * turned, turned / dt)
        self._last = turns.copy(), angles.copy()

    # -- solving -------------------------------------------------------------------------------------------------------

    def _matrices(self, angles: Array) -> tuple[Array, Array, Array]:
        """Return the inverse (3, m), the rows (m, 3) and the swing of every row (m,); cached for the last angles."""
        if self._cached is not None and np.array_equal(self._cached[0], angles):
            return self._cached[1]
        rolling, along = self.base.rolling_rows(angles)
        lateral, across = self.base.lateral_rows(angles)
        rows, swing = np.vstack([rolling, lateral[self._across]]), np.concatenate([along, across[self._across]])
        if self.base.drags:
            assert self.base.constraint is not None
            rows, swing = np.vstack([rows, self.base.constraint]), np.append(swing, 0.0)
        weighed = rows.T * self._weights
        normal = weighed @ rows
        if np.linalg.det(normal) > SEEN * float(np.trace(normal)) ** 3:
            inverse = np.linalg.solve(normal, weighed)
        else:
            root = np.sqrt(self._weights)
            inverse = np.linalg.pinv(root[:, None] * rows, rcond=1e-6) * root
        matrices = (inverse, rows, swing)
        self._cached = (angles.copy(), matrices)
        return matrices

    def _solve(self, speeds: Array, angles: Array, rates: Array) -> tuple[Array, Array]:
        """Return the twist (3,) and the residual of every row (m,), m/s."""
        inverse, rows, swing = self._matrices(angles)
        measured = np.zeros(len(rows))
        measured[: len(speeds)] = self.base.reach * speeds
        steering = np.concatenate([rates, rates[self._across], np.zeros(len(rows) - len(rates) - len(self._across))])
        measured -= swing * steering
        twist = inverse @ measured
        return twist, measured - rows @ twist

    def _by_wheel(self, left: Array) -> Array:
        count = len(self.base.wheels)
        slip = left[:count] ** 2
        slip[self._across] += left[count : count + len(self._across)] ** 2
        return np.asarray(np.sqrt(slip))

    @staticmethod
    def _covariance(inverse: Array, variances: Array) -> Array:
        return np.asarray((inverse * variances) @ inverse.T)

    # -- pose ----------------------------------------------------------------------------------------------------------

    def _move(self, dt: float, speeds: Array, angles: Array, rates: Array) -> None:
        """Advance by a period with the mean speeds, on the arc of a constant twist."""
        rolling, left = self._solve(speeds, angles, rates)
        twist = self.base.moved(rolling)
        inverse, rows, _ = self._matrices(angles)
        way = np.abs(rows @ rolling) * dt
        way[len(speeds) :] = np.hypot(twist[0], twist[1]) * dt  # lateral drift grows with the way of the base
        noise = self._covariance(inverse, self._spread**2 * way + (left * dt) ** 2)
        step = twist * dt
        to_start = arc(step)
        c, s = np.cos(self.pose[2]), np.sin(self.pose[2])
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        moved = turn @ to_start
        carry = np.eye(3)
        carry[:2, 2] = -moved[1], moved[0]
        self.pose_covariance = carry @ self.pose_covariance @ carry.T + turn @ noise @ turn.T
        self.pose = self.pose + moved
        self.distance += float(np.hypot(*step[:2]))

    # -- observability -------------------------------------------------------------------------------------------------

    def slip_dimensions(self, angles: Array | None = None) -> int:
        """Return the number of independent combinations of wheel speeds without a motion; 0: slip is unobservable."""
        inverse, rows, _ = self._matrices(np.zeros(len(self.base.wheels)) if angles is None else angles)
        speeds = len(self.base.wheels)
        left = np.eye(len(rows))[:, :speeds] - rows @ inverse[:, :speeds]
        return int(np.linalg.matrix_rank(left, tol=1e-6))

    def determines_motion(self, angles: Array | None = None) -> bool:
        """Return whether the wheels determine the twist."""
        rows = self._matrices(np.zeros(len(self.base.wheels)) if angles is None else angles)[1]
        return int(np.linalg.matrix_rank(rows, tol=1e-6)) == 3


def arc(step: Array) -> Array:
    """Return the pose (x, y, yaw) at the end of a constant twist times its duration (x, y, yaw): the exponential."""
    x, y, yaw = (float(value) for value in step)
    a = float(np.sinc(yaw / np.pi))  # sin(yaw) / yaw
    b = float(np.sin(0.5 * yaw) * np.sinc(0.5 * yaw / np.pi))  # (1 - cos(yaw)) / yaw
    return np.array([a * x - b * y, b * x + a * y, yaw])


def _unwrapped(change: Array, rates: Array, dt: float) -> Array:
    """Return changes of angles with whole turns added if an encoder has wrapped; after a gap these are unknown."""
    if dt > GAP:
        return change
    return np.asarray(change + 2.0 * np.pi * np.round((rates * dt - change) / (2.0 * np.pi)))
