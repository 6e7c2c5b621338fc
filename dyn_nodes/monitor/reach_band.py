"""Greatest reach of a payload in every direction of the swing: where it is at most the rated load.

    limit = ReachLimit(machine)
    for band in limit.solve(positions, payload=2000.0, gravity=np.array([0.0, 0.0, -9.81])):
        ...  # None after each small part of the computation, in the end a ReachBand

The arm moves the payload outwards and inwards at its present height. The rated load is computed as by the load-moment
indicator. Motion and the hydraulic lift capacity are not included.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import initial_positions, link_poses, moved_links
from dyn_nodes.monitor.allowance import upright_joints
from dyn_nodes.stability.equilibrium.gear import GearError
from dyn_nodes.stability.load_moment import LoadMomentIndicator

DIRECTIONS = 36
"""Number of directions in a full turn."""
STEP, FINEST = 0.4, 0.02
"""Greatest and least step of the payload along its way, m."""
CLOSE = 0.005
"""Greatest distance of the payload from its way, m."""
INNERMOST = 0.5
"""Least distance of the payload from the axis of the swing, m."""
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
        machine: with a payload on an arm behind a joint that turns about the base's z axis.
        share: rated share of the tipping load.

    Attributes:
        swing, arm: names of the joints.
        needed: names of all of them.
        centre: (2,) point of the axis of the swing in axes of the base, m.

    Raises:
        GearError: the machine has no such arm, or no load-moment indicator.
    """

    def __init__(self, machine: Machine, share: float = 0.75) -> None:
        self.machine, self.indicator = machine, LoadMomentIndicator(machine, share)
        link = machine.payload.link if machine.payload is not None else ''
        driven = {joint.name for joint in machine.actuated_joints}
        moving = [joint.name for joint in machine.movable_joints if link in moved_links(machine, joint)]
        swings = upright_joints(machine)
        if machine.constraints or not swings or not set(moving) <= driven or len(moving) < 2:
            raise GearError(f'{machine.name}: expected an arm of driven joints without loops behind a swing')
        self.swing = swings[0]
        self.needed = {*moving}
        self.arm = [name for name in moving if name != self.swing]
        self._limits = np.array([(machine.joint(name).lower, machine.joint(name).upper) for name in self.arm]).T
        pose = self._poses(initial_positions(machine))[machine.joint(self.swing).child]
        self.centre = np.asarray(pose[:2, 3])

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
        outwards, inwards = [self._joints(start)], list[Array]()
        for sign, way in ((1.0, outwards), (-1.0, inwards)):
            for joints in self._way(start, sign):
                yield None
                if joints is not None:
                    way.append(joints)
        way_out = np.array([*reversed(inwards), *outwards])
        distances = np.array([self.distance(self._at(start, joints)) for joints in way_out])
        angles, is_closed = self._directions()
        reach, is_end = np.zeros(len(angles)), np.zeros(len(angles), dtype=bool)
        most = self.machine.payload.limit if self.machine.payload is not None else 0.0
        point = self.payload_point(start)[:2] - self.centre
        offset = math.atan2(point[1], point[0]) - start[self.swing]
        for k, angle in enumerate(angles):
            if payload > most:
                break
            low, high = 0, len(way_out) - 1
            rated = dict[int, float]()
            while True:
                for index in {low, high} - rated.keys():
                    rated[index] = self._rated(self._at(start, way_out[index]) | {self.swing: angle}, gravity)
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
                rated[middle] = self._rated(self._at(start, way_out[middle]) | {self.swing: angle}, gravity)
                yield None
                low, high = (middle, high) if rated[middle] >= payload else (low, middle)
        yield ReachBand(self.centre, angles + offset, reach, is_end, is_closed, payload, way_out, distances)

    def _rated(self, positions: Mapping[str, float], gravity: Array) -> float:
        """Return the rated load by stability, kg."""
        return self.indicator.share * self.indicator.evaluate(positions, 0.0, gravity).tipping

    def _directions(self) -> tuple[Array, bool]:
        """Return positions (n,) of the swing, rad, and whether they are a full turn."""
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

    def _way(self, positions: Mapping[str, float], sign: float) -> Iterator[Array | None]:
        """Yield positions (m,) of the arm at growing (sign 1) or falling distances; None after a failed step."""
        here, step = self._joints(positions), STEP
        target = self._place(positions, here)
        while step >= FINEST:
            goal = target + np.array((sign * step, 0.0))
            there = self._moved(positions, here, goal) if goal[0] > INNERMOST else None
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
