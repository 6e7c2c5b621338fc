"""Carrying of an object by a team: references of all robots over time, from the team and a path of the object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.carry import (
    Formation,
    Halfplanes,
    PathPlan,
    Profile,
    Reference,
    between,
    braked,
    fastest,
    figure_of_eight,
    moved,
    planned,
    straight,
)
from dyn_nodes.control.carry.formation import compressed, inward
from dyn_nodes.control.platform_path import Path, PlanarMotion
from dyn_nodes.teams.carry_limits import Reserve, limits
from dyn_nodes.teams.deformable.lattice import Lattice
from dyn_nodes.teams.holding import CarryError, Holder
from dyn_nodes.teams.team import Team

STEP = 0.025
"""Step of the grid along the longest path of a hand or vehicle, m."""
FEWEST, MOST = 41, 1201
"""Least and greatest number of points of the grid."""
TILT = 0.02
"""Greatest angle of the ground's slope under a team that carries, rad."""


@dataclass(frozen=True)
class Course:
    """A path of the object from its initial pose.

    Attributes:
        kind: `figure_of_eight` or `line`.
        length: of the line; from the middle to the end of a loop of the figure of eight, m.
        width: of a loop, m.
        bearing: initial direction of the path, from the x axis of the object, rad.
        turning: the object turns with the figure of eight; otherwise it keeps its heading.
    """

    kind: str = 'figure_of_eight'
    length: float = 3.5
    width: float = 3.5
    bearing: float = 0.0
    turning: bool = True

    def path(self, pose: Array) -> tuple[Path, float]:
        """Return the path from a pose (3,) of the object, heading, x, y, and the final value of its parameter.

        Raises:
            CarryError: an unknown kind, or a size that is not positive.
        """
        heading, position = float(pose[0]), pose[1:]
        try:
            if self.kind == 'line':
                return moved(straight(self.length, self.bearing, 0.0), position, heading), self.length
            if self.kind == 'figure_of_eight':
                figure = figure_of_eight(self.length, self.width, None if self.turning else 0.0)
                first = float(np.arctan2(self.width, self.length))
                turn = heading + self.bearing - first
                return moved(figure, position, turn, heading - turn - (first if self.turning else 0.0)), 2.0 * np.pi
        except ValueError as error:
            raise CarryError(f'path: {error}') from None
        raise CarryError(f'path: expected figure_of_eight or line, found {self.kind!r}')


@dataclass(frozen=True, eq=False)
class CarryPlan:
    """References of a team over time: a plan, and the progress along it.

    Attributes:
        plan: over the parameter of the path.
        profile: progress.
        bounds: limits at the points of the plan.
        begins: start time of the profile, s.
    """

    plan: PathPlan
    profile: Profile
    bounds: Halfplanes
    begins: float = 0.0

    @property
    def ends(self) -> float:
        """Time of the rest at the end, s."""
        return self.begins + self.profile.duration

    def at(self, time: float) -> Reference:
        """Return the reference at a time, s."""
        return self.plan.at(*self.profile.at(time - self.begins))

    def starting(self, time: float) -> CarryPlan:
        """Return the plan with another start time, s."""
        return replace(self, begins=time)

    def stopping(self, time: float) -> CarryPlan:
        """Return the plan that brakes from a time, s, within the limits of the path."""
        return replace(self, profile=braked(self.profile, self.bounds, time - self.begins), begins=time)

    def progress(self, time: float) -> float:
        """Return the completed fraction of the path, 0 to 1."""
        first, last = self.plan.parameters[[0, -1]]
        return float((self.profile.at(time - self.begins)[0] - first) / (last - first))


