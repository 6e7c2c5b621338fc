"""A payload as it is known at an instant."""

from __future__ import annotations

from typing import NamedTuple

from dyn_nodes.common.arrays import Array

LIGHTEST, HEAVIEST = -0.02, 2.0
"""Parts of the mount's limit: an interval that ends below the one or begins above the other is no weight."""


def no_weight(lower: float, upper: float, limit: float) -> str:
    """Return why an interval is that of no payload, or ''.

    Args:
        lower: end of the interval, kg.
        upper: the other one, kg.
        limit: of the mount, kg.
    """
    if upper < LIGHTEST * limit:
        return 'less than nothing: pressures or units are wrong'
    if lower > HEAVIEST * limit:
        return f'more than {HEAVIEST:g} times what the mount carries: pressures or units are wrong'
    return ''


class PayloadEstimate(NamedTuple):
    """The payload as it is known now.

    Attributes:
        state: `observed`, or `rated` where the interval is wider than the settings allow, is that of no payload, or
            pressures and motion do not fit: the payload of the machine file holds.
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
