"""Rotations of single bodies: quaternions x, y, z, w of norm one, as in ROS messages.

Every node uses these functions, because the import of SciPy's `Rotation` takes longer than reading a machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array

Numbers = Sequence[float] | Array


def _floats(numbers: Numbers) -> Sequence[float]:
    """Return numbers (n,) as Python floats, which are several times faster to access than array elements."""
    return numbers.tolist() if isinstance(numbers, np.ndarray) else numbers


def matrix_of_rpy(angles: Numbers) -> Array:
    """Return the rotation matrix (3, 3) of roll, pitch and yaw about fixed axes x, y, z, rad, as in a URDF."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(angles), np.sin(angles)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def unit_quaternion(numbers: Numbers) -> tuple[float, float, float, float]:
    """Return numbers (4,) scaled to a quaternion of norm one; NaN if all are zero."""
    x, y, z, w = _floats(numbers)
    size = math.sqrt(x * x + y * y + z * z + w * w) or math.nan
    return x / size, y / size, z / size, w / size


def matrix_of_quaternion(quaternion: Numbers) -> Array:
    """Return the rotation matrix (3, 3) of a quaternion of norm one."""
    return np.array(_rows_of_quaternion(quaternion))


def _rows_of_quaternion(quaternion: Numbers) -> tuple[tuple[float, float, float], ...]:
    x, y, z, w = _floats(quaternion)
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )


def turned_back(quaternion: Numbers, vector: Numbers) -> Array:
    """Return a vector (3,) in the axes of a frame with a quaternion of norm one."""
    a, b, c = _rows_of_quaternion(quaternion)
    x, y, z = _floats(vector)
    return np.array((a[0] * x + b[0] * y + c[0] * z, a[1] * x + b[1] * y + c[1] * z, a[2] * x + b[2] * y + c[2] * z))


def quaternion_of_matrix(matrix: Array) -> Array:
    """Return the quaternion (4,) of a rotation matrix.

    The root is taken of the largest of the four squared components, to avoid division by small numbers.
    """
    m = matrix.tolist()
    trace = m[0][0] + m[1][1] + m[2][2]
    squares = m[0][0], m[1][1], m[2][2], trace
    i = squares.index(max(squares))
    if i == 3:
        q = np.array([m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1], 1.0 + trace])
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        q = np.empty(4)
        q[i], q[j], q[k] = 1.0 - trace + 2.0 * m[i][i], m[j][i] + m[i][j], m[k][i] + m[i][k]
        q[3] = m[k][j] - m[j][k]
    return q / length(q)


def quaternion_about(axis: Numbers, angle: float) -> Array:
    """Return the quaternion (4,) of a turn by an angle, rad, about an axis of norm one."""
    x, y, z = axis
    s = np.sin(0.5 * angle)
    return np.array([s * x, s * y, s * z, np.cos(0.5 * angle)])


def product(first: Numbers, second: Numbers) -> Array:
    """Return the quaternion product (4,): rotation by `second`, then by `first`."""
    ax, ay, az, aw = _floats(first)
    bx, by, bz, bw = _floats(second)
    return np.array(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ]
    )


def cross(a: Array, b: Array) -> Array:
    """Return a x b of two vectors (3,), twenty times faster than NumPy's general function."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))


def length(vector: Array) -> float:
    """Return the Euclidean norm of a vector (n,), five times faster than NumPy's general function."""
    return math.sqrt(vector @ vector)


def shortest(start: Array, end: Array) -> Array:
    """Return the quaternion (4,) of the shortest turn from one nonzero vector (3,) to another.

    For opposite directions it is one of the half turns.
    """
    a, b = start / length(start), end / length(end)
    if a @ b < -1.0 + 1e-12:
        aside = np.eye(3)[int(np.argmin(np.abs(a)))]
        across = cross(a, aside)
        return np.append(across / length(across), 0.0)
    q = np.append(cross(a, b), 1.0 + a @ b)
    return q / length(q)


def rotation_vector(matrix: Array) -> Array:
    """Return axis times angle (3,), rad, of a rotation matrix; the angle is at most pi."""
    x, y, z, w = quaternion_of_matrix(matrix).tolist()
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    sine = float(np.sqrt(x * x + y * y + z * z))
    factor = 2.0 if sine < 1e-12 else 2.0 * float(np.arctan2(sine, w)) / sine
    return np.array([factor * x, factor * y, factor * z])


def matrix_of_rotation_vector(vector: Numbers) -> Array:
    """Return the rotation matrix (3, 3) of axis times angle (3,), rad."""
    turn = np.asarray(vector, dtype=np.float64)
    angle = float(np.sqrt(turn @ turn))
    if angle < 1e-150:
        return np.eye(3)
    return matrix_of_quaternion(quaternion_about(turn / angle, angle))


def rpy_of_matrix(matrix: Array) -> Array:
    """Return roll, pitch and yaw (3,), rad, of a rotation matrix; at a pitch of a quarter turn the roll is zero."""
    pitch = float(np.arctan2(-matrix[2, 0], np.hypot(matrix[0, 0], matrix[1, 0])))
    if np.hypot(matrix[0, 0], matrix[1, 0]) < 1e-12:
        return np.array([0.0, pitch, float(np.arctan2(-matrix[0, 1], matrix[1, 1]))])
    return np.array(
        [float(np.arctan2(matrix[2, 1], matrix[2, 2])), pitch, float(np.arctan2(matrix[1, 0], matrix[0, 0]))]
    )
