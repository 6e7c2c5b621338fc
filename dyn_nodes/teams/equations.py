"""Robots and the objects that they hold as one system of equations, traced.

The unknowns z are accelerations: of every robot those of its independent velocities, of an object those of nodes that
no hand holds and of its vibrations. A hand moves the node that it holds: accelerations of an object's coordinates are
A z + b, and with the object's mass M and load L

    (blkdiag(I_k) + A^T M A) z = blkdiag(r_k) - A^T (M b + L).

Forces between hands and objects are internal: M (A z + b) + L gives them afterwards (tanner-1998, eq. 4.2, corrected).
This is regular wherever the robots are, also where a hand cannot move in some direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca

from dyn_nodes.multibody.spatial import Expression, cross, solve_symmetric
from dyn_nodes.teams.layout import Holding, Places
from dyn_nodes.teams.object_model import Motion, ObjectEquations
from dyn_nodes.teams.robot_model import RobotEquations, RobotModel


class TeamEquations:
    """The equations of a team in its state x, inputs u and parameters p.

    Args:
        robots: each with another name.
        holdings: objects, and which hands hold their nodes.

    Attributes:
        places: of everything in x, u and p.
        x, u, p: the symbols.
    """

    def __init__(self, robots: Sequence[RobotModel], holdings: Sequence[Holding]) -> None:
        self.robots, self.holdings = tuple(robots), tuple(holdings)
        self.places = Places(robots, holdings)
        names = self.places.states, self.places.inputs, self.places.parameters
        self.x, self.u, self.p = (ca.SX.sym(name, len(own)) for name, own in zip('xup', names))

    @property
    def gravity(self) -> Expression:
        """(3,) m/s2."""
        return self.p[:3]

    @cached_property
    def robot_equations(self) -> tuple[RobotEquations, ...]:
        """Of each robot alone."""
        found = []
        for k, robot in enumerate(self.robots):
            own = self.p[self.places.p[k]]
            given = dict(zip(robot.parameter_names, ca.vertsplit(own))) if robot.parameter_names else {}
            given |= {f'gravity_{axis}': self.p[i] for i, axis in enumerate('xyz')}
            states = self.x[self.places.elements[k]]
            given |= {name: states[i] for i, name in enumerate(robot.blocks.parameters.states)}
            given['time'] = self.x[self.places.time]
            q, v, u = self.x[self.places.q[k]], self.x[self.places.v[k]], self.u[self.places.u[k]]
            found.append(robot.equations(q, v, given, u))
        return tuple(found)

    @cached_property
    def motions(self) -> tuple[Motion, ...]:
        """Of each object."""
        found = []
        for k, own in enumerate(self.holdings):
            q, v = self.x[self.places.object_q[k]], self.x[self.places.object_v[k]]
            position, velocity, free = [], [], 0
            for hand in own.hands:
                if hand is None:
                    position.append(q[free : free + 3])
                    velocity.append(v[free : free + 3])
                    free += 3
                    continue
                holder = self.robot_equations[hand[0]].hands[hand[1]]
                position.append(holder.position)
                velocity.append(holder.velocity)
            inner = self.x[self.places.inner[k]]
            found.append(Motion(ca.vertcat(*position), ca.vertcat(*velocity), q[free:], v[free:], inner))
        return tuple(found)

    @cached_property
    def object_equations(self) -> tuple[ObjectEquations, ...]:
        """Of each object alone."""
        given = zip(self.holdings, self.motions, self.places.scales)
        return tuple(own.model.equations(motion, self.gravity, self.p[scales]) for own, motion, scales in given)

    @cached_property
    def _unknowns(self) -> tuple[list[slice], list[slice]]:
        """Places of robots and objects in z."""
        ends, sizes = 0, [len(own.elimination.independent) for own in self.robots]
        sizes += [len(own.coordinates) for own in self.holdings]
        found = []
        for size in sizes:
            found.append(slice(ends, ends + size))
            ends += size
        return found[: len(self.robots)], found[len(self.robots) :]

    @cached_property
    def _moved(self) -> tuple[tuple[Expression, Expression], ...]:
        """A (r, n) and b (r,) of each object."""
        robots, objects = self._unknowns
        width = objects[-1].stop if objects else robots[-1].stop
        found = []
        for own, place in zip(self.holdings, objects):
            rows, bias, free = [], [], place.start
            for hand in own.hands:
                row, rest = ca.SX(3, width), ca.SX(3, 1)
                if hand is None:
                    row[:, free : free + 3] = ca.SX.eye(3)
                    free += 3
                else:
                    holder = self.robot_equations[hand[0]].hands[hand[1]]
                    row[:, robots[hand[0]]], rest = holder.jacobian, holder.drift
                rows.append(row)
                bias.append(rest)
            last = ca.SX(place.stop - free, width)
            if place.stop > free:
                last[:, free : place.stop] = ca.SX.eye(place.stop - free)
            found.append((ca.vertcat(*rows, last), ca.vertcat(*bias, ca.SX(place.stop - free, 1))))
        return tuple(found)

    @cached_property
    def solution(self) -> Expression:
        """(n,) z."""
        robots, objects = self._unknowns
        width = objects[-1].stop if objects else robots[-1].stop
        matrix, rest = ca.SX(width, width), ca.SX(width, 1)
        for own, place in zip(self.robot_equations, robots):
            matrix[place, place], rest[place] = own.inertia, own.free
        for held, (A, b) in zip(self.object_equations, self._moved):
            matrix += ca.mtimes(A.T, ca.mtimes(held.mass, A))
            rest -= ca.mtimes(A.T, ca.mtimes(held.mass, b) + held.load)
        return solve_symmetric(matrix, ca.densify(rest))

    @cached_property
    def accelerations(self) -> tuple[Expression, ...]:
        """(nv,) of each robot."""
        robots = self._unknowns[0]
        return tuple(
            own.start + ca.mtimes(own.complement, self.solution[place])
            for own, place in zip(self.robot_equations, robots)
        )

    @cached_property
    def object_accelerations(self) -> tuple[Expression, ...]:
        """(r,) of each object: of its nodes, then of its vibrations."""
        return tuple(ca.mtimes(A, self.solution) + b for A, b in self._moved)

    @cached_property
    def pulls(self) -> tuple[Expression, ...]:
        """(3, m) forces of the hands on each object, N; at free nodes zero."""
        found = []
        for own, holding, a in zip(self.object_equations, self.holdings, self.object_accelerations):
            force = ca.mtimes(own.mass, a) + own.load
            found.append(ca.reshape(force[: 3 * holding.model.nodes], 3, holding.model.nodes))
        return tuple(found)

    @cached_property
    def rates(self) -> Expression:
        """(n,) dx/dt."""
        places, result = self.places, ca.SX(len(self.places.states), 1)
        work, heat = ca.SX(0), ca.SX(0)
        for k, (own, a) in enumerate(zip(self.robot_equations, self.accelerations)):
            result[places.q[k]], result[places.v[k]] = own.position_rate, a
            result[places.elements[k]] = own.element_rates
            work, heat = work + own.power, heat + own.heat
        for k, held in enumerate(self.object_equations):
            result[places.object_q[k]] = self.x[places.object_v[k]]
            result[places.object_v[k]] = self.solution[self._unknowns[1][k]]
            result[places.inner[k]] = held.inner_rates
            heat = heat + held.heat
        result[places.time], result[places.time + 1], result[places.time + 2] = 1, work, heat
        return ca.densify(result)

    @property
    def energy(self) -> Expression:
        """(2,) kinetic and potential energy, J."""
        robots = sum((own.energy for own in self.robot_equations), ca.SX(2, 1))
        return sum((own.energy for own in self.object_equations), robots)

    @property
    def momentum(self) -> Expression:
        """(6,) about the world's origin, kg m2/s, and linear, kg m/s."""
        robots = sum((own.momentum for own in self.robot_equations), ca.SX(6, 1))
        return sum((own.momentum for own in self.object_equations), robots)

    @cached_property
    def sound(self) -> Expression:
        """Above zero where the equations hold and no robot has overturned."""
        least = self.robot_equations[0].sound
        for own in self.robot_equations[1:]:
            least = ca.fmin(least, own.sound)
        return ca.densify(least)

    @cached_property
    def switched(self) -> Expression:
        """(n,) the state with its discrete states as after this instant."""
        after = ca.SX(self.x)
        for place, robot, own in zip(self.places.elements, self.robots, self.robot_equations):
            for k in range(place.stop - place.start):
                if robot.blocks.discrete[k]:
                    after[place.start + k] = own.switched[k]
        return ca.densify(after)

    def ground(self, robot: int) -> Expression:
        """Return the wrench (6,) of the ground on a robot, [moment; force] about the world's origin, N m and N.

        It is what changes the momentum beside the weight and the pull of what its hands hold.
        """
        own = self.robot_equations[robot]
        weight = own.mass * self.gravity
        change = ca.jtimes(own.momentum, self.x, self.rates)
        wrench = change - ca.vertcat(cross(own.center, weight), weight)
        for holding, pull in zip(self.holdings, self.pulls):
            for node, hand in enumerate(holding.hands):
                if hand is not None and hand[0] == robot:
                    place = own.hands[hand[1]].position
                    wrench += ca.vertcat(cross(place, pull[:, node]), pull[:, node])
        return wrench
