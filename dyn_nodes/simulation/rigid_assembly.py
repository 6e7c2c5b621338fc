"""Symbolic dynamics of a machine on rigid ground, for all modes: blocks, rows of the contacts, outputs.

A braked wheel or foot touches the ground with one point of its link: its attachment if `friction_point` selects it,
else the point one free length below. It sticks: three rows. A rolling wheel is a disc with its free length as radius:
three rows for rolling, lateral and normal direction. Springs and friction laws are not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from dyn_nodes.constraints import Loop, RollingWheel, Rows, world_frame
from dyn_nodes.elements.forces.contact import ground_axes
from dyn_nodes.elements.wheel import DIRECTIONS, XYZ, axis_names
from dyn_nodes.model.machine import Machine, Wheel
from dyn_nodes.model.problems import ContactModelError
from dyn_nodes.multibody import Frame, TreeState, bias_force, mass_matrix
from dyn_nodes.multibody.elements import Symbols, external_forces
from dyn_nodes.multibody.spatial import Expression, cross
from dyn_nodes.simulation.assembly import Actuation, Assembly
from dyn_nodes.stability.equilibrium.standing import gives_way

UP = (0.0, 0.0, 1.0)
ROWS = 3
"""Number of rows of a contact: two along the ground, then the normal one."""


class _Constants:
    """Parameters of rows with constant values."""

    @staticmethod
    def add(_name: str, default: float) -> Expression:
        """Return the default as a constant."""
        return ca.SX(default)


@dataclass(frozen=True, eq=False)
class RigidContact:
    """A wheel or foot on rigid ground.

    Attributes:
        wheel: of the machine.
        base: name of the base link; its heading is used for a wheel without a rolling direction.
    """

    wheel: Wheel
    base: str

    @property
    def name(self) -> str:
        """Name of the wheel."""
        return self.wheel.name

    @property
    def height(self) -> str:
        """Name of the parameter: height of the ground below the wheel, m."""
        return f'{self.name}/ground_height'

    @property
    def rolls(self) -> bool:
        """Whether its rows along the ground are velocity constraints only."""
        return self.wheel.rolling is not None

    def frame(self, state: TreeState) -> Frame:
        """Return the frame, in axes of its link, at the contact point or at the centre of a rolling wheel."""
        link, below = state.tree.frame(self.wheel.link), 0.0
        if not self.rolls and self.wheel.friction_point == 'ground':
            below = self.wheel.free_length
        return Frame(link.body, link.R, link.p + link.R @ (self.wheel.position - np.array([0.0, 0.0, below])))

    def disc(self, state: TreeState) -> RollingWheel | None:
        """Return the rolling wheel as a constraint, or None if it does not roll."""
        if self.wheel.rolling is None:
            return None
        return RollingWheel(self.name, self.frame(state), self.wheel.rolling.axis, self.wheel.free_length)

    def rows(self, state: TreeState, symbols: Symbols) -> Rows:
        """Return three rows: two along the ground, then the normal; their multipliers are forces on the wheel, N."""
        constraint = self.disc(state) or Loop.point(self.name, self.frame(state), world_frame())
        rows = constraint.rows(state, _Constants())  # type: ignore[arg-type]
        return replace(rows, residual=rows.residual - ca.vertcat(0, 0, symbols[self.height]))

    def on_ground(self, state: TreeState) -> tuple[Expression, Expression, Expression]:
        """Return the (next) contact point (3,), m, and the directions (3,) ahead and to the left, in the world.

        Ahead is the rolling direction, or the heading of the base.
        """
        disc = self.disc(state)
        if disc is not None:
            return disc.on_ground(state, ca.SX(self.wheel.free_length))
        axes = ground_axes(UP, state.frame_pose(state.tree.frame(self.base)).R[:, 0])
        ahead, left = (ca.SX(ca.vertcat(*axis)) for axis in axes[1:])
        return state.frame_pose(self.frame(state)).p, ahead, left

    def force(self, state: TreeState, multipliers: Expression) -> Expression:
        """Return the force of the ground (3,) in the world from the multipliers (3,) of the rows."""
        if self.wheel.rolling is None:
            return multipliers
        _, ahead, left = self.on_ground(state)
        return multipliers[0] * ahead + multipliers[1] * left + multipliers[2] * ca.SX(np.array(UP))


def rigid_contacts(machine: Machine) -> tuple[RigidContact, ...]:
    """Return the wheels and feet of a machine as contacts with rigid ground.

    Raises:
        ContactModelError: the machine has no supports, is fixed, or has a feature that rigid ground does not support.
    """
    rejected = [f'{contact.kind} {contact.name}' for contact in machine.contacts]
    for wheel in machine.wheels:
        if wheel.rolling is not None and wheel.rolling.roller_angle is not None:
            rejected.append(f'{wheel.name} with rollers')
    if machine.terrain:
        rejected.append('terrain that rises')
    if machine.needs_constraints:
        rejected.append('constraints')
    if gives_way(machine):
        rejected.append('wheels on joints that give way')
    if machine.base.attachment == 'fixed':
        rejected.append('a fixed base')
    if not machine.wheels:
        rejected.append('no wheels')
    if rejected:
        raise ContactModelError(
            f'{machine.name}: expected wheels and feet on a plane for rigid ground, found {", ".join(rejected)}'
        )
    return tuple(RigidContact(wheel, machine.base.link) for wheel in machine.wheels)


class RigidAssembly(Assembly):
    """Symbolic plant of a machine on rigid ground; names and indices as for a machine without wheels.

    Attributes:
        ground: contacts in the machine's order, three rows each.
        a, multipliers: symbols of the accelerations (nv,) and of the multipliers of all rows, for the outputs.
    """

    def __init__(self, machine: Machine, actuation: Actuation) -> None:
        self.ground = rigid_contacts(machine)
        super().__init__(replace(machine, wheels=()), actuation)
        self.standing = machine
        self.a = ca.SX.sym('a', self.tree.nv)
        self.multipliers = ca.SX.sym('multipliers', ROWS * len(self.ground))

    def _name_everything(self) -> None:
        super()._name_everything()
        heights = {contact.height: 0.0 for contact in self.ground}
        self.element_parameters |= heights
        self.parameters.add(*heights)

    @cached_property
    def rows(self) -> Rows:
        """Rows of all contacts."""
        return Rows.stacked([contact.rows(self.state, self.symbols) for contact in self.ground], self.tree.nv)

    @cached_property
    def tilt(self) -> Expression:
        """Angle between the z axis of the base and the normal of the ground, rad."""
        R = self.base_rotation
        return ca.atan2(ca.sqrt(R[2, 0] ** 2 + R[2, 1] ** 2 + 1e-300), R[2, 2])

    @cached_property
    def blocks(self) -> Expression:
        """Vector of the blocks for `integrators.contact_rows`."""
        state, rows = self.state, self.rows
        pushes = external_forces(self.elements, state, self.symbols)
        load = self.generalized_forces - bias_force(state, self.gravity, pushes)
        changes = [rate for element in self.elements for rate in element.rates(state, self.symbols)]
        parts = [state.position_rate, ca.vec(ca.densify(mass_matrix(state))), load, ca.vec(rows.jacobian.T)]
        parts += [rows.gamma, rows.residual, *changes, self.tilt, self.machine.overturn_angle - self.tilt]
        return ca.densify(ca.vertcat(*parts))

    @property
    def accelerations(self) -> Expression:  # type: ignore[override]
        """(nv,) symbols; their values depend on the mode."""
        return self.a

    def pushes(self, contact: int) -> Expression:
        """Return the multipliers (3,) of a contact."""
        return self.multipliers[ROWS * contact : ROWS * (contact + 1)]

    @cached_property
    def ground_wrench(self) -> tuple[Expression, Expression]:
        """Force of the ground on the machine (3,), N, and its moment about the centre of mass (3,), N m."""
        force, moment = ca.SX(3, 1), ca.SX(3, 1)
        for k, contact in enumerate(self.ground):
            push = contact.force(self.state, self.pushes(k))
            force = force + push
            moment = moment + cross(contact.on_ground(self.state)[0] - self.state.center_of_mass, push)
        return force, moment

    @cached_property
    def ground_outputs(self) -> Mapping[str, Expression]:
        """Outputs of the contacts, with the names of the outputs of wheels on springs."""
        result: dict[str, Expression] = {}
        state, slips = self.state, ca.mtimes(self.rows.jacobian, self.state.v)
        for k, contact in enumerate(self.ground):
            point, *axes = contact.on_ground(state)
            push, slip = (contact.force(state, part) for part in (self.pushes(k), slips[ROWS * k : ROWS * (k + 1)]))
            values: dict[str, Any] = {'height': self.rows.residual[ROWS * k + 2], 'normal_force': push[2]}
            values |= {f'friction_{name}': ca.dot(axis, push) for name, axis in zip(DIRECTIONS, axes)}
            values |= {f'slip_{name}': ca.dot(axis, slip) for name, axis in zip(DIRECTIONS, axes)}
            below = ca.vertcat(point[0], point[1], self.parameter(contact.height))
            values |= {f'point_{axis}': below[i] for i, axis in enumerate(XYZ)}
            result |= {f'{contact.name}/{quantity}': ca.SX(value) for quantity, value in values.items()}
            result |= dict(zip(axis_names(contact.name), ca.vertsplit(ca.vertcat(axes[0], ca.SX(np.array(UP))))))
        return result


def row_indices(contacts: int) -> Sequence[np.ndarray]:
    """Return the rows of every contact, the normal one last."""
    return [np.arange(ROWS * k, ROWS * (k + 1), dtype=np.intp) for k in range(contacts)]
