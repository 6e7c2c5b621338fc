"""A rolling wheel of a vehicle, on a spring or by constraint, with the joints between it and the base link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.model.machine import Joint, Machine
from dyn_nodes.model.posture import initial_positions, link_poses, moved_inertia
from dyn_nodes.stability.equilibrium.standing import at_rest

UPRIGHT = 0.99
"""Cosine between a joint axis and the vertical above which the joint steers."""
LYING = 0.2
"""Sine of the angle between an axle and the ground up to which a wheel rolls."""
PARALLEL = 1e-6
"""Sine of the angle between an axle and its joint, and distance between them, m, that count as round-off."""


class NoVehicleError(UserError, ValueError):
    """A machine whose wheels cannot drive it; the message names the wheel or the joint."""


@dataclass(frozen=True)
class WheelUnit:
    """A rolling wheel and the joints that move it relative to the base link.

    Attributes:
        name: of the wheel.
        drive: joint that turns it.  driven: this joint is actuated.
        turn: +1 or -1: joint rate times this is the speed about the axle.
        steering: joint above it with a vertical axis, or None.  steered: this joint is actuated.
        up: +1 or -1: joint angle times this is the angle about the upward normal.
        pivot: (2,) intersection of the steering axis with the ground, or the centre without one; base frame, m.
        offset: (2,) from the pivot to the centre at steering angle 0, m.
        heading: of the rolling direction at steering angle 0, from the x axis, rad.
        roller_angle: see `Rolling`; None for a tyre.
        radius: height of the centre at rest, m.
        drive_limits: greatest speed, rad/s, and effort, N m; inf: no limit.
        steering_limits: least and greatest angle about the upward normal, rad.
        steering_speed, steering_effort: rad/s, N m; inf: no limit.
        axial_inertia: about the axle, rotor of a motor included, kg m2.
        steering_inertia: about the steering axis, its rotor included, kg m2; 0 without one.
    """

    name: str
    drive: str
    driven: bool
    turn: float
    steering: str | None
    steered: bool
    up: float
    pivot: tuple[float, float]
    offset: tuple[float, float]
    heading: float
    roller_angle: float | None
    radius: float
    drive_limits: tuple[float, float]
    steering_limits: tuple[float, float]
    steering_speed: float
    steering_effort: float
    axial_inertia: float
    steering_inertia: float

    @property
    def is_tyre(self) -> bool:
        """Whether the wheel also grips sideways."""
        return self.roller_angle is None

    @property
    def is_fixed(self) -> bool:
        """Whether the wheel is a tyre without steering."""
        return self.is_tyre and self.steering is None


class RollingWheel(NamedTuple):
    """A rolling wheel, on a spring or by constraint.

    Attributes:
        name: of the wheel.
        link: the turning link.
        position: (3,) of its centre in the frame of the link, m.
        axle: (3,) in the axes of the link; forward: axle x up.
        radius: m; None on a spring, where it is the height of the centre at rest.
        roller_angle: see `Rolling`; None for a tyre.
    """

    name: str
    link: str
    position: Array
    axle: Array
    radius: float | None
    roller_angle: float | None


def rolling_wheels(machine: Machine) -> tuple[RollingWheel, ...]:
    """Return the rolling wheels on springs, then those by constraint."""
    sprung = tuple(
        RollingWheel(
            wheel.name, wheel.link, wheel.position, np.asarray(wheel.rolling.axis), None, wheel.rolling.roller_angle
        )
        for wheel in machine.wheels
        if wheel.rolling is not None
    )
    return sprung + constraint_wheels(machine)


def constraint_wheels(machine: Machine) -> tuple[RollingWheel, ...]:
    """Return the wheels that roll by constraint, without frictionless ones, which follow any motion."""
    return tuple(
        RollingWheel(
            wheel.name,
            wheel.first.link,
            wheel.first.position,
            wheel.first.rotation @ np.asarray(wheel.axis),
            wheel.radius,
            None,
        )
        for wheel in machine.rigid_wheels
        if not wheel.frictionless
    )


def straight_poses(machine: Machine, wheels: Sequence[RollingWheel]) -> dict[str, Array]:
    """Return the (4, 4) poses of the links in the base frame in the first posture, steering joints at 0."""
    above = {joint.child: joint for joint in machine.joints}
    positions = initial_positions(machine)
    poses = link_poses(machine.links, machine.joints, positions)
    for wheel in wheels:
        positions.update((joint.name, 0.0) for joint in _steering(wheel, poses, above))
    return link_poses(machine.links, machine.joints, positions)


def base_height(machine: Machine, poses: Mapping[str, Array]) -> float:
    """Return the height of the base link above the ground at rest, m: by constraint, on springs, or from the file."""
    rigid = [
        wheel.radius - _centre(wheel, poses)[2] for wheel in constraint_wheels(machine) if wheel.radius is not None
    ]
    if rigid:
        return float(np.mean(rigid))
    resting = at_rest(machine)
    return machine.initial.base_position[2] if resting is None else resting[1].height


def units_of(
    machine: Machine, wheels: Sequence[RollingWheel], poses: Mapping[str, Array], height: float
) -> tuple[WheelUnit, ...]:
    """Return the units of wheels.

    Args:
        machine: the machine.
        wheels: of it.
        poses: of its links in the base frame.
        height: of the base link above the ground, m.

    Raises:
        NoVehicleError: an upright axle, an axle off the axis of its joint, two steering joints in a row.
    """
    above = {joint.child: joint for joint in machine.joints}
    radii = _radii(machine, wheels, poses, height)
    return tuple(_unit(machine, wheel, radius, poses, above) for wheel, radius in zip(wheels, radii))


def _radii(machine: Machine, wheels: Sequence[RollingWheel], poses: Mapping[str, Array], height: float) -> list[float]:
    """Return the heights of the centres at rest: radii of wheels by constraint, heights on deflected springs."""
    if any(wheel.radius is not None for wheel in wheels):
        heights = {wheel.name: height + float(_centre(wheel, poses)[2]) for wheel in wheels}
    else:
        resting = at_rest(machine)
        loads = np.zeros(len(machine.wheels)) if resting is None else resting[1].loads
        heights = {
            wheel.name: wheel.free_length - float(load) / wheel.stiffness for wheel, load in zip(machine.wheels, loads)
        }
    return [heights[wheel.name] if wheel.radius is None else wheel.radius for wheel in wheels]


def _centre(wheel: RollingWheel, poses: Mapping[str, Array]) -> Array:
    pose = poses[wheel.link]
    return np.asarray(pose[:3, :3] @ wheel.position + pose[:3, 3])


def _drive(wheel: RollingWheel, above: Mapping[str, Joint]) -> Joint:
    """Return the joint that turns a wheel. Raises NoVehicleError if none turns it about its axle."""
    joint = above.get(wheel.link)
    if joint is None or joint.type not in ('revolute', 'continuous'):
        actual = 'none' if joint is None else f'the {joint.type} joint {joint.name!r}'
        raise NoVehicleError(f'wheel {wheel.name!r}: expected a joint that turns link {wheel.link!r}, found {actual}')
    if np.linalg.norm(np.cross(joint.axis, wheel.axle)) > PARALLEL:
        raise NoVehicleError(f'wheel {wheel.name!r}: expected an axle along the axis of joint {joint.name!r}')
    if np.linalg.norm(np.cross(joint.axis, wheel.position)) > PARALLEL:
        raise NoVehicleError(f'wheel {wheel.name!r}: expected a centre on the axis of joint {joint.name!r}')
    return joint


def _chain(link: str, above: Mapping[str, Joint]) -> list[Joint]:
    """Return the joints between the base and a link, from the link upwards."""
    chain = []
    while link in above:
        chain.append(above[link])
        link = above[link].parent
    return chain


def _axis(joint: Joint, poses: Mapping[str, Array]) -> Array:
    """Return the axis of a joint in the base frame."""
    return np.asarray(poses[joint.parent][:3, :3] @ joint.origin[:3, :3] @ joint.axis)


def _steering(wheel: RollingWheel, poses: Mapping[str, Array], above: Mapping[str, Joint]) -> list[Joint]:
    """Return the joints above a wheel that turn about the vertical."""
    turning = [joint for joint in _chain(wheel.link, above)[1:] if joint.type in ('revolute', 'continuous')]
    return [joint for joint in turning if abs(_axis(joint, poses)[2]) > UPRIGHT]


def _unit(
    machine: Machine, wheel: RollingWheel, radius: float, poses: Mapping[str, Array], above: Mapping[str, Joint]
) -> WheelUnit:
    drive, steering = _drive(wheel, above), _steering(wheel, poses, above)
    if len(steering) > 1:
        names = ', '.join(joint.name for joint in steering)
        raise NoVehicleError(f'wheel {wheel.name!r}: expected one steering joint at most, found {names}')
    actuated = {joint.name for joint in machine.actuated_joints}
    axle = poses[wheel.link][:3, :3] @ wheel.axle
    if abs(axle[2]) > LYING:
        raise NoVehicleError(f'wheel {wheel.name!r}: expected an axle along the ground, found an inclined one')
    if abs(np.cos(wheel.roller_angle or 0.0)) < LYING:
        raise NoVehicleError(f'wheel {wheel.name!r}: expected rollers that are not parallel to the axle')
    centre = _centre(wheel, poses)[:2]
    joint = steering[0] if steering else None
    pivot, up = centre, 1.0
    if joint is not None:
        pivot = (poses[joint.parent] @ joint.origin)[:2, 3]
        up = float(np.sign(_axis(joint, poses)[2]))
    low, high = (-np.inf, np.inf) if joint is None else sorted((up * joint.lower, up * joint.upper))
    return WheelUnit(
        name=wheel.name,
        drive=drive.name,
        driven=drive.name in actuated,
        turn=float(np.sign(drive.axis @ wheel.axle)),
        steering=joint.name if joint else None,
        steered=joint is not None and joint.name in actuated,
        up=up,
        pivot=(float(pivot[0]), float(pivot[1])),
        offset=(float(centre[0] - pivot[0]), float(centre[1] - pivot[1])),
        heading=float(np.arctan2(-axle[0], axle[1])),  # axle x up
        roller_angle=wheel.roller_angle,
        radius=radius,
        drive_limits=(drive.velocity_limit, drive.effort_limit),
        steering_limits=(float(low), float(high)),
        steering_speed=joint.velocity_limit if joint else np.inf,
        steering_effort=joint.effort_limit if joint else np.inf,
        axial_inertia=moved_inertia(machine, drive, poses) + machine.armature(drive.name),
        steering_inertia=moved_inertia(machine, joint, poses) + machine.armature(joint.name) if joint else 0.0,
    )
