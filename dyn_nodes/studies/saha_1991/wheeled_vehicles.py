"""The vehicles of saha-1991 as trees with rolling contacts, in space, with weight and ground reactions.

`differential_drive`, `multibody.omni_vehicle` and `rolling_disk` contain their planar closed forms; here only bodies,
joints and rolling wheels are assumed, so that every formulation applies. x of a vehicle points along its axle, y ahead,
z up; positive rates of the driven axle drive backwards, as in the source.

The base is a chain of joints `x y z yaw pitch roll` without mass, whose rates are the velocities, or one free body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints.blocks import ConstraintBlocks
from dyn_nodes.constraints.joints import Lock
from dyn_nodes.constraints.rolling import RollingWheel
from dyn_nodes.constraints.rows import Constraint
from dyn_nodes.multibody import TreeBuilder
from dyn_nodes.multibody.omni_vehicle import OmniVehicle
from dyn_nodes.studies.saha_1991.differential_drive import CasterVehicle, DrivenAxle
from dyn_nodes.studies.saha_1991.rollers import RollerWheel
from dyn_nodes.studies.saha_1991.rolling_disk import RollingDisk

Base = Literal['chain', 'free']
X, Y, Z = np.eye(3)
STANDARD_GRAVITY = 9.81


@dataclass(frozen=True, eq=False)
class WheeledVehicle:
    """A vehicle as a constrained system.

    Attributes:
        name: for messages and tables.
        blocks: tree, contacts and gravity.
        actuated: velocities with one motor each.
        independent: independent rates that are valid at all positions.
        rest: (nq,) a position that meets the constraints.
        free: names of positions with arbitrary values, or values within `ranges`.
        ranges: limits by name, rad.
        follow: function from these values to the values of dependent positions.
    """

    name: str
    blocks: ConstraintBlocks
    actuated: tuple[str, ...]
    independent: tuple[str, ...]
    rest: Array
    free: tuple[str, ...]
    ranges: dict[str, tuple[float, float]]
    follow: Callable[[dict[str, float]], dict[str, float]]

    def position(self, values: dict[str, float]) -> Array:
        """Return the position (nq,) with these values by name; the others are at rest or dependent."""
        q, names = self.rest.copy(), self.blocks.tree.position_names
        for name, value in {**values, **self.follow(values)}.items():
            q[names.index(name)] = value
        return q

    def random_position(self, rng: np.random.Generator) -> Array:
        """Return a random position (nq,) that meets the constraints."""
        return self.position({name: rng.uniform(*self.ranges.get(name, (-np.pi, np.pi))) for name in self.free})

    def motors(self, torques: Sequence[float]) -> Array:
        """Return the joint efforts (nv,) of motor torques, in the order of `actuated`."""
        tau = np.zeros(self.blocks.tree.nv)
        for name, torque in zip(self.actuated, torques, strict=True):
            tau[self.blocks.tree.velocity_index(name)] = torque
        return tau


def _nothing(values: dict[str, float]) -> dict[str, float]:
    return {}


def _base(tree: TreeBuilder, base: Base) -> int:
    if base == 'free':
        return tree.add_free('platform')
    carrier = -1
    for name, axis in (('x', X), ('y', Y), ('z', Z)):
        carrier = tree.add_joint(name, carrier, 'prismatic', axis)
    for name, axis in (('yaw', Z), ('pitch', X), ('roll', Y)):
        carrier = tree.add_joint(name, carrier, 'revolute', axis)
    return carrier


def _wheel_inertia(axial: float, diametral: float, axle: Array) -> Array:
    return diametral * np.eye(3) + (axial - diametral) * np.outer(axle, axle)


def _vehicle(
    name: str,
    tree: TreeBuilder,
    contacts: Callable[[TreeBuilder], Sequence[Constraint]],
    radius: float,
    base: Base,
    actuated: tuple[str, ...],
    wheels: tuple[str, ...],
    gravity: float,
) -> WheeledVehicle:
    constraints = contacts(tree)
    built = tree.build()
    rest = built.neutral
    rest[2] = radius
    blocks = ConstraintBlocks(built, constraints, gravity=(0.0, 0.0, -gravity))
    pose = ('x', 'y', 'yaw') if base == 'chain' else ('platform_x', 'platform_y')
    return WheeledVehicle(name, blocks, actuated, actuated, rest, (*pose, *wheels), {}, _nothing)


def axle_vehicle(
    data: DrivenAxle | None = None, base: Base = 'chain', gravity: float = STANDARD_GRAVITY
) -> WheeledVehicle:
    """Return the driven axle: two thin discs on a massless axle, kept from pitching (spec F7)."""
    data = data or DrivenAxle()
    tree = TreeBuilder()
    axle = _base(tree, base)
    flat = 0.25 * data.wheel_mass * data.radius**2
    for name, side in (('left', -0.5), ('right', 0.5)):
        inertia = _wheel_inertia(2 * flat, flat, X)
        tree.add_joint(name, axle, 'revolute', X, p=side * data.length * X, mass=data.wheel_mass, inertia=inertia)
    if base == 'free':
        raise ValueError('axle: the row against pitching needs the base as a chain of joints')

    def contacts(built: TreeBuilder) -> list[Constraint]:
        wheels = [RollingWheel(f'{n}_ground', built.frames[n], X, data.radius) for n in ('left', 'right')]
        return [*wheels, Lock('level', 'pitch')]

    names = ('left', 'right')
    return _vehicle('driven axle', tree, contacts, data.radius, base, names, names, gravity)


def caster_vehicle(
    data: CasterVehicle | None = None, base: Base = 'chain', gravity: float = STANDARD_GRAVITY
) -> WheeledVehicle:
    """Return the platform on a driven axle and a caster; its mass centre is at the height of the wheels' centres."""
    data = data or CasterVehicle()
    tree = TreeBuilder()
    platform = _base(tree, base)
    tree.add_mass(platform, data.mass, inertia=data.yaw_inertia * np.eye(3))
    inertia = _wheel_inertia(data.axial, data.diametral, X)
    for name, side in (('left', -0.5), ('right', 0.5)):
        hub = (side * data.length, -data.ahead, 0.0)
        tree.add_joint(name, platform, 'revolute', X, p=hub, mass=data.wheel_mass, inertia=inertia)
    fork = tree.add_joint('fork', platform, 'revolute', Z, p=(0.0, data.pivot, 0.0))
    tree.add_joint('caster', fork, 'revolute', X, p=(0.0, -data.offset, 0.0), mass=data.wheel_mass, inertia=inertia)

    def contacts(built: TreeBuilder) -> list[Constraint]:
        return [RollingWheel(f'{n}_ground', built.frames[n], X, data.radius) for n in ('left', 'right', 'caster')]

    drives = ('left', 'right')
    spinning = ('left', 'right', 'fork', 'caster')
    return _vehicle('vehicle with a caster', tree, contacts, data.radius, base, drives, spinning, gravity)


