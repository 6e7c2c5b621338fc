"""Test of innovations for a step of the payload (generalized likelihood ratio of one parameter)."""

from __future__ import annotations

from collections import deque

import numpy as np

from dyn_nodes.common.arrays import Array


class StepTest:
    """Tests the innovations of a filter over the last blocks.

    For a step of the mass that started with one of the last blocks the innovations are h dm each, with covariance S.
    The estimate of dm over its deviation, (sum h S^-1 nu) / sqrt(sum h S^-1 h), is normal with deviation 1 without a
    step.

    Args:
        gate: standard deviations.
        window: blocks.
    """

    def __init__(self, gate: float, window: int) -> None:
        self.gate = gate
        self._blocks: deque[tuple[float, float]] = deque(maxlen=window)

    def clear(self) -> None:
        """Discard the blocks."""
        self._blocks.clear()

    def see(self, innovation: Array, covariance: Array, direction: Array) -> bool:
        """Process the innovation of a block; return whether the load has stepped.

        Args:
            innovation: (r,).
            covariance: (r, r) of it.
            direction: (r,) derivative of the measurement by the mass.
        """
        weighted = np.linalg.solve(covariance, direction)
        self._blocks.append((float(weighted @ innovation), float(weighted @ direction)))
        score_sum = weight_sum = 0.0
        for score, weight in reversed(self._blocks):
            score_sum, weight_sum = score_sum + score, weight_sum + weight
            if score_sum**2 > self.gate**2 * weight_sum:
                return True
        return False
