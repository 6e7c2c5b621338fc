"""Check of joint motion against the outputs of the valves: an observer of the machine's motion beside its measurements.

From measurement to measurement, the model of the stops is integrated with the applied outputs, for the shortest and for
the longest delay, and drawn slowly to the measurements. A joint that leaves the interval between both by more than the
bound does not move as its valve commands: its encoder is frozen, scaled, late, reversed or swapped with another
joint's, or an obstacle holds the joint. These cannot be distinguished here, and all are faults until they are
acknowledged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dyn_nodes.common.arrays import Array, Indices
from dyn_nodes.governor.records import States

DRAWN_POSITION, DRAWN_SPEED = 1.0, 0.5
"""Time constants with which the observer is drawn to the measurements, s."""
OFF, SCALE = 0.05, 0.4
"""Bounds of the deviation from the interval: rad or m (oil yields by 0.04 to an unexpected load), and a fraction of the
travel within `DRAWN_POSITION`, measured or of the model, whichever is less: if only one of both moves, the deviation is
no error of the model."""


class MotionCheck:
    """Checks driven joints.

    Args:
        names: of the m driven joints.
        joints: (m,) indices of them among the n movable ones.
        start: states of every delay.

    Attributes:
        states: of the observer, which are integrated elsewhere (`present.observe`) while it `continues`.
        continues: the observer has started.
    """

    def __init__(self, names: Sequence[str], joints: Indices, start: States) -> None:
        self.names, self._joints = tuple(names), joints
        self.states = start.copied()
        self.clear()

    def clear(self) -> None:
        """Restart the observer, and clear the faults."""
        self.continues = False
        self._ways = np.zeros((2, len(self.names)))
        self._faults: dict[str, str] = {}

    def compare(self, present: States, q: Array, v: Array, spent: float) -> None:
        """Compare with the measurements.

        Args:
            present: states of the predictor, which include the measurement.
            q: (n,) measured positions.
            v: (n,) measured speeds.
            spent: time since the last comparison, s.
        """
        positions, velocities, joints = self.states.positions, self.states.velocities, self._joints
        if not self.continues or not np.isfinite(self.states.vectors[:, : self.states.layout.drives]).all():
            self.states.vectors[:], self.continues = present.vectors, True
            return
        shown = positions[:, joints]
        off = np.maximum(np.maximum(q[joints] - shown.max(axis=0), shown.min(axis=0) - q[joints]), 0.0)
        speeds = np.abs(velocities[:, joints]).max(axis=0)
        left = math.exp(-spent / DRAWN_POSITION)
        self._ways = left * self._ways + spent * np.array([speeds, np.abs(v[joints])])
        for j in np.flatnonzero(off > OFF + SCALE * self._ways.min(axis=0)).tolist():
            self._faults.setdefault(
                self.names[j], f'it deviates by {off[j]:.2g} from the motion that its valve commands'
            )
        drawn, drawn_speed = 1.0 - left, 1.0 - math.exp(-spent / DRAWN_SPEED)
        passive = np.ones(len(q), dtype=np.bool_)
        passive[joints] = False
        positions += np.where(passive, 1.0, drawn) * (q - positions)
        velocities += np.where(passive, 1.0, drawn_speed) * (v - velocities)

    @property
    def are_sound(self) -> bool:
        """Whether no joint has left its interval."""
        return not self._faults

    def faults(self) -> dict[str, str]:
        """Return the fault messages by the name of the joint."""
        return dict(self._faults)
