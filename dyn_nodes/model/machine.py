"""The machine: links, joints, wheels, actuators, payload. Data only, immutable.

Quantities are in SI units, frames follow REP-103. :func:`dyn_nodes.model.load_machine` returns a `Machine`.
Values that change during a run (payload, friction, slope, ...) are *parameters* of the compiled system.
Every key of the machine YAML is declared at its field (`dyn_nodes.model.schema`).
"""

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple, get_args

import numpy as np

from dyn_nodes.common.printing import near
from dyn_nodes.model.actuator import ActuatorRecord as Actuator
from dyn_nodes.model.actuators.cylinder import CylinderActuator
from dyn_nodes.model.actuators.dc_motor import DcMotorActuator
from dyn_nodes.model.actuators.motor import MotorActuator
from dyn_nodes.model.bodies import Array, Joint, JointType, Link
from dyn_nodes.model.constraint import ConstraintRecord, JointClass, Load, LoopRecord, RollingRecord
from dyn_nodes.model.contact import ContactRecord, Support
from dyn_nodes.model.friction.karnopp import Karnopp
from dyn_nodes.model.friction.lugre import LuGre
from dyn_nodes.model.hand import Hand
from dyn_nodes.model.hydraulic import SharedPump, Supply, Valve
from dyn_nodes.model.linkage import Linkage, PinTriangle, SlidingRod
from dyn_nodes.model.schema import (
    choice,
    collection,
    flag,
    frozen_array,
    frozen_vector,
    named,
    number,
    table,
    text,
    vector,
)
from dyn_nodes.model.terrain import Rise
from dyn_nodes.model.wheel import FrictionPoint, Wheel

__all__ = [
    'Actuator',
    'Array',
    'Attachment',
    'Base',
    'CylinderActuator',
    'DcMotorActuator',
    'FrictionPoint',
    'Hand',
    'InitialState',
    'InitialTwist',
    'Joint',
    'JointType',
    'Karnopp',
    'Link',
    'Linkage',
    'LuGre',
    'Machine',
    'MachineFile',
    'MotorActuator',
    'Payload',
    'PinTriangle',
    'SharedPump',
    'SlidingRod',
    'Slope',
    'Supply',
    'Valve',
    'Wheel',
    'frozen_array',
]

Attachment = Literal['fixed', 'planar', 'free']
Vector = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Payload:
    """A point mass held by a link (spec G1)."""

    link: Annotated[str, text('the link that carries it')]
    position: Annotated[
        Array, vector('of the point mass, in the frame of the link', 'm', (0.0, 0.0, 0.0), read=frozen_vector)
    ]
    mass: Annotated[float, number('at the start', 'kg', 'non-negative')]
    limit: Annotated[float, number('greatest mass accepted while running', 'kg', 'non-negative')]


@dataclass(frozen=True)
class Base:
    """Attachment of the root link to the world.

    `fixed`: at the world origin. `planar`: x, z and pitch (rotation about y) of the vertical plane. `free`: six
    degrees of freedom, a quaternion in the running machine.
    """

    link: Annotated[str, text('root link of the URDF', default='')]
    attachment: Annotated[
        Attachment, choice('`fixed` to the world, `planar` (x, z and pitch) or `free`', get_args(Attachment))
    ] = 'fixed'


@dataclass(frozen=True)
class InitialTwist:
    """Initial velocity of the base link in its axes; absent: at rest, or as constraints move it."""

    linear: Annotated[Vector | None, vector('velocity of the origin in axes of the link', 'm/s')] = None
    angular: Annotated[Vector | None, vector('angular velocity in axes of the link', 'rad/s')] = None


