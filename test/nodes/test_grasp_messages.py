"""Messages of hands: written values are read back, impossible ones are rejected."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.elements.hand_motion import HandMobility, HandState
from dyn_nodes.model.rotations import matrix_of_quaternion
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.grasp_messages import (
    WrenchStamped,
    mobility_message,
    read_mobility,
    read_state,
    read_wrench,
    state_message,
    write_mobility,
    write_state,
    write_wrench,
)
from dyn_nodes.nodes.stamps import nanoseconds_of_stamp

RNG = np.random.default_rng(4)
TURN = matrix_of_quaternion(np.array([0.1, -0.5, 0.3, 0.8]) / np.linalg.norm([0.1, -0.5, 0.3, 0.8]))


def test_motion_of_a_hand_survives_its_message():
    state = HandState(RNG.normal(size=3), TURN, RNG.normal(size=3), RNG.normal(size=3))
    msg = state_message('odom', 'hand')
    write_state(msg, state, 1_234_567_890)
    for read, part in zip(read_state('left/grasp_states/hand', msg), state):
        np.testing.assert_allclose(read, part, atol=1e-14)
    assert nanoseconds_of_stamp(msg.header.stamp) == 1_234_567_890
    twist = msg.twist.twist.angular
    np.testing.assert_allclose((twist.x, twist.y, twist.z), TURN.T @ state.angular_velocity, atol=1e-14)


@pytest.mark.parametrize('size', [3, 6])
def test_mobility_of_a_hand_survives_its_message_with_its_time(size):
    root = RNG.normal(size=(size, size))
    mobility = HandMobility(root @ root.T, RNG.normal(size=size))
    msg = mobility_message(size)
    write_mobility(msg, mobility, 5_000_000)
    time, read = read_mobility('left/grasp_mobility/hand', msg, size)
    assert time == 5_000_000
    np.testing.assert_array_equal(read.matrix, mobility.matrix)
    np.testing.assert_array_equal(read.acceleration, mobility.acceleration)


def test_a_wrench_is_taken_in_axes_of_the_world_alone():
    msg = WrenchStamped()
    msg.header.frame_id = 'odom'
    write_wrench(msg, np.array([1.0, 2.0, 3.0, 0.4, 0.5, 0.6]), 7)
    np.testing.assert_array_equal(read_wrench('grasp_wrenches/hand', msg, 'odom'), [1.0, 2.0, 3.0, 0.4, 0.5, 0.6])
    msg.header.frame_id = 'hand'
    with pytest.raises(RejectedError, match="expected a wrench in 'odom', found one in 'hand'"):
        read_wrench('grasp_wrenches/hand', msg, 'odom')


@pytest.mark.parametrize(('value', 'kind'), [(float('nan'), 'not finite'), (1e300, 'out of range')])
def test_wrenches_that_are_not_finite_or_too_large_are_rejected(value, kind):
    msg = WrenchStamped()
    msg.wrench.force.y = value
    with pytest.raises(RejectedError) as caught:
        read_wrench('grasp_wrenches/hand', msg, 'odom')
    assert caught.value.kind == kind


def test_a_mobility_without_time_or_of_another_size_is_rejected():
    msg = mobility_message()
    write_mobility(msg, HandMobility(np.eye(3), np.zeros(3)), 1)
    msg.layout.dim[1].label = ''
    with pytest.raises(RejectedError, match='expected the time in the label'):
        read_mobility('left/grasp_mobility/hand', msg)
    msg.data = [1.0] * 9
    with pytest.raises(RejectedError, match='expected 12 numbers, found 9'):
        read_mobility('left/grasp_mobility/hand', msg)


@pytest.mark.parametrize('change', [(0, 1, 0.3), (2, 2, -0.5)], ids=['not symmetric', 'gives way against a force'])
def test_a_mobility_that_no_body_has_is_rejected(change):
    matrix = 0.1 * np.eye(3)
    matrix[change[:2]] = change[2]
    msg = mobility_message()
    write_mobility(msg, HandMobility(matrix, np.zeros(3)), 5)
    with pytest.raises(RejectedError, match='expected a symmetric, positive semidefinite mobility'):
        read_mobility('left/grasp_mobility/hand', msg)


def test_a_state_without_a_direction_is_rejected():
    msg = state_message('odom', 'hand')
    msg.pose.pose.orientation.w = 0.0
    with pytest.raises(RejectedError, match='expected a quaternion of length 1'):
        read_state('left/grasp_states/hand', msg)
