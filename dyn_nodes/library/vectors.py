"""Checks of vectors from user input: one (n,) or many (t, n), complete or of the joints alone, or by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.model.problems import did_you_mean, shorten


class Coordinates(NamedTuple):
    """A vector of generalized coordinates, passed complete or with its joints alone.

    Attributes:
        names: names of all elements.
        joints: number of elements of joints, which come last.
        base: values of the other elements if only the joints are passed.
    """

    names: tuple[str, ...]
    joints: int
    base: Array


def rows_of(owner: str, name: str, values: ArrayLike, names: Sequence[str], short: int | None = None) -> Array:
    """Return an argument as a contiguous array, (n,) or (t, n), or with last axis `short`.

    Args:
        owner: name of the machine, for messages.
        name: of the argument.
        values: argument of the user.
        names: of the n elements.
        short: second valid length of the last axis, for the joints alone; None: none.

    Raises:
        ValueError: not numbers, another shape, or a number that is not finite.
    """
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and values.shape == (len(names),):
        array = np.array(values)
        if math.isfinite(array.sum()) and not np.ma.isMaskedArray(values):
            return array
    try:
        array = _numbers(values)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f'{owner}: {name}: expected numbers, found {_kind(values)}') from None
    n = len(names)
    if array.ndim not in (1, 2) or array.shape[-1] not in (n, short):
        joints = '' if short is None or short == n else f', or the {short} joints alone'
        raise ValueError(f'{owner}: {name}: expected shape ({n},) or (t, {n}){joints}; found {array.shape}')
    if not np.isfinite(array).all():
        index = np.argwhere(~np.isfinite(array))[0]
        element = names[int(index[-1]) + n - array.shape[-1]]
        row = f', row {index[0]}' if array.ndim == 2 else ''
        raise ValueError(f'{owner}: {name}: expected finite numbers, found {array[tuple(index)]} at {element!r}{row}')
    return array


def _numbers(values: ArrayLike) -> Array:
    """Return real numbers as an array. Raises TypeError for text, booleans, complex and masked values."""
    array = np.asarray(values)
    if np.ma.is_masked(values) or array.dtype.kind not in 'iufO':
        raise TypeError
    if array.dtype.kind == 'O' and any(isinstance(element, (str, bytes, bool, complex)) for element in array.flat):
        raise TypeError
    return np.array(array, dtype=np.float64, order='C')


def whole(owner: str, name: str, values: ArrayLike, coordinates: Coordinates) -> Array:
    """Return coordinates (n,) or (t, n), completed by the base. Raises ValueError as `rows_of`."""
    array = rows_of(owner, name, values, coordinates.names, coordinates.joints)
    if array.shape[-1] == len(coordinates.names):
        return array
    base = np.broadcast_to(coordinates.base, (*array.shape[:-1], len(coordinates.base)))
    return np.concatenate([base, array], axis=-1)


def together(owner: str, **arrays: Array) -> tuple[int | None, list[Array]]:
    """Return the number of rows, None if all arrays are single vectors, and every array as (t, n).

    A single vector is repeated for every row.

    Raises:
        ValueError: arrays with different numbers of rows.
    """
    counts = {name: len(array) for name, array in arrays.items() if array.ndim == 2}
    if len(set(counts.values())) > 1:
        counted = ', '.join(f'{name} {count}' for name, count in counts.items())
        raise ValueError(f'{owner}: expected equal numbers of rows, found {counted}')
    count = next(iter(counts.values()), None)
    if count is None:
        return None, [array[np.newaxis] for array in arrays.values()]
    return count, [np.array(np.broadcast_to(a, (count, a.shape[-1])), order='C') for a in arrays.values()]


def checked_name(owner: str, kind: str, name: str, names: Sequence[str]) -> str:
    """Return the name. Raises KeyError with the nearest name, or all names, if it is not among `names`."""
    if not isinstance(name, str) or name not in names:
        raise UnknownNameError(f'{owner}: unknown {kind} {did_you_mean(str(name), names)}')
    return name


class UnknownNameError(UserError, KeyError):
    """A name that a machine does not have; the message contains the nearest name."""

    def __str__(self) -> str:
        return str(self.args[0])


def by_name(owner: str, name: str, values: Mapping[str, Any], names: Sequence[str], kind: str) -> dict[str, float]:
    """Return numbers by name. Raises KeyError for an unknown name, ValueError unless values are finite numbers."""
    if not isinstance(values, Mapping):
        raise ValueError(f'{owner}: {name}: expected numbers by name, found {_kind(values)}')
    result = {}
    for key, value in values.items():
        checked_name(owner, kind, key, names)
        result[key] = number(owner, f'{name}[{key!r}]', value)
    return result


def number(owner: str, name: str, value: Any) -> float:
    """Return a finite number. Raises ValueError for other values."""
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
    """Return the result of a function of single vectors: one result if `count` is None, else stacked by row."""
    results = [call(*row) for row in zip(*rows)]
    return np.asarray(results[0]) if count is None else np.array(results)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f'an array of {value.dtype}, shape {value.shape}'
    shown = isinstance(value, (str, bytes, int, float, complex)) or value is None
    return shorten(ascii(value)) if shown else type(value).__name__
