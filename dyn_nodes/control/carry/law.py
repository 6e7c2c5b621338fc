"""Forces of robots that carry an object: operational-space control of every hand, posture in its null space.

Each hand gets the acceleration of its reference and of the feedback by its dynamics (tanner-1998, 2.51), and its share
of the force on the object for the accelerations of all hands (4.2): mass, weight, and the forces that deform it,
squeeze included. Motions in the null space do not move the hand; they bring the vehicle beside the object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.carry.formation import Formation, RobotState
from dyn_nodes.control.carry.plan import Reference
from dyn_nodes.control.carry.robot import RobotNumbers
from dyn_nodes.control.number_checks import require_positive


@dataclass(frozen=True)
class Gains:
    """Bandwidths of the feedback, rad/s; every error decays with critical damping.

    Attributes:
        hand: of the hands' positions.
        posture: of the vehicles' positions.
    """

    hand: float = 10.0
    posture: float = 3.0

    def __post_init__(self) -> None:
        require_positive({'hand': self.hand, 'posture': self.posture})


@dataclass(frozen=True, eq=False)
class TeamLaw:
    """The law for a whole team.

    The efforts of a robot follow from its state, the reference of its hand and carrier, and its share of the load.
    Shares follow from the references of all hands, and from their feedback by the mass matrix of the object
    (`load_mass`). A node for the whole team receives `joint_states` and odometry of all robots at one instant and
    publishes efforts of wheels and arm in each namespace. A node per robot also needs the accelerations that are wanted
    for the other hands.

    Attributes:
        formation: model of the controller; its masses and stiffness may differ from the real formation.
        gains: of the feedback.
        most: (n,) greatest efforts of the actuated joints of each robot, N m; or (m, n).
    """

    formation: Formation
    gains: Gains
    most: ArrayLike

    def efforts(self, reference: Reference, states: Sequence[RobotState], free: Sequence[bool] = ()) -> list[Array]:
        """Return efforts (n,) of every robot, within the bounds.

        Args:
            reference: of the instant.
            states: measured.
            free: (m) hands that have released the object; the others take over their shares of the load.
        """
        robots = [robot.at(*state) for robot, state in zip(self.formation.robots, states)]
        wanted = np.array([self._wanted(k, here, reference) for k, here in enumerate(robots)])
        shares = taken_over(self._shares(reference, wanted[:, :3]), free)
        bounds = np.broadcast_to(np.asarray(self.most, float), (len(robots), len(robots[0].u)))
        return [
            np.clip(efforts_for(here, acceleration, share), -bound, bound)
            for here, acceleration, share, bound in zip(robots, wanted, shares, bounds)
        ]

    def _wanted(self, k: int, here: RobotNumbers, reference: Reference) -> Array:
        """Return accelerations (5,) of hand and carrier."""
        wide = np.array([self.gains.hand] * 3 + [self.gains.posture] * 2)
        target, rate, change = (
            np.concatenate([hand[k], carrier[k]]) for hand, carrier in zip(reference.hands, reference.carriers)
        )
        return np.asarray(change + 2.0 * wide * (rate - here.rate) + wide**2 * (target - here.placement))

    def _shares(self, reference: Reference, accelerations: Array) -> Array:
        """Return forces (m, 3) of the hands on the object for accelerations (m, 3) of the hands, N."""
        return np.asarray(reference.forces + self.formation.load_mass @ (accelerations - reference.hands.change))


def taken_over(shares: Array, free: Sequence[bool]) -> Array:
    """Return shares (m, 3); hands that hold carry the shares of free hands in equal parts, free hands carry none."""
    loose = np.array(list(free) or [False] * len(shares))
    held = shares[~loose]
    kept = np.zeros_like(shares)
    if len(held):
        kept[~loose] = held + shares[loose].sum(axis=0) / len(held)
    return kept


def efforts_for(here: RobotNumbers, wanted: Array, share: Array) -> Array:
    """Return efforts (n,) for accelerations (5,) of hand and carrier under a force (3,) of the hand on the object."""
    J, h = here.jacobian[:3], here.drift[:3]
    flow = np.linalg.solve(here.inertia, J.T)
    inverse = flow @ np.linalg.inv(J @ flow)
    by_hand = inverse @ (wanted[:3] - h)
    posture = np.linalg.solve(here.jacobian, wanted - here.drift)
    left_over = posture - inverse @ (J @ posture)
    return np.asarray(here.inertia @ (by_hand + left_over) + here.bias + J.T @ share)
