"""Robots and the object that they hold as one model: the augmented object, and all equations at once as its witness.

Forces between hands and object are internal: they follow from the accelerations and do not enter the model
(tanner-1998, eq. 4.2, corrected).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class HandDynamics(NamedTuple):
    """A robot at a state: M du/dt = free - J^T f, and its hand: acceleration = J du/dt + bias.

    Attributes:
        inertia: (n, n) M.
        free: (n,) efforts less velocity terms and gravity.
        jacobian: (3, n) J of the grasp point, in the world.
        bias: (3,) m/s2.
    """

    inertia: Array
    free: Array
    jacobian: Array
    bias: Array


class Held(NamedTuple):
    """What follows for robots and object.

    Attributes:
        acceleration: (r,) of the object's coordinates; the first 3m are those of the hands, m/s2.
        force: (m, 3) of the hands on the object, N.
        speed_rates: du/dt (n,) of every robot.
    """

    acceleration: Array
    force: Array
    speed_rates: tuple[Array, ...]


def augmented_object(hands: Sequence[HandDynamics], mass: Array, load: Array) -> Held:
    """Return accelerations and grasp forces from the sum of the object's mass and the apparent masses of the hands.

    Args:
        hands: m robots whose hands move in every direction.
        mass: (r, r) of the object; its first 3m coordinates are positions of the hands.
        load: (r,) elastic and viscous forces and velocity terms, less weight and forces of others than the hands, N.

    Raises:
        numpy.linalg.LinAlgError: a hand that cannot move in some direction; `saddle_point` takes it.
    """
    total, rest = np.array(mass), -np.asarray(load)
    for k, hand in enumerate(hands):
        own = slice(3 * k, 3 * k + 3)
        eased = np.linalg.solve(hand.inertia, np.column_stack([hand.jacobian.T, hand.free]))
        apparent = np.linalg.inv(hand.jacobian @ eased[:, :3])
        total[own, own] += apparent
        rest[own] += apparent @ (hand.jacobian @ eased[:, 3] + hand.bias)
    acceleration = np.asarray(np.linalg.solve(total, rest), dtype=np.float64)
    force = (mass @ acceleration + load)[: 3 * len(hands)].reshape(-1, 3)
    rates = [np.linalg.solve(hand.inertia, hand.free - hand.jacobian.T @ own) for hand, own in zip(hands, force)]
    return Held(acceleration, force, tuple(rates))


def saddle_point(hands: Sequence[HandDynamics], mass: Array, load: Array) -> Held:
    """Return the same from robots, object and the equality of their accelerations at once; for singular arms, too."""
    sizes = [len(hand.free) for hand in hands]
    robots, object_size, held = sum(sizes), len(load), 3 * len(hands)
    matrix = np.zeros((robots + object_size + held,) * 2)
    right = np.zeros(len(matrix))
    forces = robots + object_size
    at = 0
    for k, (hand, size) in enumerate(zip(hands, sizes)):
        own, force = slice(at, at + size), slice(forces + 3 * k, forces + 3 * k + 3)
        matrix[own, own], right[own] = hand.inertia, hand.free
        matrix[own, force], matrix[force, own] = hand.jacobian.T, hand.jacobian
        right[force] = -hand.bias
        at += size
    nodes = slice(robots, forces)
    matrix[nodes, nodes], right[nodes] = mass, -np.asarray(load)
    matrix[robots : robots + held, forces:] = matrix[forces:, robots : robots + held] = -np.eye(held)
    found = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    rates = np.split(found[:robots], np.cumsum(sizes)[:-1])
    return Held(found[nodes], found[forces:].reshape(-1, 3), tuple(rates))
