"""Tipping of a machine in one posture: payload, slope of a tilt table, and moments of loads about its tipping axes.

On rigid supports the tipping axes of the posture and the moments about them give the result in closed form. On yielding
supports the stable equilibrium is followed to its loss (`stability.equilibrium`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from dyn_nodes.analysis.standards.standard import CertifyError
from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import link_poses
from dyn_nodes.stability.equilibrium.axes import (
    TippingAxes,
    bodies_at,
    carrying_supports,
    mass_rates,
    point_rates,
    tipping_axes,
)
from dyn_nodes.stability.equilibrium.gear import GearError, RunningGear, running_gear
from dyn_nodes.stability.equilibrium.tipping import (
    STEEPEST,
    NotStandingError,
    most_payload,
    settle,
    tipping_angle,
    tipping_load,
)

UNIT_LOAD = 1000.0
"""Payload for differences, kg."""
WEAKEST = 3
"""Number of tipping axes across which slopes and horizontal forces act."""
HARD = 1e3
"""Stiffness of hard supports, relative to the stiffness in the machine file."""
FINE = 1e-7
"""Accuracy of a slope, rad."""


class Limit(NamedTuple):
    """A limit of stability, and the names of the points on its tipping axis."""

    value: float
    axis: tuple[str, ...]


class Force(NamedTuple):
    """A force (3,) in axes of the ground, x along the heading, N, at a point (3,) of a link, m."""

    link: str
    point: Array
    force: Array


class Posed:
    """A machine in one posture, with its base level on firm ground.

    Args:
        machine: the machine.
        positions: of joints by name, in place of the initial positions, rad or m.
        rigid: springs and tyres are rigid; passive joints still move.
        hold: passive joints that are locked, such as of an oscillating axle.

    Raises:
        CertifyError: the machine has no equilibrium without payload in this posture, or does not stand on supports.
    """

    def __init__(
        self, machine: Machine, positions: Mapping[str, float], rigid: bool, hold: Collection[str] = ()
    ) -> None:
        self.machine, self.rigid = machine, rigid
        self._level = np.array([0.0, 0.0, -machine.gravity])
        try:
            self.running = running_gear(machine, positions, hold)
        except GearError as error:
            raise CertifyError(str(error)) from None
        rest, hard = (settle(running, 0.0, self._level) for running in (self.running, _on_hard_supports(self.running)))
        if rest is None or hard is None:
            raise CertifyError(f'{machine.name}: no equilibrium without payload on level ground in this posture')
        self._carrying = carrying_supports(rest.compression)
        # rigid supports: base level at its height at rest; passive joints as on hard supports
        level_base = np.append(rest.q[0], np.zeros(len(rest.q) - 1))
        self._q = level_base if self.running.is_rigid else hard.q.copy()

    @property
    def raised(self) -> tuple[str, ...]:
        """Names of supports without load."""
        return tuple(name for name, carries in zip(self.running.supports, self._carrying) if not carries)

    @property
    def axle_joints(self) -> tuple[str, ...]:
        """Names of the passive joints below the machine."""
        return self.running.joints[self.running.gear.base + 1 :]

    @cached_property
    def _link_poses(self) -> dict[str, Array]:
        """Poses (4, 4) of the links in axes of the base."""
        at = dict(self.running.positions)
        at |= {name: float(value) for name, value in zip(self.running.joints, self._q) if name in at}
        return link_poses(self.machine.links, self.machine.joints, at)

    def point(self, link: str, point: Array) -> Array:
        """Return a point (3,) of a link in axes of the ground, the base above the origin, m."""
        bodies, base = bodies_at(self.running, self._q, 0.0), self.running.gear.base
        pose = self._link_poses[link]
        return np.asarray(bodies.rotation[base] @ (pose[:3, :3] @ point + pose[:3, 3]) + bodies.origin[base])

    def mass_and_center(self, links: Collection[str] | None = None) -> tuple[float, Array]:
        """Return mass, kg, and centre of mass (3,) of links, by default all, in axes of the ground, m."""
        chosen = [link for link in self.machine.links if links is None or link.name in links]
        mass = sum(link.mass for link in chosen)
        moment = sum((link.mass * self.point(link.name, link.com) for link in chosen), np.zeros(3))
        return mass, moment / mass if mass > 0.0 else moment

    def support_loads(self, payload: float) -> Array:
        """Return the load (c,) of every support with a payload, kg, on yielding supports, N; NaN if it tips."""
        rest = settle(self.running, payload, self._level)
        return np.full(len(self.running.supports), np.nan) if rest is None else rest.loads

    def _axes(self, payload: float, gravity: Array) -> TippingAxes:
        return tipping_axes(self.running, self._q, payload, gravity, self._carrying)

    def _holding(self, axes: TippingAxes, payload: float, gravity: Array) -> Array:
        """Return the moments (e,) that hold the machine down about its axes, N m."""
        weights = axes.motions @ mass_rates(self.running, bodies_at(self.running, self._q, payload))
        return -np.asarray(weights @ gravity)

    def payload(self, slope: float = 0.0, heading: float = 0.0) -> Limit:
        """Return the tipping load, kg; 0 if it tips without payload, inf if no payload up to `most_payload` tips it.

        Args:
            slope: of the ground, rad.
            heading: of the downhill direction from the front, counter-clockwise, rad.
        """
        gravity = self._gravity(slope, heading)
        axes = self._axes(0.0, gravity)
        empty, loaded = (self._holding(axes, load, gravity) for load in (0.0, UNIT_LOAD))
        per_kg = (loaded - empty) / UNIT_LOAD
        with np.errstate(divide='ignore', invalid='ignore'):
            each = np.where(empty <= 0.0, 0.0, np.where(per_kg < 0.0, -empty / per_kg, np.inf))
        rigid = _least(np.where(each > most_payload(self.machine), np.inf, each), axes)
        if self.rigid:
            return rigid
        try:
            result = tipping_load(self.running, gravity)
        except NotStandingError:
            return Limit(0.0, ())
        return rigid if rigid.value <= result.load else Limit(result.load, () if not result.axis else result.axis.names)

    def _gravity(self, slope: float, heading: float) -> Array:
        """Return gravity (3,) on a slope, in axes of the ground, m/s2."""
        direction = np.array([np.cos(heading), np.sin(heading), 0.0])
        return np.asarray(np.cos(slope) * self._level + np.sin(slope) * self.machine.gravity * direction)

    def slope(self, payload: float, heading: float) -> Limit:
        """Return the slope at which the machine tips, rad; inf if it does not tip up to 1.2 rad.

        Args:
            payload: kg.
            heading: of the downhill direction from the front, counter-clockwise, rad.
        """
        if self.rigid:
            return self._rigid_slope(payload, heading)
        try:
            result = tipping_angle(self.running, payload, self.machine.gravity, heading)
        except NotStandingError:
            return Limit(0.0, ())
        names = () if result.axis is None else result.axis.names
        if not names and np.isfinite(result.load):  # a line without two points of the machine
            names = self._at_slope(payload, heading, result.load).axis
        return Limit(result.load, names)

    def _at_slope(self, payload: float, heading: float, angle: float) -> Limit:
        """Return the least moment that holds the machine on a slope, rad, on rigid supports, N m, and its axis."""
        gravity = self._gravity(angle, heading)
        axes = self._axes(payload, gravity)
        return _least(self._holding(axes, payload, gravity), axes)

    def _rigid_slope(self, payload: float, heading: float) -> Limit:
        def at(angle: float) -> Limit:
            return self._at_slope(payload, heading, angle)

        (level, low), (steep, high) = (at(0.0), 0.0), (at(STEEPEST), STEEPEST)
        if level.value <= 0.0:
            return Limit(0.0, level.axis)
        if steep.value > 0.0:
            return Limit(np.inf, ())
        angle = float(brentq(lambda angle: at(angle).value, low, high, xtol=FINE))
        return Limit(angle, at(angle).axis)

    def level_axes(self) -> Array:
        """Return a point and the inward normal (e, 2, 2) of each tipping axis on level ground, seen from above, m."""
        axes = self._axes(0.0, self._level)
        normals = np.column_stack([-axes.directions[:, 1], axes.directions[:, 0]])
        return np.stack([axes.lines[:, 0, :2], normals], axis=1)

    def outward(self, payload: float) -> Array:
        """Return the headings across the tipping axes with the least holding moments on level ground, rad.

        Args:
            payload: kg.
        """
        axes = self._axes(payload, self._level)
        directions = axes.directions[np.argsort(self._holding(axes, payload, self._level), kind='stable')[:WEAKEST]]
        return np.asarray(np.arctan2(-directions[:, 0], directions[:, 1]))

    def moments(
        self, payload: float, forces: Sequence[Force]
    ) -> tuple[Array, Array, Array, tuple[tuple[str, ...], ...]]:
        """Return moments about the tipping axes (e,), N m, and the names of the points on the axes.

        The moments are: of the weight of the machine, which holds it down; of the payload, and of the forces, which
        overturn it. The ground reactions are parallel to the resultant of all loads.

        Args:
            payload: kg.
            forces: further forces.
        """
        total = sum((each.force for each in forces), np.zeros(3))
        lean = self._level + total / (self.running.gear.mass + payload)
        axes = self._axes(payload, lean)
        empty = self._holding(axes, 0.0, self._level)
        load = empty - self._holding(axes, payload, self._level)
        work, bodies = np.zeros(len(axes.names)), bodies_at(self.running, self._q, payload)
        for each in forces:
            point = self.point(each.link, each.point)
            rates = point_rates(self.running, bodies, self.running.body_of[each.link], point)
            work = work + axes.motions @ (rates @ each.force)
        # as turns about the axes: without the displacement of a point on each axis
        slip = np.array(
            [
                motion @ point_rates(self.running, bodies, int(body), line[0]) @ total
                for motion, body, line in zip(axes.motions, axes.tipping, axes.lines)
            ]
        )
        return empty - slip, load, work - slip, axes.names


def _on_hard_supports(running: RunningGear) -> RunningGear:
    """Return a gear whose springs and tyres hardly yield."""
    supports = running.gear.supports.copy()
    supports['stiffness'] *= HARD
    return replace(running, gear=running.gear._replace(supports=supports))


def _least(values: Array, axes: TippingAxes) -> Limit:
    if not len(values):
        return Limit(np.inf, ())
    least = int(np.argmin(values))
    return Limit(float(values[least]), axes.names[least])


def support_positions(posed: Posed) -> Array:
    """Return the positions (c, 2) of the supports, seen from above, m."""
    supports = posed.machine.supports
    return np.array([posed.point(support.link, support.position)[:2] for support in supports])
