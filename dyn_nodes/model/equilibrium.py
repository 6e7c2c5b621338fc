"""Where a machine stands at rest on its wheels: exact geometry, unilateral springs, plain numpy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dyn_nodes.model.contact import Support
from dyn_nodes.model.machine import Array, Machine
from dyn_nodes.model.posture import (
    carrying_links,
    center_of_mass,
    initial_positions,
    link_poses,
    rotation_about,
    yielding_joints,
)

LEAST_GRAVITY = 1e-6  # m/s2; without weight nothing stands
ROUNDS = 200
CONVERGED = 1e-12  # of the weight
INCLINED = 0.2
"""Roll and pitch from which a search for rest starts where the level posture leads to none, rad."""
X, Y, Z = np.eye(3)


class NoEquilibriumError(ValueError):
    """The machine cannot stand still in the wanted posture."""


@dataclass(frozen=True, eq=False)
class Stance:
    """A machine at rest.

    Attributes:
        height: of the base link above the ground plane, m.
        pitch, roll: of the base link against the ground plane, rad; rotation about y after rotation about x.
        loads: (n,) normal force of the ground on each wheel, N, in the order of `machine.supports`: wheels
            first, then the points of contacts.
        contacts: (n, 2) ground points below the wheels, m, in axes of the ground: x along the heading, the base
            link above the origin.
        center: (3,) centre of mass, m, in the same axes, z above the ground.
        zmp: (2,) point of the ground plane below the centre of mass along gravity, m.
    """

    height: float
    pitch: float
    roll: float
    loads: Array
    contacts: Array
    center: Array
    zmp: Array


def static_stance(machine: Machine) -> Stance | None:
    """Return the static equilibrium in the initial posture, or None where there is none: the machine tips.

    None, too, for a machine whose contacts hang on joints that give way (`gear_gives_way`): its plant has its rest.

    Three equations (vertical force, two moments) for height, pitch and roll; the wheels are springs that can't pull
    (abo-shanab-2003, eqs 7.8 to 7.11). On a slope friction holds the machine at the ground points.
    """
    if not machine.supports or machine.total_mass <= 0 or machine.gravity < LEAST_GRAVITY:
        return None
    if gear_gives_way(machine):
        return None
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    problem = _Problem.of(machine, poses, *center_of_mass(machine.links, poses, machine.payload))
    with np.errstate(over='ignore', invalid='ignore'):  # absurd springs end in None, without noise
        return problem.solve()


def gear_gives_way(machine: Machine) -> bool:
    """Return whether contacts hang on joints that give way: suspensions, oscillating axles, bogies."""
    carrying = carrying_links(machine)
    found = yielding_joints(machine, initial_positions(machine))
    return any(machine.joint(name).child in carrying for name in found)


class Posture(NamedTuple):
    """Posture from which a search for rest starts.

    Attributes:
        height: of the base link above the ground plane, m.
        roll, pitch: of the base link, rad; rotation about y after rotation about x.
        joints: positions of joints by name, rad or m.
    """

    height: float
    roll: float
    pitch: float
    joints: dict[str, float]


def standing_guesses(
    machine: Machine, positions: Mapping[str, float], yielding: Sequence[str], load: float, scale: float
) -> Iterator[Posture]:
    """Yield postures from which a search for rest starts, the initial one first.

    Level; then with the joints that give way at zero and at their limits; then inclined. The springs that touch carry
    the load; others have no part in it.

    Args:
        machine: with wheels or other contacts.
        positions: of the joints by name, rad or m.
        yielding: names of joints that give way.
        load: of the machine along the normal of the ground, N.
        scale: factor of the stiffness of the springs.
    """
    stiffness = scale * np.array([support.stiffness for support in machine.supports])
    for roll, pitch, joints in _inclinations(machine, positions, yielding):
        upwards = (rotation_about(Y, pitch) @ rotation_about(X, roll))[2]
        poses = link_poses(machine.links, machine.joints, {**positions, **joints})
        places = [poses[own.link][:3, :3] @ own.position + poses[own.link][:3, 3] for own in machine.supports]
        touching = np.array([own.free_length for own in machine.supports]) - np.array(places) @ upwards
        yield Posture(_height_under(load, stiffness, touching), roll, pitch, joints)


def _inclinations(
    machine: Machine, positions: Mapping[str, float], yielding: Sequence[str]
) -> Iterator[tuple[float, float, dict[str, float]]]:
    """Yield roll, pitch and positions of the joints that give way."""
    yield 0.0, 0.0, {}
    limits = {name: (machine.joint(name).lower, machine.joint(name).upper) for name in yielding}
    bounded = {name: own for name, own in limits.items() if np.isfinite(own).all()}
    for joints in (
        dict.fromkeys(bounded, 0.0),
        {name: lower for name, (lower, _) in bounded.items()},
        {name: upper for name, (_, upper) in bounded.items()},
    ):
        if any(value != positions.get(name, 0.0) for name, value in joints.items()):
            yield 0.0, 0.0, joints
    for side in (INCLINED, -INCLINED):
        yield side, 0.0, {}
        yield 0.0, side, {}


def _height_under(load: float, stiffness: Array, touching: Array) -> float:
    """Return the height, m, at which one-sided springs carry a load, N.

    Args:
        load: N.
        stiffness: (n,) N/m.
        touching: (n,) height at which each begins to carry, m.
    """
    order = np.argsort(-touching)
    sums = np.cumsum(stiffness[order])
    heights = (np.cumsum(stiffness[order] * touching[order]) - load) / sums
    following = np.append(touching[order][1:], -np.inf)
    return float(heights[int(np.argmax(heights >= following))])


def stance_at(machine: Machine, positions: Mapping[str, float], height: float, roll: float, pitch: float) -> Stance:
    """Return how a machine stands on a plane in a posture; arguments as for `stands`."""
    poses = link_poses(machine.links, machine.joints, positions)
    problem = _Problem.of(machine, poses, *center_of_mass(machine.links, poses, machine.payload))
    return problem.stance(np.array([height, pitch, roll]))


def carrying(
    machine: Machine, positions: Mapping[str, float], height: float, roll: float, pitch: float
) -> list[Support]:
    """Return the supports that carry load on a plane; arguments as for `stands`."""
    upwards = (rotation_about(Y, pitch) @ rotation_about(X, roll))[2]
    poses = link_poses(machine.links, machine.joints, positions)
    places = [poses[own.link][:3, :3] @ own.position + poses[own.link][:3, 3] for own in machine.supports]
    return [own for own, place in zip(machine.supports, places) if height + float(upwards @ place) < own.free_length]


def stands(machine: Machine, positions: Mapping[str, float], height: float, roll: float, pitch: float) -> bool:
    """Return whether enough supports carry for a machine to stand: three, two of a planar one, or all of fewer.

    A machine that balances on one axle, steeply inclined, is at rest, too. What rises from the ground is not known
    here: there every rest counts.

    Args:
        machine: with wheels or other contacts.
        positions: of the joints by name, rad or m.
        height: of the base link above the ground plane, m.
        roll: of the base link, rad.
        pitch: of the base link, rad; rotation about y after rotation about x.
    """
    if machine.terrain:
        return True
    least = min(_least_carrying(machine.base.attachment == 'planar'), len(machine.supports))
    return len(carrying(machine, positions, height, roll, pitch)) >= least


def _least_carrying(planar: bool) -> int:
    """Return on how many supports a machine stands at least."""
    return 2 if planar else 3


def gravity_in_ground(machine: Machine) -> Array:
    """Return the (3,) gravity vector, m/s2, in axes of the ground plane: z normal to it, x along the heading."""
    roll, pitch = machine.slope
    heading = rotation_about(Z, machine.initial.base_yaw)
    ground = rotation_about(Y, pitch) @ rotation_about(X, roll) @ heading
    return np.asarray(ground.T @ np.array([0.0, 0.0, -machine.gravity]))


@dataclass(frozen=True, eq=False)
class _Problem:
    attachments: Array
    center: Array
    mass: float
    stiffness: Array
    free_length: Array
    gravity: Array
    planar: bool

    @classmethod
    def of(cls, machine: Machine, poses: Mapping[str, Array], mass: float, center: Array) -> _Problem:
        """Return the problem of a machine whose links are in some poses in the frame of the base."""
        attachments = np.array(
            [poses[own.link][:3, :3] @ own.position + poses[own.link][:3, 3] for own in machine.supports]
        )
        stiffness = np.array([own.stiffness for own in machine.supports])
        free_length = np.array([own.free_length for own in machine.supports])
        planar = machine.base.attachment == 'planar'
        return cls(attachments, center, mass, stiffness, free_length, gravity_in_ground(machine), planar)

    def solve(self) -> Stance | None:
        """Return the stance found from the mean height of the springs, or from one at which all of them touch."""
        heights = self.free_length - self.attachments[:, 2]
        return self._solve_from(float(heights.mean())) or self._solve_from(float(heights.min()))

    def _solve_from(self, height: float) -> Stance | None:
        normal = -self.mass * float(self.gravity[2])
        unknowns = np.array([height - normal / float(self.stiffness.sum()), 0.0, 0.0])
        residual = self._residual(unknowns)
        for _ in range(ROUNDS):
            size = float(np.linalg.norm(residual))
            if size < CONVERGED * normal:
                return self._stance(unknowns)
            try:
                step = np.linalg.solve(self._slope(unknowns), -residual)
            except np.linalg.LinAlgError:
                return None
            step *= min(1.0, 0.1 / max(float(np.max(np.abs(step))), 1e-300))
            for _ in range(40):  # a wheel that lifts or lands kinks the residual: shorten the step until it pays
                trial = self._residual(unknowns + step)
                if float(np.linalg.norm(trial)) < size:
                    break
                step *= 0.5
            else:
                return self._stance(unknowns) if size < 1e-9 * normal else None
            unknowns, residual = unknowns + step, trial
            if abs(unknowns[1]) > 1.0 or abs(unknowns[2]) > 1.0:
                return None
        return None

    def _stance(self, unknowns: Array) -> Stance | None:
        found = self.stance(unknowns)
        return found if int(np.count_nonzero(found.loads)) >= _least_carrying(self.planar) else None

    def stance(self, unknowns: Array) -> Stance:
        """Return how the machine stands at a height, pitch and roll."""
        contacts, center, loads = self._forces(unknowns)
        height, pitch, roll = (float(value) for value in unknowns)
        return Stance(height, pitch, roll, loads, contacts, center, self._zmp(center))

    def _forces(self, unknowns: Array) -> tuple[Array, Array, Array]:
        height, pitch, roll = unknowns
        rotation = rotation_about(Y, pitch) @ rotation_about(X, roll)
        points = self.attachments @ rotation.T + [0.0, 0.0, height]
        loads = self.stiffness * np.maximum(0.0, self.free_length - points[:, 2])
        return points[:, :2], rotation @ self.center + [0.0, 0.0, height], loads

    def _zmp(self, center: Array) -> Array:
        return np.asarray(center[:2] - center[2] * self.gravity[:2] / self.gravity[2])

    def _residual(self, unknowns: Array) -> Array:
        contacts, center, loads = self._forces(unknowns)
        moments = loads @ (contacts - self._zmp(center))
        balance = np.array([loads.sum() + self.mass * self.gravity[2], moments[0], moments[1]])
        if self.planar:
            balance[2] = unknowns[2] * float(self.stiffness.sum())
        return balance

    def _slope(self, unknowns: Array) -> Array:
        step = 1e-7
        columns = [
            (self._residual(unknowns + step * axis) - self._residual(unknowns - step * axis)) / (2.0 * step)
            for axis in np.eye(3)
        ]
        return np.asarray(np.array(columns).T)
