"""LuGre friction of a tyre against the ground, per direction."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from dyn_nodes.model.friction_law import Friction, FrictionLaw, Scalar
from dyn_nodes.model.magnitudes.relation import Quantity, Relation, relation
from dyn_nodes.model.schema import number

_SPEED_OFFSET = 1e-12
"""Added to |v| under the Stribeck power, m/s.

It bounds the slope of |v|^0.5 at rest; eta changes by less than 2e-7 there and by less than 1e-9 above 1 um/s.
"""


@dataclass(frozen=True)
class LuGre(FrictionLaw):
    """LuGre tyre friction (abo-shanab-2003, eqs 6.13 to 6.21), per unit of normal load."""

    kind: ClassVar[str] = 'lugre'

    bristle_stiffness: Annotated[float, number('sigma_0', '1/m', 'positive')] = 40.0
    bristle_damping: Annotated[float, number('sigma_1', 's/m', 'non-negative')] = 4.9487
    viscous: Annotated[float, number('sigma_2', 's/m', 'non-negative')] = 0.0018
    stribeck_speed: Annotated[float, number('v_s', 'm/s', 'positive')] = 12.5
    stribeck_exponent: Annotated[float, number('alpha', '', 'positive')] = 0.5

    def friction(self, slip_speed: Scalar, deflection: Scalar, stick: Scalar, normal: Scalar) -> Friction:
        """Return friction in one direction; the flag is ignored."""
        return lugre(self, slip_speed, deflection, normal)

    def relations(self, key: str, free_length: Quantity, load: float, gravity: float) -> Iterator[Relation]:
        """Yield the relations of the numbers of the bristles."""
        static = Quantity(f'{key}.static', self.static, '')
        bristle = Quantity(f'{key}.bristle_stiffness', self.bristle_stiffness, '1/m')
        damping = Quantity(f'{key}.bristle_damping', self.bristle_damping, 's/m')
        viscous = Quantity(f'{key}.viscous', self.viscous, 's/m')
        speed = Quantity(f'{key}.stribeck_speed', self.stribeck_speed, 'm/s')
        yield from relation(
            'a deflection before it slides over its free length',
            '',
            1e-5,
            2.0,
            (static, 1.0),
            (bristle, -1.0),
            (free_length, -1.0),
        )
        yield from relation('a time in which a bristle comes to rest', 's', 1e-3, 2.0, (damping, 1.0), (bristle, -1.0))
        yield from relation('a viscous friction at 1 m/s', '', 1e-5, 0.3, (viscous, 1.0))
        yield from relation('a Stribeck speed', 'm/s', 1e-4, 20.0, (speed, 1.0))


def stribeck(params: 'LuGre', speed: Scalar) -> Scalar:
    """Return eta(v) = mu_c + (mu_s - mu_c) exp(-|v / v_s|^alpha) (abo-shanab-2003, eq. 6.16).

    Args:
        params: coefficients. A numeric exponent of 0.5, 1 or 2 needs no power function.
        speed: |v|, m/s, not negative.
    """
    import casadi as ca

    ratio = (speed + _SPEED_OFFSET) * (1.0 / params.stribeck_speed)
    exponent = params.stribeck_exponent
    if isinstance(exponent, (int, float)) and exponent in (0.5, 1, 2):
        power = {0.5: ca.sqrt(ratio), 1: ratio, 2: ratio * ratio}[exponent]
    else:
        power = ratio**exponent
    return params.kinetic + (params.static - params.kinetic) * ca.exp(-power)


def lugre(params: 'LuGre', slip_speed: Scalar, bristle: Scalar, normal: Scalar) -> Friction:
    """Return friction and bristle rate in one direction (abo-shanab-2003, eqs 6.13 to 6.21).

    The force on the body is -(sigma_0 z + sigma_1 dz/dt + sigma_2 v) N: the source writes the force of the
    body on the ground. |v| itself needs no smoothing, as it is multiplied by z in the bristle rate.

    Args:
        params: coefficients per unit of normal load.
        slip_speed: v of the body's contact point along the direction, m/s.
        bristle: mean deflection z, m.
        normal: N >= 0, N.
    """
    import casadi as ca

    speed = ca.fabs(slip_speed)
    elastic = params.bristle_stiffness * bristle
    rate = slip_speed - speed * elastic / stribeck(params, speed)
    coefficient = elastic + params.bristle_damping * rate + params.viscous * slip_speed
    return Friction(-normal * coefficient, rate)
