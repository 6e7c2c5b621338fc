"""Goals of joint trajectories through the public interface of the nodes, on the oil of the log-loader."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from node_testing import JOINTS, Outbox, joint_state, statuses, values_of

from dyn_nodes.control.trajectory_goals import GoalCode, GoalStatus, JointTolerance
from dyn_nodes.middleware import RUNTIME, Parameter, message
from dyn_nodes.nodes import follow_joint_trajectory
from dyn_nodes.nodes.cartesian_controller_node import CartesianControllerNode
from dyn_nodes.nodes.controller_node import ControllerNode
from dyn_nodes.nodes.machines import machine_of
from dyn_nodes.nodes.stamps import stamp_of
from dyn_nodes.nodes.vehicle_controller_node import VehicleControllerNode
from dyn_nodes.simulation.plant import Plant

JointTrajectory = message('trajectory_msgs/msg/JointTrajectory')
Point = message('trajectory_msgs/msg/JointTrajectoryPoint')
PoseStamped, TwistStamped = message('geometry_msgs/msg/PoseStamped'), message('geometry_msgs/msg/TwistStamped')
Duration = message('builtin_interfaces/msg/Duration')
ARM = ('boom_joint', 'stick_joint', 'swing_joint')
"""Joints in the order of the actuators of the machine."""
PERIOD = 0.01
GOAL = 0.02
"""Tolerance of a joint at its goal, rad."""
TOLERANCES = {
    f'constraints.{joint}.{name}': value for joint in ARM for name, value in (('goal', GOAL), ('trajectory', 0.15))
}


def seconds(time: float) -> Any:
    return Duration(sec=int(time), nanosec=round(time % 1 * 1e9))


def trajectory(*rows: Any, names: Any = ARM) -> Any:
    """Return a trajectory of (time, positions, velocities, accelerations); rates may be left out."""
    points = []
    for time, *values in rows:
        fields = dict(zip(('positions', 'velocities', 'accelerations'), (list(map(float, row)) for row in values)))
        points.append(Point(**fields, time_from_start=seconds(time)))
    return JointTrajectory(joint_names=list(names), points=points)


class Loader:
    """A log-loader with its oil, driven by a controller node.

    Args:
        node: controller with voltages in the order of `actuators` of the machine.
    """

    def __init__(self, node: Any) -> None:
        self.node, self.machine = node, machine_of('log_loader', '')
        self.plant = Plant(self.machine, 'hydraulic', PERIOD, 1e-3, ())
        self.order = [self.plant.joints.index(name) for name in ARM]
        self.fastest = 0.0

    @property
    def positions(self) -> np.ndarray:
        return self.plant.positions[self.order]

    def step(self) -> None:
        plant = self.plant
        rows = (plant.positions, plant.velocities, plant.efforts)
        self.node.receive('joint_states', joint_state(plant.time, *(row[self.order] for row in rows), ARM))
        volts = self.node.commands_out.last.data
        names = [actuator.name for actuator in self.machine.actuators]
        plant.set_inputs({f'{name}/voltage': volt for name, volt in zip(names, volts)})
        plant.advance()
        self.fastest = max(self.fastest, float(np.abs(plant.velocities).max()))

    def run(self, time: float, goal: Any = None) -> None:
        """Simulate for a time, s, or until a goal has ended."""
        for _ in range(round(time / PERIOD)):
            self.step()
            if goal is not None and not goal.is_active:
                return


@pytest.fixture
def make(make_node: Callable[..., Any]) -> Callable[..., Loader]:
    def build(**parameters: Any) -> Loader:
        node = make_node(ControllerNode, **{'constraints.goal_time': 5.0, **TOLERANCES, **parameters})
        node.phase_out = Outbox()
        loader = Loader(node)
        loader.run(0.3)
        return loader

    return build


def move(loader: Loader, change: Any, time: float = 2.0) -> Any:
    return trajectory((time, loader.positions + np.array(change), np.zeros(3), np.zeros(3)))


@pytest.mark.simulated
def test_twenty_goals_in_a_row_succeed_on_the_oil(make: Any) -> None:
    loader, random = make(), np.random.default_rng(45)
    home = loader.positions.copy()
    for _ in range(20):
        end = home + random.uniform(-0.1, 0.1, 3)
        goal = loader.node.goals.send(trajectory((2.5, end, np.zeros(3), np.zeros(3))))
        loader.run(8.0, goal)
        assert (goal.status, goal.code) == (GoalStatus.SUCCEEDED, GoalCode.SUCCESSFUL), goal.text
        assert np.abs(loader.positions - end).max() < GOAL
        assert np.abs(loader.plant.velocities).max() < 0.02
        assert goal.feedback is not None
        assert goal.feedback.desired[0] == pytest.approx(end)
    assert loader.node.goals.values() == {'goals succeeded': '20'}


@pytest.mark.simulated
def test_the_swing_does_not_overshoot_after_a_goal(make: Any, make_hand: Any) -> None:
    """With gains and parameters as they are by default; it had swung by 0.15 to 0.35 rad, more and more."""
    for loader in (make(), make_hand()):
        for side in (0.2, -0.2, 0.1):
            end = loader.positions + np.array([-0.5, 0.5, 1.0]) * side
            loader.node.goals.send(trajectory((3.0, end, np.zeros(3), np.zeros(3))))
            loader.run(3.0)
            errors = []
            for _ in range(400):
                loader.step()
                errors.append(np.abs(loader.positions - end))
            assert np.max(errors) < 0.015, 'overshoot, rad'
            assert np.max(errors[200:]) < 0.008


def test_a_violated_path_tolerance_aborts_the_goal_and_stops_the_joints(make: Any) -> None:
    loader = make()
    goal = loader.node.goals.send(move(loader, (-0.3, 0.3, 0.0)), [JointTolerance('boom_joint', 0.001)])
    loader.run(2.0, goal)
    assert (goal.status, goal.code) == (GoalStatus.ABORTED, GoalCode.PATH_TOLERANCE_VIOLATED)
    assert goal.text.startswith('path tolerance violated: boom_joint: position error')
    loader.run(2.5)
    assert np.abs(loader.plant.velocities).max() < 5e-3
    assert np.abs(loader.positions - loader.node.goals._reference().position).max() < GOAL


def test_a_goal_that_is_not_reached_in_time_is_aborted(make: Any) -> None:
    loader = make()
    goal = loader.node.goals.send(move(loader, (-0.2, 0.2, 0.0)), (), [JointTolerance('stick_joint', 1e-6)], 0.3)
    loader.run(4.0, goal)
    assert (goal.status, goal.code) == (GoalStatus.ABORTED, GoalCode.GOAL_TOLERANCE_VIOLATED)
    assert loader.plant.time == pytest.approx(0.3 + 2.0 + 0.3, abs=0.05)


def test_cancel_brings_the_joints_to_rest_without_a_jump_of_the_reference(make: Any) -> None:
    loader = make(**{f'constraints.{joint}.max_deceleration_on_cancel': 0.5 for joint in ARM})
    end = loader.positions + np.array([-0.2, 0.2, 0.0])  # farther out, the stop lifts the rear wheels
    goal = loader.node.goals.send(move(loader, (-0.2, 0.2, 0.0)))
    loader.run(1.0)
    before = loader.node.goals._reference()
    assert loader.node.goals.cancel(goal)
    assert (goal.status, goal.text) == (GoalStatus.CANCELED, 'canceled')
    after = loader.node.goals._reference()
    assert after.position == pytest.approx(before.position)
    assert after.velocity == pytest.approx(before.velocity)
    stop = np.abs(before.velocity).max() / 0.5
    loader.run(stop + 3.0)
    rest = before.position + 0.5 * stop * before.velocity
    assert np.abs(loader.positions - rest).max() < GOAL
    assert np.abs(loader.plant.velocities).max() < 0.02
    assert np.abs(loader.positions - end).max() > 0.05
    assert not loader.node.goals.cancel(goal)


def test_a_new_goal_and_a_trajectory_preempt_the_goal_in_progress(make: Any) -> None:
    loader, node = (made := make()), made.node
    first = node.goals.send(move(loader, (0.0, 0.0, 0.2)))
    loader.run(0.5)
    second = node.goals.send(move(loader, (0.0, 0.0, -0.1)))
    assert (first.status, first.code) == (GoalStatus.ABORTED, GoalCode.INVALID_GOAL)
    assert first.text == 'preempted by a new goal'
    loader.run(0.5)
    assert second.is_active
    node.receive('joint_trajectory', move(loader, (0.0, 0.1, 0.0)))
    assert second.text == 'preempted by a trajectory on joint_trajectory'
    # a goal that is rejected leaves the motion in progress
    third = node.goals.send(move(loader, (0.0, 0.1, 0.0)))
    bad = node.goals.send(trajectory((1.0, (0.0, 0.0)), names=ARM[:2]))
    assert (bad.status, bad.code) == (GoalStatus.REJECTED, GoalCode.INVALID_JOINTS)
    assert 'swing_joint not found' in bad.text
    late = trajectory((1.0, loader.positions))
    late.header.stamp = stamp_of(loader.plant.time - 0.2)
    late.points[0].time_from_start = seconds(0.1)
    assert node.goals.send(late).code is GoalCode.OLD_HEADER_TIMESTAMP
    assert third.is_active
    loader.run(6.0, third)
    assert third.status is GoalStatus.SUCCEEDED


def test_partial_goals_keep_the_other_joints(make: Any) -> None:
    loader = make(allow_partial_joints_goal=True)
    start = loader.positions
    goal = loader.node.goals.send(trajectory((1.5, [start[0] - 0.1], [0.0]), names=['boom_joint']))
    loader.run(5.0, goal)
    assert goal.status is GoalStatus.SUCCEEDED, goal.text
    assert loader.positions == pytest.approx(start - np.array([0.1, 0.0, 0.0]), abs=GOAL)


def test_a_stream_of_trajectories_that_end_in_motion_moves_evenly_and_stops_after_it(make: Any) -> None:
    """As MoveIt Servo sends them: a point ahead with a velocity, many times a second."""
    loader = make(allow_nonzero_velocity_at_trajectory_end=True, interpolate_from_desired_state=True)
    start, speed = loader.positions, np.array([0.0, 0.2, 0.0])
    for k in range(20):
        ahead = start + speed * (0.05 * k + 0.15)
        loader.node.receive('joint_trajectory', trajectory((0.15, ahead, speed, np.zeros(3))))
        assert not loader.node.rejections.counts
        loader.run(0.05)
    assert loader.plant.velocities[loader.order[1]] == pytest.approx(0.2, abs=0.1)
    loader.run(2.5)
    assert np.abs(loader.plant.velocities).max() < 5e-3
    assert loader.positions[1] - start[1] == pytest.approx(0.2 * 1.1 + 0.02, abs=0.05)


@pytest.mark.simulated
def test_the_arm_of_a_vehicle_has_goals(make_node: Callable[..., Any]) -> None:
    node = make_node(VehicleControllerNode, machine='agv_mecanum_arm', output='velocity')
    names = tuple(joint.name for joint in node.machine.movable_joints)
    arm = [name for name in names if name.startswith('arm_')]

    def states(time: float, positions: np.ndarray) -> None:
        node.receive('joint_states', joint_state(time, positions, np.zeros(len(names)), np.zeros(len(names)), names))

    still = np.array([node.machine.initial.joint_positions.get(name, 0.0) for name in names])
    states(0.0, still)
    end = still.copy()
    end[[names.index(name) for name in arm]] += 0.1
    goal = node.goals.send(trajectory((0.02, end[[names.index(name) for name in arm]]), names=arm), goal_time=1.0)
    assert goal.status is GoalStatus.REJECTED, 'faster than the joints'
    goal = node.goals.send(trajectory((0.2, end[[names.index(name) for name in arm]]), names=arm), goal_time=1.0)
    for k in range(1, 60):
        states(0.005 * k, end if k > 30 else still)
    assert goal.status is GoalStatus.SUCCEEDED, goal.text


def test_a_planner_may_know_a_continuous_joint_within_a_turn(make_node: Callable[..., Any]) -> None:
    """MoveIt plans from angles between -pi and pi, and its first point is the present state."""
    node = make_node(VehicleControllerNode, machine='agv_mecanum_arm', output='velocity')
    names = tuple(joint.name for joint in node.machine.movable_joints)
    arm = node.arm.joint_names
    turned = np.array([10.0 if name == 'arm_turn' else 0.1 for name in names])
    node.receive('joint_states', joint_state(0.0, turned, np.zeros(len(names)), np.zeros(len(names)), names))
    rest, start = np.zeros(len(arm)), np.array([10.0 - 4.0 * np.pi if name == 'arm_turn' else 0.1 for name in arm])
    goal = node.goals.send(trajectory((0.0, start, rest, rest), (2.0, start + 0.5, rest, rest), names=arm))
    assert goal.is_active, goal.text
    assert node.arm.sample(0.0).position == pytest.approx([turned[names.index(name)] for name in arm])
    assert node.arm.sample(2.0).position == pytest.approx([turned[names.index(name)] + 0.5 for name in arm])
    far = np.where(np.array(arm) == 'arm_turn', start + 1.0, start)
    assert 'expected the position of the joint at time 0, 10, found 11' in node.goals.send(
        trajectory((0.0, far, rest, rest), (2.0, far, rest, rest), names=arm)
    ).text  # fmt: skip


# -- the controller of a hand ----------------------------------------------------------------------------------------


@pytest.fixture
def make_hand(make_node: Callable[..., Any]) -> Callable[..., Any]:
    """Make a log-loader whose joints and hand follow the cartesian controller."""

    def build(**parameters: Any) -> Loader:
        node = make_node(CartesianControllerNode, **{'constraints.goal_time': 5.0, **TOLERANCES, **parameters})
        node.state_out, node.reference_out, node.error_out = Outbox(), Outbox(), Outbox()
        loader = Loader(node)
        loader.run(0.3)
        return loader

    return build


def hand_pose(node: Any, change: Any) -> Any:
    """Return a pose of the hand at a distance (3,) from its reference, m."""
    target = PoseStamped()
    aim = node.follower.reference.pose.position + np.array(change)
    target.pose.position.x, target.pose.position.y, target.pose.position.z = aim.tolist()
    return target


@pytest.mark.simulated
def test_goals_of_a_hand_controller_succeed_on_the_oil(make_hand: Any) -> None:
    loader = make_hand()
    home = loader.positions.copy()
    for change in ((-0.2, 0.1, 0.15), (0.1, -0.1, -0.1), (0.0, 0.0, 0.0)):
        end = home + np.array(change)
        goal = loader.node.goals.send(trajectory((3.0, end, np.zeros(3), np.zeros(3))))
        loader.run(1.5)
        middle = goal.feedback.desired[0]
        loader.run(8.0, goal)
        assert (goal.status, goal.code) == (GoalStatus.SUCCEEDED, GoalCode.SUCCESSFUL), goal.text
        order = [goal.joints.index(name) for name in ARM]
        assert np.abs(loader.positions - end).max() < GOAL
        assert goal.feedback.desired[0][order] == pytest.approx(end)
        assert np.abs(middle[order] - end).max() > 0.04, 'half way after half of the time'
    assert [text.data for text in loader.node.state_out.messages] == ['holding', *3 * ['tracking', 'holding']]


def test_the_hand_controller_cancels_rejects_and_aborts_goals(make_hand: Any) -> None:
    loader = make_hand(**{f'constraints.{joint}.max_deceleration_on_cancel': 0.5 for joint in ARM})
    node = loader.node
    goal = node.goals.send(move(loader, (-0.3, 0.3, 0.0)))
    loader.run(1.0)
    before = node.follower.sample(node.time)
    assert node.goals.cancel(goal)
    assert (goal.status, goal.text) == (GoalStatus.CANCELED, 'canceled')
    after = node.follower.sample(node.time)
    assert after.position == pytest.approx(before.position)
    assert after.velocity == pytest.approx(before.velocity)
    loader.run(4.0)
    rest = before.position + np.abs(before.velocity).max() * before.velocity
    assert loader.positions == pytest.approx(rest[[node.hand.joints.index(name) for name in ARM]], abs=GOAL)
    bad = node.goals.send(trajectory((1.0, (0.0, 0.0)), names=ARM[:2]))
    assert (bad.status, bad.code) == (GoalStatus.REJECTED, GoalCode.INVALID_JOINTS)
    goal = node.goals.send(move(loader, (-0.3, 0.3, 0.0)), [JointTolerance('boom_joint', 0.001)])
    loader.run(2.0, goal)
    assert goal.code is GoalCode.PATH_TOLERANCE_VIOLATED
    loader.run(3.0)
    assert np.abs(loader.plant.velocities).max() < 0.01
    goal = node.goals.send(move(loader, (0.1, 0.0, 0.0)))
    node.receive('joint_states', joint_state(0.0, names=JOINTS))
    assert goal.text == 'preempted by a reset of time'
    node.update_diagnostics()
    node.diagnostics.update(node.now() + 2.0, 0.0)
    values = values_of(statuses(node.diagnostics.publisher.last)['hand'])
    assert (values['goals canceled'], values['goals aborted'], values['goals rejected']) == ('1', '2', '1')


@pytest.mark.simulated
def test_targets_of_the_hand_and_goals_of_its_joints_preempt_each_other_without_a_jump(make_hand: Any) -> None:
    loader = make_hand(**{f'constraints.{joint}.trajectory': 0.0 for joint in ARM})
    node = loader.node
    goal = node.goals.send(move(loader, (-0.3, 0.2, 0.0), 3.0))
    loader.run(1.5)
    # the hand brakes from its velocity, and then moves along its line
    node.receive('hand_pose', hand_pose(node, (0.0, 0.3, 0.0)))
    assert (goal.status, goal.text) == (GoalStatus.ABORTED, 'preempted by a target on hand_pose')
    speeds = []
    for _ in range(300):
        before = node.follower.sample(node.time).position
        loader.step()
        speeds.append((node.follower.sample(node.time).position - before) / PERIOD)
    jumps = np.abs(np.diff(speeds, axis=0)).max()
    assert jumps < 0.02, 'greatest change of a joint speed within a period, rad/s'
    assert np.abs(speeds).max() > 0.05
    # a goal starts from the joints as measured, in the middle of the line
    end = loader.positions + np.array([0.0, 0.0, 0.1])
    goal = node.goals.send(trajectory((2.0, end, np.zeros(3), np.zeros(3))))
    loader.run(7.0, goal)
    assert goal.status is GoalStatus.SUCCEEDED, goal.text
    assert np.abs(loader.positions - end).max() < GOAL
    goal = node.goals.send(move(loader, (0.1, 0.0, 0.0)))
    twist = TwistStamped()
    twist.twist.linear.z = 0.1
    node.receive('hand_twist', twist)
    assert goal.text == 'preempted by a target on hand_twist'


def test_a_goal_that_loops_cannot_follow_is_rejected(make_node: Callable[..., Any]) -> None:
    """At the full stroke of a cylinder a joint that it moves would be beyond its range."""
    node = make_node(CartesianControllerNode, machine='log_loader_linkage', output='joint_command')
    names, home = node.hand.names, node.hand.home
    node.receive('joint_states', joint_state(0.0, home, np.zeros(len(names)), np.zeros(len(names)), names))
    joints, start = node.hand.joints, home[node.hand.indices]
    goal = node.goals.send(trajectory((2.0, start + 0.001), names=joints))
    assert goal.is_active, goal.text
    for rod in ('boom_rod_joint', 'stick_rod_joint'):
        end = np.where([name == rod for name in joints], node.machine.joint(rod).upper, start)
        bad = node.goals.send(trajectory((5.0, start), (20.0, end), names=joints))
        assert (bad.status, bad.code) == (GoalStatus.REJECTED, GoalCode.INVALID_GOAL)
        assert bad.text == 'joint_trajectory: points[1]: expected a posture that the closed loops can take'
    assert goal.is_active


def test_a_vehicle_whose_base_moves_with_the_hand_has_no_goals(make_node: Callable[..., Any]) -> None:
    parameters = {'machine': 'rm_1', 'link': 'hand', 'output': 'effort', 'target_frame': 'world'}
    assert make_node(CartesianControllerNode, **parameters).goals is None


def test_a_renamed_node_has_the_parameters_of_goals(context: Any) -> None:
    overrides = [Parameter('machine', value='log_loader'), Parameter('constraints.boom_joint.goal', value=0.5)]
    options = {'context': context, 'parameter_overrides': overrides, 'cli_args': ['--ros-args', '-r', '__node:=arm']}
    node = ControllerNode(**options)
    assert node.get_name() == 'arm'
    assert node.goals.tolerances.goal.max() == 0.5


# -- the action ------------------------------------------------------------------------------------------------------


class Handle:
    """A goal handle of rclpy's action server."""

    def __init__(self, request: Any) -> None:
        self.request, self.is_cancel_requested = request, False
        self.feedback: list[Any] = []
        self.ends: list[str] = []

    def publish_feedback(self, text: Any) -> None:
        self.feedback.append(text)

    def succeed(self) -> None:
        self.ends.append('succeed')

    def abort(self) -> None:
        self.ends.append('abort')

    def canceled(self) -> None:
        self.ends.append('canceled')


