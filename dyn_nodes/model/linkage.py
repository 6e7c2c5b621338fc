"""Linkages of a cylinder: two pins at a revolute joint, or a prismatic joint. Data only."""

import math
from dataclasses import dataclass
from typing import Annotated

from dyn_nodes.model.schema import number


@dataclass(frozen=True)
class PinTriangle:
    """Cylinder between two pins: s(q)^2 = a^2 + b^2 - 2 a b cos(direction q + angle) (spec G2).

    s is the length from pin to pin, `retracted_length` at piston position X = 0.
    """

    a: Annotated[float, number('distance of one pin from the joint axis', 'm', 'positive')]
    b: Annotated[float, number('distance of the other pin from the joint axis', 'm', 'positive')]
    angle: Annotated[float, number('angle between the pins, seen from the axis, at joint position 0', 'rad')]
    direction: Annotated[float, number('1 if extension increases the joint position, -1 if it decreases it')]
    retracted_length: Annotated[float, number('pin to pin, fully retracted', 'm', 'positive')]
    stroke: Annotated[float, number('greatest extension', 'm', 'positive')]


@dataclass(frozen=True)
class SlidingRod:
    """Rod and barrel as the two links of a prismatic joint: X = direction (q - retracted_position)."""

    stroke: Annotated[float, number('greatest extension', 'm', 'positive')]
    retracted_position: Annotated[float, number('joint position, fully retracted', 'm')] = 0.0
    direction: Annotated[float, number('1 if extension increases the joint position, -1 if it decreases it')] = 1.0


Linkage = PinTriangle | SlidingRod


def piston_position(linkage: Linkage, position: float) -> float:
    """Return the piston position X(q), m, at a joint position, rad or m (abo-shanab-2003; spec G2)."""
    if isinstance(linkage, SlidingRod):
        return linkage.direction * (position - linkage.retracted_position)
    angle = linkage.direction * position + linkage.angle
    squared = linkage.a**2 + linkage.b**2 - 2.0 * linkage.a * linkage.b * math.cos(angle)
    return math.sqrt(max(squared, 0.0)) - linkage.retracted_length
