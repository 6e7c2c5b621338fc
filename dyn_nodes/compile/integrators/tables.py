"""Piecewise-linear tables: their limits at a time from both sides, and the stretches between their knots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from dyn_nodes.common.arrays import Array


def limit_of(knots: Array, values: Array, times: Array, side: Literal['left', 'right']) -> Array:
    """Return a piecewise-linear function, which jumps where knots are equal, at times, from one side."""
    after = np.searchsorted(knots, times, side=side)
    if side == 'left':  # the first of equal knots
        exact = np.minimum(after, len(knots) - 1)
    else:  # the last of them
        exact = np.maximum(after - 1, 0)
    before, behind = np.maximum(after - 1, 0), np.minimum(after, len(knots) - 1)
    width = knots[behind] - knots[before]
    share = np.divide(times - knots[before], width, out=np.zeros_like(times), where=width > 0.0)
    between = values[before] + share * (values[behind] - values[before])
    return np.asarray(np.where(knots[exact] == times, values[exact], between))


def stretches(knots: Array, table: Array, start: float, end: float) -> Iterator[tuple[float, float, Array, Array]]:
    """Yield the stretches (from, to, knots, table) of inputs between two times, s, cut at the knots.

    Within its stretch an input is linear, and at its ends it has the limits from inside: no step of an integrator sees
    both sides of a jump.
    """
    if len(knots) == 1:
        if end > start:
            yield start, end, knots, table
        return
    inner = np.unique(knots[(knots > start) & (knots < end)])
    edges = np.concatenate([[start], inner, [end]]) if end > start else np.array([start])
    columns = [(limit_of(knots, c, edges[:-1], 'right'), limit_of(knots, c, edges[1:], 'left')) for c in table.T]
    limits = np.array(columns).reshape(-1, 2, len(edges) - 1).transpose(2, 1, 0)
    for since, until, own in zip(edges[:-1], edges[1:], limits):
        yield float(since), float(until), np.array([since, until]), np.ascontiguousarray(own)


def inputs_beside(knots: Array, table: Array, times: Array) -> Array:
    """Return the inputs (t, n) that act from each time on, at the last one up to it."""
    values = [limit_of(knots, column, times, 'right') for column in table.T]
    values = [np.append(own[:-1], limit_of(knots, column, times[-1:], 'left')) for own, column in zip(values, table.T)]
    return np.column_stack([np.empty((len(times), 0)), *values])
