"""RM-1 robots that hold one lattice of rods: the centralised model of the source (tanner-1998, eq. 4.2, C16, C23)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.kane import AppliedWrench, KaneEquations
from dyn_nodes.constraints.operational_space import operational_space
from dyn_nodes.studies.tanner_1998.kanes_equations import KanesEquations, kanes_equations
from dyn_nodes.studies.tanner_1998.robot import GRAVITY
from dyn_nodes.studies.tanner_1998.vehicle import SPEEDS, axle_speeds, rm_1
from dyn_nodes.teams.deformable.augmented import HandDynamics, Held, augmented_object, saddle_point
from dyn_nodes.teams.deformable.lattice import Lattice, chain

HALF = 11
"""x, y, yaw, arm (6) and independent speeds (5) of a robot in the state of a run."""
TURNS = ('yaw', 'pitch', 'roll')
REACH = 0.7645020171578334
"""Distance of the hand ahead of the vehicle's mass centre in the start posture, m."""
POSTURE = (0.0, 0.6, -0.9)
BAR = chain(0.6, 1, 1.2, 1e4 / 3.0, 20.0 / 3.0)
"""OBJ-1 as one rod."""
CORNERS = np.array([(np.cos(angle), np.sin(angle), 0.0) for angle in (0.0, 2.0 * np.pi / 3.0, 4.0 * np.pi / 3.0)])
TRIANGLE = Lattice(
    0.6 / np.sqrt(3.0) * CORNERS, np.array([(0, 1), (1, 2), (0, 2)]), np.full(3, 2000.0), np.full(3, 4.0),
    np.full(3, 0.4), np.zeros(3),
)  # fmt: skip
"""OBJ-3: three rods."""


@cache
def _kane() -> KanesEquations:
    return kanes_equations(rm_1().blocks, SPEEDS)


def facing(lattice: Lattice, motions: Sequence[tuple[float, float, Sequence[float]]]) -> Array:
    """Return states (m, 11) of robots around an unstressed object, each facing its middle.

    Args:
        lattice: the object; a robot's hand is at each node.
        motions: speed of the axle, m/s, rate of turning, rad/s, and rates of the arm of every robot.
    """
    states = []
    for node, (speed, turn, rates) in zip(lattice.nodes, motions, strict=True):
        outward = np.arctan2(node[1], node[0])
        yaw = (outward + np.pi) % (2.0 * np.pi)
        center = (np.hypot(node[0], node[1]) + REACH) * np.array([np.cos(outward), np.sin(outward)])
        states.append(np.concatenate([center, [yaw], POSTURE, axle_speeds(yaw, speed, turn, rates)]))
    return np.array(states)


class Member(NamedTuple):
    """A robot at a state, under efforts.

    Attributes:
        here: its equations.
        tau: (nv,) efforts.
        hand: dynamics of its hand.
        position, velocity: (3,) of the grasp point, m and m/s.
    """

    here: KaneEquations
    tau: Array
    hand: HandDynamics
    position: Array
    velocity: Array


class TeamBalance(NamedTuple):
    """Residuals of the momentum balances of a whole team; zero up to round-off.

    Attributes:
        force: (3,) rate of linear momentum less ground reactions and weight, N.
        moment: (3,) the same of angular momentum about the origin of the world, N m.
    """

    force: Array
    moment: Array


@dataclass(frozen=True)
class Team:
    """RM-1 robots that hold a lattice, each with a ball grasp at its node.

    Attributes:
        load: the object; its nodes in the order of the robots.
    """

    load: Lattice

    def members(self, states: Array, efforts: Sequence[Array]) -> list[Member]:
        """Return the robots at states (m, 11) under efforts (nv,) each."""
        robot = rm_1()
        members = []
        for state, tau in zip(states, efforts, strict=True):
            here = _kane().at(robot.position(state[:6]), robot.velocity(state[6:]))
            space = operational_space(here, robot.hand)
            free = here.efforts(tau) - here.convective - here.gravity
            hand = HandDynamics(here.inertia, free, space.jacobian, space.bias)
            placement = here.placements[robot.hand.body]
            point = placement.p + placement.R @ robot.hand.p
            members.append(Member(here, np.asarray(tau), hand, point, space.jacobian @ here.u))
        return members

    def solve(self, members: Sequence[Member], at_once: bool = False) -> Held:
        """Return accelerations and grasp forces by the augmented object; `at_once`: by the saddle point."""
        mass = np.kron(self.load.mass.toarray(), np.eye(3))
        position, velocity = (
            np.array([getattr(one, attribute) for one in members]) for attribute in ('position', 'velocity')
        )
        weight = np.outer(self.load.lumped_mass, GRAVITY)
        load = (self.load.forces(position, velocity) - weight).ravel()
        solver = saddle_point if at_once else augmented_object
        return solver([one.hand for one in members], mass, load)

    def energy(self, members: Sequence[Member]) -> float:
        """Return kinetic, potential and elastic energy of robots and object, J; heights above the ground."""
        position, velocity = (
            np.array([getattr(one, attribute) for one in members]) for attribute in ('position', 'velocity')
        )
        total = sum(sum(rm_1().blocks.energies(one.here.q, one.here.v)) for one in members)
        total += 0.5 * float(np.sum(velocity * (self.load.mass @ velocity)))
        return float(total + self.load.energy(position) - self.load.lumped_mass @ position @ GRAVITY)

    def balance(self, members: Sequence[Member], held: Held) -> TeamBalance:
        """Return the residuals of the momentum balances with the ground reactions of every robot."""
        force, moment = np.zeros(3), np.zeros(3)
        tree = rm_1().blocks.tree
        for one, rates, pull in zip(members, held.speed_rates, held.force):
            a = one.here.W @ rates + one.here.bias
            for part in one.here.parts:
                change = part.mass * (part.moving @ a + part.acceleration - GRAVITY)
                force += change
                moment += np.cross(part.centre, change) - part.inertia_torque(part.turning @ a + part.alpha)
            ground = one.here.numbers.J.T @ one.here.multipliers(one.tau, [AppliedWrench(rm_1().hand, -pull)])
            along, about = (ground[[tree.velocity_index(name) for name in names]] for names in ('xyz', TURNS))
            vehicle = one.here.placements[tree.body('roll')]
            force -= along
            # yaw, pitch and roll are rotations about z, y, x of the level vehicle
            moment -= np.cross(vehicle.p, along) + vehicle.R @ about[::-1]
        change = (np.kron(self.load.mass.toarray(), np.eye(3)) @ held.acceleration).reshape(-1, 3)
        change -= np.outer(self.load.lumped_mass, GRAVITY)
        position = np.array([one.position for one in members])
        return TeamBalance(force + change.sum(axis=0), moment + np.cross(position, change).sum(axis=0))

    def ground_load(self, one: Member, rates: Array, pull: Array) -> Array:
        """Return the load of a robot on the ground (6,), in vehicle axes at its mass centre, N and N m.

        Args:
            one: the robot.
            rates: (5,) of its speeds.
            pull: (3,) force of its hand on the object, N.
        """
        vehicle = one.here.placements[rm_1().blocks.tree.body('roll')]
        a = one.here.W @ rates + one.here.bias
        force, moment = -pull, np.cross(one.position - vehicle.p, -pull)
        for part in one.here.parts:
            inertial = part.mass * (GRAVITY - part.moving @ a - part.acceleration)
            force = force + inertial
            moment = (
                moment
                + np.cross(part.centre - vehicle.p, inertial)
                + part.inertia_torque(part.turning @ a + part.alpha)
            )
        return np.concatenate([vehicle.R.T @ force, vehicle.R.T @ moment])
