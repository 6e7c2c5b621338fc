"""What a machine of a load chart stands on: the supports that carry, its tipping axes, its equilibrium under a payload.

The arm of the chart moves, all else stays in the initial posture. On a machine that stands as one body the axes are the
edges of the support polygon of the supports that carry; where joints give way they are those of `tipping_axes`.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import carrying_links, link_poses
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
from dyn_nodes.stability.equilibrium.tipping import FINE, STEP, most_payload, payload_ramp, settle

MOST_AT_ONCE = 4
"""Supports up to which the edges alone decide; more of them may hold a leaning machine in more than one way."""
HALF_WIDTH = 1.0  # m; a planar machine gets a width, which plays no part


class LoadGear:
    """The running gear under an arm.

    Args:
        machine: the machine.
        positions: of all joints, rad or m; of the arm in any posture.
        arm: names of the links that they move.
        root: link that carries the arm.

    Attributes:
        running: its gear, with the arm.
        carrying: (c,) supports that carry, or would before the machine moves by more than its springs yield.
        ground: height of the ground plane in the base frame, m.
        points: (s, 3) ground points of the supports that carry, in axes of the base, m; of a planar machine both sides
            of its width.
        feet: (n, 3) corners of the support polygon, m, counter-clockwise.

    Raises:
        GearError: the machine does not stand in this posture, or as `running_gear` does.
    """

    def __init__(self, machine: Machine, positions: dict[str, float], arm: Collection[str], root: str) -> None:
        standing = carrying_links(machine)
        still = [joint.name for joint in machine.movable_joints if joint.child not in standing]
        self.machine, self._positions, self._chain, self._arm, self._root = machine, positions, still, arm, root
        self.running: RunningGear = running_gear(machine, positions, still)
        found = settle(self.running, 0.0, np.array([0.0, 0.0, -machine.gravity]))
        if found is None:
            raise GearError(f'{machine.name}: it does not stand without a payload, its arm in the initial posture')
        self._rest = found
        self.carrying = carrying_supports(found.compression)
        poses = link_poses(machine.links, machine.joints, positions)
        supports = [own for own, carries in zip(machine.supports, self.carrying) if carries]
        points = np.array([poses[own.link][:3, :3] @ own.position + poses[own.link][:3, 3] for own in supports])
        sag = machine.total_mass * machine.gravity / sum(own.stiffness for own in supports)
        self.ground = float(np.mean([point[2] - own.free_length for point, own in zip(points, supports)])) + sag
        points[:, 2] = self.ground
        corners = points[[own.corner for own in supports]]
        if np.ptp(points[:, 1]) < 1e-9:
            points, corners = _widened(points), _widened(corners)
        self.points, self.feet = points, corners[support_order(corners)]

    @property
    def gives_way(self) -> bool:
        """True where joints between base and supports give way."""
        return not self.running.is_rigid

    @cached_property
    def _axes(self) -> TippingAxes:
        """Axes of the machine without its arm's mass: the arm counts by `edge_rows`."""
        level = np.array([0.0, 0.0, -self.machine.gravity])
        return tipping_axes(self._bare, self._rest.q, 0.0, level, self.carrying)

    @cached_property
    def _bare(self) -> RunningGear:
        return running_gear(self.machine, self._positions, self._chain, self._arm)

    @cached_property
    def edge_rows(self) -> Array:
        """(e, 6) whose products with the ground's share of the arm's wrench are its moments about the axes."""
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
        """Return (e, 3) whose products with gravity are the moments of all but the arm about the axes.

        Args:
            wrench: (6, 3) of the ground on all links but the arm's, for gravity of 1 m/s2 along x, y and z.
        """
        return -self._axes.weights if self.gives_way else self.edge_rows @ wrench

    @cached_property
    def _edges(self) -> NDArray[np.int64]:
        """(e, 2) supports at the ends of the edges; none of a machine whose joints give way, or that is planar."""
        corners = [k for k, own in enumerate(self.machine.supports) if own.corner and self.carrying[k]]
        if self.gives_way or self.machine.base.attachment == 'planar' or self.carrying.sum() > MOST_AT_ONCE:
            return np.zeros((0, 2), dtype=np.int64)
        points = self._bare.gear.supports['point'][corners]
        order = np.array(corners)[support_order(points)]
        return np.stack([order, np.roll(order, -1)], axis=1).astype(np.int64)

    @cached_property
    def body(self) -> int:
        """Body of the gear that carries the arm."""
        return self._bare.body_of[self._root]

    @cached_property
    def _frame(self) -> Array:
        """(4, 4) pose in the base of the body that carries the arm."""
        poses = link_poses(self.machine.links, self.machine.joints, self._positions)
        if self.body == self._bare.gear.base:
            return np.eye(4)
        return poses[self.machine.joint(self._bare.joints[self.body]).child]

    def payloads(self, mass: Array, moment: Array, mount: Array, gravities: Array, to_the_fall: bool) -> Array:
        """Return the payloads (3, k), kg, at which a support lifts, equilibrium is lost, and the machine falls.

        Args:
            mass: (k,) of the arm, kg.
            moment: (k, 3) its mass times centre of mass in axes of the base, kg m.
            mount: (k, 3) of the payload in axes of the base, m.
            gravities: (h, 3) m/s2, of which the worst counts.
            to_the_fall: compute the falls, too; else they are inf.
        """
        rotation, origin = self._frame[:3, :3], self._frame[:3, 3]
        local_moment = (moment - mass[:, None] * origin) @ rotation
        local_mount = (mount - origin) @ rotation
        gear, arms, loads = self._bare.gear, np.zeros(len(mass), ARM), np.empty((3, len(mass)))
        arms['mass'], arms['moment'], arms['mount'] = mass, local_moment, local_mount
        load = gear.load.copy()
        load['body'] = self.body
        own: Gear = gear._replace(joints=gear.joints.copy(), load=load)
        unit, start = self.machine.total_mass, self.running.start
        tipping_kernel(
            own,
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
