"""RM-1 as a constrained system in space: bodies, massless rolling wheels, a castor without horizontal force.

The base is a chain of joints x, y, z, yaw, pitch, roll at the vehicle's mass centre; the driven wheels are the joints
`left` and `right`, the arm's joints `q1` to `q3`, its hand the frame `hand`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import ConstraintBlocks, RollingWheel
from dyn_nodes.constraints.kane import Mount, mount_at
from dyn_nodes.constraints.kane.mounts import FixedMass
from dyn_nodes.constraints.rows import Constraint
from dyn_nodes.constraints.steering import HeadingSteering
from dyn_nodes.multibody import Frame, TreeBuilder
from dyn_nodes.studies.tanner_1998.robot import AXLE, CENTERS, GRAVITY, HEIGHT, INERTIAS, LINKS, MASSES, MOUNT, WHEELS

X, Y, Z = np.eye(3)
RADIUS = 0.1
ARM = ('q1', 'q2', 'q3')
SPEEDS = ('x', 'y', *ARM)
"""Independent speeds of the source: velocity of the vehicle's mass centre in the world, rates of the arm."""
VEHICLE_MASS, VEHICLE_INERTIA = 60.0, (2.0, 3.0, 4.0)
LINK_0 = FixedMass(4.0, MOUNT + np.array([0.0, 0.0, 0.05]), np.diag((0.02, 0.02, 0.015)))
S0 = np.array([0.3, -0.2, 0.5, 0.4, 0.6, -0.9])
"""x, y, yaw, q1, q2, q3 of the reference state, m and rad."""
S0_SPEED, S0_TURN, S0_RATES = 0.5, 0.8, (0.3, -0.4, 0.7)
"""Speed of the axle, m/s, rate of turning, rad/s, rates of the arm, rad/s."""
T0_JOINTS, T0_DRIVES = (2.0, 30.0, 8.0), (3.0, 2.0)
"""Efforts of the arm's joints, and of the left and the right wheel, N m."""
STEERED = np.array([0.4, 0.1])
"""Centre of the single steered wheel of E1 and E4 from the vehicle's mass centre, m."""
STEERING_RATIO, STEERING_OFFSET = 0.3, 0.1


@dataclass(frozen=True, eq=False)
class Robot:
    """A vehicle with an arm as a constrained system.

    Attributes:
        blocks: tree, contacts, gravity.
        mount: where the arm is bolted to the vehicle.
        drives: names of the driven wheels' joints and of the steering joint, if any.
    """

    blocks: ConstraintBlocks
    mount: Mount
    drives: tuple[str, ...]

    @property
    def hand(self) -> Frame:
        """The grasp point."""
        return self.blocks.tree.frame('hand')

    def position(self, at: ArrayLike) -> Array:
        """Return the position (nq,) from x, y, yaw and arm angles (6,); height and steering are computed."""
        tree = self.blocks.tree
        q = tree.neutral
        x, y, yaw, *arm = np.asarray(at, dtype=float)
        values = {'x': x, 'y': y, 'z': HEIGHT, 'yaw': yaw, **dict(zip(ARM, arm))}
        if 'steer' in tree.position_names:
            values['steer'] = STEERING_RATIO * yaw + STEERING_OFFSET
        for name, value in values.items():
            q[tree.position_names.index(name)] = value
        return q

    def velocity(self, u: ArrayLike) -> Array:
        """Return the velocity (nv,) with the independent speeds (5,) of the source; dependent velocities are zero."""
        v = np.zeros(self.blocks.tree.nv)
        v[[self.blocks.tree.velocity_index(name) for name in SPEEDS]] = u
        return v

    def efforts(self, joints: Sequence[float], drives: Sequence[float]) -> Array:
        """Return all efforts (nv,) for efforts of the arm joints and of `drives`, N m."""
        tau = np.zeros(self.blocks.tree.nv)
        for name, effort in zip((*ARM, *self.drives), (*joints, *drives), strict=True):
            tau[self.blocks.tree.velocity_index(name)] = effort
        return tau

    def state(self, q: Array) -> Array:
        """Return x, y, yaw and the arm's angles (6,) of a position (nq,)."""
        names = self.blocks.tree.position_names
        return q[[names.index(name) for name in ('x', 'y', 'yaw', *ARM)]]


