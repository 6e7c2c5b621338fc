"""Plausibility bounds of joints: a number beyond them is due to a broken sensor or program, and is rejected.

A position may exceed the joint's limits by the whole range between them: stops yield, sensors have offsets. Joints
without limits may turn many times. The other bounds are far beyond any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.model import Machine
from dyn_nodes.nodes.commands import RejectedError

LARGEST_POSITION = 1e7  # rad or m
LARGEST_VELOCITY = 1e4  # rad/s or m/s
LARGEST_EFFORT = 1e12  # N m or N
LEAST_RANGE = 0.1  # rad or m


class Bounds(NamedTuple):
    """Plausibility bounds of n joints.

    Attributes:
        joints: names.
        low, high: (n,) positions, rad or m.
    """

    joints: tuple[str, ...]
    low: Array
    high: Array

    @classmethod
    def of(cls, machine: Machine, joints: Sequence[str]) -> Bounds:
        """Return the bounds of some joints of a machine."""
        entries = [machine.joint(name) for name in joints]
        low, high = np.array([j.lower for j in entries]), np.array([j.upper for j in entries])
        span = np.maximum(high - low, LEAST_RANGE)
        limited = np.isfinite(span)
        span[~limited] = 0.0
        low, high = np.where(limited, low - span, -LARGEST_POSITION), np.where(limited, high + span, LARGEST_POSITION)
        return cls(tuple(joints), low, high)

    def check_positions(self, topic: str, values: Array) -> None:
        """Check positions (n,), NaN for none. Raises RejectedError."""
        if ((values < self.low) | (values > self.high)).any():
            k = int(np.flatnonzero((values < self.low) | (values > self.high))[0])
            expected = f'{self.low[k]:g} to {self.high[k]:g}'
            raise RejectedError(
                'out of range', f'{topic}: position of {self.joints[k]!r}: expected {expected}, found {values[k]:g}'
            )

    def check_velocities(self, topic: str, values: Array) -> None:
        """Check velocities (n,), NaN for none. Raises RejectedError."""
        self._check(topic, 'velocity', values, LARGEST_VELOCITY)

    def check_efforts(self, topic: str, values: Array) -> None:
        """Check efforts (n,). Raises RejectedError."""
        self._check(topic, 'effort', values, LARGEST_EFFORT)

    def _check(self, topic: str, quantity: str, values: Array, largest: float) -> None:
        if any(value > largest or value < -largest for value in values.tolist()):
            k = int(np.flatnonzero(np.abs(values) > largest)[0])
            raise RejectedError(
                'out of range',
                f'{topic}: {quantity} of {self.joints[k]!r}: expected at most {largest:g}, found {values[k]:g}',
            )
