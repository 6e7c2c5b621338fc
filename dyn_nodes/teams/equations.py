"""Robots and the objects that they hold as one system of traced equations.

The unknowns z are accelerations: of the independent velocities of every robot, and of the free nodes and vibrations of
every object. A hand moves the node that it holds. The accelerations of an object's coordinates are therefore A z + b,
and with the object's mass M and load L

    (blkdiag(I_k) + A^T M A) z = blkdiag(r_k) - A^T (M b + L).

Forces between hands and objects are internal: they are M (A z + b) + L (tanner-1998, eq. 4.2, corrected). The system is
regular in every posture of the robots, also if a hand cannot move in some direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca

from dyn_nodes.multibody.spatial import Expression, cross, solve_symmetric
from dyn_nodes.teams.layout import Holding, TeamLayout
from dyn_nodes.teams.object_model import ObjectEquations, ObjectMotion
from dyn_nodes.teams.robot_model import RobotEquations, RobotModel


class TeamEquations:
    """The equations of a team in its state x, inputs u and parameters p.

    Args:
        robots: models with distinct names.
        holdings: objects, and the hands that hold their nodes.

    Attributes:
        layout: names and slices of x, u and p.
        x, u, p: the symbols.
    """

    def __init__(self, robots: Sequence[RobotModel], holdings: Sequence[Holding]) -> None:
        self.robots, self.holdings = tuple(robots), tuple(holdings)
        self.layout = TeamLayout(robots, holdings)
        names = self.layout.states, self.layout.inputs, self.layout.parameters
        self.x, self.u, self.p = (ca.SX.sym(name, len(signals)) for name, signals in zip('xup', names))

    @property
    def gravity(self) -> Expression:
        """(3,) m/s2."""
        return self.p[:3]

    @cached_property
    def robot_equations(self) -> tuple[RobotEquations, ...]:
        """Equations of each robot alone."""
        equations = []
        for k, robot in enumerate(self.robots):
            parameters = self.p[self.layout.p[k]]
            values = dict(zip(robot.parameter_names, ca.vertsplit(parameters))) if robot.parameter_names else {}
            values |= {f'gravity_{axis}': self.p[i] for i, axis in enumerate('xyz')}
            states = self.x[self.layout.elements[k]]
            values |= {name: states[i] for i, name in enumerate(robot.blocks.parameters.states)}
            values['time'] = self.x[self.layout.time]
            q, v, u = self.x[self.layout.q[k]], self.x[self.layout.v[k]], self.u[self.layout.u[k]]
            equations.append(robot.equations(q, v, values, u))
        return tuple(equations)

    @cached_property
    def motions(self) -> tuple[ObjectMotion, ...]:
        """Motion of each object."""
        motions = []
        for k, holding in enumerate(self.holdings):
            q, v = self.x[self.layout.object_q[k]], self.x[self.layout.object_v[k]]
            position, velocity, free = [], [], 0
            for hand in holding.hands:
                if hand is None:
                    position.append(q[free : free + 3])
                    velocity.append(v[free : free + 3])
                    free += 3
                    continue
                holder = self.robot_equations[hand[0]].hands[hand[1]]
                position.append(holder.position)
                velocity.append(holder.velocity)
            inner = self.x[self.layout.inner[k]]
            motions.append(ObjectMotion(ca.vertcat(*position), ca.vertcat(*velocity), q[free:], v[free:], inner))
        return tuple(motions)

    @cached_property
    def object_equations(self) -> tuple[ObjectEquations, ...]:
        """Equations of each object alone."""
        entries = zip(self.holdings, self.motions, self.layout.scales)
        return tuple(
            holding.model.equations(motion, self.gravity, self.p[scales]) for holding, motion, scales in entries
        )

    @cached_property
    def _unknowns(self) -> tuple[list[slice], list[slice]]:
        """Slices of robots and objects in z."""
        ends, sizes = 0, [len(robot.elimination.independent) for robot in self.robots]
        sizes += [len(holding.coordinates) for holding in self.holdings]
        slices = []
        for size in sizes:
            slices.append(slice(ends, ends + size))
            ends += size
        return slices[: len(self.robots)], slices[len(self.robots) :]

    @cached_property
    def _moved(self) -> tuple[tuple[Expression, Expression], ...]:
        """A (r, n) and b (r,) of each object."""
        robots, objects = self._unknowns
        width = objects[-1].stop if objects else robots[-1].stop
        pairs = []
        for holding, unknowns in zip(self.holdings, objects):
            rows, bias, free = [], [], unknowns.start
            for hand in holding.hands:
                row, rest = ca.SX(3, width), ca.SX(3, 1)
                if hand is None:
                    row[:, free : free + 3] = ca.SX.eye(3)
                    free += 3
                else:
                    holder = self.robot_equations[hand[0]].hands[hand[1]]
                    row[:, robots[hand[0]]], rest = holder.jacobian, holder.drift
                rows.append(row)
                bias.append(rest)
            last = ca.SX(unknowns.stop - free, width)
            if unknowns.stop > free:
                last[:, free : unknowns.stop] = ca.SX.eye(unknowns.stop - free)
            pairs.append((ca.vertcat(*rows, last), ca.vertcat(*bias, ca.SX(unknowns.stop - free, 1))))
        return tuple(pairs)

    @cached_property
    def solution(self) -> Expression:
        """(n,) z."""
        robots, objects = self._unknowns
        width = objects[-1].stop if objects else robots[-1].stop
        matrix, rest = ca.SX(width, width), ca.SX(width, 1)
        for robot, rows in zip(self.robot_equations, robots):
            matrix[rows, rows], rest[rows] = robot.inertia, robot.free
        for held, (A, b) in zip(self.object_equations, self._moved):
            matrix += ca.mtimes(A.T, ca.mtimes(held.mass, A))
            rest -= ca.mtimes(A.T, ca.mtimes(held.mass, b) + held.load)
        return solve_symmetric(matrix, ca.densify(rest))

    @cached_property
    def accelerations(self) -> tuple[Expression, ...]:
        """(nv,) accelerations of each robot."""
        robots = self._unknowns[0]
        return tuple(
            robot.start + ca.mtimes(robot.complement, self.solution[rows])
            for robot, rows in zip(self.robot_equations, robots)
        )

    @cached_property
    def object_accelerations(self) -> tuple[Expression, ...]:
        """(r,) accelerations of each object: of its nodes, then of its vibrations."""
        return tuple(ca.mtimes(A, self.solution) + b for A, b in self._moved)

    @cached_property
    def pulls(self) -> tuple[Expression, ...]:
        """(3, m) forces of the hands on each object, N; zero at free nodes."""
        forces = []
        for equations, holding, a in zip(self.object_equations, self.holdings, self.object_accelerations):
            force = ca.mtimes(equations.mass, a) + equations.load
            forces.append(ca.reshape(force[: 3 * holding.model.nodes], 3, holding.model.nodes))
        return tuple(forces)

    @cached_property
    def rates(self) -> Expression:
        """(n,) dx/dt."""
        layout, result = self.layout, ca.SX(len(self.layout.states), 1)
        work, heat = ca.SX(0), ca.SX(0)
        for k, (robot, a) in enumerate(zip(self.robot_equations, self.accelerations)):
            result[layout.q[k]], result[layout.v[k]] = robot.position_rate, a
            result[layout.elements[k]] = robot.element_rates
            work, heat = work + robot.power, heat + robot.heat
        for k, held in enumerate(self.object_equations):
            result[layout.object_q[k]] = self.x[layout.object_v[k]]
            result[layout.object_v[k]] = self.solution[self._unknowns[1][k]]
            result[layout.inner[k]] = held.inner_rates
            heat = heat + held.heat
        result[layout.time], result[layout.time + 1], result[layout.time + 2] = 1, work, heat
        return ca.densify(result)

    @property
    def energy(self) -> Expression:
        """(2,) kinetic and potential energy, J."""
        robots = sum((part.energy for part in self.robot_equations), ca.SX(2, 1))
        return sum((part.energy for part in self.object_equations), robots)

    @property
    def momentum(self) -> Expression:
        """(6,) momentum: angular about the world's origin, kg m2/s, and linear, kg m/s."""
        robots = sum((part.momentum for part in self.robot_equations), ca.SX(6, 1))
        return sum((part.momentum for part in self.object_equations), robots)

    @cached_property
    def sound(self) -> Expression:
        """Soundness: positive while the equations hold and no robot has overturned."""
        least = self.robot_equations[0].sound
        for robot in self.robot_equations[1:]:
            least = ca.fmin(least, robot.sound)
        return ca.densify(least)

    @cached_property
    def switched(self) -> Expression:
        """(n,) state with the discrete states after this instant."""
        after = ca.SX(self.x)
        for rows, robot, equations in zip(self.layout.elements, self.robots, self.robot_equations):
            for k in range(rows.stop - rows.start):
                if robot.blocks.discrete[k]:
                    after[rows.start + k] = equations.switched[k]
        return ca.densify(after)

    def ground(self, robot: int) -> Expression:
        """Return the wrench (6,) of the ground on a robot, [moment; force] about the world's origin, N m and N.

        It is the rate of the momentum less the weight and the forces of the held objects on the hands.
        """
        equations = self.robot_equations[robot]
        weight = equations.mass * self.gravity
        change = ca.jtimes(equations.momentum, self.x, self.rates)
        wrench = change - ca.vertcat(cross(equations.center, weight), weight)
        for holding, pull in zip(self.holdings, self.pulls):
            for node, hand in enumerate(holding.hands):
                if hand is not None and hand[0] == robot:
                    position = equations.hands[hand[1]].position
                    wrench += ca.vertcat(cross(position, pull[:, node]), pull[:, node])
        return wrench
