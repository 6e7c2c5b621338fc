"""What stops a joint at its limits: one-sided springs and dampers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dyn_nodes.forces.contact import kelvin_voigt

Scalar = Any  # a Python float, a casadi DM or an SX expression


@dataclass(frozen=True)
class JointStop:
    """The stops of a joint.

    Attributes:
        joint: name.
        lower, upper: positions at which they begin to push, rad or m; may be infinite.
        stiffness, damping: N m/rad or N/m, N m s/rad or N s/m.
    """

    joint: str
    lower: float
    upper: float
    stiffness: float
    damping: float

    def effort(self, position: Scalar, rate: Scalar) -> Scalar:
        """Return the effort on the joint, N m or N: zero between the limits; it never pulls."""
        up = kelvin_voigt(self.stiffness, self.damping, self.lower, position, rate)
        return up - kelvin_voigt(self.stiffness, self.damping, -self.upper, -position, -rate)