@dataclass(frozen=True)
class InitialState:
    """Initial state of a run.

    Attributes:
        line: of the velocities in the YAML.
    """

    joint_positions: Annotated[
        dict[str, float], collection('positions', 'by joint name; joints not named start at 0', 'rad or m')
    ] = field(default_factory=dict)
    base_position: Annotated[
        tuple[float, float, float], vector('of the base link; z is computed if `settle` is true', 'm')
    ] = (0.0, 0.0, 0.0)
    base_yaw: Annotated[float, number('heading', 'rad')] = 0.0
    base_pitch: Annotated[float, number('of the base link, before its yaw; computed if `settle` is true', 'rad')] = 0.0
    base_roll: Annotated[float, number('of the base link, before its pitch; computed if `settle` is true', 'rad')] = 0.0
    settle: Annotated[bool, flag('start in static equilibrium on the wheels')] = True
    joint_velocities: Annotated[
        dict[str, float],
        collection(
            'positions', 'by joint name; joints not named start at rest, or as constraints move them', 'rad/s or m/s'
        ),
    ] = field(default_factory=dict)
    base_twist: Annotated[InitialTwist, table('velocity of the base link at the start', InitialTwist)] = InitialTwist()
    line: int = 0

    @property
    def pose(self) -> Array:
        """(6,) pose of the base link: x, y, z, m, roll, pitch, yaw, rad."""
        return np.array([*self.base_position, self.base_roll, self.base_pitch, self.base_yaw])

    @property
    def moves(self) -> bool:
        """True if an initial velocity is not zero."""
        values = [*self.joint_velocities.values(), *(self.base_twist.linear or ()), *(self.base_twist.angular or ())]
        return any(value != 0.0 for value in values)


class Slope(NamedTuple):
    """Slope of the ground plane at the start."""

    roll: Annotated[float, number('of the ground about x', 'rad')] = 0.0
    pitch: Annotated[float, number('of the ground about y; positive: the front is downhill', 'rad')] = 0.0


LEVEL = Slope()


@dataclass(frozen=True, eq=False, kw_only=True)
class MachineFile:
    """Values of a machine YAML: one field per key."""

    name: Annotated[str, text('of the machine; absent: the name of the URDF')] = ''
    gravity: Annotated[float, number('along -z of the level world', 'm/s2', 'non-negative')] = 9.81
    slope: Annotated[tuple[float, float], table('of the ground at the start', Slope)] = LEVEL
    overturn_angle: Annotated[float, number('tilt of the base that counts as overturned', 'rad', 'positive')] = (
        math.radians(75)
    )
    base: Annotated[Base, table('attachment of the machine to the world', Base)] = Base('')
    initial: Annotated[InitialState, table('initial state of a run', InitialState)] = field(
        default_factory=InitialState
    )
    payload: Annotated[Payload | None, table('a point mass in the implement', Payload)] = None
    wheels: Annotated[tuple[Wheel, ...], named('wheels and feet, by name', Wheel)] = ()
    contacts: Annotated[
        tuple[ContactRecord, ...], named('contacts beside wheels, such as crawler tracks, by name')
    ] = ()
    actuators: Annotated[tuple[Actuator, ...], named('actuators, by name')] = ()
    pumps: Annotated[
        tuple[SharedPump, ...], named('pumps that feed several actuators in series, by name', SharedPump)
    ] = ()
    constraints: Annotated[tuple[ConstraintRecord, ...], named('constraints between links and on joints, by name')] = ()
    loads: Annotated[
        tuple[Load, ...], named('rigid bodies without a joint, such as a load held by several arms', Load)
    ] = ()
    joint_classes: Annotated[
        tuple[JointClass, ...], named('classes of joints, by joint name', JointClass, name='joints')
    ] = ()
    locked: Annotated[
        tuple[str, ...],
        collection('names', 'joints fixed at their initial position: they need no computation and no inertia'),
    ] = ()
    terrain: Annotated[tuple[Rise, ...], named('rises of the ground plane under rolling wheels, by name', Rise)] = ()
    reactions: Annotated[
        tuple[str, ...], collection('names', 'joints whose reaction is published, on `joint_reactions/<joint>`')
    ] = ()
    grasps: Annotated[tuple[Hand, ...], named('points of links at which the machine holds objects, by name', Hand)] = ()

    @property
    def ground_contacts(self) -> tuple[Wheel | ContactRecord, ...]:
        """Wheels and feet, then other contacts."""
        return (*self.wheels, *self.contacts)

    @property
    def rigid_wheels(self) -> tuple[RollingRecord, ...]:
        """Wheels that roll by a constraint."""
        return tuple(entry for entry in self.constraints if isinstance(entry, RollingRecord))

    @property
    def linkages(self) -> tuple[ConstraintRecord, ...]:
        """Constraints except wheels."""
        return tuple(entry for entry in self.constraints if not isinstance(entry, RollingRecord))

    @property
    def loops(self) -> tuple[LoopRecord, ...]:
        """Constraints with a reaction between two ends: all except wheels and constraints on joints."""
        return tuple(entry for entry in self.constraints if isinstance(entry, LoopRecord))

    @property
    def supports(self) -> tuple[Support, ...]:
        """The springs that support the machine: wheels and feet first, then the ground points of contacts."""
        return tuple(support for contact in self.ground_contacts for support in contact.supports)


