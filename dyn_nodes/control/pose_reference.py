"""Reference pose of a body: on a timed trajectory, or on its way to a pose with limited speed and acceleration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.kinematics import HandPose
from dyn_nodes.control.number_checks import require_positive
from dyn_nodes.control.pose_trajectory import BodyMotion, PoseTrajectory

SMOOTHING = 0.05
"""Time constant of the speed, s."""
BRAKING = 0.6
"""Part of the greatest acceleration with which a body brakes before its target."""
STILL = 1e-6
"""Distance and speed, m or rad, m/s or rad/s, below which a body rests at its target."""
HOLDING, MOVING, TRACKING = 'holding', 'moving', 'tracking'


@dataclass(frozen=True)
class PoseLimits:
    """Greatest rates of a body on its way to a pose.

    Attributes:
        speed, acceleration: of its origin, m/s, m/s2.
        angular_speed, angular_acceleration: rad/s, rad/s2.
    """

    speed: float = 0.2
    acceleration: float = 0.5
    angular_speed: float = 0.3
    angular_acceleration: float = 1.0

    def __post_init__(self) -> None:
        require_positive(vars(self))


def leading_acceleration(error: Array, velocity: Array, speed: float, acceleration: float) -> Array:
    """Return the acceleration (3,) that leads to a target without overshoot, at most `acceleration`.

    The wanted speed is v = d / (4 T) at a small distance d; where this would brake faster than b = `BRAKING` times the
    acceleration, v = sqrt(2 b (d - d0 / 2)), d0 = b (4 T)^2; at most `speed`. The velocity follows it with the time
    constant T.
    """
    distance, braking, gain = float(np.linalg.norm(error)), BRAKING * acceleration, 0.25 / SMOOTHING
    near = braking / gain**2
    wanted = gain * distance if distance <= near else np.sqrt(2.0 * braking * (distance - 0.5 * near))
    heading = error / distance if distance > 0.0 else error
    push = (min(float(wanted), speed) * heading - velocity) / SMOOTHING
    return np.asarray(push * min(1.0, acceleration / max(float(np.linalg.norm(push)), 1e-12)))


class PoseReference:
    """The reference of a body, advanced by time.

    Args:
        pose: at rest.
        limits: of its way to a pose.

    Attributes:
        target: pose at the end of its way.
        motion: pose, twist and acceleration now; the acceleration is constant until the next `advance`.
        trajectory: that it follows, or None.
    """

    def __init__(self, pose: HandPose, limits: PoseLimits) -> None:
        self.limits = limits
        self.restart(pose)

    def restart(self, pose: HandPose) -> None:
        """Rest at a pose."""
        self.target, self._time = pose, 0.0
        self.trajectory: PoseTrajectory | None = None
        self.motion = BodyMotion(pose, np.zeros(6), np.zeros(6))

    def go_to(self, pose: HandPose) -> None:
        """Go to a pose from here; a trajectory ends."""
        self.target, self.trajectory = pose, None

    def follow(self, trajectory: PoseTrajectory) -> None:
        """Follow a trajectory from its start."""
        self.target, self.trajectory, self._time = trajectory.poses[-1], trajectory, 0.0
        self.motion = trajectory.at(0.0)

    def brake(self) -> None:
        """Come to rest as near as the limits allow; a trajectory ends."""
        twist, limits = self.motion.twist, self.limits
        step = np.concatenate(
            [
                _way(twist[:3], BRAKING * limits.acceleration),
                _way(twist[3:], BRAKING * limits.angular_acceleration),
            ]
        )
        self.go_to(self.motion.pose.moved(step))

    @property
    def state(self) -> str:
        """Name of the state: holding, moving or tracking."""
        if self.trajectory is not None:
            return TRACKING
        off = np.abs(self.motion.pose.error_to(self.target)).max()
        return HOLDING if max(off, np.abs(self.motion.twist).max()) < STILL else MOVING

    @property
    def remaining(self) -> float:
        """Time until the end of the trajectory, s."""
        return 0.0 if self.trajectory is None else max(self.trajectory.duration - self._time, 0.0)

    def advance(self, interval: float) -> None:
        """Advance by an interval, s."""
        if self.trajectory is not None:
            self._time += interval
            self.motion = self.trajectory.at(self._time)
            if self._time >= self.trajectory.duration:
                self.trajectory = None
            return
        pose, twist, acceleration = self.motion
        pose = pose.moved(interval * twist + 0.5 * interval**2 * acceleration)
        twist = twist + interval * acceleration
        self.motion = BodyMotion(pose, twist, self._leading(pose, twist))

    def _leading(self, pose: HandPose, twist: Array) -> Array:
        error, limits = pose.error_to(self.target), self.limits
        along = leading_acceleration(error[:3], twist[:3], limits.speed, limits.acceleration)
        turn = leading_acceleration(error[3:], twist[3:], limits.angular_speed, limits.angular_acceleration)
        return np.concatenate([along, turn])


def _way(velocity: Array, braking: float) -> Array:
    """Return the stopping displacement of a velocity (3,), the build-up of the acceleration included."""
    speed = float(np.linalg.norm(velocity))
    return np.asarray(velocity * (SMOOTHING + 0.5 * speed / braking))