@dataclass(frozen=True, eq=False)
class Carriage:
    """A team whose robots hold one object, ready to follow paths.

    Attributes:
        team: the team. item: name of the object.
        holders: its robots, in the order of the object's patches.
        formation: of the robots at the start.
        pose: (3,) of the object at the start: heading, x, y.
        reserve: of the abilities.
        speed: greatest speed of the object's middle, m/s.
        turning: greatest rate of the arm joints, rad/s.
    """

    team: Team
    item: str
    holders: tuple[Holder, ...]
    formation: Formation
    pose: Array
    reserve: Reserve = field(default_factory=Reserve)
    speed: float = 1.0
    turning: float = 0.6

    def along(self, course: Course) -> CarryPlan:
        """Return the plan along a course from the start of the team. Raises CarryError; see `planned`."""
        path, end = course.path(self.pose)
        return self.planned(path, end, [holder.start for holder in self.holders])

    def at_rest(self, pose: Array, starts: Sequence[Array]) -> CarryPlan:
        """Return the plan that stays at a pose (3,) of the object, with robots near positions (nq,) each.

        Raises:
            CarryError: a hand that does not reach its patch.
        """

        def path(parameters: ArrayLike) -> PlanarMotion:
            s = np.atleast_1d(np.asarray(parameters, dtype=float))
            still = np.zeros((len(s), 3))
            return PlanarMotion(s, still + pose, still, still)

        grid = np.array([0.0, 1.0])
        try:
            plan = planned(self.formation, path, grid, starts)
        except (ValueError, np.linalg.LinAlgError) as error:
            raise CarryError(str(error)) from None
        still = np.zeros((2, 0))
        return CarryPlan(plan, Profile(grid, np.zeros(2), np.zeros(2)), Halfplanes(still, still, still))

    def squeezed(self, force: float) -> Carriage:
        """Return the team with another squeeze, N. Raises CarryError if the object cannot carry it."""
        load = self.formation.load
        forces = inward(load.nodes, force)
        hands = hands_on(load, forces)
        return replace(self, formation=replace(self.formation, hands=hands, squeeze=forces))

    def onward(self, here: Reference, goal: Array) -> CarryPlan:
        """Return the plan from a reference at rest to a pose (3,) of the object: heading, x, y. Raises CarryError."""
        try:
            path = between(here.center, goal)
        except ValueError as error:
            raise CarryError(str(error)) from None
        return self.planned(path, 1.0, [state.q for state in here.states])

    def planned(self, path: Path, end: float, starts: Sequence[Array]) -> CarryPlan:
        """Return the plan along a path.

        Args:
            path: of the object.
            end: final value of its parameter, which starts at 0.
            starts: (nq,) approximate initial positions of each robot.

        Raises:
            CarryError: a hand that does not reach its patch, a joint beyond its limits, or a posture that wheels and
                drives cannot hold at rest.
        """
        grid = self._grid(path, end)
        try:
            plan = planned(self.formation, path, grid, starts)
            self._check_joint_limits(plan)
            bounds = limits(plan, [holder.ability for holder in self.holders], self.reserve)
            bounds = bounds + self._speed_limit(path, grid) + self._turning_limit(plan)
            return CarryPlan(plan, fastest(grid, bounds), bounds)
        except (ValueError, np.linalg.LinAlgError) as error:
            raise CarryError(f'path: {error}') from None

    def _grid(self, path: Path, end: float) -> Array:
        fine = np.linspace(0.0, end, MOST)
        hands, carriers = self.formation.spread(path(fine))
        ways = [
            np.linalg.norm(np.diff(motion.position, axis=0), axis=-1).sum(axis=0).max() for motion in (hands, carriers)
        ]
        return np.linspace(0.0, end, int(np.clip(np.ceil(max(ways) / STEP) + 1, FEWEST, MOST)))

    def _speed_limit(self, path: Path, grid: Array) -> Halfplanes:
        speeds = np.linalg.norm(path(grid).velocity[:, 1:], axis=1, keepdims=True)
        return Halfplanes.of_speeds(speeds, [self.speed])

    def _turning_limit(self, plan: PathPlan) -> Halfplanes:
        rates = [way.speed[:, np.isfinite(holder.upper)] for holder, way in zip(self.holders, plan.ways)]
        every = np.concatenate(rates, axis=1)
        return Halfplanes.of_speeds(every, np.full(every.shape[1], self.turning))

    def _check_joint_limits(self, plan: PathPlan) -> None:
        for holder, way in zip(self.holders, plan.ways):
            q = way.q[:, holder.indices]
            beyond = np.maximum(q - holder.upper, holder.lower - q)
            if beyond.max() > 0.0:
                k, joint = np.unravel_index(int(beyond.argmax()), beyond.shape)
                part = 100.0 * plan.parameters[k] / plan.parameters[-1]
                raise CarryError(
                    f'robot {holder.name!r}: joint {holder.joints[joint]!r}: expected {holder.lower[joint]:g} to '
                    f'{holder.upper[joint]:g} on the whole path, found {q[k, joint]:.3f} after {part:.0f} % of the path'
                )


def carriage_of(
    team: Team,
    item: str,
    holders: Sequence[Holder],
    squeeze: float,
    reserve: Reserve,
    speed: float,
    turning: float = 0.6,
) -> Carriage:
    """Return a team that is ready to carry.

    Args:
        team: the team.
        item: name of the object.
        holders: of the object, in the order of its patches.
        squeeze: force of every hand towards the middle of the object, N; only its balanced part is applied.
        reserve: of the abilities.
        speed: greatest speed of the object's middle, m/s.
        turning: greatest rate of the arm joints, rad/s.

    Raises:
        CarryError: a slope, or a squeeze that the object cannot carry.
    """
    machine = team.robots[holders[0].name].machine
    if max(abs(angle) for angle in machine.slope) > TILT:
        raise CarryError(f'expected level ground under a team that carries, found a slope of {machine.slope} rad')
    placed = team.objects[item]
    heading = float(np.arctan2(placed.rotation[1, 0], placed.rotation[0, 0]))
    c, s = np.cos(heading), np.sin(heading)
    level = np.array([(c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)])
    middle = placed.patches.mean(axis=0)
    load = placed.item.lattice._replace(nodes=(placed.patches - middle) @ level.T)
    forces = inward(load.nodes, squeeze)
    hands = hands_on(load, forces)
    vehicles = np.array([holder.robot.motions(holder.start)[0] for holder in holders])
    carriers = (vehicles[:, 3:] - middle[:2]) @ level[:2, :2].T
    robots = tuple(holder.robot for holder in holders)
    formation = Formation(robots, load, hands, carriers, float(middle[2]), forces, machine.gravity)
    return Carriage(team, item, tuple(holders), formation, np.array([heading, *middle[:2]]), reserve, speed, turning)


def hands_on(load: Lattice, forces: Array) -> Array:
    """Return the positions (m, 3) of hands that squeeze an object by forces (m, 3). Raises CarryError."""
    try:
        return np.asarray(load.nodes + compressed(load, forces))
    except ValueError as error:
        raise CarryError(f'squeeze: {error}') from None
