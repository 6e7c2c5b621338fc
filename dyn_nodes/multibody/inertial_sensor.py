"""An ideal inertial measurement unit at the origin of the base link, along its axes."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.rotations import product, shortest, turned_back

UP = np.array([0.0, 0.0, 1.0])


class ImuReading(NamedTuple):
    """One measurement.

    Attributes:
        orientation: (4,) quaternion x, y, z, w of the base link in a level world, z against gravity; on a slope this
            world is the ground's frame after the shortest rotation that levels it.
        angular_velocity: (3,) in the base link's axes, rad/s.
        specific_force: (3,) acceleration of the base link's origin less gravity, in its axes, m/s2: +g upwards at rest.
    """

    orientation: Array
    angular_velocity: Array
    specific_force: Array


class MovingBase(Protocol):
    """Interface of a plant for an IMU on its base."""

    p: Array
    """Parameters; the first three are gravity, m/s2."""

    def base_pose(self) -> tuple[Array, Array]:
        """Return the position (3,), m, and the quaternion x, y, z, w (4,) of the base link."""

    def base_twist(self) -> tuple[Array, Array]:
        """Return the linear (3,), m/s, and the angular velocity (3,), rad/s, in the axes of the base link."""

    def base_acceleration(self) -> Array:
        """Return the acceleration (3,) of the origin in the axes of the base link, m/s2."""


@lru_cache(maxsize=16)
def _leveling(x: float, y: float, z: float) -> tuple[float, ...]:
    """Return the quaternion of the shortest turn from the direction against gravity (x, y, z), m/s2, to z."""
    return tuple(shortest(-np.array([x, y, z]), UP).tolist())


def read_imu(plant: MovingBase) -> ImuReading:
    """Return the reading of an IMU on a plant in its state."""
    gravity = plant.p[:3]
    _, orientation = plant.base_pose()
    _, angular_velocity = plant.base_twist()
    specific_force = plant.base_acceleration() - turned_back(orientation, gravity)
    down = gravity.tolist()
    if any(down):
        orientation = product(_leveling(*down), orientation)
    return ImuReading(orientation, angular_velocity, specific_force)
