"""Planar linkages in the vertical plane: machine files, and energies and gaps from joint angles with NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model import Machine, load_machine

Array = NDArray[np.float64]
GRAVITY = 9.81
LINEAR_DENSITY = 2.0
"""Mass of a rod per length, kg/m."""
_CENTIMETRES = (38, 41.5, 39.3, 40.1, 55.8, 39.4, 36.7, 65.7, 49, 50, 61.9, 7.8, 15)
JANSEN = {name: 1e-2 * length for name, length in zip('abcdefghijklm', _CENTIMETRES)}
"""Lengths of Jansen's leg, m."""


class Bar(NamedTuple):
    """A link of a linkage: rods between its joint and the other points.

    Attributes:
        name: of the link; its joint is `<name>_joint`.
        parent: link that carries it.
        points: (n, 2) in the plane x, z at the start, m; the first one is the joint.
    """

    name: str
    parent: str
    points: Array


class Pin(NamedTuple):
    """A pin of two links at a point (2,) in the plane x, z at the start, m."""

    first: str
    second: str
    point: Array


@dataclass(frozen=True)
class Linkage:
    """A linkage whose joint positions are all 0 at the start.

    Attributes:
        name: of the machine.
        bars: parents first; `world` carries the first ones, the first of all has the drive.
        pins: that close the loops.
    """

    name: str
    bars: tuple[Bar, ...]
    pins: tuple[Pin, ...]

    @property
    def origins(self) -> dict[str, Array]:
        """Joint position of every link at the start (2,), m."""
        return {'world': np.zeros(2)} | {bar.name: bar.points[0] for bar in self.bars}

    def machine(self, folder: Path, rate: float = 0.0) -> Machine:
        """Return the machine of the linkage, whose files are written to a folder; `rate` of its first joint, rad/s."""
        links = [_link(bar, self.origins[bar.parent]) for bar in self.bars]
        text = [f'<robot name="{self.name}"><link name="world"/>', *links, '</robot>']
        lines = [f'name: {self.name}', 'base: {attachment: fixed}', *(['constraints:'] if self.pins else [])]
        for k, pin in enumerate(self.pins):
            first, second = (
                f'{{link: {link}, position: [{_at(pin.point - self.origins[link])}]}}'
                for link in (pin.first, pin.second)
            )
            lines.append(f'  pin_{k + 1}: {{kind: line, first: {first}, second: {second}, axis: [0, 1, 0]}}')
        free = [f'  {bar.name}_joint: {{class: free}}' for bar in self.bars[1:] if self.pins]
        lines += ['joints:', *free] if free else []
        if rate:
            lines.append(f'initial: {{joint_velocities: {{{self.bars[0].name}_joint: {rate!r}}}}}')
        (folder / f'{self.name}.urdf').write_text('\n'.join(text))
        (folder / f'{self.name}.yaml').write_text('\n'.join(lines) + '\n')
        return load_machine(folder / f'{self.name}.urdf', folder / f'{self.name}.yaml')

    def energies(self, q: dict[str, Array], v: dict[str, Array]) -> tuple[Array, Array]:
        """Return kinetic and potential energy (t,), J, from joint positions and rates (t,) by joint."""
        poses = self._poses(q, v)
        kinetic, potential = np.zeros_like(next(iter(q.values()))), np.zeros_like(next(iter(q.values())))
        for bar in self.bars:
            mass, center, inertia = rods(bar.points - bar.points[0])
            point, speed = _moved(poses[bar.name], center)
            kinetic += 0.5 * mass * (speed**2).sum(axis=1) + 0.5 * inertia * poses[bar.name][3] ** 2
            potential += mass * GRAVITY * point[:, 1]
        return kinetic, potential

    def gaps(self, q: dict[str, Array]) -> Array:
        """Return the greatest distance (t,), m, between the two ends of a pin, from joint positions (t,) by joint."""
        poses = self._poses(q, {name: np.zeros_like(angle) for name, angle in q.items()})
        apart = []
        for pin in self.pins:
            ends = [_moved(poses[link], pin.point - self.origins[link])[0] for link in (pin.first, pin.second)]
            apart.append(np.linalg.norm(ends[0] - ends[1], axis=1))
        return np.max(apart, axis=0)

    def _poses(self, q: dict[str, Array], v: dict[str, Array]) -> dict[str, tuple[Array, Array, Array, Array]]:
        """Return position (t, 2) and velocity of the joint, angle (t,) and angular rate of every link."""
        count = len(next(iter(q.values())))
        still = np.zeros((count, 2))
        poses = {'world': (still, still, np.zeros(count), np.zeros(count))}
        for bar in self.bars:
            parent, joint = poses[bar.parent], f'{bar.name}_joint'
            point, speed = _moved(parent, bar.points[0] - self.origins[bar.parent])
            poses[bar.name] = (point, speed, parent[2] + q[joint], parent[3] + v[joint])
        return poses


