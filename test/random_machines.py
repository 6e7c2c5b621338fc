"""Random machines on springs with compliant running gear, idle pads, constraints and slopes; and their equilibrium.

The equilibrium minimises the potential of weight and springs by SciPy, on separate kinematics.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine

GEARS = ('rigid', 'axle', 'bogies', 'suspended', 'differential', 'tie rod', 'linkage')
GRAVITY = 9.81
FRICTION = 'friction: {static: 1.5, kinetic: 1.4}'
LEVEL = (0.0, 0.0)
OVERLOAD = 5.0
"""Load factor of every tenth machine: some of these tip over."""
TILTED = 0.7
"""Roll or pitch of an overturned base, rad."""
STILL = 1e-6
"""Greatest slope of the potential over the weight at rest, 1 or m."""


@dataclass
class Body:
    """A link with the joint that carries it: axis None is fixed; `free` joints are unknowns of the equilibrium."""

    name: str
    parent: str
    mass: float
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    axis: tuple[int, int, int] | None = None
    kind: str = 'revolute'
    limits: tuple[float, float] = (-1.0, 1.0)
    start: float = 0.0
    keys: str = ''
    stiffness: float = 0.0
    free: bool = False


@dataclass
class Foot:
    name: str
    link: str
    at: tuple[float, float, float]
    stiffness: float
    length: float


@dataclass
class Mechanism:
    """A machine for the equilibrium, and the text of its files.

    Attributes:
        opposed: names of two joints with opposite positions; the first one is an unknown.
        joints: positions of known joints by name of the link; default: at the start.
        stops: stiffness of the stops of joints by name of the link.
    """

    name: str
    gear: str
    bodies: list[Body]
    feet: list[Foot]
    slope: tuple[float, float]
    constraints: str = ''
    opposed: tuple[str, str] | None = None
    joints: dict[str, float] = field(default_factory=dict)
    stops: dict[str, float] = field(default_factory=dict)

    # -- files ---------------------------------------------------------------------------------------------------------

    def written(self, folder: Path, slope: bool = True) -> Machine:
        """Return the machine of its files, with the slope in the file or on level ground."""
        urdf, config = folder / f'{self.name}.urdf', folder / f'{self.name}_{slope}.yaml'
        urdf.write_text(f'<robot name="{self.name}">{"".join(map(_urdf, self.bodies))}</robot>')
        config.write_text(self._yaml(slope))
        return load_machine(urdf, config)

    def _yaml(self, slope: bool) -> str:
        start = ', '.join(f'{item.name}_joint: {item.start!r}' for item in self.bodies if item.axis)
        lines = [f'name: {self.name}', 'base: {attachment: free}', f'initial: {{joint_positions: {{{start}}}}}']
        if slope and any(self.slope):
            lines.append(f'slope: {{roll: {self.slope[0]!r}, pitch: {self.slope[1]!r}}}')
        lines.append('wheels:')
        lines += [
            f'  {item.name}: {{link: {item.link}, position: {list(item.at)}, stiffness: {item.stiffness!r}, '
            f'damping: {0.02 * item.stiffness!r}, free_length: {item.length!r}, {FRICTION}}}'
            for item in self.feet
        ]
        classes = [f'  {item.name}_joint: {{{item.keys}}}' for item in self.bodies if item.keys]
        lines += ['joints:', *classes] if classes else []
        return '\n'.join(lines) + '\n' + self.constraints

    # -- equilibrium ---------------------------------------------------------------------------------------------------

    @property
    def unknowns(self) -> list[str]:
        free = [body.name for body in self.bodies if body.free]
        return [name for name in free if self.opposed is None or name != self.opposed[1]]

    def energy(self, unknowns: np.ndarray, slope: tuple[float, float]) -> float:
        """Return the potential, J, at height, roll, pitch and joints; friction fixes the horizontal position."""
        poses = self._poses(unknowns)
        down = -GRAVITY * _up_of(slope)
        total = 0.0
        for body in self.bodies:
            R, p = poses[body.name]
            total -= body.mass * float(down @ (R @ body.com + p))
        values = self._values(unknowns)
        total += sum(0.5 * body.stiffness * values[body.name] ** 2 for body in self.bodies if body.stiffness)
        for body in self.bodies:
            if body.free:
                beyond = max(body.limits[0] - values[body.name], values[body.name] - body.limits[1], 0.0)
                total += 0.5 * self.stops.get(body.name, 2e6) * beyond**2
        for foot in self.feet:
            R, p = poses[foot.link]
            total += 0.5 * foot.stiffness * max(0.0, foot.length - float((R @ foot.at + p)[2])) ** 2
        return total

    def _values(self, unknowns: np.ndarray) -> dict[str, float]:
        values = {body.name: self.joints.get(body.name, body.start) for body in self.bodies if body.axis}
        values |= dict(zip(self.unknowns, map(float, unknowns[3:])))
        if self.opposed is not None:
            values[self.opposed[1]] = -values[self.opposed[0]]
        return values

    def _poses(self, unknowns: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        values = self._values(unknowns)
        R = Rotation.from_euler('xy', unknowns[1:3]).as_matrix()
        poses = {self.bodies[0].name: (R, unknowns[0] / R[2, 2] * R[:, 2])}
        for body in self.bodies[1:]:
            R, p = poses[body.parent]
            p, turn = p + R @ body.at, np.eye(3)
            if body.axis and body.kind == 'revolute':
                turn = Rotation.from_rotvec(values[body.name] * np.array(body.axis)).as_matrix()
            elif body.axis:
                p = p + R @ (values[body.name] * np.array(body.axis))
            poses[body.name] = (R @ turn, p)
        return poses

    def rest(self, slope: tuple[float, float] | None = None) -> np.ndarray | None:
        """Return height, roll, pitch and joints at rest; None if it overturns."""
        slope = self.slope if slope is None else slope
        x = np.array([0.0, 0.0, 0.0, *(body.start for body in self.bodies if body.name in self.unknowns)])
        scale = 1.0 / (GRAVITY * sum(body.mass for body in self.bodies))
        for _ in range(20):  # BFGS ends at the kinks of lifting wheels; the simplex method continues
            for method in ('BFGS', 'Nelder-Mead'):
                with np.errstate(all='ignore'):  # trials near a pitch of 90 degrees
                    result = minimize(lambda u: scale * self.energy(u, slope), x, method=method)
                x = result.x
                if np.abs(x[1:3]).max() > TILTED:
                    return None
                if method == 'BFGS' and np.abs(result.jac).max() < STILL:
                    return x
        return x

    def slack(self, unknowns: np.ndarray) -> tuple[float, float]:
        """Return the greatest slope of the potential over the weight, and its least curvature, on level ground.

        At a stable rest the first is round-off and the second is positive, over the weight, 1/m; it is zero for a beam
        whose wheels are all in the air.
        """
        scale = 1.0 / (GRAVITY * sum(body.mass for body in self.bodies))
        steps = 1e-5 * np.eye(len(unknowns))
        small = 1e-3 * steps  # a stiff pad that just touches is compressed by less than a micrometre
        gradient = [self.energy(unknowns + body, LEVEL) - self.energy(unknowns - body, LEVEL) for body in small]
        curvature = [
            [
                self.energy(unknowns + a + b, LEVEL)
                - self.energy(unknowns + a - b, LEVEL)
                - self.energy(unknowns - a + b, LEVEL)
                + self.energy(unknowns - a - b, LEVEL)
                for a in 10 * steps
            ]
            for b in 10 * steps
        ]
        least = 1e-4 * np.linalg.eigh(np.array(curvature))[1][:, 0]  # stiff pads that just touch distort the matrix
        along = [self.energy(unknowns + share * least, LEVEL) for share in (1.0, 0.0, -1.0)]
        return float(np.abs(scale * np.array(gradient) / 2e-8).max()), float(scale * np.diff(along, 2)[0] / 1e-8)


def _up_of(slope: tuple[float, float]) -> np.ndarray:
    """Return the vertical (3,) in axes of a ground that is turned about x, then y."""
    return Rotation.from_euler('xy', slope).inv().apply([0.0, 0.0, 1.0])


def _urdf(body: Body) -> str:
    i = max(0.02 * body.mass, 1e-3)
    text = (
        f'<link name="{body.name}"><inertial><origin xyz="{body.com[0]} {body.com[1]} {body.com[2]}"/>'
        f'<mass value="{body.mass}"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    if not body.parent:
        return text
    kind = body.kind if body.axis else 'fixed'
    text += f'<joint name="{body.name}_joint" type="{kind}"><parent link="{body.parent}"/><child link="{body.name}"/>'
    text += f'<origin xyz="{body.at[0]} {body.at[1]} {body.at[2]}"/>'
    if body.axis:
        text += f'<axis xyz="{body.axis[0]} {body.axis[1]} {body.axis[2]}"/>'
        text += f'<limit lower="{body.limits[0]}" upper="{body.limits[1]}" effort="1e6" velocity="5"/>'
    return text + '</joint>'


def random_mechanism(seed: int) -> Mechanism:
    """Return a random machine; the gear changes with the seed."""
    rng = np.random.default_rng(seed)
    gear = GEARS[seed % len(GEARS)]
    length, width, radius = rng.uniform(0.7, 1.3), rng.uniform(0.6, 1.0), rng.uniform(0.3, 0.5)
    mass, stiffness = rng.uniform(800.0, 4000.0), rng.uniform(1.5e5, 8e5)
    com = (float(rng.uniform(-0.2, 0.2)), float(rng.uniform(-0.1, 0.1)), float(rng.uniform(0.3, 0.9)))
    slope = (0.0, 0.0) if rng.random() < 0.4 else tuple(float(value) for value in rng.uniform(-0.12, 0.12, 2))
    mechanism = Mechanism(f'random_{seed}', gear, [Body('base', '', mass, com)], [], slope)
    corners = {'fl': (length, width), 'fr': (length, -width), 'rl': (-length, width), 'rr': (-length, -width)}
    _GEARS[gear](mechanism, rng, corners, radius, stiffness)
    mechanism.bodies.append(
        Body('mast', 'base', 0.05 * mass, (0.0, 0.0, 0.3), (0.1, 0.0, 0.8), (0, 0, 1), 'revolute', (-4.0, 4.0))
    )
    mechanism.bodies[-1].start = float(rng.uniform(-np.pi, np.pi))
    load = float(rng.uniform(0.02, 0.3)) * mass * (OVERLOAD if seed % 10 == 9 else 1.0)
    mechanism.bodies.append(
        Body('boom', 'mast', load, (float(rng.uniform(0.5, 2.5)), 0.0, 0.0), (0.0, 0.0, 0.5), (0, 1, 0))
    )
    mechanism.bodies[-1].start = float(rng.uniform(-0.8, 0.4))
    for k in range(int(rng.integers(0, 4))):  # pads in the air, of any stiffness
        x, y = (float(value) for value in rng.uniform(-1.8, 1.8, 2))
        gap, hard = float(rng.uniform(0.06, 0.3)), float(10.0 ** rng.uniform(4.0, 9.0))
        mechanism.feet.append(Foot(f'pad_{k}', 'base', (x, y, 0.4 + gap), hard, 0.4))
    return mechanism


def _feet(mechanism: Mechanism, link: str, positions: dict, radius: float, stiffness: float) -> None:
    """Add wheels whose hubs are at a height of the radius over the ground when the base is level at 0."""
    mechanism.feet += [Foot(name, link, (x, y, z), stiffness, radius) for name, (x, y, z) in positions.items()]


def _rigid(mechanism, rng, corners, radius, stiffness):
    _feet(mechanism, 'base', {name: (x, y, radius) for name, (x, y) in corners.items()}, radius, stiffness)


def _axle(mechanism, rng, corners, radius, stiffness):
    end, span = ('f', 'r')[int(rng.integers(2))], float(rng.uniform(0.06, 0.2))
    rigid = {name: (x, y, radius) for name, (x, y) in corners.items() if name[0] != end}
    _feet(mechanism, 'base', rigid, radius, stiffness)
    x = corners[f'{end}l'][0]
    axle = Body('axle', 'base', 100.0, at=(x, 0.0, radius), axis=(1, 0, 0), limits=(-span, span), free=True)
    axle.keys = 'class: free'
    mechanism.bodies.append(axle)
    turning = {name: (0.0, y, 0.0) for name, (_, y) in corners.items() if name[0] == end}
    _feet(mechanism, 'axle', turning, radius, stiffness)


def _beam(name, x, y, radius, limits=(-0.4, 0.4)):
    beam = Body(name, 'base', 60.0, at=(x, y, radius), axis=(0, 1, 0), limits=limits, free=True)
    beam.keys = 'class: free'
    return beam


def _bogies(mechanism, rng, corners, radius, stiffness):
    front = {name: (x, y, radius) for name, (x, y) in corners.items() if name[0] == 'f'}
    _feet(mechanism, 'base', front, radius, stiffness)
    arm = float(rng.uniform(0.25, 0.5))
    for side in 'lr':
        x, y = corners[f'r{side}']
        mechanism.bodies.append(_beam(f'beam_{side}', x, y, radius))
        _feet(mechanism, f'beam_{side}', {f'r{side}_1': (arm, 0, 0), f'r{side}_2': (-arm, 0, 0)}, radius, stiffness)


def _suspended(mechanism, rng, corners, radius, stiffness):
    spring, preload = float(rng.uniform(4e4, 1.5e5)), 0.0
    for name, (x, y) in corners.items():
        strut = Body(f'{name}_hub', 'base', 20.0, at=(x, y, radius), axis=(0, 0, 1), kind='prismatic')
        strut.limits, strut.stiffness, strut.free = (-0.5, 0.5), spring, True
        strut.keys = f'class: flexible, stiffness: {spring!r}, damping: 3000.0, rest: {preload!r}'
        mechanism.bodies.append(strut)
        _feet(mechanism, strut.name, {name: (0.0, 0.0, 0.0)}, radius, stiffness)


def _differential(mechanism, rng, corners, radius, stiffness):
    length, width = corners['fl']
    for side, y in (('l', width), ('r', -width)):
        mechanism.bodies.append(_beam(f'rocker_{side}', 0.0, y, radius))
        _feet(mechanism, f'rocker_{side}', {f'f{side}': (length, 0, 0), f'r{side}': (-length, 0, 0)}, radius, stiffness)
    mechanism.opposed = 'rocker_l', 'rocker_r'
    mechanism.constraints = (
        'constraints:\n  bar: {kind: coupling, coefficients: {rocker_l_joint: 1, rocker_r_joint: 1}}\n'
    )


def _tie_rod(mechanism, rng, corners, radius, stiffness):
    _suspended(mechanism, rng, corners, radius, stiffness)
    width = corners['fl'][1]
    for side in 'lr':
        knuckle = Body(f'knuckle_{side}', f'f{side}_hub', 10.0, axis=(0, 0, 1))
        knuckle.keys = 'class: free' if side == 'r' else ''
        mechanism.bodies.append(knuckle)
    mechanism.feet = [replace(f, link=f'knuckle_{f.name[1]}') if f.name in ('fl', 'fr') else f for f in mechanism.feet]
    mechanism.constraints = (
        f'constraints:\n  tie: {{kind: distance, length: {2 * width - 0.1!r}, '
        'first: {link: knuckle_l, position: [-0.16, -0.05, 0]}, '
        'second: {link: knuckle_r, position: [-0.16, 0.05, 0]}}\n'
    )


def _linkage(mechanism, rng, corners, radius, stiffness):
    _rigid(mechanism, rng, corners, radius, stiffness)
    bars = (('crank', 'base', (-0.45, 0.0, 0.6), 0.25, 1.2), ('coupler', 'crank', (0.5, 0.0, 0.0), 0.45, -1.2))
    bars += (('rocker', 'base', (0.45, 0.0, 0.6), 0.25, 1.2),)
    for name, parent, at, com, start in bars:
        bar = Body(name, parent, 20.0, (com, 0.0, 0.0), at, (0, -1, 0), limits=(-3.0, 3.0), start=start)
        bar.keys = '' if name == 'crank' else 'class: free'
        mechanism.bodies.append(bar)
    mechanism.constraints = (
        'constraints:\n  pin: {kind: point, first: {link: coupler, position: [0.9, 0, 0]}, '
        'second: {link: rocker, position: [0.5, 0, 0]}}\n'
    )


_GEARS = {
    'rigid': _rigid,
    'axle': _axle,
    'bogies': _bogies,
    'suspended': _suspended,
    'differential': _differential,
    'tie rod': _tie_rod,
    'linkage': _linkage,
}
