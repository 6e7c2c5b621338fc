"""Goals of joint trajectories of a node: acceptance, tolerances, preemption, cancellation, controlled stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.trajectory import JointReference, JointTrajectory
from dyn_nodes.control.trajectory_goals import (
    STOP_TIME,
    GoalCode,
    GoalError,
    GoalStatus,
    JointTolerance,
    Tolerances,
    TrajectoryGoal,
    goal_tolerances,
    stop_from,
)
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.follow_joint_trajectory import action_server
from dyn_nodes.nodes.parameters import declare, mapped_parameters
from dyn_nodes.nodes.trajectory_messages import TrajectoryRules

CODES = {
    'unknown joint': GoalCode.INVALID_JOINTS,
    'missing joint': GoalCode.INVALID_JOINTS,
    'bad stamp': GoalCode.OLD_HEADER_TIMESTAMP,
}
"""Result codes by the kind of a rejection; all others are invalid goals."""


class TrajectoryGoals:
    """The goals of a node that follows joint trajectories, one at a time.

    Args:
        node: with `values`, `machine` and `time`.
        joints: n names, the order of references and states.
        plan: returns the curve of a trajectory message from now on, and the time of its last point, s; raises
            RejectedError.
        move: follows a curve from now on.
        reference: returns the reference of the joints now; None: no trajectory.
        reject: counts and reports a rejected goal.

    Attributes:
        active: goal in progress, or None.
        counts: number of goals by status.
    """

    def __init__(
        self,
        node: Any,
        joints: Sequence[str],
        plan: Callable[[Any], tuple[JointTrajectory, float]],
        move: Callable[[JointTrajectory], None],
        reference: Callable[[], JointReference | None],
        reject: Callable[[RejectedError], None],
    ) -> None:
        self._node, self.joints = node, tuple(joints)
        self._plan, self._move, self._reference, self._reject = plan, move, reference, reject
        for joint in self.joints:
            declared = mapped_parameters('controller_node', 'joints', joint)  # the group is the same in every node
            constraints = tuple(parameter for parameter in declared if parameter.name.startswith('constraints.'))
            node.values.update(declare(node, constraints))
        self.active: TrajectoryGoal | None = None
        self.counts = dict.fromkeys(GoalStatus, 0)
        self.server = action_server(node, self)

    # -- parameters --------------------------------------------------------------------------------------------------

    def _column(self, name: str) -> Array:
        return np.array([self._node.values[f'constraints.{joint}.{name}'] for joint in self.joints])

    @property
    def tolerances(self) -> Tolerances:
        """Return the default tolerances, of the parameters."""
        values, none = self._node.values, np.zeros(len(self.joints))
        stopped = np.full(len(self.joints), values['constraints.stopped_velocity_tolerance'])
        return Tolerances(
            self._column('trajectory'), none, self._column('goal'), stopped, values['constraints.goal_time']
        )

    @property
    def decelerations(self) -> Array:
        """Return the greatest decelerations of controlled stops (n,), rad/s2 or m/s2."""
        speeds = np.array([self._node.machine.joint(joint).velocity_limit or 1.0 for joint in self.joints])
        fallback = np.where(np.isfinite(speeds), speeds, 1.0) / STOP_TIME
        specified = self._column('max_deceleration_on_cancel')
        return np.where(specified > 0.0, specified, fallback)

    def rules(self, positions: Array) -> TrajectoryRules:
        """Return the rules for trajectories.

        Args:
            positions: (n,) measured now: joints that a partial goal leaves out stay at their reference, or there.
        """
        values, reference = self._node.values, self._reference()
        held = positions if reference is None else reference.position
        return TrajectoryRules(
            values['allow_partial_joints_goal'],
            values['allow_nonzero_velocity_at_trajectory_end'],
            dict(zip(self.joints, held.tolist())),
            dict(zip(self.joints, self.decelerations.tolist())),
        )

    def start(self, positions: Array, velocities: Array) -> tuple[Array, Array]:
        """Return positions and velocities (n,) from which a new trajectory starts, from the measured ones."""
        reference = self._reference() if self._node.values['interpolate_from_desired_state'] else None
        return (positions, velocities) if reference is None else (reference.position, reference.velocity)

    # -- goals -------------------------------------------------------------------------------------------------------

    def problem(
        self,
        trajectory: Any,
        path: Sequence[JointTolerance] = (),
        goal: Sequence[JointTolerance] = (),
        goal_time: float = 0.0,
    ) -> str:
        """Return why a goal would be rejected, or ''; the arguments as for `send`."""
        try:
            self._accept(trajectory, path, goal, goal_time)
        except GoalError as error:
            self._reject(RejectedError('goal', f'goal: {error}'))
            return str(error)
        return ''

    def send(
        self,
        trajectory: Any,
        path: Sequence[JointTolerance] = (),
        goal: Sequence[JointTolerance] = (),
        goal_time: float = 0.0,
    ) -> TrajectoryGoal:
        """Follow a trajectory from now on as a goal, which aborts the goal in progress.

        Args:
            trajectory: trajectory_msgs/JointTrajectory.
            path: tolerances before the last point, instead of the parameters.
            goal: tolerances after it.
            goal_time: tolerance of the time of the goal, s; 0: of the parameters, -1: no limit.

        Returns:
            The goal; its status is REJECTED, with code and text, if it cannot be followed.
        """
        try:
            curve, duration, tolerances = self._accept(trajectory, path, goal, goal_time)
            self._start(curve)
        except GoalError as error:
            self._reject(RejectedError('goal', f'goal: {error}'))
            self.counts[GoalStatus.REJECTED] += 1
            none = np.zeros(len(self.joints))
            rest = (self.joints, 0.0, self.tolerances, none, self._node.time)
            return TrajectoryGoal(*rest, GoalStatus.REJECTED, error.code, str(error))
        self.preempt('a new goal')
        end = curve.for_joints(self.joints).sample(duration).velocity
        self.active = TrajectoryGoal(self.joints, duration, tolerances, end, self._node.time)
        self.active.on_end.append(self._on_end)
        self._node.get_logger().info(f'goal: trajectory of {duration:.2f} s, {len(curve.times)} points')
        return self.active

    def _accept(
        self, trajectory: Any, path: Sequence[JointTolerance], goal: Sequence[JointTolerance], goal_time: float
    ) -> tuple[JointTrajectory, float, Tolerances]:
        """Return curve, time of its last point and tolerances of a goal. Raises GoalError."""
        tolerances = goal_tolerances(self.tolerances, self.joints, path, goal, goal_time)
        try:
            return (*self._plan(trajectory), tolerances)
        except RejectedError as error:
            raise GoalError(CODES.get(error.kind, GoalCode.INVALID_GOAL), str(error)) from None

    def _start(self, curve: JointTrajectory) -> None:
        """Follow a curve from now on. Raises GoalError."""
        try:
            self._move(curve)
        except RejectedError as error:
            raise GoalError(GoalCode.INVALID_GOAL, str(error)) from None

    def _on_end(self, goal: TrajectoryGoal) -> None:
        self.active = None
        self.counts[goal.status] += 1
        text = f'goal {goal.status.name.lower()}: {goal.text}'
        if goal.status is GoalStatus.SUCCEEDED:
            self._node.get_logger().info(text)
        else:
            self._node.get_logger().warn(text)

    def preempt(self, reason: str) -> None:
        """Abort the goal in progress for another motion, as joint_trajectory_controller does.

        Args:
            reason: the motion, for the text of the result.
        """
        if self.active is not None:
            self.active.finish(GoalStatus.ABORTED, GoalCode.INVALID_GOAL, f'preempted by {reason}')

    def cancel(self, goal: TrajectoryGoal) -> bool:
        """Cancel a goal: the joints come to rest from their reference; return whether it was in progress."""
        if goal is not self.active:
            return False
        goal.finish(GoalStatus.CANCELED, GoalCode.SUCCESSFUL, 'canceled')
        reference = self._reference()
        if reference is not None:
            self._stop(reference)
        return True

    def update(self, positions: Array, velocities: Array) -> None:
        """Check the goal in progress at measured joints (n,); stop them if its tolerances are violated."""
        if self.active is None:
            return
        reference = self._reference()
        if reference is not None and self.active.check(self._node.time, reference, positions, velocities):
            self._stop(JointReference(positions, velocities, np.zeros(len(positions))))

    def _stop(self, start: JointReference) -> None:
        """Bring the joints to rest from positions and velocities (n,), within their ranges."""
        stop = stop_from(self.joints, start, self.decelerations)
        bounds = [(joint.lower, joint.upper) for joint in map(self._node.machine.joint, self.joints)]
        lower, upper = np.array(bounds).T
        least, most = np.minimum(lower, start.position), np.maximum(upper, start.position)
        stop.positions[-1] = np.clip(stop.positions[-1], least, most)
        self._start(stop)

    def values(self) -> dict[str, str]:
        """Return the counts of goals as values of diagnostics."""
        return {f'goals {status.name.lower()}': str(count) for status, count in self.counts.items() if count}
