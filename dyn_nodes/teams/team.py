"""A team: machines with poses, objects, and grasps. Data only, immutable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.team import GraspKind, ObjectModel
from dyn_nodes.teams.deformable.deformable_object import DeformableObject


@dataclass(frozen=True, eq=False)
class TeamRobot:
    """A machine of a team.

    Attributes:
        name: namespace of its nodes, prefix of its frames.
        machine: its `initial` is moved to the robot's pose and has the joint positions of the team.
        pose: (x, y, heading), m and rad, of the frame of the machine file's `initial`: the pose of the team's file,
            moved horizontally so that the hands meet their patches.
    """

    name: str
    machine: Machine
    pose: tuple[float, float, float]

    @property
    def urdf(self) -> str:
        """Path of the URDF."""
        return self.machine.sources[0]

    @property
    def config(self) -> str:
        """Path of the machine YAML, or ''."""
        return self.machine.sources[1] if len(self.machine.sources) > 1 else ''


@dataclass(frozen=True, eq=False)
class TeamObject:
    """An object of a team.

    Attributes:
        name: of the object in the team.
        item: with its held points as grasps, in the order of the team's grasps; three for a fixed grasp.
        model: of its dynamics.
        position: (3,) of its axes at the start, m.
        rotation: (3, 3) of its axes at the start.
    """

    name: str
    item: DeformableObject
    model: ObjectModel
    position: Array
    rotation: Array

    @property
    def patches(self) -> Array:
        """(m, 3) initial positions of the grasps of `item` without deformation, in the world, m."""
        return np.asarray(self.position + self.item.positions @ self.rotation.T)


@dataclass(frozen=True, eq=False)
class TeamGrasp:
    """A hand on a patch.

    Attributes:
        name, robot, object: in the team.
        hand: of the machine. patch: of the object.
        kind: `ball`; `fixed` also holds the orientation of the patch.
        holding_force, holding_torque: limits above which the hand slips off, N and N m; None: no limit.
        position: (3,) of the hand in the world at the start, m.
        rotation: (3, 3) of its link.
        distance: from the hand to its patch at the start, m.
        nodes: indices of the held grasps of the object's `item`: one for a ball grasp, three for a fixed grasp.
        arms: (k, 3) from the hand to these, in axes of its link, m; their mean is zero.
    """

    name: str
    robot: str
    hand: str
    object: str
    patch: str
    kind: GraspKind
    holding_force: float | None
    holding_torque: float | None
    position: Array
    rotation: Array
    distance: float
    nodes: tuple[int, ...]
    arms: Array

    @property
    def points(self) -> Array:
        """(k, 3) initial positions of the held nodes, in the world, m."""
        return np.asarray(self.position + self.arms @ self.rotation.T)

    def slips(self, force: float, torque: float) -> bool:
        """Return whether the hand slips off under a force, N, and a torque, N m."""
        return any(
            limit is not None and value > limit
            for value, limit in ((force, self.holding_force), (torque, self.holding_torque))
        )


@dataclass(frozen=True, eq=False)
class Team:
    """Robots and the objects that they hold.

    Attributes:
        name: of the team. source: path of its file.
        robots, objects, grasps: by name, in the order of the file.
    """

    name: str
    source: str
    robots: Mapping[str, TeamRobot]
    objects: Mapping[str, TeamObject]
    grasps: Mapping[str, TeamGrasp]

    def grasps_of(self, robot: str) -> tuple[TeamGrasp, ...]:
        """Return the grasps of a robot."""
        return tuple(grasp for grasp in self.grasps.values() if grasp.robot == robot)

    def points_on(self, item: str) -> Array:
        """Return the initial positions (m, 3) of the held nodes of an object in their hands, m."""
        return np.concatenate([grasp.points for grasp in self.grasps_on(item)])

    def grasps_on(self, item: str) -> tuple[TeamGrasp, ...]:
        """Return the grasps on an object, in the order of its patches."""
        return tuple(grasp for grasp in self.grasps.values() if grasp.object == item)
