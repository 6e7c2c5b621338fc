"""Reader of measured joint states: sorted by name and checked, fast enough for 1000 messages per second."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.nodes.commands import RejectedError
from dyn_nodes.nodes.plausible import LARGEST_VELOCITY, Bounds

TOPIC = 'joint_states'


class JointStateReader:
    """Extracts the joints of a node from JointState messages by name, in any order.

    Args:
        joints: n names, in the order of the results. Other joints of a message are ignored.
        bounds: of these joints; a message beyond them is rejected. None: any finite number is accepted.
    """

    def __init__(self, joints: Sequence[str], bounds: Bounds | None = None) -> None:
        self.joints, self.bounds = tuple(joints), bounds
        self._low, self._high = self._limits()
        self._names: list[str] | None = None
        self._indices = np.zeros(0, dtype=np.intp)

    def read(self, message: Any) -> tuple[Array, Array]:
        """Return positions and velocities, (n,) each.

        Raises:
            RejectedError: a joint is missing or named twice, a wrong size, a number not finite or out of bounds.
        """
        if message.name != self._names:
            self._learn(message.name)
        positions = self._column('position', message.position)
        velocities = self._column('velocity', message.velocity)
        if not self._are_plausible(positions, velocities):
            self._blame('position', positions)
            self._blame('velocity', velocities)
            if self.bounds is not None:
                self.bounds.check_positions(TOPIC, positions)
                self.bounds.check_velocities(TOPIC, velocities)
        return positions, velocities

    def _limits(self) -> tuple[list[float], list[float]]:
        if self.bounds is None:
            return [-sys.float_info.max] * len(self.joints), [sys.float_info.max] * len(self.joints)
        return self.bounds.low.tolist(), self.bounds.high.tolist()

    def _are_plausible(self, positions: Array, velocities: Array) -> bool:
        """Return whether all values are within the bounds. For few numbers a loop is faster than arrays."""
        for value, low, high in zip(positions.tolist(), self._low, self._high):
            if not low <= value <= high:
                return False
        fastest = sys.float_info.max if self.bounds is None else LARGEST_VELOCITY
        return all(-fastest <= value <= fastest for value in velocities.tolist())

    def read_measured(self, message: Any) -> tuple[Array, Array | None]:
        """Return positions (n,) and velocities (n,), the latter None if the message has none.

        Raises:
            RejectedError: as `read`.
        """
        if len(message.velocity):
            return self.read(message)
        if message.name != self._names:
            self._learn(message.name)
        positions = self._column('position', message.position)
        self._blame('position', positions)
        if self.bounds is not None:
            self.bounds.check_positions(TOPIC, positions)
        return positions, None

    def efforts(self, message: Any) -> Array | None:
        """Return the measured efforts (n,) of a message that `read` has accepted; None if it has none.

        Raises:
            RejectedError: a wrong size, a number that is not finite or out of bounds.
        """
        if len(message.effort) == 0:
            return None
        efforts = self._column('effort', message.effort)
        self._blame('effort', efforts)
        if self.bounds is not None:
            self.bounds.check_efforts(TOPIC, efforts)
        return efforts

    def _learn(self, names: Sequence[str]) -> None:
        """Store the indices of the joints for a new order of names."""
        self._names = None
        indices = {name: k for k, name in enumerate(names)}
        if len(indices) != len(names):
            raise RejectedError('wrong size', f'{TOPIC}: a joint is named twice: {", ".join(names)}')
        missing = [joint for joint in self.joints if joint not in indices]
        if missing:
            received = ', '.join(names) or 'none'
            raise RejectedError(
                'missing joint', f'{TOPIC}: expected {", ".join(missing)} among the joints, found {received}'
            )
        self._indices = np.array([indices[joint] for joint in self.joints], dtype=np.intp)
        self._names = list(names)

    def _column(self, quantity: str, values: Any) -> Array:
        names = self._names or ()
        if len(values) != len(names):
            raise RejectedError(
                'wrong size', f'{TOPIC}: expected {len(names)} values of {quantity}, found {len(values)}'
            )
        return np.asarray(values, dtype=np.float64)[self._indices]

    def _blame(self, quantity: str, values: Array) -> None:
        for joint, value in zip(self.joints, values.tolist()):
            if not math.isfinite(value):
                text = f'{TOPIC}: {quantity} of {joint!r}: expected a finite number, found {value}'
                raise RejectedError('not finite', text)
