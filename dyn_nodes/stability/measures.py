"""One signature for all measures: `(Support) -> Margin`, for nodes and sweeps that choose measures by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.stability._states import GRAVITY, UP, Array
from dyn_nodes.stability.energy import energy_kernel
from dyn_nodes.stability.force_angle import force_angle_kernel
from dyn_nodes.stability.load_share import load_share_kernel
from dyn_nodes.stability.net_moment import net_moment_kernel
from dyn_nodes.stability.polygon import check_polygon, name_edges, unit_vector
from dyn_nodes.stability.static import longitudinal_margin_kernel, static_margin_kernel
from dyn_nodes.stability.zmp import zmp_kernel


class Margin(NamedTuple):
    """A margin of one state.

    Attributes:
        value: the least; what a limit is compared with.
        edges: value of every edge (every wheel for `load_share`; front and rear for `longitudinal`).
        valid: False where the measure is not defined or does not hold; `value` is then 0, -inf or NaN, never
            a number that looks safe.
        unit: of value and edges.
    """

    value: float
    edges: Array
    valid: bool
    unit: str


@dataclass(frozen=True, eq=False)
class Support:
    """What the measures need to know of one state, all in one frame that does not rotate with the machine's joints.

    The polygon is that of *all* wheels: for a wheel that has lifted, the point of the ground below it. So the
    polygon does not jump when a wheel lifts, and a margin goes through zero instead.

    Attributes:
        feet: (n, 3) contact points counter-clockwise seen from above, m.
        com: (3,) centre of mass of the whole machine, payload included, m.
        force: (3,) what would act at `com` if the ground were removed: gravity, inertia, external, N.
        moment: (3,) the same for moments about `com`, N m.
        mass: kg.
        up: (3,) against gravity; scaled to length 1.
        normal_loads: (w,) push of the ground on every wheel, N, or None where unknown.
        edge_names: n names; by default from :func:`name_edges`.
        wheels: (w, 3) positions of the wheels of `normal_loads`; by default `feet`.
        travel: (3,) direction in which the machine looks.
        gravity: m/s2.

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
    """

    feet: Array
    com: Array
    force: Array
    moment: Array
    mass: float
    up: Array = field(default_factory=lambda: np.array(UP))
    normal_loads: Array | None = None
    edge_names: tuple[str, ...] = ()
    wheels: Array | None = None
    travel: Array = field(default_factory=lambda: np.array((1.0, 0.0, 0.0)))
    gravity: float = GRAVITY

    def __post_init__(self) -> None:
        feet = _shaped(self.feet, (None, 3), 'feet')
        up = unit_vector(self.up, 'up')
        check_polygon(feet[np.newaxis], up[np.newaxis])
        self._set('feet', feet)
        self._set('up', up)
        for name in ('com', 'force', 'moment', 'travel'):
            self._set(name, _shaped(getattr(self, name), (3,), name))
        wheels = feet if self.wheels is None else _shaped(self.wheels, (None, 3), 'wheels')
        self._set('wheels', wheels)
        if self.normal_loads is not None:
            self._set('normal_loads', _shaped(self.normal_loads, (wheels.shape[0],), 'normal_loads'))
        if not self.edge_names:
            self._set('edge_names', name_edges(feet, self.travel, up))
        elif len(self.edge_names) != feet.shape[0]:
            raise ValueError(f'edge_names: expected {feet.shape[0]} names, found {len(self.edge_names)}')

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def _shaped(values: ArrayLike, shape: tuple[int | None, ...], name: str) -> Array:
    array = np.array(values, dtype=np.float64, order='C')
    if array.ndim != len(shape) or any(size not in (None, found) for size, found in zip(shape, array.shape)):
        wanted = str(tuple('n' if size is None else size for size in shape)).replace("'", '')
        raise ValueError(f'{name}: expected shape {wanted}, found {array.shape}')
    return array


def _static(support: Support) -> Margin:
    value, edges, valid = static_margin_kernel(support.feet[None], support.com[None], support.up[None])
    return Margin(float(value[0]), edges[0], bool(valid[0]), 'm')


def _longitudinal(support: Support) -> Margin:
    value, front, rear, valid = longitudinal_margin_kernel(
        support.feet[None], support.com[None], support.travel[None], support.up[None]
    )
    return Margin(float(value[0]), np.array((front[0], rear[0])), bool(valid[0]), 'm')


def _zmp(support: Support) -> Margin:
    value, edges, valid, _, _ = zmp_kernel(*_net_load(support))
    return Margin(float(value[0]), edges[0], bool(valid[0]), '1')


def _force_angle(support: Support) -> Margin:
    value, edges, valid, _, _ = force_angle_kernel(*_net_load(support))
    return Margin(float(value[0]), edges[0], bool(valid[0]), 'N m')


def _energy(support: Support) -> Margin:
    weight = (-support.mass * support.gravity) * support.up
    value, edges, valid, _ = energy_kernel(
        support.feet[None], support.com[None, None], weight[None, None], np.zeros((1, 3))
    )
    return Margin(float(value[0]), edges[0], bool(valid[0]), 'J')


def _extended_energy(support: Support) -> Margin:
    value, edges, valid, _ = energy_kernel(
        support.feet[None], support.com[None, None], support.force[None, None], support.moment[None]
    )
    return Margin(float(value[0]), edges[0], bool(valid[0]), 'J')


def _load_share(support: Support) -> Margin:
    wheels = support.feet if support.wheels is None else support.wheels
    if support.normal_loads is None:
        return Margin(float('nan'), np.full(wheels.shape[0], np.nan), False, '1')
    value, shares, valid, _ = load_share_kernel(
        wheels[None], support.normal_loads[None], support.travel[None], support.up[None]
    )
    return Margin(float(value[0]), shares[0], bool(valid[0]), '1')


def _net_moment(support: Support) -> Margin:
    value, edges, valid = net_moment_kernel(*_net_load(support))
    return Margin(float(value[0]), edges[0], bool(valid[0]), 'N m')


def _net_load(support: Support) -> tuple[Array, Array, Array, Array]:
    return support.feet[None], support.com[None], support.force[None], support.moment[None]


Measure = Callable[[Support], Margin]

MEASURES: dict[str, Measure] = {
    'static': _static,
    'longitudinal': _longitudinal,
    'zmp': _zmp,
    'force_angle': _force_angle,
    'energy': _energy,
    'extended_energy': _extended_energy,
    'load_share': _load_share,
    'net_moment': _net_moment,
}


def margins(support: Support, names: Iterable[str] = tuple(MEASURES)) -> dict[str, Margin]:
    """Margins of one state by name.

    Raises:
        KeyError: an unknown measure; the message lists the known ones.
    """
    chosen = {}
    for name in names:
        if name not in MEASURES:
            raise KeyError(f'unknown stability measure {name!r}; known: {", ".join(MEASURES)}')
        chosen[name] = MEASURES[name](support)
    return chosen
