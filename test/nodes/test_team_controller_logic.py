"""Logic of team_controller_node: the test plays the robots, by their equations with the object in their hands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from node_testing import Outbox

from dyn_nodes.control.carry.formation import RobotState
from dyn_nodes.elements.hand_motion import HandState
from dyn_nodes.middleware import Parameter, message
from dyn_nodes.model.rotations import matrix_of_quaternion
from dyn_nodes.nodes.diagnostics import ERROR, OK, WARN, Health, status_message
from dyn_nodes.nodes.grasp_messages import state_message, write_state
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.running import RunOver
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp, stamp_at
from dyn_nodes.nodes.team_controller_node import TeamControllerNode
from dyn_nodes.studies.tanner_1998.team_run import Hold, TeamRun, TeamTrace

JointState, PoseStamped = message('sensor_msgs/msg/JointState'), message('geometry_msgs/msg/PoseStamped')
PERIOD = 0.005
LINE = {'path.kind': 'line', 'path.length': 0.5, 'path.bearing': 0.5 * np.pi, 'path.delay': 0.1}


@pytest.fixture
def make(context: Any) -> Any:
    def controller(**parameters: Any) -> TeamControllerNode:
        values = {'team': 'team_bar', 'mode': 'lockstep', **parameters}
        node = TeamControllerNode(
            context=context, parameter_overrides=[Parameter(k, value=v) for k, v in values.items()]
        )
        for link in node.links:
            link.commands = Outbox()
        node.reports.state, node.reports.reference, node.reports.deviation = Outbox(), Outbox(), Outbox()
        node.diagnostics.publisher = Outbox()
        return node

    return controller


class Robots:
    """The team of a controller, moved by the efforts that it gives."""

    def __init__(self, node: TeamControllerNode, holding: float = np.inf) -> None:
        self.node, self.tick = node, 0
        self.holders = node.carrying.carriage.holders
        robots = [holder.robot for holder in self.holders]
        load = node.carrying.carriage.formation.load
        self.team = TeamRun(robots, load, [Hold('left_end'), Hold('right_end', holding)])
        self.state = self.team.start([RobotState(holder.start, np.zeros(5)) for holder in self.holders])
        self.trace: list[Any] = []

    @property
    def now(self) -> int:
        return round(self.tick * PERIOD * NANO)

    def send_states(self, only: str = '', stamp: int | None = None) -> None:
        """Publish the states of the robots."""
        now = self.now if stamp is None else stamp
        for link, holder, state in zip(self.node.links, self.holders, self.state.robots):
            if only in ('', link.name):
                here = holder.robot.at(*state)
                point, turn = holder.robot.hand_pose(state.q)
                hand = state_message('odom', 'hand')
                write_state(hand, HandState(point, turn, here.rate[:3], np.zeros(3)), now)
                self.node.receive(f'{link.name}/grasp_states/{link.holder.hand}', hand)
                msg = JointState(name=list(holder.joints), position=state.q[holder.indices].tolist())
                msg.velocity, msg.effort = state.u.tolist(), [0.0] * 5
                msg.header.stamp = stamp_at(now)
                self.node.receive(f'{link.name}/joint_states', msg)

    def go(self, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD)):
            self.send_states()
            efforts = [np.array(link.commands.last.effort) for link in self.node.links]
            assert all(nanoseconds_of_stamp(link.commands.last.header.stamp) == self.now for link in self.node.links)
            trace = TeamTrace()
            self.state = self.team._across(self.state, efforts, self.tick * PERIOD, PERIOD, trace)
            for slip in trace.slips:
                self.slip(slip.name, slip.time)
            self.tick += 1

    def slip(self, grasp: str, time: float, kind: str = 'slip_off') -> None:
        values = {'time': f'{time:.9f}', 'grasp': grasp}
        text = f'{grasp} slips off'
        self.node.receive('events', status_message(self.node, kind, Health(WARN, text, values)))

    def middle(self) -> np.ndarray:
        return self.state.nodes.mean(axis=0)

    def speed(self) -> float:
        return max(
            float(np.abs(holder.robot.at(*state).rate).max()) for holder, state in zip(self.holders, self.state.robots)
        )


def level(node: TeamControllerNode, subject: str) -> tuple[int, str]:
    status = next(entry for entry in node.diagnostics.publisher.last.status if entry.name.endswith(f': {subject}'))
    return (status.level[0] if isinstance(status.level, bytes) else status.level), status.message


def states(node: TeamControllerNode) -> list[str]:
    return [msg.data for msg in node.reports.state.messages]


def test_the_bar_is_carried_along_its_line_and_held_at_the_end(make: Any) -> None:
    node = make(**LINE)
    robots = Robots(node)
    before = robots.middle()
    robots.go(node.carrying.plan.ends + 1.1)
    assert robots.middle() - before == pytest.approx((0.0, 0.5, 0.0), abs=2e-4)
    assert robots.speed() < 1e-3
    assert states(node) == ['holding', 'carrying', 'holding']
    assert max(msg.data for msg in node.reports.deviation.messages) < 2e-3
    assert node.reports.reference.last.pose.position.y == pytest.approx(0.5)
    assert level(node, 'carrying') == (OK, 'holding')


def test_no_efforts_are_given_before_the_states_of_all_robots_are_here(make: Any) -> None:
    node = make()
    robots = Robots(node)
    robots.send_states(only='left')
    assert not any(link.commands.messages for link in node.links)
    assert level_of_waiting(node) == 'waiting for right'
    robots.send_states(only='right')
    assert [len(link.commands.messages) for link in node.links] == [1, 1]


def level_of_waiting(node: TeamControllerNode) -> str:
    node.update_diagnostics()
    return level(node, 'robots')[1]


def test_an_instant_that_comes_again_gets_the_same_efforts(make: Any) -> None:
    node = make()
    robots = Robots(node)
    robots.go(2 * PERIOD)
    robots.tick -= 1
    first = node.links[0].commands.last
    count = len(node.links[0].commands.messages)
    robots.send_states(only='left')
    assert len(node.links[0].commands.messages) > count
    assert node.links[0].commands.last.effort == first.effort
    assert len(node.links[1].commands.messages) == 2


@pytest.mark.simulated
def test_a_hand_that_slips_off_stops_the_carrying_and_the_other_takes_the_load(make: Any) -> None:
    node = make(**{**LINE, 'path.length': 2.0})
    robots = Robots(node, holding=8.3)
    robots.go(1.2)
    assert node.carrying.free == [False, True], 'driving off pulls more than the hand holds'
    robots.go(3.0)
    assert node.carrying.state == 'stopped'
    assert states(node)[-1] == 'stopped: right_end slips off'
    assert robots.speed() < 0.05
    assert robots.state.robots[0].q[1] < 1.0, 'the team has not gone on'
    assert level(node, 'carrying') == (ERROR, 'stopped: right_end slips off')
    up = node.links[0].commands.last.effort[3]
    assert up > node.links[1].commands.last.effort[3] + 5.0, 'the left arm holds the bar alone'


def test_a_slip_counts_from_a_fixed_time_on_whenever_its_message_comes(make: Any) -> None:
    node = make()
    robots = Robots(node)
    robots.go(4 * PERIOD)
    robots.slip('right_end', 2 * PERIOD)
    robots.go(2 * PERIOD)
    assert not any(node.carrying.free)
    robots.go(PERIOD)
    assert node.carrying.free == [False, True]


@pytest.mark.parametrize('time', ['inf', 'nan', '1e300', '-7', 'soon', ''])
def test_a_slip_at_a_time_that_cannot_be_stops_the_carrying_too(make: Any, time: str) -> None:
    node = make(**LINE)
    robots = Robots(node)
    robots.go(2 * PERIOD)
    details = {'time': time, 'grasp': 'right_end'}
    node.receive('events', status_message(node, 'slip_off', Health(WARN, 'right_end slips off', details)))
    robots.go(6 * PERIOD)
    assert any(node.carrying.free)


def test_slips_of_other_objects_and_other_events_change_nothing(make: Any) -> None:
    node = make()
    robots = Robots(node)
    robots.slip('elsewhere', 0.0)
    robots.slip('right_end', 0.0, kind='lift_off')
    robots.go(0.1)
    assert not any(node.carrying.free)
    assert not node.end_reason


@pytest.mark.parametrize('waited', [0.21, 5.1])
def test_a_robot_that_is_gone_ends_the_commands_of_all(make: Any, monkeypatch: Any, waited: float) -> None:
    node = make(mode='realtime', **LINE)
    robots = Robots(node)
    robots.go(0.3)
    monkeypatch.setattr('dyn_nodes.nodes.team_links.RobotLink.is_held', property(lambda link: True))
    robots.send_states(only='left')
    node.stop_without_partners(0.19)
    assert not node.end_reason
    node.stop_without_partners(waited)
    assert node.end_reason == f'no states of right since {waited:.2f} s'
    counts = [len(link.commands.messages) for link in node.links]
    robots.send_states()
    assert [len(link.commands.messages) for link in node.links] == counts
    assert level(node, 'robots') == (ERROR, f'ended: no states of right since {waited:.2f} s')
    assert states(node)[-1].startswith('ended: no states of right')


def test_robots_that_all_wait_for_the_object_are_not_given_up(make: Any, monkeypatch: Any) -> None:
    node = make(mode='realtime')
    Robots(node).go(2 * PERIOD)
    monkeypatch.setattr('dyn_nodes.nodes.team_links.RobotLink.is_held', property(lambda link: True))
    node.stop_without_partners(60.0)
    assert not node.end_reason


def test_an_object_that_is_gone_ends_the_commands(make: Any, monkeypatch: Any) -> None:
    node = make(mode='realtime')
    Robots(node).go(2 * PERIOD)
    monkeypatch.setattr('dyn_nodes.nodes.team_links.RobotLink.is_held', property(lambda link: False))
    node.stop_without_partners(0.0)
    assert node.end_reason == 'no wrenches of bar'


def test_a_team_that_object_node_has_stopped_gets_no_commands(make: Any) -> None:
    node = make()
    robots = Robots(node)
    robots.go(2 * PERIOD)
    robots.slip('', 0.0, kind='team_stopped')
    assert node.end_reason.startswith('object_node has stopped the team')


def test_robots_away_from_their_start_get_no_commands(make: Any) -> None:
    node = make()
    robots = Robots(node)
    away = robots.state.robots[1].q.copy()
    away[0] += 0.3
    robots.state = robots.state._replace(
        robots=(robots.state.robots[0], robots.state.robots[1]._replace(q=away))
    )  # fmt: skip
    robots.send_states()
    assert node.end_reason.startswith("robot 'right': expected it at the start of its team, found it 0.30")
    assert not any(link.commands.messages for link in node.links)


@pytest.mark.simulated
def test_a_hand_too_far_from_its_reference_makes_the_team_brake(make: Any) -> None:
    node = make(tolerance=0.005, **LINE)
    robots = Robots(node)
    robots.go(0.5)
    pushed = robots.state.robots[0].q.copy()
    pushed[robots.holders[0].indices[2]] += 0.05
    robots.state = robots.state._replace(
        robots=(robots.state.robots[0]._replace(q=pushed), robots.state.robots[1])
    )  # fmt: skip
    robots.go(PERIOD)
    assert node.carrying.state == 'braking'
    robots.go(2.0)
    assert states(node)[-1].startswith('stopped: a hand is 0.0')
    assert robots.middle()[1] < 0.4


@pytest.mark.simulated
def test_the_object_goes_to_a_goal_from_rest_alone(make: Any) -> None:
    node = make()
    robots = Robots(node)
    goal = PoseStamped()
    goal.pose.position.x, goal.pose.position.y = 0.1, 0.3
    node.receive('object_goal', goal)
    assert 'expected a team at rest' in node.rejections.last
    robots.go(0.2)
    goal.header.frame_id = 'base_link'
    node.receive('object_goal', goal)
    assert "header.frame_id: expected 'odom'" in node.rejections.last
    goal.header.frame_id = 'odom'
    node.receive('object_goal', goal)
    assert node.goals == 1
    robots.go(0.1)
    node.receive('object_goal', goal)
    assert node.rejections.last == 'object_goal: expected a team at rest, found: carrying'
    robots.go(node.carrying.plan.ends - node.time + 0.5)
    assert robots.middle()[:2] == pytest.approx((0.1, 0.3), abs=1e-3)
    node.receive('object_goal', goal)
    assert 'expected another pose than the one at the start' in node.rejections.last


@pytest.mark.simulated
def test_it_stops_on_request(make: Any) -> None:
    node = make(**{**LINE, 'path.length': 2.0})
    robots = Robots(node)
    robots.go(0.8)
    answer = node.answer('~/stop', None)
    assert answer.success
    robots.go(1.5)
    assert states(node)[-1] == 'stopped: stopped by request'
    assert robots.speed() < 0.02


@pytest.mark.simulated
def test_the_squeeze_can_be_set_at_rest(make: Any) -> None:
    node = make(**LINE)
    robots = Robots(node)
    robots.go(0.3)
    result = node.set_parameters([Parameter('squeeze', value=8.0)])[0]
    assert not result.successful
    assert result.reason == 'squeeze: expected a team at rest'
    node = make()
    robots = Robots(node)
    robots.go(0.3)
    assert node.set_parameters([Parameter('squeeze', value=8.0)])[0].successful
    robots.go(1.0)
    forces = robots.team.rates(robots.state, [np.array(link.commands.last.effort) for link in node.links])[3]
    assert (forces[0, 0] - forces[1, 0]) / 2.0 == pytest.approx(8.0, rel=1e-3)


def test_time_that_goes_back_starts_the_path_again(make: Any) -> None:
    node = make(**LINE)
    robots = Robots(node)
    start = robots.state
    robots.go(0.6)
    robots.state, robots.tick = start, 0
    robots.go(0.2)
    assert node.carrying.plan.begins == pytest.approx(0.1)
    assert not node.end_reason


def test_states_that_are_no_numbers_are_rejected_and_counted(make: Any) -> None:
    node = make()
    msg = JointState(name=list(node.links[0].holder.joints), position=[float('nan')] * 5, velocity=[0.0] * 5)
    node.receive(f'{node.links[0].name}/joint_states', msg)
    hand = state_message('odom', 'hand')
    hand.pose.pose.position.x = float('inf')
    node.receive(f'{node.links[1].name}/grasp_states/{node.links[1].holder.hand}', hand)
    assert node.state_rejections.counts == {'not finite': 2}
    assert 'left/grasp_states' not in node.state_rejections.last
    assert all(link.instant == -1 for link in node.links)


def test_the_end_of_the_run_is_no_loss_of_partners(make: Any, monkeypatch: Any) -> None:
    node = make(mode='realtime', duration=0.05)
    monkeypatch.setattr('dyn_nodes.nodes.team_links.RobotLink.is_held', property(lambda link: False))
    Robots(node).go(0.055)
    node.check_timeouts()
    assert not node.end_reason
    node._since -= 1.0
    with pytest.raises(RunOver):
        node.check_timeouts()


@pytest.mark.parametrize(
    ('parameters', 'text'),
    [
        ({'team': 'team_plank'}, "robot 'left': expected a vehicle whose wheels roll by constraint"),
        ({'object': 'plate'}, "parameter 'object': expected one of bar, found 'plate'"),
        (
            {'path.kind': 'figure_of_eight', 'path.length': 2.5, 'path.width': 2.0, 'path.bearing': 0.5 * np.pi},
            "team 'team_bar': path: robot 'left': joint 'arm_joint_1': expected -3.14 to 3.14 on the whole path, "
            'found 4.712',
        ),
        ({'reserve.lift': 300.0, **LINE}, 'expected a posture that can be held at rest, found none'),
    ],
)
def test_an_object_that_cannot_be_carried_is_rejected_at_the_start(make: Any, parameters: Any, text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        make(**parameters)


def test_the_base_of_a_robot_follows_from_its_hand(make: Any) -> None:
    node = make()
    robots = Robots(node)
    robots.send_states()
    for link, holder in zip(node.links, robots.holders):
        q = link.state().q
        assert q[:3] == pytest.approx(holder.start[:3], abs=1e-12)
        assert matrix_of_quaternion(q[3:7]) == pytest.approx(matrix_of_quaternion(holder.start[3:7]), abs=1e-12)
