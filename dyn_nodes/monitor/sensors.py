"""What a stability monitor knows of the sensors on a machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model.rotations import unit_quaternion

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SensorNoise:
    """Standard deviations of the measurements, and how lively the motion is that they are to follow.

    Attributes:
        position, velocity: of a joint, rad and rad/s (m and m/s).
        gyroscope: rad/s.  accelerometer: m/s2.
        jerk_density: of a joint's jerk, rad2/s5.
        turn_density: of the rate of the base's angular acceleration, rad2/s3.
        felt_density: of the second derivative of the specific force, (m/s2)2/s3.
    """

    position: float = 3e-5
    velocity: float = 1e-3
    gyroscope: float = 1e-3
    accelerometer: float = 0.01
    jerk_density: float = 0.1
    turn_density: float = 0.1
    felt_density: float = 30.0


@dataclass(frozen=True, eq=False)
class ImuMount:
    """Where an IMU sits on the base link.

    Attributes:
        position: (3,) m.
        rotation: (3, 3) axes of the IMU in those of the base link.
        up_time: s; without an orientation in its messages the direction of gravity is drawn to the specific force with
            this time constant.
    """

    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))
    up_time: float = 2.0

    @cached_property
    def _aligned(self) -> bool:
        return np.array_equal(self.rotation, np.eye(3))

    @cached_property
    def away(self) -> bool:
        """Whether the IMU is not at the origin of the base link."""
        return bool(self.position.any())

    def to_base(self, vector: Array) -> Array:
        """Return a vector (3,) in the axes of the IMU in those of the base link."""
        return np.add(vector, 0.0) if self._aligned else self.rotation @ vector


class MeanRate:
    """Mean angular velocity between two instants, from samples in between, by the trapezoidal rule."""

    def __init__(self) -> None:
        self._last = [0.0, 0.0, 0.0]
        self.restart()

    def restart(self) -> None:
        """Begin at the last sample."""
        self._angle, self._time = [0.0, 0.0, 0.0], 0.0

    def add(self, omega: Array, step: float) -> None:
        """Take a sample (3,), rad/s, a step after the last one, s."""
        now, half = omega.tolist(), 0.5 * step
        self._angle = [angle + half * (before + after) for angle, before, after in zip(self._angle, self._last, now)]
        self._last, self._time = now, self._time + step

    def take(self, present: Array) -> Array:
        """Return the mean (3,), rad/s, and begin again; the present one where no time has passed."""
        mean = np.array([angle / self._time for angle in self._angle]) if self._time > 0.0 else present
        self.restart()
        return mean


def world_up(quaternion: Array) -> Array:
    """Return the world's z axis (3,) in the axes of a body with orientation (x, y, z, w), of any norm but zero."""
    x, y, z, w = unit_quaternion(quaternion)
    return np.array([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)])
