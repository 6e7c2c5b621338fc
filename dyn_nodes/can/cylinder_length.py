"""Joint position from the length of its cylinder: inverse of the linkage within the range of the joint."""

from __future__ import annotations

import math

import numpy as np

from dyn_nodes.common.errors import UserError
from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.linkage import Linkage, SlidingRod, piston_position

MARGIN = 0.02
"""Minimum distance of the pins' angle from a dead centre, where a length hardly determines the angle, rad."""


class DeadCentreError(UserError, ValueError):
    """A cylinder with the same length at two positions within the limits of its joint."""


class CylinderLength:
    """Length of the cylinder of a joint as a function of the joint position, and its inverse.

    With the pins at distances a and b from the axis, s^2 = a^2 + b^2 - 2 a b cos(theta), theta = direction q + angle.
    The inverse uses the branch between the dead centres that contains the range of the joint.

    Args:
        linkage: linkage of the cylinder.
        joint: joint moved by the cylinder.
        from_retracted: True: lengths are piston strokes from fully retracted, X; False: pin to pin, s.

    Raises:
        DeadCentreError: the range of the joint is near a dead centre, or infinite.
    """

    def __init__(self, linkage: Linkage, joint: Joint, from_retracted: bool) -> None:
        self.linkage, self.joint = linkage, joint
        self._added = 0.0 if from_retracted or isinstance(linkage, SlidingRod) else linkage.retracted_length
        self._side, self._turns = 1.0, 0.0
        if isinstance(linkage, SlidingRod):
            return
        ends = sorted(linkage.direction * q + linkage.angle for q in (joint.lower, joint.upper))
        if not all(map(math.isfinite, ends)):
            raise DeadCentreError('a joint with limits')
        half = math.floor(0.5 * sum(ends) / math.pi)  # half turns: theta is between half pi and (half + 1) pi
        if ends[0] < half * math.pi + MARGIN or ends[1] > (half + 1) * math.pi - MARGIN:
            raise DeadCentreError('a joint whose cylinder has no dead centre within or near the limits')
        self._side = 1.0 if half % 2 == 0 else -1.0
        self._turns = math.pi * (half if half % 2 == 0 else half + 1)

    def length(self, position: float) -> float:
        """Return the length at a joint position, m."""
        return piston_position(self.linkage, position) + self._added

    def position(self, length: float) -> float:
        """Return the joint position at a length, rad or m; NaN for an impossible length."""
        linkage, stroke = self.linkage, length - self._added
        if isinstance(linkage, SlidingRod):
            return linkage.direction * stroke + linkage.retracted_position
        s = stroke + linkage.retracted_length
        cosine = (linkage.a**2 + linkage.b**2 - s * s) / (2.0 * linkage.a * linkage.b)
        if s < 0.0 or not abs(cosine) <= 1.0:
            return math.nan
        return ((self._turns + self._side * math.acos(cosine)) - linkage.angle) / linkage.direction

    def lever(self, position: float) -> float:
        """Return the derivative of the length with respect to the joint position, m/rad or 1."""
        linkage = self.linkage
        if isinstance(linkage, SlidingRod):
            return linkage.direction
        theta = linkage.direction * position + linkage.angle
        s = piston_position(linkage, position) + linkage.retracted_length
        return linkage.direction * linkage.a * linkage.b * math.sin(theta) / s

    def least_lever(self) -> float:
        """Return the smallest absolute lever within the joint's limits, m/rad or 1."""
        ends = np.linspace(self.joint.lower, self.joint.upper, 101) if math.isfinite(self.joint.lower) else [0.0]
        return min(abs(self.lever(float(q))) for q in ends)
