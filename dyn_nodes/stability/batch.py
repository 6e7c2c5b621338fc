"""All measures of many states in one call, and the table that says how each measure is made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.stability._states import GRAVITY, UP, Array, Booleans, as_states, contiguous
from dyn_nodes.stability.conservative import conservative_margin_kernel
from dyn_nodes.stability.energy import energy_kernel
from dyn_nodes.stability.force_angle import force_angle_kernel
from dyn_nodes.stability.load_share import load_share_kernel
from dyn_nodes.stability.moment_height import moment_height_kernel
from dyn_nodes.stability.net_moment import net_moment_kernel
from dyn_nodes.stability.normalized_energy import normalized_energy_kernel
from dyn_nodes.stability.polygon import check_polygon
from dyn_nodes.stability.static import longitudinal_margin_kernel, static_margin_kernel
from dyn_nodes.stability.zmp import zmp_kernel

CHUNK = 16384
"""States a piece: its arrays fit a core's cache, and there are enough pieces for all cores."""


class States(NamedTuple):
    """Inputs of all measures, every one with a leading dimension of 1 or t; see `Support` for their meaning."""

    feet: Array
    com: Array
    force: Array
    moment: Array
    mass: Array
    up: Array
    travel: Array
    inertia: Array
    wheels: Array
    normal_loads: Array
    gravity: Array

    def part(self, start: int, stop: int) -> States:
        """Return some of the states."""
        return States(*(array[start:stop] if array.shape[0] > 1 else array for array in self))

    @property
    def size(self) -> int:
        """Number of states."""
        return max(array.shape[0] for array in self)


class BatchMargin(NamedTuple):
    """A margin of t states.

    Attributes:
        value: (t,) the least over the edges.
        edges: (t, n) by edge; by wheel for `load_share`, by lost foot for `conservative`, front and rear for
            `longitudinal`.
        valid: (t,) False where the measure is not defined or does not hold.
        unit: of value and edges.
    """

    value: Array
    edges: Array
    valid: Booleans
    unit: str


Parts = tuple[Array, Array, Booleans]


def _static(s: States) -> Parts:
    value, edges, valid = static_margin_kernel(s.feet, s.com, s.up)
    return value, edges, valid


def _longitudinal(s: States) -> Parts:
    value, front, rear, valid = longitudinal_margin_kernel(s.feet, s.com, s.travel, s.up)
    return value, np.column_stack((front, rear)), valid


def _conservative(s: States) -> Parts:
    value, feet, valid = conservative_margin_kernel(s.feet, s.com, s.up)
    return value, feet, valid


def _zmp(s: States) -> Parts:
    value, edges, valid, _, _ = zmp_kernel(s.feet, s.com, s.force, s.moment)
    return value, edges, valid


def _force_angle(s: States) -> Parts:
    value, edges, valid, _, _ = force_angle_kernel(s.feet, s.com, s.force, s.moment)
    return value, edges, valid


def _energy(s: States) -> Parts:
    weight = -(s.gravity * s.mass)[:, np.newaxis] * s.up
    value, edges, valid, _ = energy_kernel(s.feet, s.com[:, np.newaxis], weight[:, np.newaxis], np.zeros((1, 3)))
    return value, edges, valid


def _normalized_energy(s: States) -> Parts:
    value, edges, valid = normalized_energy_kernel(s.feet, s.com, s.up)
    return value, edges, valid


def _extended_energy(s: States) -> Parts:
    value, edges, valid, _ = energy_kernel(s.feet, s.com[:, np.newaxis], s.force[:, np.newaxis], s.moment)
    return value, edges, valid


def _load_share(s: States) -> Parts:
    value, shares, valid, _ = load_share_kernel(s.wheels, s.normal_loads, s.travel, s.up)
    return value, shares, valid


def _net_moment(s: States) -> Parts:
    value, edges, valid = net_moment_kernel(s.feet, s.com, s.force, s.moment)
    return value, edges, valid


def _moment_height(s: States) -> Parts:
    value, edges, valid, _, _ = moment_height_kernel(s.feet, s.com, s.force, s.moment, s.mass, s.inertia, 1.0, 1.0)
    return value, edges, valid


