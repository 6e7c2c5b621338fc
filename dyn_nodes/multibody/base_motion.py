"""Pose, velocity and acceleration of a base link from positions, velocities and accelerations of a tree, and back.

A free base has q = [x, y, z, quaternion], v = [angular; linear] in its axes; a planar base x, z and pitch.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.rotations import cross, matrix_of_quaternion, unit_quaternion
from dyn_nodes.multibody.tree import BaseForm


def base_pose(attachment: str, q: Array) -> tuple[Array, Array]:
    """Return position (3,) and quaternion x, y, z, w (4,) of the base link in the ground's frame."""
    if attachment == 'free':
        return q[:3], np.array(unit_quaternion(q[3:7]))
    if attachment == 'planar':
        half = 0.5 * q[2]
        return np.array([q[0], 0.0, q[1]]), np.array([0.0, np.sin(half), 0.0, np.cos(half)])
    return np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])


def base_tilt(attachment: str, q: Array) -> float:
    """Return the angle between the base's z axis and the normal of the ground, rad."""
    _, quaternion = base_pose(attachment, q)
    return float(np.arccos(np.clip(matrix_of_quaternion(quaternion)[2, 2], -1.0, 1.0)))


def tilted_beyond(machine: Machine, q: Array) -> str:
    """Return the message with tilt and limit of an overturned machine."""
    tilt, limit = (np.degrees(angle) for angle in (base_tilt(machine.base.attachment, q), machine.overturn_angle))
    return f'the base has tilted by {tilt:.1f} degrees, beyond {limit:.4g}'


def base_twist(attachment: str, q: Array, v: Array) -> tuple[Array, Array]:
    """Return linear and angular velocity (3,) of the base link in its axes, m/s and rad/s."""
    if attachment == 'free':
        return v[3:6], v[:3]
    if attachment == 'planar':
        c, s = np.cos(q[2]), np.sin(q[2])
        vx, vz, rate = v[:3]
        return np.array([c * vx - s * vz, 0.0, s * vx + c * vz]), np.array([0.0, rate, 0.0])
    return np.zeros(3), np.zeros(3)


def base_acceleration(attachment: str, q: Array, v: Array, a: Array) -> Array:
    """Return the acceleration (3,) of the base link's origin over the ground, in its axes, m/s2."""
    if attachment == 'free':
        linear, angular = base_twist(attachment, q, v)
        return np.asarray(a[3:6] + cross(angular, linear))  # v is in turning axes: its rates lack this term
    if attachment == 'planar':
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([c * a[0] - s * a[1], 0.0, s * a[0] + c * a[1]])
    return np.zeros(3)


def base_coordinates(attachment: str, pose: Any, form: BaseForm = 'quaternion') -> list[Any]:
    """Return the generalized positions of a base in a pose (x, y, z, roll, pitch, yaw).

    Args:
        attachment: of the base.
        pose: (6,) numbers, m and rad; expressions are possible except for `virtual_chain`.
        form: of a free base.
    """
    if attachment == 'free' and form == 'virtual_chain':
        from scipy.spatial.transform import Rotation

        # the chain turns by pitch, then roll, then yaw
        pitch, roll, yaw = Rotation.from_euler('ZYX', pose[5:2:-1]).as_euler('YXZ')
        return [pose[2], pose[0], pose[1], pitch, roll, yaw]
    if attachment == 'free':
        return [pose[0], pose[1], pose[2], *_quaternion_of(pose[3], pose[4], pose[5])]
    return [pose[0], pose[2], pose[4]] if attachment == 'planar' else []


def _quaternion_of(roll: Any, pitch: Any, yaw: Any) -> list[Any]:
    """Return the quaternion (x, y, z, w) of Rz(yaw) Ry(pitch) Rx(roll); numbers or expressions."""
    cr, sr, cp, sp, cy, sy = (f(0.5 * a) for a in (roll, pitch, yaw) for f in (ca.cos, ca.sin))
    return [
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    ]


def initial_velocities(machine: Machine, rotation: Array, form: BaseForm = 'quaternion') -> dict[str, float]:
    """Return the initial velocities that the machine file specifies, by name, rad/s or m/s.

    Args:
        machine: the machine.
        rotation: (3, 3) of the base link in the world at the start.
        form: of the base.
    """
    joints, twist = machine.initial.joint_velocities, machine.initial.base_twist
    velocities = {joint.name: joints[joint.name] for joint in machine.movable_joints if joint.name in joints}
    if twist.linear is not None:
        velocities |= _linear(machine.base.attachment, form, np.asarray(twist.linear), rotation)
    if twist.angular is not None:
        velocities |= _angular(machine.base.attachment, form, np.asarray(twist.angular), rotation)
    return velocities


def _linear(attachment: str, form: BaseForm, velocity: Array, rotation: Array) -> dict[str, float]:
    x, y, z = (float(value) for value in rotation @ velocity)
    if attachment == 'planar':
        return {'base_x': x, 'base_z': z}
    if attachment == 'fixed':
        return {}
    if form == 'virtual_chain':
        return {'base_x': x, 'base_y': y, 'base_z': z}
    return {f'base_v{axis}': float(value) for axis, value in zip('xyz', velocity)}


def _angular(attachment: str, form: BaseForm, rate: Array, rotation: Array) -> dict[str, float]:
    if attachment == 'planar':
        return {'base_pitch': float(rate[1])}
    if attachment == 'fixed':
        return {}
    if form == 'virtual_chain':
        return dict(zip(('base_pitch', 'base_roll', 'base_yaw'), _chain_rates(rate, rotation)))
    return {f'base_w{axis}': float(value) for axis, value in zip('xyz', rate)}


def _chain_rates(angular: Array, rotation: Array) -> list[float]:
    """Return the rates of pitch, roll and yaw of a chain of rotations in this order."""
    from scipy.spatial.transform import Rotation

    _, roll, yaw = Rotation.from_matrix(rotation).as_euler('YXZ')
    after_pitch, after_roll = Rotation.from_euler('XZ', [roll, yaw]), Rotation.from_euler('Z', yaw)
    axes = [after_pitch.inv().apply([0.0, 1.0, 0.0]), after_roll.inv().apply([1.0, 0.0, 0.0]), [0.0, 0.0, 1.0]]
    return [float(rate) for rate in np.linalg.solve(np.array(axes).T, angular)]