def omni_vehicle(data: OmniVehicle, base: Base = 'chain', gravity: float = STANDARD_GRAVITY) -> WheeledVehicle:
    """Return a platform on any three or more wheels with rollers, joints `wheel_1`, `wheel_2`, ...

    The mass centre of the platform is at the height of the wheels' centres; all wheels have the same radius.

    Raises:
        ValueError: wheels of different radii.
    """
    radii = {wheel.radius for wheel in data.wheels}
    if len(radii) != 1:
        raise ValueError(f'expected wheels of one radius, found {", ".join(f"{r:g}" for r in sorted(radii))} m')
    tree = TreeBuilder()
    platform = _base(tree, base)
    tree.add_mass(platform, data.mass, inertia=data.yaw_inertia * np.eye(3))
    axles = [np.array([np.cos(wheel.hub), np.sin(wheel.hub), 0.0]) for wheel in data.wheels]
    names = tuple(f'wheel_{k}' for k in range(1, len(data.wheels) + 1))
    for name, wheel, axle in zip(names, data.wheels, axles):
        hub = wheel.distance * np.array([np.cos(wheel.direction), np.sin(wheel.direction), 0.0])
        inertia = _wheel_inertia(wheel.axial_inertia, wheel.diametral_inertia, axle)
        tree.add_joint(name, platform, 'revolute', axle, p=hub, mass=wheel.mass, inertia=inertia)

    def contacts(built: TreeBuilder) -> list[Constraint]:
        return [
            RollerWheel(f'{name}_ground', built.frames[name], axle, wheel.radius, wheel.roller)
            for name, wheel, axle in zip(names, data.wheels, axles)
        ]

    driven = tuple(name for name, wheel in zip(names, data.wheels) if wheel.driven)
    made = _vehicle(f'{len(names)} wheels with rollers', tree, contacts, radii.pop(), base, driven, names, gravity)
    three = ('x', 'y', 'yaw') if base == 'chain' else ('platform_wz', 'platform_vx', 'platform_vy')
    return replace(made, actuated=driven, independent=three)


def rolling_disk(disk: RollingDisk | None = None, by_contact: bool = False) -> WheeledVehicle:
    """Return the thin disk, joints `heading`, `tilt` (from upright), `spin`.

    Args:
        disk: the disk.
        by_contact: x, y are the position of the contact point, so that the disk cannot leave the ground, and z does not
            exist; otherwise x, y, z are the position of the centre.
    """
    disk = disk or RollingDisk()
    tree = TreeBuilder()
    carrier = -1
    for name, axis in (('x', X), ('y', Y)) if by_contact else (('x', X), ('y', Y), ('z', Z)):
        carrier = tree.add_joint(name, carrier, 'prismatic', axis)
    carrier = tree.add_joint('heading', carrier, 'revolute', Z)
    carrier = tree.add_joint('tilt', carrier, 'revolute', -X)
    flat = 0.25 * disk.mass * disk.radius**2
    up = disk.radius * Z if by_contact else np.zeros(3)
    tree.add_joint('spin', carrier, 'revolute', -Y, p=up, mass=disk.mass, inertia=_wheel_inertia(2 * flat, flat, Y))
    built = tree.build()
    contact = RollingWheel('ground', built.frame('spin'), -Y, disk.radius)
    blocks = ConstraintBlocks(built, [contact], gravity=(0.0, 0.0, -disk.gravity))
    rest = built.neutral
    if not by_contact:
        rest[2] = disk.radius

    def follow(values: dict[str, float]) -> dict[str, float]:
        return {} if by_contact else {'z': disk.radius * float(np.cos(values.get('tilt', 0.0)))}

    angles = ('heading', 'tilt', 'spin')
    name = 'rolling disk by its contact' if by_contact else 'rolling disk'
    return WheeledVehicle(name, blocks, (), angles, rest, ('x', 'y', *angles), {'tilt': (-1.2, 1.2)}, follow)
