"""What an inertial measurement unit in the base link's origin, along its axes, would measure on a plant: no errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model.rotations import matrix_of_quaternion, product, shortest
from dyn_nodes.simulation.plant import Plant

Array = NDArray[np.float64]
UP = np.array([0.0, 0.0, 1.0])


class ImuReading(NamedTuple):
    """One measurement.

    Attributes:
        orientation: (4,) quaternion x, y, z, w of the base link in a level world, z against gravity; on a slope that
            world is the ground's frame, turned back by the shortest rotation.
        angular_velocity: (3,) in the base link's axes, rad/s.
        specific_force: (3,) acceleration of the base link's origin less gravity, in its axes, m/s2: +g upwards at rest.
    """

    orientation: Array
    angular_velocity: Array
    specific_force: Array


def read_imu(plant: Plant) -> ImuReading:
    """Return what an IMU measures on a plant now."""
    gravity = plant.p[:3]
    _, orientation = plant.base_pose()
    _, angular_velocity = plant.base_twist()
    felt = plant.base_acceleration() - matrix_of_quaternion(orientation).T @ gravity
    if gravity.any():
        orientation = product(shortest(-gravity, UP), orientation)
    return ImuReading(orientation, angular_velocity, felt)
