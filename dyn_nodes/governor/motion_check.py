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
from dyn_nodes.governor._kernels import kernel
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
        names: of the m driven joints; none: nothing is checked.
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
        self._ways, self._excess = np.zeros((2, len(self.names))), np.empty(len(self.names))
        self._faults: dict[str, str] = {}

    def compare(self, present: States, q: Array, v: Array, spent: float) -> None:
        """Compare with the measurements.

        Args:
            present: states of the predictor, which include the measurement.
            q: (n,) measured positions.
            v: (n,) measured speeds.
            spent: time since the last comparison, s.
        """
        if not self.names:
            return
        states, left, left_speed = self.states, math.exp(-spent / DRAWN_POSITION), math.exp(-spent / DRAWN_SPEED)
        if not self.continues or not np.isfinite(states.vectors[:, : states.layout.drives]).all():
            states.vectors[:], self.continues = present.vectors, True
            return
        observed = states.positions, states.velocities, self._joints
        if compare_motion(*observed, q, v, spent, left, left_speed, self._ways, self._excess):
            for j in np.flatnonzero(self._excess > 0.0).tolist():
                self._faults.setdefault(
                    self.names[j], f'it deviates by {self._excess[j]:.2g} from the motion that its valve commands'
                )

    @property
    def are_sound(self) -> bool:
        """Whether no joint has left its interval."""
        return not self._faults

    def faults(self) -> dict[str, str]:
        """Return the fault messages by the name of the joint."""
        return dict(self._faults)


@kernel
def compare_motion(
    positions: Array,
    velocities: Array,
    joints: Indices,
    q: Array,
    v: Array,
    spent: float,
    left: float,
    left_speed: float,
    ways: Array,
    excess: Array,
) -> bool:
    """Compare states (h, n) of the observer with measurements (n,), and update them; return whether a joint fails.

    Args:
        positions: rad or m; updated.
        velocities: updated.
        joints: (m,) indices of the driven joints.
        q: measured positions.
        v: measured speeds.
        spent: time since the last comparison, s.
        left: fraction of the deviations of positions that remains.
        left_speed: fraction of the deviations of speeds that remains.
        ways: (2, m) travel of the model and measured travel; updated.
        excess: (m,) written: deviation of a joint that fails, 0 of the others.
    """
    drawn, drawn_speed, fails = np.ones(q.shape[0]), np.ones(q.shape[0]), False
    for k in range(joints.shape[0]):
        j = joints[k]
        least, most, speed = np.inf, -np.inf, 0.0
        for h in range(positions.shape[0]):
            least, most = min(least, positions[h, j]), max(most, positions[h, j])
            speed = max(speed, abs(velocities[h, j]))
        ways[0, k] = left * ways[0, k] + spent * speed
        ways[1, k] = left * ways[1, k] + spent * abs(v[j])
        off = max(q[j] - most, least - q[j])
        excess[k] = off if off > OFF + SCALE * min(ways[0, k], ways[1, k]) else 0.0
        fails = fails or excess[k] > 0.0
        drawn[j], drawn_speed[j] = 1.0 - left, 1.0 - left_speed
    for h in range(positions.shape[0]):
        for j in range(q.shape[0]):
            positions[h, j] += drawn[j] * (q[j] - positions[h, j])
            velocities[h, j] += drawn_speed[j] * (v[j] - velocities[h, j])
    return fails
