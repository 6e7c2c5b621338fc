"""Integrals of the forces on the joints that carry a payload, over a short time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_nodes.common.arrays import Array
from dyn_nodes.monitor.payload_model import MomentumTerms


@dataclass
class MomentumBlock:
    """Integrals over some samples.

    Attributes:
        first: terms at its start.  last: at its end.
        began: time of its start, s.  time: of its end.
        force, force_columns, effort_columns: integrals of the terms with these names, N m s or N s.
        sign, squared: integrals (r,) of the sign of dry friction and of its square, s.
        travel: (r,) of the joints while they moved, rad or m.
        room: (r,) least remaining travel to the limit of a joint or of a piston, rad or m.
        samples: number of samples.
    """

    first: MomentumTerms
    last: MomentumTerms
    began: float
    time: float
    force: Array
    force_columns: Array
    effort_columns: Array
    sign: Array
    squared: Array
    travel: Array
    room: Array
    samples: int = 0

    @classmethod
    def start(cls, time: float, terms: MomentumTerms) -> MomentumBlock:
        """Return an empty block."""
        zeros = (0.0 * terms.force, 0.0 * terms.force_columns, 0.0 * terms.effort_columns)
        sign, squared, travel = np.zeros((3, len(terms.force)))
        return cls(terms, terms, time, time, *zeros, sign, squared, travel, terms.room)

    def add(self, time: float, terms: MomentumTerms, speed: Array, slow: float) -> None:
        """Add a sample with speeds (r,) of the joints; below `slow` a joint may stick."""
        half, last = 0.5 * (time - self.time), self.last
        self.force += half * (last.force + terms.force)
        self.force_columns += half * (last.force_columns + terms.force_columns)
        self.effort_columns += half * (last.effort_columns + terms.effort_columns)
        self.room = np.minimum(self.room, terms.room)
        sign = np.tanh(speed / slow)
        self.sign += 2.0 * half * sign
        self.squared += 2.0 * half * sign**2
        self.travel += 2.0 * half * np.abs(speed) * sign**2
        self.last, self.time = terms, time
        self.samples += 1

    @property
    def span(self) -> float:
        """Length, s."""
        return self.time - self.began
