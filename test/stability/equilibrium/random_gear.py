"""Random machines on all kinds of running gear, as a URDF and a machine YAML, arm at a random slew angle.

Every kind is one function that adds links, joints and supports to a `Maker`; `machine_files` writes the files.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from dyn_nodes.model import load_machine
from dyn_nodes.model.machine import Machine

Point = tuple[float, float, float]
Limits = tuple[float, float]


class Maker:
    """Collects a machine.

    Attributes:
        rng: of the random numbers.
        links, joints: of the URDF, as text.
        wheels, classes, constraints, start: of the machine YAML.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.links: list[str] = []
        self.joints: list[str] = []
        self.wheels: dict[str, Any] = {}
        self.classes: dict[str, Any] = {}
        self.constraints: dict[str, Any] = {}
        self.start: dict[str, float] = {}
        self.mass = self.rng.uniform(2000.0, 9000.0)
        self.stiffness = self.mass * 9.81 / 4.0 / self.rng.uniform(0.008, 0.04)  # by sag of a wheel, m

    def link(self, name: str, mass: float, size: Point, center: Point = (0.0, 0.0, 0.0)) -> None:
        """Add a box."""
        x, y, z = size
        inertia = (mass * (y * y + z * z) / 12, mass * (x * x + z * z) / 12, mass * (x * x + y * y) / 12)
        self.links.append(
            f'<link name="{name}"><inertial><origin xyz="{_text(center)}"/><mass value="{mass!r}"/>'
            f'<inertia ixx="{inertia[0]!r}" iyy="{inertia[1]!r}" izz="{inertia[2]!r}" ixy="0" ixz="0" iyz="0"/>'
            '</inertial></link>'
        )

    def joint(
        self, name: str, kind: str, parent: str, child: str, at: Point, axis: Point, limits: Limits = (0, 0)
    ) -> None:
        """Add a joint."""
        limit = f'<limit lower="{limits[0]!r}" upper="{limits[1]!r}" effort="1e7" velocity="5"/>'
        self.joints.append(
            f'<joint name="{name}" type="{kind}"><origin xyz="{_text(at)}"/><parent link="{parent}"/>'
            f'<child link="{child}"/><axis xyz="{_text(axis)}"/>{limit}</joint>'
        )

    def free(self, name: str, kind: str, parent: str, child: str, at: Point, axis: Point, limit: float) -> None:
        """Add a passive joint."""
        self.joint(name, kind, parent, child, at, axis, (-limit, limit))
        self.classes[name] = {'class': 'free'}

    def wheel(self, name: str, link: str, at: Point, free_length: float, stiffness: float | None = None) -> None:
        """Add a support."""
        stiffness = self.stiffness if stiffness is None else stiffness
        self.wheels[name] = {
            'link': link,
            'position': [float(v) for v in at],
            'stiffness': float(stiffness),
            'damping': float(0.02 * stiffness),
            'free_length': float(free_length),
        }

    def pick(self, low: float, high: float) -> float:
        """Return a random number."""
        return float(self.rng.uniform(low, high))

    def base(self, height: float, length: float, width: float) -> None:
        """Add the base, its centre of mass at a height above the ground and a random position."""
        center = (self.pick(-0.15, 0.15) * length, self.pick(-0.05, 0.05) * width, height)
        self.link('base_link', self.mass, (length, width, 0.8), center)

    def arm(self, length: float, width: float) -> None:
        """Add a slewing column and a telescope with the payload; its posture is the start."""
        at = (self.pick(-0.25, 0.25) * length, 0.0, self.pick(1.0, 2.2))
        self.link('column', 0.03 * self.mass, (0.3, 0.3, 0.4), (0.0, 0.0, 0.2))
        self.link('boom', 0.02 * self.mass, (1.0, 0.2, 0.2), (0.5, 0.0, 0.0))
        self.link('slide', 0.01 * self.mass, (0.8, 0.15, 0.15), (0.2, 0.0, 0.0))
        self.joint('swing', 'continuous', 'base_link', 'column', at, (0.0, 0.0, 1.0))
        self.joint('luff', 'revolute', 'column', 'boom', (0.0, 0.0, 0.4), (0.0, -1.0, 0.0), (0.0, 1.2))
        self.joint('extend', 'prismatic', 'boom', 'slide', (0.6, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 6.0))
        reach = self.pick(0.75, 1.6) * max(length, width)
        luff = self.pick(0.0, 0.9)
        self.start |= {
            'swing': self.pick(-math.pi, math.pi),
            'luff': luff,
            'extend': min(max(0.0, reach / math.cos(luff) - 1.2), 6.0),
        }


