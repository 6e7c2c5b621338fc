"""The action `~/follow_joint_trajectory` (control_msgs) for the goals of a node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dyn_nodes.control.trajectory_goals import Feedback, GoalStatus, JointTolerance, TrajectoryGoal
from dyn_nodes.middleware import Future
from dyn_nodes.middleware.actions import NoActionsError, action
from dyn_nodes.nodes.stamps import NANO, stamp_at

NAME = '~/follow_joint_trajectory'
TYPE = 'control_msgs/action/FollowJointTrajectory'


class FollowJointTrajectoryServer:
    """An action server that passes goals to a node, and feedback and results to the clients.

    Args:
        node: the node.
        goals: `TrajectoryGoals` of the node.

    Raises:
        NoActionsError: rclpy or control_msgs is not installed.
    """

    def __init__(self, node: Any, goals: Any) -> None:
        self._goals, self._node = goals, node
        self._module, self._type = action(TYPE)
        self._sent_at = -1.0
        self._server = self._module.ActionServer(
            node,
            self._type,
            NAME,
            execute_callback=self._execute,
            goal_callback=self._on_goal,
            cancel_callback=self._on_cancel,
        )

    def _on_goal(self, request: Any) -> Any:
        problem = self._goals.problem(*_arguments(request))
        response = self._module.GoalResponse
        return response.REJECT if problem else response.ACCEPT

    def _on_cancel(self, handle: Any) -> Any:
        return self._module.CancelResponse.ACCEPT

    async def _execute(self, handle: Any) -> Any:
        """Follow a goal to its end and return its result."""
        goal: TrajectoryGoal = self._goals.send(*_arguments(handle.request))
        if goal.is_active:
            done = Future()
            goal.on_end.append(lambda _: done.set_result(None))
            goal.on_feedback.append(lambda feedback: self._publish(handle, goal, feedback))
            await done
        if goal.status is GoalStatus.CANCELED:
            handle.canceled()
        elif goal.status is GoalStatus.SUCCEEDED:
            handle.succeed()
        else:
            handle.abort()
        return self._type.Result(error_code=int(goal.code), error_string=goal.text)

    def _publish(self, handle: Any, goal: TrajectoryGoal, feedback: Feedback) -> None:
        """Pass a request to cancel to the goal, and feedback to the client at `action_monitor_rate`."""
        if handle.is_cancel_requested:
            self._goals.cancel(goal)
            return
        elapsed, period = feedback.time - self._sent_at, 1.0 / self._node.values['action_monitor_rate']
        if 0.0 <= elapsed < period:
            return
        self._sent_at = feedback.time
        text = self._type.Feedback(joint_names=list(goal.joints))
        text.header.stamp = stamp_at(round((goal.start + feedback.time) * NANO))
        for name in ('desired', 'actual', 'error'):
            point = getattr(text, name)
            positions, velocities = getattr(feedback, name)
            point.positions, point.velocities = positions.tolist(), velocities.tolist()
        handle.publish_feedback(text)


def _arguments(request: Any) -> tuple[Any, list[JointTolerance], list[JointTolerance], float]:
    """Return trajectory, tolerances and time tolerance, s, of a goal message."""
    late = request.goal_time_tolerance
    return (
        request.trajectory,
        _tolerances(request.path_tolerance),
        _tolerances(request.goal_tolerance),
        late.sec + late.nanosec / NANO,
    )


def _tolerances(entries: Iterable[Any]) -> list[JointTolerance]:
    return [JointTolerance(entry.name, entry.position, entry.velocity) for entry in entries]


def action_server(node: Any, goals: Any) -> FollowJointTrajectoryServer | None:
    """Return the action server of a node's goals; None, with a line in the log, if there are no such actions."""
    try:
        return FollowJointTrajectoryServer(node, goals)
    except NoActionsError as error:
        node.get_logger().info(f'no action {NAME}: {error}')
        return None
