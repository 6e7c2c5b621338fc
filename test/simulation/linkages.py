"""Planar linkages in the vertical plane as machine files: trees of rods, with pins that close their loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.model import Machine, load_machine

Array = NDArray[np.float64]
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


def linkage(
    folder: Path, name: str, bars: Sequence[Bar], pins: Sequence[Pin], rates: Mapping[str, float], driven: str
) -> Machine:
    """Return a linkage with all joint positions 0 at the start.

    Args:
        folder: of its files.
        name: of the machine.
        bars: parents first; `world` carries the first ones.
        pins: that close the loops.
        rates: of joints at the start, rad/s.
        driven: the one joint with a drive.
    """
    origins = {'world': np.zeros(2)} | {bar.name: bar.points[0] for bar in bars}
    text = [
        f'<robot name="{name}"><link name="world"/>',
        *(_link(bar, origins[bar.parent]) for bar in bars),
        '</robot>',
    ]
    (folder / f'{name}.urdf').write_text('\n'.join(text))
    lines = [f'name: {name}', 'base: {attachment: fixed}', 'constraints:']
    for k, pin in enumerate(pins):
        ends = [f'{{link: {own}, position: [{_at(pin.point - origins[own])}]}}' for own in (pin.first, pin.second)]
        lines.append(f'  pin_{k + 1}: {{kind: line, first: {ends[0]}, second: {ends[1]}, axis: [0, 1, 0]}}')
    lines += ['joints:', *(f'  {bar.name}_joint: {{class: free}}' for bar in bars if f'{bar.name}_joint' != driven)]
    moving = ', '.join(f'{joint}: {rate!r}' for joint, rate in rates.items())
    lines += [f'initial: {{joint_velocities: {{{moving}}}}}'] if moving else []
    (folder / f'{name}.yaml').write_text('\n'.join(lines) + '\n')
    return load_machine(folder / f'{name}.urdf', folder / f'{name}.yaml')


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
    """Return the point (2,) at two distances from two points, to the left of the way from the first to the second."""
    way = second - first
    d = float(np.linalg.norm(way))
    along = (reach**2 - other**2 + d**2) / (2.0 * d)
    aside = np.sqrt(reach**2 - along**2)
    return np.asarray(first + (along * way + (aside if left else -aside) * np.array([-way[1], way[0]])) / d)


def jansen_leg(folder: Path, angle: float = 0.3, rate: float = 6.0) -> Machine:
    """Return Jansen's leg, seven joints and three loops, with its crank at an angle, rad, turning, rad/s."""
    n = JANSEN
    crank, fixed = np.zeros(2), np.array([-n['a'], -n['l']])
    end = n['m'] * np.array([np.cos(angle), np.sin(angle)])
    top = meeting(fixed, n['b'], end, n['j'], left=True)
    knee = meeting(fixed, n['c'], end, n['k'], left=False)
    back = meeting(fixed, n['d'], top, n['e'], left=True)
    heel = meeting(back, n['f'], knee, n['g'], left=False)
    foot = meeting(heel, n['h'], knee, n['i'], left=False)
    bars = [
        Bar('crank', 'world', np.array([crank, end])),
        Bar('upper_rod', 'crank', np.array([end, top])),
        Bar('lower_rod', 'crank', np.array([end, knee])),
        Bar('shoulder', 'world', np.array([fixed, top, back])),
        Bar('link', 'world', np.array([fixed, knee])),
        Bar('back_rod', 'shoulder', np.array([back, heel])),
        Bar('shank', 'link', np.array([knee, heel, foot])),
    ]
    pins = [Pin('upper_rod', 'shoulder', top), Pin('lower_rod', 'link', knee), Pin('back_rod', 'shank', heel)]
    return linkage(folder, 'jansen_leg', bars, pins, {'crank_joint': rate} if rate else {}, 'crank_joint')
