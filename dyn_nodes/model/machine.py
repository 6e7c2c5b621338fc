"""What a machine is: links, joints, wheels, actuators, payload. Data only, immutable.

Every quantity is in SI units, every frame follows REP-103. A `Machine` is made by
:func:`dyn_nodes.model.load_machine` and is never changed afterwards: what may change while
a machine runs (payload, friction, slope, ...) is a *parameter* of the compiled system.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model.constraint import JointClass, Load, MachineConstraint
from dyn_nodes.model.rolling import Rolling
from dyn_nodes.model.terrain import Rise

Array = NDArray[np.float64]
JointType = Literal['revolute', 'continuous', 'prismatic', 'fixed']
Attachment = Literal['fixed', 'planar', 'free']
FrictionPoint = Literal['ground', 'attachment']


def frozen_array(values: object, shape: tuple[int, ...]) -> Array:
    """Return a read-only float array of the wanted shape. Raises ValueError on another shape."""
    array = np.array(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f'expected an array of shape {shape}, found {array.shape}')
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body.

    Attributes:
        name: unique name.
        mass: kg, 0 for a link without inertia.
        com: (3,) centre of mass in the link frame, m.
        inertia: (3, 3) ordinary inertia tensor about the centre of mass, axes of the link frame, kg m2.
    """

    name: str
    mass: float
    com: Array
    inertia: Array


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint of one degree of freedom (or none) between a parent and a child link.

    Attributes:
        origin: (4, 4) pose of the joint frame (= child link frame at zero position) in the parent link frame.
        axis: (3,) unit axis in the joint frame.
        lower, upper: position limits, rad or m; infinite where there is none, as for `continuous`.
        velocity_limit, effort_limit: rad/s or m/s, N m or N; inf where none is given, effort 0: passive.
        damping: viscous, N m s/rad or N s/m.
        friction: dry (URDF `friction`), N m or N.
    """

    name: str
    type: JointType
    parent: str
    child: str
    origin: Array
    axis: Array
    lower: float = -np.inf
    upper: float = np.inf
    velocity_limit: float = np.inf
    effort_limit: float = np.inf
    damping: float = 0.0
    friction: float = 0.0

    @property
    def movable(self) -> bool:
        """True where the joint has a degree of freedom."""
        return self.type != 'fixed'


@dataclass(frozen=True)
class LuGre:
    """LuGre tyre friction (abo-shanab-2003, eqs 6.13 to 6.21), per unit of normal load.

    Attributes:
        static, kinetic: friction coefficients mu_s >= mu_c > 0.
        bristle_stiffness: sigma_0, 1/m.
        bristle_damping: sigma_1, s/m.
        viscous: sigma_2, s/m.
        stribeck_speed: v_s, m/s.
        stribeck_exponent: alpha.
    """

    static: float = 0.9
    kinetic: float = 0.5
    bristle_stiffness: float = 40.0
    bristle_damping: float = 4.9487
    viscous: float = 0.0018
    stribeck_speed: float = 12.5
    stribeck_exponent: float = 0.5


@dataclass(frozen=True)
class Karnopp:
    """Karnopp friction behind a horizontal spring and damper on a massless foot (abo-shanab-2003, eqs 6.1, 6.5 to 6.8).

    Attributes:
        static, kinetic: friction coefficients mu_s >= mu_c > 0.
        stiffness: k_h, N/m.  damping: c_h, N s/m; of the wheel, horizontally.
        stick_speed: D_v, speed of the foot below which it sticks, m/s.
    """

    static: float = 0.9
    kinetic: float = 0.5
    stiffness: float = 3.5e6
    damping: float = 1.5e5
    stick_speed: float = 1e-3


@dataclass(frozen=True, eq=False)
class Wheel:
    """A wheel or foot: a unilateral Kelvin-Voigt element along the ground normal, and friction.

    Braked, or rolling about its axle.

    Attributes:
        name: `front_right`, ...; the topic is `ground_reactions/<name>`.
        link: the link that carries it.
        position: (3,) attachment point in the frame of `link`, m (abo-shanab-2003, r_w of section 7.2); of a rolling
            wheel its centre.
        stiffness: k, N/m.  damping: c, N s/m.
        free_length: l_o, height of the attachment above the ground at which contact is lost, m; of a rolling wheel its
            unloaded radius.
        friction: parameters of its friction model, or None for a frictionless contact.
        friction_point: where friction acts and sees the speed: the `ground` point below the wheel, or the `attachment`,
            as in chapter 6 of the source; both are power-consistent (spec 2.23, 2.24).
        rolling: how it rolls; None: its link is braked.
    """

    name: str
    link: str
    position: Array
    stiffness: float
    damping: float
    free_length: float
    friction: LuGre | Karnopp | None = None
    friction_point: FrictionPoint = 'ground'
    rolling: Rolling | None = None


@dataclass(frozen=True)
class PinTriangle:
    """Cylinder between two pins: s(q)^2 = a^2 + b^2 - 2 a b cos(direction q + angle) (spec G2).

    Attributes:
        a, b: distances of the two pins from the joint axis, m.
        angle: angle between the pins at q = 0, rad.
        direction: +1 where extension increases q, -1 where it decreases q.
        retracted_length: pin-to-pin length at piston position X = 0, m.
        stroke: largest X, m.
    """

    a: float
    b: float
    angle: float
    direction: float
    retracted_length: float
    stroke: float


@dataclass(frozen=True)
class SlidingRod:
    """Rod and barrel as the two links of a prismatic joint: X = direction (q - retracted_position).

    Attributes:
        stroke: largest X, m.
        retracted_position: joint position at piston position X = 0, m.
        direction: +1 where extension increases q, -1 where it decreases q.
    """

    stroke: float
    retracted_position: float = 0.0
    direction: float = 1.0


Linkage = PinTriangle | SlidingRod


@dataclass(frozen=True)
class Valve:
    """Open-centre directional valve and its spool drive (abo-shanab-2003, eqs 2.7 to 2.17; spec G4).

    Opening xi = max(0, |x| - dead_zone); inlet area = inlet_gain xi; outlet area = outlet_gain xi;
    bypass area = bypass_area max(0, 1 - |x| / bypass_stroke). Areas m2, gains m, spool x in m.

    Attributes:
        time_constant: of the spool, s.  gain: spool displacement per volt, m/V.
        voltage_limit: |u| is clipped to this, V.  spool_limit: mechanical end stop of the spool, m.
        dead_time: between a voltage and the moment the spool begins to follow it, s.
    """

    inlet_gain: float
    outlet_gain: float
    bypass_area: float
    bypass_stroke: float
    dead_zone: float
    time_constant: float
    gain: float
    voltage_limit: float
    spool_limit: float
    dead_time: float = 0.0


@dataclass(frozen=True)
class Supply:
    """Pump, oil and protection of one function.

    Attributes:
        flow: constant pump flow Q, m3/s.
        relief_pressure: of the pump, Pa.
        line_relief_pressure: port relief (cylinder) or cross-over relief (motor), Pa.
        line_relief_area: m2.
        makeup_area: anti-cavitation check, m2.
        tank_pressure: Pa.
        bulk_modulus: effective, Pa.
        orifice_coefficient: k = C_d sqrt(2 / rho), m^(3/2) kg^(-1/2).
        smoothing: d / sqrt(|d| + smoothing) regularizes the signed root, Pa.
    """

    flow: float
    relief_pressure: float
    line_relief_pressure: float
    line_relief_area: float
    makeup_area: float
    tank_pressure: float
    bulk_modulus: float
    orifice_coefficient: float
    smoothing: float = 1e3


@dataclass(frozen=True)
class CylinderActuator:
    """One or more equal cylinders in parallel, moved by an open-centre valve.

    Attributes:
        linkage: piston position as a function of the joint position: pins about a revolute joint, or the rod itself.
        head_area, rod_area: total piston areas, m2.
        head_volume, rod_volume: oil volumes at X = 0, hoses included, m3.
        viscous: friction of the piston, N s/m.
        initial_head_pressure, initial_rod_pressure: Pa, or None: from static equilibrium with the
            unloaded side at `idle_pressure` (spec G5).
        kind: `type` in the machine file.  lines: names of the pressures of its two lines.
    """

    kind: ClassVar[str] = 'cylinder'
    lines: ClassVar[tuple[str, str]] = ('head_pressure', 'rod_pressure')

    name: str
    joint: str
    linkage: Linkage
    head_area: float
    rod_area: float
    head_volume: float
    rod_volume: float
    viscous: float
    valve: Valve
    supply: Supply
    idle_pressure: float = 1.0e6
    initial_head_pressure: float | None = None
    initial_rod_pressure: float | None = None

    @property
    def areas(self) -> tuple[float, float]:
        """Oil that each line takes up per travel of the piston, m2."""
        return self.head_area, self.rod_area


@dataclass(frozen=True)
class MotorActuator:
    """Hydraulic rotary motor with gear (abo-shanab-2003, eq. 2.16; spec 2.12 and G6).

    Attributes:
        displacement: n D_m, geared displacement at the joint, m3/rad.
        line_volume: oil volume of each line, m3.
        viscous: friction at the joint, N m s/rad.
        idle_pressure: both lines at the start, Pa.
        kind: `type` in the machine file.  lines: names of the pressures of its two lines.
    """

    kind: ClassVar[str] = 'motor'
    lines: ClassVar[tuple[str, str]] = ('pressure_a', 'pressure_b')

    name: str
    joint: str
    displacement: float
    line_volume: float
    viscous: float
    valve: Valve
    supply: Supply
    idle_pressure: float = 5.0e6

    @property
    def areas(self) -> tuple[float, float]:
        """Oil that each line takes up per angle of the joint, m3/rad."""
        return self.displacement, self.displacement


Actuator = CylinderActuator | MotorActuator


@dataclass(frozen=True)
class SharedPump:
    """One pump for several functions: the open centre of each valve feeds the next valve, the last one's goes to tank.

    A function that works takes oil from those behind it, which therefore have to wait; all outlets go to tank. The
    members' own `supply.flow` and `supply.relief_pressure` play no part.

    Attributes:
        actuators: names, the first one nearest to the pump.
        flow: constant pump flow, m3/s.
        relief_pressure: Pa.
    """

    name: str
    actuators: tuple[str, ...]
    flow: float
    relief_pressure: float


@dataclass(frozen=True, eq=False)
class Payload:
    """A point mass held by a link (spec G1).

    Attributes:
        link: the link that carries it.  position: (3,) in that link's frame, m.
        mass: at the start, kg.  limit: the greatest mass accepted at run time, kg.
    """

    link: str
    position: Array
    mass: float
    limit: float


@dataclass(frozen=True)
class Base:
    """How the root link is attached to the world.

    `fixed`: at the world origin. `planar`: x, z and pitch (rotation about y) of the vertical plane. `free`: six
    degrees of freedom, a quaternion in the running machine.
    """

    link: str
    attachment: Attachment


@dataclass(frozen=True)
class InitialState:
    """Where a run begins.

    Attributes:
        joint_positions: by joint name, rad or m; joints not named start at 0.
        base_position: (x, y, z) of the base link, m; z is replaced where `settle` is true.
        base_yaw: heading, rad.
        settle: start in static equilibrium on the wheels.
    """

    joint_positions: dict[str, float] = field(default_factory=dict)
    base_position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    base_yaw: float = 0.0
    settle: bool = True


@dataclass(frozen=True, eq=False)
class Machine:
    """A validated machine: the one source of truth of every layer above `model`.

    Attributes:
        links: every link of the URDF, root first, parents before children.
        joints: every joint of the URDF, in the order of `links[1:]` (joint i moves links[i + 1]).
        payload, wheels, actuators: may be None or empty.
        gravity: m/s2, along -z of the level world.
        slope: initial (roll, pitch) of the ground plane about x and y, rad; positive pitch: front downhill.
        overturn_angle: tilt of the base against the ground at which a run counts as overturned, rad.
        urdf: the URDF text as loaded (for `robot_description`).
        sources: paths of the URDF and YAML files, for messages.
        assumed: dotted keys of the YAML whose values are marked as assumed, with the reason.
        reactions: names of the joints whose reaction is published; the topic is `joint_reactions/<name>`.
        pumps: pumps that several actuators share; all others have one of their own.
        terrain: what rises from the ground plane, under rolling wheels.
        constraints, loads, joint_classes: what holds it beside its joints (see `dyn_nodes.model.constraint`).
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    base: Base
    wheels: tuple[Wheel, ...]
    actuators: tuple[Actuator, ...]
    payload: Payload | None
    initial: InitialState
    gravity: float
    slope: tuple[float, float]
    overturn_angle: float
    urdf: str
    sources: tuple[str, ...]
    assumed: dict[str, str] = field(default_factory=dict)
    reactions: tuple[str, ...] = ()
    pumps: tuple[SharedPump, ...] = ()
    constraints: tuple[MachineConstraint, ...] = ()
    loads: tuple[Load, ...] = ()
    joint_classes: tuple[JointClass, ...] = ()
    terrain: tuple[Rise, ...] = ()

    def pump_of(self, actuator: str) -> SharedPump | None:
        """Return the shared pump that feeds an actuator; None where it has one of its own."""
        return next((pump for pump in self.pumps if actuator in pump.actuators), None)

    def pump_relief_pressure(self, actuator: str) -> float:
        """Return the relief pressure of the pump that feeds an actuator, Pa."""
        pump = self.pump_of(actuator)
        return self.actuator(actuator).supply.relief_pressure if pump is None else pump.relief_pressure

    @property
    def movable_joints(self) -> tuple[Joint, ...]:
        """The joints with a degree of freedom, in the order of the generalized coordinates."""
        return tuple(joint for joint in self.joints if joint.movable)

    @property
    def actuated_joints(self) -> tuple[Joint, ...]:
        """The movable joints that something drives: all but the idle ones."""
        idle = self.idle_joints
        return tuple(joint for joint in self.movable_joints if joint.name not in idle)

    @property
    def idle_joints(self) -> dict[str, str]:
        """What the joints that take no command are, by name: their class, or `moved as prescribed`.

        A joint whose effort limit is 0 is passive, unless an actuator moves it or its class is another one.
        """
        driven = {actuator.joint for actuator in self.actuators}
        idle = {joint.name: 'passive' for joint in self.movable_joints if joint.effort_limit == 0.0}
        idle = {name: kind for name, kind in idle.items() if name not in driven}
        classes: dict[str, str] = {entry.joint: entry.kind for entry in self.joint_classes}
        prescribed = {entry.joint: 'moved as prescribed' for entry in self.constraints if entry.kind == 'prescribed'}
        return {name: kind for name, kind in (idle | classes | prescribed).items() if kind != 'actuated'}

    @property
    def needs_constraints(self) -> bool:
        """True where constraints, loads or held joints take more than the dynamics of a tree."""
        held = any(entry.kind in ('locked', 'pseudo') for entry in self.joint_classes)
        return bool(self.constraints or self.loads or held)

    @property
    def total_mass(self) -> float:
        """Mass of all links without payload, kg."""
        return float(sum(link.mass for link in self.links))

    def link(self, name: str) -> Link:
        """Return the link of that name. Raises KeyError that lists the known names."""
        return _named(self.links, name, 'link')

    def joint(self, name: str) -> Joint:
        """Return the joint of that name. Raises KeyError that lists the known names."""
        return _named(self.joints, name, 'joint')

    def actuator(self, name: str) -> Actuator:
        """Return the actuator of that name. Raises KeyError that lists the known names."""
        return _named(self.actuators, name, 'actuator')


def _named(items, name: str, kind: str):  # type: ignore[no-untyped-def]
    for item in items:
        if item.name == name:
            return item
    raise KeyError(f'unknown {kind} {name!r}; known: {", ".join(item.name for item in items) or "none"}')
