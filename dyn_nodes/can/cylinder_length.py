"""Joint position from the length of its cylinder: the inverse of the linkage within the range of the joint."""

from __future__ import annotations

import math

import numpy as np

from dyn_nodes.common.errors import UserError
from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.linkage import Linkage, SlidingRod, piston_position

MARGIN = 0.02
"""rad, of the pins' angle: nearer to a dead centre a length says too little of the angle."""


class DeadCentreError(UserError, ValueError):
    """Within the limits of the joint its cylinder has the same length at two positions."""


class CylinderLength:
    """Length of the cylinder of a joint as a function of the joint position, and back.

    With the pins at a and b from the axis, s^2 = a^2 + b^2 - 2 a b cos(theta), theta = direction q + angle; theta
    follows from s on the side of the dead centres on which the joint works.

    Args:
        linkage: of the cylinder.
        joint: that it moves.
        from_retracted: lengths are those of the piston from fully retracted on, X; else from pin to pin, s.

    Raises:
        DeadCentreError: the range of the joint comes near to a dead centre, or has no end.
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
        half = math.floor(0.5 * sum(ends) / math.pi)  # of turns: theta is within pi of half pi
        if ends[0] < half * math.pi + MARGIN or ends[1] > (half + 1) * math.pi - MARGIN:
            raise DeadCentreError('a joint whose cylinder keeps off its dead centres within the limits')
        self._side = 1.0 if half % 2 == 0 else -1.0
        self._turns = math.pi * (half if half % 2 == 0 else half + 1)

    def length(self, position: float) -> float:
        """Return the length at a joint position, m."""
        return piston_position(self.linkage, position) + self._added

    def position(self, length: float) -> float:
        """Return the joint position at a length, rad or m; NaN where the pins cannot be so far apart."""
        linkage, stroke = self.linkage, length - self._added
        if isinstance(linkage, SlidingRod):
            return linkage.direction * stroke + linkage.retracted_position
        s = stroke + linkage.retracted_length
        cosine = (linkage.a**2 + linkage.b**2 - s * s) / (2.0 * linkage.a * linkage.b)
        if s < 0.0 or not abs(cosine) <= 1.0:
            return math.nan
        return ((self._turns + self._side * math.acos(cosine)) - linkage.angle) / linkage.direction

    def lever(self, position: float) -> float:
        """Return the rate of the length with the joint position, m/rad or 1, with its sign."""
        linkage = self.linkage
        if isinstance(linkage, SlidingRod):
            return linkage.direction
        theta = linkage.direction * position + linkage.angle
        s = piston_position(linkage, position) + linkage.retracted_length
        return linkage.direction * linkage.a * linkage.b * math.sin(theta) / s

    def least_lever(self) -> float:
        """Return the smallest lever within the joint's limits, where a length determines the angle least."""
        ends = np.linspace(self.joint.lower, self.joint.upper, 101) if math.isfinite(self.joint.lower) else [0.0]
        return min(abs(self.lever(float(q))) for q in ends)
