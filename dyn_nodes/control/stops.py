"""What a tip-over governor asks: how a machine comes to rest after an output."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Stop(NamedTuple):
    """A predicted stop.

    Attributes:
        least: least push of the ground on a wheel over its mean push, less what the errors of the box may take.
        contact: index of that wheel.
        ahead: when, s from now.
        standing: the least of all wheels at rest where the machine comes to a stand.
    """

    least: float
    contact: int
    ahead: float
    standing: float


class Stops(Protocol):
    """Predicts stops from what is known of the machine now.

    Attributes:
        contacts: names of the wheels.
        degree: stability degree at rest in the present posture; not finite where the machine stands on nothing.
    """

    contacts: tuple[str, ...]
    degree: float

    def stop(self, volts: Array, enough: float = -np.inf, toward: Array | None = None) -> Stop:
        """Return the stop after outputs (m,) that are kept for a period.

        Args:
            volts: outputs.
            enough: below this share it may end.
            toward: outputs (m,) to which these are led first, and kept there, for `hold` of the settings in all.
        """
        ...

    def issued(self, volts: Array, step: float) -> None:
        """Take outputs (m,) that go to the valves for a step, s."""
        ...

    def reset(self) -> None:
        """Take the machine to be at rest with all valves at neutral."""
        ...
