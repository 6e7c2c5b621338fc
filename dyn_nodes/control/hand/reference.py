"""References of the joints along a target of the hand, slowed to the limits of the joints.

Every period the hand advances along its path, or with its commanded velocity, by the period times a scale from 0 to 1,
and the joints follow by Newton steps. The scale is less than 1 if

- a joint would exceed its greatest speed: the whole motion is slowed, so that the hand stays on its path;
- the posture approaches a singular one (condition number from `slow_condition` to `stop_condition`): the hand slows
  down and stops, and the greatest speeds of the joints fall with the root of the scale, so that they brake evenly; away
  from it the scale does not act;
- no motion of the joints within their limits keeps the hand on its path: it stops there;
- the machine lags behind (`allowed`).

It decreases at once and increases over `ramp`. A trajectory of the joints is followed at its times, without a scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.bounded_step import bounded_step
from dyn_nodes.control.hand.derivatives import THIRD, HandRates, resolved
from dyn_nodes.control.hand.inverse_kinematics import condition_number, rate_of_rotation_vector
from dyn_nodes.control.hand.kinematics import ROWS, HandError, HandKinematics, HandPose, HandTask
from dyn_nodes.control.hand.path import HandLimits, HandPath
from dyn_nodes.control.hand.resolved_motion import pseudo_inverse
from dyn_nodes.control.number_checks import require_not_negative
from dyn_nodes.control.trajectory import JointTrajectory

HOLDING, TRACKING, SLOWED, STOPPED = 'holding', 'tracking', 'slowed', 'stopped'
STEPS = 4
"""Newton steps of a period."""
ON_PATH, ROUND_OFF = 1e-7, 1e-12
"""Distance, m, within which the joints count as on the path: their derivatives then follow from the hand's."""
OFF_PATH = 1e-4
"""Distance from the path, m, from which on the joints count as unable to follow."""
ATTEMPTS = 12
LEAST_SCALE = 1e-3
STILL = HandPose(np.eye(3), np.zeros(3))


@dataclass(frozen=True)
class ReferenceLimits:
    """Limits of the hand's motion near singular postures and of its scale.

    Attributes:
        slow_condition, stop_condition: condition numbers of the task's G between which the scale falls from 1 to 0.
        ramp: least time in which the scale rises from 0 to 1, s.
        null_rate: at which the null space moves joints to the middle of their limits, 1/s; 0: the shortest steps.
        resolved_order: of the joints' derivatives that are resolved from the hand's, 0 to 3; others are differences of
            the next lower derivative.
    """

    slow_condition: float = 30.0
    stop_condition: float = 120.0
    ramp: float = 0.3
    null_rate: float = 0.0
    resolved_order: int = 0

    def __post_init__(self) -> None:
        if not 1.0 <= self.slow_condition < self.stop_condition:
            raise ValueError(
                f'limits: expected 1 <= slow_condition < stop_condition, found {self.slow_condition:g} and '
                f'{self.stop_condition:g}'
            )
        if self.resolved_order not in range(4):
            raise ValueError(f'limits: resolved_order: expected 0 to 3, found {self.resolved_order!r}')
        require_not_negative({'ramp': self.ramp, 'null_rate': self.null_rate}, 'limits: ')

    def nearness(self, condition: float) -> float:
        """Return the scale at a condition number: 1 far from singular postures, 0 at `stop_condition`."""
        slow, stop = 1.0 / self.slow_condition, 1.0 / self.stop_condition
        return float(np.clip((1.0 / condition - stop) / (slow - stop), 0.0, 1.0))


class JointTarget(NamedTuple):
    """Target of the joints of the hand: (n,) each; rad, rad/s, rad/s2 (or m).

    Attributes:
        jerk: at this instant, as are velocity and acceleration; None: these are means of the period before.
    """

    position: Array
    velocity: Array
    acceleration: Array
    jerk: Array | None = None


class _Reached(NamedTuple):
    positions: Array
    missing: float
    condition: float
    stops: tuple[str, ...]


