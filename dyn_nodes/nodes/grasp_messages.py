"""Messages of hands: state and mobility of a hand, wrench on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.elements.hand_motion import HandMobility, HandState
from dyn_nodes.middleware import message
from dyn_nodes.model.rotations import matrix_of_quaternion, quaternion_of_matrix
from dyn_nodes.nodes.arrays import stamp_of_volts, stamp_volts, volts_message
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.exchange import set_stamp
from dyn_nodes.nodes.transforms import set_quaternion, set_vector

Float64MultiArray = message('std_msgs/msg/Float64MultiArray')
Odometry = message('nav_msgs/msg/Odometry')
WrenchStamped = message('geometry_msgs/msg/WrenchStamped')

SYMMETRIC = 1e-6
"""Tolerance of symmetry and positive semidefiniteness of a mobility, relative to its greatest element."""
PARTS = ('x', 'y', 'z', 'rx', 'ry', 'rz')
"""Components of accelerations, linear above angular, and of wrenches, force above torque."""
GREATEST = 1e9
"""Greatest accepted number of a wrench, a position, a velocity or a mobility, SI units."""


def state_message(world: str, link: str) -> Any:
    """Return an Odometry for a hand on a link."""
    result = Odometry(child_frame_id=link)
    result.header.frame_id = world
    return result


def write_state(msg: Any, state: HandState, nanoseconds: int) -> None:
    """Write a hand's motion at a time, ns, into a `state_message`; the twist is in axes of the link."""
    set_stamp(msg, nanoseconds)
    set_vector(msg.pose.pose.position, state.position)
    set_quaternion(msg.pose.pose.orientation, quaternion_of_matrix(state.rotation))
    set_vector(msg.twist.twist.linear, state.rotation.T @ state.velocity)
    set_vector(msg.twist.twist.angular, state.rotation.T @ state.angular_velocity)


def mobility_names(size: int) -> tuple[str, ...]:
    """Return the names of the elements of a mobility: for a force with `size` 3, for a wrench with 6."""
    parts = PARTS[:size]
    matrix = (f'mobility_{row}{column}' for row in parts for column in parts)
    return (*matrix, *(f'acceleration_{part}' for part in parts))


def mobility_message(size: int = 3) -> Any:
    """Return a Float64MultiArray for a mobility and its time, with the names of its elements."""
    return volts_message(mobility_names(size))


def write_mobility(msg: Any, mobility: HandMobility, nanoseconds: int) -> None:
    """Write a hand's mobility at a time into a `mobility_message` of its size."""
    msg.data = [*mobility.matrix.ravel().tolist(), *mobility.acceleration.tolist()]
    stamp_volts(msg, nanoseconds)


def read_mobility(topic: str, msg: Any, size: int = 3) -> tuple[int, HandMobility]:
    """Return the time, ns, and the mobility for wrenches of a size. Raises RejectedError."""
    values = _numbers(topic, msg.data, size * size + size)
    time = stamp_of_volts(msg)
    if time is None:
        raise RejectedError('stamp', f'{topic}: expected the time in the label of the second dimension, found none')
    matrix = values[: size * size].reshape(size, size)
    _check_mobility(topic, matrix)
    return time, HandMobility(matrix, values[size * size :])


def _check_mobility(topic: str, matrix: Array) -> None:
    """Raise RejectedError for a matrix that is not symmetric and positive semidefinite."""
    allowed = SYMMETRIC * float(np.abs(matrix).max(initial=0.0))
    if np.abs(matrix - matrix.T).max(initial=0.0) > allowed or np.linalg.eigvalsh(matrix)[0] < -allowed:
        rows = ', '.join(str([float(f'{value:.4g}') for value in row]) for row in matrix)
        raise RejectedError('mobility', f'{topic}: expected a symmetric, positive semidefinite mobility, found {rows}')


def read_state(topic: str, msg: Any) -> HandState:
    """Return the motion of a hand in the world. Raises RejectedError."""
    p, q, v = msg.pose.pose.position, msg.pose.pose.orientation, msg.twist.twist.linear
    w = msg.twist.twist.angular
    turn = _numbers(topic, (q.x, q.y, q.z, q.w), 4)
    size = float(np.linalg.norm(turn))
    if not 0.9 < size < 1.1:
        raise RejectedError('out of range', f'{topic}: expected a quaternion of length 1, found one of {size:.4g}')
    R = matrix_of_quaternion(turn / size)
    velocity, spin = (R @ _numbers(topic, (part.x, part.y, part.z), 3) for part in (v, w))
    return HandState(_numbers(topic, (p.x, p.y, p.z), 3), R, velocity, spin)


def read_wrench(topic: str, msg: Any, world: str) -> Array:
    """Return a wrench (6,), N and N m, in axes of the world. Raises RejectedError."""
    if msg.header.frame_id not in ('', world):
        text = f'{topic}: expected a wrench in {world!r}, found one in {msg.header.frame_id!r}'
        raise RejectedError('frame', text)
    f, t = msg.wrench.force, msg.wrench.torque
    return _numbers(topic, (f.x, f.y, f.z, t.x, t.y, t.z), 6)


def write_wrench(msg: Any, wrench: Array, nanoseconds: int) -> None:
    """Write a wrench (6,), force above torque, at a time into a WrenchStamped."""
    set_stamp(msg, nanoseconds)
    set_vector(msg.wrench.force, wrench[:3])
    set_vector(msg.wrench.torque, wrench[3:])


def _numbers(topic: str, values: Sequence[float], count: int) -> Array:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != (count,):
        raise RejectedError('wrong size', f'{topic}: expected {count} numbers, found {numbers.size}')
    if not np.isfinite(numbers).all():
        raise RejectedError(
            'not finite', f'{topic}: expected finite numbers, found {numbers[~np.isfinite(numbers)][0]}'
        )
    if np.abs(numbers).max() > GREATEST:
        text = f'{topic}: expected numbers up to {GREATEST:g}, found {np.abs(numbers).max():.4g}'
        raise RejectedError('out of range', text)
    return numbers
