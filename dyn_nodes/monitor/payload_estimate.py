"""Estimate of a payload at an instant."""

from __future__ import annotations

from typing import NamedTuple

from dyn_nodes.common.arrays import Array

LIGHTEST, HEAVIEST = -0.02, 2.0
"""Fractions of the mount's limit: an interval that ends below the first or starts above the second cannot be a payload.
"""


def no_weight(lower: float, upper: float, limit: float) -> str:
    """Return why an interval cannot belong to a payload, or ''.

    Args:
        lower: lower end of the interval, kg.
        upper: upper end of the interval, kg.
        limit: of the mount, kg.
    """
    if upper < LIGHTEST * limit:
        return 'less than zero: pressures or units are wrong'
    if lower > HEAVIEST * limit:
        return f'more than {HEAVIEST:g} times the limit of the mount: pressures or units are wrong'
    return ''


class PayloadEstimate(NamedTuple):
    """The present estimate of the payload.

    Attributes:
        state: `observed`, or `rated` if the interval is wider than the settings allow, cannot belong to a payload, or
            pressures and motion are inconsistent: the payload of the machine file is used.
        mass: to be used, kg.
        lower, upper: ends of the interval of 95 %, kg; of the estimate, in both states.
        estimated: kg; only the interval is meaningful if the state is not `observed`.
        center: (3,) m of the centre of mass from the mount, in the axes of the payload's link.
        steps: number of detected steps of the load.
    """

    state: str
    mass: float
    lower: float
    upper: float
    estimated: float
    center: Array
    steps: int
