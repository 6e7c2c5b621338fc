"""Stops of a joint at its limits: one-sided springs and dampers whose stiffness follows the stopped inertia."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dyn_nodes.elements.forces.contact import kelvin_voigt
from dyn_nodes.elements.forces.joint import along_joint, joint_motion
from dyn_nodes.model.machine import Machine
from dyn_nodes.model.posture import (
    carrying_inertia,
    carrying_links,
    initial_positions,
    link_poses,
    moved_inertia,
    yielding_joints,
)
from dyn_nodes.multibody import TreeState
from dyn_nodes.multibody.elements import ForceElement, Surface, Symbols, Watch
from dyn_nodes.multibody.spatial import Expression

Scalar = Any  # a Python float, a casadi DM or an SX expression
SCALE = 'joint_stop_scale'
"""Parameter that all stops share: factor of their efforts (`default_scale`)."""
FREQUENCY = 15.0
"""Frequency of the stopped body on its stop, Hz: allows a fixed step of a millisecond."""
GREATEST_FREQUENCY = 150.0
"""Greatest frequency of the lighter of two bodies at a stop, Hz: allows a fixed step of two milliseconds."""
DAMPING_RATIO = 0.7


@dataclass(frozen=True)
class JointStop(ForceElement):
    """The stops of a joint.

    Attributes:
        joint: name.
        lower, upper: positions at which they start to push, rad or m; may be infinite.
        stiffness, damping: N m/rad or N/m, N m s/rad or N s/m.
        scale: default of the factor that all stops share.
    """

    joint: str
    lower: float
    upper: float
    stiffness: float
    damping: float
    scale: float = 0.0

    rests = True

    @property
    def name(self) -> str:
        """Return the name of the element."""
        return f'{self.joint}/stop'

    @property
    def parameters(self) -> Mapping[str, float]:
        """Return the factor of all stops."""
        return {SCALE: self.scale}

    def effort(self, position: Scalar, rate: Scalar) -> Scalar:
        """Return the effort on the joint, N m or N: zero between the limits; it never pulls."""
        effort: Scalar = 0.0 * position
        if math.isfinite(self.lower):
            effort = effort + kelvin_voigt(self.stiffness, self.damping, self.lower, position, rate)
        if math.isfinite(self.upper):
            effort = effort - kelvin_voigt(self.stiffness, self.damping, -self.upper, -position, -rate)
        return effort

    def _depths(self, position: Expression) -> tuple[Expression, Expression]:
        """Return the depths beyond the lower and the upper limit, rad or m."""
        below = ca.fmax(self.lower - position, 0) if math.isfinite(self.lower) else ca.SX(0)
        above = ca.fmax(position - self.upper, 0) if math.isfinite(self.upper) else ca.SX(0)
        return below, above

    def generalized_force(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return (width,) the effort along the joint."""
        position, rate, velocity_index = joint_motion(state, self.joint)
        return along_joint(state, velocity_index, symbols[SCALE] * self.effort(position, rate))

    def potential_energy(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the energy of the springs, J."""
        below, above = self._depths(joint_motion(state, self.joint).position)
        return symbols[SCALE] * (0.5 * self.stiffness * (below**2 + above**2))

    def dissipated_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the power of the dampers, W."""
        position, rate, _ = joint_motion(state, self.joint)
        below, above = self._depths(position)
        return symbols[SCALE] * ((self.stiffness * (below - above) - self.effort(position, rate)) * rate)

    def surfaces(self, state: TreeState, symbols: Symbols) -> Sequence[Surface]:
        """Return the distances to the limits: zero is a `joint_limit` event."""
        position = joint_motion(state, self.joint).position
        return [
            Surface(Watch('', 'joint_limit', 'position', {'joint': self.joint, 'limit': limit}), gap, position)
            for limit, gap in (('lower', position - self.lower), ('upper', self.upper - position))
            if math.isfinite(getattr(self, limit))
        ]


def joint_stops(machine: Machine) -> tuple[JointStop, ...]:
    """Return the stops of all movable joints with limits.

    The stopped inertia is everything beyond the joint in the initial posture, payload included, with a fixed parent; on
    a parent that yields, the stop is stiffer, never softer. If a joint that yields carries contacts, the rest of the
    machine rests on the stop, and the heavier side determines the stiffness.
    """
    stops, scale, positions = [], default_scale(machine), initial_positions(machine)
    poses = link_poses(machine.links, machine.joints, positions)
    standing = {*_standing(machine)} & {*yielding_joints(machine, positions)}
    rate = 2 * np.pi * FREQUENCY
    for joint in machine.movable_joints:
        inertia = moved_inertia(machine, joint, poses)
        if np.isfinite([joint.lower, joint.upper]).any() and inertia > 0.0:
            stiffness = inertia * rate**2
            if joint.name in standing:
                greatest = inertia * (2 * np.pi * GREATEST_FREQUENCY) ** 2
                stiffness = max(stiffness, min(carrying_inertia(machine, joint, poses) * rate**2, greatest))
            damping = 2 * DAMPING_RATIO * np.sqrt(stiffness * inertia)
            stops.append(JointStop(joint.name, joint.lower, joint.upper, stiffness, float(damping), scale))
    return tuple(stops)


def default_scale(machine: Machine) -> float:
    """Return the default factor of all stops: 1 if a joint without actuator carries contacts, else 0.

    Such a machine needs its stops to stand.
    """
    return float(bool(_standing(machine)))


def _standing(machine: Machine) -> list[str]:
    """Return the joints with limits and without actuator that carry contacts."""
    carrying = carrying_links(machine)
    idle = (machine.joint(name) for name in machine.idle_joints)
    return [joint.name for joint in idle if joint.child in carrying and np.isfinite([joint.lower, joint.upper]).any()]