def axle_speeds(yaw: float, speed: float, turn: float, rates: Sequence[float], axle: float = AXLE) -> Array:
    """Return the source's speeds (5,) from the speed of the axle's middle, `axle` m behind the mass centre."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([speed * c - axle * turn * s, speed * s + axle * turn * c, *rates])


def _base(tree: TreeBuilder) -> int:
    carrier = -1
    for name, axis in (('x', X), ('y', Y), ('z', Z)):
        carrier = tree.add_joint(name, carrier, 'prismatic', axis)
    for name, axis in (('yaw', Z), ('pitch', Y), ('roll', X)):
        carrier = tree.add_joint(name, carrier, 'revolute', axis)
    return carrier


def _about_x(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([(1.0, 0.0, 0.0), (0.0, c, -s), (0.0, s, c)])


def _arm(tree: TreeBuilder, vehicle: int, scale: float) -> None:
    """Add the arm; each body frame is its joint frame, with the distal joint frame fixed in it."""
    tree.add_mass(vehicle, scale * LINK_0.mass, LINK_0.com, scale * LINK_0.inertia)
    carrier, R, p = vehicle, np.eye(3), MOUNT
    for name, (d, a, alpha), mass, com, inertia in zip(ARM, LINKS, MASSES, CENTERS, INERTIAS):
        carrier = tree.add_joint(name, carrier, 'revolute', Z, R=R, p=p)
        R, p = _about_x(alpha), np.array([a, 0.0, d])
        tree.add_mass(carrier, scale * mass, com, scale * np.diag(inertia), R=R, p=p)
    tree.add_frame('hand', carrier, R=R, p=p)


@cache
def rm_1(arm_scale: float = 1.0) -> Robot:
    """Return the reference robot.

    Args:
        arm_scale: factor of all masses and inertias of the arm; near 0 leaves the vehicle alone.
    """
    tree = TreeBuilder()
    vehicle = _base(tree)
    tree.add_mass(vehicle, VEHICLE_MASS, inertia=np.diag(VEHICLE_INERTIA))
    for name, point in zip(('left', 'right'), WHEELS):
        tree.add_joint(name, vehicle, 'revolute', Y, p=(point[0], point[1], RADIUS - HEIGHT))
    _arm(tree, vehicle, arm_scale)
    frames = {name: tree.frames[name] for name in ('left', 'right')}
    castor = tree.add_frame('castor', vehicle, p=(WHEELS[2][0], WHEELS[2][1], RADIUS - HEIGHT))
    tree.add_frame('axle', vehicle, p=(-AXLE, 0.0, RADIUS - HEIGHT))
    contacts: list[Constraint] = [RollingWheel(f'{name}_ground', frame, Y, RADIUS) for name, frame in frames.items()]
    contacts.append(RollingWheel('castor_ground', castor, Y, RADIUS, frictionless=True))
    return _robot(tree, contacts, ('left', 'right'), arm_scale)


@cache
def steered_robot() -> Robot:
    """Return RM-1 on one driven wheel whose steering follows the heading, and two castors (E4)."""
    tree = TreeBuilder()
    vehicle = _base(tree)
    tree.add_mass(vehicle, VEHICLE_MASS, inertia=np.diag(VEHICLE_INERTIA))
    fork = tree.add_joint('steer', vehicle, 'revolute', Z, p=(STEERED[0], STEERED[1], RADIUS - HEIGHT))
    tree.add_joint('wheel', fork, 'revolute', Y)
    _arm(tree, vehicle, 1.0)
    heading = tree.add_frame('vehicle', vehicle)
    contacts: list[Constraint] = [
        RollingWheel('wheel_ground', tree.frames['wheel'], Y, RADIUS),
        HeadingSteering('steering', 'steer', heading, STEERING_RATIO, STEERING_OFFSET),
    ]
    for name, point in zip(('left', 'right'), WHEELS):
        castor = tree.add_frame(name, vehicle, p=(point[0], point[1], RADIUS - HEIGHT))
        contacts.append(RollingWheel(f'{name}_ground', castor, Y, RADIUS, frictionless=True))
    return _robot(tree, contacts, ('wheel', 'steer'), 1.0)


def _robot(tree: TreeBuilder, contacts: list[Constraint], drives: tuple[str, ...], scale: float) -> Robot:
    built = tree.build()
    link_0 = FixedMass(scale * LINK_0.mass, LINK_0.com, scale * LINK_0.inertia)
    mount = mount_at(built, ARM[0], (link_0,), Frame(built.bodies[built.body(ARM[0])].parent, np.eye(3), MOUNT))
    return Robot(ConstraintBlocks(built, contacts, gravity=GRAVITY.tolist()), mount, drives)
