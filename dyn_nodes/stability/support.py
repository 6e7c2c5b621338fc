"""State of a machine as input of the measures, and its margins."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from importlib import import_module
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dyn_nodes.measures import MEASURES, measure
from dyn_nodes.model.rotations import length
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

    @classmethod
    def of_arrays(cls, **fields: Any) -> Support:
        """Return a state of contiguous arrays of numbers, whose polygon has been checked along `up`.

        Args:
            **fields: attributes; `feet`, `com`, `force`, `moment`, `mass`, `up`, `wheels`, `edge_names` are required.

        Raises:
            ValueError: `up` is zero or not finite.
        """
        size = length(fields['up'])
        up = fields['up'] / size if 0.0 < size < inf else unit_vector(fields['up'], 'up')
        support = object.__new__(cls)
        support.__dict__.update(OPTIONAL, **fields)
        support.__dict__['up'] = up
        if not support.edge_names:
            support._set('edge_names', name_edges(support.feet, support.travel, up))
        return support

    @cached_property
    def states(self) -> States:
        """This state as a batch of one."""
        wheels = self.feet if self.wheels is None else self.wheels
        unknown = _unknown(len(wheels))
        return States(
            self.feet[None],
            self.com[None],
            self.force[None],
            self.moment[None],
            np.array([self.mass], dtype=np.float64),
            self.up[None],
            self.travel[None],
            POINT_MASS if self.inertia is None else self.inertia[None],
            wheels[None],
            unknown if self.normal_loads is None else self.normal_loads[None],
            np.array([self.gravity], dtype=np.float64),
            unknown if self.friction is None else self.friction[None],
            _onward(len(wheels), *self.travel.tolist()) if self.rolling is None else self.rolling[None],
            unknown if self.traction is None else self.traction[None],
        )

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


OPTIONAL = {
    **dict.fromkeys(('normal_loads', 'inertia', 'friction', 'rolling', 'traction')),
    'travel': np.array((1.0, 0.0, 0.0)),
    'gravity': GRAVITY,
}
POINT_MASS = np.zeros((1, 3, 3))


@cache
def _unknown(count: int) -> Array:
    """Return (1, count) NaN."""
    return np.full((1, count), np.nan)


@lru_cache(maxsize=64)
def _onward(count: int, *travel: float) -> Array:
    """Return (1, count, 3) directions of travel."""
    return np.tile(np.array(travel), (1, count, 1))


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
        states = support.states
        return {name: _margin(function, states, unit) for name, function, unit in _functions(tuple(names))}
    fewer = _with_wheels(support, counted)
    result = {}
    for name, function, unit in _functions(tuple(names)):
        margin = _margin(function, fewer.states, unit)
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


@cache
def _functions(names: tuple[str, ...]) -> tuple[tuple[str, Callable[[States], Parts], str], ...]:
    """Return name, function and unit of measures."""
    return tuple((name, function_of(name), MEASURES[name].unit) for name in names)


def _margin(function: Callable[[States], Parts], states: States, unit: str) -> Margin:
    value, values, valid = function(states)
    return Margin(value.item(), values[0], valid.item(), unit)
