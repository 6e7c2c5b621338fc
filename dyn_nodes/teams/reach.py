"""Initial poses of hands, and of an object between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.model.rotations import matrix_of_rpy
from dyn_nodes.stability.equilibrium.standing import at_rest
from dyn_nodes.teams.deformable.grasps import on_a_line

UP = np.array([0.0, 0.0, 1.0])


def moved(machine: Machine, pose: tuple[float, float, float]) -> Machine:
    """Return a machine with its initial pose turned and moved on the ground by x, y, m, and a heading, rad."""
    x, y, heading = pose
    first = machine.initial.base_position
    c, s = np.cos(heading), np.sin(heading)
    position = (x + c * first[0] - s * first[1], y + s * first[0] + c * first[1], first[2])
    initial = replace(
        machine.initial,
        base_position=(float(position[0]), float(position[1]), float(position[2])),
        base_yaw=machine.initial.base_yaw + heading,
    )
    return replace(machine, initial=initial)


def hand_position(machine: Machine, hand: str) -> Array:
    """Return the initial position (3,) of a hand, m, with a machine on springs at rest.

    Raises KeyError for a hand that the machine does not have.
    """
    return hand_pose(machine, hand)[0]


def hand_pose(machine: Machine, hand: str) -> tuple[Array, Array]:
    """Return the initial position (3,) of a hand, m, and the axes (3, 3) of its link, in the world."""
    grasp = machine.grasp(hand)
    link = poses_at_start(machine)[grasp.link]
    return np.asarray(link[:3, :3] @ grasp.point + link[:3, 3]), np.asarray(link[:3, :3])


def poses_at_start(machine: Machine) -> dict[str, Array]:
    """Return the initial poses (4, 4) of the links in the world, with a machine on springs at rest."""
    x, y, z, roll, pitch, yaw = machine.initial.pose
    resting = at_rest(machine) if machine.initial.settle else None
    if resting is not None:
        machine, stance = resting
        z, roll, pitch = stance.height, stance.roll, stance.pitch
    root = np.eye(4)
    root[:3, :3], root[:3, 3] = matrix_of_rpy((roll, pitch, yaw)), (x, y, z)
    return link_poses(machine.links, machine.joints, initial_positions(machine), root)


def fitted(patches: Array, hands: Array) -> tuple[Array, Array]:
    """Return position (3,) and rotation (3, 3) of the body whose patches best fit the hands, by least squares.

    If the body can turn about the line through its patches, its z axis is as upright as possible.

    Args:
        patches: (m, 3) in axes of the body, m.
        hands: (m, 3) in the world, m.
    """
    inside, outside = patches - patches.mean(axis=0), hands - hands.mean(axis=0)
    moment = outside.T @ inside
    if on_a_line(patches):
        along = np.linalg.svd(inside)[2][0]
        across, upright = UP - along * (along @ UP), UP
        target = _unit(outside.T @ (inside @ along))
        upright = UP - target * (target @ UP)
        moment = np.outer(target, along) + 0.5 * np.outer(_unit(upright), _unit(across))
    left, _, right = np.linalg.svd(moment)
    sign = np.array([1.0, 1.0, np.linalg.det(left) * np.linalg.det(right)])
    rotation = left @ (sign[:, None] * right)
    return hands.mean(axis=0) - rotation @ patches.mean(axis=0), rotation


def _unit(vector: Array) -> Array:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0.0 else vector
