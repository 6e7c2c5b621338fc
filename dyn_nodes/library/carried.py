"""States and positions that know the payload, the slope and the changes under which they were found."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array

PACKAGE = __name__.partition('.')[0]


class Conditions(NamedTuple):
    """What a machine carries, the ground on which it stands, and what differs from its machine YAML.

    Attributes:
        payload: kg.
        slope: (roll, pitch) of the ground, rad; positive pitch: the front is downhill.
        changes: numbers over those of the machine YAML, by dotted key.
    """

    payload: float
    slope: tuple[float, float]
    changes: Mapping[str, float]

    def __str__(self) -> str:
        roll, pitch = self.slope
        text = f'payload {self.payload:g} kg, slope ({roll:g}, {pitch:g}) rad'
        return text + ''.join(f', {key} {value:g}' for key, value in self.changes.items())


class State(np.ndarray[Any, np.dtype[np.float64]]):
    """An array of states or positions, (n,) or (t, n), and its rows: an ordinary array otherwise.

    Methods of a machine take payload and slope from it where they are not given. What is computed from one has the same
    conditions; `numpy.array` makes an array without any.

    Attributes:
        conditions: under which the machine was at rest or ran; None: not known.
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
    """Return the conditions of the first array that has some."""
    known = (own.conditions for own in arrays if isinstance(own, State) and own.conditions is not None)
    return next(known, None)


def are_assumed(payload: float | None, slope: tuple[float, float] | None, *arrays: Any) -> bool:
    """Return whether a payload or slope is neither given nor carried by one of the arrays."""
    return (payload is None or slope is None) and conditions_of(*arrays) is None


def not_at_rest(owner: str, name: str, conditions: Conditions) -> str:
    """Return the text of a warning: an argument without conditions is not at rest under those that were assumed."""
    return (
        f'{owner}: {name}: expected a machine at rest under {conditions}, as none were given; found one that is not: '
        'pass payload and slope, or an array of posture, rest_state or simulate, which has them'
    )


def warn(text: str) -> None:
    """Warn at the line of the caller of this package."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and str(frame.f_globals.get('__name__', '')).partition('.')[0] == PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)
