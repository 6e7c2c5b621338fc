"""Facts of a team at rest: loads of the hands, and admissible ground reactions of the robots under these loads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import center_of_mass
from dyn_nodes.simulation.assembly import gravity_vector
from dyn_nodes.stability import AdmissibleReactions, admissible_reactions
from dyn_nodes.stability.grip import grip_of
from dyn_nodes.teams.deformable.corotation import CorotatedBody
from dyn_nodes.teams.reach import poses_at_start
from dyn_nodes.teams.team import Team, TeamObject, TeamRobot

FRICTION = 0.7
"""Assumed for wheels that roll by constraint and have no coefficient in their file: rubber on a dry floor."""


class GraspFacts(NamedTuple):
    """A grasp at the start, with everything at rest.

    Attributes:
        distance: of the hand from its patch, m.
        force: (3,) of the hand on the object, N.
        torque: (3,) of the hand on the object, about the hand, N m; zero for a ball grasp.
        reserve: holding force less the size of the force, N; None: no limit.
        torque_reserve: holding torque less the size of the torque, N m; None: no limit.
    """

    distance: float
    force: Array
    torque: Array
    reserve: float | None
    torque_reserve: float | None = None


class RobotFacts(NamedTuple):
    """A robot at the start, with the loads of its hands.

    Attributes:
        mass: kg.
        wheels: names of its ground points.
        reactions: admissible ground reactions; None for a robot with contacts other than wheels, or without contacts.
        assumed: the friction of some wheel is an assumption.
    """

    mass: float
    wheels: tuple[str, ...]
    reactions: AdmissibleReactions | None
    assumed: bool


class TeamFacts(NamedTuple):
    """Facts of a team that `dyn-nodes check` prints, by name."""

    robots: dict[str, RobotFacts]
    masses: dict[str, float]
    grasps: dict[str, GraspFacts]


def team_facts(team: Team, friction: float | None = None) -> TeamFacts:
    """Return the facts of a team.

    Args:
        team: of a file.
        friction: static coefficient of wheels that have friction; None: coefficients of the files, or `FRICTION`.
    """
    first = next(iter(team.robots.values())).machine
    gravity = np.array(gravity_vector(first.gravity, first.slope))
    grasps: dict[str, GraspFacts] = {}
    loads: dict[str, list[tuple[Array, Array]]] = {name: [] for name in team.robots}
    for name, item in team.objects.items():
        forces = held_forces(item, team.points_on(name), gravity)
        for grasp in team.grasps_on(name):
            on_nodes = forces[list(grasp.nodes)]
            force, torque = on_nodes.sum(axis=0), np.cross(grasp.points - grasp.position, on_nodes).sum(axis=0)
            reserves = _reserve(grasp.holding_force, force), _reserve(grasp.holding_torque, torque)
            grasps[grasp.name] = GraspFacts(grasp.distance, force, torque, *reserves)
            loads[grasp.robot] += list(zip(grasp.points, -on_nodes))
    robots = {name: _robot_facts(robot, loads[name], gravity, friction) for name, robot in team.robots.items()}
    masses = {name: item.item.body.total_mass for name, item in team.objects.items()}
    return TeamFacts(robots, masses, grasps)


def _reserve(limit: float | None, load: Array) -> float | None:
    return None if limit is None else limit - float(np.linalg.norm(load))


def held_forces(item: TeamObject, hands: Array, gravity: Array) -> Array:
    """Return the forces (m, 3) of hands at positions (m, 3), m, on the nodes of an object at rest, N."""
    if item.model == 'lattice':
        lattice = item.item.lattice
        return np.asarray(lattice.forces(hands) - np.outer(lattice.lumped_mass, gravity))
    body = CorotatedBody(item.item.reduced)
    amplitudes: Array = np.zeros(item.item.vibrations)
    load = body.forces(hands, np.zeros_like(hands), amplitudes, amplitudes, gravity)
    if len(amplitudes):  # static amplitudes of the vibrations
        stiffness = item.item.reduced.stiffness[3 * len(hands) :, 3 * len(hands) :]
        amplitudes = np.asarray(-np.linalg.solve(stiffness, load[3 * len(hands) :]), dtype=np.float64)
        load = body.forces(hands, np.zeros_like(hands), amplitudes, 0.0 * amplitudes, gravity)
    return np.asarray(load[: 3 * len(hands)].reshape(-1, 3))


def _robot_facts(
    robot: TeamRobot, loads: list[tuple[Array, Array]], gravity: Array, friction: float | None
) -> RobotFacts:
    machine = robot.machine
    poses = poses_at_start(machine)
    mass, center = center_of_mass(machine.links, poses, machine.payload)
    names, points, grip, assumed = _contacts(machine, poses, friction)
    if not names:
        return RobotFacts(mass, (), None, False)
    force, moment = mass * gravity, np.zeros(3)
    for point, pull in loads:
        force, moment = force + pull, moment + np.cross(point - center, pull)
    reactions = admissible_reactions(points, center, force, moment, friction=grip, ranges=False)
    return RobotFacts(mass, names, reactions, assumed)


def _contacts(
    machine: Machine, poses: dict[str, Array], friction: float | None
) -> tuple[tuple[str, ...], Array, Array, bool]:
    """Return names, ground points (w, 3) and static friction (w,) of wheels, and whether any friction is assumed."""
    if machine.contacts:
        return (), np.zeros((0, 3)), np.zeros(0), False
    names, centers, grip = [], [], []
    for wheel, coefficient in zip(machine.wheels, grip_of(machine).friction):
        names.append(wheel.name)
        centers.append(poses[wheel.link][:3, :3] @ wheel.position + poses[wheel.link][:3, 3])
        grip.append(coefficient if friction is None or coefficient == 0.0 else friction)
    for entry in machine.rigid_wheels:
        link = poses[entry.first.link]
        names.append(entry.name)
        centers.append(link[:3, :3] @ entry.first.position + link[:3, 3])
        grip.append(0.0 if entry.frictionless else friction or entry.friction or FRICTION)
    unknown = [entry.friction is None and not entry.frictionless for entry in machine.rigid_wheels]
    assumed = friction is None and any(unknown)
    points = np.array(centers).reshape(-1, 3) * (1.0, 1.0, 0.0)
    return tuple(names), points, np.array(grip), assumed
