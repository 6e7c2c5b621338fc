"""A machine with its elements, traced: states, inputs, parameters and outputs as named expressions.

World frame: the plane of the ground, z its normal. A slope turns gravity, not the ground (spec 2.16), so that heights,
poses and friction are those of the plane.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import casadi as ca
import numpy as np

from dyn_nodes.elements.actuators import KINDS, ActuatorForces, Kinds, actuator_elements
from dyn_nodes.forces import WheelContact, friction_power, rolling_contact, suspension_energy, wheel_contact
from dyn_nodes.forces.joint_elements import joint_elements
from dyn_nodes.forces.joint_spring import joint_springs
from dyn_nodes.forces.terrain import ground_at
from dyn_nodes.model.machine import Karnopp, Machine, Wheel
from dyn_nodes.multibody import Tree, TreeState, build_tree, forward_dynamics, inverse_dynamics
from dyn_nodes.multibody.elements import ForceElement, Surface, symbolic
from dyn_nodes.multibody.spatial import Expression, Force, cross
from dyn_nodes.multibody.tree import BaseForm

Actuation = Literal['hydraulic', 'effort']
NORMAL = (0.0, 0.0, 1.0)
COMMON_PARAMETERS = (
    'gravity_x',
    'gravity_y',
    'gravity_z',
    'payload_mass',
    'wheel_stiffness_scale',
    'wheel_damping_scale',
    'friction_scale',
    'bulk_modulus_scale',
    'joint_stop_scale',
)
DIRECTIONS = ('longitudinal', 'lateral')
ROLLER = ('roller',)
AUDIT_STATES = ('work_actuators', 'work_suspension', 'work_friction')


def gravity_vector(gravity: float, slope: tuple[float, float]) -> tuple[float, float, float]:
    """Return gravity (3,) in the frame of a ground plane turned by (roll, pitch) about x, then y, m/s2.

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
    """Names of a vector's elements, and their place."""

    names: list[str] = field(default_factory=list)

    def add(self, *names: str) -> slice:
        """Append names; return their place."""
        self.names.extend(names)
        return slice(len(self.names) - len(names), len(self.names))


