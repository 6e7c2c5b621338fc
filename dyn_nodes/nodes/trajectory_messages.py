"""Joint trajectories that come over a topic: checked before anything moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.control import JointTrajectory, TrajectoryPoint
from dyn_nodes.model import Machine
from dyn_nodes.nodes.commands import RefusedError
from dyn_nodes.nodes.plausible import LARGEST_VELOCITY, Bounds
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp

Array = NDArray[np.float64]

TOPIC = 'joint_trajectory'
LARGEST_ACCELERATION = 1e6
"""Of a point, rad/s2 or m/s2."""
MOST_AHEAD = 60.0
"""A trajectory that is to start later than this is taken for one with the wrong clock, s."""


def trajectory_of(
    message: Any, joints: Sequence[str], machine: Machine, now: float, start: tuple[Array, Array] | None = None
) -> JointTrajectory:
    """Return the trajectory of a trajectory_msgs/JointTrajectory, its times counted from now.

    A stamp of 0 means now. Points that lie in the past are left out, as joint_trajectory_controller does.

    Args:
        message: the message.
        joints: the joints that it must name, all of them, in any order.
        machine: for the limits.
        now: s.
        start: positions and velocities of `joints` now, where the curve begins.

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
    if stamp != 0:
        trajectory = _shifted(trajectory, stamp / NANO - now)
    _check_curve(trajectory if start is None else _from_start(trajectory, joints, start), machine)
    return trajectory


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


def _from_start(trajectory: JointTrajectory, joints: Sequence[str], start: tuple[Array, Array]) -> JointTrajectory:
    order = [list(joints).index(name) for name in trajectory.joint_names]
    return trajectory.starting_from(start[0][order], start[1][order])


def _check_curve(trajectory: JointTrajectory, machine: Machine) -> None:
    """Check rates, and where the curve between the points goes. Raises RefusedError."""
    names = trajectory.joint_names
    for what, table, largest in (
        ('velocities', trajectory.velocities, LARGEST_VELOCITY),
        ('accelerations', trajectory.accelerations, LARGEST_ACCELERATION),
    ):
        if (found := np.nanmax(np.abs(table), initial=0.0)) > largest:
            raise RefusedError('out of range', f'{TOPIC}: {what}: expected at most {largest:g}, found {found:g}')
    bounds = Bounds.of(machine, names)
    if (place := trajectory.leaves(bounds.low, bounds.high)) is not None:
        segment, column, position = place
        raise RefusedError(
            'out of range',
            f'{TOPIC}: the curve between points takes {names[column]!r} to {position:g} after '
            f'{trajectory.times[segment]:g} s: expected {bounds.low[column]:g} to {bounds.high[column]:g}',
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
