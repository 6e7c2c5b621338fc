"""Goals of joint trajectories: tolerances, result codes, preemption and cancellation, free of ROS types.

The rules of joint_trajectory_controller apply (ros2_controllers 4, `update` and its action callbacks): path
tolerances hold up to the last point, goal tolerances after it, a goal that is not within them `goal_time` after the
last point is aborted. A new trajectory aborts the goal in progress.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.control.trajectory import JointReference, JointTrajectory

STOP_TIME = 0.5
"""Time from the greatest speed to rest in a controlled stop without `max_deceleration_on_cancel`, s."""


class GoalCode(IntEnum):
    """Result codes of control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class GoalStatus(IntEnum):
    """Status of a goal, with the numbers of action_msgs/msg/GoalStatus; REJECTED goals have none."""

    REJECTED = 0
    EXECUTING = 2
    SUCCEEDED = 4
    CANCELED = 5
    ABORTED = 6


class Tolerances(NamedTuple):
    """Tolerances of n joints; 0: none.

    Attributes:
        path: (n,) position errors before the last point, rad or m.
        path_velocity: (n,) velocity errors before the last point, rad/s or m/s.
        goal: (n,) position errors after the last point, rad or m.
        goal_velocity: (n,) velocity errors after the last point, rad/s or m/s.
        goal_time: time after the last point, s; 0: no limit.
    """

    path: Array
    path_velocity: Array
    goal: Array
    goal_velocity: Array
    goal_time: float


class JointTolerance(NamedTuple):
    """Tolerance of one joint in a goal: 0 keeps the default, -1 removes it; rad or m, and per second."""

    name: str
    position: float = 0.0
    velocity: float = 0.0


class GoalError(UserError, ValueError):
    """A goal that cannot be accepted, with its result code."""

    def __init__(self, code: GoalCode, text: str) -> None:
        super().__init__(text)
        self.code = code


def goal_tolerances(
    defaults: Tolerances,
    joints: Sequence[str],
    path: Sequence[JointTolerance] = (),
    goal: Sequence[JointTolerance] = (),
    goal_time: float = 0.0,
) -> Tolerances:
    """Return the tolerances of a goal.

    Args:
        defaults: of the controller.
        joints: n names in the order of the tolerances.
        path: replacements before the last point.
        goal: replacements after it.
        goal_time: s; 0: default, -1: no limit.

    Raises:
        GoalError: an unknown joint, or a negative tolerance other than -1.
    """
    before = defaults.path.copy(), defaults.path_velocity.copy()
    after = defaults.goal.copy(), defaults.goal_velocity.copy()
    for field_name, entries, (positions, velocities) in (
        ('path_tolerance', path, before),
        ('goal_tolerance', goal, after),
    ):
        for entry in entries:
            if entry.name not in joints:
                names = ', '.join(joints)
                text = f'{field_name}: unknown joint {entry.name!r}; expected one of {names}'
                raise GoalError(GoalCode.INVALID_JOINTS, text)
            k = list(joints).index(entry.name)
            for table, value in ((positions, entry.position), (velocities, entry.velocity)):
                table[k] = _replaced(table[k], value, f'{field_name} of {entry.name!r}')
    return Tolerances(*before, *after, _replaced(defaults.goal_time, goal_time, 'goal_time_tolerance'))


def _replaced(default: float, value: float, name: str) -> float:
    if value == 0.0:
        return default
    if value == -1.0:
        return 0.0
    if not value > 0.0:
        raise GoalError(GoalCode.INVALID_GOAL, f'{name}: expected at least 0, or -1 for none, found {value:g}')
    return value


def stop_from(joints: Sequence[str], reference: JointReference, decelerations: Array) -> JointTrajectory:
    """Return the trajectory that brings joints to rest together, with constant decelerations.

    Args:
        joints: n names.
        reference: position and velocity (n,) to start from.
        decelerations: (n,) greatest ones, rad/s2 or m/s2.
    """
    time = float(np.max(np.abs(reference.velocity) / decelerations, initial=0.0))
    still = np.zeros(len(joints))
    if time <= 0.0:
        rows = [reference.position[None], still[None], np.full((1, len(joints)), np.nan)]
        return JointTrajectory(tuple(joints), np.zeros(1), *rows)
    end = reference.position + 0.5 * time * reference.velocity
    return JointTrajectory(
        tuple(joints),
        np.array([0.0, time]),
        np.array([reference.position, end]),
        np.array([reference.velocity, still]),
        np.full((2, len(joints)), np.nan),
    )