TABLE: dict[str, tuple[str, Callable[[States], Parts]]] = {
    'static': ('m', _static),
    'longitudinal': ('m', _longitudinal),
    'conservative': ('m', _conservative),
    'zmp': ('1', _zmp),
    'force_angle': ('N m', _force_angle),
    'energy': ('J', _energy),
    'normalized_energy': ('m', _normalized_energy),
    'extended_energy': ('J', _extended_energy),
    'load_share': ('1', _load_share),
    'net_moment': ('N m', _net_moment),
    'moment_height': ('N m', _moment_height),
}
"""Unit and function of every measure."""


def known_measure(name: str) -> str:
    """Return the name. Raises KeyError, with the known ones, for a measure that does not exist."""
    if name not in TABLE:
        raise KeyError(f'unknown stability measure {name!r}; known: {", ".join(TABLE)}')
    return name


def all_measures(
    feet: ArrayLike,
    com: ArrayLike,
    force: ArrayLike,
    moment: ArrayLike = (0.0, 0.0, 0.0),
    *,
    mass: ArrayLike,
    up: ArrayLike = UP,
    travel: ArrayLike = (1.0, 0.0, 0.0),
    inertia: ArrayLike | None = None,
    wheels: ArrayLike | None = None,
    normal_loads: ArrayLike | None = None,
    gravity: float = GRAVITY,
    names: Iterable[str] = tuple(TABLE),
    threads: int | None = None,
) -> dict[str, BatchMargin]:
    """Evaluate measures of t states at once, on all cores.

    Every array may lack its leading dimension where it is the same for all states; `feet` with the terrain, say.

    Args:
        feet: (t, n, 3) contact points in the order of the polygon, m.
        com: (t, 3) centre of mass of the whole machine, m.
        force: (t, 3) net force without the ground's: gravity, inertia, external, N.
        moment: (t, 3) net moment about `com` without the ground's, N m.
        mass: (t,) kg.
        up: (t, 3) unit vector against gravity.
        travel: (t, 3) direction in which the machine looks.
        inertia: (t, 3, 3) of the whole machine about `com`, kg m2, for `moment_height`; a point mass where None.
        wheels: (t, w, 3) positions of the wheels of `normal_loads`, m; `feet` where None.
        normal_loads: (t, w) push of the ground on every wheel, N; `load_share` is not valid where None.
        gravity: m/s2.
        names: the measures wanted, in order.
        threads: number of them; all cores where None.

    Returns:
        name -> margin; always with the leading dimension.

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
        KeyError: an unknown measure; the message lists the known ones.
    """
    wanted = [known_measure(name) for name in names]
    states = _states(feet, com, force, moment, mass, up, travel, inertia, wheels, normal_loads, gravity)
    count = states.size
    sizes: dict[str, int] = {'longitudinal': 2, 'load_share': states.wheels.shape[1]}
    result = {
        name: BatchMargin(
            np.empty(count),
            np.empty((count, sizes.get(name, int(states.feet.shape[1])))),
            np.empty(count, dtype=np.bool_),
            TABLE[name][0],
        )
        for name in wanted
    }

    def evaluate(start: int) -> None:
        part = states.part(start, start + CHUNK)
        check_polygon(part.feet, part.up, first=start)
        for name in wanted:
            for whole, piece in zip(result[name][:3], TABLE[name][1](part)):
                whole[start : start + CHUNK] = piece

    starts = range(0, count, CHUNK)
    workers = min(threads or os.cpu_count() or 1, len(starts))
    if workers > 1:
        evaluate(0)  # compiles, once
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(evaluate, starts[1:]))
    else:
        for start in starts:
            evaluate(start)
    return result


def _states(
    feet: ArrayLike,
    com: ArrayLike,
    force: ArrayLike,
    moment: ArrayLike,
    mass: ArrayLike,
    up: ArrayLike,
    travel: ArrayLike,
    inertia: ArrayLike | None,
    wheels: ArrayLike | None,
    normal_loads: ArrayLike | None,
    gravity: float,
) -> States:
    tyres = contiguous(feet if wheels is None else wheels)
    loads = np.full(tyres.shape[-2] if tyres.ndim > 1 else 1, np.nan) if normal_loads is None else normal_loads
    arrays, _ = as_states(
        feet=(feet, ('n', 3)),
        com=(com, (3,)),
        force=(force, (3,)),
        moment=(moment, (3,)),
        mass=(mass, ()),
        up=(up, (3,)),
        travel=(travel, (3,)),
        inertia=(np.zeros((3, 3)) if inertia is None else inertia, (3, 3)),
        wheels=(tyres, ('w', 3)),
        normal_loads=(loads, ('w',)),
        gravity=(gravity, ()),
    )
    return States(*arrays)