def _moved(pose: tuple[Array, Array, Array, Array], offset: Array) -> tuple[Array, Array]:
    """Return position and velocity (t, 2) of a point at an offset in a link."""
    c, s = np.cos(pose[2]), np.sin(pose[2])
    arm = np.column_stack([c * offset[0] - s * offset[1], s * offset[0] + c * offset[1]])
    turned = np.column_stack([-arm[:, 1], arm[:, 0]])
    return pose[0] + arm, pose[1] + pose[3][:, None] * turned


def _at(point: Array) -> str:
    return f'{float(point[0])!r}, 0, {float(point[1])!r}'


def _link(bar: Bar, parent: Array) -> str:
    mass, center, inertia = rods(bar.points - bar.points[0])
    sizes = f'ixx="{inertia!r}" iyy="{inertia!r}" izz="{inertia!r}" ixy="0" ixz="0" iyz="0"'
    return (
        f'<link name="{bar.name}"><inertial><origin xyz="{_at(center).replace(",", "")}"/><mass value="{mass!r}"/>'
        f'<inertia {sizes}/></inertial></link>'
        f'<joint name="{bar.name}_joint" type="continuous"><parent link="{bar.parent}"/><child link="{bar.name}"/>'
        f'<origin xyz="{_at(bar.points[0] - parent).replace(",", "")}"/><axis xyz="0 -1 0"/>'
        '<limit effort="1000" velocity="100"/></joint>'
    )


def rods(points: Array) -> tuple[float, Array, float]:
    """Return mass, centre (2,) and inertia about it of the rods that join points (n, 2) in a closed line."""
    ends = np.roll(points, -1, axis=0) if len(points) > 2 else points[1:]
    starts = points if len(points) > 2 else points[:1]
    lengths = np.linalg.norm(ends - starts, axis=1)
    masses, middles = LINEAR_DENSITY * lengths, 0.5 * (starts + ends)
    center = masses @ middles / masses.sum()
    inertia = masses @ (lengths**2 / 12.0 + ((middles - center) ** 2).sum(axis=1))
    return float(masses.sum()), center, float(inertia)


def meeting(first: Array, reach: float, second: Array, other: float, left: bool) -> Array:
    """Return the point (2,) at two distances from two points, to the left of the line from the first to the second."""
    way = second - first
    d = float(np.linalg.norm(way))
    along = (reach**2 - other**2 + d**2) / (2.0 * d)
    aside = np.sqrt(reach**2 - along**2)
    return np.asarray(first + (along * way + (aside if left else -aside) * np.array([-way[1], way[0]])) / d)


def jansen_leg(angle: float = 0.3) -> Linkage:
    """Return Jansen's leg, seven joints and three loops, with its crank at an angle, rad."""
    n = JANSEN
    crank, fixed = np.zeros(2), np.array([-n['a'], -n['l']])
    end = n['m'] * np.array([np.cos(angle), np.sin(angle)])
    top = meeting(fixed, n['b'], end, n['j'], left=True)
    knee = meeting(fixed, n['c'], end, n['k'], left=False)
    back = meeting(fixed, n['d'], top, n['e'], left=True)
    heel = meeting(back, n['f'], knee, n['g'], left=False)
    foot = meeting(heel, n['h'], knee, n['i'], left=False)
    bars = (
        Bar('crank', 'world', np.array([crank, end])),
        Bar('upper_rod', 'crank', np.array([end, top])),
        Bar('lower_rod', 'crank', np.array([end, knee])),
        Bar('shoulder', 'world', np.array([fixed, top, back])),
        Bar('link', 'world', np.array([fixed, knee])),
        Bar('back_rod', 'shoulder', np.array([back, heel])),
        Bar('shank', 'link', np.array([knee, heel, foot])),
    )
    pins = (Pin('upper_rod', 'shoulder', top), Pin('lower_rod', 'link', knee), Pin('back_rod', 'shank', heel))
    return Linkage('jansen_leg', bars, pins)


def four_bar(name: str, crank: float, coupler: float, rocker: float, ground: float, angle: float) -> Linkage:
    """Return a four-bar of these lengths, m, with its crank at an angle, rad."""
    end, fixed = crank * np.array([np.cos(angle), np.sin(angle)]), np.array([ground, 0.0])
    pin = meeting(fixed, rocker, end, coupler, left=False)
    bars = (
        Bar('crank', 'world', np.array([np.zeros(2), end])),
        Bar('coupler', 'crank', np.array([end, pin])),
        Bar('rocker', 'world', np.array([fixed, pin])),
    )
    return Linkage(name, bars, (Pin('coupler', 'rocker', pin),))


def chain(name: str, lengths: tuple[float, ...]) -> Linkage:
    """Return a chain of rods that lies along x: a tree."""
    ends = np.cumsum([0.0, *lengths])
    names = ['world', *(f'rod_{k + 1}' for k in range(len(lengths)))]
    bars = [Bar(names[k + 1], names[k], np.array([[ends[k], 0.0], [ends[k + 1], 0.0]])) for k in range(len(lengths))]
    return Linkage(name, tuple(bars), ())
