"""State of a machine as input of the measures, and its margins."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.measures import MEASURES, measure
from dyn_nodes.stability._states import GRAVITY, UP, Array, Parts, States
from dyn_nodes.stability.polygon import check_polygon, name_edges, unit_vector


class Margin(NamedTuple):
    """A margin of one state.

    Attributes:
        value: least of `edges`, compared with limits.
        edges: value of every edge (every wheel for `load_share`; every lost foot for `conservative`; front and rear
            for `longitudinal`).
        valid: False if the measure is not defined or does not hold; `value` is then 0, -inf or NaN, never a value in
            the safe range.
        unit: of value and edges.
    """

    value: float
    edges: Array
    valid: bool
    unit: str


@dataclass(frozen=True, eq=False)
class Support:
    """Input of the measures for one state, in one frame that does not rotate with the machine's joints.

    The polygon contains *all* wheels: for a lifted wheel, the ground point below it. The polygon therefore does not
    jump when a wheel lifts; instead, a margin passes through zero.

    Attributes:
        feet: (n, 3) contact points counter-clockwise seen from above, m.
        com: (3,) centre of mass of the whole machine, payload included, m.
        force: (3,) net force at `com` without ground reactions: gravity, inertia, external, N.
        moment: (3,) net moment about `com` without ground reactions, N m.
        mass: kg.
        up: (3,) against gravity; scaled to length 1.
        normal_loads: (w,) normal force of the ground on every wheel, N; None: unknown.
        edge_names: n names; by default from :func:`name_edges`.
        wheels: (w, 3) positions of the wheels of `normal_loads`; by default `feet`.
        travel: (3,) forward direction of the machine.
        gravity: m/s2.
        inertia: (3, 3) of the whole machine about `com`, kg m2; None: a point mass.
        friction: (w,) static coefficients of the wheels; None: unknown, `admissible` is not valid.
        rolling: (w, 3) directions of the forces in `traction`; None: the direction of travel.
        traction: (w,) prescribed forces along `rolling`, N; NaN, or None for all: any.

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
    inertia: Array | None = None
    friction: Array | None = None
    rolling: Array | None = None
    traction: Array | None = None

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
        if self.inertia is not None:
            self._set('inertia', _shaped(self.inertia, (3, 3), 'inertia'))
        for name, shape in (('friction', ()), ('rolling', (3,)), ('traction', ())):
            if getattr(self, name) is not None:
                self._set(name, _shaped(getattr(self, name), (wheels.shape[0], *shape), name))
        if not self.edge_names:
            self._set('edge_names', name_edges(feet, self.travel, up))
        elif len(self.edge_names) != feet.shape[0]:
            raise ValueError(f'edge_names: expected {feet.shape[0]} names, found {len(self.edge_names)}')

    @cached_property
    def states(self) -> States:
        """This state as a batch of one."""
        wheels = self.feet if self.wheels is None else self.wheels
        loads = np.full(wheels.shape[0], np.nan) if self.normal_loads is None else self.normal_loads
        inertia = np.zeros((3, 3)) if self.inertia is None else self.inertia
        unknown = np.full(wheels.shape[0], np.nan)
        friction = unknown if self.friction is None else self.friction
        rolling = np.broadcast_to(self.travel, wheels.shape) if self.rolling is None else self.rolling
        traction = unknown if self.traction is None else self.traction
        arrays = (self.feet, self.com, self.force, self.moment, self.mass, self.up, self.travel, inertia, wheels, loads)
        further = (self.gravity, friction, rolling, traction)
        batch = (np.asarray(array, dtype=np.float64)[None] for array in (*arrays, *further))
        return States(*batch)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def _shaped(values: ArrayLike, shape: tuple[int | None, ...], name: str) -> Array:
    array = np.array(values, dtype=np.float64, order='C')
    if array.shape != shape and (
        array.ndim != len(shape) or any(size not in (None, actual) for size, actual in zip(shape, array.shape))
    ):
        wanted = str(tuple('n' if size is None else size for size in shape)).replace("'", '')
        raise ValueError(f'{name}: expected shape {wanted}, found {array.shape}')
    return array


@cache
def function_of(name: str) -> Callable[[States], Parts]:
    """Return the function of a measure for many states. Raises KeyError, with the valid names, for an unknown one."""
    function: Callable[[States], Parts] = getattr(
        import_module(f'dyn_nodes.stability.{measure(name).module}'), f'{name}_states'
    )
    return function


def margins(
    support: Support, names: Iterable[str] = tuple(MEASURES), counted: NDArray[np.bool_] | None = None
) -> dict[str, Margin]:
    """Return the margins of one state by name.

    Args:
        support: the state.
        names: of measures.
        counted: (w,) wheels that count; the others have the value NaN in measures by wheel. None: all.

    Raises:
        KeyError: an unknown measure; the message lists the valid names.
    """
    if counted is None or counted.all():
        return {name: _margin(name, support) for name in names}
    fewer = _with_wheels(support, counted)
    result = {}
    for name in names:
        margin = _margin(name, fewer)
        if measure(name).per == 'wheel':
            edges = np.full(len(counted), np.nan)
            edges[counted] = margin.edges
            margin = margin._replace(edges=edges)
        result[name] = margin
    return result


def _with_wheels(support: Support, counted: NDArray[np.bool_]) -> Support:
    """Return a state with the counted wheels only."""
    names = ('wheels', 'normal_loads', 'friction', 'rolling', 'traction')
    return replace(
        support, **{name: values[counted] for name in names if (values := getattr(support, name)) is not None}
    )


def _margin(name: str, support: Support) -> Margin:
    value, values, valid = function_of(name)(support.states)
    return Margin(float(value[0]), values[0], bool(valid[0]), MEASURES[name].unit)
