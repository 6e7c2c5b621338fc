"""Wheeled systems of the experiments: disc, two-wheeled cart, platform with four driven and steered wheels.

Parameter sets P-B and P-C of the specification of yesiloglu-2007. Every system has two forms: `arm`, the source's chain
of massless leg, lean and pivot to the ground, and `contact`, a rolling contact of the disc. x is the axle, to the
right; y the travel direction; z up. Forward motion turns a wheel about -x.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.constraints import Lock, RollingArm, RollingWheel
from dyn_nodes.constraints.rows import Constraint
from dyn_nodes.multibody import Tree, TreeBuilder
from dyn_nodes.studies.yesiloglu_2007.models import Model, X, Y, Z, turn_y

Form = Literal['arm', 'contact']
GRAVITY = (0.0, 0.0, -9.81)
DISC_MASS, DISC_RADIUS = 10.0, 0.3
DISC_AXIAL, DISC_DIAMETRAL = 0.5 * DISC_MASS * DISC_RADIUS**2, 0.25 * DISC_MASS * DISC_RADIUS**2
CART_RADIUS, CART_HALF_TRACK = 0.2, 0.3
PLATFORM_RADIUS, PLATFORM_SCRUB, PLATFORM_HEIGHT = 0.15, 0.08, 0.25
CORNERS = {'front_left': (-1, 1), 'front_right': (1, 1), 'rear_left': (-1, -1), 'rear_right': (1, -1)}


def axial(along: float, across: float) -> Array:
    """Return the central inertia of a wheel about the x axis, kg m2."""
    return np.diag([along, across, across])


def _roll(tree: TreeBuilder, name: str, wheel: int, radius: float, form: Form, helper: float = 0.0) -> None:
    """Add the source's arm from a wheel to the ground in the form `arm`; helper: kg and kg m2 per link."""
    if form == 'arm':
        leg = tree.add_joint(f'{name}_leg', wheel, 'revolute', X)
        lean = tree.add_joint(f'{name}_lean', leg, 'revolute', Y, p=(0.0, 0.0, -radius))
        pivot = tree.add_joint(f'{name}_pivot', lean, 'revolute', Z)
        for link in (leg, lean, pivot):
            tree.add_mass(link, helper, inertia=helper * np.eye(3))
    tree.add_frame(f'{name}_centre', wheel)


def _contacts(tree: Tree, radii: dict[str, float], form: Form) -> tuple[Constraint, ...]:
    frames = tree.frames
    if form == 'arm':
        return tuple(RollingArm(f'{name}_ground', frames[f'{name}_pivot'], f'{name}_leg') for name in radii)
    return tuple(RollingWheel(f'{name}_ground', frames[f'{name}_centre'], -X, radius) for name, radius in radii.items())


def disc(
    lean: float = 0.0,
    lean_rate: float = 0.0,
    yaw_rate: float = 0.0,
    spin_rate: float = 0.0,
    form: Form = 'arm',
    helper: float = 0.0,
) -> Model:
    """Return a rolling disc (section 6.8 of the specification).

    Args:
        lean: about the travel direction, rad.
        lean_rate: rad/s.
        yaw_rate: about the vertical, rad/s.
        spin_rate: of the leg against the wheel: positive rolls forward, rad/s.
        form: see the module docstring.
        helper: mass and inertia of the arm's links, kg and kg m2.
    """
    tree = TreeBuilder()
    wheel = tree.add_free('wheel', mass=DISC_MASS, inertia=axial(DISC_AXIAL, DISC_DIAMETRAL))
    _roll(tree, 'wheel', wheel, DISC_RADIUS, form, helper)
    built = tree.build()
    R = turn_y(lean)
    omega = np.array([0.0, lean_rate, yaw_rate]) - spin_rate * R[:, 0]
    centre = DISC_RADIUS * R[:, 2]
    q, v = built.neutral, np.zeros(built.nv)
    q[:3], q[3:7] = centre, [0.0, np.sin(0.5 * lean), 0.0, np.cos(0.5 * lean)]
    v[:3], v[3:6] = R.T @ omega, R.T @ np.cross(omega, centre)
    if form == 'arm':
        q[8] = -lean
        v[6:9] = spin_rate, -lean_rate, -yaw_rate
    return Model('disc', built, _contacts(built, {'wheel': DISC_RADIUS}, form), q, v, gravity=GRAVITY)


