"""The stops of a joint as a force element of a system with constraints."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from dyn_nodes.forces.joint_stop import JointStop
from dyn_nodes.multibody import Parameters, TreeState
from dyn_nodes.multibody.spatial import Expression

SCALE = 'joint_stop_scale'


@dataclass(frozen=True)
class StopElement:
    """One-sided springs and dampers at the limits of a joint; the parameter `joint_stop_scale`, 0, is a factor."""

    stop: JointStop

    @property
    def name(self) -> str:
        """Name of the element."""
        return f'{self.stop.joint}/stop'

    def _terms(self, state: TreeState, parameters: Parameters) -> tuple[Expression, Expression, Expression, int]:
        """Effort, its part that is stored, energy stored, and the place of the velocity."""
        stop, body = self.stop, state.tree.bodies[state.tree.body(self.stop.joint)]
        scale, q, v = parameters.add(SCALE, 0.0), state.q[body.q], state.v[body.v]
        below = ca.fmax(stop.lower - q, 0) if stop.lower > -float('inf') else ca.SX(0)
        above = ca.fmax(q - stop.upper, 0) if stop.upper < float('inf') else ca.SX(0)
        spring = stop.stiffness * (below - above)
        energy = 0.5 * stop.stiffness * (below**2 + above**2)
        return scale * stop.effort(q, v), scale * spring, scale * energy, body.v

    def generalized_force(self, state: TreeState, parameters: Parameters) -> Expression:
        """Return (width,) the effort along the joint."""
        effort, _, _, place = self._terms(state, parameters)
        force = ca.SX(state.width, 1)
        force[place] = effort
        return force

    def potential_energy(self, state: TreeState, parameters: Parameters) -> Expression:
        """Return the energy of the springs, J."""
        return self._terms(state, parameters)[2]

    def dissipated_power(self, state: TreeState, parameters: Parameters) -> Expression:
        """Return the power of the dampers, W."""
        effort, spring, _, place = self._terms(state, parameters)
        return (spring - effort) * state.v[place]
