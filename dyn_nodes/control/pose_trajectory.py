"""Timed motions of a body in six degrees of freedom: curves through poses at given times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicHermiteSpline, CubicSpline

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.kinematics import HandPose
from dyn_nodes.model.rotations import matrix_of_quaternion, product, quaternion_of_matrix

SOONEST = 1e-3
"""Least time between two poses, s."""


class BodyMotion(NamedTuple):
    """Pose of a body, velocity of its origin and angular velocity (6,), and their rates (6,), in axes of the base."""

    pose: HandPose
    twist: Array
    acceleration: Array


class PoseTrajectory:
    """A curve through poses at given times.

    Position and quaternion are cubic splines with continuous accelerations, at rest at the end; with twists they are
    cubic segments with these twists at the poses.

    Args:
        times: (m,) s, the first one 0, ascending; m >= 2.
        poses: m of them.
        twists: (m, 6) velocity and angular velocity at the poses; None: continuous accelerations.
        start: (6,) the twist at time 0 without `twists`; None: at rest.

    Raises:
        ValueError: another count, times that do not ascend from 0.
    """

    def __init__(
        self,
        times: ArrayLike,
        poses: Sequence[HandPose],
        twists: ArrayLike | None = None,
        start: ArrayLike | None = None,
    ) -> None:
        self.times = np.array(times, dtype=np.float64)
        if len(poses) < 2 or self.times.shape != (len(poses),):
            raise ValueError(f'poses: expected two or more and a time for each, found {len(poses)}')
        gaps = np.diff(self.times)
        if self.times[0] != 0.0 or not gaps.min() >= SOONEST:  # false for NaN too
            k = int(np.argmin(gaps)) + 1
            raise ValueError(f'points[{k}]: expected a time at least {SOONEST:g} s after the one before')
        self.poses = tuple(poses)
        quaternions = np.array([quaternion_of_matrix(pose.rotation) for pose in poses])
        for k in range(1, len(quaternions)):
            if quaternions[k] @ quaternions[k - 1] < 0.0:
                quaternions[k] *= -1.0
        values = np.hstack([[pose.position for pose in poses], quaternions])
        if twists is None:
            first = _rates(np.zeros(6) if start is None else np.asarray(start, float), quaternions[0])
            self._curve = CubicSpline(self.times, values, bc_type=((1, first), (1, np.zeros(7))))
        else:
            twist_rows = np.asarray(twists, dtype=np.float64)
            self._curve = CubicHermiteSpline(
                self.times, values, [_rates(*pair) for pair in zip(twist_rows, quaternions)]
            )

    @property
    def duration(self) -> float:
        """Time of the last pose, s."""
        return float(self.times[-1])

    def at(self, time: float) -> BodyMotion:
        """Return the motion at a time, s; the last pose after the end."""
        if not 0.0 <= time <= self.duration:
            return BodyMotion(self.poses[0 if time < 0.0 else -1], np.zeros(6), np.zeros(6))
        value, rate, second = (self._curve(time, order) for order in range(3))
        spin, growth = _turning(value[3:], rate[3:], second[3:])
        pose = HandPose(matrix_of_quaternion(value[3:] / np.linalg.norm(value[3:])), value[:3])
        return BodyMotion(pose, np.concatenate([rate[:3], spin]), np.concatenate([second[:3], growth]))


def _rates(twist: Array, quaternion: Array) -> Array:
    """Return the rates (7,) of position and quaternion at a twist (6,)."""
    return np.concatenate([twist[:3], 0.5 * product([*twist[3:], 0.0], quaternion)])


def _turning(c: Array, d: Array, e: Array) -> tuple[Array, Array]:
    """Return angular velocity and acceleration of the unit quaternion along c, of rates d and e."""
    size, back = float(c @ c), c * np.array([-1.0, -1.0, -1.0, 1.0])
    spin = 2.0 * product(d, back)[:3] / size
    return spin, 2.0 * product(e, back)[:3] / size - 2.0 * float(c @ d) / size * spin
