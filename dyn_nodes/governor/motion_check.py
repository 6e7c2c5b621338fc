"""Test of joints against what their valves let them do: an observer of the machine's motion beside its measurements.

The model of the stops is carried on from measurement to measurement with the outputs that were given, once for the
shortest delay and once for the longest, and drawn slowly to what is measured. A joint that leaves the interval between
both by more than the bound does not move as its valve has it: its encoder is frozen, scaled, late, reversed or that of
another joint, or something holds the joint. These cannot be distinguished here, and all are faults until they are
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
"""Bounds of the deviation from the interval: rad or m (oil gives way by 0.04 to an unexpected load), and the part of
the way within `DRAWN_POSITION`, measured or by the model, whichever is less: where only one of both moves, nothing of
it is an error of the model."""


class MotionCheck:
    """Tests driven joints.

    Args:
        names: of the m driven joints.
        joints: (m,) indices of them among the n movable ones.
        start: states of every delay.

    Attributes:
        states: of the observer, which are carried on from outside (`present.observe`) while it `continues`.
        continues: the observer has begun.
    """

    def __init__(self, names: Sequence[str], joints: Indices, start: States) -> None:
        self.names, self._joints = tuple(names), joints
        self.states = start.copied()
        self.clear()

    def clear(self) -> None:
        """Start anew, and forget the faults."""
        self.continues = False
        self._ways = np.zeros((2, len(self.names)))
        self._faults: dict[str, str] = {}

    def compare(self, present: States, q: Array, v: Array, spent: float) -> None:
        """Compare with what is measured.

        Args:
            present: states of the predictor, which has taken over the measurement.
            q: (n,) measured positions.
            v: (n,) measured speeds.
            spent: since the last comparison, s.
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
            self._faults.setdefault(self.names[j], f'it is {off[j]:.2g} from where its valve has moved it')
        drawn, drawn_speed = 1.0 - left, 1.0 - math.exp(-spent / DRAWN_SPEED)
        passive = np.ones(len(q), dtype=np.bool_)
        passive[joints] = False
        positions += np.where(passive, 1.0, drawn) * (q - positions)
        velocities += np.where(passive, 1.0, drawn_speed) * (v - velocities)

    @property
    def are_sound(self) -> bool:
        """Return whether no joint has left its interval."""
        return not self._faults

    def faults(self) -> dict[str, str]:
        """Return what is wrong, by the name of the joint."""
        return dict(self._faults)
