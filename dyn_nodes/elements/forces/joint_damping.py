"""Viscous damping of a joint: `damping` of a URDF joint's `dynamics`."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_nodes.elements.forces.joint import along_joint, joint_motion
from dyn_nodes.multibody import TreeState
from dyn_nodes.multibody.elements import ForceElement, Symbols
from dyn_nodes.multibody.spatial import Expression


@dataclass(frozen=True)
class JointDamping(ForceElement):
    """A linear damper along a joint: effort = -d v.

    Attributes:
        joint: name.
        damping: d, N m s/rad or N s/m.
    """

    joint: str
    damping: float

    @property
    def name(self) -> str:
        """Return the name of the element."""
        return f'{self.joint}/damping'

    def generalized_force(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return (width,) -d v along the joint."""
        _, rate, velocity_index = joint_motion(state, self.joint)
        return along_joint(state, velocity_index, -(self.damping * rate))

    def dissipated_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return d v^2, W."""
        rate = joint_motion(state, self.joint).rate
        return self.damping * rate * rate
