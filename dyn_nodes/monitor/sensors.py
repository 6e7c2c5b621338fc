"""Properties of the sensors on a machine, for a stability monitor."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.monitor.measured_kernels import up_kernel


@dataclass(frozen=True)
class SensorNoise:
    """Standard deviations of the measurements, and spectral densities of the motion.

    Attributes:
        position, velocity: of a joint, rad and rad/s (m and m/s).
        gyroscope: rad/s.  accelerometer: m/s2.
        jerk_density: of a joint's jerk, rad2/s5.
        turn_density: of the rate of the base's angular acceleration, rad2/s3.
        specific_force_density: of the second derivative of the specific force, (m/s2)2/s3.
    """

    position: float = 3e-5
    velocity: float = 1e-3
    gyroscope: float = 1e-3
    accelerometer: float = 0.01
    jerk_density: float = 0.1
    turn_density: float = 0.1
    specific_force_density: float = 30.0


@dataclass(frozen=True, eq=False)
class ImuMount:
    """Mount of an IMU on the base link.

    Attributes:
        position: (3,) m.
        rotation: (3, 3) axes of the IMU in axes of the base link.
        up_time: time constant with which the direction of gravity follows the specific force, s, if messages have no
            orientation.
    """

    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))
    up_time: float = 2.0


def world_up(quaternion: Array) -> Array:
    """Return the world's z axis (3,) in the axes of a body with orientation (x, y, z, w), of any norm but zero."""
    up, contiguous = np.empty(3), np.empty(4)
    contiguous[:] = quaternion
    up_kernel(contiguous, up)
    return up
