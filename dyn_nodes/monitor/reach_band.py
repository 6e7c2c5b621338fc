"""Greatest reach of a payload in every direction of the swing: where it is at most the rated load.

    limit = ReachLimit(machine)
    for band in limit.solve(positions, payload=2000.0, gravity=np.array([0.0, 0.0, -9.81])):
        ...  # None after each small part of the computation, in the end a ReachBand

The arm moves the payload outwards and inwards at its present height. The rated load is computed as by the load-moment
indicator. Motion and the hydraulic lift capacity are not included. Closed loops follow the joints of the arm. Without a
swing there is one direction, and the band is a strip along it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.assembly import assemble
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.errors import AssemblyError
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses, moved_links
from dyn_nodes.monitor.allowance import upright_joints
from dyn_nodes.multibody import build_tree
from dyn_nodes.stability.equilibrium.gear import GearError
from dyn_nodes.stability.load_moment import LoadMomentIndicator

STRIP = 0.1
"""Half the angle of the strip of a machine without a swing, rad."""
DIRECTIONS = 36
"""Number of directions in a full turn."""
STEP, FINEST = 0.4, 0.02
"""Greatest and least step of the payload along its way, m."""
CLOSE = 0.005
"""Greatest distance of the payload from its way, m."""
INNERMOST = 0.5
"""Least distance of the payload from the axis of the swing, m."""
BENT, CLOSING, OVERRUN = 0.01, 30, 1e-3
"""Displacement of a joint with which the loops are tested, rad or m, greatest number of steps that close them, and
distance beyond its limit within which a joint in a loop counts as within it, rad or m."""
BEND = 1e-4
"""Change of a joint for a numerical derivative, rad or m."""
SAME_POSTURE = 0.08
"""Greatest deviation of a joint from the way of a band, rad or m."""


class ReachBand(NamedTuple):
    """Greatest reach around the axis of the swing, with the payload at one height.

    Attributes:
        centre: (2,) point of the axis in axes of the base, m.
        angles: (n,) directions of the payload from the x axis of the base, rad.
        reach: (n,) greatest distance of the payload from the axis, m; 0 if the payload is too heavy everywhere.
        is_end: (n,) whether the arm ends there, and not the rated load.
        is_closed: whether the directions are a full turn.
        payload: kg.
        way: (k, m) positions of the arm's joints on the way outwards.
        distances: (k,) of the payload from the axis on this way, m.
    """

    centre: Array
    angles: Array
    reach: Array
    is_end: NDArray[np.bool_]
    is_closed: bool
    payload: float
    way: Array
    distances: Array


class ReachLimit:
    """Computes reach bands of a machine.

    Args:
        machine: with a payload on an arm of joints that are driven, or moved by closed loops.
        share: rated share of the tipping load.

    Attributes:
        swing: name of the first joint of the arm that turns about the base's z axis; '' without one.
        arm: names of the other joints between base and payload.
        needed: names of all of them, and of the joints in loops with them.
        centre: (2,) point of the axis of the swing, or of the first joint of the arm, in axes of the base, m.

    Raises:
        GearError: the machine has no such arm, its joints do not move one by one, or it has no load-moment indicator.
    """

    def __init__(self, machine: Machine, share: float = 0.75) -> None:
        self.machine, self.indicator = machine, LoadMomentIndicator(machine, share)
        link = machine.payload.link if machine.payload is not None else ''
        driven = {joint.name for joint in machine.actuated_joints}
        moving = [joint.name for joint in machine.movable_joints if link in moved_links(machine, joint)]
        loops = _joints_in_loops(machine)
        if not set(moving) <= driven | loops or len(moving) < 2:
            raise GearError(
                f'{machine.name}: expected a payload on an arm of joints that are driven or in closed loops'
            )
        self.swing = next(iter(upright_joints(machine)), '')
        self.arm = [name for name in moving if name != self.swing]
        self._followers = sorted(loops - {*moving}) if loops & {*moving} else []
        self.needed = {*moving, *self._followers}
        self._limits = self._limits_of(self.arm)
        pose = self._poses(initial_positions(machine))[machine.joint(self.swing or self.arm[0]).child]
        self.centre = np.asarray(pose[:2, 3])
        if self._followers:
            self._set_up_loops()

    def _set_up_loops(self) -> None:
        """Prepare the loops for `_closed`. Raises GearError if joints of the arm do not move one by one."""
        machine = self.machine
        fixed = replace(machine, base=replace(machine.base, attachment='fixed'), loads=(), wheels=(), contacts=())
        tree = build_tree(fixed)
        self._blocks = ConstraintBlocks(tree, [entry.on(tree) for entry in machine.constraints])
        self._held = [name for name in tree.velocity_names if name not in self._followers]
        self._follower_limits = self._limits_of(self._followers)
        start = initial_positions(machine)
        for name in self.arm:
            if not any(self._closed(start | {name: start[name] + step}) for step in (BENT, -BENT)):
                raise GearError(f'{machine.name}: expected joints of the arm that move one by one, found {name}')

    def _limits_of(self, names: list[str]) -> Array:
        """Return the lower and upper limits (2, n) of joints, rad or m."""
        return np.array([(self.machine.joint(name).lower, self.machine.joint(name).upper) for name in names]).T

    def _closed(self, positions: Mapping[str, float]) -> dict[str, float] | None:
        """Return positions with the joints in loops where the arm moves them; None beyond their limits."""
        if not self._followers:
            return dict(positions)
        names = self._blocks.tree.position_names
        try:
            q = assemble(self._blocks, [positions[name] for name in names], held=self._held, iterations=CLOSING)
        except AssemblyError:
            return None
        result = {**positions, **dict(zip(names, q.tolist()))}
        there, (low, high) = [result[name] for name in self._followers], self._follower_limits
        return result if (low - OVERRUN <= there).all() and (there <= high + OVERRUN).all() else None

    def _poses(self, positions: Mapping[str, float]) -> dict[str, Array]:
        return link_poses(self.machine.links, self.machine.joints, positions)

    def payload_point(self, positions: Mapping[str, float]) -> Array:
        """Return the position (3,) of the payload in axes of the base, m."""
        assert self.machine.payload is not None
        pose = self._poses(positions)[self.machine.payload.link]
        return np.asarray(pose[:3, :3] @ self.machine.payload.position + pose[:3, 3])

    def distance(self, positions: Mapping[str, float]) -> float:
        """Return the distance of the payload from the axis of the swing, m."""
        return float(np.linalg.norm(self.payload_point(positions)[:2] - self.centre))

    def is_valid(self, band: ReachBand, positions: Mapping[str, float], payload: float, tolerance: float = 1.0) -> bool:
        """Return whether a band is of this payload, kg, and its way leads through a posture, by `SAME_POSTURE`."""
        if abs(payload - band.payload) > max(0.01 * band.payload, 1.0):
            return False
        at = self.distance(positions)
        expected = [np.interp(at, band.distances, column) for column in band.way.T]
        here = [positions[name] for name in self.arm]
        return bool(np.abs(np.subtract(here, expected)).max() <= tolerance * SAME_POSTURE)

    def solve(self, positions: Mapping[str, float], payload: float, gravity: Array) -> Iterator[ReachBand | None]:
        """Yield None after each part of the computation, and the band at its end.

        Args:
            positions: of all movable joints by name, rad or m.
            payload: kg.
            gravity: (3,) in axes of the ground, x along the heading of the base, m/s2.
        """
        start = dict(positions)
        outwards, inwards = [start], list[dict[str, float]]()
        for sign, way in ((1.0, outwards), (-1.0, inwards)):
            for there in self._way(start, sign):
                yield None
                if there is not None:
                    way.append(there)
        way_out = [*reversed(inwards), *outwards]
        distances = np.array([self.distance(there) for there in way_out])
        angles, is_closed = self._directions()
        reach, is_end = np.zeros(len(angles)), np.zeros(len(angles), dtype=bool)
        most = self.machine.payload.limit if self.machine.payload is not None else 0.0
        point = self.payload_point(start)[:2] - self.centre
        offset = math.atan2(point[1], point[0]) - start.get(self.swing, 0.0)
        for k, angle in enumerate(angles):
            if payload > most:
                break
            low, high = 0, len(way_out) - 1
            rated = dict[int, float]()
            while True:
                for index in {low, high} - rated.keys():
                    rated[index] = self._rated(way_out[index], angle, gravity)
                    yield None
                if rated[high] >= payload:
                    reach[k], is_end[k] = distances[high], high == len(way_out) - 1
                    break
                if rated[low] < payload:
                    break
                if high - low == 1:  # the reciprocal of the rated load is almost linear in the distance
                    first, second = (1.0 / max(rated[index], 1e-3) for index in (low, high))
                    part = (1.0 / max(payload, 1e-3) - first) / (second - first)
                    reach[k] = distances[low] + part * (distances[high] - distances[low])
                    break
                middle = (low + high) // 2
                rated[middle] = self._rated(way_out[middle], angle, gravity)
                yield None
                low, high = (middle, high) if rated[middle] >= payload else (low, middle)
        if not self.swing:
            angles, reach, is_end = np.array((-STRIP, STRIP)), reach.repeat(2), is_end.repeat(2)
        joints = np.array([self._joints(there) for there in way_out])
        yield ReachBand(self.centre, angles + offset, reach, is_end, is_closed, payload, joints, distances)

    def _rated(self, positions: Mapping[str, float], angle: float, gravity: Array) -> float:
        """Return the rated load by stability, kg, with the swing at an angle, rad."""
        turned = {**positions, self.swing: angle} if self.swing else positions
        return self.indicator.share * self.indicator.evaluate(turned, 0.0, gravity).tipping

    def _directions(self) -> tuple[Array, bool]:
        """Return positions (n,) of the swing, rad, and whether they are a full turn."""
        if not self.swing:
            return np.zeros(1), False
        joint = self.machine.joint(self.swing)
        turn = joint.upper - joint.lower
        if not turn < 2.0 * math.pi:
            return np.arange(DIRECTIONS) * 2.0 * math.pi / DIRECTIONS, True
        return np.linspace(joint.lower, joint.upper, max(round(DIRECTIONS * turn / (2.0 * math.pi)), 2)), False

    # -- the way of the payload --------------------------------------------------------------------------------------

    def _joints(self, positions: Mapping[str, float]) -> Array:
        return np.array([positions[name] for name in self.arm])

    def _at(self, positions: Mapping[str, float], joints: Array) -> dict[str, float]:
        """Return positions with other ones (m,) of the arm."""
        return {**positions, **dict(zip(self.arm, joints.tolist()))}

    def _place(self, positions: Mapping[str, float], joints: Array) -> Array:
        """Return distance from the axis and height (2,) of the payload, m."""
        point = self.payload_point(self._at(positions, joints))
        return np.array((np.linalg.norm(point[:2] - self.centre), point[2]))

    def _way(self, positions: dict[str, float], sign: float) -> Iterator[dict[str, float] | None]:
        """Yield positions at growing (sign 1) or falling distances of the payload; None after a failed step."""
        here, step = positions, STEP
        target = self._place(positions, self._joints(here))
        while step >= FINEST:
            goal = target + np.array((sign * step, 0.0))
            joints = self._moved(here, self._joints(here), goal) if goal[0] > INNERMOST else None
            there = None if joints is None else self._closed(self._at(here, joints))
            if there is None:
                step *= 0.5
            else:
                here, target = there, goal
            yield there

    def _moved(self, positions: Mapping[str, float], joints: Array, goal: Array) -> Array | None:
        """Return positions (m,) of the arm with the payload at a distance and height (2,), m; None: out of reach."""
        new = joints
        for _ in range(5):
            here = self._place(positions, new)
            error = goal - here
            if float(np.abs(error).max()) < CLOSE:
                return new
            bent = new + BEND * np.eye(len(new))
            J = np.array([(self._place(positions, row) - here) / BEND for row in bent]).T
            new = np.clip(new + J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(2), error), *self._limits)
        return None


def _joints_in_loops(machine: Machine) -> set[str]:
    """Return the movable joints on the ways between the two ends of each constraint."""
    movable = {joint.name for joint in machine.movable_joints}
    result = set[str]()
    for entry in machine.constraints:
        if len(entry.ends) == 2:
            ways = [_joints_below(machine, end.link) for end in entry.ends]
            result |= (ways[0] ^ ways[1]) & movable
    return result


def _joints_below(machine: Machine, link: str) -> set[str]:
    """Return the joints between the root link and a link."""
    chain, names = {joint.child: joint for joint in machine.joints}, set[str]()
    while link in chain:
        names.add(chain[link].name)
        link = chain[link].parent
    return names
