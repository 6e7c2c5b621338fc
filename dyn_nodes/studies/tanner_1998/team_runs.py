"""Runs of RM-1 robots that hold one object by the constraint engine, reduced to independent speeds and traced (C23).

`team.Team` evaluates Kane's equations numerically and is the reference at one instant. A run needs some thousand
instants; here one traced function reduces mass matrix, bias and rows of the engine to the same speeds in a twentieth
of the time. Both agree to round-off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.reduced_motion import ReducedMotion
from dyn_nodes.studies.tanner_1998.robot import GRAVITY
from dyn_nodes.studies.tanner_1998.team import HALF, Team
from dyn_nodes.studies.tanner_1998.vehicle import ARM, S0, SPEEDS, rm_1
from dyn_nodes.teams.deformable.augmented import HandDynamics, Held, augmented_object

SHAPES = ((5, 5), (5,), (11, 5), (3, 5), (3,), (3,), (11,))
"""Shapes of the traced parts of `Moving`."""


class Moving(NamedTuple):
    """A robot at a state.

    Attributes:
        inertia: (5, 5) mass matrix of the independent speeds.
        free: (5,) velocity terms and weights, as efforts.
        partial: (nv, 5) velocities by independent speeds.
        jacobian: (3, 5) of the hand, in the world.
        bias: (3,) of its acceleration, m/s2.
        point: (3,) its position, m.
        weight: (nv,) efforts that balance the weights.
        u: (5,) independent speeds.
    """

    inertia: Array
    free: Array
    partial: Array
    jacobian: Array
    bias: Array
    point: Array
    weight: Array
    u: Array

    def hand(self, tau: Array) -> HandDynamics:
        """Return the dynamics of the hand under efforts (nv,)."""
        return HandDynamics(self.inertia, self.free + self.partial.T @ tau, self.jacobian, self.bias)


Efforts = Callable[[float, int, Array, Moving], Array]
"""Efforts (nv,) of robot k at a time, from its state (11,) and the `Moving` of this state."""


class TeamState(NamedTuple):
    """A team during a run.

    Attributes:
        robots: (m, 11).
        efforts: (nv,) of every robot.
        held: accelerations and grasp forces.
        energy: at the start and now, J.
        work: of the efforts, J.
        lost: by the damping of the object, J.
    """

    robots: Array
    efforts: tuple[Array, ...]
    held: Held
    energy: tuple[float, float]
    work: float
    lost: float


@cache
def _traced() -> ca.Function:
    """Return the concatenated parts of `Moving` except u, from positions (nq,) and independent speeds (5,)."""
    robot = rm_1()
    blocks = robot.blocks
    motion = ReducedMotion.of(blocks, SPEEDS, [robot.position(S0), robot.position(S0 + 1.0)])
    hand, h = motion.point(robot.hand), blocks.bias
    parts = [
        motion.inertia, motion.free(-h), motion.complement, hand.jacobian, hand.drift, hand.position,
        ca.substitute(h, blocks.v, ca.SX.zeros(blocks.tree.nv)),
    ]  # fmt: skip
    # the transpose of every part: CasADi stacks columns
    flat = motion.in_rates(ca.vertcat(*(ca.vec(ca.densify(part).T) for part in parts)))
    flat = ca.substitute(flat, blocks.parameters.vector, ca.SX(ca.DM(blocks.numbers(None))))
    return ca.Function('moving', [blocks.q, motion.rates], [flat])


def moving(x: Array) -> Moving:
    """Return the quantities of a robot at a state (11,)."""
    numbers = _traced()(rm_1().position(x[:6]), x[6:]).full().ravel()
    parts = np.split(numbers, np.cumsum([np.prod(shape) for shape in SHAPES])[:-1])
    inertia, free, partial, jacobian, bias, point, weight = map(np.reshape, parts, SHAPES)
    return Moving(inertia, free, partial, jacobian, bias, point, weight, x[6:])


def run(
    team: Team, states: Array, efforts: Efforts, times: Sequence[float], tolerance: float = 1e-10
) -> list[TeamState]:
    """Return the team at the requested times.

    Args:
        team: robots and object.
        states: (m, 11) at the start.
        efforts: of the robots.
        times: ascending, s; may start with 0; the last is greater than 0.
        tolerance: relative, of the integration.
    """
    load, count = team.load, len(states)
    mass, weight = np.kron(load.mass.toarray(), np.eye(3)), np.outer(load.lumped_mass, GRAVITY)
    indices = [rm_1().blocks.tree.velocity_index(name) for name in ('x', 'y', 'yaw', *ARM)]

    def at(t: float, x: Array) -> tuple[list[Moving], list[Array], Held, float]:
        robot_states = x[: HALF * count].reshape(count, HALF)
        robots = [moving(state) for state in robot_states]
        tau = [efforts(t, k, robot_states[k], robot) for k, robot in enumerate(robots)]
        point, velocity = np.array([one.point for one in robots]), np.array([one.jacobian @ one.u for one in robots])
        pull = (load.forces(point, velocity) - weight).ravel()
        held = augmented_object([one.hand(effort) for one, effort in zip(robots, tau)], mass, pull)
        return robots, tau, held, load.lost_power(point, velocity)

    def rates(t: float, x: Array) -> Array:
        robots, tau, held, lost = at(t, x)
        velocity = [one.partial @ one.u for one in robots]
        parts = [np.append(v[indices], change) for v, change in zip(velocity, held.speed_rates)]
        return np.concatenate([*parts, [sum(effort @ v for effort, v in zip(tau, velocity)), lost]])

    def energy(robots: Array) -> float:
        return team.energy(team.members(robots, [np.zeros(rm_1().blocks.tree.nv)] * count))

    initial = np.append(np.ravel(states), [0.0, 0.0])
    solution = solve_ivp(
        rates, (0.0, times[-1]), initial, 'DOP853', rtol=tolerance, atol=1e-2 * tolerance, t_eval=times
    )
    before, along = energy(states), []
    for t, x in zip(times, np.transpose(solution.y)):
        robots = x[: HALF * count].reshape(count, HALF)
        _, tau, held, _ = at(t, x)
        along.append(TeamState(robots, tuple(tau), held, (before, energy(robots)), float(x[-2]), float(x[-1])))
    return along
