"""What rises from the plane of the ground under rolling wheels. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Shape = Literal['bump', 'ramp']


@dataclass(frozen=True)
class Rise:
    """A rise of the ground across a way.

    Along the way, from its start (0) to its end (`length`), the ground is `height` times half of 1 - cos(2 pi s) high
    for a `bump`, of 1 - cos(pi s) for a `ramp`, after which it stays up. Across, it is `width` wide and falls off to
    both sides over half its length; without a width it has no end.

    Attributes:
        x, y: where it starts, world, m.  heading: direction of the way, rad.
        length, height: m; a negative height is a hollow.
        width: m, or None.
    """

    name: str
    shape: Shape
    x: float
    y: float
    heading: float
    length: float
    height: float
    width: float | None = None
