"""Event of a machine that overturns."""

from __future__ import annotations

import math
from collections.abc import Sequence

import casadi as ca

from dyn_nodes.multibody import TreeState
from dyn_nodes.multibody.elements import ForceElement, Surface, Symbols, Watch


class Overturning(ForceElement):
    """Event `overturned`: the base tilts beyond an angle from the normal of the ground. It has no force.

    Args:
        base: name of the base link.
        angle: rad.
    """

    def __init__(self, base: str, angle: float) -> None:
        self.base, self.angle = base, angle

    @property
    def name(self) -> str:
        """Return the name of the element."""
        return f'{self.base}/overturning'

    def surfaces(self, state: TreeState, symbols: Symbols) -> Sequence[Surface]:
        """Return the cosine of the tilt minus the cosine of the angle."""
        upright = state.frame_pose(state.tree.frame(self.base)).R[2, 2]
        tilt = ca.acos(ca.fmin(ca.fmax(upright, -1.0), 1.0))
        return [Surface(Watch('', 'overturned', 'tilt', {'base': self.base}), upright - math.cos(self.angle), tilt)]
