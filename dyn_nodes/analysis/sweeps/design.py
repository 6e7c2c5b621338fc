"""Designs: which values the factors have in which run.

A run is known by its number. Its values follow from the design and its seed alone, on any number of workers.
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
    """Values that a factor takes, one by one."""

    values: tuple[float, ...]

    def at(self, unit: Array) -> Array:
        """Return the values (n,) at places (n,) in [0, 1): each as often as the others."""
        places = np.minimum((unit * len(self.values)).astype(np.intp), len(self.values) - 1)
        return np.asarray(self.values)[places]


@dataclass(frozen=True)
class Span:
    """Values between two bounds, even, or even in the logarithm."""

    least: float
    most: float
    logarithmic: bool = False

    def at(self, unit: Array) -> Array:
        """Return the values (n,) at places (n,) in [0, 1]."""
        if self.logarithmic:
            inner = np.exp(np.log(self.least) + unit * (np.log(self.most) - np.log(self.least)))
            return np.asarray(np.clip(inner, self.least, self.most))
        return np.asarray(self.least * (1.0 - unit) + self.most * unit)

    def levels(self, count: int) -> Levels:
        """Return evenly spaced levels with the bounds among them; a single one is the lower bound."""
        unit = np.linspace(0.0, 1.0, count) if count > 1 else np.zeros(1)
        return Levels(tuple(self.at(unit).tolist()))


@dataclass(frozen=True)
class Normal:
    """A normal distribution, cut off at bounds."""

    mean: float
    deviation: float
    least: float = -np.inf
    most: float = np.inf

    def at(self, unit: Array) -> Array:
        """Return the values (n,) at places (n,) of the distribution within the bounds."""
        low, high = (ndtr((bound - self.mean) / self.deviation) for bound in (self.least, self.most))
        inner = self.mean + self.deviation * ndtri(np.clip(low + unit * (high - low), _TINY, 1.0 - _TINY))
        return np.asarray(np.clip(inner, self.least, self.most))


Distribution = Levels | Span | Normal


@dataclass(frozen=True)
class Design:
    """How values are chosen.

    Attributes:
        kind: `grid`: every combination of the levels, the last factor fastest; `saltelli`: for Sobol indices.
        runs: number of them.
        seed: of the random numbers; a grid has none.
        varied: places of the factors that vary one at a time: each drawn point is run with the first level of each,
            and then with one other level after the other.
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
        return np.column_stack([own.at(unit[:, k]) for k, own in enumerate(factors)])

    def _one_at_a_time(self, factors: tuple[Distribution, ...]) -> Array:
        levels = {k: own.values for k, own in enumerate(factors) if k in self.varied and isinstance(own, Levels)}
        drawn = [k for k in range(len(factors)) if k not in levels]
        block = block_of(list(levels.values()))
        unit = self._unit(len(drawn), self.runs // block)
        found = np.empty((len(unit), block, len(factors)))
        for column, k in enumerate(drawn):
            found[:, :, k] = factors[k].at(unit[:, column])[:, np.newaxis]
        place = 1
        for k, values in levels.items():
            found[:, :, k] = values[0]
            found[:, place : place + len(values) - 1, k] = values[1:]
            place += len(values) - 1
        return found.reshape(-1, len(factors))

    def _unit(self, dimensions: int, runs: int) -> Array:
        """Return places (runs, dimensions) in the unit cube."""
        if self.kind == 'saltelli':
            return self._saltelli(dimensions)
        if self.kind == 'sobol':
            return self._sobol(dimensions, runs)
        rng = np.random.default_rng(self.seed)
        if self.kind == 'monte_carlo':
            return rng.random((runs, dimensions))
        from scipy.stats import qmc  # takes seconds to import, and workers draw nothing

        return np.asarray(qmc.LatinHypercube(dimensions, **_seeded(qmc.Sobol, rng)).random(runs))

    def _saltelli(self, dimensions: int) -> Array:
        """Return base points with, between both halves A and B of each, A with one place after the other from B.

        The order of Saltelli (2002), which estimators of Sobol indices take.
        """
        base = self._sobol(2 * dimensions, self.runs // (dimensions + 2))
        blocks = np.repeat(base[:, np.newaxis, :dimensions], dimensions + 2, axis=1)
        for k in range(dimensions):
            blocks[:, 1 + k, k] = base[:, dimensions + k]
        blocks[:, -1] = base[:, dimensions:]
        return np.asarray(blocks.reshape(-1, dimensions))

    def _sobol(self, dimensions: int, runs: int) -> Array:
        """Return the beginning of a scrambled Sobol sequence (runs, dimensions)."""
        from scipy.stats import qmc

        # a whole power of two keeps the balance of the sequence; the runs are its beginning
        power = max(0, int(np.ceil(np.log2(runs))))
        seeded = _seeded(qmc.Sobol, np.random.default_rng(self.seed))
        return np.asarray(qmc.Sobol(dimensions, scramble=True, **seeded).random_base2(power)[:runs])


def block_of(levels: Sequence[Sequence[float]]) -> int:
    """Return the number of runs of a point over factors with these levels, one at a time."""
    return 1 + sum(len(own) - 1 for own in levels)


def _seeded(engine: type, rng: np.random.Generator) -> dict[str, np.random.Generator]:
    """Return the argument that takes random numbers; SciPy 1.15 renamed it."""
    return {'rng' if 'rng' in signature(engine).parameters else 'seed': rng}


def _grid(factors: tuple[Distribution, ...]) -> Array:
    levels = []
    for own in factors:
        if not isinstance(own, Levels):
            raise ValueError('expected levels of every factor of a grid')
        levels.append(own.values)
    return np.array(list(product(*levels)), dtype=np.float64).reshape(-1, len(factors))
