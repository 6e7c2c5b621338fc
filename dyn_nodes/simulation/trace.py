"""Inputs of a run as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Inputs:
    """Piecewise-linear inputs by name; what is not named is zero.

    Args:
        knots: (k,) rising times, s.
        values: (k,) values by input name.

    Two knots at one time are a step: from there on, the later value holds.

    Raises:
        ValueError: no knot, falling times, another number of values than knots, or a number that is not finite.
    """

    def __init__(self, knots: Sequence[float] | Array, values: Mapping[str, Sequence[float] | Array]) -> None:
        self.knots = np.ascontiguousarray(knots, dtype=np.float64)
        if self.knots.ndim != 1 or len(self.knots) == 0 or not np.all(np.diff(self.knots) >= 0):
            raise ValueError('expected at least one knot and rising times')
        if not np.all(np.isfinite(self.knots)):
            raise ValueError('expected finite knots')
        self.values = {name: np.asarray(column, dtype=np.float64) for name, column in values.items()}
        for name, column in self.values.items():
            if column.shape != self.knots.shape:
                raise ValueError(f'input {name!r}: expected {len(self.knots)} values, found shape {column.shape}')
            if not np.all(np.isfinite(column)):
                raise ValueError(f'input {name!r}: expected finite values, found {column[~np.isfinite(column)][0]}')

    @classmethod
    def constant(cls, values: Mapping[str, float] | None = None) -> Inputs:
        """Return inputs that never change."""
        return cls([0.0], {name: [value] for name, value in (values or {}).items()})

    def aligned(self, names: Sequence[str], delays: Array | None = None) -> tuple[Array, Array]:
        """Return knots (k,) and the table (k, n) in the order of `names`.

        Args:
            names: of all inputs.
            delays: (n,) dead times, s: column k is input k at the time before, u(t - delay); None for none.

        Raises:
            KeyError: an input that is not among the names.
        """
        table = np.zeros((len(self.knots), len(names)))
        for name, column in self.values.items():
            if name not in names:
                raise KeyError(f'unknown input {name!r}; known: {", ".join(names)}')
            table[:, names.index(name)] = column
        return (self.knots, table) if delays is None else _shifted(self.knots, table, delays)

    def at(self, times: Array, names: Sequence[str]) -> Array:
        """Return the (t, n) values at given times."""
        knots, table = self.aligned(names)
        columns = [np.interp(times, knots, table[:, k]) for k in range(len(names))]
        return np.column_stack(columns) if columns else np.zeros((len(times), 0))


def _shifted(knots: Array, table: Array, delays: Array) -> tuple[Array, Array]:
    """Return the knots of all columns together, each twice, with the limits of every column from both sides."""
    own = [knots + delay for delay in delays]
    every = np.unique(np.concatenate(own))
    sides = [
        np.column_stack([limit_of(times, column, every, side) for times, column in zip(own, table.T)])
        for side in ('left', 'right')
    ]
    return np.repeat(every, 2), np.stack(sides, axis=1).reshape(-1, table.shape[1])


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
