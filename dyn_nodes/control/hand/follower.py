"""Joint targets along hand targets, some time ahead of the machine; slower if the machine lags behind."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.kinematics import HandPose
from dyn_nodes.control.hand.path import HandLimits, HandPath
from dyn_nodes.control.hand.reference import STILL, HandReference, JointTarget
from dyn_nodes.control.trajectory import JointReference, JointTrajectory
from dyn_nodes.elements import actuator_element
from dyn_nodes.model.actuators import oil_actuators
from dyn_nodes.model.machine import Actuator

LONGEST_GAP = 1.0
"""Time without measurements, s, after which the joints are held at their positions."""


class _Knot(NamedTuple):
    time: float
    target: JointTarget
    pose: HandPose


class HandFollower:
    """Leads joints along the targets of a hand.

    The reference runs `lead` ahead of the measured time: a valve needs its command a time constant before the joint has
    to move. It slows down as the hand lags behind by more than half of the tolerance, and stops at the whole.

    Args:
        reference: computes the joint targets.
        period: of its steps, s.
        lead: s.
        tolerance: distance of the measured hand from its reference at which the reference waits, m.
        base_filter: time constant of the low pass on the pose of the base, s.

    Attributes:
        lag: the last such distance, m (rotations times the task's length).
    """

    duration = np.inf
    """A stream has no last point."""

    def __init__(
        self,
        reference: HandReference,
        period: float,
        lead: float = 0.0,
        tolerance: float = 0.1,
        base_filter: float = 0.2,
    ) -> None:
        if not (period > 0.0 and lead >= 0.0 and tolerance > 0.0):
            raise ValueError(
                f'expected a period > 0, a lead >= 0 and a tolerance > 0, found {period:g}, {lead:g} and {tolerance:g}'
            )
        self.reference, self.period, self.lead, self.tolerance = reference, period, lead, tolerance
        self.base_filter = base_filter
        self._knots: deque[_Knot] = deque()
        self.lag = 0.0

    def restart(self, time: float, posture: ArrayLike, base: HandPose = STILL) -> None:
        """Hold the joints at their positions from a time on, s."""
        self.reference.restart(posture, base)
        rest = np.zeros(len(self.reference.hand.joints))
        held = JointTarget(self.reference.posture[self.reference.hand.indices], rest, rest)
        self._knots = deque([_Knot(time, held, self.reference.pose)])
        self.lag = 0.0
        self._base, self._measured = base, time

    def follow(self, path: Callable[[HandPose], HandPath]) -> HandPath:
        """Follow a path made from the pose at its start; see `HandReference.follow`."""
        return self.reference.follow(path)

    def follow_joints(
        self, trajectory: JointTrajectory, time: float, positions: ArrayLike, velocities: ArrayLike
    ) -> None:
        """Follow a trajectory of the joints from now on, at its times; see `HandReference.follow_joints`.

        Args:
            trajectory: of the hand's joints, in any order.
            time: now, s.
            positions: (n,) of the hand's joints, start of the curve.
            velocities: (n,) there, rad/s or m/s.
        """
        curve = trajectory.for_joints(self.reference.hand.joints).starting_from(positions, velocities)
        start = self.reference.follow_joints(curve, self._base)
        self._knots = deque([_Knot(time, start, self.reference.pose)])
        self._extend(time, 1.0)

    def drive(self, twist: ArrayLike, limits: HandLimits) -> None:
        """Move the hand with a velocity; see `HandReference.drive`."""
        self.reference.drive(twist, limits)

    def advance(self, time: float, posture: ArrayLike, base: HandPose = STILL) -> None:
        """Process measurements at a time, and extend the reference up to `lead` after it.

        Args:
            time: s, not before the last one.
            posture: measured positions of all joints.
            base: pose of the base link in the axes of the targets.
        """
        if time - self._knots[-1].time > LONGEST_GAP:
            self.restart(time, posture, base)
            return
        here = self.pose_at(time)
        since, self._measured = max(time - self._measured, 0.0), time
        part = since / (since + self.base_filter) if since > 0.0 else 0.0
        self._base = self._base.moved(part * self._base.error_to(base))
        motion = self.reference.hand.pose(posture).within(base).error_to(here)
        self.lag = float(np.linalg.norm(self.reference.task.scaled(motion)))
        allowed = float(np.clip(2.0 * (1.0 - self.lag / self.tolerance), 0.0, 1.0))
        self.reference.posture = self._with_others(posture)
        self._extend(time, allowed)
        while len(self._knots) > 2 and self._knots[1].time < time:
            self._knots.popleft()

    def _extend(self, time: float, allowed: float) -> None:
        """Extend the reference up to `lead` after a time, s."""
        while self._knots[-1].time < time + self.lead - 1e-9:
            target = self.reference.step(self.period, allowed, self._base)
            self._knots.append(_Knot(self._knots[-1].time + self.period, target, self.reference.pose))

    def _with_others(self, posture: ArrayLike) -> Array:
        """Return the reference's posture, with measured positions of all joints that are not the hand's."""
        hand = self.reference.hand
        return hand.with_joints(posture, self.reference.posture[hand.indices])

    def _between(self, time: float) -> tuple[_Knot, _Knot, float]:
        knots = self._knots
        for k in range(len(knots) - 1):
            if time <= knots[k + 1].time:
                part = (time - knots[k].time) / (knots[k + 1].time - knots[k].time)
                return knots[k], knots[k + 1], float(np.clip(part, 0.0, 1.0))
        return knots[-1], knots[-1], 0.0

    def pose_at(self, time: float) -> HandPose:
        """Return the reference pose of the hand at a time, s, in the axes of the targets."""
        one, other, part = self._between(time)
        return one.pose.moved(part * one.pose.error_to(other.pose))

    def sample(self, time: float) -> JointReference:
        """Return the joint targets at a time, s; outside of the planned interval the nearest ones."""
        one, other, part = self._between(time)
        if one.target.jerk is not None and other.target.jerk is not None:
            return _along(one.target, other.target, part, self.period)
        position = one.target.position + part * (other.target.position - one.target.position)
        rates = other.target if part > 0.0 else one.target
        return JointReference(position, rates.velocity, rates.acceleration)


def _along(one: JointTarget, other: JointTarget, part: float, period: float) -> JointReference:
    """Return the reference between two targets whose derivatives are exact: cubics of each."""
    assert one.jerk is not None
    assert other.jerk is not None
    return JointReference(
        _cubic(one.position, one.velocity, other.position, other.velocity, part, period),
        _cubic(one.velocity, one.acceleration, other.velocity, other.acceleration, part, period),
        _cubic(one.acceleration, one.jerk, other.acceleration, other.jerk, part, period),
    )


def _cubic(start: Array, slope: Array, end: Array, last: Array, part: float, period: float) -> Array:
    """Return the cubic with given values and slopes at the ends of a period at a part of it."""
    rise = end - start
    first, second = slope * period - rise, rise - last * period
    return np.asarray(start + part * rise + part * (1.0 - part) * ((1.0 - part) * first + part * second))


class PumpSpeeds:
    """Greatest joint speeds at the flow of the hydraulic pumps, within the limits of the joints.

    Args:
        joints: n names, the hand's.
        velocity_limits: (n,) of the joints, rad/s or m/s.
        actuators: of the machine; joints without one have their velocity limit only.
        indices: (n,) of the joints in a posture.
        share: of the pump's flow that a motion may take.
    """

    def __init__(
        self,
        joints: Sequence[str],
        velocity_limits: ArrayLike,
        actuators: Sequence[Actuator],
        indices: NDArray[np.intp],
        share: float = 0.85,
    ) -> None:
        self._limits = np.asarray(velocity_limits, dtype=np.float64)
        self._indices, self.share = indices, share
        by_joint = {actuator.joint: actuator for actuator in oil_actuators(actuators)}
        self._drives = [
            (k, by_joint[name], actuator_element(by_joint[name])) for k, name in enumerate(joints) if name in by_joint
        ]

    def __call__(self, posture: Array) -> tuple[Array, Array]:
        """Return the greatest speeds downwards and upwards at a posture, (n,) each, rad/s or m/s."""
        down, up = self._limits.copy(), self._limits.copy()
        for k, actuator, element in self._drives:
            lever = float(element.lever(float(posture[self._indices[k]])))
            out, back = (self.share * actuator.supply.flow / (area * max(abs(lever), 1e-3)) for area in actuator.areas)
            if lever < 0.0:
                out, back = back, out
            up[k], down[k] = min(up[k], out), min(down[k], back)
        return down, up
