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
                f'<link name="{body.name}"><inertial><origin xyz="{xyz}"/><mass value="{body.mass}"/>'
                f'<inertia ixx="{i}" '
                f'iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial><visual><origin xyz="{xyz}"/><geometry>'
                '<box size="1 1 1"/></geometry></visual></link>'
            )
        for body in self.bodies[1:]:
            lower, upper = body.limits
            parts.append(
                f'<joint name="{body.name}_joint" type="{body.joint}"><origin xyz="{" ".join(map(str, body.origin))}"/>'
                f'<parent link="{body.parent}"/><child link="{body.name}"/>'
                f'<axis xyz="{" ".join(map(str, body.axis))}"/>'
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
            lines.append(
                f'  {name}: {{link: {on}, position: [{at[0]}, {at[1]}, {at[2] + 0.5}], friction_point: ground}}'
            )
        return '\n'.join(lines) + '\n' + self.extra

    # ------------------------------------------------------------------------------------------------- statics by hand

    def poses(self, joints):
        """Return rotation and origin of every body at positions of the joints, base axes."""
        computed = self.__dict__.setdefault('computed', {})
        key = id(self.bodies), tuple(sorted(joints.items()))
        if key not in computed:
            computed[key] = self._poses(joints)
        return computed[key]

    def _poses(self, joints):
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
    for _ in range(36):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if value(middle) > 0.0 else (low, middle)
    return high


def first_zero_of_lines(values, most):
    """Return the first zero of the least of some linear functions, from their values at 0 and `most`; inf: none."""
    start, end = values(0.0), values(most)
    falling = end <= 0.0
    return max((most * start / (start - end))[falling].min(), 0.0) if falling.any() else np.inf


def edge_distances(sketch, joints, gravity, payload, names):
    """Return the distances, m, of the weight's point on the ground inside the edges between wheels, in their order."""
    mass, points = sketch.masses(joints)
    center = np.append(mass, payload) @ np.vstack([points, sketch.mount(joints)]) / (mass.sum() + payload)
    at = center[:2] - center[2] / gravity[2] * np.array(gravity[:2])
    feet = np.array(sketch.feet(joints, names))[:, :2]
    along = np.roll(feet, -1, axis=0) - feet
    inward = np.column_stack([-along[:, 1], along[:, 0]]) / np.linalg.norm(along, axis=1, keepdims=True)
    return ((at - feet) * inward).sum(axis=1)


def edge_moments(sketch, joints, gravity, payload, names):
    """Return the moments about the edges, kg m: the distances times the mass; they are linear in the payload."""
    mass = sketch.masses(joints)[0].sum() + payload
    return mass * edge_distances(sketch, joints, gravity, payload, names)


def reserves(sketch, joints, gravity, payload):
    """Return numbers that are positive if the machine is stable: loads of the wheels, or moments about the edges."""
    if sketch.free:
        return wheel_loads(sketch, joints, gravity, payload)
    return edge_moments(sketch, joints, gravity, payload, TYRES)


def hand_gravity(slope, heading):
    return G * np.array([np.sin(slope) * np.cos(heading), np.sin(slope) * np.sin(heading), -np.cos(slope)])


def hand_payload(sketch, joints, slope=0.0, heading=0.0):
    """Return the tipping load, kg."""
    return first_zero_of_lines(lambda load: reserves(sketch, joints, hand_gravity(slope, heading), load), 1e5)


def hand_slope(sketch, joints, headings, payload):
    """Return the slope at which the machine tips on the worst heading, rad."""
    return min(
        first_zero(lambda a, h=h: reserves(sketch, joints, hand_gravity(a, h), payload).min(), 1.2) for h in headings
    )


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


def truck(mass=3200.0, wheelbase=1.6, track=0.95, reach=False, **options):
    """Return a forklift: mast that tilts, lift, pivoted rear axle; or a reach truck with a mast that slides."""
    half = track / 2
    ahead = wheelbase if not reach else 0.55 * wheelbase
    bodies = [
        Body('chassis', mass, (0.42 * wheelbase, 0.0, 0.6)),
        Body('axle', 250.0, (0.0, 0.0, 0.0), 'chassis', 'revolute', (0.0, 0.0, 0.35), (1, 0, 0), (-0.1, 0.1)),
        Body('slide', 60.0, (0.0, 0.0, 0.2), 'chassis', 'prismatic', (ahead, 0.0, 0.1), (1, 0, 0), (0.0, 0.6)),
        Body('mast', 420.0, (0.15, 0.0, 1.1), 'slide', 'revolute', (0.2, 0.0, 0.1), (0, 1, 0), (-0.1, 0.08)),
        Body('fork', 180.0, (0.3, 0.0, 0.2), 'mast', 'prismatic', (0.25, 0.0, 0.0), (0, 0, 1), (0.0, 3.3)),
    ]
    if not reach:
        bodies[2].joint = 'fixed'
    wheels = {
        'front_left': ('chassis', (wheelbase, half, 0.0)),
        'front_right': ('chassis', (wheelbase, -half, 0.0)),
        'rear_left': ('axle', (0.0, half, -0.35)),
        'rear_right': ('axle', (0.0, -half, -0.35)),
    }
    options = {'limit': 1500.0, **options}
    return Sketch(bodies, wheels, ('fork', (0.5, 0.0, 0.5)), ('axle_joint',), **options)


def handler(mass=6500.0, wheelbase=2.9, track=1.9, slews=False, **options):
    """Return a telehandler: luffing telescope with forks; on a pivoted axle, or slewing on rigid axles."""
    half, pivot = track / 2, 0.0 if slews else -0.3
    bodies = [
        Body('chassis', mass, (0.44 * wheelbase, 0.0, 0.9)),
        Body('axle', 400.0, (0.0, 0.0, 0.0), 'chassis', 'revolute', (0.0, 0.0, 0.6), (1, 0, 0), (-0.15, 0.15)),
        Body(
            'column',
            900.0,
            (-0.4, 0.0, 0.2),
            'chassis',
            'revolute',
            (0.5 * wheelbase, 0.0, 1.2),
            (0, 0, 1),
            (-3.2, 3.2),
        ),
        Body('boom', 600.0, (1.6, 0.0, 0.0), 'column', 'revolute', (pivot - 1.2, 0.0, 0.5), (0, -1, 0), (-0.1, 1.1)),
        Body('tip', 300.0, (-1.2, 0.0, 0.0), 'boom', 'prismatic', (3.5, 0.0, 0.0), (1, 0, 0), (0.0, 2.5)),
        Body('fork', 250.0, (0.3, 0.0, -0.1), 'tip', 'revolute', (0.3, 0.0, -0.5), (0, -1, 0), (-1.3, 0.6)),
    ]
    wheels = {
        'front_left': ('chassis', (wheelbase, half, 0.0)),
        'front_right': ('chassis', (wheelbase, -half, 0.0)),
        'rear_left': ('axle', (0.0, half, -0.6)),
        'rear_right': ('axle', (0.0, -half, -0.6)),
    }
    if slews:
        bodies[1].joint = 'fixed'
    else:
        bodies[2].joint = 'fixed'
    options = {'limit': 2000.0, **options}
    return Sketch(bodies, wheels, ('fork', (0.6, 0.0, 0.3)), () if slews else ('axle_joint',), **options)


def crane(mass=16000.0, base=5.0, spread=5.4, beams=True, side=False, **options):
    """Return a crane on wheels with four outriggers, their beams along y: slewing, luffing, telescoping boom."""
    bodies = [
        Body('chassis', mass, (0.0, 0.0, 1.1)),
        Body('column', 4000.0, (-1.2, 0.0, 0.6), 'chassis', 'revolute', (-0.3, 0.0, 1.6), (0, 0, 1), (-3.2, 3.2)),
        Body('boom', 2500.0, (3.5, 0.0, 0.0), 'column', 'revolute', (-0.8, 0.0, 0.9), (0, -1, 0), (-0.05, 1.3)),
        Body('tip', 1200.0, (-2.5, 0.0, 0.0), 'boom', 'prismatic', (8.0, 0.0, 0.0), (1, 0, 0), (0.0, 6.0)),
    ]
    wheels, half, inner = {}, spread / 2, 1.1
    for end, x in (('front', base / 2), ('rear', -base / 2)):
        for name, y in (('left', 1.0), ('right', -1.0)):
            travel = half - inner if beams else 0.01
            start = inner if beams else half - 0.01
            bodies.append(
                Body(
                    f'{end}_{name}_beam',
                    120.0,
                    (0, 0, 0),
                    'chassis',
                    'prismatic',
                    (x, y * start, 0.6),
                    (0, y, 0),
                    (0.0, travel),
                )
            )
            if not beams:
                bodies[-1].joint, bodies[-1].origin = 'fixed', (x, y * half, 0.6)
            bodies.append(
                Body(
                    f'{end}_{name}_leg',
                    60.0,
                    (0, 0, 0),
                    f'{end}_{name}_beam',
                    'prismatic',
                    (0, 0, 0),
                    (0, 0, -1),
                    (0.0, 0.9),
                )
            )
            wheels[f'{end}_{name}_pad'] = f'{end}_{name}_leg', (0.0, 0.0, -0.2)
            wheels[f'{end}_{name}'] = 'chassis', (0.7 * x, 1.1 * y, 0.0)
    return Sketch(bodies, wheels, ('tip', (0.3, 0.0, -0.5)), (), limit=options.pop('limit', 20000.0), **options)


def side_boom(mass=15000.0, wheelbase=3.0, track=2.0, **options):
    """Return a wheeled machine with a boom that luffs to the left, on an oscillating axle."""
    half = track / 2
    bodies = [
        Body('chassis', mass, (0.5 * wheelbase, -0.1, 1.1)),
        Body('axle', 600.0, (0.0, 0.0, 0.0), 'chassis', 'revolute', (0.0, 0.0, 0.7), (1, 0, 0), (-0.2, 0.2)),
        Body(
            'boom', 700.0, (0.0, 2.0, 0.0), 'chassis', 'revolute', (0.45 * wheelbase, 0.9, 1.0), (1, 0, 0), (0.1, 1.4)
        ),
    ]
    wheels = {
        'front_left': ('chassis', (wheelbase, half, 0.0)),
        'front_right': ('chassis', (wheelbase, -half, 0.0)),
        'rear_left': ('axle', (0.0, half, -0.7)),
        'rear_right': ('axle', (0.0, -half, -0.7)),
    }
    return Sketch(
        bodies, wheels, ('boom', (0.0, 5.0, 0.0)), ('axle_joint',), limit=options.pop('limit', 8000.0), **options
    )


def polygon_payload(sketch, joints, names):
    """Return the tipping load about the edges between supports, in counter-clockwise order, kg."""
    return first_zero_of_lines(lambda load: edge_moments(sketch, joints, hand_gravity(0.0, 0.0), load, names), 1e6)


def moment_ratio(sketch, joints, names, load, forces):
    """Return the least stabilising over overturning moment about the edges between supports.

    Forces are horizontal, towards the edge: size, N, and height above the ground, m.
    """
    mass, points = sketch.masses(joints)
    feet, mount = np.array(sketch.feet(joints, names))[:, :2], sketch.mount(joints)[:2]
    along = np.roll(feet, -1, axis=0) - feet
    inward = np.column_stack([-along[:, 1], along[:, 0]]) / np.linalg.norm(along, axis=1, keepdims=True)
    ratios = []
    for foot, n in zip(feet, inward):
        weight, lever = G * mass @ ((points[:, :2] - foot) @ n), G * load * ((mount - foot) @ n)
        push = sum(size * height for size, height in forces)
        ratios.append((weight + max(lever, 0.0)) / (push + max(-lever, 0.0)))
    return min(ratios)


PADS = ('rear_left_pad', 'rear_right_pad', 'front_right_pad', 'front_left_pad')
TYRES = ('rear_left', 'rear_right', 'front_right', 'front_left')
