"""Leg lengths of a platform on legs of variable length from its pose, in closed form (freeman-1985, p. 127 to 134).

length_r = |p + R b_r - a_r|,   rates = [n^T, (R b_r x n)^T] (velocity; angular velocity)

The pose follows from the lengths by Newton's method with these rates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.trajectory import JointReference
from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses
from dyn_nodes.model.rotations import matrix_of_rotation_vector

LENGTH_TOLERANCE, MOST_STEPS = 1e-12, 30
"""Greatest difference of the lengths of a solution, m, and most steps of Newton's method."""
POINT = ('x', 'y', 'z')
"""Directions of a spherical constraint."""
CENTRED = 1e-9
"""Distance from the axis of a leg up to which its ends count as on it, m."""


@dataclass(frozen=True, eq=False)
class PlatformLegs:
    """Legs between points of the base and of a platform.

    Attributes:
        joints: names of the n prismatic joints.
        bases: (n, 3) ends at the base, in axes of the base link, m.
        vertices: (n, 3) ends at the platform, in its axes, m.
        offsets: (n,) length of a leg less the position of its joint, m.
    """

    joints: tuple[str, ...]
    bases: Array
    vertices: Array
    offsets: Array

    @classmethod
    def of_machine(cls, machine: Machine, platform: str) -> PlatformLegs:
        """Return the legs of a machine: its driven prismatic joints on a line from a ball or fork to a ball.

        Args:
            machine: with legs that end in the platform by joints or by constraints of kind `point`.
            platform: name of the link.

        Raises:
            ValueError: no legs, or one off this line, by name.
        """
        poses = link_poses(machine.links, machine.joints, initial_positions(machine))
        legs = [joint for joint in machine.actuated_joints if joint.type == 'prismatic']
        if not legs or platform not in poses:
            raise ValueError(f'{machine.name}: expected driven prismatic joints and a link {platform!r}')
        carriers = {joint.child: joint for joint in machine.joints}
        bases, vertices, offsets = [], [], []
        for leg in legs:
            root = leg
            while root.parent in carriers:
                root = carriers[root.parent]
            base = (poses[root.parent] @ root.origin)[:3, 3]
            vertex = _vertex(machine, leg, platform, poses)
            tip = _tip(machine, leg, platform, poses)
            axis = poses[leg.child][:3, :3] @ leg.axis
            length = float(axis @ (tip - base))
            if np.linalg.norm(np.cross(axis, tip - base)) > CENTRED or length <= 0:
                raise ValueError(f'{machine.name}: expected a leg along its axis, found {leg.name} beside it')
            bases.append(base)
            vertices.append(vertex)
            offsets.append(length - initial_positions(machine).get(leg.name, 0.0))
        return cls(tuple(leg.name for leg in legs), np.array(bases), np.array(vertices), np.array(offsets))

    def positions(self, origin: ArrayLike, rotation: ArrayLike) -> Array:
        """Return the positions (n,) of the joints at a pose of the platform: origin (3,), m, and rotation (3, 3)."""
        return np.asarray(np.linalg.norm(self._legs(origin, rotation), axis=1) - self.offsets)

    def rates(self, origin: ArrayLike, rotation: ArrayLike) -> Array:
        """Return the joint rates (n, 6) per velocity of the origin and angular velocity, axes of the base."""
        legs = self._legs(origin, rotation)
        along = legs / np.linalg.norm(legs, axis=1)[:, np.newaxis]
        arms = self.vertices @ np.asarray(rotation, float).T
        return np.hstack([along, np.cross(arms, along)])

    def motion(self, origin: ArrayLike, rotation: ArrayLike, twist: Array, acceleration: Array) -> JointReference:
        """Return positions, rates and accelerations of the joints (n,) at a motion of the platform.

        Args:
            origin: (3,) of its origin, m.
            rotation: (3, 3).
            twist: (6,) velocity of the origin and angular velocity, axes of the base.
            acceleration: (6,) rates of the twist.
        """
        turned = self.vertices @ np.asarray(rotation, float).T
        legs = np.asarray(origin, float) + turned - self.bases
        rates = twist[:3] + np.cross(twist[3:], turned)
        second = acceleration[:3] + np.cross(acceleration[3:], turned)
        second = second + np.cross(twist[3:], np.cross(twist[3:], turned))
        lengths = np.linalg.norm(legs, axis=1)
        along = np.einsum('ij,ij->i', legs, rates) / lengths
        growth = np.einsum('ij,ij->i', rates, rates) + np.einsum('ij,ij->i', legs, second) - along**2
        return JointReference(lengths - self.offsets, along, growth / lengths)

    def pose(self, positions: ArrayLike, origin: ArrayLike, rotation: ArrayLike) -> tuple[Array, Array]:
        """Return origin (3,) and rotation (3, 3) of the platform at positions of the joints (n,), near a start pose.

        Raises:
            ValueError: no pose near it has these lengths.
        """
        wanted, p, R = np.asarray(positions, float), np.asarray(origin, float), np.asarray(rotation, float)
        for _ in range(MOST_STEPS):
            gap = wanted - self.positions(p, R)
            if np.abs(gap).max() <= LENGTH_TOLERANCE:
                return p, R
            step: Array = np.linalg.lstsq(self.rates(p, R), gap, rcond=None)[0].astype(np.float64)
            if not np.abs(step).max() < 1.0:  # another branch, or no numbers
                break
            p, R = p + step[:3], matrix_of_rotation_vector(step[3:]) @ R
        listed = ', '.join(f'{value:.4g}' for value in wanted)
        raise ValueError(f'expected positions of the legs for a pose near the last one, found {listed} m')

    def condition(self, origin: ArrayLike, rotation: ArrayLike) -> float:
        """Return the condition number of the rates, turns scaled by the mean radius of the vertices."""
        radius = float(np.linalg.norm(self.vertices - self.vertices.mean(axis=0), axis=1).mean())
        return float(np.linalg.cond(self.rates(origin, rotation) / np.array([1.0, 1.0, 1.0, *[radius] * 3])))

    def _legs(self, origin: ArrayLike, rotation: ArrayLike) -> Array:
        return np.asarray(origin, float) + self.vertices @ np.asarray(rotation, float).T - self.bases


