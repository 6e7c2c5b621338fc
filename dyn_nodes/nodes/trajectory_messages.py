"""Joint trajectories that come over a topic: checked before anything moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dyn_nodes.control import JointTrajectory, TrajectoryPoint
from dyn_nodes.model import Machine
from dyn_nodes.nodes.commands import RefusedError
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp

TOPIC = 'joint_trajectory'
MOST_AHEAD = 60.0
"""A trajectory that is to start later than this is taken for one with the wrong clock, s."""


def trajectory_of(message: Any, joints: Sequence[str], machine: Machine, now: float) -> JointTrajectory:
    """Return the trajectory of a trajectory_msgs/JointTrajectory, its times counted from now.

    A stamp of 0 means now. Points that lie in the past are left out, as joint_trajectory_controller does.

    Args:
        message: the message.
        joints: the joints that it must name, all of them, in any order.
        machine: for the limits.
        now: s.

    Raises:
        RefusedError: names, sizes, numbers, times, positions outside the limits; names point and joint.
    """
    names = list(message.joint_names)
    _check_names(names, joints)
    points = [_point(point) for point in message.points]
    try:
        trajectory = JointTrajectory.from_points(names, points)
    except ValueError as error:
        raise RefusedError('bad trajectory', f'{TOPIC}: {error}') from None
    _check_limits(trajectory, machine)
    stamp = nanoseconds_of_stamp(message.header.stamp)
    return trajectory if stamp == 0 else _shifted(trajectory, stamp / NANO - now)


def _check_names(names: list[str], joints: Sequence[str]) -> None:
    for name in names:
        if name not in joints:
            raise RefusedError('unknown joint', f'{TOPIC}: unknown joint {name!r}; known: {", ".join(joints)}')
    missing = [joint for joint in joints if joint not in names]
    if missing:
        raise RefusedError('missing joint', f'{TOPIC}: expected all joints, {", ".join(missing)} not found')


def _point(point: Any) -> TrajectoryPoint:
    time = point.time_from_start.sec + point.time_from_start.nanosec / NANO
    return TrajectoryPoint(time, point.positions, point.velocities, point.accelerations)


def _check_limits(trajectory: JointTrajectory, machine: Machine) -> None:
    for column, name in enumerate(trajectory.joint_names):
        joint = machine.joint(name)
        positions = trajectory.positions[:, column]
        outside = np.flatnonzero((positions < joint.lower - 1e-9) | (positions > joint.upper + 1e-9))
        if len(outside):
            k = int(outside[0])
            raise RefusedError(
                'out of range',
                f'{TOPIC}: points[{k}].positions of {name!r}: expected {joint.lower:g} to {joint.upper:g}, '
                f'found {positions[k]:g}',
            )


def _shifted(trajectory: JointTrajectory, delay: float) -> JointTrajectory:
    if delay > MOST_AHEAD:
        raise RefusedError(
            'bad stamp',
            f'{TOPIC}: header.stamp: expected 0 (now) or at most {MOST_AHEAD:g} s ahead, found {delay:.3f} s ahead',
        )
    times = trajectory.times + delay
    kept = times >= 0.0
    if not kept.any():
        raise RefusedError('bad stamp', f'{TOPIC}: header.stamp: its last point lies {-times[-1]:.3f} s in the past')
    return JointTrajectory(
        trajectory.joint_names,
        times[kept],
        trajectory.positions[kept],
        trajectory.velocities[kept],
        trajectory.accelerations[kept],
    )
