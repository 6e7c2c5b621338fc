"""Traced minimal equations of a robot of a team: I a = r along independent velocities, and the motion of its hands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import ConstraintBlocks
from dyn_nodes.constraints.elimination import Elimination, choose
from dyn_nodes.constraints.reduced_motion import PointMotion, ReducedMotion
from dyn_nodes.elements.command_delay import input_delays
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import Frame
from dyn_nodes.multibody.spatial import Expression, cross
from dyn_nodes.simulation.constrained_machine import constrained_machine

ALWAYS = 1.0
"""Soundness of an elimination with constant pivots."""


class RobotEquations(NamedTuple):
    """Traced equations of a robot at a state.

    Attributes:
        inertia: (n, n) along the independent velocities. free: (n,) efforts less velocity terms and gravity.
        complement: (nv, n) all velocities by the independent ones. start: (nv,) accelerations while the
            independent velocities do not change.
        position_rate: (nq,). element_rates: (nz,). switched: (nz,) states of elements after an instant.
        power: of efforts and sources, W. heat: of elements, W.
        energy: kinetic and potential, J.
        momentum: (6,) angular about the world's origin, kg m2/s, and linear, kg m/s.
        center: (3,) of mass, m. mass: kg.
        sound: positive while the choice of independent velocities holds and the machine has not overturned.
        hands: motions of the grasp points.
    """

    inertia: Expression
    free: Expression
    complement: Expression
    start: Expression
    position_rate: Expression
    element_rates: Expression
    switched: Expression
    power: Expression
    heat: Expression
    energy: Expression
    momentum: Expression
    center: Expression
    mass: Expression
    sound: Expression
    hands: tuple[PointMotion, ...]


@dataclass(frozen=True, eq=False)
class RobotModel:
    """A robot of a team before it is compiled.

    Attributes:
        name: of the robot.
        blocks: its tree, constraints and elements. Robots with the same blocks are traced once.
        hands: frames of its grasps, three for a fixed grasp.
        actuated: velocities with an input each, N or N m.
        efforts: names of these inputs.
        elimination: choice of the independent velocities.
        q, v: (nq,) and (nv,) at the start.
        upright: link that must not tilt beyond an angle, rad; None: no limit.
        delays: dead time of each input, s; None: no dead times.
    """

    name: str
    blocks: ConstraintBlocks
    hands: tuple[Frame, ...]
    actuated: tuple[str, ...]
    efforts: tuple[str, ...]
    elimination: Elimination
    q: Array
    v: Array
    upright: tuple[str, float] | None = None
    delays: Array | None = None

    @classmethod
    def of_machine(
        cls, name: str, machine: Machine, hands: Sequence[str], arms: Sequence[Array] | None = None
    ) -> RobotModel:
        """Return the model of a machine with efforts as inputs, at rest in its initial pose.

        Args:
            name: of the robot.
            machine: with its initial pose in the team.
            hands: names of grasps; a name is repeated for several `arms`.
            arms: (3,) from each of them to a point that moves with it, in axes of its link, m; None: zero.

        Raises:
            MachineError: constraints that cannot be met.
            NoEquilibriumError: a machine on springs tips or slides.
            MethodError: no velocities determine the others.
            ValueError: a constraint with prescribed motion, whose work a team does not count.
        """
        constrained = constrained_machine(replace(machine, grasps=()))  # held objects are part of the team's equations
        dynamics, blocks = constrained.system.constraints, constrained.system.blocks
        moving = [row for k, row in enumerate(blocks.row_names) if not blocks.rows.sigma[k].is_zero()]
        if moving:
            raise ValueError(f'{name}: expected constraints at rest in a team, found the row {moving[0]} in motion')
        frames = []
        for hand, arm in zip(hands, np.zeros((len(hands), 3)) if arms is None else arms):
            grasp = machine.grasp(hand)
            link = blocks.tree.frame(grasp.link)
            frames.append(Frame(link.body, link.R, link.p + link.R @ (grasp.point + arm)))
        stands = bool(machine.supports or machine.rigid_wheels)
        inputs = constrained.system.input_names
        return cls(
            name, blocks, tuple(frames), tuple(dynamics.actuated), inputs[: len(dynamics.actuated)],
            choose(blocks, [constrained.q]), constrained.q, constrained.v,
            (machine.base.link, machine.overturn_angle) if stands else None, input_delays(machine, inputs),
        )  # fmt: skip

    @classmethod
    def of_blocks(
        cls,
        name: str,
        blocks: ConstraintBlocks,
        hands: Sequence[Frame],
        start: tuple[Array, Array],
        actuated: Sequence[str],
        independent: Sequence[str] = (),
    ) -> RobotModel:
        """Return the model of a traced system.

        Args:
            name: of the robot.
            blocks: without constraints of prescribed motion.
            hands: frames of its grasps.
            start: positions (nq,) and velocities (nv,).
            actuated: velocities with an input each, of the same name.
            independent: velocities that determine all others; empty: selected by pivoting.
        """
        wanted = [blocks.tree.velocity_index(velocity) for velocity in independent]
        chosen = choose(blocks, [start[0]], independent=wanted)
        names = tuple(actuated)
        return cls(name, blocks, tuple(hands), names, names, chosen, np.array(start[0]), np.array(start[1]))

    @property
    def input_names(self) -> tuple[str, ...]:
        """Efforts, then inputs of the elements."""
        return (*self.efforts, *self.blocks.inputs)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Parameters of the blocks without time, gravity, states and inputs of elements."""
        parameters = self.blocks.parameters
        taken = {'time', 'gravity_x', 'gravity_y', 'gravity_z', *parameters.states, *self.blocks.inputs}
        return tuple(name for name in parameters.names if name not in taken)

    def equations(
        self, q: Expression, v: Expression, values: Mapping[str, Expression], inputs: Expression
    ) -> RobotEquations:
        """Return the equations in other symbols.

        Args:
            q: (nq,) positions.
            v: (nv,) velocities.
            values: time, gravity, parameters and states of elements by name.
            inputs: in the order of `input_names`.
        """
        count = len(self.actuated)
        named = {**values, **{name: inputs[count + k] for k, name in enumerate(self.blocks.inputs)}}
        numbers = ca.vertcat(*(named[name] for name in self.blocks.parameters.names))
        results = list(self._traced(q, v, numbers, inputs[:count]))
        fixed, each = len(RobotEquations._fields) - 1, len(PointMotion._fields)
        hands = tuple(PointMotion(*results[k : k + each]) for k in range(fixed, len(results), each))
        return RobotEquations._make([*results[:fixed], hands])

    @cached_property
    def _traced(self) -> ca.Function:
        blocks, state = self.blocks, self.blocks.state
        tau = ca.SX.sym('tau', len(self.actuated))
        effort = ca.SX(blocks.tree.nv, 1)
        for k, name in enumerate(self.actuated):
            effort[blocks.tree.velocity_index(name)] = tau[k]
        motion = ReducedMotion(blocks, self.elimination)
        load = effort - blocks.bias
        power = ca.dot(effort, blocks.v) + ca.SX(blocks.supplied_power)
        outputs = [
            motion.inertia, motion.free(load), motion.complement, motion.start,
            state.position_rate, blocks.element_rates, self._switched, power, ca.SX(blocks.dissipated_power),
            ca.vertcat(state.kinetic_energy, blocks.potential_energy), self._momentum, state.center_of_mass,
            ca.SX(state.mass), self._sound(motion.checks),
        ]  # fmt: skip
        for frame in self.hands:
            outputs += motion.point(frame)
        return ca.Function('robot', [blocks.q, blocks.v, blocks.parameters.vector, tau], outputs)

    @property
    def _switched(self) -> Expression:
        parameters = self.blocks.parameters
        after = self.blocks.switched
        return ca.vertcat(*(after.get(name, parameters[name]) for name in parameters.states), ca.SX(0, 1))

    @property
    def _momentum(self) -> Expression:
        momentum, center = self.blocks.state.momentum, self.blocks.state.center_of_mass
        return ca.vertcat(momentum.n + cross(center, momentum.f), momentum.f)

    def has_overturned(self, q: Array) -> bool:
        """Return whether the base has tilted beyond the limit at a position (nq,)."""
        return self.upright is not None and float(self._uprightness(q)) < 0.0

    @cached_property
    def _uprightness(self) -> ca.Function:
        assert self.upright is not None
        link, angle = self.upright
        tilt = self.blocks.state.frame_pose(self.blocks.tree.frame(link)).R[2, 2]
        return ca.Function('uprightness', [self.blocks.q], [tilt - float(np.cos(angle))])

    def _sound(self, checks: Sequence[Expression]) -> Expression:
        least = ca.SX(ALWAYS)
        for check in checks:
            least = ca.fmin(least, check)
        if self.upright is not None:
            link, angle = self.upright
            tilt = self.blocks.state.frame_pose(self.blocks.tree.frame(link)).R[2, 2]
            least = ca.fmin(least, tilt - float(np.cos(angle)))
        return least