def cart(form: Form = 'arm', helper: float = 0.0) -> Model:
    """Return the two-wheeled cart at rest: a rod with a driven wheel at each end (set P-B, section 6.9)."""
    tree = TreeBuilder()
    rod = tree.add_free('rod', mass=10.0, inertia=np.diag([0.4, 0.5, 0.5]))
    for name, side in (('left', -1), ('right', 1)):
        mount = (side * CART_HALF_TRACK, 0.0, 0.0)
        wheel = tree.add_joint(f'{name}_drive', rod, 'revolute', X, p=mount, mass=2.0, inertia=axial(0.04, 0.02))
        _roll(tree, name, wheel, CART_RADIUS, form, helper)
    built = tree.build()
    q, v = built.neutral, np.zeros(built.nv)
    q[2] = CART_RADIUS
    contacts = _contacts(built, {'left': CART_RADIUS, 'right': CART_RADIUS}, form)
    return Model('cart', built, contacts, q, v, gravity=GRAVITY, actuated=('left_drive', 'right_drive'))


def platform(form: Form = 'arm', locked: bool = False, steering: dict[str, float] | None = None) -> Model:
    """Return the platform with four driven and steered wheels at rest (set P-C, section 6.10).

    Args:
        form: see the module docstring.
        locked: the steering joints are locked at their angles.
        steering: angles by corner, rad; default straight.
    """
    tree = TreeBuilder()
    backbone = tree.add_free('backbone', mass=80.0, inertia=np.diag([4.0, 2.5, 6.0]))
    for name, (side, end) in CORNERS.items():
        pivot = (0.25 * side, 0.35 * end, PLATFORM_RADIUS - PLATFORM_HEIGHT)
        offset = np.array([side * PLATFORM_SCRUB, 0.0, 0.0])
        steer = tree.add_joint(
            f'{name}_steer', backbone, 'revolute', Z, p=pivot,
            mass=2.0, com=0.5 * offset, inertia=np.diag([0.01, 0.01, 0.005]),
        )  # fmt: skip
        wheel = tree.add_joint(f'{name}_drive', steer, 'revolute', X, p=offset, mass=4.0, inertia=axial(0.045, 0.025))
        _roll(tree, name, wheel, PLATFORM_RADIUS, form)
    built = tree.build()
    q, v = built.neutral, np.zeros(built.nv)
    q[2] = PLATFORM_HEIGHT
    angles = {f'{name}_steer': angle for name, angle in (steering or {}).items()}
    for joint, angle in angles.items():
        q[built.position_names.index(joint)] = angle
        if form == 'arm':
            q[built.position_names.index(joint.replace('steer', 'pivot'))] = -angle
    constraints = _contacts(built, dict.fromkeys(CORNERS, PLATFORM_RADIUS), form)
    if locked:
        constraints += tuple(
            Lock(f'{name}_lock', f'{name}_steer', angles.get(f'{name}_steer', 0.0)) for name in CORNERS
        )
    actuated = tuple(f'{name}_{joint}' for name in CORNERS for joint in ('steer', 'drive'))
    return Model('platform_4x4x4', built, constraints, q, v, gravity=GRAVITY, actuated=actuated)


def turning_angles(distance: float) -> dict[str, float]:
    """Return the steering angles with which all axles intersect at (distance, 0) in the platform's frame, rad."""
    angles = {}
    for name, (side, end) in CORNERS.items():
        x, y = distance - 0.25 * side, -0.35 * end
        angles[name] = float(np.arctan2(y, x)) if x > 0 else float(np.arctan2(-y, -x))
    return angles


def forward(model: Model, torques: dict[str, float]) -> Array:
    """Return tau (nv,) for drive torques, forward positive, and steering torques by joint name, N m."""
    tau = np.zeros(model.tree.nv)
    for joint, torque in torques.items():
        sign = -1.0 if joint.endswith('_drive') else 1.0
        tau[model.tree.velocity_index(joint)] = sign * torque
    return tau
