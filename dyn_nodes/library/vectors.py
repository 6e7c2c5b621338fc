"""Vectors as users give them: one (n,) or many (t, n), whole or of the joints alone, checked by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.model.problems import did_you_mean, shorten


class Coordinates(NamedTuple):
    """A vector of generalized coordinates that may be given whole or by its joints alone.

    Attributes:
        names: of all its elements.
        joints: how many of them, the last ones, belong to joints.
        base: what the others are where only the joints are given.
    """

    names: tuple[str, ...]
    joints: int
    base: Array


def rows_of(owner: str, name: str, values: ArrayLike, names: Sequence[str], short: int | None = None) -> Array:
    """Return an argument as contiguous numbers, (n,) or (t, n); of another length where `short` is allowed.

    Args:
        owner: name of the machine, for messages.
        name: of the argument.
        values: as given.
        names: of the n elements.
        short: other length that the last axis may have: the joints alone; None: none.

    Raises:
        ValueError: no numbers, another shape, or a number that is not finite.
    """
    try:
        array = _numbers(values)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f'{owner}: {name}: expected numbers, found {_kind(values)}') from None
    n = len(names)
    if array.ndim not in (1, 2) or array.shape[-1] not in (n, short):
        joints = '' if short is None or short == n else f', or the {short} joints alone'
        raise ValueError(f'{owner}: {name}: expected shape ({n},) or (t, {n}){joints}; found {array.shape}')
    if not np.isfinite(array).all():
        place = np.argwhere(~np.isfinite(array))[0]
        element = names[int(place[-1]) + n - array.shape[-1]]
        row = f', row {place[0]}' if array.ndim == 2 else ''
        raise ValueError(f'{owner}: {name}: expected finite numbers, found {array[tuple(place)]} at {element!r}{row}')
    return array


def _numbers(values: ArrayLike) -> Array:
    """Return real numbers as they are; texts, truth values, complex and masked ones raise TypeError."""
    given = np.asarray(values)
    if np.ma.is_masked(values) or given.dtype.kind not in 'iufO':
        raise TypeError
    if given.dtype.kind == 'O' and any(isinstance(own, (str, bytes, bool, complex)) for own in given.flat):
        raise TypeError
    return np.array(given, dtype=np.float64, order='C')


def whole(owner: str, name: str, values: ArrayLike, coordinates: Coordinates) -> Array:
    """Return coordinates (n,) or (t, n), completed by those of the base. Raises ValueError as `rows_of`."""
    array = rows_of(owner, name, values, coordinates.names, coordinates.joints)
    if array.shape[-1] == len(coordinates.names):
        return array
    base = np.broadcast_to(coordinates.base, (*array.shape[:-1], len(coordinates.base)))
    return np.concatenate([base, array], axis=-1)


def together(owner: str, **arrays: Array) -> tuple[int | None, list[Array]]:
    """Return the number of rows and the arrays as (t, n) each; None where all are single vectors.

    A single vector counts for every row.

    Raises:
        ValueError: other numbers of rows.
    """
    counts = {name: len(array) for name, array in arrays.items() if array.ndim == 2}
    if len(set(counts.values())) > 1:
        found = ', '.join(f'{name} {count}' for name, count in counts.items())
        raise ValueError(f'{owner}: expected as many rows of each, found {found}')
    count = next(iter(counts.values()), None)
    size = 1 if count is None else count
    return count, [np.array(np.broadcast_to(a, (size, a.shape[-1])), order='C') for a in arrays.values()]


def known_name(owner: str, kind: str, name: str, known: Sequence[str]) -> str:
    """Return a name that is known. Raises KeyError with the nearest one, or with those that there are."""
    if not isinstance(name, str) or name not in known:
        raise UnknownNameError(f'{owner}: unknown {kind} {did_you_mean(str(name), known)}')
    return name


class UnknownNameError(UserError, KeyError):
    """A name that a machine does not have; the message has the nearest one."""

    def __str__(self) -> str:
        return str(self.args[0])


def by_name(owner: str, name: str, given: Mapping[str, Any], known: Sequence[str], kind: str) -> dict[str, float]:
    """Return numbers by name. Raises KeyError for a name that is not known, ValueError for no finite number."""
    if not isinstance(given, Mapping):
        raise ValueError(f'{owner}: {name}: expected numbers by name, found {_kind(given)}')
    found = {}
    for key, value in given.items():
        known_name(owner, kind, key, known)
        found[key] = number(owner, f'{name}[{key!r}]', value)
    return found


def number(owner: str, name: str, value: Any) -> float:
    """Return a finite number. Raises ValueError for anything else."""
    try:
        if isinstance(value, (str, bytes, bool, np.bool_)) or np.ndim(value) or np.ma.is_masked(value):
            raise TypeError
        result = float(_numbers(value))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f'{owner}: {name}: expected a number, found {_kind(value)}') from None
    if not np.isfinite(result):
        raise ValueError(f'{owner}: {name}: expected a finite number, found {result}')
    return result


def each_row(count: int | None, rows: Sequence[Array], call: Callable[..., Any]) -> Array:
    """Return the results of a function of single vectors, stacked where there are many rows."""
    found = [call(*row) for row in zip(*rows)]
    return np.asarray(found[0]) if count is None else np.array(found)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f'an array of {value.dtype}, shape {value.shape}'
    shown = isinstance(value, (str, bytes, int, float, complex)) or value is None
    return shorten(ascii(value)) if shown else type(value).__name__
