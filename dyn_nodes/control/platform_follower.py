"""A platform on legs of variable length follows poses and timed trajectories in six degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.control.hand.kinematics import HandPose
from dyn_nodes.control.platform_legs import PlatformLegs
from dyn_nodes.control.pose_reference import PoseLimits, PoseReference
from dyn_nodes.control.pose_trajectory import PoseTrajectory
from dyn_nodes.control.trajectory import JointReference
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses

SAMPLES = 60
"""Number of instants at which the way to a pose is checked before the motion."""
FINEST, LEAST_SAMPLES = 0.02, 6
"""Time between checks of a trajectory, s, and their least number between two poses."""


class ReachError(UserError, ValueError):
    """A pose or a motion beyond the limits of a leg; the message names it."""


@dataclass(frozen=True, eq=False)
class LegLimits:
    """Limits of n legs.

    Attributes:
        names: of the joints.
        lower, upper: (n,) m.
        speed: (n,) m/s; infinite without a limit.
    """

    names: tuple[str, ...]
    lower: Array
    upper: Array
    speed: Array

    @classmethod
    def of(cls, machine: Machine, names: tuple[str, ...]) -> LegLimits:
        """Return the limits of joints of a machine."""
        joints = [machine.joint(name) for name in names]
        speed = [joint.velocity_limit if joint.velocity_limit > 0.0 else np.inf for joint in joints]
        return cls(
            names, np.array([j.lower for j in joints]), np.array([j.upper for j in joints]), np.array(speed, float)
        )

    def check(self, motion: JointReference, when: str) -> None:
        """Raise ReachError if a motion exceeds the limits; `when` ends the message."""
        outside = (motion.position < self.lower) | (motion.position > self.upper)
        if outside.any():
            k = int(np.argmax(outside))
            raise ReachError(
                f'{self.names[k]}: expected {self.lower[k]:g} to {self.upper[k]:g} m, '
                f'found {motion.position[k]:.4g} m{when}'
            )
        fast = np.abs(motion.velocity) > self.speed
        if fast.any():
            k = int(np.argmax(fast))
            actual = f'found {abs(motion.velocity[k]):.4g} m/s{when}'
            raise ReachError(f'{self.names[k]}: expected at most {self.speed[k]:g} m/s, {actual}')


def platform_of(machine: Machine, link: str = '') -> tuple[str, PlatformLegs]:
    """Return the platform of a machine and its legs.

    Args:
        machine: the machine.
        link: name of the platform; empty: the link in which all driven prismatic joints end.

    Raises:
        ValueError: no such link or legs.
    """
    if link:
        return link, PlatformLegs.of_machine(machine, link)
    ends = [end.link for constraint in machine.constraints for end in constraint.ends]
    for name in dict.fromkeys(ends):
        try:
            return name, PlatformLegs.of_machine(machine, name)
        except ValueError:
            continue
    raise ValueError(f'{machine.name}: expected a platform on driven legs of variable length, found none')


class PlatformFollower:
    """Reference of a platform and of its legs.

    Args:
        machine: whose legs these are.
        link: the platform; empty: determined from its legs.
        limits: of its way to a pose.
        greatest_condition: of the rates of the legs; a pose beyond it is rejected as singular.

    Raises:
        ValueError: no platform, or other than six legs, which do not determine its pose.

    Attributes:
        link: the platform.
        legs: its legs.
        reference: of its motion.
        measured: pose from the measured legs.
    """

    def __init__(self, machine: Machine, link: str, limits: PoseLimits, greatest_condition: float = 50.0) -> None:
        self.link, self.legs = platform_of(machine, link)
        if len(self.legs.joints) != 6:
            raise ValueError(f'{machine.name}: expected six legs at {self.link!r}, found {len(self.legs.joints)}')
        self.limits = LegLimits.of(machine, self.legs.joints)
        self.greatest_condition = greatest_condition
        pose = link_poses(machine.links, machine.joints, initial_positions(machine))[self.link]
        self.home = self.measured = HandPose(pose[:3, :3], pose[:3, 3])
        self.reference = PoseReference(self.home, limits)

    def measure(self, positions: ArrayLike) -> None:
        """Compute the pose from measured legs (n,), m. Raises ValueError if there is none near the last one."""
        near = self.measured
        position, rotation = self.legs.pose(positions, near.position, near.rotation)
        self.measured = HandPose(rotation, position)

    def restart(self, positions: ArrayLike) -> None:
        """Hold the pose of measured legs (n,), m, searched from the machine's initial pose. Raises ValueError."""
        self.measured = self.home
        self.measure(positions)
        self.hold()

    def hold(self) -> None:
        """Rest at the measured pose."""
        self.reference.restart(self.measured)

    def sample(self) -> JointReference:
        """Return positions, rates and accelerations of the legs now, (n,) each."""
        pose, twist, acceleration = self.reference.motion
        return self.legs.motion(pose.position, pose.rotation, twist, acceleration)

    @property
    def error(self) -> tuple[float, float]:
        """Distance and angle of the measured platform from its reference, m and rad."""
        off = self.measured.error_to(self.reference.motion.pose)
        return float(np.linalg.norm(off[:3])), float(np.linalg.norm(off[3:]))

    def go_to(self, pose: HandPose) -> None:
        """Go to a pose. Raises ReachError at leg limits or a singular pose on the way; the reference is kept."""
        start = self.reference.motion.pose
        step = start.error_to(pose)
        for part in np.linspace(0.0, 1.0, SAMPLES)[1:]:
            self._check_pose(start.moved(part * step), '' if part == 1.0 else ' on the way')
        self.reference.go_to(pose)

    def follow(self, trajectory: PoseTrajectory) -> None:
        """Follow a trajectory. Raises ReachError if legs are too short, too long or too slow, or a pose is singular."""
        for time in _check_times(trajectory.times):
            pose, twist, acceleration = trajectory.at(float(time))
            when = f' after {time:.3g} s'
            self.limits.check(self.legs.motion(pose.position, pose.rotation, twist, acceleration), when)
            self._check_condition(pose, when)
        self.reference.follow(trajectory)

    def _check_pose(self, pose: HandPose, when: str) -> None:
        self.limits.check(self.legs.motion(pose.position, pose.rotation, np.zeros(6), np.zeros(6)), when)
        self._check_condition(pose, when)

    def _check_condition(self, pose: HandPose, when: str) -> None:
        condition = self.legs.condition(pose.position, pose.rotation)
        if not condition <= self.greatest_condition:
            raise ReachError(
                f'{self.link}: expected a condition number of at most {self.greatest_condition:g}, '
                f'found {condition:.3g}{when}: a singular pose is near'
            )


def _check_times(times: Array) -> Array:
    """Return instants (m,) at and between the times of poses (n,), s."""
    pieces = []
    for start, end in pairwise(times):
        count = max(LEAST_SAMPLES, int(np.ceil((end - start) / FINEST)))
        pieces.append(np.linspace(start, end, count, endpoint=False))
    return np.concatenate([*pieces, times[-1:]])
