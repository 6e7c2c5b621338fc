"""Rotations in viser's order (w, x, y, z), and directions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from dyn_nodes.common.arrays import Array


def wxyz(rotation: Rotation) -> Array:
    """Return a rotation as w, x, y, z."""
    x, y, z, w = rotation.as_quat()
    return np.array((w, x, y, z))


def rotation_of(quaternion: ArrayLike) -> Rotation:
    """Return the rotation of a quaternion x, y, z, w; the identity for zero length."""
    values = np.asarray(quaternion, dtype=np.float64)
    size = float(np.linalg.norm(values))
    return Rotation.from_quat(values / size) if size > 1e-9 and np.isfinite(size) else Rotation.identity()


def ground_rotation(roll: float, pitch: float) -> Rotation:
    """Return the pose of a ground plane turned by roll about x and pitch about y, in the level world.

    Gravity (g sin(pitch), -g sin(roll) cos(pitch), -g cos(roll) cos(pitch)) in the ground's frame points straight down
    after this rotation. Positive pitch: the front is downhill.
    """
    down = np.array((np.sin(pitch), -np.sin(roll) * np.cos(pitch), -np.cos(roll) * np.cos(pitch)))
    return shortest_turn(down, np.array((0.0, 0.0, -1.0)))


def shortest_turn(start: Array, end: Array) -> Rotation:
    """Return the smallest rotation from unit vector `start` (3,) to unit vector `end` (3,)."""
    axis = np.cross(start, end)
    sine, cosine = float(np.linalg.norm(axis)), float(np.dot(start, end))
    if sine < 1e-12:
        if cosine > 0.0:
            return Rotation.identity()
        other = np.array((1.0, 0.0, 0.0)) if abs(start[0]) < 0.9 else np.array((0.0, 1.0, 0.0))
        axis = np.cross(start, other)
        return Rotation.from_rotvec(np.pi * axis / np.linalg.norm(axis))
    return Rotation.from_rotvec(np.arctan2(sine, cosine) * axis / sine)


def yaw_of(quaternion: ArrayLike) -> float:
    """Return the heading of a quaternion x, y, z, w, rad."""
    ahead = rotation_of(quaternion).apply((1.0, 0.0, 0.0))
    return float(np.arctan2(ahead[1], ahead[0]))


def roll_pitch(quaternion: ArrayLike) -> tuple[float, float]:
    """Return roll about x and pitch about y of a quaternion x, y, z, w, rad (order yaw, pitch, roll)."""
    _, pitch, roll = rotation_of(quaternion).as_euler('ZYX')
    return float(roll), float(pitch)
