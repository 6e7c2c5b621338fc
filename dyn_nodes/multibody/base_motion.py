"""Pose, velocity and acceleration of a base link from positions, velocities and accelerations of a tree.

A free base has q = [x, y, z, quaternion], v = [angular; linear] in its own axes; a planar one x, z and pitch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model.rotations import cross, length, matrix_of_quaternion

Array = NDArray[np.float64]


def base_pose(attachment: str, q: Array) -> tuple[Array, Array]:
    """Return position (3,) and quaternion x, y, z, w (4,) of the base link in the ground's frame."""
    if attachment == 'free':
        quaternion = q[3:7]
        return q[:3], quaternion / length(quaternion)
    if attachment == 'planar':
        half = 0.5 * q[2]
        return np.array([q[0], 0.0, q[1]]), np.array([0.0, np.sin(half), 0.0, np.cos(half)])
    return np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])


def base_tilt(attachment: str, q: Array) -> float:
    """Return the angle between the base's z axis and the normal of the ground, rad."""
    _, quaternion = base_pose(attachment, q)
    return float(np.arccos(np.clip(matrix_of_quaternion(quaternion)[2, 2], -1.0, 1.0)))


def base_twist(attachment: str, q: Array, v: Array) -> tuple[Array, Array]:
    """Return linear and angular velocity (3,) of the base link in its own axes, m/s and rad/s."""
    if attachment == 'free':
        return v[3:6], v[:3]
    if attachment == 'planar':
        c, s = np.cos(q[2]), np.sin(q[2])
        vx, vz, rate = v[:3]
        return np.array([c * vx - s * vz, 0.0, s * vx + c * vz]), np.array([0.0, rate, 0.0])
    return np.zeros(3), np.zeros(3)


def base_acceleration(attachment: str, q: Array, v: Array, a: Array) -> Array:
    """Return the acceleration (3,) of the base link's origin over the ground, in its own axes, m/s2."""
    if attachment == 'free':
        linear, angular = base_twist(attachment, q, v)
        return np.asarray(a[3:6] + cross(angular, linear))  # velocities in turning axes: their rates lack this
    if attachment == 'planar':
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([c * a[0] - s * a[1], 0.0, s * a[0] + c * a[1]])
    return np.zeros(3)
