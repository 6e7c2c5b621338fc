"""Wheels and feet: suspension, friction, rolling. Data only."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from dyn_nodes.model.bodies import Array
from dyn_nodes.model.contact import Support
from dyn_nodes.model.friction import MODEL, friction_laws
from dyn_nodes.model.friction_law import FrictionLaw
from dyn_nodes.model.rolling import Rolling
from dyn_nodes.model.schema import choice, frozen_vector, number, one_table_of, table, text, vector

FrictionPoint = Literal['ground', 'attachment']


@dataclass(frozen=True, eq=False)
class Wheel:
    """A wheel or foot: a unilateral Kelvin-Voigt element along the ground normal, and friction.

    It is braked or rolls about its axle. The topic is `ground_reactions/<name>`. The position is r_w of
    abo-shanab-2003, section 7.2; for a rolling wheel it is the centre, and the free length is the unloaded radius.
    Both friction points are power-consistent (spec 2.23, 2.24); chapter 6 of the source uses the attachment.
    """

    name: str
    link: Annotated[str, text('the link that carries it; absent: the root link', default=None)]
    position: Annotated[Array, vector('attachment of the strut, in the frame of the link', 'm', read=frozen_vector)]
    stiffness: Annotated[float, number('of suspension and tyre together', 'N/m', 'positive')]
    damping: Annotated[float, number('of suspension and tyre together', 'N s/m', 'non-negative')]
    free_length: Annotated[
        float, number('height of the attachment above the ground at which contact is lost', 'm', 'positive')
    ]
    friction: Annotated[
        FrictionLaw | None,
        one_table_of('LuGre or Karnopp friction; absent or `null`: frictionless', MODEL, friction_laws),
    ] = None
    friction_point: Annotated[
        FrictionPoint,
        choice(
            'point of the friction force and its speed: `ground`, below the wheel, or `attachment`',
            get_args(FrictionPoint),
        ),
    ] = 'ground'
    rolling: Annotated[Rolling | None, table('rolling about the axle; absent: the link is braked', Rolling)] = None

    @property
    def supports(self) -> tuple[Support, ...]:
        """The spring of the wheel."""
        name, key = self.name, f'wheels.{self.name}'
        return (Support(name, name, key, self.link, self.position, self.stiffness, self.damping, self.free_length),)