class Text(SimpleNamespace):
    def __init__(self, **values: Any) -> None:
        points = {name: SimpleNamespace() for name in ('desired', 'actual', 'error')}
        super().__init__(header=SimpleNamespace(stamp=None), **points, **values)


def test_the_action_server_passes_goals_feedback_and_results(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = SimpleNamespace(Result=lambda **values: SimpleNamespace(**values), Feedback=Text)
    module = SimpleNamespace(
        ActionServer=lambda node, kind, name, **callbacks: SimpleNamespace(name=name, **callbacks),
        GoalResponse=SimpleNamespace(ACCEPT='accept', REJECT='reject'),
        CancelResponse=SimpleNamespace(ACCEPT='accept'),
    )
    monkeypatch.setattr(follow_joint_trajectory, 'action', lambda name: (module, kind))
    loader = make()
    server = loader.node.goals.server._server
    assert server.name == '~/follow_joint_trajectory'

    def request(**changes: Any) -> Any:
        tolerance = SimpleNamespace(name='boom_joint', position=0.2, velocity=0.0, acceleration=0.0)
        values = {'trajectory': move(loader, (-0.1, 0.1, 0.0)), 'path_tolerance': [tolerance], 'goal_tolerance': []}
        return SimpleNamespace(**{**values, 'goal_time_tolerance': seconds(2.0), **changes})

    assert server.goal_callback(request(trajectory=trajectory((1.0, (0.0,)), names=['boom']))) == 'reject'
    assert server.goal_callback(request()) == 'accept'
    handle = Handle(request())
    running = server.execute_callback(handle)
    assert running.send(None) is not None or not handle.ends
    assert loader.node.goals.active.tolerances.path.tolist() == [0.2, 0.15, 0.15]
    loader.run(6.0, loader.node.goals.active)
    with pytest.raises(StopIteration) as end:
        running.send(None)
    assert (end.value.value.error_code, handle.ends) == (0, ['succeed'])
    assert 30 <= len(handle.feedback) <= 130, 'twenty a second'
    assert handle.feedback[-1].joint_names == list(loader.node.goals.joints)
    handle = Handle(request())
    running = server.execute_callback(handle)
    running.send(None)
    loader.run(0.2)
    handle.is_cancel_requested = True
    loader.run(0.1)
    with pytest.raises(StopIteration):
        running.send(None)
    assert handle.ends == ['canceled']


def test_without_the_types_of_the_action_the_node_works_and_reports_it(make: Any) -> None:
    loader = make()
    is_there = RUNTIME == 'rclpy' and importlib.util.find_spec('control_msgs') is not None
    assert (loader.node.goals.server is not None) == is_there
