"""Symbolic dynamics of a machine with its elements: states, inputs, parameters and outputs as named expressions.

World frame: the plane of the ground, z its normal. A slope turns gravity, not the ground (spec 2.16): heights, poses
and friction refer to the plane.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import ClassVar, Literal

import casadi as ca
import numpy as np

from dyn_nodes.elements.actuators import KINDS, ActuatorForces, Kinds, actuator_elements
from dyn_nodes.elements.contacts import contact_elements, other_contacts
from dyn_nodes.elements.forces import WheelContact
from dyn_nodes.elements.forces.joint_elements import joint_elements
from dyn_nodes.elements.forces.joint_spring import joint_springs
from dyn_nodes.elements.forces.joint_stop import default_scale
from dyn_nodes.elements.hand import held_wrenches
from dyn_nodes.elements.overturning import Overturning
from dyn_nodes.elements.wheel import DAMPING_SCALE, FRICTION_SCALE, STIFFNESS_SCALE, SprungWheel, sprung_wheels
from dyn_nodes.model.machine import Machine
from dyn_nodes.multibody import Tree, TreeState, build_tree, forward_dynamics, inverse_dynamics
from dyn_nodes.multibody.elements import (
    ContactElement,
    ElementState,
    ForceElement,
    GroundPoint,
    Surface,
    external_forces,
)
from dyn_nodes.multibody.elements import ground_wrench as wrench_of_ground
from dyn_nodes.multibody.spatial import Expression, Force
from dyn_nodes.multibody.tree import BaseForm
from dyn_nodes.simulation.guards.checks import BOOKS, LEAST_GRAVITY

Actuation = Literal['hydraulic', 'effort']
COMMON_PARAMETERS = (
    'gravity_x',
    'gravity_y',
    'gravity_z',
    'payload_mass',
    STIFFNESS_SCALE,
    DAMPING_SCALE,
    FRICTION_SCALE,
    'bulk_modulus_scale',
    'joint_stop_scale',
)
AUDITED = ('suspension', 'friction')
"""Names of the work accounts of elements that act at points of bodies."""
AUDIT_STATES = ('work_actuators', *(f'work_{account}' for account in AUDITED))


def gravity_vector(gravity: float, slope: tuple[float, float]) -> tuple[float, float, float]:
    """Return gravity (3,) in the frame of a ground plane rotated by (roll, pitch) about x, then y, m/s2.

    Positive pitch: the front is downhill, so that gravity pulls forward.
    """
    roll, pitch = slope
    return (
        float(gravity * np.sin(pitch)),
        float(-gravity * np.sin(roll) * np.cos(pitch)),
        float(-gravity * np.cos(roll) * np.cos(pitch)),
    )


@dataclass
class Names:
    """Names of the elements of a vector."""

    names: list[str] = field(default_factory=list)

    def add(self, *names: str) -> slice:
        """Append names; return their slice."""
        self.names.extend(names)
        return slice(len(self.names) - len(names), len(self.names))


class Assembly:
    """Symbolic plant.

    Attributes:
        states, inputs, parameters: names in order.
        x, u, p: the symbols.
        wheels: on springs.
        contacts_on_ground: wheels and other supports.
        joint_elements: springs, damping, friction and stops of the joints.
        actuators: that are part of this plant.
        elements: wheels, joint elements, actuators, tilt monitor of a machine on wheels, hands.
        element_states: states of the elements, in order.
        actuator_kinds: element class of every kind of actuator.
    """

    actuator_kinds: ClassVar[Kinds] = KINDS

    def __init__(
        self,
        machine: Machine,
        actuation: Actuation,
        base: BaseForm = 'quaternion',
        audit: bool = False,
        books: bool = False,
    ) -> None:
        self.machine, self.actuation, self.base, self.audit, self.books = machine, actuation, base, audit, books
        self.standing = machine  # its supports are used by stability measures
        self.tree: Tree = build_tree(machine, base)
        self.wheels = self._sprung_wheels()
        self.contacts_on_ground: tuple[ContactElement, ...] = (*self.wheels, *other_contacts(machine))
        self.joint_elements = joint_elements(machine)
        inside = actuator_elements(machine, self.actuator_kinds) if actuation == 'hydraulic' else ()
        self.actuators = ActuatorForces(machine, inside)
        standing = (Overturning(machine.base.link, machine.overturn_angle),) if machine.supports else ()
        self.elements: tuple[ForceElement, ...] = (
            *self.contacts_on_ground,
            *self.joint_elements,
            self.actuators,
            *standing,
            *held_wrenches(machine),
        )
        self._name_everything()
        self.x = ca.SX.sym('x', len(self.states.names))
        self.u = ca.SX.sym('u', len(self.inputs.names))
        self.p = ca.SX.sym('p', len(self.parameters.names))

    def _sprung_wheels(self) -> tuple[SprungWheel, ...]:
        return sprung_wheels(self.machine)

    def _name_everything(self) -> None:
        self.states, self.inputs, self.parameters = Names(), Names(), Names()
        self.q_slice = self.states.add(*self.tree.position_names)
        self.v_slice = self.states.add(*(f'{name}_rate' for name in self.tree.velocity_names))
        self.element_states = tuple(state for element in self.elements for state in element.states)
        self.element_slice = self.states.add(*(state.name for state in self.element_states))
        self.book_slice = self.states.add(*(BOOKS if self.books else ()))
        self.audit_slice = self.states.add(*(AUDIT_STATES if self.audit else ()))
        self.command_slice = self.inputs.add(*(command.name for command in self.actuators.inputs))
        moved = {actuator.joint for actuator in self.actuators.actuators}
        self.efforts = {
            joint.name: self.inputs.add(f'{joint.name}/effort')
            for joint in self.machine.actuated_joints
            if joint.name not in moved
        }
        self.parameters.add(*COMMON_PARAMETERS)
        values = {name: value for element in self.elements for name, value in element.parameters.items()}
        self.element_parameters = {name: value for name, value in values.items() if name not in COMMON_PARAMETERS}
        self.parameters.add(*self.element_parameters)

    def default_parameters(self) -> np.ndarray:
        """Return the parameter values of the machine."""
        machine = self.machine
        payload = machine.payload.mass if machine.payload else 0.0
        common = [*gravity_vector(machine.gravity, machine.slope), payload, 1.0, 1.0, 1.0, 1.0, default_scale(machine)]
        return np.array([*common, *self.element_parameters.values()])

    def parameter(self, name: str) -> Expression:
        """Return the symbol of a parameter."""
        return self.p[self.parameters.names.index(name)]

    @cached_property
    def gravity(self) -> Expression:
        """(3,) gravity in the world, m/s2."""
        return self.p[0:3]

    @cached_property
    def state(self) -> TreeState:
        """Kinematics of the tree."""
        return TreeState(self.tree, self.x[self.q_slice], self.x[self.v_slice], self.parameter('payload_mass'))

    @property
    def contacts(self) -> dict[str, WheelContact]:
        """Contact force of the ground on each wheel, by name."""
        return {wheel.name: wheel.contact(self.state, self.symbols) for wheel in self.wheels}

    @cached_property
    def external_forces(self) -> dict[int, Force]:
        """Spatial force on each body by elements that act at points of bodies."""
        return external_forces(self.elements, self.state, self.symbols)

    @cached_property
    def ground_points(self) -> tuple[GroundPoint, ...]:
        """Contact points of the machine with the ground."""
        standing = self.contacts_on_ground
        return tuple(point for contact in standing for point in contact.ground_points(self.state, self.symbols))

    @cached_property
    def ground_wrench(self) -> tuple[Expression, Expression]:
        """Force of the ground on the machine (3,), N, and its moment about the centre of mass (3,), N m."""
        return wrench_of_ground(self.ground_points, self.state.center_of_mass)

    @cached_property
    def drive_forces(self) -> Expression:
        """(nv,) efforts of drives and of the springs of flexible joints."""
        tau = ca.SX.zeros(self.tree.nv)
        for name, index in self.efforts.items():
            tau[self.tree.velocity_index(name)] = self.u[index]
        for element in self.elements:
            if element.drives:
                tau = tau + element.generalized_force(self.state, self.symbols)
        return tau

    @cached_property
    def joint_efforts(self) -> dict[str, Expression]:
        """Effort of the drive and the spring of every movable joint, without damping, friction and stops."""
        return {j.name: self.drive_forces[self.tree.velocity_index(j.name)] for j in self.machine.movable_joints}

    @property
    def passive(self) -> tuple[str, ...]:
        """Names of the movable joints without a drive."""
        driven = {joint.name for joint in self.machine.actuated_joints}
        return tuple(joint.name for joint in self.machine.movable_joints if joint.name not in driven)

    @property
    def springs(self) -> tuple[str, ...]:
        """Names of the flexible joints."""
        return tuple(joint_springs(self.machine))

    @cached_property
    def symbols(self) -> dict[str, Expression]:
        """Symbols of the states, commands and parameters of elements and actuators, by name."""
        symbols = {name: self.parameter(name) for name in (*COMMON_PARAMETERS, *self.element_parameters)}
        states, commands = self.element_slice, self.command_slice
        symbols |= {self.states.names[k]: self.x[k] for k in range(states.start, states.stop)}
        return symbols | {self.inputs.names[k]: self.u[k] for k in range(commands.start, commands.stop)}

    @cached_property
    def surfaces(self) -> tuple[Surface, ...]:
        """Values of the elements whose sign changes are events."""
        return tuple(surface for element in self.elements for surface in element.surfaces(self.state, self.symbols))

    @cached_property
    def actuator_surfaces(self) -> tuple[Surface, ...]:
        """Values of the actuators whose sign changes are events."""
        return tuple(self.actuators.surfaces(self.state, self.symbols))

    @cached_property
    def generalized_forces(self) -> Expression:
        """(nv,) efforts of drives and all elements along the velocities; zero on the base."""
        tau = self.drive_forces
        for element in self.elements:
            if not element.drives:
                tau = tau + element.generalized_force(self.state, self.symbols)
        return tau

    @cached_property
    def accelerations(self) -> Expression:
        """(nv,) generalized accelerations."""
        return forward_dynamics(self.state, self.generalized_forces, self.gravity, self.external_forces)

    @cached_property
    def rhs(self) -> Expression:
        """dx/dt."""
        rates: list[Expression] = [self.state.position_rate, self.accelerations]
        rates += [rate for element in self.elements for rate in element.rates(self.state, self.symbols)]
        if self.books:
            rates += [self.supplied_power, self.dissipated_power]
        if self.audit:
            rates += list(self.powers)
        return ca.densify(ca.vertcat(*rates))

    @cached_property
    def switched(self) -> Expression:
        """State x with updated discrete states: the stick flags of Karnopp friction after this instant."""
        after = ca.SX(self.x)
        for element in self.elements:
            for name, value in element.after_step(self.state, self.symbols).items():
                after[self.states.names.index(name)] = value
        return ca.densify(after)

    @cached_property
    def friction_use(self) -> dict[str, Expression]:
        """Ratio of friction to the greatest static friction by deflection, for a machine at rest."""
        shares_of_elements = (element.friction_use(self.state, self.symbols) for element in self.elements)
        return {name: share for shares in shares_of_elements for name, share in shares.items()}

    @cached_property
    def powers(self) -> tuple[Expression, ...]:
        """Power of the actuators (less joint damping), of the suspension and of friction on the machine, W."""
        totals = dict.fromkeys(AUDITED, ca.SX(0))
        for element in self.elements:
            for account, power in element.work_accounts(self.state, self.symbols).items():
                totals[account] = totals[account] + power
        return ca.dot(self.generalized_forces, self.state.v), *totals.values()

    @cached_property
    def supplied_power(self) -> Expression:
        """Power of the effort inputs and of the sources of the elements, W."""
        driven = (self.u[index] * self.state.v[self.tree.velocity_index(name)] for name, index in self.efforts.items())
        return sum(
            (element.supplied_power(self.state, self.symbols) for element in self.elements), sum(driven, ca.SX(0))
        )

    @cached_property
    def dissipated_power(self) -> Expression:
        """Power dissipated by the elements, W."""
        return sum((element.dissipated_power(self.state, self.symbols) for element in self.elements), ca.SX(0))

    @cached_property
    def inspected(self) -> Expression:
        """(4,) kinetic and potential energy, J, weight, N, and 0 for the gap (`guards.checks.INSPECTED`)."""
        stored = (element.potential_energy(self.state, self.symbols) for element in self.elements)
        potential = sum(stored, self.state.potential_energy(self.gravity))
        weight = self.state.mass * ca.fmax(ca.norm_2(self.gravity), LEAST_GRAVITY)
        return ca.densify(ca.vertcat(self.state.kinetic_energy, potential, weight, 0.0))

    @cached_property
    def base_rotation(self) -> Expression:
        """(3, 3) orientation of the base in the world."""
        return self.state.frame_pose(self.tree.frame(self.machine.base.link)).R

    @cached_property
    def upright(self) -> Expression:
        """Cosine of the angle between the base's z axis and the ground's normal."""
        return self.base_rotation[2, 2]

    @cached_property
    def static_forces(self) -> Expression:
        """(nv,) generalized forces that hold the machine at rest at x, in addition to joint springs and friction.

        They are zero on a base and on passive joints in equilibrium.
        """
        needed = inverse_dynamics(self.state, ca.SX(self.tree.nv, 1), self.gravity, self.external_forces)
        for element in self.elements:
            if element.rests:
                needed = needed - element.generalized_force(self.state, self.symbols)
        return needed

    @cached_property
    def stored_energies(self) -> tuple[Expression, Expression, Expression]:
        """Kinetic energy, gravitational potential energy, and energy in the springs of wheels and joints, J."""
        springs = ca.SX(0)
        for element in (*self.contacts_on_ground, *self.joint_elements):
            springs += element.potential_energy(self.state, self.symbols)
        return self.state.kinetic_energy, self.state.potential_energy(self.gravity), springs


def resting_elements(machine: Machine) -> tuple[ForceElement, ...]:
    """Return the elements whose states follow from the equilibrium of a machine: contacts and joint elements."""
    return (*contact_elements(machine), *joint_elements(machine))


@lru_cache(maxsize=64)
def resting_states(machine: Machine) -> tuple[ElementState, ...]:
    """Return the states of `resting_elements`, in order."""
    return tuple(state for element in resting_elements(machine) for state in element.states)


def rest_deflections(machine: Machine) -> list[str]:
    """Return the names of the deflections that balance a machine at rest: of contacts, then of passive joints."""
    return [state.name for state in resting_states(machine) if state.balances]


def has_discrete_states(machine: Machine) -> bool:
    """Return whether a machine has states that change only between steps."""
    return any(state.discrete for contact in contact_elements(machine) for state in contact.states)
