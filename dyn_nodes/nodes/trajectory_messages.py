"""Joint trajectories from messages, with their checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control import JointTrajectory, TrajectoryPoint
from dyn_nodes.control.trajectory_goals import with_stop
from dyn_nodes.model import Machine
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.plausible import LARGEST_VELOCITY, Bounds
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp

TOPIC = 'joint_trajectory'
LARGEST_ACCELERATION = 1e6
"""Greatest acceleration of a point, rad/s2 or m/s2."""
LAG, LAG_OF_SLIDES = 0.05, 0.02
"""Greatest distance of a point at time 0 from a joint, which may lag: rad, and m for a prismatic joint."""
SPEED_MARGIN = 1.05
"""Greatest speed of a curve over the joint's limit: it slightly exceeds the points of a planner at the limit."""
MOST_AHEAD = 60.0
"""Greatest delay of a trajectory's start, s; a later one is due to another clock."""


class TrajectoryRules(NamedTuple):
    """Rules for trajectories, named as the parameters of joint_trajectory_controller.

    Attributes:
        partial: `allow_partial_joints_goal`.
        moving_end: `allow_nonzero_velocity_at_trajectory_end`; a controlled stop follows such an end.
        held: positions of joints that are left out, by name, rad or m.
        decelerations: greatest ones of the stop by joint, rad/s2 or m/s2.
    """

    partial: bool = False
    moving_end: bool = False
    held: Mapping[str, float] = {}
    decelerations: Mapping[str, float] = {}


STRICT = TrajectoryRules()
"""All joints, which are at rest after the last point."""


def last_point_of(message: Any, trajectory: JointTrajectory) -> float:
    """Return the time of the last point of a message in its trajectory, s: before a controlled stop."""
    return float(trajectory.times[-2 if any(message.points[-1].velocities) else -1])


def trajectory_of(
    message: Any,
    joints: Sequence[str],
    machine: Machine,
    now: float,
    start: tuple[Array, Array] | None = None,
    rules: TrajectoryRules = STRICT,
) -> JointTrajectory:
    """Return the trajectory of a trajectory_msgs/JointTrajectory, its times counted from now.

    A stamp of 0 means now. Points in the past are left out, as in joint_trajectory_controller. A trajectory with a
    point at time 0 is moved by whole turns of continuous joints to where these are: planners know angles within a turn.

    Args:
        message: the message.
        joints: its joints, all of them or some, by the rules, in any order.
        machine: for the limits.
        now: s.
        start: present positions and velocities of `joints`, the start of the curve.
        rules: for left out joints and the last point.

    Raises:
        RejectedError: names, sizes, numbers, times, positions or speeds outside the limits, another start; with point
            and joint.
    """
    names = list(message.joint_names)
    _check_names(names, joints, rules.partial)
    points = [_point(point) for point in message.points]
    try:
        trajectory = JointTrajectory.from_points(names, points, rules.moving_end)
    except ValueError as error:
        raise RejectedError('bad trajectory', f'{TOPIC}: {error}') from None
    trajectory = _completed(trajectory, [name for name in joints if name not in names], rules.held)
    if rules.moving_end:
        trajectory = with_stop(trajectory, np.array([rules.decelerations[name] for name in trajectory.joint_names]))
    _check_limits(trajectory, machine)
    stamp = nanoseconds_of_stamp(message.header.stamp)
    if stamp != 0:
        trajectory = _shifted(trajectory, stamp / NANO - now)
    if start is None:
        _check_curve(trajectory, machine)
        return trajectory
    order = [list(joints).index(name) for name in trajectory.joint_names]
    here, rates = (values[order] for values in start)
    trajectory = _turned(trajectory, machine, here)
    _check_beginning(trajectory, machine, here)
    curve = trajectory.starting_from(here, rates)
    _check_curve(curve, machine)
    _check_speeds(curve, machine, rates if len(curve.times) > len(trajectory.times) else None)
    return trajectory


def _completed(trajectory: JointTrajectory, missing: Sequence[str], held: Mapping[str, float]) -> JointTrajectory:
    """Return a trajectory in which missing joints keep their positions."""
    if not missing:
        return trajectory
    positions = np.tile([held[name] for name in missing], (len(trajectory.times), 1))
    tables = [np.hstack([trajectory.positions, positions])]
    for table in (trajectory.velocities, trajectory.accelerations):
        tables.append(np.hstack([table, np.where(np.isnan(table[:, :1]), np.nan, np.zeros_like(positions))]))
    return JointTrajectory((*trajectory.joint_names, *missing), trajectory.times, *tables)