def with_stop(trajectory: JointTrajectory, decelerations: Array) -> JointTrajectory:
    """Return a trajectory with a controlled stop after a last point with velocities; else the same.

    Args:
        trajectory: of n joints.
        decelerations: (n,) greatest ones, rad/s2 or m/s2.
    """
    velocity = np.nan_to_num(trajectory.velocities[-1])
    if not velocity.any():
        return trajectory
    rest = JointReference(trajectory.positions[-1], velocity, np.zeros(len(velocity)))
    stop = stop_from(trajectory.joint_names, rest, decelerations)
    tables = [
        np.vstack([table, part[1:]])
        for table, part in (
            (trajectory.positions, stop.positions),
            (trajectory.velocities, stop.velocities),
            (trajectory.accelerations, stop.accelerations),
        )
    ]
    times = np.append(trajectory.times, trajectory.times[-1] + stop.times[1:])
    return JointTrajectory(trajectory.joint_names, times, *tables)


class Feedback(NamedTuple):
    """Feedback of a goal: (n,) each, rad or m, and per second; error is desired less actual.

    Attributes:
        time: since the start of the goal, s.
        desired, actual: positions and velocities.
        error: of both.
    """

    time: float
    desired: tuple[Array, Array]
    actual: tuple[Array, Array]
    error: tuple[Array, Array]


@dataclass(eq=False)
class TrajectoryGoal:
    """A goal and its result.

    Attributes:
        joints: n names in the order of tolerances and feedback.
        duration: time of the last point, s.
        tolerances: of the joints.
        moving_end: velocities (n,) of the last point.
        start: time of its acceptance, s.
        status, code, text: of the result, or `EXECUTING`.
        feedback: newest one.
        on_end: called once when the goal has ended.
        on_feedback: called with each feedback.
    """

    joints: tuple[str, ...]
    duration: float
    tolerances: Tolerances
    moving_end: Array
    start: float
    status: GoalStatus = GoalStatus.EXECUTING
    code: GoalCode = GoalCode.SUCCESSFUL
    text: str = ''
    feedback: Feedback | None = None
    on_end: list[Callable[[TrajectoryGoal], None]] = field(default_factory=list)
    on_feedback: list[Callable[[Feedback], None]] = field(default_factory=list)

    @property
    def is_active(self) -> bool:
        """Return whether the goal is executing."""
        return self.status is GoalStatus.EXECUTING

    def finish(self, status: GoalStatus, code: GoalCode, text: str) -> None:
        """End the goal, unless it has ended."""
        if not self.is_active:
            return
        self.status, self.code, self.text = status, code, text
        for call in self.on_end:
            call(self)

    def check(self, time: float, desired: JointReference, positions: Array, velocities: Array) -> bool:
        """Check tolerances at an instant and end the goal if they decide it; return whether the joints must stop.

        Args:
            time: now, s.
            desired: reference now.
            positions: (n,) measured, rad or m.
            velocities: (n,) measured, rad/s or m/s.
        """
        elapsed = time - self.start
        wanted = desired.position, desired.velocity
        error = wanted[0] - positions, wanted[1] - velocities
        self.feedback = Feedback(elapsed, wanted, (positions, velocities), error)
        for call in self.on_feedback:
            call(self.feedback)
        limits = self.tolerances
        if elapsed < self.duration:
            beyond = _beyond(self.joints, error, (limits.path, limits.path_velocity))
            if beyond:
                text = f'path tolerance violated: {beyond}'
                self.finish(GoalStatus.ABORTED, GoalCode.PATH_TOLERANCE_VIOLATED, text)
            return bool(beyond)
        # a goal that ends in motion is judged at its last point, after which the joints are brought to rest
        allowed = np.where(self.moving_end != 0.0, 0.0, limits.goal_velocity)
        beyond = _beyond(self.joints, error, (limits.goal, allowed))
        if not beyond:
            self.finish(GoalStatus.SUCCEEDED, GoalCode.SUCCESSFUL, 'goal reached')
        elif limits.goal_time > 0.0 and elapsed - self.duration > limits.goal_time:
            late = f'{elapsed - self.duration:.3g} s after the last point'
            text = f'goal tolerance violated {late}: {beyond}'
            self.finish(GoalStatus.ABORTED, GoalCode.GOAL_TOLERANCE_VIOLATED, text)
            return True
        return False


def _beyond(joints: Sequence[str], errors: tuple[Array, Array], limits: tuple[Array, Array]) -> str:
    """Return the first joint whose position or velocity error is beyond its limit, with both; '' if none is."""
    for quantity, error, limit in zip(('position', 'velocity'), errors, limits):
        over = np.flatnonzero((limit > 0.0) & (np.abs(error) > limit))
        if len(over):
            k = int(over[0])
            return f'{joints[k]}: {quantity} error {abs(error[k]):.4g}, tolerance {limit[k]:.4g}'
    return ''
