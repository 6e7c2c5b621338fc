"""Speed limits of robots that carry an object along a path, from the wheels, drives and joints of all robots.

Wheel forces and efforts are linear in the acceleration of the path's parameter and in the square of its speed. Three
inverse dynamics at each point of the path determine all limits (`limits`) and the fastest progress within them
(`fastest_within`). Wheel forces are the split of least norm (`stability.admissible_reactions`), so `robust` is true
wherever they are within the limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.carry import Halfplanes, PathPlan, Profile, Reference, fastest
from dyn_nodes.control.carry.robot import GroundNumbers
from dyn_nodes.control.number_checks import require_positive
from dyn_nodes.stability import AdmissibleReactions, admissible_reactions

CASES = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0))
"""Accelerations and squared speeds of the parameter whose combinations yield all others."""

WHEELS = 1e-6
"""Fraction of the load that may remain unbalanced, since the tractions neglect the mass of the wheels."""


@dataclass(frozen=True)
class Reserve:
    """Reserve for feedback and model errors.

    Attributes:
        friction: used fraction of the coefficient of friction.
        lift: least normal force of a wheel, N.
        efforts: used fraction of the greatest efforts.
        rates: used fraction of the greatest rates of the joints.
    """

    friction: float = 0.5
    lift: float = 60.0
    efforts: float = 0.8
    rates: float = 0.8

    def __post_init__(self) -> None:
        require_positive({'friction': self.friction, 'efforts': self.efforts, 'rates': self.rates}, 'reserve: ')


@dataclass(frozen=True, eq=False)
class Ability:
    """Limits of a robot.

    Attributes:
        efforts: (n,) greatest efforts of the actuated joints, N m or N.
        rates: (n,) greatest rates of the actuated joints, rad/s or m/s; inf: no limit.
        friction: (w,) coefficients of the wheels that roll by constraint; 0 for a wheel without friction.
    """

    efforts: Array
    rates: Array
    friction: Array


def inverse(plan: PathPlan, reference: Reference) -> list[tuple[Array, GroundNumbers]]:
    """Return efforts (n,) of every robot and its load on the ground for a reference."""
    results = []
    for robot, state, change, force in zip(
        plan.formation.robots, reference.states, reference.changes, reference.forces
    ):
        here = robot.at(*state)
        efforts = here.inertia @ change + here.bias + here.jacobian[:3].T @ force
        results.append((efforts, robot.ground(*state, change, -force)))
    return results


def reactions(grounds: Sequence[GroundNumbers], tractions: Array, friction: ArrayLike) -> AdmissibleReactions:
    """Return the ground reactions for loads and tractions (t, w) of one robot at many instants, friction (w,)."""
    points, center, force, moment, rolling = (
        np.array([getattr(ground, name) for ground in grounds])
        for name in ('points', 'center', 'force', 'moment', 'rolling')
    )
    return admissible_reactions(
        points, center, force, moment, friction=friction, rolling=rolling, traction=tractions, tolerance=WHEELS,
        ranges=False,
    )  # fmt: skip


def limits(plan: PathPlan, abilities: Sequence[Ability], reserve: Reserve = Reserve()) -> Halfplanes:
    """Return the limits of wheels, drives and joints of all robots along a path.

    Args:
        plan: of the team.
        abilities: of the robots, in order.
        reserve: unused part of the abilities.
    """
    solved = [[inverse(plan, plan.at(float(s), root, a)) for s in plan.parameters] for a, root in CASES]
    total = []
    for k, (robot, ability) in enumerate(zip(plan.formation.robots, abilities, strict=True)):
        efforts, splits = [], []
        for case in solved:
            efforts.append(np.array([instant[k][0] for instant in case]))
            tractions = np.array([robot.tractions(instant) for instant in efforts[-1]])
            splits.append(reactions([instant[k][1] for instant in case], tractions, ability.friction).split)
        wheels = (splits[0], splits[2] - splits[0], splits[1] - splits[0])
        drives = (efforts[0], efforts[2] - efforts[0], efforts[1] - efforts[0])
        lift = np.full(len(ability.friction), reserve.lift)
        total.append(Halfplanes.of_wheels(*wheels, reserve.friction * ability.friction, lift))
        total.append(Halfplanes.of_bounds(*drives, reserve.efforts * ability.efforts))
        total.append(Halfplanes.of_speeds(plan.ways[k].speed, reserve.rates * ability.rates))
    return reduce(add, total)


def fastest_within(
    plan: PathPlan, abilities: Sequence[Ability], reserve: Reserve = Reserve(), further: Sequence[Halfplanes] = ()
) -> Profile:
    """Return the fastest progress along a path from rest to rest within the abilities of all robots.

    Args:
        plan: of the team.
        abilities: of the robots, in order.
        reserve: unused part of the abilities.
        further: limits at the points of the plan.

    Raises:
        ValueError: a point at which even rest is beyond the limits.
    """
    return fastest(plan.parameters, reduce(add, further, limits(plan, abilities, reserve)))
