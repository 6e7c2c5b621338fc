"""Machines of a few bodies for the tests of standards, as URDF and YAML, with statics by hand.

Frames: x forward, z up, the base link on the ground below the middle of the rear axle. Point masses; rigid-like tyres.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dyn_nodes.model import load_machine

G = 9.81


@dataclass
class Body:
    """A body: mass, kg, centre of mass in its frame, m; joint to its parent: type, origin, axis and limits."""

    name: str
    mass: float
    com: tuple
    parent: str = ''
    joint: str = 'fixed'
    origin: tuple = (0.0, 0.0, 0.0)
    axis: tuple = (0.0, 0.0, 1.0)
    limits: tuple = (-1.0, 1.0)


@dataclass
class Sketch:
    """A machine: bodies, base first; wheels by name: link, contact point in the link, m; free joints; payload."""

    bodies: list
    wheels: dict
    payload: tuple
    free: tuple = ()
    start: dict = field(default_factory=dict)
    stiffness: float = 1e8
    limit: float = 5000.0
    extra: str = ''

    def joint_names(self):
        return [f'{body.name}_joint' for body in self.bodies[1:]]

    def load(self, folder, changes=None):
        """Write the files and return the machine."""
        urdf, config = folder / 'sketch.urdf', folder / 'sketch.yaml'
        urdf.write_text(self.urdf())
        config.write_text(self.yaml())
        return load_machine(urdf, config, changes or {})

    def urdf(self):
        parts = ['<robot name="sketch">']
        for body in self.bodies:
            xyz, i = ' '.join(map(str, body.com)), 0.2 * body.mass
            parts.append(
                f'<link name="{body.name}"><inertial><origin xyz="{xyz}"/><mass value="{body.mass}"/><inertia ixx="{i}" '
                f'iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial><visual><origin xyz="{xyz}"/><geometry>'
                '<box size="1 1 1"/></geometry></visual></link>'
            )
        for body in self.bodies[1:]:
            lower, upper = body.limits
            parts.append(
                f'<joint name="{body.name}_joint" type="{body.joint}"><origin xyz="{" ".join(map(str, body.origin))}"/>'
                f'<parent link="{body.parent}"/><child link="{body.name}"/><axis xyz="{" ".join(map(str, body.axis))}"/>'
                f'<limit lower="{lower}" upper="{upper}" effort="1e6" velocity="1"/></joint>'
            )
        return '\n'.join([*parts, '</robot>'])

    def yaml(self):
        link, point = self.payload
        lines = [
            'name: sketch',
            f'base: {{link: {self.bodies[0].name}, attachment: free}}',
            f'initial: {{settle: true, joint_positions: {{{", ".join(f"{k}: {v}" for k, v in self.start.items())}}}}}',
            f'payload: {{link: {link}, position: {list(point)}, mass: 0.0, limit: {self.limit}}}',
            f'defaults: {{wheel: {{stiffness: {self.stiffness}, damping: 1.0e4, free_length: 0.5, '
            'friction: {static: 0.9, kinetic: 0.9, bristle_stiffness: 100}}}',
        ]
        if self.free:
            lines.append(f'joints: {{{", ".join(f"{name}: {{class: free}}" for name in self.free)}}}')
        lines.append('wheels:')
        for name, (on, at) in self.wheels.items():
            lines.append(f'  {name}: {{link: {on}, position: [{at[0]}, {at[1]}, {at[2] + 0.5}]}}')
        return '\n'.join(lines) + '\n' + self.extra

    # ------------------------------------------------------------------------------------------------- statics by hand

    def poses(self, joints):
        """Return rotation and origin of every body at positions of the joints, base axes."""
        at = {self.bodies[0].name: (np.eye(3), np.zeros(3))}
        for body in self.bodies[1:]:
            rotation, origin = at[body.parent]
            origin, q = origin + rotation @ np.array(body.origin), joints.get(f'{body.name}_joint', 0.0)
            axis = np.array(body.axis, dtype=float)
            if body.joint == 'prismatic':
                origin = origin + rotation @ axis * q
            elif body.joint != 'fixed':
                skew = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
                rotation = rotation @ (np.eye(3) + np.sin(q) * skew + (1 - np.cos(q)) * skew @ skew)
            at[body.name] = rotation, origin
        return at

    def masses(self, joints, skip=()):
        """Return masses (n,) and their positions (n, 3), of all bodies but some."""
        at = self.poses(joints)
        some = [body for body in self.bodies if body.name not in skip]
        points = [at[body.name][0] @ np.array(body.com) + at[body.name][1] for body in some]
        return np.array([body.mass for body in some]), np.array(points)

    def mount(self, joints):
        rotation, origin = self.poses(joints)[self.payload[0]]
        return rotation @ np.array(self.payload[1]) + origin

    def feet(self, joints, names):
        at = self.poses(joints)
        return [at[self.wheels[n][0]][0] @ np.array(self.wheels[n][1]) + at[self.wheels[n][0]][1] for n in names]


def inward(one, two):
    """Return the horizontal unit vector to the left of the line from one point to another."""
    along = (np.array(two) - np.array(one))[:2]
    return np.array([-along[1], along[0]]) / np.linalg.norm(along)


def hand_payload(sketch, joints, axes):
    """Return the tipping load about axes, kg.

    An axis is two points with the machine on the left, and the names of bodies that do not tip.
    """
    loads = [np.inf]
    for one, two, skip in axes:
        mass, points = sketch.masses(joints, skip)
        n = inward(one, two)
        lever = (sketch.mount(joints)[:2] - np.array(one)[:2]) @ n
        if lever < 0.0:
            loads.append(mass @ ((points[:, :2] - np.array(one)[:2]) @ n) / -lever)
    return min(loads)


def wheel_loads(sketch, joints, gravity, payload):
    """Return the loads of four wheels, two on an axle that turns about its joint, N.

    All reactions are parallel to gravity. Three equations balance the machine, one balances the axle about its pivot.
    """
    (mass, points), down = sketch.masses(joints), np.array(gravity) / np.linalg.norm(gravity)
    names = list(sketch.wheels)
    feet = np.array(sketch.feet(joints, names))
    points, mass = np.vstack([points, sketch.mount(joints)]), np.append(mass, payload)
    weight = np.linalg.norm(gravity)
    across = np.cross(down, [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    rows = [np.ones(4), *(across @ np.cross(feet, down).T)]
    right = [weight * mass.sum(), *(across @ np.cross(points, weight * down).T @ mass)]
    rotation, pivot = sketch.poses(joints)[sketch.free[0].removesuffix('_joint')]
    axis = rotation @ np.array([1.0, 0.0, 0.0])
    on_axle = np.array([sketch.wheels[name][0] in sketch.free[0] for name in names])
    rows.append(on_axle * (np.cross(feet - pivot, down) @ axis))
    right.append(0.0)  # the axle's centre of mass is on the pivot
    return np.linalg.solve(np.array(rows), np.array(right))


def first_zero(value, most):
    """Return the first zero of a function that is positive at 0; inf if it is positive up to `most`."""
    low, high = 0.0, most
    if value(high) > 0.0:
        return np.inf
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if value(middle) > 0.0 else (low, middle)
    return high


def pivoted_payload(sketch, joints):
    """Return the tipping load of a machine with a pivoted axle, kg."""
    return first_zero(lambda load: wheel_loads(sketch, joints, [0.0, 0.0, -G], load).min(), 1e5)


def pivoted_slope(sketch, joints, heading, payload):
    """Return the slope at which the first wheel of a machine with a pivoted axle has no load, rad."""

    def least(angle):
        down = [np.sin(angle) * np.cos(heading), np.sin(angle) * np.sin(heading), -np.cos(angle)]
        return wheel_loads(sketch, joints, G * np.array(down), payload).min()

    return first_zero(least, 1.2)


def loader(mass=9000.0, wheelbase=3.2, track=1.8, **options):
    """Return a wheel loader: rear frame with oscillating axle, articulation, front frame, lift arm."""
    half, back = track / 2, wheelbase / 2
    bodies = [
        Body('rear', mass, (0.15, 0.0, 1.2)),
        Body('axle', 700.0, (0.0, 0.0, 0.0), 'rear', 'revolute', (0.0, 0.0, 0.7), (1, 0, 0), (-0.2, 0.2)),
        Body('front', 2500.0, (1.2, 0.0, 0.9), 'rear', 'revolute', (back, 0.0, 0.0), (0, 0, 1), (-0.65, 0.65)),
        Body('arm', 1100.0, (1.1, 0.0, -0.2), 'front', 'revolute', (0.9, 0.0, 1.8), (0, -1, 0), (-0.8, 0.8)),
        Body('bucket', 800.0, (0.2, 0.0, 0.0), 'arm', 'revolute', (2.0, 0.0, -0.3), (0, -1, 0), (-1.0, 1.0)),
    ]
    wheels = {
        'front_left': ('front', (back, half, 0.0)),
        'front_right': ('front', (back, -half, 0.0)),
        'rear_left': ('axle', (0.0, half, -0.7)),
        'rear_right': ('axle', (0.0, -half, -0.7)),
    }
    return Sketch(bodies, wheels, ('bucket', (0.3, 0.0, 0.1)), ('axle_joint',), **options)
