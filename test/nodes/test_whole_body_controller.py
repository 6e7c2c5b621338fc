"""cartesian_controller_node with efforts of all drives: the base follows the hand (operational space)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from node_testing import Outbox, joint_state, statuses, values_of
from scipy.linalg import qr
from scipy.spatial.transform import Rotation

from dyn_nodes.constraints.linear import rank_of
from dyn_nodes.middleware import message
from dyn_nodes.nodes.cartesian_controller_node import CartesianControllerNode
from dyn_nodes.nodes.parameters import ParameterError
from dyn_nodes.nodes.stamps import stamp_of
from dyn_nodes.simulation.constrained_machine import constrained_machine

PoseStamped, Odometry, TwistStamped = (
    message(f'{kind}')
    for kind in ('geometry_msgs/msg/PoseStamped', 'nav_msgs/msg/Odometry', 'geometry_msgs/msg/TwistStamped')
)
NAMES = ('left_drive', 'right_drive', 'arm_joint_1', 'arm_joint_2', 'arm_joint_3')
PERIOD = 0.01


class Vehicle:
    """RM-1 by all coordinates and multipliers: other equations than in the controller."""

    def __init__(self, machine: Any) -> None:
        start = constrained_machine(machine)
        self.blocks, self.q = start.system.blocks, start.q.copy()
        self.v = np.zeros(self.blocks.tree.nv)
        J = self.blocks.at(self.q, self.v).J
        self.kept = qr(J.T, mode='r', pivoting=True)[1][: rank_of(J)]
        self.drives = [self.blocks.tree.velocity_index(name) for name in NAMES]

    def step(self, efforts: Any, seconds: float) -> None:
        """Midpoint rule; velocities that wheels forbid are taken away afterwards."""
        tau = np.zeros(len(self.v))
        tau[self.drives] = efforts
        half_q, half_v = self._moved(0.5 * seconds, *self._rates(self.q, self.v, tau))
        self.q, self.v = self._moved(seconds, *self._rates(half_q, half_v, tau))
        J = self.blocks.at(self.q, self.v).J[self.kept]
        self.v -= J.T @ np.linalg.solve(J @ J.T, J @ self.v)

    def _rates(self, q: Any, v: Any, tau: Any) -> tuple[Any, Any]:
        at = self.blocks.at(q, v)
        rows = at.J[self.kept]
        matrix = np.block([[at.M, -rows.T], [rows, np.zeros((len(rows), len(rows)))]])
        return v, np.linalg.solve(matrix, np.concatenate([tau - at.h, at.gamma[self.kept]]))[: len(v)]

    def _moved(self, seconds: float, v: Any, a: Any) -> tuple[Any, Any]:
        q, turn = self.q.copy(), Rotation.from_quat(self.q[3:7])
        q[:3] += seconds * turn.apply(v[3:6])
        q[3:7] = (turn * Rotation.from_rotvec(seconds * v[:3])).as_quat()
        q[7:] += seconds * v[6:]
        return q, self.v + seconds * a

    @property
    def joints(self) -> tuple[Any, Any]:
        return self.q[7:], self.v[6:]

    def odometry(self, time: float) -> Any:
        result = Odometry()
        result.header.stamp, result.header.frame_id = stamp_of(time), 'odom'
        position, turn = result.pose.pose.position, result.pose.pose.orientation
        position.x, position.y, position.z = self.q[:3].tolist()
        turn.x, turn.y, turn.z, turn.w = self.q[3:7].tolist()
        return result


@pytest.fixture
def make(make_node):
    def build(**parameters: Any) -> Any:
        values = {'machine': 'rm_1', 'link': 'hand', 'output': 'effort', 'target_frame': 'world'}
        node = make_node(
            CartesianControllerNode, **{**values, 'exchange_period': PERIOD, 'limits.acceleration': 1.0, **parameters}
        )
        node.state_out, node.reference_out, node.error_out = Outbox(), Outbox(), Outbox()
        return node

    return build


def target(point: Any) -> Any:
    result = PoseStamped()
    result.header.frame_id = 'odom'
    result.pose.position.x, result.pose.position.y, result.pose.position.z = point
    result.pose.orientation.w = 1.0
    return result


def drive(node: Any, vehicle: Vehicle, start: float, end: float) -> list[float]:
    """Let node and vehicle run; returns distances of the hand from its reference, m."""
    lags = []
    for k in range(round(start / PERIOD), round(end / PERIOD)):
        node.receive('odom', vehicle.odometry(k * PERIOD))
        positions, rates = vehicle.joints
        node.receive('joint_states', joint_state(k * PERIOD, positions, rates, np.zeros(5), NAMES))
        lags.append(node.follower.lag)
        vehicle.step(node.commands_out.last.effort, PERIOD)
    return lags


def hand_of(node: Any, vehicle: Vehicle) -> Any:
    return node.hand.pose(vehicle.joints[0]).within(node._base).position


def test_the_base_follows_a_hand_beyond_the_reach_of_its_arm(make):
    node = make()
    vehicle = Vehicle(node.machine)
    lags = drive(node, vehicle, 0.0, 0.1)
    assert max(lags) < 1e-3, 'the point rests without a target'
    start = hand_of(node, vehicle)
    goal = start + np.array([1.0, 0.3, 0.1])
    node.receive('hand_pose', target(goal))
    lags = drive(node, vehicle, 0.1, 4.0)
    assert hand_of(node, vehicle) == pytest.approx(goal, abs=2e-3)
    assert max(lags) < 0.02
    assert vehicle.q[0] > 0.6, 'the vehicle has followed'
    assert np.linalg.norm(vehicle.v[3:6]) < 0.1
    assert node.follower.reference.state == 'holding'
    assert [len(part) for part in (node.commands_out.last.effort, node.commands_out.last.position)] == [5, 0]


def test_a_velocity_of_the_hand_is_kept_until_it_times_out(make):
    node = make()
    vehicle = Vehicle(node.machine)
    drive(node, vehicle, 0.0, 0.1)
    before = hand_of(node, vehicle)
    for k in range(10):
        twist = TwistStamped()
        twist.header.frame_id, twist.header.stamp = 'odom', stamp_of(0.1 * k)
        twist.twist.linear.x = 0.3
        node.receive('hand_twist', twist)
        drive(node, vehicle, 0.1 + 0.1 * k, 0.2 + 0.1 * k)
    moved = hand_of(node, vehicle) - before
    assert 0.1 < moved[0] < 0.3
    assert np.abs(moved[1:]).max() < 0.01
    drive(node, vehicle, 1.1, 2.1)
    assert node.timeouts == 1
    assert not node.follower.reference.moving


@pytest.mark.parametrize(
    ('parameters', 'message'),
    [
        ({'target_frame': 'base'}, "'target_frame': expected world, as the base moves with output effort, found base"),
        ({'rows': ['x', 'y']}, "'rows': expected x, y, z with output effort, found x, y"),
        ({'machine': 'agv_mecanum_arm', 'link': ''}, 'effort: expected a vehicle whose wheels roll by constraint'),
        ({'machine': 'arm_a6', 'link': ''}, 'effort: expected a vehicle whose wheels roll by constraint'),
    ],
)
def test_efforts_are_rejected_where_the_base_cannot_follow(make, parameters, message):
    with pytest.raises(ParameterError, match=message):
        make(**parameters)


def test_without_joint_states_the_joints_are_held_and_the_status_names_the_hand(make):
    node = make()
    vehicle = Vehicle(node.machine)
    drive(node, vehicle, 0.0, 0.05)
    node._on_timeout_tick()
    last = node.commands_out.last
    assert last.position == pytest.approx(vehicle.joints[0], abs=1e-3)
    assert not last.effort
    node.update_diagnostics()
    node.diagnostics.update(node.now() + 2.0, 0.0)
    values = values_of(statuses(node.diagnostics.publisher.last)['hand'])
    assert (values['link'], values['rows'], values['state']) == ('hand', 'x, y, z', 'holding')