def _text(values: Point) -> str:
    return ' '.join(repr(float(value)) for value in values)


def _corners(length: float, width: float) -> dict[str, tuple[float, float]]:
    sides = {'left': 0.5 * width, 'right': -0.5 * width}
    ends = {'front': 0.5 * length, 'rear': -0.5 * length}
    return {f'{end}_{side}': (x, y) for end, x in ends.items() for side, y in sides.items()}


def _size(maker: Maker) -> tuple[float, float, float]:
    """Return length, width and wheel radius, m."""
    return maker.pick(1.8, 3.6), maker.pick(1.3, 2.4), maker.pick(0.3, 0.7)


def rigid_four(maker: Maker) -> tuple[float, float]:
    """Four wheels on the base."""
    length, width, radius = _size(maker)
    for name, (x, y) in _corners(length, width).items():
        maker.wheel(name, 'base_link', (x, y, radius), radius)
    return length, width


def rigid_three(maker: Maker) -> tuple[float, float]:
    """Two wheels ahead, one behind."""
    length, width, radius = _size(maker)
    for name, x, y in (('left', 0.5, 0.5), ('right', 0.5, -0.5), ('rear', -0.5, 0.0)):
        maker.wheel(name, 'base_link', (x * length, y * width, radius), radius)
    return length, width


def rigid_six(maker: Maker) -> tuple[float, float]:
    """Three rigid axles of different width."""
    length, width, radius = _size(maker)
    for axle, x in (('front', 0.5), ('middle', maker.pick(-0.2, 0.2)), ('rear', -0.5)):
        half = 0.5 * width * maker.pick(0.9, 1.1)
        for side, y in (('left', half), ('right', -half)):
            maker.wheel(f'{axle}_{side}', 'base_link', (x * length, y, radius), radius)
    return length, width


def _axle(maker: Maker, name: str, x: float, width: float, radius: float) -> None:
    """Add an axle that oscillates about x within its stops."""
    height = radius + maker.pick(-0.15, 0.25)
    maker.link(name, 0.05 * maker.mass, (0.2, width, 0.2))
    maker.free(f'{name}_pivot', 'revolute', 'base_link', name, (x, 0.0, height), (1.0, 0.0, 0.0), maker.pick(0.05, 0.2))
    for side, y in (('left', 0.5 * width), ('right', -0.5 * width)):
        maker.wheel(f'{name}_{side}', name, (0.0, y, radius - height), radius)


def oscillating_axle(maker: Maker) -> tuple[float, float]:
    """One oscillating axle, one rigid axle."""
    length, width, radius = _size(maker)
    end = -1.0 if maker.rng.random() < 0.7 else 1.0
    _axle(maker, 'axle', 0.5 * end * length, width, radius)
    for side, y in (('left', 0.5 * width), ('right', -0.5 * width)):
        maker.wheel(f'fixed_{side}', 'base_link', (-0.5 * end * length, y, radius), radius)
    return length, width


def _bogie(maker: Maker, name: str, parent: str, at: Point, spread: float, radius: float, limit: float) -> None:
    """Add a beam with two wheels that pitches about y, `at` in the frame of its parent, its wheels on the ground."""
    maker.link(name, 0.03 * maker.mass, (spread, 0.2, 0.2))
    maker.free(f'{name}_pivot', 'revolute', parent, name, at, (0.0, 1.0, 0.0), limit)
    for end, x in (('fore', 0.5 * spread), ('aft', -0.5 * spread)):
        maker.wheel(f'{name}_{end}', name, (x, 0.0, radius - at[2]), radius)


def tandem(maker: Maker) -> tuple[float, float]:
    """Walking beams behind, a rigid axle ahead."""
    length, width, radius = _size(maker)
    spread, height = maker.pick(0.8, 1.3), radius + maker.pick(-0.1, 0.2)
    for side, y in (('left', 0.5 * width), ('right', -0.5 * width)):
        _bogie(maker, f'bogie_{side}', 'base_link', (-0.4 * length, y, height), spread, radius, maker.pick(0.1, 0.3))
        maker.wheel(f'front_{side}', 'base_link', (0.6 * length, y, radius), radius)
    return length, width


