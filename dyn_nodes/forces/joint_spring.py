"""Spring and damper in a joint: what makes a joint flexible (yesiloglu-2007, eq. 4.3)."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from dyn_nodes.model.constraint import JointClass
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import Parameters, TreeState
from dyn_nodes.multibody.spatial import Expression


@dataclass(frozen=True)
class JointSpring:
    """A linear spring and damper along a joint of one degree of freedom.

    Attributes:
        joint: name.
        stiffness, damping: N m/rad or N/m; N m s/rad or N s/m; parameters `<joint>/stiffness`, `<joint>/damping`.
        rest: unstressed position, rad or m; parameter `<joint>/rest`.
    """

    joint: str
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0

    def __post_init__(self) -> None:
        if self.stiffness < 0 or self.damping < 0:
            raise ValueError(
                f'{self.joint}: expected stiffness and damping not below zero, found {self.stiffness:g}, '
                f'{self.damping:g}'
            )

    @property
    def name(self) -> str:
        """Name of the element: that of its joint."""
        return self.joint

    def _terms(self, state: TreeState, parameters: Parameters) -> tuple[Expression, Expression, Expression, int]:
        body = state.tree.bodies[state.tree.body(self.joint)]
        if body.kind == 'free':
            raise ValueError(f'{self.joint}: expected a joint of one degree of freedom, found a free body')
        stretch = state.q[body.q] - parameters.add(f'{self.joint}/rest', self.rest)
        stiffness = parameters.add(f'{self.joint}/stiffness', self.stiffness)
        damping = parameters.add(f'{self.joint}/damping', self.damping)
        return stiffness, damping, stretch, body.v

    def generalized_force(self, state: TreeState, parameters: Parameters) -> Expression:
        """Return (nv,) -k (q - rest) - d v along the joint."""
        stiffness, damping, stretch, v = self._terms(state, parameters)
        force = ca.SX(state.width, 1)
        force[v] = -stiffness * stretch - damping * state.v[v]
        return force

    def potential_energy(self, state: TreeState, parameters: Parameters) -> Expression:
        """Return k (q - rest)^2 / 2, J."""
        stiffness, _, stretch, _ = self._terms(state, parameters)
        return 0.5 * stiffness * stretch * stretch

    def dissipated_power(self, state: TreeState, parameters: Parameters) -> Expression:
        """Return d v^2, W."""
        _, damping, _, v = self._terms(state, parameters)
        return damping * state.v[v] * state.v[v]


def rest_position(machine: Machine, entry: JointClass) -> float:
    """Return where a flexible joint is unstressed or a locked one is held, rad or m: absent, where it starts."""
    return machine.initial.joint_positions.get(entry.joint, 0.0) if entry.rest is None else entry.rest


def joint_springs(machine: Machine) -> dict[str, JointSpring]:
    """Return the springs of a machine's flexible joints, by joint."""
    return {
        entry.joint: JointSpring(entry.joint, entry.stiffness, entry.damping, rest_position(machine, entry))
        for entry in machine.joint_classes
        if entry.kind == 'flexible'
    }
