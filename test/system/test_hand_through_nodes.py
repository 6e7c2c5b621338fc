"""The log-loader's grapple guided by targets over topics: nodes in separate processes, in lockstep."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dyn_nodes.control.hand import HandKinematics, HandPose, inverse_kinematics
from dyn_nodes.measures import MEASURES, levels_of_values
from dyn_nodes.middleware import message
from dyn_nodes.nodes.machines import machine_of

PoseStamped = message('geometry_msgs/msg/PoseStamped')
DiagnosticArray = message('diagnostic_msgs/msg/DiagnosticArray')
COMMON = {'machine': 'log_loader', 'mode': 'lockstep', 'exchange_period': 0.005}
OTHERS = ['hydraulic_actuator_node', 'cartesian_controller_node']


@pytest.fixture
def warnings():
    """Return warning statuses of the stability on /diagnostics, in their order."""
    return []


@pytest.fixture
def lead(processes, probe, warnings):
    """Start the nodes at a grapple position, send a target, and return the data until the end."""

    def run(start, end, payload, duration):
        machine = machine_of('log_loader', '')
        hand = HandKinematics.of(machine, 'payload_link')
        first = inverse_kinematics(hand, HandPose(np.eye(3), np.array(start)), [0.1, 0.5, -1.2]).best.posture
        positions, volts = [], []
        order = {}

        def warned(msg):
            statuses = [status for status in msg.status if status.name == 'dynamics_node: stability']
            warnings.extend(status for status in statuses if level_of(status) == 1)

        def note(msg):
            order.setdefault('at', [list(msg.name).index(name) for name in hand.names])
            stamp = msg.header.stamp.sec + 1e-9 * msg.header.stamp.nanosec
            positions.append((stamp, *hand.pose(np.array(msg.position)[order['at']]).position))

        probe.node.create_subscription(message('sensor_msgs/msg/JointState'), 'joint_states', note, 5000)
        kind = message('std_msgs/msg/Float64MultiArray')
        probe.node.create_subscription(kind, 'valve_commands', lambda msg: volts.append(list(msg.data)), 5000)
        probe.node.create_subscription(DiagnosticArray, '/diagnostics', warned, 500)
        probe.listen('std_msgs/msg/String', 'hand_state', latched=True)
        probe.listen('std_msgs/msg/Float64', 'hand_error')
        probe.listen('geometry_msgs/msg/PoseStamped', 'hand_reference')
        target = probe.node.create_publisher(PoseStamped, 'hand_pose', 10)
        processes.start('hydraulic_actuator_node', payload=payload, **COMMON)
        processes.start('cartesian_controller_node', payload=payload, **COMMON)
        probe.until(lambda: target.get_subscription_count() > 0, 'the match with cartesian_controller_node', 120)
        posture = ','.join(f'{name}={value:.12f}' for name, value in zip(hand.names, first))
        processes.start(
            'dynamics_node', wait_for=OTHERS, duration=duration, payload=payload, initial_positions=posture, **COMMON
        )
        probe.until(lambda: len(positions) > 3, 'the first joint states', 120)
        goal = PoseStamped()
        goal.header.frame_id = 'base_link'
        goal.pose.position.x, goal.pose.position.y, goal.pose.position.z = map(float, end)
        goal.pose.orientation.w = 1.0
        target.publish(goal)
        assert processes.wait('dynamics_node', 280) == 0, processes.log('dynamics_node')
        processes.stop()
        assert 'Traceback' not in processes.log('cartesian_controller_node')
        return np.array(positions), np.array(volts), probe.last

    return run


def level_of(status):
    return status.level[0] if isinstance(status.level, bytes) else int(status.level)


def off_the_line(positions, start, end):
    along = np.subtract(end, start) / np.linalg.norm(np.subtract(end, start))
    away = positions[:, 1:] - start
    return np.linalg.norm(away - np.outer(away @ along, along), axis=1), away @ along


def test_a_pose_of_the_hand_moves_the_grapple_on_a_line_through_the_nodes(lead):
    start, end = (4.493, -0.12, 2.88), (4.7, -0.12, 2.6)
    positions, volts, last = lead(start, end, 1000.0, 4.5)
    off, along = off_the_line(positions, start, end)
    assert off.max() < 0.05
    assert along[-1] == pytest.approx(np.linalg.norm(np.subtract(end, start)), abs=0.03)
    assert 0.5 < np.abs(volts).max() <= 8.0
    assert last['hand_state'].data == 'holding'
    assert last['hand_error'].data < 0.05
    assert last['hand_reference'].header.frame_id == 'base_link'


@pytest.mark.slow
def test_the_grapple_follows_a_line_of_3_m_at_half_a_metre_a_second_through_the_nodes(lead):
    start, end = (4.493, -0.12, 2.88), (6.343, -0.12, 0.51)
    positions, volts, last = lead(start, end, 3000.0, 12.0)
    off, along = off_the_line(positions, start, end)
    assert off.max() < 0.05
    assert along[-1] == pytest.approx(np.linalg.norm(np.subtract(end, start)), abs=0.05)
    middle = [int(np.argmax(along > part * along[-1])) for part in (0.25, 0.75)]
    speed = (along[middle[1]] - along[middle[0]]) / (positions[middle[1], 0] - positions[middle[0], 0])
    assert speed == pytest.approx(0.5, rel=0.03)
    assert np.abs(volts).max() <= 8.0
    assert last['hand_state'].data == 'holding'


@pytest.mark.slow
def test_on_a_line_that_leads_too_far_out_the_margins_warn_with_edge_and_value(lead, warnings):
    start, end = (5.6, -0.12, 0.5), (8.0, -0.12, 0.5)
    positions, _, last = lead(start, end, 3500.0, 5.0)
    off, along = off_the_line(positions, start, end)
    assert off.max() < 0.05
    assert along[-1] > 0.5
    assert warnings
    first = warnings[0]
    values = {pair.key: pair.value for pair in first.values}
    match = re.fullmatch(r'caution: (.+) \S+.* at (front|rear_\w+), level .+', first.message)
    assert match, first.message
    measure = next(entry for entry in MEASURES.values() if match[1].startswith(entry.label))
    levels = levels_of_values(values.items())[measure.name]
    assert levels.danger < float(values[measure.name]) <= levels.caution
    assert 0.0 < float(values['zmp']) < 0.45
    assert values['zmp critical edge'] == 'front'
    assert last['hand_state'].data.startswith(('stopped', 'slowed', 'tracking'))
