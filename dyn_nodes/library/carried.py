"""Arrays of states and positions that carry the payload, slope and changes with which they were computed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array

PACKAGE = __name__.partition('.')[0]


class Conditions(NamedTuple):
    """Payload of a machine, slope of the ground, and changes to its machine YAML.

    Attributes:
        payload: kg.
        slope: (roll, pitch) of the ground, rad; positive pitch: the front is downhill.
        changes: replacements of numbers of the machine YAML, by dotted key.
    """

    payload: float
    slope: tuple[float, float]
    changes: Mapping[str, float]

    def __str__(self) -> str:
        roll, pitch = self.slope
        text = f'payload {self.payload:g} kg, slope ({roll:g}, {pitch:g}) rad'
        return text + ''.join(f', {key} {value:g}' for key, value in self.changes.items())


class State(np.ndarray[Any, np.dtype[np.float64]]):
    """An array of states or positions, (n,) or (t, n), with conditions; otherwise an ordinary array.

    Methods of a machine use its payload and slope as defaults. Arrays computed from it, such as its rows, have the same
    conditions; `numpy.array` returns an array without conditions.

    Attributes:
        conditions: payload and slope of the state at rest or of the run; None: unknown.
    """

    conditions: Conditions | None

    def __array_finalize__(self, other: Any) -> None:
        self.conditions = getattr(other, 'conditions', None)

    def __reduce__(self) -> tuple[Any, ...]:
        return state_of, (np.asarray(self), self.conditions)


def state_of(values: Array, conditions: Conditions | None) -> State:
    """Return an array with its conditions."""
    result = np.asarray(values, dtype=np.float64).view(State)
    result.conditions = conditions
    return result


def conditions_of(*arrays: Any) -> Conditions | None:
    """Return the conditions of the first array that has any; None: no array has."""
    conditions = (array.conditions for array in arrays if isinstance(array, State) and array.conditions is not None)
    return next(conditions, None)


def are_assumed(payload: float | None, slope: float | tuple[float, float] | None, *arrays: Any) -> bool:
    """Return whether payload or slope is assumed: it is None and no array has conditions."""
    return (payload is None or slope is None) and conditions_of(*arrays) is None


def not_at_rest(owner: str, name: str, conditions: Conditions) -> str:
    """Return the warning that an argument without conditions is not at rest under the assumed conditions."""
    return (
        f'{owner}: {name}: expected a machine at rest under the default {conditions}; found one that is not at rest: '
        'pass payload and slope, or an array from posture, rest_state or simulate, which carries them'
    )


def warn(text: str) -> None:
    """Issue a warning at the line of the caller outside this package."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and str(frame.f_globals.get('__name__', '')).partition('.')[0] == PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)
