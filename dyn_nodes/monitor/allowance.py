"""Remaining allowances: payload, reach and swing speed in the direction in which the machine works now.

Safe is a stability degree (see `standing`) of at least `reserve`. A negative allowance is the amount of the excess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import link_poses
from dyn_nodes.monitor.load_model import GroundLoad
from dyn_nodes.monitor.standing import STILL, StandingGround
from dyn_nodes.stability import PolygonError, zmp_degree

STEPS, CLOSE, FINE = 40, 1e-5, 1e-7
"""Search for a limit: greatest number of steps; stability degree and fraction of the interval at which it ends."""
PROBES = 8
REACH_STEP, FINEST_STEP = 0.1, 0.01
BEND = 5e-4
"""Change of a joint, rad or m, for the numerical derivative of the position of a hanging load."""
LONGEST_REACH = 30.0
SLACK = 0.03
"""Permitted change of the payload's height on the way outwards, m; beyond it the arm is at the end of its reach."""
UPRIGHT = 0.9


class Allowance(NamedTuple):
    """Remaining allowances; NaN if the machine does not have the quantity.

    Attributes:
        payload: additional payload, kg, in this posture: at rest, and in the present motion.
        reach: distance by which the arm may move the payload outwards at its height, at rest there, m; NaN for an arm
            in closed loops, whose joints do not move one by one.
        swing_speed: additional speed of the swing, rad/s, with the arm held, braking included; NaN if a load hangs from
            passive joints, which the swing moves outwards.
    """

    payload: float
    reach: float
    swing_speed: float


@dataclass(frozen=True)
class AllowanceSettings:
    """Definition of a safe state.

    Attributes:
        reserve: least stability degree.
        swing_braking: acceleration with which a swing is stopped, rad/s2.
        swing_joint: name; '' selects the first joint between base and payload that turns about the base's z axis.
    """

    reserve: float = 0.15
    swing_braking: float = 0.5
    swing_joint: str = ''