class HandReference:
    """Joint targets along a path of the hand or at its velocity.

    Args:
        hand: link and joints.
        task: controlled rows; None: the hand's default task.
        speeds: returns the greatest joint speeds at a posture of all joints, downwards and upwards, (n,) each, rad/s or
            m/s; None: no limits.
        limits: of scale and condition number.

    Attributes:
        posture: positions of all joints; for the hand's joints the last targets.
        scale: of the last period.
        state: holding, tracking, slowed or stopped.
        reason: of slowing or stopping, or ''.
        condition: condition number of the task there.

    Raises:
        HandError: derivatives of third order through closed loops.
    """

    def __init__(
        self,
        hand: HandKinematics,
        task: HandTask | None = None,
        speeds: Callable[[Array], tuple[Array, Array]] | None = None,
        limits: ReferenceLimits = ReferenceLimits(),
    ) -> None:
        if hand.dependent and limits.resolved_order >= THIRD:
            raise HandError(f'resolved_order: expected 0 to 2 through closed loops, found {limits.resolved_order}')
        self.hand, self.task, self.limits = hand, task or hand.default_task, limits
        unlimited = np.full(len(hand.joints), np.inf)
        self._speeds = speeds or (lambda posture: (unlimited, unlimited))
        self.restart(np.zeros(len(hand.names)))

    def restart(self, posture: ArrayLike, base: HandPose = STILL) -> None:
        """Hold the joints at a posture of all joints (the hand's joints within their limits)."""
        positions = np.asarray(posture, dtype=np.float64)[self.hand.indices]
        self.posture = q = self.hand.with_joints(posture, np.clip(positions, self.hand.lower, self.hand.upper))
        self._rates, self._accelerations = np.zeros(len(self.hand.joints)), np.zeros(len(self.hand.joints))
        self._base = base
        self._twist, self._wanted, self._twist_before = np.zeros(6), np.zeros(6), np.zeros(6)
        self._twist_limits = HandLimits()
        self._path: HandPath | None = None
        self._next: HandPath | None = None
        self._curve: JointTrajectory | None = None
        self._time, self.scale, self._last_dt = 0.0, 0.0, 0.0
        self.state, self.reason = HOLDING, ''
        self._pose = self.hand.pose(q).within(base)
        self.condition = condition_number(self.task.scaled(self.hand.pose_and_jacobian(q)[1]))

    @property
    def pose(self) -> HandPose:
        """Reference pose of the hand, in the axes of the targets."""
        return self._pose

    @property
    def moving(self) -> bool:
        """Whether a path or a trajectory is not at its end, or a velocity is followed."""
        if self._curve is not None and self._time < self._curve.duration:
            return True
        return self._path is not None or self._next is not None or bool(self._twist.any() or self._wanted.any())

    @property
    def remaining(self) -> float:
        """Time to the end of the path at full scale, or of the trajectory, s; 0 without one."""
        motion = self._path or self._curve
        return 0.0 if motion is None else max(motion.duration - self._time, 0.0)

    @property
    def follows_joints(self) -> bool:
        """Whether the joints follow a trajectory or are held at its end."""
        return self._curve is not None

    def follow(self, path: Callable[[HandPose], HandPath]) -> HandPath:
        """Follow a path from the present pose on, as soon as the hand is at rest.

        Args:
            path: returns the path from the pose at its start.

        Returns:
            The path from the present pose.
        """
        self._make, made = path, path(self._pose)
        self._wanted = np.zeros(6)
        self._next = made
        return made

    def open_point(self, trajectory: JointTrajectory) -> int | None:
        """Return the first point of a trajectory at which loops do not close or a dependent joint is out of range."""
        hand, posture = self.hand, self.posture
        points = trajectory.for_joints(hand.joints).positions if hand.dependent else ()
        for k, wanted in enumerate(points):
            posture = hand.with_joints(posture, wanted)
            if np.abs(posture[hand.indices] - wanted).max() > ROUND_OFF or hand.exceeded(posture):
                return k
        return None

    def follow_joints(self, trajectory: JointTrajectory, base: HandPose = STILL) -> JointTarget:
        """Follow a trajectory of the joints at its times from now on; a target of the hand is dropped.

        Args:
            trajectory: of the hand's joints, with a point at time 0.
            base: pose of the base link in the axes of the targets.

        Returns:
            The target now.
        """
        self._path = self._next = None
        self._twist, self._wanted = np.zeros(6), np.zeros(6)
        self._curve, self._time = trajectory.for_joints(self.hand.joints), 0.0
        return self._along_curve(self._curve, 0.0, base)

    def drive(self, twist: ArrayLike, limits: HandLimits) -> None:
        """Move the hand with a velocity (6,), in the axes of the targets, until another command; a path is aborted."""
        self._next = None
        self._give_up()
        self._wanted, self._twist_limits = np.array(twist, dtype=np.float64), limits

    def stop(self) -> None:
        """Come to rest."""
        self.drive(np.zeros(6), self._twist_limits)

    def _give_up(self) -> None:
        """Leave a path or a trajectory with the present velocity of the hand."""
        if self._curve is not None:
            velocity = self.hand.pose_and_jacobian(self.posture)[1] @ self._rates
            turned = np.concatenate([self._base.rotation @ velocity[:3], self._base.rotation @ velocity[3:]])
            self._twist, self._curve = twist_rows(self.task, turned), None
        if self._path is not None:
            self._twist, self._path = self._path.at(self._time).velocity * self.scale, None

    def step(self, dt: float, allowed: float = 1.0, base: HandPose = STILL) -> JointTarget:
        """Advance by a period; return the joint target.

        Args:
            dt: s.
            allowed: greatest scale, 0 to 1: less if the machine lags behind.
            base: pose of the base link in the axes of the targets.
        """
        self._take_next()
        if self._curve is not None:
            return self._along_curve(self._curve, dt, base)
        self._change_twist(dt)
        rise = dt / self.limits.ramp if self.limits.ramp > 0.0 else 1.0
        before = 1.0 if self.state == HOLDING else self.scale  # a motion starts at rest by its timing
        wanted = min(1.0, max(allowed, 0.0), before + rise)
        moving = self.moving
        scale, reached, reason = self._greatest_scale(dt, wanted, base, moving)
        if allowed < 1.0 and not reason and moving:
            reason = 'the machine lags behind'
        motion = self._motion(dt, scale, base) if moving and reached is not None else None
        self._advance(dt, scale)
        return self._take(dt, scale, reached, reason, moving, motion)

    def _along_curve(self, curve: JointTrajectory, dt: float, base: HandPose) -> JointTarget:
        """Advance along a trajectory of the joints."""
        self._time, self._base = self._time + dt, base
        wanted = curve.sample(self._time)
        self.posture = self.hand.with_joints(self.posture, wanted.position)
        pose, jacobian = self.hand.pose_and_jacobian(self.posture)
        self._pose, self.condition = pose.within(base), condition_number(self.task.scaled(jacobian))
        self._rates, self._accelerations = wanted.velocity, wanted.acceleration
        self.scale, self.state, self.reason = (1.0, TRACKING, '') if self.moving else (0.0, HOLDING, '')
        return JointTarget(*wanted)

    def _take_next(self) -> None:
        """Start the waiting path once the hand is at rest; abort the present one to come to rest."""
        if self._next is None:
            return
        self._give_up()
        if not self._twist.any():
            self._path, self._next, self._time = self._make(self._pose), None, 0.0
            self._wanted = np.zeros(6)
            if self._path.duration <= 0.0:
                self._path = None

    def _change_twist(self, dt: float) -> None:
        """Move the velocity reference towards the wanted velocity, within the acceleration of the limits."""
        self._twist_before = self._twist
        if self._path is not None:
            return
        most = self._twist_limits.acceleration * dt
        change = self._wanted - self._twist
        size = max(float(np.linalg.norm(change[:3])), float(np.linalg.norm(change[3:])) * self._twist_limits.per_radian)
        self._twist = self._wanted.copy() if size <= most else self._twist + change * most / size

    def _target(self, advance: float) -> HandPose:
        """Return the reference pose of the hand after a time of its motion, s."""
        if self._path is not None:
            return self._path.at(self._time + advance).pose
        return self._pose.moved(self._twist * advance) if advance > 0.0 else self._pose

    def _greatest_scale(
        self, dt: float, wanted: float, base: HandPose, moving: bool
    ) -> tuple[float, _Reached | None, str]:
        """Return the scale with which the joints can follow, the joints then, and the reason of a limit."""
        scale, reason = wanted, ''
        before = self.condition
        down, up = self._speeds(self.posture)
        start = self.posture[self.hand.indices]
        for _ in range(ATTEMPTS):
            reached = self._reach(self._target(scale * dt).seen_from(base))
            shares = _shares((reached.positions - start) / dt, down, up)
            inward = moving and reached.condition > before
            near = self.limits.nearness(reached.condition) if inward else 1.0
            over = float(shares.max()) / max(float(np.sqrt(near)), LEAST_SCALE)
            if near < scale - 1e-9 or (near < 1.0 < over):
                singular = f'singular posture ahead (condition number {reached.condition:.3g})'
                scale, reason = min(near, 0.99 * scale / max(over, 0.99)), singular
            elif over > 1.0 + 1e-9 and scale > LEAST_SCALE:
                joint = self.hand.joints[int(np.argmax(shares))]
                scale, reason = 0.99 * scale / over, f'{joint} at its greatest speed'
            elif reached.missing > OFF_PATH and scale > LEAST_SCALE:
                stops = ', '.join(f'{name} at its limit' for name in reached.stops)
                scale, reason = 0.5 * scale, stops or 'out of reach'
            else:
                return (scale, reached, reason) if np.isfinite(reached.missing) else (0.0, None, reason)
        return 0.0, None, reason

    def _reach(self, target: HandPose) -> _Reached:
        """Return the joints, near the present ones, that bring the hand to a pose in axes of the base link."""
        hand = self.hand
        start = self.posture[hand.indices]
        q = start + self._null_step()
        posture = hand.with_joints(self.posture, q)
        q = posture[hand.indices]
        side = np.zeros(len(q), dtype=np.int64)
        for _ in range(STEPS):
            e, J = self._residual(posture, target)
            if np.linalg.norm(e) < 1e-9:
                break
            step, side = bounded_step(J, e, hand.lower - q, hand.upper - q)
            q = np.clip(q + step, hand.lower, hand.upper)
            posture = hand.with_joints(posture, q)
            q = posture[hand.indices]
        e, J = self._residual(posture, target)
        beyond = () if hand.exceeded(self.posture) else hand.exceeded(posture)
        stops = (*(name for name, at in zip(hand.joints, side) if at), *beyond)
        return _Reached(q, np.inf if beyond else float(np.linalg.norm(e)), condition_number(J), stops)

    def _residual(self, posture: Array, target: HandPose) -> tuple[Array, Array]:
        pose, G = self.hand.pose_and_jacobian(posture)
        error = pose.error_to(target)
        J = np.concatenate([G[:3], rate_of_rotation_vector(error[3:]) @ G[3:]])
        return self.task.scaled(error), self.task.scaled(J)

    def _null_step(self) -> Array:
        """Return the change of the joints (n,) towards the middle of their limits that does not move the hand."""
        hand, rate = self.hand, self.limits.null_rate
        if rate <= 0.0 or len(hand.joints) <= len(self.task.rows) or not self.moving:
            return np.zeros(len(hand.joints))
        limited = np.isfinite(hand.lower) & np.isfinite(hand.upper)
        away = np.zeros(len(hand.joints))
        q = self.posture[hand.indices]
        away[limited] = 0.5 * (hand.lower + hand.upper)[limited] - q[limited]
        G = self.task.scaled(hand.pose_and_jacobian(self.posture)[1])
        pull = rate * self._last_dt * away
        return np.asarray(pull - pseudo_inverse(G) @ (G @ pull))

    def _motion(self, dt: float, scale: float, base: HandPose) -> HandRates | None:
        """Return the derivatives of the hand at the end of a period, in axes of the base link; None if that moves."""
        still, self._base = self._base is base or not np.any(self._base.error_to(base)), base
        if self.limits.resolved_order < 1 or not still:
            return None
        if self._path is not None:
            rates = HandRates(*self._path.at(self._time + scale * dt)[1:])
        else:
            rates = HandRates(self._twist, (self._twist - self._twist_before) / dt, np.zeros(6))
        return rates.scaled(scale, (scale - self.scale) / dt if self.state != HOLDING else 0.0).seen_from(base.rotation)

    def _advance(self, dt: float, scale: float) -> None:
        self._pose = self._target(scale * dt)
        self._last_dt = dt
        if self._path is not None:
            self._time += scale * dt
            if self._time >= self._path.duration - 1e-12:
                self._path, self._twist = None, np.zeros(6)

    def _take(
        self,
        dt: float,
        scale: float,
        reached: _Reached | None,
        reason: str,
        moving: bool,
        motion: HandRates | None,
    ) -> JointTarget:
        """Return the joints reached as the next target and update the state."""
        q = self.posture[self.hand.indices]
        new = q.copy() if reached is None else reached.positions
        down, up = self._speeds(self.posture)
        wanted, new = new, q + np.clip(new - q, -down * dt, up * dt)
        rates = (new - q) / dt
        accelerations = (rates - self._rates) / dt
        self.posture, jerk = self.hand.with_joints(self.posture, new), None
        followed = reached is not None and reached.missing < ON_PATH and not np.any(np.abs(new - wanted) > ROUND_OFF)
        if motion is not None and followed:
            differences = rates, accelerations, (accelerations - self._accelerations) / dt
            rates, accelerations, jerk = self._resolved(dt, motion, differences)
        self._rates, self._accelerations = rates, accelerations
        if reached is not None:
            self.condition = reached.condition
        self.scale = scale if moving else 0.0
        self.reason = reason if moving else ''
        slow = TRACKING if not reason else SLOWED if scale > LEAST_SCALE else STOPPED
        self.state = slow if moving else HOLDING
        return JointTarget(new, rates, accelerations, jerk)

    def _resolved(
        self, dt: float, motion: HandRates, differences: tuple[Array, Array, Array]
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of the joints, resolved up to the order of the limits, higher ones by differences."""
        order = self.limits.resolved_order
        v, a, j = resolved(self.hand, self.task, order, self.posture, motion, differences)
        if order < 2:
            a = (v - self._rates) / dt
        if order < THIRD:
            j = (a - self._accelerations) / dt
        return v, a, j


def _shares(rates: Array, down: Array, up: Array) -> Array:
    """Return each rate (n,) relative to its greatest speed."""
    return np.asarray(np.abs(rates) / np.maximum(np.where(rates < 0.0, down, up), 1e-12))


def twist_rows(task: HandTask, twist: ArrayLike) -> Array:
    """Return a twist (6,) with zeros in the rows that are not in a task."""
    kept = np.array([row in task.rows for row in ROWS])
    return np.where(kept, np.asarray(twist, dtype=np.float64), 0.0)
