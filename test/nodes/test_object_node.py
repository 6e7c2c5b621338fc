"""Logic of object_node and of the hands of a robot beside it, without machines: the test plays the other side."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from node_testing import Outbox

from dyn_nodes.common.share import find_resource
from dyn_nodes.elements.hand_motion import HandMobility, HandState
from dyn_nodes.middleware import Parameter
from dyn_nodes.nodes.diagnostics import ERROR
from dyn_nodes.nodes.grasp_exchange import GraspExchange
from dyn_nodes.nodes.grasp_messages import (
    WrenchStamped,
    mobility_message,
    state_message,
    write_mobility,
    write_state,
    write_wrench,
)
from dyn_nodes.nodes.object_node import ObjectNode
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.running import RunFailed
from dyn_nodes.nodes.stamps import NANO, nanoseconds_of_stamp
from roslite.launching import finished

STEP = 5_000_000
FIXED = HandMobility(np.zeros((3, 3)), np.zeros(3))
WEIGHT = 1.2 * 9.81


@pytest.fixture
def make(context: Any) -> Any:
    def object_node(**parameters: Any) -> ObjectNode:
        values = {'team': 'team_bar', 'mode': 'lockstep', **parameters}
        node = ObjectNode(context=context, parameter_overrides=[Parameter(k, value=v) for k, v in values.items()])
        node.wrenches_out = {name: Outbox() for name in node.wrenches_out}
        node.events.publisher, node.diagnostics.publisher = Outbox(), Outbox()
        return node

    return object_node


def send_hands(node: ObjectNode, now: int, only: str = '', offset: float = 0.0) -> None:
    """Send motion and mobility of the hands at a time, ns: at rest, with a mobility of zero."""
    for grip in node.hands.values():
        if only in ('', grip.grasp.robot):
            msg = state_message('odom', 'hand')
            position = grip.grasp.position + np.array([offset, 0.0, 0.0])
            write_state(msg, HandState(position, grip.grasp.rotation, np.zeros(3), np.zeros(3)), now)
            node.receive(f'{grip.grasp.robot}/grasp_states/{grip.grasp.hand}', msg)
            msg = mobility_message(grip.size)
            write_mobility(msg, HandMobility(np.zeros((grip.size, grip.size)), np.zeros(grip.size)), now)
            node.receive(f'{grip.grasp.robot}/grasp_mobility/{grip.grasp.hand}', msg)


def test_every_hand_gets_its_wrench_once_all_hands_have_published(make: Any) -> None:
    node = make()
    send_hands(node, 0, only='left')
    assert all(not box.messages for box in node.wrenches_out.values())
    send_hands(node, 0, only='right')
    send_hands(node, STEP)
    forces = []
    for box in node.wrenches_out.values():
        assert [nanoseconds_of_stamp(msg.header.stamp) for msg in box.messages] == [0, STEP]
        assert box.last.header.frame_id == 'odom'
        forces.append(box.last.wrench.force.z)
    assert sum(forces) == pytest.approx(-WEIGHT, rel=1e-6)


def test_a_robot_that_has_ended_before_the_first_instant_ends_the_node_with_its_message(
    make: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(finished.VARIABLE, str(tmp_path / 'ended'))
    node = make()
    finished.record_finished(tmp_path / 'ended', '/other/dynamics_node', 'exit code 1')
    finished.record_finished(tmp_path / 'ended', '/recorder_node', 'exit code 1: the bag exists')
    finished.record_finished(tmp_path / 'ended', '/left/viewer_node', 'exit code 1: the port is taken')
    node.check_timeouts()
    finished.record_finished(tmp_path / 'ended', '/right/dynamics_node', "exit code 1: parameter 'robot'")
    with pytest.raises(RunFailed, match=r"^right/dynamics_node, .* has ended: exit code 1: parameter 'robot'$"):
        node.check_timeouts()
    send_hands(node, 0)
    node.check_timeouts()  # later every robot holds its joints instead


def test_an_instant_that_comes_again_gets_the_same_answer(make: Any) -> None:
    node = make()
    send_hands(node, 0)
    send_hands(node, STEP)
    box = node.wrenches_out['left_end']
    before = box.last
    send_hands(node, STEP, only='left')
    assert len(box.messages) > 2
    assert box.last.wrench.force.z == before.wrench.force.z


def test_robots_that_start_again_take_the_object_with_them(make: Any) -> None:
    node = make()
    for k in range(3):
        send_hands(node, k * STEP)
    send_hands(node, 0)
    assert node.instant == 0
    assert not node.stopped


def test_robots_with_another_period_stop_the_team(make: Any) -> None:
    node = make()
    send_hands(node, 0)
    send_hands(node, 3 * STEP)
    assert node.stopped == 'expected robots with exchange_period 0.005 s, found 0.015 s'
    assert node.wrenches_out == {}


def test_a_robot_that_is_gone_stops_the_team_within_its_timeout(make: Any) -> None:
    """Nothing is published any more, so that the others hold after their timeouts."""
    node = make(mode='realtime')
    send_hands(node, 0)
    send_hands(node, STEP, only='left')
    node.stop_without_robots(0.1)
    assert not node.stopped
    node.stop_without_robots(0.21)
    assert node.stopped == 'no motion of right since 0.21 s'
    assert node.wrenches_out == {}
    status = node.diagnostics.publisher.last.status[0]
    level = status.level[0] if isinstance(status.level, bytes) else status.level
    assert level == ERROR
    assert 'right' in status.message
    send_hands(node, STEP, only='right')
    assert node.instant == 0


def test_in_lockstep_time_stands_still_without_a_robot(make: Any) -> None:
    node = make()
    send_hands(node, 0)
    send_hands(node, STEP, only='left')
    node.stop_without_robots(100.0)
    assert not node.stopped
    send_hands(node, STEP, only='right')
    assert node.instant == STEP


def test_a_state_that_is_no_number_is_rejected_and_counted(make: Any) -> None:
    node = make()
    name, grip = next(iter(node.hands.items()))
    msg = state_message('odom', 'hand')
    msg.pose.pose.position.x = float('nan')
    node.receive(f'{grip.grasp.robot}/grasp_states/{grip.grasp.hand}', msg)
    assert node.rejections.counts == {'not finite': 1}
    assert name in node.meeting.late(0)


def test_an_object_of_finite_elements_is_held_and_drawn_as_its_surface_in_the_colours_of_its_stress(make: Any) -> None:
    node = make(team='team_plate', marker_period=0.005)
    node.reports.markers_out = Outbox()
    for k in range(3):
        send_hands(node, k * STEP)
    pulls = [box.last.wrench.force.z for box in node.wrenches_out.values()]
    assert len(pulls) == 4
    assert sum(pulls) == pytest.approx(-2.4 * 9.81, rel=1e-6)
    (marker,) = node.reports.markers_out.last.markers
    assert marker.type == marker.TRIANGLE_LIST
    assert 300 < len(marker.points) <= 1800
    heights = np.array([point.z for point in marker.points])
    low, high = heights.min(), heights.max()
    middle = next(iter(node.team.grasps.values())).position[2]
    assert low < middle - 0.02 < high, 'it sags between its hands'
    reds = [colour.r for colour in marker.colors]
    assert max(reds) == pytest.approx(1.0, abs=0.2)
    assert min(reds) == 0.0
    assert marker.text.startswith('plate: stress up to ')


def test_a_fixed_grasp_gets_force_and_torque_and_slips_off_beyond_its_torque(make: Any, tmp_path: Any) -> None:
    file = tmp_path / 'team.yaml'
    text = find_resource('config/teams/team_bar.yaml').read_text()
    for old, new in (('object: bar}', 'object: bar, model: condensed}'), ('left}', 'left, kind: fixed}')):
        text = text.replace(old, new)
    file.write_text(text.replace('patch: right}', 'patch: right, kind: fixed}'))
    node = make(team=str(file))
    send_hands(node, 0)
    send_hands(node, STEP)
    left, right = (box.last.wrench for box in node.wrenches_out.values())
    assert left.force.z + right.force.z == pytest.approx(-WEIGHT, rel=1e-6)
    assert left.torque.y == pytest.approx(-right.torque.y, rel=1e-6)
    assert left.torque.y == pytest.approx(WEIGHT * 0.6 / 12.0, rel=0.05)
    assert 'torque on left_end, N m' in node._health().values
    file.write_text(file.read_text().replace('left, kind: fixed', 'left, kind: fixed, holding_torque: 0.1'))
    node = make(team=str(file))
    send_hands(node, 0)
    assert node.objects['bar'].released == {0}
    assert node.wrenches_out['left_end'].last.wrench.torque.y == 0.0
    assert node._health().level == ERROR


@pytest.mark.parametrize('at_once', [True, False])
def test_hands_in_one_place_stop_the_team_and_not_the_node(make: Any, at_once: bool) -> None:
    node = make(team='team_plate')
    if not at_once:
        send_hands(node, 0)
    for grip in node.hands.values():
        msg = state_message('odom', 'hand')
        write_state(msg, HandState(np.ones(3), np.eye(3), np.zeros(3), np.zeros(3)), 0 if at_once else STEP)
        node.receive(f'{grip.grasp.robot}/grasp_states/{grip.grasp.hand}', msg)
        msg = mobility_message()
        write_mobility(msg, FIXED, 0 if at_once else STEP)
        node.receive(f'{grip.grasp.robot}/grasp_mobility/{grip.grasp.hand}', msg)
    assert node.stopped.startswith('plate: ')
    assert node.wrenches_out == {}
    assert node._health().level == ERROR


@pytest.mark.parametrize('seed', range(6))
def test_no_motion_of_hands_ends_the_node(make: Any, seed: int) -> None:
    """Absurd, finite motions and mobilities: forces stay numbers, or the team stops with a reason."""
    random, node = np.random.default_rng(seed), make(team='team_plate')
    send_hands(node, 0)
    for k in range(1, 8):
        for grip in node.hands.values():
            size = 10.0 ** random.uniform(-3.0, 8.0)
            turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
            msg = state_message('odom', 'hand')
            position = grip.grasp.position + size * random.normal(size=3)
            motion = HandState(
                position, turn * np.linalg.det(turn), size * random.normal(size=3), random.normal(size=3)
            )
            write_state(msg, motion, k * STEP)
            node.receive(f'{grip.grasp.robot}/grasp_states/{grip.grasp.hand}', msg)
            root = random.normal(size=(3, 3))
            msg = mobility_message()
            write_mobility(msg, HandMobility(root @ root.T, size * random.normal(size=3)), k * STEP)
            node.receive(f'{grip.grasp.robot}/grasp_mobility/{grip.grasp.hand}', msg)
    if node.stopped:
        assert node.stopped.startswith('plate: ')
    else:
        assert all(np.isfinite(pull).all() for pull in node._pulls.values())


class Robot:
    """A node and its plant, as far as hands ask for them."""

    def __init__(self, *held: str) -> None:
        self.readers: dict[str, Any] = {}
        self.boxes: dict[str, Outbox] = {}
        self.rejected: list[Any] = []
        self.wrenches: list[tuple[str, np.ndarray]] = []
        self.answers = 0
        state = HandState(np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3))
        hands = SimpleNamespace(
            state=lambda name: state,
            mobility=lambda name, size: FIXED,
            set_wrench=lambda name, wrench: self.wrenches.append((name, wrench)),
        )
        grasps = tuple(SimpleNamespace(name=name, link='link') for name in ('left', 'right'))
        self.plant = SimpleNamespace(machine=SimpleNamespace(name='robot', grasps=grasps), hands=hands, time=0.5)
        self.exchange = GraspExchange(self, self.plant, held, 'odom', self.answered)

    def create_publisher(self, kind: Any, topic: str, qos: Any) -> Outbox:
        return self.boxes.setdefault(topic, Outbox())

    def create_subscription(self, kind: Any, topic: str, callback: Any, qos: Any) -> None:
        self.readers[topic] = callback

    def resolve_topic_name(self, topic: str) -> str:
        return f'/robot/{topic}'

    def reject(self, error: Any) -> None:
        self.rejected.append(error)

    def answered(self) -> None:
        self.answers += 1

    def push(self, hand: str, stamp: float, force: float = 1.0) -> None:
        msg = WrenchStamped()
        write_wrench(msg, np.array([force, 0.0, 0.0, 0.0, 0.0, 0.0]), round(stamp * NANO))
        self.readers[f'grasp_wrenches/{hand}'](msg)


def test_an_instant_waits_for_the_wrench_on_every_hand_that_holds() -> None:
    robot = Robot('left', 'right')
    robot.exchange.start_instant()
    assert set(robot.boxes) == {
        f'grasp_{quantity}/{hand}' for quantity in ('states', 'mobility') for hand in ('left', 'right')
    }
    robot.push('left', 0.5)
    robot.push('left', 0.5)
    assert robot.answers == 0
    robot.push('right', 0.5)
    assert robot.answers == 1
    assert [name for name, _ in robot.wrenches] == ['left', 'right']


def test_a_wrench_of_another_instant_is_no_answer() -> None:
    robot = Robot('left')
    robot.exchange.start_instant()
    robot.push('left', 0.4)
    assert not robot.rejected
    robot.push('left', 0.6)
    assert [error.kind for error in robot.rejected] == ['stamp']
    robot.push('left', 0.5, force=float('nan'))
    assert [error.kind for error in robot.rejected] == ['stamp', 'not finite']
    assert robot.answers == 0
    assert not robot.wrenches


def test_a_wrench_on_a_hand_that_waits_for_none_acts_at_once() -> None:
    robot = Robot()
    robot.exchange.start_instant()
    robot.push('right', 0.0, force=7.0)
    ((name, wrench),) = robot.wrenches
    assert name == 'right'
    np.testing.assert_array_equal(wrench, [7.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert robot.answers == 0


def test_a_hand_that_the_machine_does_not_have_is_rejected_by_name() -> None:
    with pytest.raises(ParameterError, match=r"expected hands of 'robot' \(left, right\), found 'claw'"):
        Robot('claw')
