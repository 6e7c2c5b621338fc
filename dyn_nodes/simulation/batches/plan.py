"""Plans of runs: the steps that `System.run` takes, as segments between samples and kinks of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.common.arrays import Array
from dyn_nodes.compile.integrators.lanes import LanePlan
from dyn_nodes.compile.integrators.tables import limit_of
from dyn_nodes.simulation.march import ON_GRID, is_smooth


class Course(NamedTuple):
    """Segments of a run; attributes: see `integrators.lanes.Plan`."""

    base: Array
    offset: NDArray[np.int64]
    step: Array
    steps: NDArray[np.int64]
    row: NDArray[np.int64]
    fresh: NDArray[np.bool_]
    since: Array
    until: Array
    start: Array
    end: Array


def course_of(knots: Array, table: Array, stops: Array, step: float) -> Course:
    """Return the segments of a run with rk4.

    Args:
        knots: (k,) of the inputs, s.
        table: (k, m) inputs there.
        stops: (t,) increasing times of samples, s.
        step: greatest step, s.
    """
    inner = np.unique(knots[(knots > stops[0]) & (knots < stops[-1])])
    smooth = is_smooth(knots, stops, step)
    starts = stops[:1] if smooth else np.concatenate([stops[:1], inner])  # of stretches: inputs are linear in each
    edges = np.unique(np.concatenate([stops, starts]))
    spacing, stretch = np.diff(edges), np.searchsorted(starts, edges[:-1], side='right') - 1
    first = np.flatnonzero(np.diff(stretch, prepend=-1))
    stride = np.maximum(1, np.round(spacing[first] / step))[stretch]
    off = np.maximum.reduceat(np.abs(spacing - stride * step), first)[stretch] if len(spacing) else spacing
    regular = off <= ON_GRID * step * stride
    lengths = np.where(regular, step, spacing / np.maximum(1, np.ceil(spacing / step - ON_GRID)))
    bases = np.where(regular, starts[stretch], edges[:-1])
    beside = np.abs(inner[:, None] - edges).min(axis=1, initial=np.inf) > ON_GRID * step  # else they are at an edge
    cuts = np.unique(np.concatenate([edges, inner[beside]]))
    pair = np.searchsorted(edges, cuts[:-1], side='right') - 1
    base, h = bases[pair], lengths[pair]
    offset, to = (np.round((ends - base) / h).astype(np.int64) for ends in (cuts[:-1], cuts[1:]))
    starts_here = np.zeros(len(edges) - 1, np.bool_)
    starts_here[first] = True
    row = np.searchsorted(stops, cuts[1:])
    return Course(
        base,
        offset,
        h,
        to - offset,
        np.where(stops[np.minimum(row, len(stops) - 1)] == cuts[1:], row, -1),
        (starts_here | ~regular)[pair] & (cuts[:-1] == edges[pair]),
        cuts[:-1],
        cuts[1:],
        np.column_stack([np.empty((len(pair), 0)), *(limit_of(knots, u, cuts[:-1], 'right') for u in table.T)]),
        np.column_stack([np.empty((len(pair), 0)), *(limit_of(knots, u, cuts[1:], 'left') for u in table.T)]),
    )


def plan_of(courses: Sequence[Course], of_run: NDArray[np.intp]) -> LanePlan:
    """Return the plan of runs from the number of the course of each run (r,)."""
    ends = np.cumsum([0, *(len(course.steps) for course in courses)])
    joined = [np.ascontiguousarray(np.concatenate(columns)) for columns in zip(*courses)]
    return LanePlan(np.ascontiguousarray(ends[:-1][of_run]), np.ascontiguousarray(ends[1:][of_run]), *joined)