def tandem_behind_axle(maker: Maker) -> tuple[float, float]:
    """A forwarder's half: walking beams behind, an oscillating axle ahead."""
    length, width, radius = _size(maker)
    spread, height = maker.pick(0.8, 1.3), radius + maker.pick(-0.1, 0.2)
    _axle(maker, 'axle', 0.6 * length, width, radius)
    for side, y in (('left', 0.5 * width), ('right', -0.5 * width)):
        _bogie(maker, f'bogie_{side}', 'base_link', (-0.4 * length, y, height), spread, radius, maker.pick(0.1, 0.3))
    return length, width


def rocker_bogie(maker: Maker) -> tuple[float, float]:
    """Rockers coupled by a differential, each with a wheel and a bogie."""
    length, width, radius = _size(maker)
    spread, height = 0.4 * length, radius + maker.pick(0.1, 0.3)
    for side, y in (('left', 0.5 * width), ('right', -0.5 * width)):
        maker.link(f'rocker_{side}', 0.04 * maker.mass, (0.6 * length, 0.2, 0.2))
        at = (0.0, y, height)
        maker.free(f'rocker_{side}_pivot', 'revolute', 'base_link', f'rocker_{side}', at, (0.0, 1.0, 0.0), 0.4)
        maker.wheel(f'rear_{side}', f'rocker_{side}', (-0.5 * length, 0.0, radius - height), radius)
        drop = -maker.pick(0.0, 0.1)
        name = f'bogie_{side}'
        maker.link(name, 0.02 * maker.mass, (spread, 0.2, 0.2))
        position = (0.25 * length, 0.0, drop)
        maker.free(f'{name}_pivot', 'revolute', f'rocker_{side}', name, position, (0.0, 1.0, 0.0), 0.5)
        for end, x in (('fore', 0.5 * spread), ('aft', -0.5 * spread)):
            maker.wheel(f'{name}_{end}', name, (x, 0.0, radius - height - drop), radius)
    pivots = {'rocker_left_pivot': 1.0, 'rocker_right_pivot': 1.0}
    maker.constraints['differential'] = {'kind': 'coupling', 'coefficients': pivots}
    return length, width


def articulated(maker: Maker) -> tuple[float, float]:
    """Two frames: a steering joint held at an angle, and a free roll joint between them."""
    length, width, radius = _size(maker)
    height = radius + maker.pick(0.0, 0.2)
    for side, y in (('left', 0.5 * width), ('right', -0.5 * width)):
        maker.wheel(f'rear_{side}', 'base_link', (-0.5 * length, y, radius), radius)
        maker.wheel(f'front_{side}', 'front', (0.5 * length, y, radius - height), radius)
    maker.link('knuckle', 0.01 * maker.mass, (0.2, 0.2, 0.2))
    maker.link('front', 0.3 * maker.mass, (0.5 * length, 0.6 * width, 0.6), (0.3 * length, 0.0, 0.3))
    limit = maker.pick(0.1, 0.25)
    maker.joint('steer', 'revolute', 'base_link', 'knuckle', (0.0, 0.0, height), (0.0, 0.0, 1.0), (-0.8, 0.8))
    maker.free('roll', 'revolute', 'knuckle', 'front', (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), limit)
    maker.start['steer'] = maker.pick(-0.7, 0.7)
    return length, width


def crawler(maker: Maker) -> tuple[float, float]:
    """Two rows of road rollers on the base."""
    length, width, radius = _size(maker)
    count = int(maker.rng.integers(4, 8))
    for side, y in (('left', 0.5 * width), ('right', -0.5 * width)):
        for k in range(count):
            at = ((k / (count - 1) - 0.5) * length, y, radius)
            maker.wheel(f'{side}_{k}', 'base_link', at, radius, 4.0 / count * maker.stiffness)
    return length, width


def crawler_on_beams(maker: Maker) -> tuple[float, float]:
    """Two rows of road rollers on beams that pitch about y; one beam, or both with a stop."""
    length, width, radius = _size(maker)
    height = radius + maker.pick(0.0, 0.2)
    count = int(maker.rng.integers(3, 6))
    loose = ('left', 'right') if maker.rng.random() < 0.5 else ('left',)
    for side, y in (('left', 0.5 * width), ('right', -0.5 * width)):
        maker.link(f'{side}_frame', 0.08 * maker.mass, (length, 0.3, 0.3))
        limit, at = maker.pick(0.02, 0.08), (-0.2 * length, y, height)
        if side in loose:
            maker.free(f'{side}_beam', 'revolute', 'base_link', f'{side}_frame', at, (0.0, 1.0, 0.0), limit)
        else:
            maker.joint(f'{side}_beam', 'fixed', 'base_link', f'{side}_frame', at, (0.0, 1.0, 0.0))
        for k in range(count):
            position = ((k / (count - 1) - 0.5) * length + 0.2 * length, 0.0, radius - height)
            maker.wheel(f'{side}_{k}', f'{side}_frame', position, radius, 4.0 / count * maker.stiffness)
    return length, width


