"""Inputs of a run as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.printing import near
from dyn_nodes.compile.integrators.tables import limit_of


class Inputs:
    """Piecewise-linear inputs by name; others are zero.

    Args:
        knots: (k,) ascending times, s.
        values: (k,) values by input name.

    Two knots at one time are a step: from that time on, the later value holds.

    Raises:
        ValueError: no knot, descending times, different numbers of values and knots, or a number that is not finite.
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
        """Return constant inputs."""
        return cls([0.0], {name: [value] for name, value in (values or {}).items()})

    def aligned(self, names: Sequence[str], delays: Array | None = None) -> tuple[Array, Array]:
        """Return knots (k,) and the table (k, n) in the order of `names`.

        Args:
            names: of all inputs.
            delays: (n,) dead times, s: column k is u_k(t - delay_k); None: no delays.

        Raises:
            KeyError: an unknown input.
        """
        table = np.zeros((len(self.knots), len(names)))
        for name, column in self.values.items():
            if name not in names:
                raise KeyError(f'unknown input {name!r}; known: {", ".join(names)}{near(name, names)}')
            table[:, names.index(name)] = column
        return (self.knots, table) if delays is None else _shifted(self.knots, table, delays)

    def at(self, times: Array, names: Sequence[str]) -> Array:
        """Return the values (t, n) at times (t,), s."""
        knots, table = self.aligned(names)
        columns = [np.interp(times, knots, table[:, k]) for k in range(len(names))]
        return np.column_stack(columns) if columns else np.zeros((len(times), 0))


def _shifted(knots: Array, table: Array, delays: Array) -> tuple[Array, Array]:
    """Return the union of the knots of all columns, each twice, with the limits of every column from both sides."""
    shifted = [knots + delay for delay in delays]
    every = np.unique(np.concatenate(shifted))
    sides = [
        np.column_stack([limit_of(times, column, every, side) for times, column in zip(shifted, table.T)])
        for side in ('left', 'right')
    ]
    return np.repeat(every, 2), np.stack(sides, axis=1).reshape(-1, table.shape[1])
