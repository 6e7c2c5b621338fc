"""Base and arm move a point together: operational-space control of a rolling vehicle (tanner-1998, 2.50 and 2.51).

The point gets p'' = p_ref'' + 2 zeta w (p_ref' - p') + w^2 (p_ref - p) by the dynamics at the point with the
constrained Jacobian, Lambda p'' + mu + nu = F; motions in the null space brake the wheels and move the arm to its
posture. So the arm reaches and the vehicle follows along the motions that its wheels allow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.traced_space import TracedSpace
from dyn_nodes.control.hand.effort_control import LoopGains, loop
from dyn_nodes.control.hand.kinematics import POSITION, HandKinematics, HandPose, HandTask
from dyn_nodes.control.hand.path import HandLimits, HandPath
from dyn_nodes.control.hand.reference import HOLDING, SLOWED, STILL, STOPPED, TRACKING

LATE = 0.99
"""Scale below which the reference counts as slowed."""


class PointReference:
    """A point that moves along a path or with a velocity, as fast as the machine follows.

    Attributes:
        task: position only.
        state, reason: as of `HandReference`.
        scale: of the last period, from 0 to 1.
        condition: always 1: a vehicle has no singular postures.
        point, velocity, acceleration: (3,) of the reference in the world.
    """

    condition = 1.0

    def __init__(self) -> None:
        self.task = HandTask(POSITION)
        self.restart(np.zeros(3))

    def restart(self, point: ArrayLike) -> None:
        """Rest at a point (3,), m."""
        self.point = np.array(point, dtype=np.float64)
        self.velocity, self.acceleration, self._wanted = np.zeros(3), np.zeros(3), np.zeros(3)
        self._path: HandPath | None = None
        self._time, self._greatest, self.scale = 0.0, HandLimits().acceleration, 1.0
        self.state, self.reason = HOLDING, ''

    @property
    def moving(self) -> bool:
        """Whether a path is not at its end, or a velocity is followed."""
        return self._path is not None or bool(np.any(self._wanted) or np.any(self.velocity))

    @property
    def remaining(self) -> float:
        """Remaining time of the path, s."""
        return self._path.duration - self._time if self._path is not None else 0.0

    def follow(self, make: Callable[[HandPose], HandPath]) -> HandPath:
        """Follow a path made from the pose at its start, from rest."""
        path = make(HandPose(np.eye(3), self.point))
        self._path, self._time, self._wanted = path, 0.0, np.zeros(3)
        return path

    def drive(self, twist: ArrayLike, limits: HandLimits) -> None:
        """Move with a velocity: the first three components of the twist (6,)."""
        self._path, self._greatest = None, limits.acceleration
        self._wanted = np.array(twist, dtype=np.float64)[:3]

    def stop(self) -> None:
        """Brake."""
        self._path, self._wanted = None, np.zeros(3)

    def step(self, period: float, scale: float) -> None:
        """Advance by a period, s, times a scale from 0 to 1."""
        self.scale = scale
        if self._path is not None:
            self._time += scale * period
            pose, velocity, acceleration, _ = self._path.at(self._time)
            self.point = pose.position
            self.velocity, self.acceleration = scale * velocity[:3], scale**2 * acceleration[:3]
            if self._time >= self._path.duration:
                self._path = None
                self.velocity, self.acceleration = np.zeros(3), np.zeros(3)
        else:
            change = scale * self._wanted - self.velocity
            size, most = float(np.linalg.norm(change)), self._greatest * period
            change = change if size <= most else change * (most / size)
            self.point = self.point + period * (self.velocity + 0.5 * change)
            self.velocity, self.acceleration = self.velocity + change, change / period
        self.state, self.reason = HOLDING, ''
        if self.moving:
            self.state = TRACKING if scale > LATE else SLOWED if scale > 0.0 else STOPPED
            self.reason = '' if scale > LATE else 'the machine lags behind'


class WholeBodyFollower:
    """Moves a point of a machine along its targets; the reference waits for the machine.

    Args:
        hand: link and joints of the arm.
        period: of the reference's steps, s.
        tolerance: distance of the measured point from its reference at which the reference waits, m.

    Attributes:
        reference: of the point.
        lag: the last such distance, m.
        base: pose of the base link in the world.
    """

    def __init__(self, hand: HandKinematics, period: float, tolerance: float = 0.1) -> None:
        self.hand, self.period, self.tolerance = hand, period, tolerance
        self.reference, self.lag, self.base = PointReference(), 0.0, STILL
        self._pose, self._until = STILL, 0.0

    def restart(self, time: float, posture: ArrayLike, base: HandPose = STILL) -> None:
        """Hold the point at its position from a time on, s."""
        self.base, self._until, self.lag = base, time, 0.0
        self._pose = self.hand.pose(posture).within(base)
        self.reference.restart(self._pose.position)

    def follow(self, path: Callable[[HandPose], HandPath]) -> HandPath:
        """Follow a path made from the pose at its start."""
        return self.reference.follow(path)

    def drive(self, twist: ArrayLike, limits: HandLimits) -> None:
        """Move the point with a velocity."""
        self.reference.drive(twist, limits)

    def advance(self, time: float, posture: ArrayLike, base: HandPose = STILL) -> None:
        """Process measurements at a time, s, and advance the reference to it."""
        self.base, self._pose = base, self.hand.pose(posture).within(base)
        self.lag = float(np.linalg.norm(self.reference.point - self._pose.position))
        allowed = float(np.clip(2.0 * (1.0 - self.lag / self.tolerance), 0.0, 1.0))
        if time > self._until:
            self.reference.step(time - self._until, allowed)
            self._until = time

    def pose_at(self, time: float) -> HandPose:
        """Return the reference point with the measured orientation."""
        return HandPose(self._pose.rotation, self.reference.point)


class WholeBodyServo:
    """Efforts of all drives of a vehicle with an arm that move a point along its reference.

    Args:
        space: of the machine, in the speeds of its drives.
        arm: names of the joints that the null space moves to their posture; other drives are braked there.
        limits: (n,) greatest efforts of the drives, N m or N.
        gains: of the point, and of the null space.

    Attributes:
        posture: (n,) positions of the drives to which the null space moves the arm.
    """

    def __init__(
        self, space: TracedSpace, arm: Sequence[str], limits: ArrayLike, gains: LoopGains | None = None
    ) -> None:
        self.space, self.gains = space, gains or LoopGains()
        self.limits = np.asarray(limits, dtype=np.float64)
        self._held = np.array([name in arm for name in space.joints])
        self.posture = np.zeros(len(space.joints))

    def efforts(self, q: Array, positions: Array, rates: Array, reference: PointReference) -> Array:
        """Return efforts (n,) within their limits, N m or N.

        Args:
            q: (nq,) position of the whole machine.
            positions: (n,) of the drives.
            rates: (n,) of the drives.
            reference: of the point.

        Raises:
            MethodError: base and arm do not move the point in every direction here.
        """
        space, point = self.space.at(q, rates)
        gains = self.gains
        error, moving = reference.point - point, reference.velocity - space.jacobian @ rates
        wanted = reference.acceleration + loop(error, moving, gains.bandwidth, gains.damping_ratio)
        away = np.where(self._held, self.posture - positions, 0.0)
        efforts = space.efforts_along(wanted, loop(away, -rates, gains.null_bandwidth, 1.0))
        return np.clip(efforts, -self.limits, self.limits)
