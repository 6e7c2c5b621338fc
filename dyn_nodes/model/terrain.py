"""Rises of the ground plane under rolling wheels. Data only."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from dyn_nodes.model.schema import choice, number

Shape = Literal['bump', 'ramp']


@dataclass(frozen=True)
class Rise:
    """A rise of the ground along a direction.

    From its start (s = 0) to its end (s = 1, after `length`) the height is `height` / 2 times 1 - cos(2 pi s) for a
    `bump`, 1 - cos(pi s) for a `ramp`; behind a ramp it is `height`. Across, the rise is `width` wide and falls off to
    both sides over half its length; without a width it is unbounded.
    """

    name: str
    shape: Annotated[Shape, choice('`bump`: up and down again; `ramp`: up to stay', get_args(Shape), default='bump')]
    x: Annotated[float, number('start, in the world', 'm', default=0.0)]
    y: Annotated[float, number('middle of the start, in the world', 'm', default=0.0)]
    heading: Annotated[float, number('direction in which it rises first', 'rad', default=0.0)]
    length: Annotated[float, number('along that direction', 'm', 'positive')]
    height: Annotated[float, number('greatest; negative: a hollow', 'm')]
    width: Annotated[
        float | None,
        number('across, with sides that fall off over half its length; absent: no end', 'm', 'positive'),
    ] = None
