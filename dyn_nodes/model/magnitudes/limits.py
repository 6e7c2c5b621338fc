"""Limits of joints as quantities; placeholders are infinite."""

from __future__ import annotations

import math

from dyn_nodes.model.bodies import Joint
from dyn_nodes.model.magnitudes.relation import Quantity

PLACEHOLDER_RATE, PLACEHOLDER_EFFORT = 1e3, 1e6
"""Least powers of ten, rad/s or m/s and N m or N, that mean "no limit"."""


def limits_of(joint: Joint) -> tuple[Quantity, Quantity]:
    """Return the velocity and the effort limit of a joint; infinite without limit."""
    fastest = limit_or_none(joint.velocity_limit, PLACEHOLDER_RATE)
    strongest = limit_or_none(joint.effort_limit, PLACEHOLDER_EFFORT if math.isfinite(fastest) else PLACEHOLDER_RATE)
    where, slides = f'joint {joint.name}, limit', joint.type == 'prismatic'
    velocity = Quantity(f'{where} velocity', fastest, 'm/s' if slides else 'rad/s')
    return velocity, Quantity(f'{where} effort', strongest, 'N' if slides else 'N m')


def limit_or_none(value: float, placeholder: float) -> float:
    """Return a limit; infinite if it is a power of ten that means "no limit"."""
    round_one = value >= placeholder and math.isfinite(value) and abs(math.log10(value) % 1.0) < 1e-9
    return math.inf if round_one else value