@dataclass(frozen=True, eq=False, kw_only=True)
class Machine(MachineFile):
    """A validated machine, used by all packages above `model`.

    The values of the YAML, and

    Attributes:
        links: every link of the URDF, root first, parents before children.
        joints: every joint of the URDF, in the order of `links[1:]` (joint i moves links[i + 1]), locked ones
            fixed.
        slope: initial (roll, pitch) of the ground plane about x and y, rad; positive pitch: front downhill.
        urdf: the URDF text as loaded (for `robot_description`).
        sources: paths of the URDF and YAML files, for messages.
        assumed: dotted keys of the YAML whose values are marked as assumed, with the reason.
    """

    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    urdf: str
    sources: tuple[str, ...]
    assumed: dict[str, str] = field(default_factory=dict)

    def armature(self, joint: str) -> float:
        """Return the reflected inertia of the rotors that drive a joint, kg m2 or kg."""
        return float(sum(actuator.reflected_inertia for actuator in self.actuators if actuator.joint == joint))

    def pump_of(self, actuator: str) -> SharedPump | None:
        """Return the shared pump of an actuator; None if its pump is not shared."""
        return next((pump for pump in self.pumps if actuator in pump.actuators), None)

    def source_limit(self, actuator: str) -> float:
        """Return the limit of the source of an actuator (relief pressure of its pump, Pa); inf without limit."""
        pump = self.pump_of(actuator)
        return self.actuator(actuator).source_limit if pump is None else pump.relief_pressure

    @property
    def movable_joints(self) -> tuple[Joint, ...]:
        """The joints with a degree of freedom, in the order of the generalized coordinates."""
        return tuple(joint for joint in self.joints if joint.movable)

    @property
    def actuated_joints(self) -> tuple[Joint, ...]:
        """The driven movable joints: all except the idle ones."""
        idle = self.idle_joints
        return tuple(joint for joint in self.movable_joints if joint.name not in idle)

    @property
    def idle_joints(self) -> dict[str, str]:
        """Class of each joint that takes no command, or `moved as prescribed`, by name.

        A joint with effort limit 0 is passive unless it has an actuator or another class.
        """
        driven = {actuator.joint for actuator in self.actuators}
        idle = {joint.name: 'passive' for joint in self.movable_joints if joint.effort_limit == 0.0}
        idle = {name: kind for name, kind in idle.items() if name not in driven}
        classes: dict[str, str] = {entry.joint: entry.kind for entry in self.joint_classes}
        prescribed = {entry.moved_joint: 'moved as prescribed' for entry in self.constraints if entry.moved_joint}
        return {name: kind for name, kind in (idle | classes | prescribed).items() if kind != 'actuated'}

    @property
    def needs_constraints(self) -> bool:
        """True if constraints, loads or held joints need more than the dynamics of a tree."""
        held = any(entry.held for entry in self.joint_classes)
        return bool(self.constraints or self.loads or held)

    @property
    def total_mass(self) -> float:
        """Mass of all links without payload, kg."""
        return float(sum(link.mass for link in self.links))

    def link(self, name: str) -> Link:
        """Return the link of that name. Raises KeyError with the existing names."""
        return _named(self.links, name, 'link')

    def joint(self, name: str) -> Joint:
        """Return the joint of that name. Raises KeyError with the existing names."""
        return _named(self.joints, name, 'joint')

    def grasp(self, name: str) -> Hand:
        """Return the hand of that name. Raises KeyError with the existing names."""
        return _named(self.grasps, name, 'grasp')

    def actuator(self, name: str) -> Actuator:
        """Return the actuator of that name. Raises KeyError with the existing names."""
        return _named(self.actuators, name, 'actuator')


def _named(items, name: str, kind: str):  # type: ignore[no-untyped-def]
    for item in items:
        if item.name == name:
            return item
    names = [item.name for item in items]
    raise KeyError(f'unknown {kind} {name!r}; known: {", ".join(names) or "none"}{near(name, names)}')
