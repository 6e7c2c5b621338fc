"""Outputs of a machine with constraints at one state: efforts, reactions of its constraints, ground, balance, drift.

The names are the same as without constraints (`outputs.traced_outputs`), so that stability measures work for both.
A wheel by constraint has a point and a force on the ground; every other constraint between two ends has a wrench.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile import CompiledModule, build_module
from dyn_nodes.compile.tape import Tape
from dyn_nodes.constraints import ConstraintBlocks, Prescribed, RollingWheel
from dyn_nodes.constraints.rows import Rows
from dyn_nodes.elements.forces.joint import joint_motion
from dyn_nodes.elements.wheel import XYZ, axis_names
from dyn_nodes.model.constraint import LoopRecord
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import Frame
from dyn_nodes.multibody.elements import ground_wrench
from dyn_nodes.multibody.kinematics import ExplodedState
from dyn_nodes.multibody.spatial import Expression, cross
from dyn_nodes.simulation.outputs import attitude_outputs, balance_outputs
from dyn_nodes.stability.equilibrium.standing import observed_joints, position_output

UP = (0.0, 0.0, 1.0)
WRENCH = ('force_x', 'force_y', 'force_z', 'torque_x', 'torque_y', 'torque_z')


class ConstrainedOutputs:
    """Compiled named outputs of a machine with constraints.

    Args:
        machine: the machine.
        blocks: its traced system.

    Attributes:
        names: of the outputs, in order.
    """

    def __init__(self, machine: Machine, blocks: ConstraintBlocks) -> None:
        self.machine, self.blocks = machine, blocks
        tree = blocks.tree
        self._a, self._multipliers = ca.SX.sym('a', tree.nv), ca.SX.sym('multipliers', blocks.m)
        self._tau = ca.SX.sym('tau', tree.nv)
        self.names: list[str] = []
        self._values: list[Expression] = []
        self._add_efforts()
        for joint in observed_joints(machine):
            self._add([position_output(joint)], joint_motion(blocks.state, joint).position)
        self._add([f'{name}_acceleration' for name in tree.velocity_names], self._a)
        for entry in machine.loops:
            self._add([f'{entry.name}/{part}' for part in WRENCH], self._reaction(entry))
        self._add_wheels()
        self._add_balance()
        self._add_health()
        for element in blocks.forces:
            outputs = element.outputs(blocks.state, blocks.parameters)
            self._add(list(outputs), *outputs.values())

    def _add(self, names: Sequence[str], *expressions: Expression) -> None:
        self.names.extend(names)
        self._values.extend(expressions)

    @cached_property
    def module(self) -> CompiledModule:
        """Kernel `observe`: [q, v], accelerations, multipliers, generalized efforts, parameters -> outputs."""
        blocks = self.blocks
        state = [blocks.q, blocks.v, self._a, self._multipliers, self._tau, blocks.parameters.vector]
        function = ca.Function('observe', state, [ca.densify(ca.vertcat(*self._values))])
        return build_module(
            f'{self.machine.name}: constrained_outputs',
            [Tape.from_function(function).digest],
            lambda: ({'observe': function}, {}),
        )

    def traced(self, names: Sequence[str], a: Expression, multipliers: Expression, tau: Expression) -> Expression:
        """Return selected outputs as expressions of blocks, accelerations, multipliers and generalized efforts."""
        chosen = ca.vertcat(*self._values)[[self.names.index(name) for name in names]]
        symbols = ca.vertcat(self._a, self._multipliers, self._tau)
        return ca.substitute(ca.densify(chosen), symbols, ca.densify(ca.vertcat(a, multipliers, tau)))

    def evaluate(self, q: Array, v: Array, a: Array, multipliers: Array, tau: Array, p: Array) -> Array:
        """Return the outputs at a state.

        Args:
            q: (nq,) positions.
            v: (nv,) velocities.
            a: (nv,) accelerations.
            multipliers: (m,).
            tau: (nv,) generalized forces of the actuators.
            p: parameters of the blocks.
        """
        result = np.empty(len(self.names))
        self.module.observe(q, v, a, multipliers, tau, p, result)
        return result

    @cached_property
    def _exploded(self) -> ExplodedState:
        blocks = self.blocks
        return ExplodedState(blocks.tree, blocks.q, blocks.v, blocks.state.payload_mass)

    @cached_property
    def _pulls(self) -> dict[str, Expression]:
        """(nv + 6 nb,) forces by constraint: efforts on joints, then wrenches [moment; force] on bodies, world axes."""
        blocks, result = self.blocks, {}
        for constraint in blocks.constraints:
            rows: Rows = constraint.rows(self._exploded, blocks.parameters)
            result[constraint.name] = ca.mtimes(rows.jacobian.T, self._multipliers[blocks.slices[constraint.name]])
        return result

    def _add_efforts(self) -> None:
        """Add the effort of the drive, spring, lock or motion of every movable joint, without damping and friction.

        For a joint without any of these, it is the effort that couplings and steering transmit.
        """
        blocks = self.blocks
        driven = self._tau + self._efforts_of('drive')
        for element in blocks.forces:
            if element.drives:
                driven = driven + element.generalized_force(blocks.state, blocks.parameters)
        transmitted = self._efforts_of('transmitted')
        idle = self.machine.idle_joints
        for joint in self.machine.movable_joints:
            efforts = driven + transmitted if idle.get(joint.name) in ('passive', 'free') else driven
            self._add([f'{joint.name}/drive_effort'], efforts[blocks.tree.velocity_index(joint.name)])

    def _efforts_of(self, kind: str) -> Expression:
        """Return the joint efforts (nv,) of the constraints with this `joint_effort`."""
        blocks, total = self.blocks, ca.SX(self.blocks.tree.nv, 1)
        for constraint in blocks.constraints:
            if getattr(constraint, 'joint_effort', '') == kind:
                total = total + self._pulls[constraint.name][: blocks.tree.nv]
        return total

    def _wrench(self, name: str, body: int) -> tuple[Expression, Expression]:
        """Return moment about a body's origin and force of a constraint on it, world axes."""
        start = self.blocks.tree.nv + 6 * body
        pull = self._pulls[name]
        return pull[start : start + 3], pull[start + 3 : start + 6]

    def _reaction(self, entry: LoopRecord) -> Expression:
        """Return force and torque (6,) on the first link at the first end, in the axes of this end."""
        state, of = self.blocks.state, self._ends(entry.name)
        pose = state.frame_pose(of[0])
        body, sign = (of[0].body, 1.0) if of[0].body >= 0 else (of[1].body, -1.0)
        moment, force = self._wrench(entry.name, body)
        arm = pose.p - state.poses[body].p
        at_end = moment - cross(arm, force)
        # a loop may have aligned its frames with its axis; the outputs use the end of the file
        R = ca.SX(entry.first.rotation)
        if entry.first.link in self.blocks.tree.frames:
            link = self.blocks.tree.frame(entry.first.link)
            R = ca.mtimes(state.frame_pose(link).R, R)
        return sign * ca.vertcat(ca.mtimes(R.T, force), ca.mtimes(R.T, at_end))

    def _ends(self, name: str) -> tuple[Frame, Frame]:
        constraint = next(part for part in self.blocks.constraints if part.name == name)
        of = constraint.of if isinstance(constraint, Prescribed) else constraint
        return of.first, of.second  # type: ignore[attr-defined]

    @cached_property
    def _wheels(self) -> dict[str, tuple[Expression, Expression, Expression, Expression]]:
        """Ground point (3,), directions of travel and to its left (3,), and force of the ground (3,) by wheel."""
        result, blocks = {}, self.blocks
        for wheel in (part for part in blocks.constraints if isinstance(part, RollingWheel)):
            radius = blocks.parameters.add(f'{wheel.name}/radius', wheel.radius)
            point, ahead, left = wheel.on_ground(blocks.state, radius)
            forces = self._multipliers[blocks.slices[wheel.name]]
            force = forces[-1] * ca.SX(np.array(UP))
            if not wheel.frictionless:
                force = force + forces[0] * ahead + forces[1] * left
            result[wheel.name] = point, ahead, left, force
        return result

    @cached_property
    def _base_rotation(self) -> Expression:
        return self.blocks.state.frame_pose(self.blocks.tree.frame(self.machine.base.link)).R

    def _add_wheels(self) -> None:
        for name, (point, ahead, left, force) in self._wheels.items():
            self._add([f'{name}/normal_force', f'{name}/friction_longitudinal'], force[2], ca.dot(ahead, force))
            self._add([f'{name}/friction_lateral'], ca.dot(left, force))
            self._add([f'{name}/point_{axis}' for axis in XYZ], point)
            self._add(axis_names(name), ca.vertcat(ahead, ca.SX(np.array(UP))))

    def _add_balance(self) -> None:
        blocks = self.blocks
        force, moment = ground_wrench(blocks.ground_points, blocks.state.center_of_mass)
        for point, _, _, push in self._wheels.values():
            force = force + push
            moment = moment + cross(point - blocks.state.center_of_mass, push)
        outputs = balance_outputs(blocks.state, force, moment)
        outputs |= {'kinetic_energy': blocks.state.kinetic_energy, 'potential_energy': blocks.potential_energy}
        outputs |= attitude_outputs(self._base_rotation)
        self._add(list(outputs), *outputs.values())

    def _add_health(self) -> None:
        rows = self.blocks.rows
        slip = ca.mtimes(rows.jacobian, self.blocks.v) - rows.sigma
        for name, errors in (('constraint_drift', rows.residual), ('constraint_slip', slip)):
            self._add([name], ca.mmax(ca.fabs(ca.densify(errors))) if errors.numel() else ca.SX(0))