def outriggers(maker: Maker) -> tuple[float, float]:
    """Four wheels, and legs: both sides or one, extended on the ground, retracted, floating, or lifting the machine."""
    length, width = rigid_four(maker)
    sides = ('left', 'right') if maker.rng.random() < 0.5 else ('left',)
    down = str(maker.rng.choice(['raised', 'floating', 'down', 'lifting']))
    gap = {'raised': 0.6, 'floating': maker.pick(0.02, 0.1), 'down': 0.0, 'lifting': -0.05}[down]
    for side in sides:
        for end, x in (('front', 0.3), ('rear', -0.3)):
            name = f'leg_{end}_{side}'
            y = (0.5 * width + maker.pick(0.3, 1.2)) * (1.0 if side == 'left' else -1.0)
            maker.link(name, 30.0, (0.2, 0.2, 0.6))
            maker.joint(name, 'prismatic', 'base_link', name, (x * length, y, 1.0), (0.0, 0.0, 1.0), (-1.0, 1.0))
            maker.wheel(f'pad_{end}_{side}', name, (0.0, 0.0, -0.9), 0.1, 3.0 * maker.stiffness)
            maker.start[name] = gap
    return length, width


def suspended(maker: Maker) -> tuple[float, float]:
    """Wheels on sprung slides, two of them castors with a trail."""
    length, width, radius = _size(maker)
    for name, (x, y) in _corners(length, width).items():
        maker.link(name, 0.01 * maker.mass, (0.2, 0.2, 0.4))
        at = (x, y, radius)
        maker.joint(f'{name}_strut', 'prismatic', 'base_link', name, at, (0.0, 0.0, 1.0), (-0.2, 0.2))
        stiffness = float(maker.mass * 9.81 / 4 / maker.pick(0.02, 0.06))
        maker.classes[f'{name}_strut'] = {'class': 'flexible', 'stiffness': stiffness, 'damping': 0.1 * stiffness}
        link, position = name, (0.0, 0.0, 0.0)
        if name.startswith('rear'):
            link = f'{name}_castor'
            maker.link(link, 0.005 * maker.mass, (0.2, 0.1, 0.2))
            maker.free(f'{link}_swivel', 'continuous', name, link, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.0)
            maker.start[f'{link}_swivel'] = maker.pick(-math.pi, math.pi)
            position = (-0.1, 0.0, 0.0)
        maker.wheel(name, link, position, radius)
    return length, width


KINDS: dict[str, Callable[[Maker], tuple[float, float]]] = {
    function.__name__: function
    for function in (
        rigid_four,
        rigid_three,
        rigid_six,
        oscillating_axle,
        tandem,
        tandem_behind_axle,
        rocker_bogie,
        articulated,
        crawler,
        crawler_on_beams,
        outriggers,
        suspended,
    )
}


def machine_files(seed: int, kind: str, directory: Path) -> tuple[Path, Path]:
    """Write the URDF and the machine YAML of a random machine and return their paths."""
    maker = Maker(np.random.default_rng([seed, sorted(KINDS).index(kind)]))
    length, width = KINDS[kind](maker)
    maker.base(maker.pick(0.6, 1.3), length, width)
    maker.arm(length, width)
    links = sorted(maker.links, key=lambda text: '"base_link"' not in text)  # the root first
    name = f'{kind}_{seed}'
    urdf, config = directory / f'{name}.urdf', directory / f'{name}.yaml'
    urdf.write_text(f'<robot name="{name}">\n' + '\n'.join(links + maker.joints) + '\n</robot>\n')
    file: dict[str, Any] = {
        'name': name,
        'base': {'link': 'base_link', 'attachment': 'free'},
        'initial': {'joint_positions': maker.start},
        'payload': {'link': 'slide', 'position': [0.6, 0.0, 0.0], 'mass': 0.0, 'limit': 1e6},
        'wheels': maker.wheels,
    }
    file |= {'joints': maker.classes} if maker.classes else {}
    file |= {'constraints': maker.constraints} if maker.constraints else {}
    config.write_text(yaml.safe_dump(file, sort_keys=False))
    return urdf, config


def random_machine(seed: int, kind: str, directory: Path) -> Machine:
    """Return a random machine of a kind."""
    return load_machine(*machine_files(seed, kind, directory))
