"""The speed at which robots can carry an object along a path: what wheels, drives and joints of all of them allow.

Accelerations of the path's parameter and squares of its speed enter wheel forces and efforts linearly. Three inverse
dynamics at each point of the path give all limits (`limits`), and the fastest progress within them (`fastest_within`).
Wheel forces are those of least norm (`stability.admissible_reactions`), so that `robust` stays true where they hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.carry import Halfplanes, Plan, Profile, Reference, fastest
from dyn_nodes.control.carry.robot import GroundNumbers
from dyn_nodes.control.number_checks import require_positive
from dyn_nodes.stability import AdmissibleReactions, admissible_reactions

CASES = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0))
"""Accelerations of the parameter, and its speeds, of which all others are sums."""


WHEELS = 1e-6
"""Part of the load that may be left over: tractions are those of wheels without mass."""


@dataclass(frozen=True)
class Reserve:
    """What is left for feedback, and for what the model does not know.

    Attributes:
        friction: part of the coefficient of friction that is used.
        lift: least normal force of a wheel, N.
        efforts: part of the greatest efforts that is used.
        rates: part of the greatest rates of the joints that is used.
    """

    friction: float = 0.5
    lift: float = 60.0
    efforts: float = 0.8
    rates: float = 0.8

    def __post_init__(self) -> None:
        require_positive({'friction': self.friction, 'efforts': self.efforts, 'rates': self.rates}, 'reserve: ')


@dataclass(frozen=True, eq=False)
class Ability:
    """What a robot can give.

    Attributes:
        efforts: (n,) greatest of the actuated joints, N m or N.
        rates: (n,) greatest of these, rad/s or m/s; inf: no limit.
        friction: (w,) coefficients of the wheels that roll by constraint; 0 of one without friction.
    """

    efforts: Array
    rates: Array
    friction: Array


def inverse(plan: Plan, reference: Reference) -> list[tuple[Array, GroundNumbers]]:
    """Return efforts (n,) of every robot and its load on the ground for a reference."""
    found = []
    for robot, state, change, force in zip(
        plan.formation.robots, reference.states, reference.changes, reference.forces
    ):
        here = robot.at(*state)
        efforts = here.inertia @ change + here.bias + here.jacobian[:3].T @ force
        found.append((efforts, robot.ground(*state, change, -force)))
    return found


def reactions(grounds: Sequence[GroundNumbers], tractions: Array, friction: ArrayLike) -> AdmissibleReactions:
    """Return the ground reactions for loads and tractions (t, w) of one robot at many instants, friction (w,)."""
    points, center, force, moment, rolling = (
        np.array([getattr(own, what) for own in grounds]) for what in ('points', 'center', 'force', 'moment', 'rolling')
    )
    return admissible_reactions(
        points, center, force, moment, friction=friction, rolling=rolling, traction=tractions, tolerance=WHEELS,
        ranges=False,
    )  # fmt: skip


def limits(plan: Plan, abilities: Sequence[Ability], reserve: Reserve = Reserve()) -> Halfplanes:
    """Return what wheels, drives and joints of all robots allow along a path.

    Args:
        plan: of the team.
        abilities: one of each robot.
        reserve: what is not used of them.
    """
    solved = [[inverse(plan, plan.at(float(s), root, a)) for s in plan.parameters] for a, root in CASES]
    total = []
    for k, (robot, own) in enumerate(zip(plan.formation.robots, abilities, strict=True)):
        efforts, splits = [], []
        for case in solved:
            efforts.append(np.array([instant[k][0] for instant in case]))
            tractions = np.array([robot.tractions(instant) for instant in efforts[-1]])
            splits.append(reactions([instant[k][1] for instant in case], tractions, own.friction).split)
        wheels = (splits[0], splits[2] - splits[0], splits[1] - splits[0])
        drives = (efforts[0], efforts[2] - efforts[0], efforts[1] - efforts[0])
        lift = np.full(len(own.friction), reserve.lift)
        total.append(Halfplanes.of_wheels(*wheels, reserve.friction * own.friction, lift))
        total.append(Halfplanes.of_bounds(*drives, reserve.efforts * own.efforts))
        total.append(Halfplanes.of_speeds(plan.ways[k].speed, reserve.rates * own.rates))
    return reduce(add, total)


def fastest_within(
    plan: Plan, abilities: Sequence[Ability], reserve: Reserve = Reserve(), further: Sequence[Halfplanes] = ()
) -> Profile:
    """Return the fastest progress along a path from rest to rest within the abilities of all robots.

    Args:
        plan: of the team.
        abilities: one of each robot.
        reserve: what is not used of them.
        further: limits at the points of the plan.

    Raises:
        ValueError: a point where not even standing still is within the limits.
    """
    return fastest(plan.parameters, reduce(add, further, limits(plan, abilities, reserve)))
