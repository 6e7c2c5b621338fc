"""A payload as it is known at an instant."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class PayloadEstimate(NamedTuple):
    """The payload as it is known now.

    Attributes:
        state: `observed`, or `rated` where the interval is wider than the settings allow, or the load seems to step all
            the time: the payload of the machine file holds.
        mass: to be used, kg.
        lower, upper: ends of the interval of 95 %, kg; of what was estimated, in both states.
        estimated: kg; where it is not observed only the interval says something.
        center: (3,) m of the centre of mass from the mount, in the axes of the payload's link.
        steps: how often a step of the load was noticed.
    """

    state: str
    mass: float
    lower: float
    upper: float
    estimated: float
    center: Array
    steps: int
