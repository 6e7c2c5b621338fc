"""Motions of the hand along curves in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.control.hand.curves import Curve, Line, Spline
from dyn_nodes.control.hand.kinematics import HandPose
from dyn_nodes.control.hand.timing import JerkTrapezoid
from dyn_nodes.control.number_checks import require_positive


class HandMotion(NamedTuple):
    """Pose of the hand and its rates, [velocity of the origin; angular velocity] first, (6,) each."""

    pose: HandPose
    velocity: Array
    acceleration: Array
    jerk: Array


@dataclass(frozen=True)
class HandLimits:
    """Greatest rates of the hand.

    Attributes:
        speed, acceleration, jerk: of its origin, m/s, m/s2, m/s3.
        per_radian: m that count as 1 rad.
    """

    speed: float = 0.5
    acceleration: float = 0.5
    jerk: float = 2.0
    per_radian: float = 1.0

    def __post_init__(self) -> None:
        require_positive(vars(self), 'limits: ')

    def timing(self, length: float) -> JerkTrapezoid:
        """Return the fastest progress over a length, m."""
        return JerkTrapezoid(length, self.speed, self.acceleration, self.jerk)


class HandPath:
    """Curves one after another, each from rest to rest.

    Args:
        pieces: curves and their progress; at least one.

    Attributes:
        duration: s.
        corners: (m + 1,) times at which the pieces start and the last one ends, s.
    """

    def __init__(self, pieces: Sequence[tuple[Curve, JerkTrapezoid]]) -> None:
        if not pieces:
            raise ValueError('pieces: expected at least one, found none')
        self.pieces = tuple(pieces)
        self.corners = np.concatenate([[0.0], np.cumsum([timing.duration for _, timing in pieces])])
        self.duration = float(self.corners[-1])

    @classmethod
    def line(cls, start: HandPose, end: HandPose, limits: HandLimits) -> HandPath:
        """Return the straight path between two poses."""
        return cls.along(Line(start, end, limits.per_radian), limits)

    @classmethod
    def along(cls, curve: Curve, limits: HandLimits, duration: float | None = None) -> HandPath:
        """Return the fastest path along a curve, or the path of a duration, s; raises ValueError if it is too short."""
        timing = limits.timing(curve.length)
        return cls([(curve, timing if duration is None else timing.stretched(duration))])

    @classmethod
    def lines(cls, poses: Sequence[HandPose], limits: HandLimits, durations: Sequence[float] | None = None) -> HandPath:
        """Return straight pieces between poses, at rest at each.

        Args:
            poses: m of them, two or more.
            limits: of the hand.
            durations: (m - 1,) of the pieces, s; None: the least.

        Raises:
            ValueError: names the piece whose duration is too short.
        """
        pieces: list[tuple[Curve, JerkTrapezoid]] = []
        for k, (start, end) in enumerate(pairwise(poses)):
            curve = Line(start, end, limits.per_radian)
            timing = limits.timing(curve.length)
            if durations is not None:
                try:
                    timing = timing.stretched(durations[k])
                except ValueError as error:
                    raise ValueError(f'poses[{k + 1}]: {error}') from None
            pieces.append((curve, timing))
        return cls(pieces)

    @classmethod
    def spline(cls, poses: Sequence[HandPose], limits: HandLimits, duration: float | None = None) -> HandPath:
        """Return a smooth path through poses, at rest at its ends only. Raises ValueError as `Spline` and `along`."""
        return cls.along(Spline(poses, limits.per_radian), limits, duration)

    @property
    def start(self) -> HandPose:
        """The pose at the start."""
        return self.pieces[0][0].at(0.0).pose

    @property
    def end(self) -> HandPose:
        """The pose at the end."""
        curve = self.pieces[-1][0]
        return curve.at(curve.length).pose

    def at(self, time: float) -> HandMotion:
        """Return the motion at a time from the start, s."""
        k = int(np.clip(np.searchsorted(self.corners, time, side='right') - 1, 0, len(self.pieces) - 1))
        curve, timing = self.pieces[k]
        s, v, a, j = timing.at(time - self.corners[k])
        pose, first, second, third = curve.at(s)
        return HandMotion(
            pose,
            first * v,
            first * a + second * v**2,
            first * j + 3.0 * second * v * a + third * v**3,
        )
