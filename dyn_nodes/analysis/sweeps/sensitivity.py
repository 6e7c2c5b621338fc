"""Dependence of an outcome on each factor: rank correlations, swings for a tornado diagram, Sobol indices."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dyn_nodes.analysis.sweeps.report import Results
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError

SHARE = 0.2
"""Share of the runs at each end of a factor that a swing compares."""
FEW_LEVELS = 10
"""Greatest number of levels for which a swing compares the first level with the last one."""
Z = 1.959963984540054
"""Half width in standard deviations of the central 95 % of a normal distribution."""
RESAMPLES, SEED = 200, 1
"""Number of samples and seed of the bootstrap of Sobol indices."""


class Swing(NamedTuple):
    """Means of an outcome at both ends of a factor.

    Attributes:
        low, high: means over the runs with the least and with the greatest values of the factor.
        low_interval, high_interval: intervals of 95 %; for the shares of a flag by Wilson (1927).
    """

    low: float
    high: float
    low_interval: tuple[float, float]
    high_interval: tuple[float, float]


class Index(NamedTuple):
    """Sobol indices of a factor.

    Attributes:
        first: share of the variance that the factor alone explains.
        total: share of the variance in which the factor participates.
        first_error, total_error: half widths of their intervals of 95 %, by bootstrap.
    """

    first: float
    total: float
    first_error: float
    total_error: float


class NoIndicesError(UserError, ValueError):
    """The runs have no Sobol indices; the message has the reason."""


def effects(results: Results, outcome: str) -> dict[str, float]:
    """Return the rank correlation of every factor that varies with an outcome, the strongest first.

    Runs without a finite value are omitted. NaN if the correlation is undefined, for example for a constant outcome.
    """
    from scipy.stats import spearmanr

    values = results.column(outcome)
    good = np.isfinite(values)
    correlations = {}
    for name in results.factors:
        column = results.column(name)[good]
        constant = len(column) < 3 or np.ptp(column) == 0.0 or np.ptp(values[good]) == 0.0
        correlations[name] = math.nan if constant else float(spearmanr(column, values[good])[0])
    return dict(sorted(correlations.items(), key=lambda item: -abs(item[1]) if math.isfinite(item[1]) else 1.0))


def swings(results: Results, outcome: str) -> dict[str, Swing]:
    """Return the swing of an outcome over every factor that varies, the widest first.

    All other factors vary as in the sweep. Runs without a finite value are omitted.
    """
    values = results.column(outcome)
    good = np.isfinite(values)
    result = {}
    for name in results.factors:
        column = results.column(name)[good]
        if len(column):
            low, high = _ends(column)
            ends = values[good][column <= low], values[good][column >= high]
            interval = _of_share if results.outcomes[outcome] == 'flag' else _of_mean
            result[name] = Swing(float(ends[0].mean()), float(ends[1].mean()), interval(ends[0]), interval(ends[1]))
    return dict(sorted(result.items(), key=lambda item: -abs(item[1].high - item[1].low)))


def _ends(column: Array) -> tuple[float, float]:
    levels = np.unique(column)
    if len(levels) <= FEW_LEVELS:
        return float(levels[0]), float(levels[-1])
    low, high = np.quantile(column, [SHARE, 1.0 - SHARE])
    return float(low), float(high)


def _of_mean(values: Array) -> tuple[float, float]:
    """Return the interval of 95 % of a mean."""
    error = Z * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return float(values.mean()) - error, float(values.mean()) + error


def _of_share(values: Array) -> tuple[float, float]:
    return share_interval(float(values.mean()), len(values))


def share_interval(share: float, n: int) -> tuple[float, float]:
    """Return the interval of 95 % of a share of n (Wilson, 1927)."""
    middle = (share + Z**2 / (2.0 * n)) / (1.0 + Z**2 / n)
    error = Z / (1.0 + Z**2 / n) * math.sqrt(share * (1.0 - share) / n + Z**2 / (4.0 * n**2))
    return middle - error, middle + error


def indices(results: Results, outcome: str) -> dict[str, Index]:
    """Return the Sobol indices of every factor that varies, the greatest total first.

    Estimators of Saltelli and others (2010), by SALib; intervals by bootstrap over the base points. A base point with
    missing runs, or without a finite value, is omitted.

    Raises:
        NoIndicesError: another design, too few runs, or a constant outcome.
        ImportError: SALib is not installed.
    """
    if results.note['design'] != 'saltelli':
        raise NoIndicesError(f'expected a design of kind saltelli, found {results.note["design"]}')
    names = list(results.note['factors'])
    values = results.column(outcome)
    block = len(names) + 2
    blocks = values[: len(values) // block * block].reshape(-1, block)
    blocks = blocks[np.isfinite(blocks).all(axis=1)]
    if len(blocks) < 2 or np.ptp(blocks) == 0.0:
        actual = f'{len(blocks)}' if len(blocks) < 2 else f'{outcome} the same in all runs'
        raise NoIndicesError(f'expected base points of {block} runs with different values, found {actual}')
    from SALib.analyze import sobol

    problem = {'num_vars': len(names), 'names': names, 'bounds': [[0.0, 1.0]] * len(names)}
    made = sobol.analyze(problem, blocks.ravel(), calc_second_order=False, num_resamples=RESAMPLES, seed=SEED)
    columns = [np.asarray(made[key], dtype=np.float64) for key in ('S1', 'ST', 'S1_conf', 'ST_conf')]
    all_of_them = {name: Index(*(float(column[k]) for column in columns)) for k, name in enumerate(names)}
    varying = {name: all_of_them[name] for name in results.factors}
    return dict(sorted(varying.items(), key=lambda item: -item[1].total))