class Assembly:
    """The traced plant.

    Attributes:
        states, inputs, parameters: names in order.
        x, u, p: the symbols.
        joint_elements: springs, damping, friction and stops of the joints.
        actuators: those that are part of this plant.
        elements: joint elements and actuators.
        element_states: theirs, in order.
        actuator_kinds: element of every kind of actuator.
    """

    actuator_kinds: ClassVar[Kinds] = KINDS

    def __init__(
        self, machine: Machine, actuation: Actuation, base: BaseForm = 'quaternion', audit: bool = False
    ) -> None:
        self.machine, self.actuation, self.audit = machine, actuation, audit
        self.tree: Tree = build_tree(machine, base)
        self.joint_elements = joint_elements(machine)
        inside = actuator_elements(machine, self.actuator_kinds) if actuation == 'hydraulic' else ()
        self.actuators = ActuatorForces(machine, inside)
        self.elements: tuple[ForceElement, ...] = (*self.joint_elements, self.actuators)
        self._name_everything()
        self.x = ca.SX.sym('x', len(self.states.names))
        self.u = ca.SX.sym('u', len(self.inputs.names))
        self.p = ca.SX.sym('p', len(self.parameters.names))

    def _name_everything(self) -> None:
        self.states, self.inputs, self.parameters = Names(), Names(), Names()
        self.q_place = self.states.add(*self.tree.position_names)
        self.v_place = self.states.add(*(f'{name}_rate' for name in self.tree.velocity_names))
        names = friction_states(self.machine)
        self.bristles = {wheel: self.states.add(*own) for wheel, own in names.items()}
        self.sticks = {wheel: self.states.add(*own) for wheel, own in stick_flags(self.machine).items()}
        self.element_states = tuple(own for element in self.elements for own in element.states)
        self.element_place = self.states.add(*(own.name for own in self.element_states))
        self.audit_place = self.states.add(*(AUDIT_STATES if self.audit else ()))
        self.command_place = self.inputs.add(*(command.name for command in self.actuators.inputs))
        moved = {own.joint for own in self.actuators.actuators}
        self.efforts = {
            joint.name: self.inputs.add(f'{joint.name}/effort')
            for joint in self.machine.actuated_joints
            if joint.name not in moved
        }
        self.parameters.add(*COMMON_PARAMETERS)
        self.heights = {w.name: self.parameters.add(f'{w.name}/ground_height') for w in self.machine.wheels}
        own = {name: value for element in self.elements for name, value in element.parameters.items()}
        self.element_parameters = {name: value for name, value in own.items() if name not in COMMON_PARAMETERS}
        self.parameters.add(*self.element_parameters)

    def default_parameters(self) -> np.ndarray:
        """Return the machine's own parameter values."""
        machine = self.machine
        payload = machine.payload.mass if machine.payload else 0.0
        common = [*gravity_vector(machine.gravity, machine.slope), payload, 1.0, 1.0, 1.0, 1.0, 0.0]
        return np.array([*common, *(0.0 for _ in self.heights), *self.element_parameters.values()])

    def parameter(self, name: str) -> Expression:
        """Return a parameter's symbol."""
        return self.p[self.parameters.names.index(name)]

    @cached_property
    def gravity(self) -> Expression:
        """(3,) gravity in the world, m/s2."""
        return self.p[0:3]

    @cached_property
    def state(self) -> TreeState:
        """Kinematics of the tree."""
        return TreeState(self.tree, self.x[self.q_place], self.x[self.v_place], self.parameter('payload_mass'))

    @cached_property
    def contacts(self) -> dict[str, WheelContact]:
        """What the ground does to each wheel."""
        result = {}
        heading = self.state.frame_pose(self.tree.frame(self.machine.base.link)).R[:, 0]
        for wheel in self.machine.wheels:
            frame = self.tree.frame(wheel.link)
            point = ca.SX(frame.p + frame.R @ wheel.position)
            center = self.state.poses[frame.body].point(point)
            motion = (
                center,
                self.state.point_velocity(frame.body, point),
                self.state.angular_velocity(frame.body),
                self._by_direction(self.bristles.get(wheel.name), 0.0),
            )
            scaled, height = self._scaled_wheel(wheel), self.p[self.heights[wheel.name]]
            if wheel.rolling is None:
                flags = self._by_direction(self.sticks.get(wheel.name), 1.0)
                result[wheel.name] = wheel_contact(scaled, NORMAL, heading, *motion, height, flags)
            else:
                axle = ca.mtimes(self.state.poses[frame.body].R, frame.R @ np.array(wheel.rolling.axis))
                normal: Any = NORMAL
                if self.machine.terrain:
                    ground = ground_at(self.machine.terrain, center[0], center[1])
                    normal, height = ground.normal, height + ground.plane_offset(center[0], center[1])
                result[wheel.name] = rolling_contact(scaled, normal, axle, *motion, height)
        return result

    def _by_direction(self, place: slice | None, absent: float) -> Expression:
        """Return states of both directions of a wheel (2,); a planar machine has the longitudinal one alone."""
        own = ca.SX(0, 1) if place is None else self.x[place]
        return ca.vertcat(own, absent * ca.SX.ones(2 - own.shape[0]))

    @property
    def scaled_wheels(self) -> tuple[Wheel, ...]:
        """The wheels with the scales of the parameters in their numbers."""
        return tuple(self._scaled_wheel(wheel) for wheel in self.machine.wheels)

    def _scaled_wheel(self, wheel: Wheel) -> Wheel:
        friction = wheel.friction
        if friction is not None:
            scale = self.parameter('friction_scale')
            friction = symbolic(friction, static=friction.static * scale, kinetic=friction.kinetic * scale)
        return symbolic(
            wheel,
            stiffness=wheel.stiffness * self.parameter('wheel_stiffness_scale'),
            damping=wheel.damping * self.parameter('wheel_damping_scale'),
            friction=friction,
        )

    @cached_property
    def contact_forces(self) -> dict[int, Force]:
        """Spatial force of the ground on each body that carries wheels: moments summed in the world first."""
        totals: dict[int, tuple[Expression, Expression]] = {}
        for wheel in self.machine.wheels:
            body = self.tree.frame(wheel.link).body
            contact = self.contacts[wheel.name]
            arm = contact.application_point - self.state.poses[body].p
            moment, force = totals.get(body, (ca.SX(3, 1), ca.SX(3, 1)))
            totals[body] = (moment + cross(arm, contact.force), force + contact.force)
        result = {}
        for body, (moment, force) in totals.items():
            R = self.state.poses[body].R
            result[body] = Force(ca.mtimes(R.T, moment), ca.mtimes(R.T, force))
        return result

    @cached_property
    def ground_wrench(self) -> tuple[Expression, Expression]:
        """Force of the ground on the machine (3,), N, and its moment about the centre of mass (3,), N m."""
        force, moment = ca.SX(3, 1), ca.SX(3, 1)
        for contact in self.contacts.values():
            force = force + contact.force
            moment = moment + cross(contact.application_point - self.state.center_of_mass, contact.force)
        return force, moment

    @cached_property
    def drive_forces(self) -> Expression:
        """(nv,) efforts of drives and of the springs of flexible joints."""
        tau = ca.SX.zeros(self.tree.nv)
        for name, place in self.efforts.items():
            tau[self.tree.velocity_index(name)] = self.u[place]
        for element in self.elements:
            if element.drives:
                tau = tau + element.generalized_force(self.state, self.symbols)
        return tau

    @cached_property
    def joint_efforts(self) -> dict[str, Expression]:
        """Effort of every movable joint, before damping, friction and stops: of its drive and of its spring."""
        return {j.name: self.drive_forces[self.tree.velocity_index(j.name)] for j in self.machine.movable_joints}

    @property
    def passive(self) -> tuple[str, ...]:
        """Names of the movable joints that nothing drives."""
        driven = {joint.name for joint in self.machine.actuated_joints}
        return tuple(joint.name for joint in self.machine.movable_joints if joint.name not in driven)

    @property
    def springs(self) -> tuple[str, ...]:
        """Names of the flexible joints."""
        return tuple(joint_springs(self.machine))

    @cached_property
    def symbols(self) -> dict[str, Expression]:
        """Symbols of the states, commands and parameters of elements and actuators, by name."""
        known = {name: self.parameter(name) for name in (*COMMON_PARAMETERS, *self.element_parameters)}
        place, commands = self.element_place, self.command_place
        known |= {self.states.names[k]: self.x[k] for k in range(place.start, place.stop)}
        return known | {self.inputs.names[k]: self.u[k] for k in range(commands.start, commands.stop)}

    @cached_property
    def surfaces(self) -> tuple[Surface, ...]:
        """Values of the elements whose signs are watched for events."""
        return tuple(surface for element in self.elements for surface in element.surfaces(self.state, self.symbols))

    @cached_property
    def actuator_surfaces(self) -> tuple[Surface, ...]:
        """Values of the actuators whose signs are watched for events."""
        return tuple(self.actuators.surfaces(self.state, self.symbols))

    @cached_property
    def generalized_forces(self) -> Expression:
        """(nv,) efforts along the velocities: of drives and of all elements; zero on the base."""
        tau = self.drive_forces
        for element in self.elements:
            if not element.drives:
                tau = tau + element.generalized_force(self.state, self.symbols)
        return tau

    @cached_property
    def accelerations(self) -> Expression:
        """(nv,) generalized accelerations."""
        return forward_dynamics(self.state, self.generalized_forces, self.gravity, self.contact_forces)

    @cached_property
    def rhs(self) -> Expression:
        """dx/dt."""
        rates: list[Expression] = [self.state.position_rate, self.accelerations]
        rates += [self.contacts[name].bristle_rate[: self._count(place)] for name, place in self.bristles.items()]
        rates += [ca.SX(self._count(place), 1) for place in self.sticks.values()]
        rates += [rate for element in self.elements for rate in element.rates(self.state, self.symbols)]
        if self.audit:
            rates += list(self.powers)
        return ca.densify(ca.vertcat(*rates))

    @cached_property
    def switched(self) -> Expression:
        """The state x with its discrete states as after this instant: the stick flags of Karnopp friction."""
        after = ca.SX(self.x)
        for name, place in self.sticks.items():
            after[place] = self.contacts[name].stick[: self._count(place)]
        return ca.densify(after)

    @staticmethod
    def _count(place: slice) -> int:
        return int(place.stop - place.start)

    @cached_property
    def friction_use(self) -> Expression:
        """Friction over the greatest static friction, of every wheel's deflection states, for a machine at rest."""
        used: list[Expression] = []
        for wheel in self.machine.wheels:
            if wheel.name in self.bristles:
                contact, place = self.contacts[wheel.name], self.bristles[wheel.name]
                assert wheel.friction is not None
                greatest = wheel.friction.static * self.parameter('friction_scale') * contact.normal_force
                friction = ca.fabs(contact.friction[: self._count(place)])
                if wheel.rolling is not None:
                    friction = ca.norm_2(contact.friction) * ca.SX.ones(self._count(place))
                used.append(friction / ca.fmax(greatest, 1e-9))
        return ca.densify(ca.vertcat(*used, ca.SX(0, 1)))

    @cached_property
    def powers(self) -> tuple[Expression, Expression, Expression]:
        """Power of the actuators (less joint damping), of the suspension and of friction on the machine, W."""
        contacts = self.contacts.values()
        return (
            ca.dot(self.generalized_forces, self.state.v),
            sum((c.normal_force * c.height_rate for c in contacts), ca.SX(0)),
            sum((friction_power(c) for c in contacts), ca.SX(0)),
        )

    @cached_property
    def base_rotation(self) -> Expression:
        """(3, 3) base axes in the world."""
        return self.state.frame_pose(self.tree.frame(self.machine.base.link)).R

    @cached_property
    def upright(self) -> Expression:
        """Cosine of the angle between the base's z axis and the ground's normal."""
        return self.base_rotation[2, 2]

    @cached_property
    def static_forces(self) -> Expression:
        """(nv,) generalized forces that would hold the machine still at x, beside springs and friction of its joints.

        Zero on a base and on passive joints at rest.
        """
        needed = inverse_dynamics(self.state, ca.SX(self.tree.nv, 1), self.gravity, self.contact_forces)
        for element in self.elements:
            if element.rests:
                needed = needed - element.generalized_force(self.state, self.symbols)
        return needed

    @cached_property
    def stored_energies(self) -> tuple[Expression, Expression, Expression]:
        """Kinetic energy, potential energy of weight, and energy in the springs of wheels and joints, J."""
        springs = sum(
            (suspension_energy(self._scaled_wheel(w), self.contacts[w.name]) for w in self.machine.wheels), ca.SX(0)
        )
        for element in self.joint_elements:
            springs += element.potential_energy(self.state, self.symbols)
        return self.state.kinetic_energy, self.state.potential_energy(self.gravity), springs


