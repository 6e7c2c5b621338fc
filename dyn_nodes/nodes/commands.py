"""Checks of commands that are received over topics; rejected ones are counted with their reason."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.common.errors import UserError
from dyn_nodes.nodes.diagnostics import one_line
from dyn_nodes.nodes.stamps import NANO

NEUTRAL = 1e-9
"""Greatest magnitude of a neutral command, V."""


def are_neutral(volts: Array) -> bool:
    """Return whether all volts (m,) are neutral."""
    return bool(np.abs(volts).max(initial=0.0) <= NEUTRAL)


class RejectedError(UserError, ValueError):
    """A command that must not be used; `kind` is the category for counting."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(one_line(text))
        self.kind = kind


def check_order(before: int, stamp: int, timeout: float) -> None:
    """Check the order of joint states of a real machine by their stamps and the previous ones, ns.

    Raises:
        RejectedError: they are older by at most `timeout` s; a greater difference is a clock that was set back.
    """
    late = (before - stamp) / NANO
    if 0.0 < late <= timeout:
        text = f'joint_states: expected stamps that do not go back, found one {late:.3g} s before the last'
        raise RejectedError('out of order', text)


class Rejections:
    """Counts of rejected commands by kind, and the last reason.

    Attributes:
        counts: by kind.  last: text.  last_time: s, None before the first.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.last = ''
        self.last_time: float | None = None

    def add(self, error: RejectedError, time: float) -> None:
        """Count a rejection at a time, s."""
        self.counts[error.kind] += 1
        self.last, self.last_time = str(error), time

    def recent(self, time: float, window: float = 5.0) -> bool:
        """Return whether a command was rejected within `window` s before a time, s; later ones precede a reset."""
        return self.last_time is not None and 0.0 <= time - self.last_time < window

    def values(self) -> dict[str, str]:
        """Return counts and last reason as values of diagnostics."""
        result = {f'rejected: {kind}': str(count) for kind, count in sorted(self.counts.items())}
        if self.last:
            result['last rejection'] = self.last
        return result


def require_finite(topic: str, quantity: str, names: Sequence[str], values: Array) -> None:
    """Raise RejectedError if one of the values (n,) of names is not finite."""
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise RejectedError(
            'not finite',
            f'{topic}: {quantity} of {names[int(bad[0])]!r}: expected a finite number, found {values[int(bad[0])]}',
        )


def voltages(message: Any, actuators: Sequence[str], limits: Array, topic: str = 'valve_commands') -> Array:
    """Check a Float64MultiArray of volts and return it (n,).

    A label of the first dimension must be the names, comma-separated. Raises RejectedError: wrong size, another label,
    not finite, or beyond twice a valve's voltage limit (within that it saturates).
    """
    values = np.asarray(message.data, dtype=np.float64)
    if values.shape != (len(actuators),):
        raise RejectedError(
            'wrong size', f'{topic}: expected {len(actuators)} values ({", ".join(actuators)}), found {values.size}'
        )
    label = message.layout.dim[0].label if message.layout.dim else ''
    if label and label != ','.join(actuators):
        expected, received = ', '.join(actuators), label.replace(',', ', ')
        raise RejectedError('other actuators', f'{topic}: expected volts of {expected}, found volts of {received}')
    if all(
        math.isfinite(value) and abs(value) <= 2.0 * limit for value, limit in zip(values.tolist(), limits.tolist())
    ):
        return values
    require_finite(topic, 'volts', actuators, values)
    over = np.flatnonzero(np.abs(values) > 2.0 * limits)
    if len(over):
        k = int(over[0])
        raise RejectedError(
            'out of range',
            f'{topic}: volts of {actuators[k]!r}: expected at most {2.0 * limits[k]:g}, found {values[k]:g}',
        )
    return values
