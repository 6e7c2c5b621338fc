"""All measures of many states in one call, on all cores."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.measures import MEASURES, measure
from dyn_nodes.stability._states import GRAVITY, UP, Array, Flags, States, as_states, contiguous
from dyn_nodes.stability.polygon import check_polygon
from dyn_nodes.stability.support import function_of

CHUNK = 16384
"""States per piece: its arrays fit a core's cache, and there are enough pieces for all cores."""


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
    valid: Flags
    unit: str


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
    friction: ArrayLike | None = None,
    rolling: ArrayLike | None = None,
    traction: ArrayLike | None = None,
    names: Iterable[str] = tuple(MEASURES),
    threads: int | None = None,
) -> dict[str, BatchMargin]:
    """Evaluate measures of t states at once, on all cores.

    An array that is the same for all states may omit its leading dimension.

    Args:
        feet: (t, n, 3) contact points in the order of the polygon, m.
        com: (t, 3) centre of mass of the whole machine, m.
        force: (t, 3) net force without the ground's: gravity, inertia, external, N.
        moment: (t, 3) net moment about `com` without the ground's, N m.
        mass: (t,) kg.
        up: (t, 3) unit vector against gravity.
        travel: (t, 3) forward direction of the machine.
        inertia: (t, 3, 3) of the whole machine about `com`, kg m2, for `moment_height`; None: a point mass.
        wheels: (t, w, 3) positions of the wheels of `normal_loads`, m; None: `feet`.
        normal_loads: (t, w) normal force of the ground on every wheel, N; None: `load_share` is not valid.
        gravity: m/s2.
        friction: (t, w) static coefficients of the wheels; None: `admissible` is not valid.
        rolling: (t, w, 3) directions of the forces in `traction`; None: `travel`.
        traction: (t, w) prescribed forces along `rolling`, N; NaN, or None for all: any.
        names: of the measures, in order.
        threads: number of threads; None: all cores.

    Returns:
        name -> margin; always with the leading dimension.

    Raises:
        ValueError: wrong shape, or not a convex polygon counter-clockwise seen from above.
        KeyError: an unknown measure; the message lists the valid names.
    """
    wanted = [measure(name) for name in names]
    states = _states(
        feet, com, force, moment, mass, up, travel, inertia, wheels, normal_loads, gravity, friction, rolling, traction
    )
    count = states.size
    feet = int(states.feet.shape[1])
    sizes = {'edge': feet, 'foot': feet, 'end': 2, 'wheel': int(states.wheels.shape[1])}
    result = {
        definition.name: BatchMargin(
            np.empty(count), np.empty((count, sizes[definition.per])), np.empty(count, dtype=np.bool_), definition.unit
        )
        for definition in wanted
    }

    def evaluate(start: int) -> None:
        part = states.part(start, start + CHUNK)
        check_polygon(part.feet, part.up, first=start)
        for definition in wanted:
            for whole, piece in zip(result[definition.name][:3], function_of(definition.name)(part)):
                whole[start : start + CHUNK] = piece

    starts = range(0, count, CHUNK)
    workers = min(threads or os.cpu_count() or 1, len(starts))
    if workers > 1:
        evaluate(0)  # compiles once
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
    friction: ArrayLike | None,
    rolling: ArrayLike | None,
    traction: ArrayLike | None,
) -> States:
    tyres = contiguous(feet if wheels is None else wheels)
    unknown = np.full(tyres.shape[-2] if tyres.ndim > 1 else 1, np.nan)
    loads = unknown if normal_loads is None else normal_loads
    onward = np.repeat(contiguous(travel)[..., None, :], len(unknown), axis=-2)
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
        friction=(unknown if friction is None else friction, ('w',)),
        rolling=(onward if rolling is None else rolling, ('w', 3)),
        traction=(unknown if traction is None else traction, ('w',)),
    )
    return States(*arrays)
