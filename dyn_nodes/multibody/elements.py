"""What a force element has to offer so that a system can take it in."""

from __future__ import annotations

from typing import Protocol

from dyn_nodes.multibody.kinematics import TreeState
from dyn_nodes.multibody.parameters import Parameters
from dyn_nodes.multibody.spatial import Expression


class ForceElement(Protocol):
    """A spring, damper, tyre or drag: forces that follow from the state."""

    @property
    def name(self) -> str:
        """Name, unique in its system."""

    def generalized_force(self, state: TreeState, parameters: Parameters) -> Expression:
        """Return (state.width,) its effort along every generalized velocity, such as state.jacobian(frame)^T wrench."""

    def potential_energy(self, state: TreeState, parameters: Parameters) -> Expression:
        """Return the energy stored in it, J."""

    def dissipated_power(self, state: TreeState, parameters: Parameters) -> Expression:
        """Return the power that it turns into heat, W."""