def friction_states(machine: Machine) -> dict[str, tuple[str, ...]]:
    """Return the names of the deflections of every wheel with friction: in the plane the longitudinal one alone."""
    directions = DIRECTIONS[:1] if machine.base.attachment == 'planar' else DIRECTIONS
    return {
        wheel.name: tuple(
            f'{wheel.name}/{"deflection" if isinstance(wheel.friction, Karnopp) else "bristle"}_{direction}'
            for direction in (ROLLER if is_omnidirectional(wheel) else directions)
        )
        for wheel in machine.wheels
        if wheel.friction is not None
    }


def rest_deflections(machine: Machine) -> list[str]:
    """Return the names of the deflections that balance a machine at rest: of wheels, then of passive rough joints."""
    wheels = [name for own in friction_states(machine).values() for name in own]
    return wheels + [own.name for element in joint_elements(machine) for own in element.states if own.balances]


def is_omnidirectional(wheel: Wheel) -> bool:
    """Tell whether a wheel rolls on rollers."""
    return wheel.rolling is not None and wheel.rolling.roller_angle is not None


def stick_flags(machine: Machine) -> dict[str, tuple[str, ...]]:
    """Return the names of the discrete states of every wheel with Karnopp friction: 1 where it sticks."""
    karnopp = {wheel.name for wheel in machine.wheels if isinstance(wheel.friction, Karnopp)}
    return {
        wheel: tuple(name.replace('/deflection', '/stick') for name in names)
        for wheel, names in friction_states(machine).items()
        if wheel in karnopp
    }
