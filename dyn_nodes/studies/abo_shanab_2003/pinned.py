"""Planar machines whose base turns about an edge: reference points, locked coordinates.

The source (abo-shanab-2003, chapters 4 and 5) describes the base by the motion of one edge (tables 4.1 and 5.1) and
removes the rows and columns of the coordinates that the ground holds. Here the frame of the base link is moved to the
edge, whose x, z and pitch are then the base coordinates of the tree; some of them are locked.

Sign: pitch turns about +y, nose down positive; the source's base rotation is nose up positive, q3 = -pitch.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import casadi as ca
import numpy as np

from dyn_nodes.model.machine import Link, Machine, Wheel
from dyn_nodes.multibody import bias_force, mass_matrix
from dyn_nodes.multibody.spatial import Expression, cross, solve_symmetric
from dyn_nodes.simulation.assembly import Actuation, Assembly
from dyn_nodes.simulation.rigid_assembly import ContactModelError

BASE_COORDINATES = ('base_x', 'base_z', 'base_pitch')


def edges_of(machine: Machine) -> tuple[Wheel, Wheel]:
    """Return the rear and the front wheel of a planar machine: the edges of its base.

    Raises:
        ContactModelError: the machine is not planar, does not have two wheels on its base link, or they are at one x.
    """
    if machine.base.attachment != 'planar':
        raise ContactModelError(f'{machine.name}: expected a planar base, found {machine.base.attachment}')
    wheels = sorted(machine.wheels, key=lambda wheel: float(wheel.position[0]))
    if len(wheels) != 2 or any(wheel.link != machine.base.link for wheel in wheels):
        raise ContactModelError(
            f'{machine.name}: expected two wheels on {machine.base.link}, the edges of the base, '
            f'found {", ".join(wheel.name for wheel in wheels) or "none"}'
        )
    rear, front = wheels
    if front.position[0] - rear.position[0] <= 0.0:
        raise ContactModelError(f'{machine.name}: expected wheels apart along x, found both at {rear.position[0]:g} m')
    return rear, front


def relocated(machine: Machine, point: np.ndarray) -> Machine:
    """Return the same machine with the frame of its base link moved to a point (3,) of that link, m."""
    base = machine.base.link

    def moved(link: Link) -> Link:
        return replace(link, com=link.com - point) if link.name == base else link

    def origin(matrix: np.ndarray) -> np.ndarray:
        shifted = np.array(matrix)
        shifted[:3, 3] -= point
        return shifted

    payload = machine.payload
    if payload is not None and payload.link == base:
        payload = replace(payload, position=payload.position - point)
    return replace(
        machine,
        links=tuple(moved(link) for link in machine.links),
        joints=tuple(replace(j, origin=origin(j.origin)) if j.parent == base else j for j in machine.joints),
        wheels=tuple(replace(w, position=w.position - point) if w.link == base else w for w in machine.wheels),
        payload=payload,
    )


class PinnedAssembly(Assembly):
    """The traced plant of a planar machine whose base moves only in some of its coordinates.

    Args:
        machine: planar, its base frame at the reference point.
        actuation: of the joints.
        moving: unlocked coordinates among `base_x`, `base_z`, `base_pitch`.
    """

    def __init__(self, machine: Machine, actuation: Actuation, moving: tuple[str, ...]) -> None:
        super().__init__(machine, actuation)
        self.moving = moving
        self.locked = tuple(name for name in BASE_COORDINATES if name not in moving)
        joints = range(len(BASE_COORDINATES), self.tree.nv)
        self.free = [self.tree.velocity_names.index(name) for name in moving] + list(joints)

    @cached_property
    def inertia(self) -> Expression:
        """Mass matrix of all coordinates."""
        return mass_matrix(self.state)

    @cached_property
    def accelerations(self) -> Expression:
        """(nv,) accelerations, zero for the locked coordinates, whose rows and columns are removed."""
        free = self.free
        right = self.generalized_forces - bias_force(self.state, self.gravity, self.external_forces)
        solved = solve_symmetric(self.inertia[free, free], right[free])
        result = ca.SX(self.tree.nv, 1)
        result[free] = solved
        return ca.densify(result)

    @cached_property
    def base_wrench(self) -> Expression:
        """(3,) force x, force z, N, and moment about +y, N m, of the ground on the machine, at the reference point."""
        total = (ca.mtimes(self.inertia, self.accelerations) + bias_force(self.state, self.gravity))[:3]
        if not self.machine.wheels:
            # only the locks hold the base: along a free coordinate the sum is zero up to round-off
            for name in self.moving:
                total[BASE_COORDINATES.index(name)] = 0.0
        return total

    @cached_property
    def ground_wrench(self) -> tuple[Expression, Expression]:
        """Force of the ground and the locks (3,), and its moment about the centre of mass (3,)."""
        force = ca.vertcat(self.base_wrench[0], 0, self.base_wrench[1])
        reference = ca.vertcat(self.state.q[0], 0, self.state.q[1])
        moment = ca.vertcat(0, self.base_wrench[2], 0)
        return force, moment + cross(reference - self.state.center_of_mass, force)

    def with_locked(self, expression: Expression) -> Expression:
        """Return an expression of x with the rates of locked coordinates set to zero."""
        x = ca.SX(self.x)
        for locked in self.locked:
            x[self.states.names.index(f'{locked}_rate')] = 0.0
        evaluate = ca.Function('with_locked', [self.x, self.u, self.p], [expression])
        return ca.densify(evaluate(x, self.u, self.p))
