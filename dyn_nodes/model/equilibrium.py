"""Pose and wheel loads of a machine at rest on unilateral springs, with exact geometry, in NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.errors import UserError
from dyn_nodes.model.contact import Support
from dyn_nodes.model.machine import Array, Machine
from dyn_nodes.model.posture import (
    attachment_points,
    center_of_mass,
    link_poses,
    rotation_about,
)

LEAST_GRAVITY = 1e-6  # m/s2; below it, no machine rests on the ground
INCLINED = 0.2
"""Roll and pitch, rad, at which a search for rest starts if the level posture leads to no rest."""
X, Y, Z = np.eye(3)


class NoEquilibriumError(UserError, ValueError):
    """The machine cannot rest in the requested posture."""


@dataclass(frozen=True, eq=False)
class Stance:
    """A machine at rest.

    Attributes:
        height: of the base link above the ground plane, m.
        pitch, roll: of the base link against the ground plane, rad; rotation about y after rotation about x.
        loads: (n,) normal force of the ground on each wheel, N, in the order of `machine.supports`: wheels
            first, then the points of contacts.
        contacts: (n, 2) ground points below the wheels, m, in axes of the ground: x along the heading, the base
            link above the origin.
        center: (3,) centre of mass, m, in the same axes, z above the ground.
        zmp: (2,) point of the ground plane below the centre of mass along gravity, m.
    """

    height: float
    pitch: float
    roll: float
    loads: Array
    contacts: Array
    center: Array
    zmp: Array


class Posture(NamedTuple):
    """Posture from which a search for rest starts.

    Attributes:
        height: of the base link above the ground plane, m.
        roll, pitch: of the base link, rad; rotation about y after rotation about x.
        joints: positions of joints by name, rad or m.
    """

    height: float
    roll: float
    pitch: float
    joints: dict[str, float]


def standing_guesses(
    machine: Machine, positions: Mapping[str, float], yielding: Sequence[str], load: float, scale: float
) -> Iterator[Posture]:
    """Yield postures from which a search for rest starts, the initial one first.

    Level; then with the yielding joints at zero and at their limits; then inclined. The springs in contact carry the
    load.

    Args:
        machine: with wheels or other contacts.
        positions: of the joints by name, rad or m.
        yielding: names of the yielding joints.
        load: of the machine along the normal of the ground, N.
        scale: factor of the stiffness of the springs.
    """
    stiffness = scale * np.array([support.stiffness for support in machine.supports])
    for roll, pitch, joints in _inclinations(machine, positions, yielding):
        upwards = (rotation_about(Y, pitch) @ rotation_about(X, roll))[2]
        poses = link_poses(machine.links, machine.joints, {**positions, **joints})
        attachments = attachment_points(machine.supports, poses)
        touching = np.array([support.free_length for support in machine.supports]) - np.array(attachments) @ upwards
        yield Posture(_height_under(load, stiffness, touching), roll, pitch, joints)


def _inclinations(
    machine: Machine, positions: Mapping[str, float], yielding: Sequence[str]
) -> Iterator[tuple[float, float, dict[str, float]]]:
    """Yield roll, pitch and positions of the yielding joints."""
    yield 0.0, 0.0, {}
    limits = {name: (machine.joint(name).lower, machine.joint(name).upper) for name in yielding}
    bounded = {name: bounds for name, bounds in limits.items() if np.isfinite(bounds).all()}
    for joints in (
        dict.fromkeys(bounded, 0.0),
        {name: lower for name, (lower, _) in bounded.items()},
        {name: upper for name, (_, upper) in bounded.items()},
    ):
        if any(value != positions.get(name, 0.0) for name, value in joints.items()):
            yield 0.0, 0.0, joints
    for side in (INCLINED, -INCLINED):
        yield side, 0.0, {}
        yield 0.0, side, {}


def _height_under(load: float, stiffness: Array, touching: Array) -> float:
    """Return the height, m, at which one-sided springs carry a load, N.

    Args:
        load: N.
        stiffness: (n,) N/m.
        touching: (n,) height at which each spring makes contact, m.
    """
    order = np.argsort(-touching)
    sums = np.cumsum(stiffness[order])
    heights = (np.cumsum(stiffness[order] * touching[order]) - load) / sums
    following = np.append(touching[order][1:], -np.inf)
    return float(heights[int(np.argmax(heights >= following))])


def stance_at(machine: Machine, positions: Mapping[str, float], height: float, roll: float, pitch: float) -> Stance:
    """Return the stance of a machine on a plane in a posture; arguments as for `stands`."""
    poses = link_poses(machine.links, machine.joints, positions)
    rotation, lift = rotation_about(Y, pitch) @ rotation_about(X, roll), np.array([0.0, 0.0, height])
    attachments = attachment_points(machine.supports, poses)
    points = np.array(attachments) @ rotation.T + lift
    stiffness, free_length = np.array([(support.stiffness, support.free_length) for support in machine.supports]).T
    center = rotation @ center_of_mass(machine.links, poses, machine.payload)[1] + lift
    gravity = gravity_in_ground(machine)
    loads = stiffness * np.maximum(0.0, free_length - points[:, 2])
    zmp = center[:2] - center[2] * gravity[:2] / gravity[2]
    return Stance(height, pitch, roll, loads, points[:, :2], center, zmp)


def carrying(
    machine: Machine, positions: Mapping[str, float], height: float, roll: float, pitch: float
) -> list[Support]:
    """Return the supports that carry load on a plane; arguments as for `stands`."""
    upwards = (rotation_about(Y, pitch) @ rotation_about(X, roll))[2]
    poses = link_poses(machine.links, machine.joints, positions)
    attachments = attachment_points(machine.supports, poses)
    return [
        support
        for support, attachment in zip(machine.supports, attachments)
        if height + float(upwards @ attachment) < support.free_length
    ]


def stands(machine: Machine, positions: Mapping[str, float], height: float, roll: float, pitch: float) -> bool:
    """Return whether enough supports carry load: three (planar machine: two), or all if there are fewer.

    This excludes a machine that balances on one axle, steeply inclined. Rises of the terrain are not considered; with
    terrain the result is always True.

    Args:
        machine: with wheels or other contacts.
        positions: of the joints by name, rad or m.
        height: of the base link above the ground plane, m.
        roll: of the base link, rad.
        pitch: of the base link, rad; rotation about y after rotation about x.
    """
    if machine.terrain:
        return True
    least = min(2 if machine.base.attachment == 'planar' else 3, len(machine.supports))
    return len(carrying(machine, positions, height, roll, pitch)) >= least


def gravity_in_ground(machine: Machine) -> Array:
    """Return the (3,) gravity vector, m/s2, in axes of the ground plane: z normal to it, x along the heading."""
    roll, pitch = machine.slope
    heading = rotation_about(Z, machine.initial.base_yaw)
    ground = rotation_about(Y, pitch) @ rotation_about(X, roll) @ heading
    return np.asarray(ground.T @ np.array([0.0, 0.0, -machine.gravity]))
