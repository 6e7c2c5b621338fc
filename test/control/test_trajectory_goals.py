"""Goals of joint trajectories by their rules alone, without a node."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.control.trajectory import JointReference, JointTrajectory, TrajectoryPoint
from dyn_nodes.control.trajectory_goals import (
    GoalCode,
    GoalError,
    GoalStatus,
    JointTolerance,
    Tolerances,
    TrajectoryGoal,
    goal_tolerances,
    stop_from,
    with_stop,
)

JOINTS = ('boom', 'stick')
DEFAULTS = Tolerances(np.array([0.1, 0.0]), np.zeros(2), np.array([0.01, 0.01]), np.array([0.02, 0.02]), 1.0)


def goal(**changes):
    values = {'joints': JOINTS, 'duration': 2.0, 'tolerances': DEFAULTS, 'moving_end': np.zeros(2), 'start': 10.0}
    return TrajectoryGoal(**{**values, **changes})


def check(one, time, error, rates=(0.0, 0.0)):
    desired = JointReference(np.ones(2), np.zeros(2), np.zeros(2))
    return one.check(time, desired, np.ones(2) - np.array(error), np.array(rates))


def test_path_tolerances_hold_up_to_the_last_point_and_goal_tolerances_after_it():
    one = goal()
    assert not check(one, 11.0, (0.09, 5.0))  # the stick has no path tolerance
    assert one.is_active
    assert one.feedback.error[0] == pytest.approx([0.09, 5.0])
    assert not check(one, 12.5, (0.02, 0.0))  # late, within goal_time
    assert not check(one, 12.6, (0.0, 0.0), (0.03, 0.0))  # at the goal, still moving
    assert one.is_active
    ended = []
    one.on_end.append(ended.append)
    assert not check(one, 12.7, (0.009, -0.009))
    assert (one.status, one.code) == (GoalStatus.SUCCEEDED, GoalCode.SUCCESSFUL)
    assert ended == [one]


def test_violations_end_the_goal_with_the_joint_and_request_a_stop():
    one = goal()
    assert check(one, 11.0, (0.11, 0.0))
    assert (one.status, one.code) == (GoalStatus.ABORTED, GoalCode.PATH_TOLERANCE_VIOLATED)
    assert one.text == 'path tolerance violated: boom: position error 0.11, tolerance 0.1'
    two = goal()
    assert not check(two, 12.9, (0.0, 0.05))
    assert check(two, 13.1, (0.0, 0.05))
    assert (two.status, two.code) == (GoalStatus.ABORTED, GoalCode.GOAL_TOLERANCE_VIOLATED)
    assert 'stick: position error 0.05, tolerance 0.01' in two.text
    forever = goal(tolerances=DEFAULTS._replace(goal_time=0.0))
    assert not check(forever, 1e4, (0.0, 0.05))


def test_a_goal_replaces_and_removes_tolerances_as_in_joint_trajectory_controller():
    own = goal_tolerances(
        DEFAULTS, JOINTS, [JointTolerance('stick', 0.3)], [JointTolerance('boom', -1.0, 0.5)], goal_time=4.0
    )
    assert own.path.tolist() == [0.1, 0.3]
    assert own.goal.tolist() == [0.0, 0.01]
    assert own.goal_velocity.tolist() == [0.5, 0.02]
    assert own.goal_time == 4.0
    assert DEFAULTS.path.tolist() == [0.1, 0.0]
    assert goal_tolerances(DEFAULTS, JOINTS, goal_time=-1.0).goal_time == 0.0
    with pytest.raises(GoalError, match="path_tolerance: unknown joint 'bom'") as error:
        goal_tolerances(DEFAULTS, JOINTS, [JointTolerance('bom', 0.3)])
    assert error.value.code is GoalCode.INVALID_JOINTS
    with pytest.raises(GoalError, match=r'expected at least 0, or -1 for none, found -0\.5') as error:
        goal_tolerances(DEFAULTS, JOINTS, [JointTolerance('boom', -0.5)])
    assert error.value.code is GoalCode.INVALID_GOAL


def test_a_controlled_stop_has_constant_decelerations_and_ends_together():
    stop = stop_from(JOINTS, JointReference(np.array([1.0, 2.0]), np.array([0.4, -0.1]), np.zeros(2)), np.ones(2) * 0.8)
    assert stop.duration == pytest.approx(0.5)
    for time in np.linspace(0.0, 0.49, 8):
        reference = stop.sample(time)
        assert reference.velocity == pytest.approx(np.array([0.4, -0.1]) * (1 - time / 0.5))
        assert reference.acceleration == pytest.approx([-0.8, 0.2])
    assert stop.sample(9.0).position == pytest.approx([1.1, 1.975])
    still = stop_from(JOINTS, JointReference(np.ones(2), np.zeros(2), np.zeros(2)), np.ones(2))
    assert still.sample(1.0).position.tolist() == [1.0, 1.0]


def test_a_trajectory_that_ends_in_motion_is_followed_by_a_stop():
    points = [TrajectoryPoint(0.0, [0.0, 0.0], [0.0, 0.0]), TrajectoryPoint(1.0, [0.3, 0.0], [0.5, 0.0])]
    moving = JointTrajectory.from_points(JOINTS, points, allow_moving_end=True)
    stopped = with_stop(moving, np.array([1.0, 1.0]))
    assert stopped.times.tolist() == [0.0, 1.0, 1.5]
    assert stopped.sample(1.0).velocity == pytest.approx([0.5, 0.0])
    assert stopped.sample(2.0).position == pytest.approx([0.3 + 0.125, 0.0])
    assert with_stop(stopped, np.ones(2)) is stopped