class Allowances:
    """Solves for the allowances of a machine.

    Args:
        machine: with a free base on three wheels or more.
        ground: of the machine; a shared object that its owner updates.
        settings: definition of a safe state.

    Raises:
        KeyError: unknown swing joint.
        ValueError: the joint does not turn.
    """

    def __init__(self, machine: Machine, ground: StandingGround, settings: AllowanceSettings | None = None) -> None:
        self.machine, self.ground = machine, ground
        self.settings = settings or AllowanceSettings()
        joints = machine.movable_joints
        self._names = [joint.name for joint in joints]
        self._lower = np.array([joint.lower for joint in joints])
        self._upper = np.array([joint.upper for joint in joints])
        self.swing = self._find_swing()
        self._arm = [k for k in range(len(joints)) if k != self.swing and k not in ground.hanging.indices]
        self._center = self._swing_center()
        self._limit = machine.payload.limit if machine.payload else 0.0

    def _find_swing(self) -> int | None:
        wanted = self.settings.swing_joint
        if wanted:
            if self.machine.joint(wanted).type not in ('revolute', 'continuous'):
                raise ValueError(f'swing joint {wanted!r}: expected a joint that turns')
            return self._names.index(wanted)
        return next((self._names.index(name) for name in upright_joints(self.machine)), None)

    def _swing_center(self) -> Array:
        """Return the point of the base from which reach is measured: on the swing joint, or the origin."""
        if self.swing is None:
            return np.zeros(3)
        joint = self.machine.joint(self._names[self.swing])
        pose = link_poses(self.machine.links, self.machine.joints, {})[joint.child]
        return np.asarray(pose[:3, 3])

    def evaluate(self, q: Array, v: Array, payload: float, load: GroundLoad | None = None) -> Allowance:
        """Return the allowances.

        Args:
            q: (n,) positions of the joints.
            v: (n,) their velocities.
            payload: kg.
            load: present one, with its motion; None: only at rest.

        Raises:
            PolygonError: the ground points of the wheels do not form a support polygon.
        """
        fault = self.ground.fault(q)
        if fault:
            raise PolygonError(fault)
        if self.machine.payload is None:
            return Allowance(np.nan, np.nan, self._swing_speed(q, v, payload))
        mass = self._payload(q, payload)
        if load is not None:
            mass = min(mass, self._payload_in_motion(load, payload))
        return Allowance(mass, self._reach(q, payload), self._swing_speed(q, v, payload))

    # -- payload -----------------------------------------------------------------------------------------------------

    def _spare(self, q: Array, payload: float) -> float:
        """Return the stability degree at rest less the reserve."""
        return self.ground.standing_degree(q, payload) - self.settings.reserve

    def _payload(self, q: Array, payload: float) -> float:
        """Return the additional payload at rest, kg.

        Safe masses are an interval: every edge is stable up to, or from, some mass.
        """

        def spare(mass: float) -> float:
            return self._spare(q, mass)

        now = spare(payload)
        if now >= 0.0:
            most = spare(self._limit)
            return (self._limit if most >= 0.0 else crossing(spare, payload, now, self._limit, most)) - payload
        for mass in np.linspace(payload, 0.0, PROBES + 1)[1:]:
            less = spare(float(mass))
            if less >= 0.0:
                return crossing(spare, float(mass), less, payload, now) - payload
        return -payload

    def _payload_in_motion(self, load: GroundLoad, payload: float) -> float:
        """Return the additional payload in the present motion, kg, in closed form.

        Moment and normal force of every edge are linear in the mass that moves with the implement.
        """
        corners = self.ground.feet(load.attachments)
        normal = self.ground.plane[:3]
        stable, normal_force, radius = _edges(corners, normal, load.force, load.moment)
        added = np.cross(load.payload_point, load.payload_load)
        gain, weight, _ = _edges(corners, normal, load.payload_load, added)
        needed = self.settings.reserve * radius
        have, slope = stable - needed * normal_force, gain - needed * weight
        # have + mass slope >= 0 at every edge: an interval
        slope = np.where(np.abs(slope) < 1e-12, np.copysign(1e-12, slope), slope)
        lower = float(np.where(slope > 0.0, -have / slope, -np.inf).max())
        upper = float(np.where(slope < 0.0, -have / slope, np.inf).min())
        if lower > min(upper, 0.0) or not normal_force > 0.0:
            return -payload
        return float(np.clip(upper, -payload, self._limit - payload))

    # -- reach -------------------------------------------------------------------------------------------------------

    def _at_rest(self, q: Array, payload: float) -> Array:
        """Return the positions with hanging joints at rest, independent of their present swing."""
        return self.ground.hanging.at_rest(q, payload, self.ground.up)

    def tip_point(self, q: Array) -> Array:
        """Return the point (3,) at which the payload acts, in axes of the base, m."""
        zeros = np.zeros(len(q))
        load = self.ground.model.evaluate(q, zeros, zeros, STILL, STILL, STILL, 0.0)
        return np.asarray(load.payload_point)

    def outward_direction(self, point: Array) -> Array:
        """Return the unit vector (3,) along the ground from the centre of the supports to a point; 0 at the centre."""
        normal = self.ground.plane[:3]
        arm = point - self._center
        arm = arm - (arm @ normal) * normal
        length = float(np.linalg.norm(arm))
        return arm / length if length > 1e-6 else np.zeros(3)

    def _jacobian(self, q: Array, payload: float) -> Array:
        """Return the Jacobian (3, n) of the payload by the joints of the arm, hanging loads at rest; 0 elsewhere."""
        J = np.zeros((3, len(q)))
        if not self.ground.hanging:
            J[:, self._arm] = self._welded_jacobian(q)[:, self._arm]
            return J
        start = self.tip_point(q)
        for k in self._arm:
            bent = q.copy()
            bent[k] += BEND
            J[:, k] = (self.tip_point(self._at_rest(bent, payload)) - start) / BEND
        return J

    def _welded_jacobian(self, q: Array) -> Array:
        step = 1e-5
        rows = np.repeat(q[None], 2 * len(q), axis=0)
        for k in range(len(q)):
            rows[2 * k, k] += step
            rows[2 * k + 1, k] -= step
        points = self.ground.moving_loads(rows, 0.0 * rows, 0.0 * rows, 0.0).payload_point
        return np.asarray((points[0::2] - points[1::2]).T / (2.0 * step))

    def step_along(self, q: Array, outwards: Array, target: Array, payload: float = 0.0) -> Array | None:
        """Return the positions (n,) with the payload moved to a point by the arm; None if the arm cannot reach it.

        Hanging loads are at rest there.
        """
        new = self._at_rest(q, payload)
        for _ in range(4):
            error = target - self.tip_point(new)
            if float(np.linalg.norm(error)) < 1e-5:
                break
            J = self._jacobian(new, payload)
            new = np.clip(new + J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(3), error), self._lower, self._upper)
            new = self._at_rest(new, payload)
        error = target - self.tip_point(new)
        normal = self.ground.plane[:3]
        reached = abs(error @ outwards) < 0.02 * REACH_STEP and abs(error @ normal) < SLACK
        return new if reached else None

    def _reach(self, q: Array, payload: float) -> float:
        """Return the allowance of reach, m, along the path at constant height.

        The search ends where safe postures first become unsafe, or unsafe ones safe.
        """
        if self.machine.constraints:
            return float('nan')
        q = self._at_rest(q, payload)
        start = self.tip_point(q)
        outwards = self.outward_direction(start)
        if not outwards.any():
            return 0.0
        safe_now = self._spare(q, payload) >= 0.0
        sign = 1.0 if safe_now else -1.0
        here, way, step = q, 0.0, REACH_STEP
        while way < LONGEST_REACH and step >= FINEST_STEP:
            there = self.step_along(here, outwards, start + sign * (way + step) * outwards, payload)
            if there is None:
                step *= 0.5
            elif (self._spare(there, payload) >= 0.0) != safe_now:
                return sign * (way + self._part(here, there, payload) * step)
            else:
                here, way = there, way + step
        return sign * way

    def _part(self, here: Array, there: Array, payload: float) -> float:
        """Return the fraction of the way between a safe and an unsafe posture at the limit, on the safe side."""

        def spare(part: float) -> float:
            return self._spare(here + part * (there - here), payload)

        start, end = spare(0.0), spare(1.0)
        return crossing(spare, 0.0, start, 1.0, end) if start >= 0.0 else crossing(spare, 1.0, end, 0.0, start)

    # -- swing -------------------------------------------------------------------------------------------------------

    def _swing_speed(self, q: Array, v: Array, payload: float) -> float:
        """Return the allowance of the swing speed, rad/s, in closed form.

        The load is linear in the square of the speed and in the acceleration.
        """
        if self.swing is None or self.ground.hanging:
            return float('nan')
        now = abs(float(v[self.swing]))
        postures = np.repeat(q[None], 3, axis=0)
        speeds, rates = np.zeros_like(postures), np.zeros_like(postures)
        speeds[1, self.swing] = rates[2, self.swing] = 1.0
        load = self.ground.moving_loads(postures, speeds, rates, payload)
        corners, normal = self.ground.feet(load.attachments[0]), self.ground.plane[:3]
        parts = []
        for k in range(3):
            force, moment = load.force[k], load.moment[k]
            if k:
                force, moment = force - load.force[0], moment - load.moment[0]
            stable, normal_force, radius = _edges(corners, normal, force, moment)
            parts.append(stable - self.settings.reserve * radius * normal_force)
        rest, square, rate = parts
        have = rest - self.settings.swing_braking * np.abs(rate)
        if have.min() <= 0.0:
            return -now
        squares = np.where(square < 0.0, have / np.maximum(-square, 1e-300), np.inf)
        most = min(float(np.sqrt(squares.min())), self.machine.movable_joints[self.swing].velocity_limit)
        return most - now


