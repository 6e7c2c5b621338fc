"""Dry friction of a joint: `friction` of a URDF joint's `dynamics`, N m or N.

Karnopp's model of a body on a massless foot (`model.friction`), with one coefficient for sticking and sliding, as in
URDF: the joint carries the foot behind a stiff spring and damper. Up to its greatest force F the foot does not move: a
sticking joint holds its position like a spring and does not creep. Beyond F the foot slides, and the effort is F
against the motion. The effort is a continuous function of the state, so that every integrator can be used and no step
has to end at the start of slip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from dyn_nodes.elements.forces.joint import along_joint, joint_motion
from dyn_nodes.model.friction.karnopp import Karnopp
from dyn_nodes.model.friction_law import Friction
from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.model.posture import initial_positions, link_poses, moved_inertia
from dyn_nodes.multibody import TreeState, build_tree, mass_matrix
from dyn_nodes.multibody.elements import ElementState, ForceElement, Surface, Symbols, Watch
from dyn_nodes.multibody.spatial import Expression

FREQUENCY = 20.0
"""Frequency of a sticking joint on its spring, all other joints free, Hz: allows a fixed step of a millisecond."""
DAMPING_RATIO = 0.7
_SLIPS = 0.0


@dataclass(frozen=True)
class JointFriction(ForceElement):
    """Dry friction along a joint.

    Attributes:
        joint: name.
        friction: F >= 0, N m or N; parameter `<joint>/friction`.
        stiffness, damping: of the spring and damper at the foot, N m/rad or N/m, N m s/rad or N s/m.
        passive: no actuator drives the joint: at rest friction holds it.

    Its state is the deflection of the joint relative to its foot, rad or m.
    """

    joint: str
    friction: float
    stiffness: float
    damping: float
    passive: bool = False

    rests = True

    @property
    def name(self) -> str:
        """Return the name of the element."""
        return f'{self.joint}/friction'

    @property
    def states(self) -> tuple[ElementState, ...]:
        """Return the deflection; its scale is the deflection at which the joint starts to slip."""
        scale = self.friction / self.stiffness
        return (ElementState(f'{self.joint}/friction_deflection', scale, balances=self.passive),)

    @property
    def parameters(self) -> Mapping[str, float]:
        """Return the greatest effort."""
        return {f'{self.joint}/friction': self.friction}

    def _law(self, state: TreeState, symbols: Symbols) -> Friction:
        # equal coefficients: the force does not depend on the stick flag
        law = Karnopp(static=1.0, kinetic=1.0, stiffness=self.stiffness, damping=self.damping)
        rate = joint_motion(state, self.joint).rate
        deflection = symbols[f'{self.joint}/friction_deflection']
        return law.friction(rate, deflection, _SLIPS, symbols[f'{self.joint}/friction'])

    def generalized_force(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return (width,) the friction along the joint, at most F."""
        return along_joint(state, joint_motion(state, self.joint).velocity_index, self._law(state, symbols).force)

    def rates(self, state: TreeState, symbols: Symbols) -> Sequence[Expression]:
        """Return the rate of the deflection."""
        return (self._law(state, symbols).deflection_rate,)

    def potential_energy(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return k s^2 / 2 of the deflection s, J."""
        deflection = symbols[f'{self.joint}/friction_deflection']
        return 0.5 * self.stiffness * deflection * deflection

    def dissipated_power(self, state: TreeState, symbols: Symbols) -> Expression:
        """Return the power of damper and sliding foot, W: c (ds/dt)^2 + friction times foot speed."""
        rate, law = joint_motion(state, self.joint).rate, self._law(state, symbols)
        sliding = rate - law.deflection_rate
        return self.damping * law.deflection_rate * law.deflection_rate - law.force * sliding

    def outputs(self, state: TreeState, symbols: Symbols) -> Mapping[str, Expression]:
        """Return the friction on the joint, N m or N."""
        return {f'{self.joint}/friction_effort': self._law(state, symbols).force}

    def surfaces(self, state: TreeState, symbols: Symbols) -> Sequence[Surface]:
        """Return the effort that remains until the joint slips: `joint_slip` if none remains, else `joint_stick`."""
        rate = joint_motion(state, self.joint).rate
        held = self.stiffness * symbols[f'{self.joint}/friction_deflection'] + self.damping * rate
        reserve = symbols[f'{self.joint}/friction'] - ca.fabs(held)
        return [Surface(Watch('joint_stick', 'joint_slip', 'velocity', {'joint': self.joint}), reserve, rate)]


def joint_frictions(machine: Machine) -> tuple[JointFriction, ...]:
    """Return the dry friction of all movable joints with friction."""
    rough = [joint for joint in machine.movable_joints if joint.friction > 0.0]
    if not rough:
        return ()
    driven = {joint.name for joint in machine.actuated_joints}
    rate, frictions = 2 * np.pi * FREQUENCY, []
    for joint, inertia in zip(rough, apparent_inertias(machine, rough)):
        stiffness, damping = inertia * rate**2, 2 * DAMPING_RATIO * inertia * rate
        passive = joint.name not in driven
        frictions.append(JointFriction(joint.name, joint.friction, stiffness, damping, passive))
    return tuple(frictions)


def apparent_inertias(machine: Machine, joints: Sequence[Joint]) -> list[float]:
    """Return the inertia against an effort along each joint in the initial posture, all other joints free.

    It is 1 / (M^-1)_jj, kg m2 or kg, payload included; for a singular mass matrix, the inertia that the joint moves.
    """
    tree = build_tree(machine)
    q = tree.neutral
    for name, position in initial_positions(machine).items():
        q[tree.bodies[tree.body(name)].q] = position
    payload = machine.payload.mass if machine.payload is not None else 0.0
    M = np.array(ca.DM(mass_matrix(TreeState(tree, ca.SX(q), ca.SX(tree.nv, 1), payload))))
    indices = [tree.velocity_index(joint.name) for joint in joints]
    inverse_inertias = np.diag(np.linalg.inv(M))[indices] if np.linalg.cond(M) < 1e12 else np.zeros(len(indices))
    poses = link_poses(machine.links, machine.joints, initial_positions(machine))
    return [
        1.0 / float(inverse) if inverse > 0.0 else moved_inertia(machine, joint, poses)
        for joint, inverse in zip(joints, inverse_inertias)
    ]
