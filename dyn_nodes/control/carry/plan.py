"""References of robots that carry an object along a path, over the parameter of the path.

The object moves as a rigid body; hands and carriers follow. Rates of the actuated joints per unit of path speed follow
from the constrained Jacobian of hand and carrier: the hand determines three of them, the other two keep the carrier,
and so the vehicle, beside the object. Headings of the vehicles follow from rolling: a carrier ahead of the axle pulls
it along. All this depends on the path only; `pace` determines the speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.carry.formation import Formation, FormationMotion, RobotState
from dyn_nodes.control.carry.robot import HoldingRobot
from dyn_nodes.control.platform_path import Path, PlanarMotion

CLOSE = 1e-9
"""Distance at which a hand has reached its position, m."""


class Reference(NamedTuple):
    """The team at one instant.

    Attributes:
        hands: (m, 3) m, m/s, m/s2.
        carriers: (m, 2) of the vehicles.
        forces: (m, 3) of the hands on the object, squeeze included, N.
        states: of the robots.
        changes: (m) du/dt (n,) of each.
        center: (3,) heading, x, y of the object.
    """

    hands: FormationMotion
    carriers: FormationMotion
    forces: Array
    states: tuple[RobotState, ...]
    changes: tuple[Array, ...]
    center: Array


class Ways(NamedTuple):
    """A robot along the path: positions (t, nq); rates of the actuated joints per path speed, and their derivative."""

    q: Array
    speed: Array
    bend: Array


@dataclass(frozen=True, eq=False)
class PathPlan:
    """A path of the object with the motions of the robots.

    Attributes:
        formation: that follows it.
        path: of the object.
        parameters: (t,) of the grid.
        ways: motions of the robots at the grid.
    """

    formation: Formation
    path: Path
    parameters: Array
    ways: tuple[Ways, ...]

    def at(self, s: float, speed: float, acceleration: float) -> Reference:
        """Return the reference at a parameter that grows with a speed, 1/s, and an acceleration, 1/s2."""
        motion = timed(self.path([s]), speed, acceleration)
        hands, carriers = (FormationMotion(*(part[0] for part in rate)) for rate in self.formation.spread(motion))
        states, changes = [], []
        for way in self.ways:
            q, rate, bend = (_between(self.parameters, table, s) for table in way)
            states.append(RobotState(q, rate * speed))
            changes.append(rate * acceleration + bend * speed**2)
        forces = self.formation.load_forces(hands)
        return Reference(hands, carriers, forces, tuple(states), tuple(changes), motion.pose[0])


def timed(motion: PlanarMotion, speed: float, acceleration: float) -> PlanarMotion:
    """Return a path over its parameter as a motion in time."""
    along = motion.velocity * speed
    return PlanarMotion(
        motion.times, motion.pose, along, motion.velocity * acceleration + motion.acceleration * speed**2
    )


def planned(formation: Formation, path: Path, parameters: ArrayLike, starts: Sequence[ArrayLike]) -> PathPlan:
    """Return the motions of the robots along a path.

    Args:
        formation: of the robots around the object.
        path: of the object.
        parameters: (t,) rising grid; the steps must be small against the vehicles and the bends.
        starts: (nq,) of every robot near the start of the path. A vehicle keeps the heading that it has there; it
            should head in the direction in which its carrier leaves: otherwise it turns around on the first metre.

    Raises:
        ValueError: a hand that does not reach its node from the position of its carrier.
    """
    s = np.asarray(parameters, dtype=float)
    fine = np.sort(np.concatenate([s, 0.5 * (s[1:] + s[:-1])]))
    hands, carriers = formation.spread(path(fine))
    ways = []
    for k, (robot, start) in enumerate(zip(formation.robots, starts, strict=True)):
        wanted = FormationMotion(
            *(np.concatenate([hand[:, k], carrier[:, k]], axis=1) for hand, carrier in zip(hands, carriers))
        )
        ways.append(_followed(robot, np.asarray(start, float), fine, wanted))
    return PathPlan(formation, path, s, tuple(ways))


def _followed(robot: HoldingRobot, start: Array, fine: Array, wanted: FormationMotion) -> Ways:
    """Return the motion through positions (2t - 1, 5) of hand and carrier, by the classical Runge-Kutta method."""
    q = settled(robot, start, wanted.position[0])
    positions, speeds, bends = [q], [], []
    for k in range(0, len(fine) - 1, 2):
        step = fine[k + 2] - fine[k]
        k1 = _slope(robot, q, wanted, k)
        k2 = _slope(robot, q + 0.5 * step * k1, wanted, k + 1)
        k3 = _slope(robot, q + 0.5 * step * k2, wanted, k + 1)
        k4 = _slope(robot, q + step * k3, wanted, k + 2)
        q = settled(robot, q + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), wanted.position[k + 2])
        positions.append(q)
    for index, q in enumerate(positions):
        zeta, _ = _speeds(robot, q, wanted, 2 * index)
        here = robot.at(q, zeta)
        speeds.append(zeta)
        bends.append(np.linalg.solve(here.jacobian, wanted.change[2 * index] - here.drift))
    return Ways(np.array(positions), np.array(speeds), np.array(bends))


def _speeds(robot: HoldingRobot, q: Array, wanted: FormationMotion, k: int) -> tuple[Array, Array]:
    """Return rates of the actuated joints (n,) and of the positions (nq,) per speed along the path."""
    _, J, rates = robot.motions(q)
    zeta = np.linalg.solve(J, wanted.rate[k])
    return zeta, rates @ zeta


def _slope(robot: HoldingRobot, q: Array, wanted: FormationMotion, k: int) -> Array:
    return _speeds(robot, q, wanted, k)[1]


def settled(robot: HoldingRobot, start: Array, wanted: Array, steps: int = 50) -> Array:
    """Return coordinates (nq,) with hand and carrier at positions (5,), by Newton's method along rolling motions.

    Raises:
        ValueError: the hand does not reach its position; the message has the distance.
    """
    q = np.array(start)
    for _ in range(steps):
        position, J, rates = robot.motions(q)
        off = wanted - position
        if np.abs(off).max() < CLOSE:
            return robot.normalized(q)
        move = np.linalg.solve(J, off)
        q = q + rates @ (move * min(1.0, 0.3 / max(float(np.abs(move).max()), 1e-300)))
    raise ValueError(f'expected a hand that reaches its position on the path, found {np.abs(off).max():.3g} m off')


def _between(grid: Array, table: Array, s: float) -> Array:
    """Return a row of a table (t, n), interpolated over its grid."""
    k = int(np.clip(np.searchsorted(grid, s, side='right') - 1, 0, len(grid) - 2))
    part = (s - grid[k]) / (grid[k + 1] - grid[k])
    return np.asarray((1.0 - part) * table[k] + part * table[k + 1])
