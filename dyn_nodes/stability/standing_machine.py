"""Common part of the rest models of machines: unknowns, guesses and checks of a rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.equilibrium import Posture, carrying, standing_guesses, stands
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import yielding_joints
from dyn_nodes.model.rotations import matrix_of_quaternion, rpy_of_matrix
from dyn_nodes.multibody.base_motion import base_coordinates

OVERRUN = 1e-6
"""Permissible overrun of a joint limit at rest without a stop, rad or m."""
BASE_YIELDS = {'free': (True, True, False, False, False, True), 'planar': (False, True, True)}
"""Coordinates that weight and springs determine: of roll, pitch, yaw, x, y, z, or of x, z, pitch of a planar base."""


class Conditions(NamedTuple):
    """Parameters on which a rest depends.

    Attributes:
        gravity: (3,) in the frame of the ground, m/s2.
        payload: kg.
        stiffness_scale: factor on the stiffness of the contacts.
        stop_scale: factor on the stiffness of the joint stops.
    """

    gravity: Array
    payload: float
    stiffness_scale: float
    stop_scale: float


class StandingMachine:
    """The part of a `rest.RestModel` that follows from the machine alone.

    Args:
        machine: with wheels or other contacts, and a base that moves.
        names: of the positions; a free base has a quaternion.
        velocities: names of the velocities.
        pose: (6,) of the base: x, y, z, roll, pitch, yaw; x, y and yaw are kept.
        joints: positions of the movable joints by name, rad or m.
        conditions: parameters.
    """

    rows = 0

    def __init__(
        self,
        machine: Machine,
        names: Sequence[str],
        velocities: Sequence[str],
        pose: Array,
        joints: Mapping[str, float],
        conditions: Conditions,
    ) -> None:
        self.machine, self.name, self.conditions = machine, machine.name, conditions
        self.planar, self.overturn = machine.base.attachment == 'planar', machine.overturn_angle
        loads = sum(load.mass for load in machine.loads)
        self.mass = machine.total_mass + conditions.payload + loads
        self.weight = self.mass * float(np.linalg.norm(conditions.gravity))
        self.anchored = bool(machine.terrain)
        self._pose, self._start = np.array(pose), dict(joints)
        self._indices = {joint.name: names.index(joint.name) for joint in machine.movable_joints}
        driven = {joint.name for joint in machine.actuated_joints}
        self.free = np.array([k for k, name in enumerate(velocities) if name not in driven], dtype=np.intp)
        self.joints = [velocities[k] for k in self.free]
        self.yielding = yielding_joints(machine, joints)
        movable, base = set(self._indices), BASE_YIELDS[machine.base.attachment]
        passive = self.joints[len(base) :]
        self.yields = np.array([*base, *(name in self.yielding or name not in movable for name in passive)])

    def postures(self) -> Iterator[Posture]:
        """Yield the postures from which a search starts."""
        load = -self.mass * float(self.conditions.gravity[2])
        if load > 0.0:
            scale = self.conditions.stiffness_scale
            yield from standing_guesses(self.machine, self._start, self.yielding, load, scale)

    def put(self, q: Array, posture: Posture) -> Array:
        """Return positions with base and joints in a posture."""
        q, pose = np.array(q), self._pose.copy()
        pose[2:5] = posture.height, posture.roll, posture.pitch
        base = base_coordinates(self.machine.base.attachment, pose)
        q[: len(base)] = base
        for name, value in posture.joints.items():
            q[self._indices[name]] = value
        return q

    def positions(self, q: Array) -> dict[str, float]:
        """Return the positions of the movable joints by name."""
        return {name: float(q[index]) for name, index in self._indices.items()}

    def pose(self, q: Array) -> Array:
        """Return (6,) x, y, z, roll, pitch and yaw of the base."""
        if self.planar:
            return np.array([q[0], self._pose[1], q[1], self._pose[3], q[2], self._pose[5]])
        return np.array([*q[:3], *rpy_of_matrix(matrix_of_quaternion(q[3:7]))])

    def objection(self, q: Array) -> str:
        """Return why a balanced position is no rest of the machine, or ''."""
        positions, (_, _, height, roll, pitch, _) = self.positions(q), self.pose(q)
        for name in self.yielding if self.conditions.stop_scale == 0.0 else ():
            joint, value = self.machine.joint(name), positions[name]
            if not joint.lower - OVERRUN <= value <= joint.upper + OVERRUN:
                return (
                    f'no rest within the limits of joint {name!r}: expected {joint.lower:.4g} to {joint.upper:.4g}, '
                    f'found {value:.4g}'
                )
        if not stands(self.machine, positions, height, roll, pitch):
            return 'no stable rest in this posture: too few wheels carry load'
        return ''

    def carrying(self, q: Array) -> list[str]:
        """Return the names of the contacts that carry load."""
        _, _, height, roll, pitch, _ = self.pose(q)
        supports = carrying(self.machine, self.positions(q), height, roll, pitch)
        return list(dict.fromkeys(support.contact for support in supports))
