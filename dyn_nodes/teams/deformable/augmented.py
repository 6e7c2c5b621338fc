"""Robots and their object as one model: the augmented object, and the complete saddle-point system as a check.

Forces between hands and object are internal: they follow from the accelerations and do not enter the model
(tanner-1998, eq. 4.2, corrected).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array


class HandDynamics(NamedTuple):
    """A robot at a state: M du/dt = free - J^T f, and its hand: acceleration = J du/dt + bias.

    With d = 3 the hand holds by a ball grasp. With d = 6 it also holds the orientation; motions are then [linear;
    angular] and loads [force; torque about the hand]. All hands of an object have the same d.

    Attributes:
        inertia: (n, n) M.
        free: (n,) efforts less velocity terms and gravity.
        jacobian: (d, n) J of the grasp point, in the world.
        bias: (d,) m/s2 and rad/s2.
    """

    inertia: Array
    free: Array
    jacobian: Array
    bias: Array


class Held(NamedTuple):
    """Accelerations and grasp forces of robots and object.

    Attributes:
        acceleration: (r,) of the object's coordinates; the first md belong to the hands, m/s2 and rad/s2.
        force: (m, d) of the hands on the object, N and N m.
        speed_rates: du/dt (n,) of every robot.
    """

    acceleration: Array
    force: Array
    speed_rates: tuple[Array, ...]


def augmented_object(hands: Sequence[HandDynamics], mass: Array, load: Array) -> Held:
    """Return accelerations and grasp forces from the sum of the object's mass and the apparent masses of the hands.

    Args:
        hands: m robots whose hands move in every direction.
        mass: (r, r) of the object; its first md coordinates belong to the hands (`held_rigidly` for d = 6).
        load: (r,) elastic and viscous forces and velocity terms, less weight and external forces other than the hands,
            N.

    Raises:
        numpy.linalg.LinAlgError: a hand that cannot move in some direction; use `saddle_point`.
    """
    total, rest, d = np.array(mass), -np.asarray(load), _rows(hands)
    for k, hand in enumerate(hands):
        rows = slice(d * k, d * k + d)
        eased = np.linalg.solve(hand.inertia, np.column_stack([hand.jacobian.T, hand.free]))
        apparent = np.linalg.inv(hand.jacobian @ eased[:, :d])
        total[rows, rows] += apparent
        rest[rows] += apparent @ (hand.jacobian @ eased[:, d] + hand.bias)
    acceleration = np.asarray(np.linalg.solve(total, rest), dtype=np.float64)
    force = (mass @ acceleration + load)[: d * len(hands)].reshape(-1, d)
    rates = [np.linalg.solve(hand.inertia, hand.free - hand.jacobian.T @ pull) for hand, pull in zip(hands, force)]
    return Held(acceleration, force, tuple(rates))


def saddle_point(hands: Sequence[HandDynamics], mass: Array, load: Array) -> Held:
    """Return `augmented_object` from one system with the equality of accelerations as rows; also for singular arms."""
    sizes = [len(hand.free) for hand in hands]
    d = _rows(hands)
    robots, object_size, held = sum(sizes), len(load), d * len(hands)
    matrix = np.zeros((robots + object_size + held,) * 2)
    right = np.zeros(len(matrix))
    forces = robots + object_size
    at = 0
    for k, (hand, size) in enumerate(zip(hands, sizes)):
        rows, force = slice(at, at + size), slice(forces + d * k, forces + d * k + d)
        matrix[rows, rows], right[rows] = hand.inertia, hand.free
        matrix[rows, force], matrix[force, rows] = hand.jacobian.T, hand.jacobian
        right[force] = -hand.bias
        at += size
    nodes = slice(robots, forces)
    matrix[nodes, nodes], right[nodes] = mass, -np.asarray(load)
    matrix[robots : robots + held, forces:] = matrix[forces:, robots : robots + held] = -np.eye(held)
    solution = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    rates = np.split(solution[:robots], np.cumsum(sizes)[:-1])
    return Held(solution[nodes], solution[forces:].reshape(-1, d), tuple(rates))


def _rows(hands: Sequence[HandDynamics]) -> int:
    """Return d; 3 without hands."""
    return len(hands[0].jacobian) if hands else 3


def held_rigidly(arms: Sequence[Array], spins: Sequence[Array], mass: Array, load: Array) -> tuple[Array, Array]:
    """Return mass (s, s) and load (s,) of an object in the coordinates of hands that hold groups of its points.

    A point at the arm r of a hand accelerates with a + alpha x r + omega x (omega x r).

    Args:
        arms: (k, 3) of the points of each of m hands, in the world, m; the points are the object's first coordinates.
        spins: (3,) angular velocity omega of each hand, rad/s.
        mass: (r, r) of the object.
        load: (r,) as in `augmented_object`.
    """
    count = sum(3 * len(points) for points in arms)
    rest = len(load) - count
    A, b = np.zeros((len(load), 6 * len(arms) + rest)), np.zeros(len(load))
    A[count:, 6 * len(arms) :] = np.eye(rest)
    row = 0
    for k, (points, omega) in enumerate(zip(arms, spins)):
        for arm in points:
            A[row : row + 3, 6 * k : 6 * k + 3] = np.eye(3)
            A[row : row + 3, 6 * k + 3 : 6 * k + 6] = np.cross(np.eye(3), arm).T
            b[row : row + 3] = np.cross(omega, np.cross(omega, arm))
            row += 3
    return A.T @ mass @ A, A.T @ (mass @ b + load)
