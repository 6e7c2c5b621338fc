"""Wheels and feet: suspension, friction, rolling. Data only; every key of the machine YAML is declared at its field."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from dyn_nodes.model.bodies import Array
from dyn_nodes.model.contact import Support
from dyn_nodes.model.rolling import Rolling
from dyn_nodes.model.schema import Key, choice, frozen_vector, number, one_table_of, table, text, vector

FrictionPoint = Literal['ground', 'attachment']


@dataclass(frozen=True)
class _Coulomb:
    static: Annotated[float, number('friction coefficient at rest, mu_s', '', 'positive')] = 0.9
    kinetic: Annotated[float, number('friction coefficient while sliding fast, mu_c <= mu_s', '', 'positive')] = 0.5


@dataclass(frozen=True)
class LuGre(_Coulomb):
    """LuGre tyre friction (abo-shanab-2003, eqs 6.13 to 6.21), per unit of normal load."""

    bristle_stiffness: Annotated[float, number('sigma_0', '1/m', 'positive')] = 40.0
    bristle_damping: Annotated[float, number('sigma_1', 's/m', 'non-negative')] = 4.9487
    viscous: Annotated[float, number('sigma_2', 's/m', 'non-negative')] = 0.0018
    stribeck_speed: Annotated[float, number('v_s', 'm/s', 'positive')] = 12.5
    stribeck_exponent: Annotated[float, number('alpha', '', 'positive')] = 0.5


@dataclass(frozen=True)
class Karnopp(_Coulomb):
    """Karnopp friction behind a horizontal spring and damper on a massless foot (abo-shanab-2003, eqs 6.1, 6.5 to 6.8).

    The loader puts the wheel's stiffness and damping where the machine YAML has none for the foot.
    """

    stiffness: Annotated[Any, number('k_h, horizontal; absent: that of the wheel', 'N/m', 'positive')] = None
    damping: Annotated[Any, number('c_h, horizontal; absent: that of the wheel', 'N s/m', 'positive')] = None
    stick_speed: Annotated[float, number('D_v, below which the wheel sticks', 'm/s', 'positive')] = 1e-3


MODEL = Key('model', 'choice', 'friction model', default='lugre')


@dataclass(frozen=True, eq=False)
class Wheel:
    """A wheel or foot: a unilateral Kelvin-Voigt element along the ground normal, and friction.

    Braked, or rolling about its axle. Its topic is `ground_reactions/<name>`. The position is r_w of abo-shanab-2003,
    section 7.2; of a rolling wheel it is the centre, and the free length is the unloaded radius. Both friction points
    are power-consistent (spec 2.23, 2.24); chapter 6 of the source has the attachment.
    """

    name: str
    link: Annotated[str, text('the link that carries it; absent: the root link', default=None)]
    position: Annotated[Array, vector('where the strut is attached, in the frame of the link', 'm', read=frozen_vector)]
    stiffness: Annotated[float, number('of suspension and tyre together', 'N/m', 'positive')]
    damping: Annotated[float, number('of suspension and tyre together', 'N s/m', 'non-negative')]
    free_length: Annotated[
        float, number('height of the attachment above the ground at which contact is lost', 'm', 'positive')
    ]
    friction: Annotated[
        LuGre | Karnopp | None,
        one_table_of(
            'LuGre or Karnopp friction; absent or `null`: frictionless', MODEL, {'lugre': LuGre, 'karnopp': Karnopp}
        ),
    ] = None
    friction_point: Annotated[
        FrictionPoint,
        choice(
            'where friction acts and sees the speed: `ground`, the point below the wheel, or `attachment`',
            get_args(FrictionPoint),
        ),
    ] = 'ground'
    rolling: Annotated[Rolling | None, table('how it rolls; absent: its link is braked', Rolling)] = None

    @property
    def supports(self) -> tuple[Support, ...]:
        """The one spring that it is."""
        name, key = self.name, f'wheels.{self.name}'
        return (Support(name, name, key, self.link, self.position, self.stiffness, self.damping, self.free_length),)
