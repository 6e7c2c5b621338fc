"""Piecewise-linear tables: limits at a time from both sides, and intervals between knots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from dyn_nodes.common.arrays import Array


def limit_of(knots: Array, values: Array, times: Array, side: Literal['left', 'right']) -> Array:
    """Return the one-sided limits of a piecewise-linear function at times; it jumps at equal knots."""
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
    """Yield intervals (from, to, knots, table) of inputs between two times, s, divided at the knots.

    Within an interval an input is linear, with the limits from inside at its ends: no step of an integrator covers both
    sides of a jump.
    """
    if len(knots) == 1:
        if end > start:
            yield start, end, knots, table
        return
    inner = np.unique(knots[(knots > start) & (knots < end)])
    edges = np.concatenate([[start], inner, [end]]) if end > start else np.array([start])
    columns = [(limit_of(knots, c, edges[:-1], 'right'), limit_of(knots, c, edges[1:], 'left')) for c in table.T]
    limits = np.array(columns).reshape(-1, 2, len(edges) - 1).transpose(2, 1, 0)
    for since, until, ends in zip(edges[:-1], edges[1:], limits):
        yield float(since), float(until), np.array([since, until]), np.ascontiguousarray(ends)


def inputs_beside(knots: Array, table: Array, times: Array) -> Array:
    """Return the inputs (t, n) from each time on, at the last time up to it."""
    values = [limit_of(knots, column, times, 'right') for column in table.T]
    values = [
        np.append(inputs[:-1], limit_of(knots, column, times[-1:], 'left')) for inputs, column in zip(values, table.T)
    ]
    return np.column_stack([np.empty((len(times), 0)), *values])