def _check_names(names: list[str], joints: Sequence[str], partial: bool) -> None:
    for name in names:
        if name not in joints:
            raise RejectedError('unknown joint', f'{TOPIC}: unknown joint {name!r}; known: {", ".join(joints)}')
    missing = [joint for joint in joints if joint not in names]
    if missing and not partial:
        raise RejectedError('missing joint', f'{TOPIC}: expected all joints, {", ".join(missing)} not found')


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
            raise RejectedError(
                'out of range',
                f'{TOPIC}: points[{k}].positions of {name!r}: expected {joint.lower:g} to {joint.upper:g}, '
                f'found {positions[k]:g}',
            )


def _turned(trajectory: JointTrajectory, machine: Machine, here: Array) -> JointTrajectory:
    """Return a trajectory that starts within half a turn of continuous joints at (n,), if it has a point at time 0."""
    if trajectory.times[0] > 0.0:
        return trajectory
    endless = np.array([machine.joint(name).type == 'continuous' for name in trajectory.joint_names])
    turns = np.where(endless, np.round((here - trajectory.positions[0]) / (2.0 * np.pi)), 0.0)
    return replace(trajectory, positions=trajectory.positions + 2.0 * np.pi * turns)


def _check_beginning(trajectory: JointTrajectory, machine: Machine, here: Array) -> None:
    """Check that a point at time 0 is at the present positions (n,). Raises RejectedError."""
    if trajectory.times[0] > 0.0:
        return
    first = trajectory.positions[0]
    for column in np.flatnonzero(np.abs(first - here) > _lags(trajectory.joint_names, machine)):
        raise RejectedError(
            'bad trajectory',
            f'{TOPIC}: points[0].positions of {trajectory.joint_names[column]!r}: expected the position of the joint '
            f'at time 0, {here[column]:.4g}, found {first[column]:.4g}',
        )


def _check_speeds(curve: JointTrajectory, machine: Machine, rates: Array | None) -> None:
    """Check the speed between points. Raises RejectedError.

    Args:
        curve: of n joints.
        machine: for the limits.
        rates: (n,) at the present positions; None: its first point is at time 0.
    """
    limits = np.array([machine.joint(name).velocity_limit or np.inf for name in curve.joint_names])
    speeds = curve.speeds()
    allowed = np.tile(SPEED_MARGIN * limits, (len(speeds), 1))
    if rates is not None:  # the way to the first point compensates the lag
        allowed[0] = np.maximum(allowed[0], np.abs(rates)) + _lags(curve.joint_names, machine) / curve.times[1]
    for segment, column in np.argwhere(speeds > allowed):
        raise RejectedError(
            'out of range',
            f'{TOPIC}: speed of {curve.joint_names[column]!r} after {curve.times[segment]:g} s: '
            f'expected at most {limits[column]:g}, found {speeds[segment, column]:.4g}',
        )


def _lags(names: Sequence[str], machine: Machine) -> Array:
    """Return the greatest distances of joints from their points (n,), rad or m."""
    slide = np.array([machine.joint(name).type == 'prismatic' for name in names])
    return np.where(slide, LAG_OF_SLIDES, LAG)


def _check_curve(trajectory: JointTrajectory, machine: Machine) -> None:
    """Check rates, and the range of the curve between the points. Raises RejectedError."""
    names = trajectory.joint_names
    for quantity, table, largest in (
        ('velocities', trajectory.velocities, LARGEST_VELOCITY),
        ('accelerations', trajectory.accelerations, LARGEST_ACCELERATION),
    ):
        if (peak := np.nanmax(np.abs(table), initial=0.0)) > largest:
            raise RejectedError('out of range', f'{TOPIC}: {quantity}: expected at most {largest:g}, found {peak:g}')
    bounds = Bounds.of(machine, names)
    if (excursion := trajectory.leaves(bounds.low, bounds.high)) is not None:
        segment, column, position = excursion
        raise RejectedError(
            'out of range',
            f'{TOPIC}: the curve between points takes {names[column]!r} to {position:g} after '
            f'{trajectory.times[segment]:g} s: expected {bounds.low[column]:g} to {bounds.high[column]:g}',
        )


def _shifted(trajectory: JointTrajectory, delay: float) -> JointTrajectory:
    if delay > MOST_AHEAD:
        raise RejectedError(
            'bad stamp',
            f'{TOPIC}: header.stamp: expected 0 (now) or at most {MOST_AHEAD:g} s ahead, found {delay:.3f} s ahead',
        )
    times = trajectory.times + delay
    kept = times >= 0.0
    if not kept.any():
        raise RejectedError('bad stamp', f'{TOPIC}: header.stamp: its last point lies {-times[-1]:.3f} s in the past')
    return JointTrajectory(
        trajectory.joint_names,
        times[kept],
        trajectory.positions[kept],
        trajectory.velocities[kept],
        trajectory.accelerations[kept],
    )