def upright_joints(machine: Machine) -> list[str]:
    """Return the joints between base and payload that turn about the base's z axis, the one at the base first."""
    chain, poses = {joint.child: joint for joint in machine.joints}, link_poses(machine.links, machine.joints, {})
    link, names = machine.payload.link if machine.payload else None, list[str]()
    while link in chain:
        joint = chain[link]
        if joint.type in ('revolute', 'continuous') and abs(float(poses[link][2, :3] @ joint.axis)) > UPRIGHT:
            names.insert(0, joint.name)
        link = joint.parent
    return names


def crossing(function: Callable[[float], float], good: float, at_good: float, bad: float, at_bad: float) -> float:
    """Return the sign change of a function, on the side where it is not negative (regula falsi, Illinois).

    Args:
        function: of one number.
        good: argument with a value that is not negative.
        at_good: value at `good`.
        bad: argument with a negative value.
        at_bad: value at `bad`.
    """
    span, weights = abs(bad - good), [at_good, at_bad]
    for _ in range(STEPS):
        if at_good <= CLOSE or abs(bad - good) <= FINE * span:
            break
        part = weights[0] / (weights[0] - weights[1]) if np.isfinite(weights[1]) else 0.5
        # keeps a distance to the ends: a flat side would converge slowly
        middle = good + min(max(part, 0.02), 0.98) * (bad - good)
        value = function(middle)
        if value >= 0.0:
            good, at_good = middle, value
            weights = [value, 0.5 * weights[1]]
        else:
            bad, at_bad = middle, value
            weights = [0.5 * weights[0], value]
    return good


def _edges(corners: Array, normal: Array, force: Array, moment: Array) -> tuple[Array, float, float]:
    """Return the stabilising moments (n,) of a load about the edges, its normal force, and the polygon's inradius."""
    along = np.roll(corners, -1, axis=0) - corners
    along = along / np.linalg.norm(along, axis=1)[:, None]
    about = moment - np.cross(corners, force)
    radius = float(zmp_degree(corners, np.asarray(corners.mean(axis=0)), -normal, up=normal).inradius)
    return -(about * along).sum(axis=1), float(-force @ normal), radius
