"""Supports of a machine in a load chart: loaded supports, tipping axes, equilibrium under a payload.

Only the arm of the chart moves; everything else stays in the initial posture. On a machine with rigid supports the axes
are the edges of the support polygon of the loaded supports. With passive joints below the machine they are the axes of
`tipping_axes`.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import attachment_points, carrying_links, link_poses
from dyn_nodes.stability import support_order
from dyn_nodes.stability.equilibrium.axes import (
    TippingAxes,
    bodies_at,
    carrying_supports,
    point_rates,
    tipping_axes,
)
from dyn_nodes.stability.equilibrium.balance import new_balance
from dyn_nodes.stability.equilibrium.gear import Gear, GearError, RunningGear, running_gear
from dyn_nodes.stability.equilibrium.search import EVENTS, LEVELS
from dyn_nodes.stability.equilibrium.states import ARM, tipping_kernel
from dyn_nodes.stability.equilibrium.tipping import FINE, STEP, most_payload, payload_ramp, rigid_edges, settle

HALF_WIDTH = 1.0  # m; width of a planar machine, without effect on results


class LoadGear:
    """Running gear below an arm.

    Args:
        machine: the machine.
        positions: positions of all joints, rad or m, with the arm in any posture.
        arm: names of the links that the arm's joints move.
        root: link that carries the arm.

    Attributes:
        running: running gear with the arm.
        carrying: (c,) whether a support is loaded, or would be loaded within the travel of the springs.
        ground: height of the ground plane in the base frame, m.
        points: (s, 3) ground points of the loaded supports, in axes of the base, m; for a planar machine at both sides
            of its width.
        feet: (n, 3) corners of the support polygon, m, counter-clockwise.

    Raises:
        GearError: the machine has no equilibrium in this posture; also raised by `running_gear`.
    """

    def __init__(self, machine: Machine, positions: dict[str, float], arm: Collection[str], root: str) -> None:
        carrying = carrying_links(machine)
        still = [joint.name for joint in machine.movable_joints if joint.child not in carrying]
        self.machine, self._positions, self._chain, self._arm, self._root = machine, positions, still, arm, root
        self.running: RunningGear = running_gear(machine, positions, still)
        rest = settle(self.running, 0.0, np.array([0.0, 0.0, -machine.gravity]))
        if rest is None:
            raise GearError(f'{machine.name}: no equilibrium without payload, with the arm in the initial posture')
        self._rest = rest
        self.carrying = carrying_supports(rest.compression)
        poses = link_poses(machine.links, machine.joints, positions)
        supports = [support for support, carries in zip(machine.supports, self.carrying) if carries]
        points = np.array(attachment_points(supports, poses))
        sag = machine.total_mass * machine.gravity / sum(support.stiffness for support in supports)
        self.ground = float(np.mean([point[2] - support.free_length for point, support in zip(points, supports)])) + sag
        points[:, 2] = self.ground
        corners = points[[support.corner for support in supports]]
        if np.ptp(points[:, 1]) < 1e-9:
            points, corners = _widened(points), _widened(corners)
        self.points, self.feet = points, corners[support_order(corners)]

    @property
    def gives_way(self) -> bool:
        """Whether passive joints between base and supports move."""
        return not self.running.is_rigid

    @cached_property
    def _axes(self) -> TippingAxes:
        """Tipping axes of the machine without its arm's mass, which `edge_rows` adds."""
        level = np.array([0.0, 0.0, -self.machine.gravity])
        return tipping_axes(self._bare, self._rest.q, 0.0, level, self.carrying)

    @cached_property
    def _bare(self) -> RunningGear:
        return running_gear(self.machine, self._positions, self._chain, self._arm)

    @cached_property
    def edge_rows(self) -> Array:
        """Matrix (e, 6) from the ground's share of the arm's wrench to its moments about the axes."""
        if not self.gives_way:
            edges = np.roll(self.feet, -1, axis=0) - self.feet
            edges /= np.linalg.norm(edges, axis=1, keepdims=True)
            return np.hstack([edges, np.cross(edges, -self.feet)])  # e . (-p x f) = (e x -p) . f
        return np.array([self._twist(motion) for motion in self._axes.motions])

    def _twist(self, motion: Array) -> Array:
        """Return rotation and displacement (6,) of the body of the arm at the base's origin, in axes of the base."""
        bodies, joints = bodies_at(self._bare, self._rest.q, 0.0), self._bare.gear.joints
        base = self._bare.gear.base
        turn, j = np.zeros(3), self.body
        while j >= 0:
            turn += 0.0 if joints['sliding'][j] else motion[j] * bodies.axis[j]
            j = int(joints['parent'][j])
        moved = motion @ point_rates(self._bare, bodies, self.body, bodies.origin[base])
        return np.concatenate([turn @ bodies.rotation[base], moved @ bodies.rotation[base]])

    def still_rows(self, wrench: Array) -> Array:
        """Return the matrix (e, 3) from gravity to the moments of all links but the arm's about the axes.

        Args:
            wrench: (6, 3) of the ground on all links but the arm's, for gravity of 1 m/s2 along x, y and z.
        """
        return -self._axes.weights if self.gives_way else self.edge_rows @ wrench

    @cached_property
    def _edges(self) -> NDArray[np.int64]:
        """Supports (e, 2) at the ends of the edges; empty if they alone do not give the tipping load."""
        return rigid_edges(self.running, self.carrying)

    @cached_property
    def body(self) -> int:
        """Index of the body of the gear that carries the arm."""
        return self._bare.body_of[self._root]

    @cached_property
    def _frame(self) -> Array:
        """Pose (4, 4) in the base of the body that carries the arm."""
        poses = link_poses(self.machine.links, self.machine.joints, self._positions)
        if self.body == self._bare.gear.base:
            return np.eye(4)
        return poses[self.machine.joint(self._bare.joints[self.body]).child]

    def payloads(self, mass: Array, moment: Array, mount: Array, gravities: Array, to_the_fall: bool) -> Array:
        """Return the payloads (3, k), kg, at which a support lifts, equilibrium is lost, and the machine overturns.

        Args:
            mass: (k,) mass of the arm, kg.
            moment: (k, 3) mass times centre of mass of the arm in axes of the base, kg m.
            mount: (k, 3) position of the payload in axes of the base, m.
            gravities: (h, 3) m/s2; the worst one counts.
            to_the_fall: compute the overturning payloads, too; else they are inf.
        """
        rotation, origin = self._frame[:3, :3], self._frame[:3, 3]
        local_moment = (moment - mass[:, None] * origin) @ rotation
        local_mount = (mount - origin) @ rotation
        gear, arms, loads = self._bare.gear, np.zeros(len(mass), ARM), np.empty((3, len(mass)))
        arms['mass'], arms['moment'], arms['mount'] = mass, local_moment, local_mount
        load = gear.load.copy()
        load['body'] = self.body
        loaded: Gear = gear._replace(joints=gear.joints.copy(), load=load)
        unit, start = self.machine.total_mass, self.running.start
        tipping_kernel(
            loaded,
            start,
            arms,
            payload_ramp(gravities[0]),
            np.ascontiguousarray(gravities),
            self._edges,
            np.array([0.0, STEP * unit, most_payload(self.machine), FINE * unit]),
            LEVELS if to_the_fall else 1,
            np.empty((EVENTS, 3)),
            np.zeros(gear.rows),
            np.empty((3, len(start))),
            loads,
            new_balance(gear),
        )
        return np.maximum(loads, 0.0)


def _widened(points: Array) -> Array:
    """Return points (2 w, 3) at both sides of the width of a planar machine."""
    return np.vstack([points + side * np.array([0.0, HALF_WIDTH, 0.0]) for side in (-1.0, 1.0)])
