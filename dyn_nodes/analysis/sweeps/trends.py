"""Changes of an outcome with one factor at a time, from the runs of a point with different values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_nodes.analysis.sweeps.design import block_of
from dyn_nodes.analysis.sweeps.report import Results
from dyn_nodes.analysis.sweeps.sensitivity import share_interval
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.common.printing import near

_CONDITION = re.compile(r'\s*(\w+)\s*(?:([<>])\s*(\S+)\s*)?$')
_HOLDS: dict[str, Callable[[Array, float], NDArray[np.bool_]]] = {'<': np.less, '>': np.greater}


class ConditionError(UserError, ValueError):
    """The condition is not valid, or names an unknown column; the message is one line."""


class Trend(NamedTuple):
    """Change of an outcome between two values of a factor, over all points.

    Attributes:
        factor, value, first: name of the factor, the value, and the first value that it is compared with.
        points: number of compared points.
        higher, lower: share of points with a higher, or lower, outcome.
        higher_interval: interval of 95 %.
        median: median of the relative changes; NaN if an outcome is 0.
    """

    factor: str
    value: float
    first: float
    points: int
    higher: float
    lower: float
    higher_interval: tuple[float, float]
    median: float


def trends(results: Results, outcome: str, where: Sequence[str] = ()) -> list[Trend]:
    """Return the trends of an outcome over the factors that the design varies one at a time, if any.

    Args:
        results: results of the sweep; of an unfinished sweep the finished points are used.
        outcome: name of a column.
        where: conditions on the run with the first values: a flag, or `name > value` or `name < value`. Points that
            violate one, or without a finite outcome, are omitted.

    Raises:
        ConditionError: a condition of `where` is not valid.
    """
    varied: dict[str, list[float]] = results.note.get('varied', {})
    block = block_of(list(varied.values()))
    kept = np.ones(results.table.num_rows, dtype=np.bool_)
    for text in where:
        kept &= _holds(results, text)
    whole = len(kept) // block * block
    first = kept[:whole].reshape(-1, block)[:, 0]
    values = results.column(outcome)[:whole].reshape(-1, block)[first]
    result, index = [], 1
    for name, levels in varied.items():
        for level in levels[1:]:
            result.append(_trend(name, level, levels[0], values[:, 0], values[:, index]))
            index += 1
    return result


def _trend(name: str, level: float, first: float, before: Array, after: Array) -> Trend:
    good = np.isfinite(before) & np.isfinite(after)
    before, after = before[good], after[good]
    if not len(before):
        return Trend(name, level, first, 0, np.nan, np.nan, (np.nan, np.nan), np.nan)
    higher = float((after > before).mean())
    with np.errstate(divide='ignore', invalid='ignore'):
        median = float(np.median(after / before)) - 1.0
    return Trend(
        name,
        level,
        first,
        len(before),
        higher,
        float((after < before).mean()),
        share_interval(higher, len(before)),
        median,
    )


def _holds(results: Results, text: str) -> NDArray[np.bool_]:
    match = _CONDITION.match(text)
    if match is None:
        raise ConditionError(f'expected a flag, or name>number or name<number, found {text!r}')
    name, sign, limit = match.groups()
    if name not in results.outcomes and name not in results.note['factors']:
        names = [*results.note['factors'], *results.outcomes]
        raise ConditionError(f'expected one of {", ".join(names)}, found {name!r}{near(name, names)}')
    if sign is None:
        return np.asarray(results.column(name) == 1.0)
    try:
        return np.asarray(_HOLDS[sign](results.column(name), float(limit)))
    except ValueError:
        raise ConditionError(f'expected a number after {sign}, found {limit!r}') from None
