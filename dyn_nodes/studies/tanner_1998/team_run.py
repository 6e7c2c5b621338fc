"""A moving team: robots and held object as one model, slipping hands, sampled controllers.

The state contains the robots and the nodes of the object; a held node moves with its hand. A hand slips off when its
grasp force exceeds the holding force. No impulse acts, so momentum is conserved: the released node keeps the velocity
of the hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.carry.formation import RobotState
from dyn_nodes.control.carry.robot import HoldingRobot, RobotNumbers
from dyn_nodes.teams.deformable.augmented import augmented_object
from dyn_nodes.teams.deformable.lattice import Lattice

INSTANT = 1e-9
"""Width of the interval in which a slip is located, s."""


class Hold(NamedTuple):
    """A ball grasp of robot k at node k.

    Attributes:
        name: of the grasp.
        force: at which the hand slips off, N; infinite: no slip.
    """

    name: str
    force: float = np.inf


class TeamState(NamedTuple):
    """The team at one instant.

    Attributes:
        robots: their positions and rates.
        nodes: (n, 3) positions of the object, m.
        rates: (n, 3) m/s.
        held: (m) hands that hold their node.
    """

    robots: tuple[RobotState, ...]
    nodes: Array
    rates: Array
    held: tuple[bool, ...]


class Slip(NamedTuple):
    """A hand that has slipped off: time, s, name of the grasp, force at that instant, N."""

    time: float
    name: str
    force: float


class Instant(NamedTuple):
    """One sample of a run.

    Attributes:
        time: s.
        state: of the team.
        efforts: (m) of the actuated joints (n,).
        forces: (m, 3) of the hands on the object, N.
        changes: (m) du/dt (n,).
    """

    time: float
    state: TeamState
    efforts: tuple[Array, ...]
    forces: Array
    changes: tuple[Array, ...]


@dataclass
class TeamTrace:
    """A run: samples, and the hands that slipped off, in the order of time."""

    instants: list[Instant] = field(default_factory=list)
    slips: list[Slip] = field(default_factory=list)


Controller = Callable[[float, TeamState], Sequence[Array]]
"""Efforts (n,) of every robot at a time from a measured state."""


@dataclass(frozen=True, eq=False)
class TeamRun:
    """Robots that hold an object.

    Attributes:
        robots: m.
        load: the object; robot k holds node k.
        holds: grasps of the robots.
        gravity: m/s2.
    """

    robots: Sequence[HoldingRobot]
    load: Lattice
    holds: Sequence[Hold]
    gravity: float = 9.81

    @cached_property
    def _mass(self) -> Array:
        return np.asarray(self.load.mass.toarray())

    def start(self, robots: Sequence[RobotState]) -> TeamState:
        """Return the state in which every hand holds its node."""
        here = [robot.at(*numbers) for robot, numbers in zip(self.robots, robots, strict=True)]
        nodes = np.array([numbers.placement[:3] for numbers in here])
        rates = np.array([numbers.rate[:3] for numbers in here])
        return TeamState(tuple(robots), nodes, rates, (True,) * len(here))

    def rates(self, state: TeamState, efforts: Sequence[Array]) -> tuple[list[RobotNumbers], list[Array], Array, Array]:
        """Return robots, du/dt of each (n,), accelerations of the nodes (n, 3) and forces of the hands (m, 3), N."""
        here = [robot.at(*robot_state) for robot, robot_state in zip(self.robots, state.robots)]
        nodes, speeds = self._followed(state, here)
        held = [k for k, holds in enumerate(state.held) if holds]
        order = held + [k for k in range(len(nodes)) if k not in held]
        mass = np.asarray(np.kron(self._mass[np.ix_(order, order)], np.eye(3)), dtype=np.float64)
        weight = np.outer(self.load.lumped_mass, (0.0, 0.0, self.gravity))
        load: Array = (self.load.forces(nodes, speeds) + weight)[order].ravel()
        solution = augmented_object([here[k].hand(efforts[k]) for k in held], mass, load)
        accelerations = np.empty_like(nodes)
        accelerations[order] = solution.acceleration.reshape(-1, 3)
        forces, changes = np.zeros((len(here), 3)), []
        forces[held] = solution.force
        for k, robot in enumerate(here):
            if state.held[k]:
                changes.append(solution.speed_rates[held.index(k)])
            else:
                alone = np.linalg.solve(robot.inertia, efforts[k] - robot.bias)
                changes.append(np.asarray(alone, dtype=np.float64))
        return here, changes, accelerations, forces

    def _followed(self, state: TeamState, here: Sequence[RobotNumbers]) -> tuple[Array, Array]:
        nodes, speeds = state.nodes.copy(), state.rates.copy()
        for k, robot in enumerate(here):
            if state.held[k]:
                nodes[k], speeds[k] = robot.placement[:3], robot.rate[:3]
        return nodes, speeds

    def step(self, state: TeamState, efforts: Sequence[Array], span: float) -> TeamState:
        """Return the state after a time, s, with efforts held, by the classical Runge-Kutta method."""
        slopes = [self._slope(state, efforts)]
        for part in (0.5, 0.5, 1.0):
            slopes.append(self._slope(_moved(state, slopes[-1], part * span), efforts))
        mean = [(a + 2.0 * b + 2.0 * c + d) / 6.0 for a, b, c, d in zip(*slopes)]
        after = _moved(state, mean, span)
        here = [robot.at(*robot_state) for robot, robot_state in zip(self.robots, after.robots)]
        nodes, speeds = self._followed(after, here)
        return after._replace(nodes=nodes, rates=speeds)

    def _slope(self, state: TeamState, efforts: Sequence[Array]) -> list[Array]:
        here, changes, accelerations, _ = self.rates(state, efforts)
        moving = [numbers.position_rate for numbers in here]
        return [*moving, *changes, state.rates, accelerations]

    def run(self, state: TeamState, controller: Controller, period: float, count: int, substeps: int = 2) -> TeamTrace:
        """Run with a controller that samples.

        Args:
            state: at time 0.
            controller: called at the start of every period; its efforts are held during the period.
            period: s.
            count: of the periods.
            substeps: of the integration in a period.
        """
        trace = TeamTrace()
        for k in range(count + 1):
            time = k * period
            efforts = tuple(controller(time, state))
            _, changes, _, forces = self.rates(state, efforts)
            trace.instants.append(Instant(time, state, efforts, forces, tuple(changes)))
            if k == count:
                break
            for part in range(substeps):
                state = self._across(state, efforts, time + part * period / substeps, period / substeps, trace)
        return trace

    def _across(
        self, state: TeamState, efforts: Sequence[Array], time: float, span: float, trace: TeamTrace
    ) -> TeamState:
        """Return the state after a step in which one hand after the other may slip off."""
        while True:
            after = self.step(state, efforts, span)
            if not self._slipping(after, efforts):
                return after
            low, high = 0.0, span
            if self._slipping(state, efforts):
                high = 0.0
            while high - low > INSTANT:
                middle = 0.5 * (low + high)
                slips = self._slipping(self.step(state, efforts, middle), efforts)
                low, high = (low, middle) if slips else (middle, high)
            state = self.step(state, efforts, high) if high > 0.0 else state
            time, span = time + high, span - high
            slipped, force = max(self._slipping(state, efforts), key=lambda slip: slip[1] / self.holds[slip[0]].force)
            trace.slips.append(Slip(time, self.holds[slipped].name, force))
            state = state._replace(held=tuple(holds and k != slipped for k, holds in enumerate(state.held)))

    def _slipping(self, state: TeamState, efforts: Sequence[Array]) -> list[tuple[int, float]]:
        """Return the hands whose force exceeds their holding force, and these forces, N."""
        if not any(np.isfinite(hold.force) and holds for hold, holds in zip(self.holds, state.held)):
            return []
        pulls = np.linalg.norm(self.rates(state, efforts)[3], axis=1)
        return [(k, float(pull)) for k, pull in enumerate(pulls) if state.held[k] and pull > self.holds[k].force]

    def momentum(self, state: TeamState) -> Array:
        """Return the momentum (3,) of the object, kg m/s."""
        return np.asarray((self._mass @ state.rates).sum(axis=0))

    def energy(self, state: TeamState) -> float:
        """Return kinetic, potential and elastic energy of robots and object, J."""
        total = self.load.energy(state.nodes) + 0.5 * float(np.sum(state.rates * (self._mass @ state.rates)))
        total += self.gravity * float(self.load.lumped_mass @ state.nodes[:, 2])
        for robot, robot_state in zip(self.robots, state.robots):
            total += sum(robot.energies(*robot_state))
        return total


def _moved(state: TeamState, slope: Sequence[Array], span: float) -> TeamState:
    m = len(state.robots)
    robots = tuple(
        RobotState(robot.q + span * slope[k], robot.u + span * slope[m + k]) for k, robot in enumerate(state.robots)
    )
    return TeamState(robots, state.nodes + span * slope[-2], state.rates + span * slope[-1], state.held)