def _tip(machine: Machine, leg: Joint, platform: str, poses: dict[str, Array]) -> Array:
    """Return the end of a leg at the platform (3,), at the start: from the next joint or from a constraint."""
    for joint in machine.joints:
        if joint.parent == leg.child and joint.movable:
            return np.asarray((poses[leg.child] @ joint.origin)[:3, 3])
    end = _constraint(machine, leg, platform)[0]
    return np.asarray(poses[leg.child][:3, :3] @ end + poses[leg.child][:3, 3])


def _vertex(machine: Machine, leg: Joint, platform: str, poses: dict[str, Array]) -> Array:
    """Return the end of a leg in the axes of the platform (3,)."""
    if any(joint.parent == leg.child and joint.movable for joint in machine.joints):
        pose = poses[platform]
        return np.asarray(pose[:3, :3].T @ (_tip(machine, leg, platform, poses) - pose[:3, 3]))
    return _constraint(machine, leg, platform)[1]


def _constraint(machine: Machine, leg: Joint, platform: str) -> tuple[Array, Array]:
    """Return the point of the spherical constraint of a leg and the platform, in the axes of both."""
    for constraint in machine.loops:
        if constraint.directions != POINT:
            continue
        for one, other in ((constraint.first, constraint.second), (constraint.second, constraint.first)):
            if (one.link, other.link) == (leg.child, platform):
                return one.position, other.position
    raise ValueError(f'{machine.name}: expected a joint or a constraint from {leg.child} to {platform}, found none')
