"""How a run begins to move: the velocities of `initial` by the names of the velocities of a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody.tree import BaseForm

Array = NDArray[np.float64]


def given_velocities(machine: Machine, rotation: Array, form: BaseForm = 'quaternion') -> dict[str, float]:
    """Return the velocities that the machine file gives, by name, rad/s or m/s; what it leaves open is absent.

    Args:
        machine: the machine.
        rotation: (3, 3) of the base link in the world at the start.
        form: of the base.
    """
    joints, twist = machine.initial.joint_velocities, machine.initial.base_twist
    given = {joint.name: joints[joint.name] for joint in machine.movable_joints if joint.name in joints}
    if twist.linear is not None:
        given |= _linear(machine.base.attachment, form, np.asarray(twist.linear), rotation)
    if twist.angular is not None:
        given |= _angular(machine.base.attachment, form, np.asarray(twist.angular), rotation)
    return given


def _linear(attachment: str, form: BaseForm, own: Array, rotation: Array) -> dict[str, float]:
    x, y, z = (float(value) for value in rotation @ own)
    if attachment == 'planar':
        return {'base_x': x, 'base_z': z}
    if attachment == 'fixed':
        return {}
    if form == 'virtual_chain':
        return {'base_x': x, 'base_y': y, 'base_z': z}
    return {f'base_v{axis}': float(value) for axis, value in zip('xyz', own)}


def _angular(attachment: str, form: BaseForm, own: Array, rotation: Array) -> dict[str, float]:
    if attachment == 'planar':
        return {'base_pitch': float(own[1])}
    if attachment == 'fixed':
        return {}
    if form == 'virtual_chain':
        return dict(zip(('base_pitch', 'base_roll', 'base_yaw'), _chain_rates(own, rotation)))
    return {f'base_w{axis}': float(value) for axis, value in zip('xyz', own)}


def _chain_rates(own: Array, rotation: Array) -> list[float]:
    """Return the rates of pitch, roll and yaw of a chain that turns by them in this order."""
    from scipy.spatial.transform import Rotation

    _, roll, yaw = Rotation.from_matrix(rotation).as_euler('YXZ')
    after_pitch, after_roll = Rotation.from_euler('XZ', [roll, yaw]), Rotation.from_euler('Z', yaw)
    axes = [after_pitch.inv().apply([0.0, 1.0, 0.0]), after_roll.inv().apply([1.0, 0.0, 0.0]), [0.0, 0.0, 1.0]]
    return [float(rate) for rate in np.linalg.solve(np.array(axes).T, own)]
