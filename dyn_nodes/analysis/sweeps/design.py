"""Designs of experiments: the values of the factors in each run.

The number of a run identifies it. Its values depend only on the design and its seed, not on the number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import product
from typing import Literal, get_args

import numpy as np
from scipy.special import ndtr, ndtri

from dyn_nodes.common.arrays import Array

Kind = Literal['grid', 'latin_hypercube', 'sobol', 'saltelli', 'monte_carlo']
KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_RUNS = 5_000_000
_TINY = 2.0**-53


@dataclass(frozen=True)
class Levels:
    """Discrete values of a factor."""

    values: tuple[float, ...]

    def at(self, unit: Array) -> Array:
        """Return the values (n,) at quantiles (n,) in [0, 1); all values are equally frequent."""
        indices = np.minimum((unit * len(self.values)).astype(np.intp), len(self.values) - 1)
        return np.asarray(self.values)[indices]


@dataclass(frozen=True)
class Span:
    """Uniform distribution between two bounds, of the value or of its logarithm."""

    least: float
    most: float
    logarithmic: bool = False

    def at(self, unit: Array) -> Array:
        """Return the values (n,) at quantiles (n,) in [0, 1]."""
        if self.logarithmic:
            inner = np.exp(np.log(self.least) + unit * (np.log(self.most) - np.log(self.least)))
            return np.asarray(np.clip(inner, self.least, self.most))
        return np.asarray(self.least * (1.0 - unit) + self.most * unit)

    def levels(self, count: int) -> Levels:
        """Return evenly spaced levels including both bounds; a single level is the lower bound."""
        unit = np.linspace(0.0, 1.0, count) if count > 1 else np.zeros(1)
        return Levels(tuple(self.at(unit).tolist()))


@dataclass(frozen=True)
class Normal:
    """Normal distribution, truncated at bounds."""

    mean: float
    deviation: float
    least: float = -np.inf
    most: float = np.inf

    def at(self, unit: Array) -> Array:
        """Return the values (n,) at quantiles (n,) of the truncated distribution."""
        low, high = (ndtr((bound - self.mean) / self.deviation) for bound in (self.least, self.most))
        inner = self.mean + self.deviation * ndtri(np.clip(low + unit * (high - low), _TINY, 1.0 - _TINY))
        return np.asarray(np.clip(inner, self.least, self.most))


Distribution = Levels | Span | Normal


@dataclass(frozen=True)
class Design:
    """Choice of the values of the runs.

    Attributes:
        kind: `grid`: every combination of the levels, the last factor fastest; `saltelli`: for Sobol indices.
        runs: number of runs.
        seed: seed of the random numbers; unused by a grid.
        varied: indices of the factors that vary one at a time: each sampled point is run with the first level of each
            factor, and then with each other level of one factor.
    """

    kind: Kind
    runs: int
    seed: int = 0
    varied: tuple[int, ...] = ()

    def values(self, factors: tuple[Distribution, ...]) -> Array:
        """Return the values (runs, factors).

        Raises:
            ValueError: a grid over a factor without levels.
        """
        if self.kind == 'grid':
            return _grid(factors)
        if self.varied:
            return self._one_at_a_time(factors)
        if not factors:
            return np.zeros((self.runs, 0))
        unit = self._unit(len(factors), self.runs)
        return np.column_stack([factor.at(unit[:, k]) for k, factor in enumerate(factors)])

    def _one_at_a_time(self, factors: tuple[Distribution, ...]) -> Array:
        levels = {
            k: factor.values for k, factor in enumerate(factors) if k in self.varied and isinstance(factor, Levels)
        }
        drawn = [k for k in range(len(factors)) if k not in levels]
        block = block_of(list(levels.values()))
        unit = self._unit(len(drawn), self.runs // block)
        result = np.empty((len(unit), block, len(factors)))
        for column, k in enumerate(drawn):
            result[:, :, k] = factors[k].at(unit[:, column])[:, np.newaxis]
        index = 1
        for k, values in levels.items():
            result[:, :, k] = values[0]
            result[:, index : index + len(values) - 1, k] = values[1:]
            index += len(values) - 1
        return result.reshape(-1, len(factors))

    def _unit(self, dimensions: int, runs: int) -> Array:
        """Return points (runs, dimensions) in the unit cube."""
        if self.kind == 'saltelli':
            return self._saltelli(dimensions)
        if self.kind == 'sobol':
            return self._sobol(dimensions, runs)
        rng = np.random.default_rng(self.seed)
        if self.kind == 'monte_carlo':
            return rng.random((runs, dimensions))
        from scipy.stats import qmc  # the import takes seconds, and workers do not need it

        return np.asarray(qmc.LatinHypercube(dimensions, **_seeded(qmc.Sobol, rng)).random(runs))

    def _saltelli(self, dimensions: int) -> Array:
        """Return a block of points per base point: A, then A with each coordinate in turn from B, then B.

        The order of Saltelli (2002), as the estimators of Sobol indices require.
        """
        base = self._sobol(2 * dimensions, self.runs // (dimensions + 2))
        blocks = np.repeat(base[:, np.newaxis, :dimensions], dimensions + 2, axis=1)
        for k in range(dimensions):
            blocks[:, 1 + k, k] = base[:, dimensions + k]
        blocks[:, -1] = base[:, dimensions:]
        return np.asarray(blocks.reshape(-1, dimensions))

    def _sobol(self, dimensions: int, runs: int) -> Array:
        """Return the first points of a scrambled Sobol sequence (runs, dimensions)."""
        from scipy.stats import qmc

        # a power of two keeps the balance of the sequence; the runs are its first points
        power = max(0, int(np.ceil(np.log2(runs))))
        seeded = _seeded(qmc.Sobol, np.random.default_rng(self.seed))
        return np.asarray(qmc.Sobol(dimensions, scramble=True, **seeded).random_base2(power)[:runs])


def block_of(levels: Sequence[Sequence[float]]) -> int:
    """Return the number of runs of a point for factors with these levels that vary one at a time."""
    return 1 + sum(len(values) - 1 for values in levels)


def _seeded(engine: type, rng: np.random.Generator) -> dict[str, np.random.Generator]:
    """Return the keyword argument for random numbers; SciPy 1.15 renamed it."""
    return {'rng' if 'rng' in signature(engine).parameters else 'seed': rng}


def _grid(factors: tuple[Distribution, ...]) -> Array:
    levels = []
    for factor in factors:
        if not isinstance(factor, Levels):
            raise ValueError('expected levels of every factor of a grid')
        levels.append(factor.values)
    return np.array(list(product(*levels)), dtype=np.float64).reshape(-1, len(factors))
