"""Shapes of one state or of a batch of states, for the wrappers of this package.

Every kernel takes arrays with a leading dimension of 1 (shared by all states) or t. The wrappers accept one state
without that dimension and add it here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dyn_nodes.common.arrays import Array, Flags
from dyn_nodes.stability._kernels import kernel

Result = TypeVar('Result')

UP = (0.0, 0.0, 1.0)
GRAVITY = 9.81

__all__ = [
    'GRAVITY',
    'UP',
    'Array',
    'Flags',
    'Parts',
    'States',
    'as_states',
    'contiguous',
    'kernel',
    'least',
    'pick',
]


Parts = tuple[Array, Array, Flags]
"""Least value (t,), values (t, n) and validity (t,)."""


class States(NamedTuple):
    """Inputs of all measures, every one with a leading dimension of 1 or t; see `Support` for their meaning."""

    feet: Array
    com: Array
    force: Array
    moment: Array
    mass: Array
    up: Array
    travel: Array
    inertia: Array
    wheels: Array
    normal_loads: Array
    gravity: Array
    friction: Array
    rolling: Array
    traction: Array

    def part(self, start: int, stop: int) -> States:
        """Return the states from `start` to before `stop`."""
        return States(*(array[start:stop] if array.shape[0] > 1 else array for array in self))

    @property
    def size(self) -> int:
        """Number of states."""
        return max(array.shape[0] for array in self)


def contiguous(values: ArrayLike) -> Array:
    """Return float64, C-contiguous and writable (one Numba specialization instead of many)."""
    return np.require(values, dtype=np.float64, requirements=['C', 'W'])


def as_states(**inputs: tuple[ArrayLike, tuple[int | str, ...]]) -> tuple[list[Array], bool]:
    """Add a leading dimension of 1 or t to every input.

    Args:
        inputs: name = (values, shape of one state); a letter in the shape is a size that inputs must share.

    Returns:
        The arrays in this order, and True if no input was a batch.

    Raises:
        ValueError: names the input, the shape expected and the shape found.
    """
    arrays: list[Array] = []
    sizes: dict[str, tuple[int, str]] = {}
    lengths: dict[str, int] = {}
    for name, (values, shape) in inputs.items():
        array = contiguous(values)
        wanted = '(' + ', '.join(str(size) for size in shape) + (',)' if len(shape) == 1 else ')')
        if array.ndim not in (len(shape), len(shape) + 1):
            raise ValueError(f'{name}: expected shape {wanted}, or (t, ...) for t states, found {array.shape}')
        if array.ndim == len(shape):
            array = array[np.newaxis]
        else:
            lengths[name] = array.shape[0]
        for size, actual in zip(shape, array.shape[1:]):
            expected, owner = (size, '') if isinstance(size, int) else sizes.setdefault(size, (actual, f' as {name}'))
            if actual != expected:
                raise ValueError(
                    f'{name}: expected shape {wanted}'
                    + (f' with {size} = {expected}{owner}' if isinstance(size, str) else '')
                    + f', found {array.shape[1:]}'
                )
        arrays.append(array)
    if len({length for length in lengths.values() if length != 1}) > 1:
        listed = ', '.join(f'{name}: {length}' for name, length in lengths.items())
        raise ValueError(f'the numbers of states differ ({listed})')
    return arrays, not lengths


def as_result(kind: Callable[..., Result], parts: Sequence[Array], single: bool) -> Result:
    """Return the result of a measure from its kernel's output, without the leading dimension for a single state."""
    return kind(*(part[0] for part in parts)) if single else kind(*parts)


@kernel
def pick(state, length):
    """Return the index of a state in an array whose leading dimension is 1 (shared) or the number of states."""
    return state if length > 1 else 0


@kernel
def least(values):
    """Return the least of a row and True, or NaN and False if the row contains NaN."""
    smallest = values[0]
    for value in values:
        if np.isnan(value):
            return np.nan, False
        if value < smallest:
            smallest = value
    return smallest, True
