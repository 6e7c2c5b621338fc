"""Spring and damper of a flexible joint (yesiloglu-2007, eq. 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dyn_nodes.elements.forces.joint import along_joint, joint_motion
from dyn_nodes.model.constraint import JointClass
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import TreeState
from dyn_nodes.multibody.elements import ForceElement, Symbols
from dyn_nodes.multibody.spatial import Expression


@dataclass(frozen=True)
class JointSpring(ForceElement):
    """A linear spring and damper along a joint of one degree of freedom: effort = -k (q - rest) - d v.

    Attributes:
        joint: name.
        stiffness, damping: N m/rad or N/m; N m s/rad or N s/m; parameters `<joint>/stiffness`, `<joint>/damping`.
        rest: unstressed position, rad or m; parameter `<joint>/rest`.

    Raises:
        ValueError: stiffness or damping is below zero.
    """

    joint: str
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0

    drives = True
    rests = True

    def __post_init__(self) -> None:
        if self.stiffness < 0 or self.damping < 0:
            raise ValueError(
                f'{self.joint}: expected stiffness and damping not below zero, found {self.stiffness:g}, '
                f'{self.damping:g}'
            )

    @property
    def name(self) -> str:
        """Return the name of the element: the joint's name."""
        return self.joint

    @property
    def parameters(self) -> Mapping[str, float]:
        """Return rest position, stiffness and damping."""
        return {
            f'{self.joint}/rest': self.rest,
            f'{self.joint}/stiffness': self.stiffness,
            f'{self.joint}/damping': self.damping,
        }

    def _stretch(self, state: TreeState, symbols: Symbols) -> Expression:
        return joint_motion(state, self.joint).position - symbols[f'{self.joint}/rest']

    def generalized_force(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return (width,) -k (q - rest) - d v along the joint."""
        _, rate, velocity_index = joint_motion(state, self.joint)
        stiffness, damping = symbols[f'{self.joint}/stiffness'], symbols[f'{self.joint}/damping']
        return along_joint(state, velocity_index, -stiffness * self._stretch(state, symbols) - damping * rate)

    def potential_energy(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return k (q - rest)^2 / 2, J."""
        stretch = self._stretch(state, symbols)
        return 0.5 * symbols[f'{self.joint}/stiffness'] * stretch * stretch

    def dissipated_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return d v^2, W."""
        rate = joint_motion(state, self.joint).rate
        return symbols[f'{self.joint}/damping'] * rate * rate


def rest_position(machine: Machine, entry: JointClass) -> float:
    """Return the rest position of a flexible or the position of a locked joint, rad or m; default: its initial one."""
    return machine.initial.joint_positions.get(entry.joint, 0.0) if entry.rest is None else entry.rest


def joint_springs(machine: Machine) -> dict[str, JointSpring]:
    """Return the springs of a machine's flexible joints, by joint."""
    return {
        entry.joint: JointSpring(entry.joint, entry.stiffness, entry.damping, rest_position(machine, entry))
        for entry in machine.joint_classes
        if entry.kind == 'flexible'
    }
