"""What rises from the plane of the ground under rolling wheels. Data only."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from dyn_nodes.model.schema import choice, number

Shape = Literal['bump', 'ramp']


@dataclass(frozen=True)
class Rise:
    """A rise of the ground across a way.

    Along the way, from its start (0) to its end (`length`), the ground is `height` times half of 1 - cos(2 pi s) high
    for a `bump`, of 1 - cos(pi s) for a `ramp`, after which it stays up. Across, it is `width` wide and falls off to
    both sides over half its length; without a width it has no end.
    """

    name: str
    shape: Annotated[Shape, choice('`bump`: up and down again; `ramp`: up to stay', get_args(Shape), default='bump')]
    x: Annotated[float, number('where it starts, in the world', 'm', default=0.0)]
    y: Annotated[float, number('middle of its start, in the world', 'm', default=0.0)]
    heading: Annotated[float, number('direction in which it rises first', 'rad', default=0.0)]
    length: Annotated[float, number('along that direction', 'm', 'positive')]
    height: Annotated[float, number('greatest; negative: a hollow', 'm')]
    width: Annotated[
        float | None,
        number('across, with sides that fall off over half its length; absent: no end', 'm', 'positive'),
    ] = None
